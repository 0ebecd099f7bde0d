#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl drain of a node, without and with the head: daemons leave in order and rejoin on other nodes.
load ../lib

setup() {
    have 3
    remember_start
}
teardown() {
    uncordon
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

evict_head() {
    printf '{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "%s", "namespace": "%s"}}' "$X-head-0" "$NS" |
        kubectl create --raw "/api/v1/namespaces/$NS/pods/$X-head-0/eviction?dryRun=All" -f - > /dev/null
}
budget_is() { equal "evictions of the head that are allowed" "$(k get pdb "$X-head" -o jsonpath='{.status.disruptionsAllowed}')" "$1"; }

@test "the head cannot be evicted while a job runs, and can afterwards" {
    eventually 60 "an eviction is allowed" budget_is 1
    evict_head
    hold job 1
    eventually 30 "none is allowed" budget_is 0
    run evict_head
    [ "$status" -ne 0 ]
    [[ $output == *"disruption budget"* ]]
    released job
    eventually 60 "an eviction is allowed again" budget_is 1
}

head_moved() { [ "$(node_of "$X-head-0")" != "$1" ] && [ "$(k get pod "$X-head-0" -o jsonpath='{.status.phase}')" = Running ]; }

@test "C21: drain of the head's node: an MPI job over all members goes on, and ends with its result" {
    local node incarnation seed v
    node=$(node_of "$X-head-0")
    incarnation=$(pstat | jq -r .incarnation)
    seed=$(draw_seed)
    eventually 60 "an eviction is allowed" budget_is 1
    background ring kubectl --namespace "$NS" exec "$X-3" -- prun -n 3 --map-by node mpi_ring 10 "/tmp/stop.$seed"
    eventually 30 "the job runs" job_runs
    # shellcheck disable=SC2016 # expanded by that shell
    background drain bash -c '. "$1"; kubectl drain "$2" --ignore-daemonsets --delete-emptydir-data --timeout=140s --pod-selector="e2e=$NS"' drain "$ROOT/e2e/lib.bash" "$node"
    eventually 90 "the head is on another node" head_moved "$node"
    eventually 60 "the next head has the job" job_runs
    # A member on that node leaves when the job has ended; rank 0, which looks for the file, is at the first one.
    for v in 3 2 1; do k exec "$X-$v" -- touch "/tmp/stop.$seed"; done
    ended ring 60 || { said ring; fail "the job ended badly"; }
    said ring | grep -qE '^ring: size=3 rounds=[0-9]+ token=[0-9]+ ok$' || fail "its output: $(said ring)"
    ended drain 150 || { said drain; fail "the drain failed"; }
    settled 3
    equal "pods on the drained node" "$(pods_on "$node")" ""
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    equal "result" "$(in_head prun -n 3 --map-by node mpi_ring 10)" "ring: size=3 rounds=10 token=30 ok"
}
job_runs() { [ "$(pstat | jq '[.jobs[] | select(.state == "RUNNING" or .state == "REGISTERED")] | length')" = 1 ]; }
