#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs commands at the same time, for those that mostly wait, beside others that compute. Shows the output of the first as it
# comes, and then that of each other one as a whole with its seconds. Fails after all have ended if one has failed.
# Usage: beside.sh COMMAND...: a line for bash each
set -uo pipefail

dir=$(mktemp -d)
pids=() # of the others; each has a process group of its own, so that a signal can end all of it

# shellcheck disable=SC2317 # by the trap
finish() {
    local i
    for i in "${!pids[@]}"; do
        kill -- "-${pids[i]}" 2> /dev/null
        cat "$dir/$i"
    done
    rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

run_one() {
    local rc=0 how="done"
    bash -c "$1" || { rc=$?; how="failed ($rc)"; }
    echo "beside: $how after $SECONDS s: $1"
    return "$rc"
}

set -m
for i in $(seq 2 $#); do
    run_one "${!i}" > "$dir/$i" 2>&1 < /dev/null &
    pids[i]=$!
done
set +m
failed=0
run_one "$1" || failed=1
for i in "${!pids[@]}"; do
    wait "${pids[i]}" || failed=1
    cat "$dir/$i"
    unset "pids[$i]"
done
exit "$failed"
