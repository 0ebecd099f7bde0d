#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator beside the controllers that create pods and collect garbage (kube-controller-manager). No kubelet runs
# the pods, so the tests write the status that a kubelet would write.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

load lib

setup_file() {
    start_api
    start_manager statefulset-controller,garbage-collector-controller,namespace-controller,disruption-controller
}

teardown_file() {
    end_manager
    stop_api
}

setup() {
    manager_built || skip "kube-controller-manager not built"
    new_namespace
}

teardown() { end_programs; }

# has_pods REPLICAS [MORE-SPEC]: as running, and all pods are there.
has_pods() {
    running "$@"
    becomes '{.status.replicas}' "$1"
    appears pod/x-head-0
}
pods_are() { [ "$(pods)" = "$1" ]; }
pods() { kn get pods -o name | sort | tr '\n' ' '; }

@test "C16: pods are named by their vpids and counted in status.replicas" {
    has_pods 3
    [ "$(pods)" = "pod/x-1 pod/x-2 pod/x-3 pod/x-head-0 " ]
    [ "$(kn get pod x-2 -o jsonpath='{.spec.subdomain}.{.spec.hostname}')" = x.x-2 ]
    [[ $(kn get pod x-2 -o jsonpath='{.spec.containers[0].args}') == *'"--role","member"'*'"--hostname-vpid"'* ]]
}

@test "C17: pods are removed only after the campaign, and the other members keep their pods" {
    has_pods 3
    stays=$(uid_of pod/x-2) goes=$(uid_of pod/x-3)
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    a_pass_is_done
    [ "$(uid_of pod/x-3)" = "$goes" ]
    order 'advance?phase=Complete'
    becomes '{.status.replicas}' 2
    [ "$(pods)" = "pod/x-1 pod/x-2 pod/x-head-0 " ]
    [ "$(uid_of pod/x-2)" = "$stays" ]
}

@test "a scale-down that is reverted before its first step gives new pods, never parked ones" {
    has_pods 4
    three=$(uid_of pod/x-3)
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    order 'advance?phase=Removing'
    becomes '{.status.campaign.phase}' Removing
    scale 4
    becomes '{.status.desiredReplicas}' 4
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.phase}' Complete
    becomes '{.spec.replicas}' 4 sts/x
    becomes '{.status.replicas}' 4
    until_true 60 pods_are "pod/x-1 pod/x-2 pod/x-3 pod/x-4 pod/x-head-0 "
    [ "$(uid_of pod/x-3)" != "$three" ]
}

@test "a condition names an image that cannot be pulled, and a corrected image replaces the pods" {
    start_operator
    make_cluster 2
    appears pod/x-head-0
    waits x-head-0 ImagePullBackOff
    condition Available ImagePullFailed
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *'"example.test/daemon:1" cannot be pulled: as told. '* ]]
    before=$(uid_of pod/x-head-0)
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    is_new() { exists pod/x-head-0 && [ "$(uid_of pod/x-head-0)" != "$before" ]; }
    until_true 60 is_new
    [ "$(kn get pod x-head-0 -o jsonpath='{.spec.containers[0].image}')" = example.test/daemon:2 ]
}

@test "a pod that leaves its StatefulSet by a removed label is missing, until another one takes its place" {
    has_pods 4
    condition Ready UpToDate
    kn label pod x-2 dvm.openpmix.io/cluster- >&2
    condition Resizing Growing
    [[ $(status_of '{.status.conditions[?(@.type=="Resizing")].message}') == "4 of 4 members are wired, 3 pods exist." ]]
    condition Ready NotOwned
    kn delete pod x-2 --grace-period=0 --force >&2
    until_true 60 has_after_retry sts/x 4
    condition Ready UpToDate
    condition Resizing Stable
}

# quota PODS: as the controller of quotas would write it; the API server counts the pods itself.
quota() {
    kn create quota few --hard="pods=$1" --dry-run=client -o json | kn apply -f - >&2
    kn patch quota few --subresource=status --type merge -p "{\"status\": {\"hard\": {\"pods\": \"$1\"}}}" >&2
}

@test "C22: pods that a quota keeps away are explained in the API server's words, and jobs can start meanwhile" {
    quota 3
    kn patch quota few --subresource=status --type merge -p '{"status": {"used": {"pods": "0"}}}' >&2
    running 4
    order 'cap?n=2'
    condition Progressing FailedCreate
    condition Degraded FailedCreate
    condition Available SomeMembersWired
    message=$(status_of '{.status.conditions[?(@.type=="Progressing")].message}')
    [[ $message == 'StatefulSet x: the API server takes no further pod: '*'exceeded quota: few, requested: pods=1, used: pods=3, limited: pods=3'* ]]
    until_true 30 says FailedCreate "exceeded quota: few"
    # A size that a full quota does not allow is worked towards all the same.
    scale 5
    becomes '{.spec.replicas}' 5 sts/x
    condition Progressing FailedCreate
    quota 9
    until_true 60 has_after_retry sts/x 5
    order cap
    condition Progressing UpToDate
    condition Degraded AsExpected
}

