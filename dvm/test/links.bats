#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Connections between daemons are reset by the kernel while input, output and jobs go over them: no byte differs, no job
# fails, and no member is lost.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib
load net

readonly ROUNDS=6

shares=${SHARE_PROBE:-$repo/build/probe/share_probe}

setup_file() {
    build_all
    [ -n "${SHARE_PROBE:-}" ] || make -s -C "$repo" build/probe/share_probe >&2
}
setup() {
    new_dvm_dir
}
teardown() { end_dvm; }

# Needs CAP_NET_ADMIN and a kernel with INET_DIAG_DESTROY: tried on a connection to the head's port for probes.
can_reset() {
    local fd rc=0
    exec {fd}<> "/dev/tcp/127.0.0.1/$(port 0 plain)"
    reset_one "$(port 0 plain)" 2> /dev/null || rc=1
    [ -z "$(callers "$(port 0 plain)")" ] || rc=1
    exec {fd}>&-
    return "$rc"
}

lost_more_than() { [ "$(metric 0 dvm_links_lost_total)" -gt "$1" ]; }

# reset_link LINKS: one of the head's links is reset while what was sent last is on its way. Returns when the head has
# noticed it, and has as many links as before.
reset_link() {
    local lost
    lost=$(metric 0 dvm_links_lost_total)
    reset_one "$(port 0 join)"
    eventually lost_more_than "$lost"
    eventually links_are "$1"
}

# feed LINKS: input of random bytes, and a reset after each part of it.
feed() {
    local i
    for ((i = 0; i < ROUNDS; i++)); do
        head -c 4000000 /dev/urandom
        reset_link "$1" >&2
    done
}

# stream_under_resets LINKS: input to a rank of the only member and its output go over links that are reset.
stream_under_resets() {
    local in=$BATS_TEST_TMPDIR/in out=$BATS_TEST_TMPDIR/out version
    export DVM_LINKS=$1
    start_dvm 1 --slots 4
    can_reset || skip "the kernel does not reset connections for this user"
    eventually links_are "$1"
    version=$(metric 0 dvm_membership_version)
    feed "$1" | tee "$in" | prun --host 1 -n 1 cat > "$out"
    cmp "$in" "$out"
    [ "$(metric 0 dvm_links_lost_total)" -ge "$ROUNDS" ]
    [ "$(metric 0 dvm_membership_version)" = "$version" ]
}

@test "a stream over three links, of which one after the other is reset, arrives unchanged, and no member is lost" {
    stream_under_resets 3
}

@test "a stream over one link that is reset again and again arrives unchanged, and no member is lost" {
    stream_under_resets 1
}

@test "jobs on all members go on while links to the head are reset" {
    local i version
    export DVM_LINKS=2
    start_dvm 2 --slots 4
    can_reset || skip "the kernel does not reset connections for this user"
    eventually links_are 4
    version=$(metric 0 dvm_membership_version)
    for ((i = 0; i < ROUNDS; i++)); do
        prun -n 8 sh -c 'echo x' > "$BATS_TEST_TMPDIR/out" 3>&- &
        reset_link 4
        wait $!
        [ "$(grep -c x "$BATS_TEST_TMPDIR/out")" = 8 ]
    done
    [ "$(metric 0 dvm_membership_version)" = "$version" ]
}

# shown VPID ROW COLUMN: of the table that the daemon VPID shows; row 0 has the headings.
shown() { pstat --dvm "$DVM_SESSION_DIR/$1" links | awk -v row="$2" -v column="$3" 'NR == row + 1 { print $column }'; }

# up_are VPID NUMBER: so many links to the neighbour in the first row are up.
up_are() { [ "$(shown "$1" 1 3)" = "$2" ]; }
lost_at_both() { [ "$(pstat --json links | jq '[.peers[].lost] | add')" = 1 ] && [ "$(lost_at_members)" = 1 ]; }
lost_at_members() { for i in 1 2 3; do pstat --dvm "$DVM_SESSION_DIR/$i" --json links; done | jq -s '[.[].peers[] | select(.role == "parent").lost] | add'; }

@test "pstat links: each daemon shows its own neighbours, and both ends count a link that is reset" {
    local i
    export DVM_LINKS=2
    start_dvm 3 --slots 1
    eventually links_are 6
    run -0 pstat links
    [[ "${lines[0]}" == "VPID  ROLE "*"LOST  SENT AGAIN  ADDRESSES" ]]
    [ "${#lines[@]}" -eq 4 ]
    for i in 1 2 3; do
        [ "$(shown 0 "$i" 1) $(shown 0 "$i" 2)" = "$i child" ]
        eventually up_are "$i" 2
        [[ "${lines[i]}" == *"  127.0.0.1-127.0.0.1 x2" ]]
        [ "$(pstat --dvm "$DVM_SESSION_DIR/$i" --json links | jq -c '[.vpid, .peers[].vpid, .peers[].role]')" = "[$i,0,\"parent\"]" ]
    done
    [ "$(pstat --json links | jq '[.peers[].lost] | add')" = 0 ]
    can_reset || skip "the kernel does not reset connections for this user"
    reset_link 6
    eventually lost_at_both
}

@test "a modex of more than 64 MiB passes relays: 4 ranks of 20 MiB, below and beside each other" {
    start_dvm 4 --slots 1 --radix 2
    run -0 prun -n 4 "$shares" modex 20
    [ "$output" = "20971520 bytes of each of 4 ranks: right" ]
    [ "$(metric 1 dvm_links_lost_total)" = 0 ]
}
