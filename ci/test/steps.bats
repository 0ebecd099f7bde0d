#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# No step of CI, and no test, goes on for ever: each is ended at its bound and named.

setup() {
    ci=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
    cd "$BATS_TEST_TMPDIR" || exit
    pids=$BATS_TEST_TMPDIR/pids
}

# sample SECONDS LINE...: a run like .ci/run, with so many seconds in all.
sample() {
    # shellcheck disable=SC2016  # for the sample
    {
        printf '%s\n' 'set -uo pipefail' 'logs=.' "run_seconds=$1" 'declare -A bounds=([short]=2)' "pids=$pids" STEP_GRACE=2 \
            ". $ci/steps.bash" 'trap "report; end_step" EXIT' 'trap "exit 130" TERM'
        shift
        printf '%s\n' "$@" 'exit "$failed"'
    } > run
    timeout --kill-after=5 60 bash run < /dev/zero
}

# Processes whose numbers the sample has written to a file have ended.
all_gone() {
    local pid
    [ -s "$pids" ]
    while read -r pid; do
        [ ! -e "/proc/$pid" ] || [[ "$(< "/proc/$pid/stat")" == *") Z "* ]] || { ps -p "$pid" -o pid,args; return 1; }
    done < "$pids"
}

says() { grep -qE "$1" <<< "$output" || { printf 'not said: %s; but:\n%s\n' "$1" "$output"; return 1; }; }

@test "a step prints its start time, gets no input, keeps its output; failures are in the table" {
    run sample 60 'step one sh -c "wc -c; echo word >&2"' 'step two false' 'step three true'
    [ "$status" -eq 1 ]
    says '^=== one \(after 0 min [0-9] s\)$'
    [ "$(< one.log)" = $'0\nword' ]
    says '^one +[0-9] s  ok$'
    says '^two +[0-9] s  FAILED$'
    says '^three +[0-9] s  ok$'
    says '^in all: 0 min [0-9]+ s$'
}

@test "a run without a failure is one" {
    run sample 60 'step one true'
    [ "$status" -eq 0 ]
}

@test "a step that does not end is ended and named, with processes that have detached or ignore SIGTERM" {
    # shellcheck disable=SC2016
    run sample 60 'hangs() {
        setsid tail -f /dev/null &
        echo $! >> "$pids"
        timeout 1000 sh -c "trap \"\" TERM; echo \$\$ >> $pids; tail -f /dev/null; tail -f /dev/null" &
        echo $! >> "$pids"
        wait
    }' 'step short hangs' 'step one echo next'
    [ "$status" -eq 1 ]
    says '^=== short: not over after 0 min 2 s; it ran, and is ended:$'
    says '[0-9] +[0-9]+ +[0-9]+ S.* tail -f /dev/null$'
    says '^short +[0-9]+ s  TIMEOUT: ended after 0 min 2 s$'
    says '^one +[0-9]+ s  ok$'
    [ "$(wc -l < "$pids")" -eq 3 ]
    all_gone
}

@test "when the time of the run is used up, the step is ended and no further one begins" {
    # shellcheck disable=SC2016
    run sample 2 'step long sh -c "echo \$\$ >> $pids; exec tail -f /dev/null"' 'step one touch begun'
    [ "$status" -eq 1 ]
    says '^long +[0-9]+ s  TIMEOUT: ended after 0 min [12] s$'
    says '^one +0 s  NOT RUN: the run has had its 0 min 2 s$'
    [ ! -e begun ]
    all_gone
}

@test "a leftover process that holds the step's output is ended, and is a failure" {
    # shellcheck disable=SC2016
    run sample 60 'step one sh -c "setsid tail -f /dev/null & echo \$! > $pids"'
    [ "$status" -eq 1 ]
    says '^one +[0-9]+ s  FAILED: left processes behind$'
    all_gone
}

@test "a run that gets a signal names the running step, and ends it" {
    # shellcheck disable=SC2016
    run sample 60 'step one sh -c "echo \$\$ > $pids; kill $$; exec tail -f /dev/null"'
    [ "$status" -eq 130 ]
    says '^one +[0-9]+ s  STOPPED by a signal$'
    all_gone
}

@test "a test that hangs is ended and named, and its teardown runs" {
    # shellcheck disable=SC2016  # for the sample; with @test at the begin of a line, bats would take it for ours
    printf '%s\n' '@test "it hangs" { mkfifo f; tail --pid=$$ -f /dev/null 3>&- & read -r _ < f; }' \
        '@test "it waits" { sleep 0.1 3>&- & wait $!; }' \
        'teardown() { echo "$BATS_TEST_DESCRIPTION" >> torn-down; }' > hangs.bats
    run env -i PATH="${PATH//"$BATS_LIBEXEC:"/}" BATS_TEST_TIMEOUT=5 timeout --kill-after=5 60 "$ci/bats.sh" hangs.bats
    [ "$status" -eq 1 ]
    says '^not ok 1 it hangs in [0-9]+ms # timeout after 5s$'
    says '^ok 2 it waits in [0-9]+ms$'
    [ "$(< torn-down)" = $'it hangs\nit waits' ]
}

@test "a skip that is not on the list is refused, with times or without" {
    export ALLOWED_SKIPS=$BATS_TEST_TMPDIR/allowed
    printf '%s\n' '# names' 'may in 3 ways' > "$ALLOWED_SKIPS"
    printf '%s\n' 'ok 1 may in 3 ways in 12ms # skip why' 'ok 2 may in 3 ways # skip' 'ok 3 runs in 4ms' > good.log
    "$ci/skips.sh" good.log
    printf '%s\n' 'ok 1 may not in 12ms # skip why' '[  SKIPPED ] a_test' > bad.log
    run "$ci/skips.sh" good.log bad.log
    [ "$status" -eq 1 ]
    [ "$output" = $'skipped, and not on e2e/allowed-skips:\na_test\nmay not' ]
}

@test "the steps of .ci/run all have a bound" {
    local name
    local names
    mapfile -t names < <(grep -oP '^(if )?step \K[a-z0-9-]+' "$ci/../.ci/run")
    [ "${#names[@]}" -gt 8 ]
    for name in "${names[@]}"; do
        grep -q "\[$name\]=[1-9]" "$ci/../.ci/run" || { echo "no bound: $name"; return 1; }
    done
}
