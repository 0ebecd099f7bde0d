#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs commands at the same time, for those that mostly wait, beside others that compute. Shows the output of the first as it
# comes, and then that of each other one as a whole with its seconds. Fails after all have ended if one has failed.
# Usage: beside.sh COMMAND...: a line for bash each
set -uo pipefail

readonly GRACE_S=10 # between the request to end and SIGKILL
dir=$(mktemp -d)
pids=() # each has a process group of its own, so that a signal can end all of it

# end_group PID SIGNAL: waits for its end for a while.
# shellcheck disable=SC2317 # by the trap
end_group() {
    local until=$((SECONDS + GRACE_S))
    kill -"$2" -- "-$1" 2> /dev/null
    while kill -0 -- "-$1" 2> /dev/null && [ "$SECONDS" -lt "$until" ]; do read -rt 0.1 <> <(:); done
}

# shellcheck disable=SC2317
finish() {
    local i
    for i in "${!pids[@]}"; do kill -TERM -- "-${pids[i]}" 2> /dev/null; done
    for i in "${!pids[@]}"; do
        end_group "${pids[i]}" TERM
        end_group "${pids[i]}" KILL
        [ ! -e "$dir/$i" ] || cat "$dir/$i"
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
run_one "$1" < /dev/null &
pids[1]=$!
for i in $(seq 2 $#); do
    run_one "${!i}" > "$dir/$i" 2>&1 < /dev/null &
    pids[i]=$!
done
set +m
failed=0
for i in "${!pids[@]}"; do
    wait "${pids[i]}" || failed=1
    unset "pids[$i]"
    [ ! -e "$dir/$i" ] || cat "$dir/$i"
done
exit "$failed"
