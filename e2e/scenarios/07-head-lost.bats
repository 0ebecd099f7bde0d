#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The head's container is killed, or its pod deleted: jobs, members, queue and campaigns go on with the next head, which
# gets the records of two members. If both are lost with the head, jobs of the other members go on if these are most of all.
# Otherwise jobs end with a reason, and members join anew.
# shellcheck disable=SC2016,SC2030,SC2031 # what is in single quotes is expanded in a pod; the end of a test reads its variables
load ../lib

# remember MEMBERS: what stays when the head is replaced.
remember() {
    incarnation=$(pstat | jq -r .incarnation)
    uids=$(member_uids)
    starts=$(restarts_of_members)
    eventually 30 "members keep the head's records" is_kept "$1"
}
restarts_of_members() {
    k get pods -l "dvm.openpmix.io/cluster=$X,dvm.openpmix.io/role=member" -o json |
        jq -c '[.items[] | {(.metadata.name): .status.containerStatuses[0].restartCount}] | add'
}
is_kept() { equal "keepers" "$(pod_metric "$X-head-0" 7480 dvm_keepers)" "$(($1 < 2 ? $1 : 2))"; }

has_next_head() {
    local now
    now=$(pstat | jq -r .incarnation) && [ -n "$now" ] && equal "the incarnation" "$now" "$incarnation"
}
kill_head() {
    local restarts
    restarts=$(restarts_of "$X-head-0")
    kill_from_outside "$X-head-0" dvm-spawner
    eventually 90 "its container is started again" has_restarted "$X-head-0" "$restarts"
    eventually 60 "the next head answers" has_next_head
}
delete_head() {
    local uid
    uid=$(uid_of "$X-head-0")
    k delete pod "$X-head-0" --timeout=60s
    eventually 60 "its pod is another one" has_other_head "$uid"
    eventually 60 "the next head answers" has_next_head
}
has_other_head() { [ "$(uid_of "$X-head-0")" != "$1" ]; }

# nothing_else_happened MEMBERS
nothing_else_happened() {
    settled "$1"
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    equal "members' pods" "$(member_uids)" "$uids"
    equal "restarts of members" "$(restarts_of_members)" "$starts"
}

# Jobs that have not ended, in the order of the queue; with "true" only those that run.
job_names() {
    pstat | jq -r --argjson runs "${1:-false}" '[.jobs[] | select(.state as $s |
        (["RUNNING", "REGISTERED"] | index($s)) or (($runs | not) and (["VM_READY"] | index($s)))) | .id] | join(" ")'
}
run_jobs() { equal "the jobs that run ($(job_names))" "$(job_names true | wc -w)" "$1"; }
has_jobs() { equal "the number of jobs" "$(job_names | wc -w)" "$1"; }

# Three jobs of three members with two slots each: MPI over all of them, a detached one, and one that waits for slots.
start_jobs() {
    seed=$(draw_seed)
    background ring kubectl --namespace "$NS" exec "$X-3" -- prun -n 3 --map-by node mpi_ring 10 "/tmp/stop.$seed"
    detached=$(k exec "$X-2" -- prun --detach -n 3 --map-by node sh -c "while [ ! -e /tmp/stop.$seed ]; do sleep 0.1; done; exec mpi_coll $seed")
    eventually 30 "two jobs run" run_jobs 2
    background queued kubectl --namespace "$NS" exec "$X-1" -- prun -n 6 --map-by node mpi_coll "$((seed + 1))"
    eventually 30 "a third job waits" has_jobs 3
    names=$(job_names)
}

