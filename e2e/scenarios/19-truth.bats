#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The status against the head's own view, which pstat prints, each second through an eviction, a loss, a set that is
# scaled by hand, a full quota and a tainted node.
load ../lib

setup() {
    have 3
    remember_start
    sample
}

teardown() {
    kubectl get nodes -o name | sed 's|^node/||' | xargs -I{} timeout --kill-after=10 60 kubectl taint nodes {} "$NS-" > /dev/null 2>&1 || true
    k delete quota few --ignore-not-found > /dev/null
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    stop_background
}

# sample: each second a line {"from", "to", "kind", "body"} of the status, and one of the head's view, which a loop in the
# head's pod takes; a request lasted from `from` to `to`.
sample() {
    # shellcheck disable=SC2016  # expanded by those shells
    background status bash -c '
        while :; do
            from=$(date +%s.%N)
            body=$(timeout 10 kubectl get --raw "/apis/dvm.openpmix.io/v1alpha1/namespaces/$1/dvmclusters/$2" 2> /dev/null) || continue
            printf "{\"from\": %s, \"to\": %s, \"kind\": \"status\", \"body\": %s}\n" "$from" "$(date +%s.%N)" "$body"
            sleep 0.5
        done' status "$NS" "$X"
    # shellcheck disable=SC2016
    background head kubectl --namespace "$NS" exec "$X-head-0" -- sh -c '
        while :; do
            from=$(date +%s.%N)
            body=$(pstat --json | tr -d "\n") || continue
            printf "{\"from\": %s, \"to\": %s, \"kind\": \"head\", \"body\": %s}\n" "$from" "$(date +%s.%N)" "$body"
            sleep 0.5
        done'
}

