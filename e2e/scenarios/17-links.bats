#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The upstream name servers of the cluster are silent, as in a cluster without a way out. Connections between daemons are
# reset again and again under a stream of MPI jobs, and members join. No job fails, no member is lost.
# LINKS_SECONDS is the time of the resets.
load ../lib

readonly SECONDS_OF_RESETS=${LINKS_SECONDS:-60} PAUSE_S=10 MEMBERS=4

# on_upstream ARG…: iptables on each node, for queries of the CoreDNS pods. Their answers come from port 53.
on_upstream() {
    local at address protocol
    kubectl --namespace kube-system get pods -l k8s-app=kube-dns -o jsonpath='{range .items[*]}{.spec.nodeName} {.status.podIP}{"\n"}{end}' |
        while read -r at address; do
            for protocol in udp tcp; do
                on_node "$at" iptables --table raw "$1" PREROUTING --source "$address" --protocol "$protocol" --dport 53 -j DROP
            done
        done
}

setup_file() { on_upstream --insert; }
teardown_file() { on_upstream --delete; }

# A name outside has no answer, not even a refusal; one of the cluster has.
upstream_is_silent() {
    in_head getent hosts "$X-head" > /dev/null || fail "a name of the cluster has no answer"
    run in_head timeout 2 getent hosts host.example.org.
    equal "exit code of a look-up that has no answer" "$status" 124
}

# reset_from NODE PID: the kernel resets the connections of this process's network namespace to port 7400; prints their
# number.
reset_from() {
    on_node "$1" nsenter --net="/proc/$2/ns/net" ss -HKtn state established dport = :7400 | grep -c 7400
}

# Each member's connection is reset once in PAUSE_S seconds, one member after the other.
reset_all() {
    local until=$((SECONDS + SECONDS_OF_RESETS)) v n
    while [ "$SECONDS" -lt "$until" ]; do
        for ((v = 1; v <= MEMBERS; v++)); do
            n=$(reset_from "${node[v]}" "${pid[v]}")
            echo "vpid $v: $n connections reset"
            sleep "$(awk -v p="$PAUSE_S" -v m="$MEMBERS" 'BEGIN { print p / m }')"
        done
    done
}

head_metric() { pod_metric "$X-head-0" 7480 "$1"; }

@test "links: each connection is reset every 10 s under a stream of MPI jobs: no job fails, nobody is lost" {
    local v version lost resets jobs=0 begun=$SECONDS
    have "$MEMBERS"
    upstream_is_silent
    for ((v = 1; v <= MEMBERS; v++)); do
        node[v]=$(node_of "$X-$v")
        pid[v]=$(container_pid "$X-$v" dvm-spawner 1)
    done
    version=$(head_metric dvm_membership_version)
    lost=$(head_metric dvm_links_lost_total)
    reset_all > "$BATS_TEST_TMPDIR/resets" 3>&- &
    local resetter=$!
    while kill -0 "$resetter" 2> /dev/null; do
        mpi_over "$MEMBERS" || { kill "$resetter"; return 1; }
        jobs=$((jobs + 2))
    done
    wait "$resetter"
    resets=$(awk '{ n += $3 } END { print n + 0 }' "$BATS_TEST_TMPDIR/resets")
    lost=$(($(head_metric dvm_links_lost_total) - lost))
    echo "# $jobs MPI jobs, $resets connections reset, $lost losses noticed by the head, in $((SECONDS - begun)) s" >&3
    [ "$resets" -ge $((MEMBERS * SECONDS_OF_RESETS / PAUSE_S / 2)) ]
    equal "losses that the head has noticed" "$lost" "$resets"
    equal "membership version" "$(head_metric dvm_membership_version)" "$version"
    equal "members that were lost" "$(pstat | jq '[.members[] | select(.state == "lost")] | length')" 0
    mpi_over "$MEMBERS"
}

# joined_ms POD: from the start of the container's first process to "wired", as the daemon's log has it. The kernel counts
# starts in hundredths of a second.
joined_ms() {
    local pid start wired
    pid=$(container_pid "$1" dvm-spawner 1)
    # shellcheck disable=SC2016  # expanded on the node
    start=$(on_node "$(node_of "$1")" sh -c '
        read -r up _ < /proc/uptime
        now=$(date +%s%3N)
        awk -v up="$up" -v now="$now" "{ sub(/.*\\) /, \"\"); printf \"%.0f\", now - up * 1000 + \$20 * 10 }" "/proc/$1/stat"' start "$pid")
    wired=$(k logs "$1" | awk '/wired as vpid/ { print $1; exit }')
    echo $(($(date -d "$wired" +%s%3N) - start))
}

@test "links: members join; the time from the container's start to wired is printed" {
    local v times=
    have 1
    have "$MEMBERS"
    upstream_is_silent
    for ((v = 2; v <= MEMBERS; v++)); do times+=" $(joined_ms "$X-$v")"; done
    echo "# from the start of the container to wired, ms:$times" >&3
    mpi_over "$MEMBERS"
}
