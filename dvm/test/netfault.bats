#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The network between daemons loses, drops and refuses packets, and goes down. For less than the grace: a stream arrives
# unchanged, jobs end with 0, and no member is lost. For longer: members are lost and named, and join anew afterwards.
# Each DVM is in a network namespace of its own.

# shellcheck disable=SC2154  # set by lib.bash
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib
load net

readonly FAULT_S=2 # shorter than the link grace and the silence

setup_file() { build_all; }
setup() {
    can_isolate
    new_dvm_dir
}
teardown() { end_dvm; }

dropped_some() { in_net nft -j list chain inet fault in | jq -e '[.. | .counter? // empty | .packets] | add > 0' > /dev/null; }

# fault RULE...: what the rule says happens to packets for FAULT_S seconds, and to some at least.
fault() {
    in_net nft add rule inet fault in "$@"
    sleep "$FAULT_S"
    dropped_some
    in_net nft flush chain inet fault in
}

interface_down() {
    in_net ip link set lo down
    sleep "$FAULT_S"
    in_net ip link set lo up
}

# feed FAULT...: input of random bytes before, during and after the fault.
feed() {
    head -c 4000000 /dev/urandom
    "$@" >&2 &
    while kill -0 $! 2> /dev/null; do
        head -c 1000000 /dev/urandom
        sleep 0.1
    done
    wait $! || touch "$BATS_TEST_TMPDIR/no.fault"
    head -c 4000000 /dev/urandom
}

# survive FAULT...: a stream and a job on all members go on through the fault.
survive() {
    local in=$BATS_TEST_TMPDIR/in out=$BATS_TEST_TMPDIR/out version job
    start_in_net 2 --slots 6
    eventually links_are 2
    version=$(metric 0 dvm_membership_version)
    prun -n 4 --map-by node sh -c 'i=0; while [ $i -lt 40 ]; do echo $i; sleep 0.1; i=$((i + 1)); done' > "$BATS_TEST_TMPDIR/job" 3>&- &
    job=$!
    feed "$@" | tee "$in" | prun --host 1 -n 1 cat > "$out"
    [ ! -e "$BATS_TEST_TMPDIR/no.fault" ]
    cmp "$in" "$out"
    wait "$job"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/job")" -eq 160 ]
    [ "$(metric 0 dvm_membership_version)" = "$version" ]
    run -0 prun -n 12 true
    eventually links_are 2
}

drop_both() {
    in_net nft add rule inet fault in tcp sport "$join" drop
    fault tcp dport "$join" counter drop
}
drop_to_members() { fault tcp sport "$join" counter drop; }
drop_to_head() { fault tcp dport "$join" counter drop; }
members_lost() { [ "$(view '[.members[] | select(.state == "lost")] | length')" = "$1" ]; }
refuse() { fault tcp dport "$join" counter reject with tcp reset; }

@test "packets between the head and its members are dropped in both directions for a while" {
    survive drop_both
}

@test "packets from the head to its members are lost for a while, those to the head are not" {
    survive drop_to_members
}

@test "packets from the members to the head are lost for a while, those to members are not" {
    survive drop_to_head
}

@test "connections to the head are reset and refused for a while" {
    survive refuse
}

@test "the interface is down for a while" {
    survive interface_down
}

@test "packets are dropped for longer than the limits: members are lost, their job ends with 123 and names one" {
    local code=0
    start_in_net 2 --slots 1 --silence 2 --link-grace 2
    prun -n 1 --host 1 sh -c 'echo up; sleep 1000' > "$BATS_TEST_TMPDIR/job" 2>&1 3>&- &
    local job=$!
    eventually grep -q up "$BATS_TEST_TMPDIR/job"
    in_net nft add rule inet fault in tcp dport "$join" drop
    eventually members_lost 2
    wait "$job" || code=$?
    [ "$code" -eq 123 ]
    grep -q "vpid 1" "$BATS_TEST_TMPDIR/job"
    in_net nft flush chain inet fault in
    prte resize 2 # they join anew
    prun -n 2 true
}
