#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A skipped test is a failure unless e2e/allowed-skips has its reason.
# Usage: skips.sh LOG...: output of bats, with times or without, and of cmocka; ALLOWED_SKIPS names another list.
set -euo pipefail

allowed=${ALLOWED_SKIPS:-$(dirname "${BASH_SOURCE[0]}")/../e2e/allowed-skips}
skipped=$({
    sed -nE '/^ok [0-9]+ .* # skip/ { s/^ok [0-9]+ (.*) # skip.*/\1/; s/ in [0-9]+ms$//; p }' "$@"
    sed -nE 's/^\[  SKIPPED \] (.*)$/\1/p' "$@" # cmocka's
} | sort -u | grep -vxFf <(grep -v '^#' "$allowed")) || exit 0
printf 'skipped, and not on e2e/allowed-skips:\n%s\n' "$skipped"
exit 1
