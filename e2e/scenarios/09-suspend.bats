#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# spec.suspend ends the DVM in order; resuming starts it with the same certificates.
load ../lib

secrets() { k get secrets -o json | jq -r --arg x "$X" '.items[] | select(.metadata.ownerReferences[0].name == $x) | "\(.metadata.name)=\(.metadata.uid)"' | sort | xargs; }
no_pods() { equal pods "$(k get pods -l "dvm.openpmix.io/cluster=$X" -o name)" ""; }
suspend() { k patch dvm "$X" --type merge --patch "{\"spec\": {\"suspend\": $1}}"; }

@test "suspend and resume" {
    local before
    have 3
    before=$(secrets)
    [ "$(wc -w <<< "$before")" = 5 ] # authority, head, member, operator, user
    suspend true
    k wait --for=condition=Suspended "dvm/$X" --timeout=90s
    eventually 30 "no pod is left" no_pods
    equal Available "$(condition Available)" False
    equal "what scale shows" "$(dvm '.spec.replicas, (.status.replicas // 0)' | xargs)" "3 0"
    suspend false
    settled 3
    equal Suspended "$(condition Suspended)" False
    equal "the certificates' Secrets" "$(secrets)" "$before"
    mpi_over 3
}

@test "suspend waits for a job that runs" {
    have 2
    hold job 1,2
    suspend true
    eventually 30 "the shutdown is told" equal_reason Progressing ShuttingDown
    equal "pods" "$(k get pods -l "dvm.openpmix.io/cluster=$X" -o name | wc -l)" 3
    released job
    k wait --for=condition=Suspended "dvm/$X" --timeout=90s
    suspend false
    settled 2
}
equal_reason() { equal "reason of $1" "$(condition "$1" reason)" "$2"; }
