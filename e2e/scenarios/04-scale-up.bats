#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl scale up, and a scale-down that is reversed before it is complete.
load ../lib

@test "C20: scale 2 -> 5: new members join the pool, MPI runs over all five" {
    have 2
    scale 5
    settled 5
    equal "vpids" "$(pstat | jq -c '[.members[] | select(.state == "wired") | .vpid]')" '[0,1,2,3,4,5]'
    mpi_over 5 "$X-head-0" 3
}

@test "scale 2 -> 5 while jobs run: none fails" {
    have 2
    hold holder 1,2
    scale 5
    settled 5
    mpi_over 5
    released holder
}

@test "scale 4 -> 2 -> 4 before the first is done: the same pods and daemons, and the job there ends well" {
    local uids epochs
    have 4
    uids=$(member_uids)
    epochs=$(pstat | jq -c '[.members[].epoch]')
    hold holder 3,4
    scale 2
    eventually 20 "the campaign drains" has_phase Draining
    scale 4
    settled 4
    released holder
    equal "what became of the campaign" "$(dvm .status.lastCampaign.phase)" Cancelled
    equal "pods" "$(member_uids)" "$uids"
    equal "epochs" "$(pstat | jq -c '[.members[].epoch]')" "$epochs"
    mpi_over 4
}

@test "scale 4 -> 2 -> 4 -> 2 quickly: ends with two members" {
    have 4
    scale 2
    scale 4
    scale 2
    settled 2
    mpi_over 2
}
