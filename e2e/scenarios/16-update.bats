#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A changed template replaces the members from the highest down while MPI jobs run: none fails, none is cut off. The head
# is the last, when no job runs that its end would end; other jobs go on.
load ../lib

setup() {
    have 3
    remember_start
}

# Runs in the head's pod until the file $1 exists: jobs of two ranks, one after the other, each with its result.
# shellcheck disable=SC2016  # expanded in the pod
STREAM='i=0
while [ ! -e "$1" ]; do
    i=$((i + 1))
    out=$(prun -n 2 --map-by node mpi_coll "$2$i" 2>&1); echo "$2$i $? $out"
done'

# Each job of the stream has exited with 0 and the result of its seed.
all_succeeded() {
    local n code rest total=0
    while read -r n code rest; do
        equal "exit code of $n ($rest)" "$code" 0 || return 1
        equal "its output" "$rest" "coll: size=2 seed=$n result=$(coll_result "$n" 2) ok" || return 1
        total=$((total + 1))
    done < <(said stream)
    [ "$total" -ge 1 ] || fail "no jobs"
}

reason_is() { equal "reason of Progressing" "$(condition Progressing reason)" "$1"; }
field_is() { equal "$1" "$(dvm "$1")" "$2"; }
template_of() { k get pod "$1" -o jsonpath='{.metadata.annotations.release}'; }
has_template() { equal "template of $1" "$(template_of "$1")" "$2"; }
says_head_waits() { [[ $(condition Progressing message) == "$X-head-0 is replaced when no job has run "* ]]; }

@test "a rolling update under MPI jobs: a job that spans all members is waited for, and a stream of others goes on" {
    local seed uids head incarnation v
    seed=$(draw_seed)
    head=$(uid_of "$X-head-0")
    incarnation=$(pstat | jq -r .incarnation)
    uids=$(member_uids)
    hold span 1,2,3
    k patch dvm "$X" --type merge --patch "{\"spec\": {\"template\": {\"metadata\": {\"annotations\": {\"release\": \"r$seed\"}}}}}"
    eventually 30 "the update begins with member 3" field_is .status.campaign.targetRange.first 3
    eventually 30 "it drains" has_phase Draining
    equal "kind" "$(dvm .status.campaign.kind)" Update
    eventually 30 "the condition names what is waited for" reason_is Updating
    [[ $(condition Progressing message) == "daemon 3: being replaced; the drain waits for 1 job: "* ]] ||
        fail "$(condition Progressing message)"
    background stream kubectl --namespace "$NS" exec "$X-head-0" -- sh -c "$STREAM" stream "/tmp/stop.$seed" "$seed"
    eventually 60 "a job of the stream is done" grep -q '^' "$BATS_TEST_TMPDIR/stream"
    equal "pods, while the job runs" "$(member_uids)" "$uids"
    released span
    eventually 180 "all members have the new template" field_is .status.updatedReplicas 3
    eventually 60 "the head waits for the stream" says_head_waits
    equal "the head's pod" "$(uid_of "$X-head-0")" "$head"
    background rest kubectl --namespace "$NS" exec "$X-3" -- prun -n 3 --map-by node mpi_ring 10 "/tmp/stop.$seed"
    in_head touch "/tmp/stop.$seed"
    ended stream 60
    all_succeeded
    eventually 90 "the head's pod has the new template" has_template "$X-head-0" "r$seed"
    eventually 60 "the next head answers" in_head pstat
    for v in 1 2 3; do k exec "$X-$v" -- touch "/tmp/stop.$seed"; done
    ended rest 60 || { said rest; fail "the job ended with the head"; }
    settled 3
    equal "the incarnation" "$(pstat | jq -r .incarnation)" "$incarnation"
    for v in 1 2 3; do
        equal "template of $X-$v" "$(template_of "$X-$v")" "r$seed"
    done
    equal "reason" "$(condition Progressing reason)" UpToDate
    equal "revision" "$(dvm .status.revision)" "$(k get statefulset "$X" -o jsonpath='{.status.updateRevision}')"
    equal "campaigns, from the highest member down" \
        "$(k get events --field-selector reason=UpdateRecorded --sort-by=.firstTimestamp -o json |
            jq -r --arg x "$X" '.items[] | select(.involvedObject.name == $x) | .message' | grep -oE 'daemon [0-9]+' | xargs)" \
        "daemon 3 daemon 2 daemon 1"
    mpi_over 3
}

@test "a rolling update to an image that cannot be had stops at the first pod; a corrected spec heals it" {
    local uids
    uids=$(member_uids)
    k patch dvm "$X" --type merge --patch '{"spec": {"image": "registry.invalid/nothing:1"}}'
    eventually 90 "the condition names the image" reason_is ImagePullFailed
    equal "members that are left as they were" "$(member_uids | cut -d ' ' -f 1,2)" "$(cut -d ' ' -f 1,2 <<< "$uids")"
    equal "wired members" "$(dvm .status.readyReplicas)" 2
    k patch dvm "$X" --type merge --patch '{"spec": {"image": "dvm-daemon:dev"}}'
    settled 3
    equal "members that are left as they were" "$(member_uids | cut -d ' ' -f 1,2)" "$(cut -d ' ' -f 1,2 <<< "$uids")"
    mpi_over 3
}