end_jobs() {
    equal "the jobs after the head's end" "$(job_names)" "$names"
    eventually 30 "two jobs run, and one waits" run_jobs 2
    for v in 1 2 3; do k exec "$X-$v" -- touch "/tmp/stop.$seed"; done
    ended ring 60 || { said ring; fail "the MPI job ended badly"; }
    said ring | grep -qE '^ring: size=3 rounds=[0-9]+ token=[0-9]+ ok$' || fail "its output: $(said ring)"
    run k exec "$X-2" -- prun --attach "$detached"
    equal "the exit code of the detached job ($output)" "$status" 0
    [[ $output == *"coll: size=3 seed=$seed result=$(coll_result "$seed" 3) ok"* ]] || fail "its output: $output"
    ended queued 60 || { said queued; fail "the job that waited ended badly"; }
    [[ $(said queued) == *"coll: size=6 seed=$((seed + 1)) result=$(coll_result "$((seed + 1))" 6) ok"* ]] || fail "its output: $(said queued)"
}

@test "C21: head killed by SIGKILL: an MPI job over all members, a detached and a queued one end with their results" {
    have 3
    remember 3
    start_jobs
    kill_head
    end_jobs
    nothing_else_happened 3
    mpi_over 3
}

@test "C21: head pod deleted: an MPI job over all members, a detached and a queued one end with their results" {
    have 3
    remember 3
    start_jobs
    delete_head
    end_jobs
    nothing_else_happened 3
    mpi_over 3
}

# first_job END: a job that is submitted at a member; the time since END, a moment in ns at which the head ended.
first_job() {
    equal "its output" "$(k exec "$X-1" -- prun -n 1 echo first)" first
    printf '# %s to the end of the first new job: %d ms\n' "$2" "$((($(date +%s%N) - $1) / 1000000))" >&3
}

@test "C21: a job that is submitted at a member while there is no head starts with the next one" {
    local since
    have 3
    remember 3
    kill_from_outside "$X-head-0" dvm-spawner
    first_job "$(date +%s%N)" "SIGKILL of the head"
    eventually 60 "the next head answers" has_next_head
    since=$(date +%s%N)
    k delete pod "$X-head-0" --timeout=60s
    first_job "$since" "deletion of the head's pod"
    eventually 60 "the next head answers" has_next_head
    nothing_else_happened 3
}

phase_at_head() { pstat | jq -r --arg id "$1" '.campaigns[] | select(.id == $id) | .phase'; }
shrink_without_head() {
    local id
    have 4
    remember 4
    hold holder 3,4 "$X-1"
    scale 2
    eventually 20 "the campaign drains" has_phase Draining
    id=$(dvm .status.campaign.id)
    "$1"
    equal "its phase at the next head" "$(phase_at_head "$id")" Draining
    equal "members' pods" "$(member_uids)" "$uids"
    released holder
    settled 2
    equal "the last campaign" "$(dvm '.status.lastCampaign | .id + " " + .phase')" "$id Complete"
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    mpi_over 2
}
@test "C21: head killed by SIGKILL while a shrink drains: the same campaign goes on and is complete when its job ends" {
    shrink_without_head kill_head
}
@test "C21: head pod deleted while a shrink drains: the same campaign goes on and is complete when its job ends" {
    shrink_without_head delete_head
}

grow_without_head() {
    local first
    have 2
    remember 2
    first=$uids
    background job kubectl --namespace "$NS" exec "$X-1" -- prun -n 2 --map-by node mpi_ring 10 /tmp/grown
    eventually 30 "a job runs" run_jobs 1
    scale 4
    eventually 20 "two members join" has_size 4
    "$1"
    settled 4
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    [[ $(member_uids) == "$first "* ]] || fail "members' pods: $(member_uids), before: $first"
    for v in 1 2; do k exec "$X-$v" -- touch /tmp/grown; done
    ended job 60 || { said job; fail "the job ended badly"; }
    said job | grep -qE '^ring: size=2 rounds=[0-9]+ token=[0-9]+ ok$' || fail "its output: $(said job)"
    for v in 1 2; do k exec "$X-$v" -- rm /tmp/grown; done
    mpi_over 4
}
has_size() { equal "the size" "$(replicas_of "$X")" "$1"; }
@test "C21: head killed by SIGKILL while members join: they join the next one" {
    grow_without_head kill_head
}
@test "C21: head pod deleted while members join: they join the next one" {
    grow_without_head delete_head
}

