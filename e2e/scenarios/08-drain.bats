#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl drain of a node, without and with the head: daemons leave in order and rejoin on other nodes.
load ../lib

setup() {
    have 3
    remember_start
}
teardown() {
    kubectl get nodes -o name | xargs timeout --kill-after=10 60 kubectl uncordon > /dev/null
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    stop_background
}

drain() {
    kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --timeout=100s \
        --pod-selector="e2e=$NS"
}
# Nodes with members and without the head.
node_without_head() {
    local head pod
    head=$(node_of "$X-head-0")
    for pod in "$X-1" "$X-2" "$X-3"; do
        if [ "$(node_of "$pod")" != "$head" ]; then node_of "$pod"; return; fi
    done
    fail "all pods stand on $head"
}
pods_on() { k get pods -l "dvm.openpmix.io/cluster=$X" --field-selector="spec.nodeName=$1" -o name; }

@test "C19: drain of a node without the head: its members move, jobs elsewhere continue" {
    local node
    node=$(node_without_head)
    hold others "$(for v in 1 2 3; do if [ "$(node_of "$X-$v")" != "$node" ]; then echo "$v"; fi; done | paste -sd, -)"
    drain "$node"
    settled 3
    equal "pods on the drained node" "$(pods_on "$node")" ""
    released others
    equal "result" "$(in_head prun -n 3 --map-by node mpi_ring 10)" "ring: size=3 rounds=10 token=30 ok"
}

@test "drain of the head's node: Available again elsewhere" {
    local node
    node=$(node_of "$X-head-0")
    drain "$node"
    settled 3
    equal "pods on the drained node" "$(pods_on "$node")" ""
    equal "result" "$(in_head prun -n 3 --map-by node mpi_ring 10)" "ring: size=3 rounds=10 token=30 ok"
}
