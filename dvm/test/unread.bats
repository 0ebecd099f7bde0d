#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs whose output is not read: which processes wait for them, and which do not.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# unread_job [PRUN-OPTION...]: one rank writes more than all buffers hold, and its prun's output is not read.
unread_job() {
    bytes=100000000
    mkfifo "$BATS_TEST_TMPDIR/unread"
    exec {unread}<> "$BATS_TEST_TMPDIR/unread"
    timeout --kill-after=10 "$limit" "$bin/prun" --stdin none "$@" -n 1 head -c "$bytes" /dev/zero > "$BATS_TEST_TMPDIR/unread" 2> /dev/null 3>&- {unread}>&- &
    prun_pid=$!
    eventually unread_stands
}

unread_stands() {
    local pid reader
    pid=$(own -xf "head -c $bytes /dev/zero") && reader=$(own -f "^$bin/prun .* head -c $bytes /dev/zero\$") &&
        stands_still "$pid" "$reader"
}

all_over() { [ "$(view 'all(.jobs[]; .state | test("RUNNING") | not) and ([.members[].slotsUsed] | add == 0)')" = true ]; }

@test "a job with unread output ends when its prun is killed" {
    start_dvm 2 --slots 1
    unread_job
    own_kill KILL -f "^$bin/prun .* head -c $bytes /dev/zero\$"
    eventually all_over
    [[ "$(view '.jobs[-1].reason')" == *"its submitter has disconnected"* ]]
    run ! own -xf "head -c $bytes /dev/zero"
    exec {unread}>&-
}

@test "a job with unread output ends when its submitter's daemon is lost" {
    start_dvm 2 --slots 1
    unread_job --dvm "$DVM_SESSION_DIR/1" --host 2
    pkill -KILL -o -f -- "prted .*--session-dir $DVM_SESSION_DIR/1( |\$)"
    eventually all_over
    [[ "$(view '.jobs[-1].reason')" == *"its submitter was lost with its daemon (vpid 1)"* ]]
    run ! own -xf "head -c $bytes /dev/zero"
    exec {unread}>&-
}

@test "a job with unread output delays no shrink that ends it" {
    start_dvm 2 --slots 1
    unread_job --host 2
    run -0 prte resize 1 --deadline 0
    [[ "$output" == *"1 members are wired"* ]]
    eventually all_over
    [ "$(view '.jobs[-1].exitCode')" -eq 122 ]
    exec {unread}>&-
}

@test "a job with unread output ends when it is ended, and its written output is delivered" {
    start_dvm 2 --slots 1
    unread_job
    pterm --job "$(view '.jobs[-1].id')"
    eventually all_over
    # From here on prun alone writes there.
    exec {end}< "$BATS_TEST_TMPDIR/unread" {unread}>&-
    [ "$(wc -c <&"$end")" -gt 1000000 ]
    exec {end}<&-
    wait "$prun_pid" || true
}
