#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl scale 4 -> 2 under a stream of jobs: one campaign, one repair, one event; no job fails; pods are removed last.
load ../lib

setup() {
    have 4
    remember_start
}

# Runs in the head's pod until the file $1 exists: jobs over all daemons, one after the other, each with its result.
# shellcheck disable=SC2016  # expanded in the pod
STREAM='i=0
while [ ! -e "$1" ]; do
    i=$((i + 1))
    out=$(prun -n 4 --map-by node mpi_coll "$2$i" 2>&1); echo "coll $2$i $? $out"
    out=$(prun -n 4 --map-by node mpi_ring 3000 2>&1); echo "ring 3000 $? $out"
done'

# stream NAME SEED
stream() { background "$1" kubectl --namespace "$NS" exec "$X-head-0" -- sh -c "$STREAM" stream "/tmp/stop.$1.$2" "$2"; }
stop_stream() {
    in_head touch "/tmp/stop.$1.$2"
    ended "$1" 120
}
jobs_done() { said "$1" | grep -cE '^(coll|ring) ' || true; }
has_done() { [ "$(jobs_done "$1")" -ge "$2" ]; }

# Each job of the stream has exited with 0 and the result of its seed.
all_succeeded() {
    local kind n code rest total=0
    while read -r kind n code rest; do
        equal "exit code of $kind $n ($rest)" "$code" 0 || return 1
        if [ "$kind" = coll ]; then
            equal "its output" "$rest" "coll: size=4 seed=$n result=$(coll_result "$n" 4) ok" || return 1
        else
            equal "its output" "$rest" "ring: size=4 rounds=3000 token=18000 ok" || return 1
        fi
        total=$((total + 1))
    done < <(said "$1")
    [ "$total" -ge "$2" ] || fail "only $total jobs"
}

# Jobs that run on both leaving daemons now, except the one that holds the campaign open.
spanning() { pstat | jq -r '[.jobs[] | select(.state == "RUNNING" and .ranks == 4 and ([3, 4] - .vpids) == [])] | .[].id'; }
spans() { [ -n "$(spanning)" ]; }

@test "C16: scale 4 -> 2: held open by a job, then one campaign, one repair, one event; pods last; no job fails" {
    local seed uids sequence repairs1 repairs2 campaign id complete held patched done_before
    seed=$(draw_seed)
    repairs1=$(repairs_of "$X-1") repairs2=$(repairs_of "$X-2")
    sequence=$(dvm '.status.sequence // 0')
    uids=$(member_uids)
    background events kubectl --namespace "$NS" exec "$X-head-0" -- pstat --watch-events --json
    hold holder 3,4
    stream jobs "$seed"
    eventually 60 "the stream runs" has_done jobs 2
    eventually 60 "a job of the stream runs on both leaving daemons" spans

    scale 2
    eventually 20 "the campaign drains" has_phase Draining
    campaign=$(dvm .status.campaign)
    id=$(jq -r .id <<< "$campaign")
    equal "its targets" "$(jq -c .targets <<< "$campaign")" '[3,4]'
    [ "$(jq .sequence <<< "$campaign")" -gt "$sequence" ]
    # The head waits for the holder, and for jobs of the stream that used the leaving daemons.
    eventually 30 "events tell what is waited for" grep -q "\"CampaignAccepted\".*\"$id\"" "$BATS_TEST_TMPDIR/events"
    held=$(jq -c --arg id "$id" 'select(.campaign.id == $id) | [.campaign.waiting[]?.job] | length' "$BATS_TEST_TMPDIR/events" | sort -n | tail -n 1)
    [ "$held" -ge 2 ] || fail "when it began only $held jobs spanned the leaving daemons"

    # While the campaign is held open, jobs run and no pod is removed.
    done_before=$(jobs_done jobs)
    eventually 90 "four more jobs" has_done jobs $((done_before + 4))
    has_phase Draining
    equal "replicas of the StatefulSet" "$(replicas_of "$X")" 4
    equal "pods" "$(member_uids)" "$uids"
    equal "pods being removed" "$(k get pods -l "dvm.openpmix.io/cluster=$X" -o json | jq '[.items[] | select(.metadata.deletionTimestamp)] | length')" 0
    [[ $(dvm '.status.campaign.waitingFor | length') -ge 1 ]]
    equal "Resizing" "$(condition Resizing reason)" Draining

    released holder
    settled 2
    stop_stream jobs "$seed"
    all_succeeded jobs 8

    # The status has the same campaign as complete, and an Event reports it.
    equal "the last campaign" "$(dvm '.status.lastCampaign | [.id, .phase, (.targets | tostring)] | join(" ")')" "$id Complete [3,4]"
    equal "its times in order" "$(dvm '.status.lastCampaign | [.recordedTime, .acceptedTime, .drainedTime, .fenceTime, .completeTime, .appliedTime] | . == sort and (map(. != null) | all)')" true
    equal "pods left" "$(member_uids | tr ' ' '\n' | cut -d= -f1 | xargs)" "$X-1 $X-2"
    # One event, counted by a client that read the stream all the time.
    equal "completion events" "$(grep -c "\"CampaignComplete\"" "$BATS_TEST_TMPDIR/events")" 1
    equal "accepted campaigns" "$(grep -c "\"CampaignAccepted\"" "$BATS_TEST_TMPDIR/events")" 1
    # One repair for both.
    equal "repairs of $X-1" $(($(repairs_of "$X-1") - repairs1)) 1
    equal "repairs of $X-2" $(($(repairs_of "$X-2") - repairs2)) 1
    # Pods last: the audit log shows one reduction of the StatefulSet, after the head had reported the campaign complete. One
    # that meets a change of its status is refused (409), and repeated.
    complete=$(dvm .status.lastCampaign.completeTime)
    patched=$(audit "$TEST_AUDIT" 'select(.objectRef.resource == "statefulsets" and .objectRef.name == "x" and .verb == "patch"
        and .responseStatus.code == 200 and (.user.username | endswith(":dvm-operator"))) | .requestReceivedTimestamp' | tr -d '"')
    equal "patches of the StatefulSet" "$(wc -w <<< "$patched")" 1
    [[ $patched > $complete ]] || fail "the StatefulSet was reduced at $patched, the campaign complete at $complete"
    mpi_over 2
}

@test "scale 4 -> 2 at rest takes moments" {
    scale 2
    settled 2 "$X" 30
    equal "phase" "$(dvm .status.lastCampaign.phase)" Complete
}

@test "scale 1 -> 0 -> 1: jobs wait without members and run when there is one" {
    have 1
    scale 0
    settled 0
    equal "Available" "$(condition Available reason)" HeadOnly
    background job kubectl --namespace "$NS" exec "$X-head-0" -- prun -n 1 echo ran
    eventually 30 "the job is held with a reason" job_waits
    scale 1
    ended job 60 || { said job; false; }
    said job | grep -qx ran
}
job_waits() { pstat | jq -e '[.jobs[] | select(.state != "TERMINATED" and .state != "ABORTED" and .reason != "")] | length >= 1' > /dev/null; }
