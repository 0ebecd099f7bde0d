#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Random faults of the network between daemons, one after the other, each shorter than the link grace: a stream arrives
# unchanged, jobs end with 0, and no member is lost. The faults follow from SOAK_SEED (their effects also from the time).
#
# SOAK_FAULTS: number of faults of all tests together; SOAK_BYTES: bytes of input for each fault.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib
load net

readonly MEMBERS=4 FAULTS=${SOAK_FAULTS:-60} BYTES=${SOAK_BYTES:-1000000} TESTS=2

setup_file() {
    build_all
    export SOAK_SEED=${SOAK_SEED:-$RANDOM}
}
setup() {
    can_isolate
    new_dvm_dir
}
teardown() { end_dvm; }

# --- faults

# draw N: $drawn is a number below N. Not in a subshell, which would not change the sequence.
draw() { drawn=$((RANDOM % $1)); }
# hold: for 50 to 449 ms.
hold() {
    draw 400
    sleep "$(printf '0.%03d' $((drawn + 50)))"
}

drop() { in_net nft add rule inet fault in tcp "$1" "{ $2 }" "${@:3}"; }
held_drop() {
    hold
    in_net nft flush chain inet fault in
}

reset_a_link() {
    local list
    mapfile -t list < <(callers "${ports[@]}")
    draw 1000
    [ "${#list[@]}" -eq 0 ] || reset_from "${list[drawn % ${#list[@]}]}" "${ports[@]}"
}
reset_all_links() { in_net ss -HKtn state established "$(dport_in "${ports[@]}")" > /dev/null; }
drop_both_ways() {
    drop sport "$1" drop
    drop dport "$1" drop
    held_drop
}
drop_to_parent() {
    drop dport "$1" drop
    held_drop
}
drop_to_child() {
    drop sport "$1" drop
    held_drop
}
refuse() {
    drop dport "$1" reject with tcp reset
    held_drop
}
take_interface_down() {
    in_net ip link set lo down
    hold
    in_net ip link set lo up
}

# Of ten faults, three reset a link. The others concern all daemons, or the links to one of them.
readonly KINDS=(reset_a_link reset_a_link reset_a_link reset_all_links drop_both_ways drop_both_ways drop_to_parent
    drop_to_child refuse take_interface_down)
make_fault() {
    local of=$all
    draw 2
    if [ "$drawn" -eq 0 ]; then
        draw "${#ports[@]}"
        of=${ports[drawn]}
    fi
    draw "${#KINDS[@]}"
    counts[drawn]=$((${counts[drawn]:-0} + 1))
    "${KINDS[drawn]}" "$of"
    draw 200
    sleep "$(printf '0.%03d' "$drawn")" # the next one also comes into the recovery
}

# --- what goes on meanwhile

# The same bytes in each run of a test.
random_bytes() { openssl enc -aes-128-ctr -K "$(printf '%032x' "$SOAK_SEED")" -iv 0 -in /dev/zero 2> /dev/null | head -c "$1"; }

# feed BYTES: a part at a time while there are faults, the rest when they are over.
feed() {
    local left=$1 part=$((BYTES / 10))
    while [ "$left" -gt "$part" ] && [ ! -e "$BATS_TEST_TMPDIR/over" ]; do
        head -c "$part"
        left=$((left - part))
        sleep 0.05
    done
    head -c "$left"
}

run_jobs() {
    local n=0
    while [ ! -e "$BATS_TEST_TMPDIR/over" ]; do
        prun --stdin none -n "$MEMBERS" --map-by node sh -c 'echo begun; sleep 0.1; echo ended' > "$BATS_TEST_TMPDIR/job" || return 1
        [ "$(sort "$BATS_TEST_TMPDIR/job" | uniq -c | tr -s ' \n' ' ')" = " $MEMBERS begun $MEMBERS ended " ] || return 1
        n=$((n + 1))
    done
    echo "$n" > "$BATS_TEST_TMPDIR/jobs"
}

say() { echo "# $*" >&3; }

show_counters() {
    local v name
    for ((v = 0; v <= MEMBERS; v++)); do
        for name in dvm_links_lost_total dvm_links_mapped_out_total dvm_links_taken_back_total dvm_frames_again_total \
            'dvm_tls_handshakes_total{kind="resumed"}' 'dvm_tls_handshakes_total{kind="full"}'; do
            printf '%s %s; ' "$name" "$(metric "$v" "$name")"
        done | sed "s/^/vpid $v: /; s/dvm_//g; s/; \$/\n/"
    done
}

all_links_are_up() {
    local v sum=0
    for ((v = 0; v <= MEMBERS; v++)); do sum=$((sum + $(metric "$v" 'dvm_links{state="up"}'))); done
    [ "$sum" -eq $((2 * MEMBERS * DVM_LINKS)) ]
}

# soak LINKS: with so many links to each parent, in a tree of three levels.
soak() {
    local version ports all bytes=$((FAULTS * BYTES / TESTS)) i stream jobs counts=() failed=0
    export DVM_LINKS=$1
    RANDOM=$SOAK_SEED
    say "seed $SOAK_SEED, $((FAULTS / TESTS)) faults, $bytes bytes"
    start_in_net "$MEMBERS" --slots 4 --radix 2
    mapfile -t ports < <(for ((i = 0; i <= MEMBERS; i++)); do port "$i" join; done)
    all=$(IFS=, && echo "${ports[*]}")
    eventually all_links_are_up
    version=$(metric 0 dvm_membership_version)
    limit=$((limit + FAULTS)) # the stream lasts as long as the faults
    random_bytes "$bytes" | feed "$bytes" | prun --host "$MEMBERS" -n 1 cat 3>&- | cmp - <(random_bytes "$bytes") 3>&- &
    stream=$!
    run_jobs 3>&- &
    jobs=$!
    for ((i = 0; i < FAULTS / TESTS; i++)); do
        make_fault
    done
    touch "$BATS_TEST_TMPDIR/over"
    wait "$jobs" || failed=1
    wait "$stream" || failed=1
    for i in "${!counts[@]}"; do say "${counts[i]} x ${KINDS[i]}"; done
    say "$(cat "$BATS_TEST_TMPDIR/jobs") jobs"
    show_counters | while read -r i; do say "$i"; done
    [ "$failed" -eq 0 ]
    [ "$(metric 0 dvm_membership_version)" = "$version" ]
    [ "$(metric 0 dvm_links_lost_total)" -gt 0 ]
    eventually all_links_are_up
}

@test "random faults with two links to each parent: no job fails, no byte differs, no member is lost" {
    soak 2
}

@test "random faults with one link to each parent: no job fails, no byte differs, no member is lost" {
    soak 1
}
