#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# An application asks for another size (PMIx_Allocation_request): within limits, by grants, never by the spec.
load ../lib

setup() {
    have 3
    limits null null
    settled 3
    remember_start
}

teardown_file() { limits null null; }

# limits MIN MAX: null takes one away.
limits() { k patch dvm "$X" --type merge --patch "{\"spec\": {\"minReplicas\": $1, \"maxReplicas\": $2}}" > /dev/null; }
limits_are() { # MIN MAX: the head knows them
    equal "the head's limits" "$(pstat | jq -c '[.size.min, .size.max]')" "[$1,$2]"
}
granted() { dvm '.status.grants.members // 0'; }
# What grants come to: N pods and wired members, and the spec as it was.
comes_to() {
    equal "spec.replicas" "$(dvm .spec.replicas)" "$1" &&
        equal "the StatefulSet's replicas" "$(replicas_of "$X")" "$2" &&
        equal "member pods" "$(dvm .status.replicas)" "$2" &&
        equal "wired members" "$(dvm .status.readyReplicas)" "$2"
}
# One in the head's record: kind and phase, and how its asker was told.
record() { pstat | jq -r --arg id "$1" '.campaigns[] | select(.id == $id) | "\(.kind) \(.phase) \(.requester.told)"'; }
asked_for() { sed -n "s/^elastic: $1 //p"; }

@test "application: by default it may not resize, and is told so at once" {
    eventually 30 "the head has the limits" limits_are 3 3
    run in_head prun -n 1 mpi_elastic 1
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: extend "*RESOURCE* ]]
    equal "grants" "$(granted)" 0
    comes_to 3 3
}

@test "application: beyond maxReplicas it is refused at once" {
    limits null 4
    eventually 30 "the head has the limits" limits_are 3 4
    run in_head prun -n 1 mpi_elastic 2
    [ "$status" -ne 0 ]
    [[ $output == *"elastic: extend "*RESOURCE* ]]
    comes_to 3 3
}

@test "application: it extends by one, its pod comes, it gives it back, and the pod goes" {
    local uids said extend release
    limits null 4
    eventually 30 "the head has the limits" limits_are 3 4
    uids=$(member_uids)
    run in_head prun -n 2 --map-by node mpi_elastic 1
    equal "exit code" "$status" 0
    said=$output
    extend=$(asked_for extend <<< "$said")
    release=$(asked_for release <<< "$said")
    [[ $said == *"elastic: $extend ready"*"elastic: $release ready"* ]]
    equal "the extension" "$(record "$extend")" "grow Complete ByEvent"
    equal "the release" "$(record "$release")" "shrink Complete ByEvent"
    eventually 60 "what was extended has gone" comes_to 3 3
    equal "grants" "$(granted)" 0
    equal "the members' pods" "$(member_uids)" "$uids"
    prun_over_all=$(in_head prun -n 3 --map-by node mpi_ring 10)
    [[ $prun_over_all == *"size=3"*ok* ]]
}