@test "C22: a head whose pod a quota keeps away is explained, and comes when it may" {
    quota 0
    kn patch quota few --subresource=status --type merge -p '{"status": {"used": {"pods": "0"}}}' >&2
    start_operator
    make_cluster 1
    condition Available FailedCreate
    becomes '{.spec.replicas}' 1 sts/x # a full quota is no mistake of the template
    quota 9
    until_true 60 has_after_retry sts/x-head 1
    until_true 60 has_after_retry sts/x 1
    condition Available HeadNotReady
}

# has_after_retry SET PODS: a change makes the set's controller try again at once, not after its pause.
has_after_retry() {
    kn annotate "$1" again="$RANDOM$SECONDS" --overwrite >&2
    [ "$(kn get "$1" -o jsonpath='{.status.replicas}')" = "$2" ]
}

# their_pod NAME: a pod without labels and without a controller.
their_pod() {
    kn apply -f - >&2 << END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1"},
 "spec": {"securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
  "containers": [{"name": "c", "image": "i", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}
END
}

@test "a pod of another owner that has the name of a member is named and left alone, and the member comes when it is gone" {
    has_pods 1
    their_pod x-2
    theirs=$(uid_of pod/x-2)
    order 'cap?n=1'
    scale 2
    condition Progressing NotOwned
    condition Degraded NotOwned
    condition Available SomeMembersWired
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == "Pod x-2 exists and StatefulSet x does not control it"* ]]
    until_true 30 says NotOwned "Pod x-2 exists"
    [ "$(uid_of pod/x-2)" = "$theirs" ]
    kn delete pod x-2 --grace-period=0 --force >&2
    until_true 60 has_after_retry sts/x 2
    order cap
    order 'join?vpid=2'
    condition Progressing UpToDate
    condition Degraded AsExpected
}

# unschedulable NAME WORDS: the scheduler's condition of a pod that no node takes.
unschedulable() {
    kn patch pod "$1" --subresource=status --type merge -p "{\"status\": {\"conditions\": [
        {\"type\": \"PodScheduled\", \"status\": \"False\", \"reason\": \"Unschedulable\", \"message\": \"$2\"}]}}" >&2
}

@test "a pod that no node takes is explained in the scheduler's words, and jobs can start meanwhile" {
    has_pods 3
    unschedulable x-3 "0/2 nodes are available: 2 Insufficient memory."
    order 'cap?n=2'
    condition Progressing Unschedulable
    condition Degraded Unschedulable
    condition Available SomeMembersWired
    [[ $(status_of '{.status.conditions[?(@.type=="Ready")].message}') == \
        "Pod x-3: no node takes it: 0/2 nodes are available: 2 Insufficient memory." ]]
    order 'cap?n=3'
    kn patch pod x-3 --subresource=status --type merge -p '{"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}' >&2
    condition Degraded AsExpected
    condition Available AllMembersWired
    condition Ready UpToDate
}

# crashes NAME REASON: the kubelet's status of a container that has ended again and again.
crashes() {
    kn patch pod "$1" --subresource=status --type merge -p "{\"status\": {\"containerStatuses\": [
        {\"name\": \"prted\", \"image\": \"i\", \"imageID\": \"\", \"ready\": false, \"restartCount\": 3,
         \"state\": {\"waiting\": {\"reason\": \"CrashLoopBackOff\", \"message\": \"as told\"}},
         \"lastState\": {\"terminated\": {\"reason\": \"$2\", \"exitCode\": 137, \"startedAt\": \"$(date -u +%FT%TZ)\", \"finishedAt\": \"$(date -u +%FT%TZ)\"}}}]}}" >&2
}

@test "C22: a member whose memory is full is lost with that cause, and gets a new pod; one that fails otherwise keeps its pod" {
    has_pods 3
    for v in 1 2 3; do runs "x-$v"; done
    first=$(uid_of pod/x-2) other=$(uid_of pod/x-3)
    order 'lose?vpid=3&cause=broken%20link'
    until_true 30 says MemberLost "Daemon 3 is lost: broken link"
    crashes x-3 Error
    until_true 30 says LossExplained "Daemon 3 is lost: broken link; the container ended with Error (exit code 137)"
    order 'lose?vpid=2&cause=broken%20link'
    until_true 30 says MemberLost "Daemon 2 is lost: broken link"
    crashes x-2 OOMKilled # the kubelet's words come later than the head's
    until_true 30 says LossExplained "Daemon 2 is lost: broken link; the container ended with OOMKilled (exit code 137)"
    [ "$(status_of '{.status.losses[?(@.vpid==2)].cause}')" = "broken link; the container ended with OOMKilled (exit code 137)" ]
    replaced() { exists pod/x-2 && [ "$(uid_of pod/x-2)" != "$first" ]; }
    until_true 60 replaced
    until_true 30 says PodReplaced "Pod x-2: the daemon ends repeatedly for want of memory."
    [ "$(uid_of pod/x-3)" = "$other" ]
    crashes x-1 Error # and here earlier
    a_pass_is_done
    order 'lose?vpid=1&cause=silent'
    until_true 30 says MemberLost "Daemon 1 is lost: silent; the container ended with Error (exit code 137)"
}

@test "C22: a loss on a node that does not answer is explained when the node is declared not ready" {
    has_pods 2
    for v in 1 2; do
        kn patch pod "x-$v" --subresource=status --type merge -p '{"status": {"conditions": [
            {"type": "ContainersReady", "status": "True"}, {"type": "Ready", "status": "True"}]}}' >&2
    done
    order 'lose?vpid=2&cause=silent'
    until_true 30 says MemberLost "Daemon 2 is lost: silent"
    kn patch pod x-2 --subresource=status --type merge -p '{"status": {"conditions": [
        {"type": "ContainersReady", "status": "True"}, {"type": "Ready", "status": "False"}]}}' >&2 # as the controller of nodes does
    until_true 30 says LossExplained "Daemon 2 is lost: silent; its node is not ready"
    [ "$(kn get events -o name --field-selector reason=MemberLost | wc -l)" = 1 ]
}

