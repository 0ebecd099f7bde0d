#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that are submitted from outside at the head: it sends their prun on to a member, so they outlive the head.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by lib.bash; each test is a process of its own
# shellcheck disable=SC2016  # what is for the ranks' shell is for it

bats_require_minimum_version 1.5.0
load lib
load net

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/dvm-connect >&2
    make -s -C "$repo" build/probe/client_probe >&2
}

setup() {
    new_dvm_dir
    export DVM_TLS_DIR=$DVM_SESSION_DIR/tls/user
}

teardown() {
    [ -z "${hung:-}" ] || kill -CONT "$hung" || true
    end_dvm
}

says() { timeout --kill-after=10 "$limit" "$repo/build/probe/client_probe" "$@"; }
outside() { in_net timeout --kill-after=10 "$limit" "$bin/prun" --dvm "127.0.0.1:$(port 0 join)" "$@"; }

# begin PRUN-OPTION...: a job at the head's port that says "up", and ends with code 7 when it is released.
begin() {
    gate=$BATS_TEST_TMPDIR/gate
    mkfifo "$gate" "$gate.end" "$BATS_TEST_TMPDIR/says"
    outside "$@" -n 2 sh -c 'echo up; read -r _ < "$1"; echo "end of $PMIX_RANK"; read -r _ < "$1.end"; exit 7' rank "$gate" \
        > "$BATS_TEST_TMPDIR/says" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    exec {fd}< "$BATS_TEST_TMPDIR/says" {gate_fd}<> "$gate"
}

hear_up() {
    local line
    for _ in 1 2; do
        read -r -t "$limit" -u "$fd" line
        [ "$line" = up ]
    done
}

read_line() {
    local line
    read -r -t "$limit" -u "$fd" line
    echo "$line"
}

# finish: the rest of its output is in $said, its exit code in $code.
finish() {
    local lines end_fd
    echo >&"$gate_fd"
    echo >&"$gate_fd"
    lines=$(read_line; read_line) # the first rank that ends would end the other one
    exec {end_fd}<> "$gate.end"
    echo >&"$end_fd"
    echo >&"$end_fd"
    said=$({ echo "$lines"; cat <&"$fd"; } | sort)
    code=0
    wait "$pid" || code=$?
}

# sent_to VPID: prun -v has said that it was sent on to this member.
sent_to() { grep -q "^prun: the head sends this client on to 127.0.0.1 port $(port "$1" join)\$" "$BATS_TEST_TMPDIR/err"; }

@test "a job from outside that is submitted at the head goes on when the head is killed, with its code and all its output" {
    start_dvm 3 --slots 1
    begin
    hear_up
    crash_head
    crash_head
    finish
    cat "$BATS_TEST_TMPDIR/err"
    [ "$code" -eq 7 ]
    [ "$said" = $'end of 0\nend of 1' ]
    run ! grep -v "exited with code 7" "$BATS_TEST_TMPDIR/err" # nothing about a connection
}

@test "the head names members to those who ask before their job; members name nobody" {
    start_dvm 3
    local head one two three
    head=127.0.0.1:$(port 0 join)
    one=127.0.0.1:$(port 1 join) two=127.0.0.1:$(port 2 join) three=127.0.0.1:$(port 3 join)
    [ "$(says "$head" refer "hear REFERRAL")" = "REFERRAL 3 $one $two $three" ]
    [ "$(says "$head" refer "hear REFERRAL")" = "REFERRAL 3 $two $one $three" ]
    [ "$(says "$one" refer "hear REFERRAL")" = "REFERRAL 0" ]
    run -0 says "$head" "open a 1 0 0" refer gone
    [[ "$output" == *"ERROR 2 a client asks for a place before its job"* ]]
    run -0 says "$head" "submit cat" refer gone
    [[ "$output" == *"ERROR 2 a client asks for a place before its job"* ]]
    # A client of an earlier release does not ask.
    run -0 says "$head" "submit echo here" "hear DONE"
    [[ "$output" == *"OUTPUT here"* ]]
    # A member without room says so before the job is submitted there.
    run -0 says "$DVM_SESSION_DIR/1" crowd "use 1000" refer gone
    [[ "${lines[-2]}" == "ERROR 125 too many jobs of clients outside at this daemon" ]]
}

@test "the jobs that are submitted at the head are spread over members" {
    start_dvm 4 --slots 1
    local i
    for i in 1 2 1; do
        outside -v -n 1 true 2> "$BATS_TEST_TMPDIR/err"
        sent_to "$i"
    done
}

@test "a member that hangs is passed over" {
    start_dvm 3 --slots 2 --silence 60
    hung=$(daemon_of 1)
    kill -STOP "$hung"
    begin -v --host 3
    hear_up
    sent_to 2
    finish
    [ "$code" -eq 7 ]
}

# signal_early MEMBER: SIGUSR1 to a prun that is connected to this daemon, which hangs, then comes to its job in $err.
signal_early() {
    local err=$BATS_TEST_TMPDIR/err
    outside -v -n 1 --host 3 sleep 60 2> "$err" 3>&- &
    pid=$!
    eventually pgrep -f "^dvm-connect 127.0.0.1 $(port "$1" join) "
    kill -USR1 "$(pgrep -f "^$bin/prun --dvm 127.0.0.1:$(port 0 join)")"
    [ "$1" -ne 0 ] || kill -CONT "$hung"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 138 ]
    grep -q "rank 0 .* was ended by signal 10" "$err"
}

@test "a signal for the ranks that comes while a client is sent on reaches them, at the member" {
    start_dvm 3 --slots 2 --silence 60
    hung=$(daemon_of 1)
    kill -STOP "$hung"
    signal_early 1
    sent_to 2
}

@test "a signal for the ranks that comes while prun connects reaches them" {
    start_dvm 3 --slots 2 --silence 60
    hung=$(daemon_of 0)
    kill -STOP "$hung"
    signal_early 0
}

# run_at_head_within MS: the job that is submitted at the head runs there within this time.
run_at_head_within() {
    local from=${EPOCHREALTIME/./}
    begin -v
    hear_up
    [ $(((${EPOCHREALTIME/./} - from) / 1000)) -lt "$1" ]
    run ! grep "sends this client on" "$BATS_TEST_TMPDIR/err"
}

@test "without a member that can be reached the job runs at the head within seconds, and ends with it" {
    can_isolate
    start_in_net 3 --slots 1
    in_net nft add rule inet fault in tcp dport "{ $(port 1 join), $(port 2 join), $(port 3 join) }" drop
    run_at_head_within 6000
    crash_head
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 123 ]
}

@test "members that refuse connections are passed over" {
    can_isolate
    start_in_net 3 --slots 1
    in_net nft add rule inet fault in tcp dport "{ $(port 1 join), $(port 2 join), $(port 3 join) }" reject with tcp reset
    run_at_head_within 6000
    finish
    [ "$code" -eq 7 ]
}

@test "a detached job stays at the head, and so does one that may not run on the daemon of its submitter" {
    start_dvm 1 --slots 1
    local job
    job=$(outside --detach -n 1 sh -c 'exit 7')
    run -7 outside --attach "$job"
    outside -v --nolocal -n 1 true 2> "$BATS_TEST_TMPDIR/err" # the only member is not its submitter's
    run ! grep "sends this client on" "$BATS_TEST_TMPDIR/err"
}
