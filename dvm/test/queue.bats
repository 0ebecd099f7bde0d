#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that wait: the reasons that prun and pstat show, as text and as JSON; and which jobs may pass them.

# shellcheck disable=SC2154,SC2016  # set by lib.bash and bats; what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# submit NAME [PRUN-OPTION...] PROGRAM...: in the background, until wait_job NAME. Returns when the DVM has it; $id is its name.
submit() {
    local name=$1 before
    before=$(view '.jobs[].id')
    shift
    timeout --kill-after=10 "$limit" "$bin/prun" --stdin none "$@" > "$BATS_TEST_TMPDIR/$name.out" 2> "$BATS_TEST_TMPDIR/$name.err" 3>&- &
    eval "${name}_pid=$!"
    eventually new_job "$before"
}
new_job() {
    id=$(view '.jobs[].id' | grep -vxF "${1:-none}")
    [ -n "$id" ]
}
wait_job() {
    local pid_name=${1}_pid
    code=0
    wait "${!pid_name}" || code=$?
}

# shows ID REASON: a queued job in pstat's table, alone with its reason in JSON, and on prun's standard error.
reason_is() { [ "$(view ".jobs[] | select(.id == \"$1\") | .reason")" = "$2" ]; }
shows() {
    local id=$1 reason=$2 name=$3
    eventually reason_is "$id" "$reason"
    run -0 pstat jobs
    grep -qE "^$id +QUEUED +- +- +- +$reason\$" <<< "$output"
    run -0 pstat
    grep -qE "^$id +QUEUED +- +- +- +$reason\$" <<< "$output"
    eventually grep -qxF "prun: job $id waits: $reason" "$BATS_TEST_TMPDIR/$name.err"
}

@test "pstat shows how many slots a waiting job needs, and how many are free" {
    start_dvm 2 --slots 2
    hold_job one 3
    submit two -n 2 true
    shows "$id" "2 ranks need a slot each, 1 of 4 slots are free" two
    submit three -n 1 --map-by slot:pe=3 true # never: no daemon has three
    wait_job three
    [ "$code" -eq 125 ]
    release_job one 3
    end_job one
    wait_job two
    [ "$code" -eq 0 ]
}

@test "pstat names the job behind which others wait, whether they would fit or not" {
    start_dvm 2 --slots 1
    hold_job one 1
    submit two -n 2 true
    local first=$id
    shows "$id" "2 ranks need a slot each, 1 of 2 slots are free" two
    submit three -n 1 true
    shows "$id" "behind job $first, which came first" three
    submit four -n 2 true
    shows "$id" "behind job $first, which came first" four
    pterm --job "$first"
    wait_job two
    [ "$code" -eq 143 ]
    wait_job three # in its turn at once
    [ "$code" -eq 0 ]
    shows "$id" "2 ranks need a slot each, 1 of 2 slots are free" four
    release_job one 1
    end_job one
    wait_job four
    [ "$code" -eq 0 ]
}

@test "a job with a known end passes a job that cannot start before it; a job without one waits" {
    start_dvm 2 --slots 1
    hold_job one 1 --timeout 50
    submit two -n 2 true
    local first=$id
    run -0 prun -n 1 --timeout 5 echo passed
    [ "$output" = passed ]
    shows "$first" "2 ranks need a slot each, 1 of 2 slots are free" two
    submit three -n 1 true
    shows "$id" "behind job $first, which came first" three
    submit four -n 1 --timeout 1000 true # would be in its way
    shows "$id" "behind job $first, which came first" four
    release_job one 1
    end_job one
    local job
    for job in two three four; do
        wait_job "$job"
        [ "$code" -eq 0 ]
    done
}

@test "a job for certain daemons waits for these, and prints it" {
    start_dvm 2 --slots 1
    hold_job one 1 --host 2
    submit two --host 2 -n 1 true
    shows "$id" "1 rank needs a slot, 0 of 1 slots are free on the daemons that --host names" two
    release_job one 1
    end_job one
    wait_job two
    [ "$code" -eq 0 ]
    run prun --host 7 -n 1 true
    [ "$status" -eq 125 ]
    [[ "$output" == *"no daemon that --host names is wired and has slots"* ]]
}

@test "slots of a leaving daemon are free for no job" {
    start_dvm 3 --slots 1
    hold_job one 1 --host 3
    prte resize 2 > /dev/null 3>&- &
    local resize=$!
    eventually reason_of_campaign
    submit two -n 2 true # on those that stay
    wait_job two
    [ "$code" -eq 0 ]
    hold_job three 1
    submit four -n 2 true
    shows "$id" "2 ranks need a slot each, 1 of 2 slots are free" four
    release_job one 1
    end_job one
    wait "$resize"
    release_job three 1
    end_job three
    wait_job four
    [ "$code" -eq 0 ]
}
reason_of_campaign() { pstat campaigns | grep -q 'Draining .* job .* ranks 0'; }

@test "a job submitted during a resize is held, and pstat shows it" {
    start_dvm 3 --slots 1
    local stopped
    stopped=$(pgrep -f -- "prted .*--session-dir $DVM_SESSION_DIR/1( |\$)")
    # shellcheck disable=SC2086  # several
    kill -STOP $stopped # it does not say that it has heard of the new tree
    prte resize 2 > /dev/null 3>&- &
    local resize=$!
    eventually removing
    submit two --host 2 -n 1 true
    eventually reason_is "$id" "held before mapping: the DVM changes its size"
    run -0 pstat jobs
    grep -qE "^$id +WAITING_FOR_DAEMONS +- +- +- +held before mapping: the DVM changes its size\$" <<< "$output"
    # shellcheck disable=SC2086
    kill -CONT $stopped
    wait "$resize"
    wait_job two
    [ "$code" -eq 0 ]
}
removing() { [ "$(view '.campaigns[0].phase')" != Draining ] && [ "$(view '.campaigns | length')" -gt 0 ]; }

@test "slots that become free while a shrink removes a member are given to the job that waits, when the member has left" {
    start_dvm 3 --slots 2
    hold_job one 4 --host 1-2
    submit two -n 3 true
    kill -STOP "$(daemon_of 3)" # it cannot leave
    timeout --kill-after=10 "$limit" "$bin/prte" resize 2 > "$BATS_TEST_TMPDIR/resize" 2>&1 3>&- &
    local resize_pid=$!
    eventually removing
    release_job one 4
    end_job one
    [ "$(view '.campaigns[0].phase')" = Removing ]
    kill -CONT "$(daemon_of 3)"
    wait "$resize_pid"
    wait_job two
    [ "$code" -eq 0 ]
}

# --- variables

@test "options of DVM_PRUN_OPTIONS hold, those of the command line win, and ranks do not get the variable" {
    start_dvm 1 --slots 2
    run -0 env DVM_PRUN_OPTIONS="--oversubscribe -x 'A=b c'" "$bin/prun" --no-wait -n 3 sh -c 'echo "$A ${DVM_PRUN_OPTIONS-unset}"'
    [ "$output" = "$(printf 'b c unset\nb c unset\nb c unset')" ]
    run -0 env DVM_PRUN_OPTIONS="-N 2 --output tag" "$bin/prun" --map-by node -n 1 echo said
    [ "$output" = "[0]<stdout>: said" ]
}

@test "prun names mapping variables of other launchers when a job waits for slots or cannot be launched, and only then" {
    local note="prun: PRTE_MCA_rmaps_default_mapping_policy: not read by prun; its options and \$DVM_PRUN_OPTIONS are"
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    start_dvm 1 --slots 2
    run -125 --separate-stderr prun --no-wait -n 5 true
    [ "${#stderr_lines[@]}" -eq 2 ]
    [ "${stderr_lines[1]}" = "$note" ]
    run -125 --separate-stderr prun -n 1 /no/such/program
    [[ "$stderr" != *MCA* ]]
    run -0 --separate-stderr prun -n 1 true
    [ -z "$stderr" ]
    hold_job one 2
    submit two -n 1 true
    eventually grep -qxF "$note" "$BATS_TEST_TMPDIR/two.err"
    release_job one 2
    end_job one
    wait_job two
    [ "$code" -eq 0 ]
}