@test "C21: the head's node hangs: jobs on other nodes go on with the next head, and obey it alone when the node is back" {
    local uid node
    have 3
    node=$(node_of "$X-head-0")
    leave_alone "$node" "$X-head-0"
    remember 3
    start_jobs
    uid=$(uid_of "$X-head-0")
    hang_node "$node" "$uid"
    eventually 60 "the head's silence is shown" head_is_silent
    eventually 180 "its pod is another one" has_other_head "$uid"
    eventually 60 "the next head answers" has_next_head
    eventually 60 "jobs can start again" head_answers
    signal_pod CONT "$node" "$uid" > /dev/null
    end_jobs
    mpi_over 3
    wake_node
    eventually 60 "the former head has ended" hung_are_gone
    nothing_else_happened 3
    mpi_over 3
}

head_is_silent() {
    equal Available "$(condition Available) $(condition Available reason)" "False HeadUnreachable" &&
        [ "$(dvm .status.lastHeadContact)" != null ]
}
head_answers() { equal Available "$(condition Available)" True && equal "the last contact" "$(dvm .status.lastHeadContact)" null; }

teardown() {
    end_hang
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    stop_background
}

# While no pod can be made, so that no member keeps the head's records any more.
lose_head_and_keepers() {
    local v
    kubectl get nodes -o name | xargs timeout --kill-after=10 60 kubectl cordon > /dev/null
    k delete pod "$X-head-0" --timeout=60s
    for v in 1 2; do kill_from_outside "$X-$v" dvm-spawner; done
    uncordon
}

@test "C21: head lost, and both keepers while there is no head: a job of the three other members goes on with the next head" {
    have 5
    remember 5
    hold others 3,4,5 "$X-3"
    lose_head_and_keepers
    eventually 120 "the next head answers" has_next_head
    released others
    settled 5
    mpi_over 5
}

@test "head lost, and both keepers while there is no head: jobs end with a reason, members join the next incarnation" {
    local code=0
    have 3
    remember 3
    hold job 1,2,3 "$X-3"
    lose_head_and_keepers
    ended job 90 || code=$?
    [ "$code" = 122 ] || [ "$code" = 123 ] || fail "the job's exit code is $code: $(said job)"
    said job | grep -q 'prun: ' || fail "no word on why the job has ended: $(said job)"
    eventually 120 "a new incarnation" incarnation_is_new "$incarnation"
    settled 3
    mpi_over 3
}
incarnation_is_new() { local now; now=$(pstat | jq -r .incarnation) && [ -n "$now" ] && [ "$now" != "$1" ]; }

# volume_is CLAIM: that of the head's set; "null": none.
volume_is() {
    equal "the claim" "$(k get statefulset "$X-head" -o json |
        jq -r '[.spec.template.spec.volumes[] | select(.name == "records") | .persistentVolumeClaim.claimName][0]')" "$1"
}
# set_volume CLAIM: a change of the field reaches the head when its pod is deleted.
set_volume() {
    k patch dvm "$X" --type merge --patch "$(jq -n --arg c "$1" '{spec: {head: {storage: (if $c == "null" then null else {claimName: $c} end)}}}')" > /dev/null
    eventually 30 "the head's set has the claim $1" volume_is "$1"
    delete_head
}

@test "C21: head lost, and both keepers while there is no head: with a volume a job of another member goes on" {
    have 3
    remember 3
    k apply -f - > /dev/null << YAML
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: records}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 16Mi}}
YAML
    set_volume records
    eventually 30 "members keep the head's records" is_kept 3
    hold job 3 "$X-3"
    lose_head_and_keepers
    eventually 120 "the next head answers" has_next_head
    released job
    settled 3
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    set_volume null
    k delete pvc records --timeout=60s
    mpi_over 3
}
