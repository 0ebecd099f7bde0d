#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator is killed while a job holds a campaign open: the next one continues the same campaign.
load ../lib

campaign_ids() { pstat | jq -r '[.campaigns[].id] | sort | join(" ")'; }

@test "C18: operator killed by SIGKILL during a campaign: the same id afterwards, counted once, pods last" {
    local id pod restarts uids known
    have 4
    remember_start
    uids=$(member_uids)
    background events kubectl --namespace "$NS" exec "$X-head-0" -- pstat --watch-events --json
    hold holder 3,4
    known=$(campaign_ids)
    scale 2
    eventually 20 "the campaign drains" has_phase Draining
    id=$(dvm .status.campaign.id)
    equal "phase that the head tells" "$(pstat | jq -r --arg id "$id" '.campaigns[] | select(.id == $id) | .phase')" Draining

    pod=$(operator_pod)
    restarts=$(restarts_of "$pod")
    kill_from_outside "$pod" dvm-operator
    eventually 30 "its container is started again" has_restarted "$pod" "$restarts"
    k wait --for=condition=Ready "pod/$pod" --timeout=60s
    equal "id in status" "$(dvm .status.campaign.id)" "$id"
    equal "phase" "$(dvm .status.campaign.phase)" Draining
    equal "campaigns of the head" "$(campaign_ids)" "$(xargs -n1 <<< "$known $id" | sort | xargs)"
    equal "replicas of the StatefulSet" "$(replicas_of "$X")" 4
    equal pods "$(member_uids)" "$uids"

    released holder
    settled 2
    equal "the last campaign" "$(dvm '.status.lastCampaign | .id + " " + .phase')" "$id Complete"
    equal "accepted" "$(grep -c '"CampaignAccepted"' "$BATS_TEST_TMPDIR/events")" 1
    equal "complete" "$(grep -c '"CampaignComplete"' "$BATS_TEST_TMPDIR/events")" 1
    mpi_over 2
}

@test "C18: operator killed while a campaign ends: the size is reached" {
    local pod id restarts
    have 4
    hold holder 3,4
    scale 2
    eventually 20 "the campaign drains" has_phase Draining
    id=$(dvm .status.campaign.id)
    pod=$(operator_pod)
    restarts=$(restarts_of "$pod")
    kill_from_outside "$pod" dvm-operator
    # The campaign ends at the head while no operator is connected.
    released holder
    eventually 60 "its container is started again" has_restarted "$pod" "$restarts"
    settled 2
    equal "the last campaign" "$(dvm '.status.lastCampaign | .id + " " + .phase')" "$id Complete"
}