# A fact of the status is true if the head had it at some moment of the two seconds before, or of the time that the two
# requests took: at the looks in this time, at the last one before, or at the first one after it. A campaign that one look at
# the head does not have, and that has ended at a later one, ran between the two. If the version of the table has grown by more
# than one between two looks, there was a number of members between them that no look has seen.
# shellcheck disable=SC2016  # jq's variables
JUDGE='
def wired: [.members[] | select(.vpid > 0 and (.state == "wired" or .state == "draining"))] | length;
def can_map: any(.members[]; .state == "wired" and .slots > 0);
def shrinks: [.campaigns[] | select(.kind == "shrink" and (.phase == "Draining" or .phase == "Removing")) | .id] | sort;
def ended: [.campaigns[] | select(.kind == "shrink" and .phase != "Draining" and .phase != "Removing") | .id];
def truth: {version, ready: wired, available: can_map, leaving: shrinks, ended: ended};
def ran_between(near): . as $id | (near[0].is.ended | index($id) | not) and any(near[]; .is.ended | index($id));
def unseen(near): [near[].is.version] | any(range(1; length) as $i | .[$i] - .[$i - 1]; . > 1);
def short_ones(near): length > 0 and all(.[]; ran_between(near));
def condition(t): .conditions[] | select(.type == t) | .status;
def claim: {ready: .readyReplicas, available: (condition("Available") == "True"),
            leaving: ([(.releases // [])[] | select(.phase == "Draining" or .phase == "Removing") | .id] +
                      [.campaign | select(. != null and (.phase == "Draining" or .phase == "Removing")) | .id] | sort)};
def changes(t): [.[] | select(.kind == "status" and .body.status.conditions != null) | .body.status | condition(t)]
    | . as $of | [range(1; length) | select($of[.] != $of[. - 1])] | length;
[inputs] as $all
| [$all[] | select(.kind == "head") | {from, to, is: (.body | truth)}] as $head
| [$all[] | select(.kind == "status" and .body.status.conditions != null) | {from, to, says: (.body.status | claim)}]
| map(. as $s
    | [$head[] | select(.to >= $s.from - 2 and .from <= $s.to)] as $during
    | [([$head[] | select(.to < $s.from - 2)] | last), $during[], ([$head[] | select(.from > $s.to)] | first)] as $near
    | select(all($near[]; . != null))
    | [("ready", "available", "leaving") as $f | select(all($near[]; .is[$f] != $s.says[$f]))
       | select(($f == "leaving" and ($s.says[$f] | short_ones($near))) or ($f == "ready" and unseen($near)) | not)
       | {fact: $f, says: $s.says[$f], head: [$near[].is[$f]], at: $s.from}] as $wrong
    | {judged: 1, wrong: $wrong})
| {judged: (map(.judged) | add), wrong: (map(.wrong[])), available: ($all | changes("Available")), resizing: ($all | changes("Resizing"))}'

# truthful N: every sample of the status so far, N of them at least. A sample can be judged when there are looks at the
# head before and after it. In each scenario some members stay, so jobs can start all the time.
truthful() {
    local verdict
    eventually 60 "enough samples" has_judged "$1"
    verdict=$(judge)
    echo "# $(jq -r '"\(.judged) samples of the status judged, \(.wrong | length) wrong; Resizing changed \(.resizing) times"' <<< "$verdict")" >&3
    equal "untrue facts" "$(jq -c '.wrong[:3]' <<< "$verdict")" "[]"
    equal "changes of Available" "$(jq .available <<< "$verdict")" 0
}

# The last line may be half written.
judge() { for file in status head; do head -n -1 "$BATS_TEST_TMPDIR/$file"; done | jq -nc "$JUDGE"; }
has_judged() { [ "$(judge | jq '.judged // 0')" -ge "$1" ]; }

evict() {
    printf '{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "%s", "namespace": "%s"}}' "$1" "$NS" |
        kubectl create --raw "/api/v1/namespaces/$NS/pods/$1/eviction" -f - > /dev/null
}
message_has() { [[ $(condition "$1" message) == *"$2"* ]] || fail "$1: $(condition "$1" message)"; }
event_says() { k get events -o json | jq -e --arg r "$1" --arg t "$2" 'any(.items[]; .reason == $r and (.message | contains($t)))' > /dev/null; }

@test "C22: an eviction that waits for a job is shown with member and job, and its end" {
    hold there 3
    eventually 30 "the eviction is allowed" evict "$X-3" # after a start the budget is counted first
    eventually 30 "the release is shown" message_has Resizing "daemon 3: leaving by campaign"
    eventually 30 "its job is named" message_has Resizing "the drain waits for 1 job"
    released there
    eventually 60 "its end is reported" event_says MembersReleased "daemon 3 left the DVM"
    settled 3
    truthful 5
}

@test "C22: a killed daemon is lost with node and cause; the job that ended with it is named" {
    local node code=0
    node=$(node_of "$X-2")
    hold there 2
    kill_from_outside "$X-2" dvm-spawner
    eventually 60 "the loss has its cause" event_says MemberLost "Daemon 2 (node $node) is lost: "
    eventually 60 "the job is named" event_says JobEnded "lost"
    ended there 30 || code=$? # not by `run`: only this shell may wait for it
    equal "exit code" "$code" 123
    settled 3
    truthful 5
}

@test "C22: a StatefulSet that is scaled by hand leaves no doubt who leaves" {
    hold there 3
    k scale statefulset "$X" --replicas=2
    eventually 30 "the release is shown" message_has Resizing "daemon 3: leaving by campaign"
    released there
    settled 3
    truthful 5
}

@test "C22: pods that a quota keeps away are explained in the API server's words" {
    k create quota few --hard="pods=$(k get pods -o name | wc -l)"
    eventually 30 "the quota counts" quota_counts
    scale 4
    eventually 60 "the refusal is shown" message_has Progressing "exceeded quota: few"
    equal Available "$(condition Available)" True
    k delete quota few
    eventually 60 "the pod is made" has_after_retry 4
    settled 4
    scale 3
    settled 3
    truthful 5
}
# has_after_retry PODS: a change makes the set's controller try again at once; its pause grows up to 16 min.
has_after_retry() {
    k annotate statefulset "$X" again="$RANDOM$SECONDS" --overwrite > /dev/null
    [ "$(k get statefulset "$X" -o jsonpath='{.status.replicas}')" = "$1" ]
}
quota_counts() { [ "$(k get quota few -o jsonpath='{.status.used.pods}')" = "$(k get pods -o name | wc -l)" ]; }

@test "C22: members on a node that is tainted leave one by one, and are shown" {
    local node pod head
    head=$(node_of "$X-head-0")
    for pod in "$X-1" "$X-2" "$X-3"; do
        node=$(node_of "$pod")
        if [ "$node" != "$head" ]; then break; fi
    done
    kubectl taint nodes "$node" "$NS=away:NoExecute"
    eventually 60 "the members leave" event_says MembersReleased "left the DVM"
    eventually 60 "no pod is left there" no_pod_on "$node"
    settled 3
    kubectl taint nodes "$node" "$NS-"
    truthful 5
}
no_pod_on() { equal "pods there" "$(k get pods -l "dvm.openpmix.io/cluster=$X" --field-selector="spec.nodeName=$1" -o name)" ""; }
