#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# An application requests another size (PMIx_Allocation_request): within limits, by grants, without a change of the spec.
load ../lib

setup() {
    limits null null 2> /dev/null || true # there may be none yet
    have 3
    if [ "$(granted)" != 0 ]; then end_grants; fi
    remember_start
}
teardown() {
    uncordon
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    stop_background
    limits null null
}

# limits MIN MAX: null removes one.
limits() { k patch dvm "$X" --type merge --patch "{\"spec\": {\"applicationLimits\": {\"min\": $1, \"max\": $2}}}" > /dev/null; }
limits_are() { # MIN MAX: the head knows them
    equal "the head's limits" "$(pstat | jq -c '[.size.min, .size.max]')" "[$1,$2]"
}
granted() { dvm '.status.grants.members // 0'; }
# comes_to REPLICAS MEMBERS: the spec is unchanged, and so many pods and members are wired.
comes_to() {
    equal "spec.replicas" "$(dvm .spec.replicas)" "$1" &&
        equal "the StatefulSet's replicas" "$(replicas_of "$X")" "$2" &&
        equal "member pods" "$(dvm .status.replicas)" "$2" &&
        equal "wired members" "$(dvm .status.readyReplicas)" "$2"
}
# One campaign in the head's record: kind, phase, and how its requester was notified.
record() { pstat | jq -r --arg id "$1" '.campaigns[] | select(.id == $id) | "\(.kind) \(.phase) \(.requester.told)"'; }
is_asked() { equal "the request that runs" "$(dvm '.status.grants.running[0].kind')" "$1"; }
# By its pod: the kubelet restarts a container that is killed repeatedly ever later.
kill_operator() { k delete pod "$(operator_pod)" --force --grace-period=0 2> /dev/null; }
operator_is_back() { LIMIT=150 k rollout status deployment/dvm-operator --timeout=120s > /dev/null; }
suspended() { equal Suspended "$(condition Suspended)" True; }
has_pods() { equal "member pods" "$(member_uids | wc -w)" "$1"; }
# For a DVM with three members.
end_grants() {
    k patch dvm "$X" --type merge --patch '{"spec": {"suspend": true, "replicas": 3}}'
    eventually 90 "nothing runs" suspended
    k patch dvm "$X" --type merge --patch '{"spec": {"suspend": false}}'
    settled 3
}
asked_for() { sed -n "s/^elastic: $1 //p"; }

@test "application: by default a request for another size is refused at once" {
    eventually 30 "the head has the limits" limits_are 3 3
    run in_head prun -n 1 mpi_elastic +1
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: extend "*RESOURCE* ]]
    equal "grants" "$(granted)" 0
    comes_to 3 3
}

@test "application: an extension beyond applicationLimits.max is refused at once" {
    limits null 4
    eventually 30 "the head has the limits" limits_are 3 4
    run in_head prun -n 1 mpi_elastic +2
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: extend "*RESOURCE* ]]
    comes_to 3 3
}

@test "application: no release goes below applicationLimits.min" {
    limits 3 null
    eventually 30 "the head has the limits" limits_are 3 3
    run in_head prun -n 1 mpi_elastic -1
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: release "*PERM* ]]
    comes_to 3 3
}

@test "C16 C20 application: a full DVM is extended by one, computes on the new pod and releases it, and the pod is removed" {
    local uids said extend release
    limits null 4
    eventually 30 "the head has the limits" limits_are 3 4
    uids=$(member_uids)
    run in_head prun -n 6 mpi_elastic +1 x2 -
    equal "exit code" "$status" 0
    said=$output
    extend=$(asked_for extend <<< "$said")
    release=$(asked_for release <<< "$said")
    [[ $said == *"elastic: $extend ready"*"elastic: spawned on $X-4 $X-4"*"elastic: $release ready"* ]]
    equal "the extension" "$(record "$extend")" "grow Complete ByEvent"
    equal "the release" "$(record "$release")" "shrink Complete ByEvent"
    eventually 60 "what was extended has gone" comes_to 3 3
    equal "grants" "$(granted)" 0
    equal "the members' pods" "$(member_uids)" "$uids"
    prun_over_all=$(in_head prun -n 3 --map-by node mpi_ring 10)
    [[ $prun_over_all == *"size=3"*ok* ]]
}

@test "C16 C18 application: a release lasts through a restart of the operator and a scale, until the DVM is suspended" {
    limits 2 null
    eventually 30 "the head has the limits" limits_are 2 3
    in_head prun -n 1 mpi_elastic -1
    eventually 60 "one member less" comes_to 3 2
    equal "grants" "$(granted)" -1

    kill_operator
    operator_is_back
    scale 4
    eventually 60 "one more of both" comes_to 4 3
    equal "grants" "$(granted)" -1

    end_grants
    equal "grants" "$(granted)" 0
}

@test "C8 application: an extension whose pod fits no node fails by its deadline, and the pod is removed" {
    limits null 4
    eventually 30 "the head has the limits" limits_are 3 4
    kubectl get nodes -o name | xargs timeout --kill-after=10 60 kubectl cordon > /dev/null
    run in_head prun -n 1 mpi_elastic t8 +1
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: "*" failed: "* ]]
    eventually 20 "nothing is left of it" comes_to 3 3
    equal "grants" "$(granted)" 0
    eventually 60 "its pod has gone" has_pods 3
}

@test "C18 application: an extension is counted once when the operator is killed while the pod starts" {
    limits null 5
    eventually 30 "the head has the limits" limits_are 3 5
    kubectl get nodes -o name | xargs timeout --kill-after=10 60 kubectl cordon > /dev/null
    background asks kubectl --namespace "$NS" exec "$X-head-0" -- prun -n 1 mpi_elastic k +1
    eventually 30 "the request is in the status" is_asked Extend
    kill_operator
    uncordon
    operator_is_back
    ended asks 90 || { said asks; fail "the extension failed"; }
    eventually 60 "one member more" comes_to 3 4
    equal "grants" "$(granted)" 1
    in_head prun -n 1 mpi_elastic -1
    eventually 60 "as before" comes_to 3 3
    equal "grants" "$(granted)" 0
}
