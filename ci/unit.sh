#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the named unit test programs, UNIT_JOBS (one for each processor) at a time, each with a time limit. Shows the output
# of each program as a whole and names those that take more than 5 s. Fails if one fails, after all have run.
# UNIT_TIMES: a folder for the milliseconds of each program, the least of all runs.
set -uo pipefail

export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
export UNIT_TIMES=${UNIT_TIMES:-}
out=$(mktemp -d)
export out
trap 'rm -rf "$out"' EXIT

note_time() {
    local least
    least=$(cat "$1" 2> /dev/null) || least=$2
    echo "$((least < $2 ? least : $2))" > "$1"
}

# run_one PROGRAM: its output under a line with its name; no other program writes meanwhile.
run_one() {
    local name=${1#build/asan/} log begun ms rc=0
    log=$out/${name//\//+}
    begun=${EPOCHREALTIME//[.,]/}
    timeout --kill-after=5 600 "$1" > "$log" 2>&1 || rc=$?
    ms=$(((${EPOCHREALTIME//[.,]/} - begun) / 1000))
    [ -z "$UNIT_TIMES" ] || note_time "$UNIT_TIMES/${name//\//+}" "$ms"
    {
        flock 9
        echo "# $name"
        cat "$log"
        [ "$ms" -le 5000 ] || echo "# $name took $((ms / 1000)) s"
    } 9> "$out/.lock"
    [ "$rc" -eq 0 ] || echo "$1 ($rc, after $((ms / 1000)) s)" >> "$out/.failed"
    rm -f "$log"
}
export -f note_time run_one

[ -z "$UNIT_TIMES" ] || mkdir -p "$UNIT_TIMES"
# shellcheck disable=SC2016 # for each shell
printf '%s\0' "$@" | xargs -0 -r -n 1 -P "${UNIT_JOBS:-$(nproc)}" bash -c 'run_one "$1"' run_one || echo "xargs ($?)" >> "$out/.failed"
if [ -e "$out/.failed" ]; then
    sed 's/^/failed: /' "$out/.failed"
    exit 1
fi
echo "all $# unit test programs passed"
