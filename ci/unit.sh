#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every unit test program that is named, each with a bound, and tells of those that take more than 5 s; fails if one
# fails, after all have run.
set -uo pipefail

export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
failed=()
for t in "$@"; do
    echo "# ${t#build/asan/}"
    begun=$SECONDS
    timeout --kill-after=5 300 "$t" 2>&1 || failed+=("$t ($?, after $((SECONDS - begun)) s)")
    [ $((SECONDS - begun)) -le 5 ] || echo "# ${t#build/asan/} took $((SECONDS - begun)) s"
done
if [ "${#failed[@]}" -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}"
    exit 1
fi
echo "all $# unit test programs passed"
