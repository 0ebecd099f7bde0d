#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A head on a node of its own: the node is tainted, and only spec.head.template tolerates that.
load ../lib

setup() {
    remember_start
    have 1
    node=$(node_of "$X-1") # pods can run there
}
teardown() {
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    k delete dvm apart --ignore-not-found --timeout=90s
    kubectl taint nodes "$node" "$NS-head-" > /dev/null 2>&1 || true
    kubectl label nodes "$node" "$NS-head-" > /dev/null
}

with_head_template() {
    cluster_yaml apart 2 | sed "s|^  head:|&\n    template:\n      spec:\n        nodeSelector: {$NS-head: only}\n        tolerations: [{key: $NS-head, operator: Exists}]|"
}

@test "head template: the head runs on a tainted node that no member uses, also after its pod was deleted" {
    kubectl label nodes "$node" "$NS-head=only"
    kubectl taint nodes "$node" "$NS-head=only:NoSchedule" # what runs there stays
    with_head_template | k apply -f -
    k wait --for=condition=Available dvm/apart --timeout=120s
    settled 2 apart
    equal "the head's node" "$(node_of apart-head-0)" "$node"
    for pod in apart-1 apart-2; do
        [ "$(node_of "$pod")" != "$node" ] || fail "$pod is on the head's node"
    done
    mpi_over 2 apart-head-0
    first=$(uid_of apart-head-0)
    k delete pod apart-head-0
    eventually 60 "the next head's pod runs" is_replaced "$first"
    settled 2 apart
    equal "the next head's node" "$(node_of apart-head-0)" "$node"
}
is_replaced() { [ "$(uid_of apart-head-0)" != "$1" ] && [ "$(k get pod apart-head-0 -o jsonpath='{.status.phase}')" = Running ]; }
