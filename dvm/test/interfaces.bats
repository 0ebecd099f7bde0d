#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Daemons with two interfaces each, in two network namespaces that two cables join. One interface is down for a while:
# a stream arrives unchanged, jobs end with 0, no member is lost, and the links come back. With one address it is a loss.

# shellcheck disable=SC2154  # set by lib.bash

bats_require_minimum_version 1.5.0
load lib

setup_file() { build_all; }
setup() {
    unshare --net --mount true 2> /dev/null || skip "no right to make a network namespace"
    new_dvm_dir
    unshare --net sleep 600 3>&- &
    here=$!
    unshare --net --mount sleep 600 3>&- &
    there=$!
    eventually apart "$here"
    eventually apart "$there"
}
teardown() {
    [ ! -e "$DVM_SESSION_DIR/local.json" ] || at_head "$bin/prte" stop >&2 || true
    kill ${member:+"$member"} "$here" "$there" || true
    [ -z "${member:-}" ] || wait_end "$member"
}

apart() { [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; }
at_head() { nsenter --net="/proc/$here/ns/net" "$@"; }
at_member() { nsenter --net="/proc/$there/ns/net" --mount="/proc/$there/ns/mnt" "$@"; }

# lay_cables: interfaces h1 and h2 at the head are joined to m1 and m2 at the member, each pair in a network of its own.
lay_cables() {
    local i
    at_head ip link set lo up
    at_member ip link set lo up
    for i in 1 2; do
        at_head ip link add "h$i" type veth peer name "m$i" netns "$there"
        at_head ip addr add "10.$i.0.1/24" dev "h$i"
        at_head ip link set "h$i" up
        at_member ip addr add "10.$i.0.2/24" dev "m$i"
        at_member ip link set "m$i" up
    done
    # The head's certificate has the name localhost, so the member calls it by that name.
    echo "10.1.0.1 localhost" > "$BATS_TEST_TMPDIR/hosts"
    at_member mount --bind "$BATS_TEST_TMPDIR/hosts" /etc/hosts
}

# may_join MEMBERS: the head lets so many in.
may_join() {
    local tls=$DVM_SESSION_DIR/tls/operator
    at_head curl -fsS -m "$limit" --cacert "$tls/ca.crt" --cert "$tls/tls.crt" --key "$tls/tls.key" -X PUT \
        -d "{\"sequence\": 1, \"members\": $1}" "https://127.0.0.1:$(jq .control "$DVM_SESSION_DIR/0/ports.json")/v1/size"
}

# start_apart HEAD-ADDRESSES MEMBER-ADDRESSES: a head, and vpid 1 in the other namespace.
start_apart() {
    lay_cables
    DVM_ADDRESSES=$1 at_head "$bin/prte" start -n 0 --link-grace 2 --silence 4 3>&-
    may_join 1
    # Not by at_member: $! is to be the daemon's own.
    nsenter --net="/proc/$there/ns/net" --mount="/proc/$there/ns/mnt" "$bin/prted" --role member --vpid 1 --cluster "local/$(basename "$DVM_SESSION_DIR")" --exit-on-leave \
        --head "localhost:$(jq .join "$DVM_SESSION_DIR/0/ports.json")" --tls-dir "$DVM_SESSION_DIR/tls/member" \
        --session-dir "$DVM_SESSION_DIR/1" --host-name node1 --address "$2" --slots 4 --join-port 0 --plain-port 0 \
        --link-grace-ms 2000 --silence-ms 4000 > "$BATS_TEST_TMPDIR/member.log" 2>&1 3>&- &
    member=$!
}

links() { at_head "$bin/pstat" links | awk '$1 == 1 {print $3 " " $4}'; }
links_are() { [ "$(links)" = "$1" ]; }
one_link_is_out() { [ "$(links)" = "1 1" ] || [ "$(links)" = "1 0" ]; }
version() { at_head "$bin/pstat" --json | jq .version; }
is_lost() { [ "$(at_head "$bin/pstat" --json | jq -r '.members[] | select(.vpid == 1).state')" = lost ]; }

# feed INTERFACE: input while this interface of the member goes down and up again.
feed() {
    head -c 2000000 /dev/urandom
    at_member ip link set "$1" down
    for _ in $(seq 20); do
        head -c 200000 /dev/urandom
        sleep 0.1
    done
    eventually one_link_is_out
    at_head timeout "$limit" "$bin/prun" -n 2 true >&2 || touch "$BATS_TEST_TMPDIR/job.failed"
    at_member ip link set "$1" up
    head -c 2000000 /dev/urandom
}

# Both daemons show a link between each two addresses, in pstat, in the API and in the metrics.
shows_both_addresses() {
    local i up
    [[ "$(at_head "$bin/pstat" links)" == *"  10.1.0.1-10.1.0.2, 10.2.0.1-10.2.0.2" ]]
    [ "$(at_head "$bin/pstat" --json links | jq -c '[.peers[0].addresses[] | [.own, .other, .up]] | sort')" = \
        '[["10.1.0.1","10.1.0.2",1],["10.2.0.1","10.2.0.2",1]]' ]
    [ "$(at_member "$bin/pstat" --dvm "$DVM_SESSION_DIR/1" --json links | jq -c '[.peers[0].addresses[].own] | sort')" = \
        '["10.1.0.2","10.2.0.2"]' ]
    up=$(at_head curl -fsS -m "$limit" "http://127.0.0.1:$(jq .plain "$DVM_SESSION_DIR/0/ports.json")/metrics")
    for i in 1 2; do
        [[ "$up" == *"dvm_link_paths{vpid=\"1\",own=\"10.$i.0.1\",other=\"10.$i.0.2\",state=\"up\"} 1"* ]]
    done
}

# survive INTERFACE
survive() {
    local in=$BATS_TEST_TMPDIR/in out=$BATS_TEST_TMPDIR/out before
    start_apart 10.1.0.1,10.2.0.1 m1,m2
    eventually links_are "2 0"
    eventually shows_both_addresses
    before=$(version)
    feed "$1" | tee "$in" | at_head timeout "$limit" "$bin/prun" -n 1 cat > "$out"
    cmp "$in" "$out"
    [ ! -e "$BATS_TEST_TMPDIR/job.failed" ]
    eventually links_are "2 0"
    [ "$(version)" = "$before" ]
}

@test "two interfaces: the second one is down for a while, and a stream and jobs go on over the first" {
    survive m2
}

@test "two interfaces: the first one is down for a while, and a stream and jobs go on over the second" {
    survive m1
}

@test "one address: the interface is down for longer than the limits, the member is lost" {
    start_apart 10.1.0.1 m1
    eventually links_are "1 0"
    at_member ip link set m1 down
    eventually is_lost
}