# node_lost NAME: what is left of a pod whose node does not answer: it is deleted by the eviction of the taint, and no
# kubelet ends it.
node_lost() {
    kn delete pod "$1" --wait=false >&2
    kn patch pod "$1" --subresource=status --type merge -p "{\"status\": {\"conditions\": [
        {\"type\": \"DisruptionTarget\", \"status\": \"True\", \"reason\": \"DeletionByTaintManager\",
         \"lastTransitionTime\": \"$(date -u +%FT%TZ)\"}]}}" >&2
}

# on_a_node NAME: the scheduler has given the pod a node, so its deletion waits for a kubelet.
on_a_node() {
    kn create -f - >&2 << END
{"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "$1"}, "target": {"apiVersion": "v1", "kind": "Node", "name": "lost"}}
END
}

@test "a pod of a lost node is replaced when its daemon is lost, and not with nodeLost Wait" {
    has_pods 2 '"faults": {"nodeLost": "Wait"}'
    on_a_node x-2
    waits x-2 CrashLoopBackOff
    condition Degraded DaemonCrashes # the operator has seen the pod on its node
    runs x-2
    condition Degraded AsExpected
    before=$(uid_of pod/x-2)
    node_lost x-2
    order 'lose?vpid=2&cause=silent'
    condition Degraded MembersLost
    a_pass_is_done
    [ "$(uid_of pod/x-2)" = "$before" ]
    kn patch dvm x --type merge -p '{"spec": {"faults": {"nodeLost": "Replace"}}}' >&2
    replaced() { exists pod/x-2 && [ "$(uid_of pod/x-2)" != "$before" ]; }
    until_true 60 replaced
    until_true 30 says MemberLost "Daemon 2 (node lost) is lost: silent"
}

# All pods that exist run, and each new daemon has joined.
all_run() {
    local pod
    for pod in $(kn get pods -o jsonpath='{.items[*].metadata.name}'); do
        runs "$pod"
        [ "$pod" = x-head-0 ] || order "join?vpid=${pod#x-}"
    done
}

image_of() { kn get pod "$1" -o jsonpath='{.spec.containers[0].image}'; }
# is_calm_and_has_image POD IMAGE: the head says all the time that no job ends with it.
is_calm_and_has_image() {
    order 'busy?n=0'
    has_image "$@"
}
has_image() { [ "$(image_of "$1" 2> /dev/null)" = "$2" ]; }

@test "rolling update: pods are replaced from the highest down, each after its campaign, the head's when no job ends with it" {
    local v head first
    has_pods 3
    all_run
    first=$(image_of x-1)
    condition Progressing UpToDate
    head=$(uid_of pod/x-head-0)
    order 'busy?n=1'
    order 'hold?on=1'
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    for v in 3 2 1; do
        becomes '{.status.campaign.targetRange.first}' "$v"
        becomes '{.status.campaign.phase}' Draining
        [ "$(status_of '{.status.campaign.kind} {.status.campaign.targetRange.last}')" = "Update $v" ]
        condition Progressing Updating
        has_image "x-$v" "$first" # it is not deleted before the campaign is complete
        [ "$(status_of '{.status.updatedReplicas}')" = $((3 - v)) ]
        order 'advance?phase=Complete'
        until_true 30 has_image "x-$v" example.test/daemon:2
        becomes '{.status.lastCampaign.targetRange.first}' "$v"
        [ "$(status_of '{.status.campaign}')" = "" ] # the next one waits for the new daemon
        runs "x-$v"
        order "join?vpid=$v"
    done
    becomes '{.status.updatedReplicas}' 3
    condition Progressing Updating
    [ "$(uid_of pod/x-head-0)" = "$head" ]
    until_true 60 is_calm_and_has_image x-head-0 example.test/daemon:2
    condition Progressing UpToDate
    [ "$(count 'PUT campaign')" -eq 3 ]
}

@test "rolling update: an image that cannot be pulled stops it at the first pod, and a corrected one goes on" {
    local first
    has_pods 3
    all_run
    first=$(image_of x-1)
    condition Progressing UpToDate
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/none:1"}}' >&2
    until_true 30 has_image x-3 example.test/none:1
    waits x-3 ImagePullBackOff
    condition Progressing ImagePullFailed
    a_pass_is_done
    [ "$(image_of x-2)" = "$first" ]
    [ "$(count 'PUT campaign')" -eq 1 ]
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    until_true 30 has_image x-3 example.test/daemon:2
    runs x-3
    order 'join?vpid=3'
    until_true 30 has_image x-2 example.test/daemon:2
}

@test "rolling update: OnDelete, a running pod keeps its image until it is deleted, and the status says so" {
    running 1
    kn patch dvm x --type merge -p '{"spec": {"updateStrategy": {"type": "OnDelete"}}}' >&2
    becomes '{.status.replicas}' 1
    runs x-1
    runs x-head-0
    before=$(uid_of pod/x-1)
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    condition Progressing OutdatedPods
    # The two controllers see their new templates at different times.
    names_both() { [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"template: x-head-0, x-1. "* ]]; }
    until_true 30 names_both
    [ "$(uid_of pod/x-1)" = "$before" ]
    kn delete pod x-1 x-head-0 --grace-period=0 --force >&2
    until_true 30 has_image x-1 example.test/daemon:2
    condition Progressing UpToDate
}

@test "a restarted operator does not report a running head as unreachable" {
    has_pods 2
    runs x-head-0
    end_operator KILL
    start_operator
    a_pass_is_done
    condition Available AllMembersWired
    [[ $(kn get events) != *HeadUnreachable* ]]
}

@test "suspended means that no pod is left" {
    has_pods 2
    kn patch dvm x --type merge -p '{"spec": {"suspend": true}}' >&2
    becomes '{.status.campaign.phase}' Draining
    order away
    becomes '{.status.conditions[?(@.type=="Suspended")].status}' True
    [ "$(pods)" = "" ]
    [ "$(status_of '{.status.replicas}')" = 0 ]
}

@test "Secrets that are deleted while suspended are created again, and the head accepts them" {
    running 1
    kn patch dvm x --type merge -p '{"spec": {"suspend": true}}' >&2
    becomes '{.status.campaign.phase}' Draining
    order away
    becomes '{.status.conditions[?(@.type=="Suspended")].status}' True
    kill -KILL "$(cat "$dir/head.pid")"
    old=$(uid_of secret/x-ca)
    kn delete secret x-ca x-head x-member x-operator x-user >&2
    kn patch dvm x --type merge -p '{"spec": {"suspend": false}}' >&2
    appears secret/x-user
    [ "$(uid_of secret/x-ca)" != "$old" ]
    start_head
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
}

@test "objects kept by --cascade=orphan are not taken over, and the condition tells the way out" {
    has_pods 2
    uid=$(uid_of sts/x)
    kn delete dvm x --cascade=orphan --timeout=60s >&2
    make_cluster 2
    condition Progressing NotOwned
    said=$(status_of '{.status.conditions[?(@.type=="Progressing")].message}')
    [[ $said == *"--cascade=orphan"*"kubectl delete statefulset,service,poddisruptionbudget,secret -n $ns -l "* ]]
    [ "$(uid_of sts/x)" = "$uid" ]
    [ "$(status_of '{.status.replicas}')" = 0 ]
    PATH=$BIN_DIR:$PATH timeout --kill-after=10 90 bash -c "${said##*: }" >&2
    is_new() { exists sts/x && [ "$(uid_of sts/x)" != "$uid" ] && [ "$(status_of '{.status.replicas}')" = 2 ]; }
    until_true 90 is_new
}

@test "deleting the resource leaves no object" {
    local kinds=pods,services,secrets,statefulsets,poddisruptionbudgets,controllerrevisions,endpoints,configmaps
    before=$(kn get "$kinds" -o name)
    has_pods 2
    kn delete dvm x --timeout=60s >&2
    as_before() { [ "$(kn get "$kinds" -o name)" = "$before" ]; }
    until_true 60 as_before
    kill -0 "$(cat "$dir/operator.pid")"
}
