#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Resources that cannot work are refused, or a condition gives the reason, and a correction helps.
load ../lib

# refused NAME PATCH TEXT: the API server refuses the patch with a text that names the cause.
refused() {
    local said
    if said=$(cluster_yaml "$1" 1 | kubectl patch --local -f - --type merge --patch "$2" -o yaml | k apply -f - 2>&1); then
        fail "accepted: $2"
        return 1
    fi
    [[ $said == *"$3"* ]] || fail "refused without the word '$3': $said"
}
reason_is() { equal "reason of $1" "$(condition "$1" reason "$3")" "$2"; }
gone() { [ -z "$(k get "$1" --ignore-not-found -o name)" ]; }

@test "bad input: the API server refuses what the schema forbids, and says why" {
    refused bad '{"spec": {"replicas": -1}}' replicas
    refused bad '{"spec": {"slotsPerDaemon": 0}}' slotsPerDaemon
    refused bad '{"spec": {"drain": {"mode": "Maybe"}}}' 'Unsupported value: "Maybe"'
    refused bad '{"spec": {"drain": {"deadlineSeconds": -5}}}' deadlineSeconds
    refused bad '{"spec": {"faults": {"linkGraceSeconds": 11}}}' 'linkGraceSeconds must be at most silenceSeconds'
    refused "$(printf 'a%.0s' {1..48})" '{}' 'at most 47 characters'
    refused x-head '{}' 'may not end in "-head"'
    refused 0x '{}' 'must start with a letter'
    refused bad '{"spec": {"image": ""}}' image
}

@test "bad input: an image that does not exist gives a condition, and a corrected one is used" {
    cluster_yaml other 1 | sed 's/image: .*/image: registry.invalid\/nothing:1/' | k apply -f -
    eventually 60 "the condition names the image" reason_is Progressing ImagePullFailed other
    [[ $(condition Progressing message other) == *registry.invalid/nothing:1* ]]
    equal Available "$(condition Available status other)" False
    k patch dvm other --type merge --patch '{"spec": {"image": "dvm-daemon:dev"}}'
    # A StatefulSet with the strategy OnDelete does not replace a pod that never ran.
    eventually 60 "the StatefulSets have the new image" has_image other dvm-daemon:dev
    k delete pods -l dvm.openpmix.io/cluster=other --wait=false # they never ran: those that are wired are new
    settled 1 other
    k delete dvm other --cascade=foreground --timeout=60s
}
has_image() { equal "images" "$(k get statefulsets -l "dvm.openpmix.io/cluster=$1" -o json | jq -r '[.items[].spec.template.spec.containers[0].image] | unique | join(" ")')" "$2"; }

@test "bad input: a template that gives more than a restricted pod is refused with the field's name" {
    refused other '{"spec": {"template": {"spec": {"hostNetwork": true}}}}' 'spec.template.spec.hostNetwork is refused by the template policy'
    refused other '{"spec": {"template": {"spec": {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}}}}' hostPath
    equal "the DvmCluster" "$(k get dvm other --ignore-not-found -o name)" ""
}

@test "bad input: a template that violates the namespace's limits gives a condition" {
    k create -f - << YAML
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: Container, max: {memory: 4Gi}}]}
YAML
    cluster_yaml other 1 | sed 's/memory: 48Mi/memory: 8Gi/' | k apply -f -
    eventually 60 "the condition says what is not allowed" says_limit other
    k delete dvm other --cascade=foreground --timeout=60s
    k delete limitrange small
}
says_limit() { [[ $(condition Progressing message "$1") == *memory*4Gi* ]] || fail "$(condition Progressing message "$1")"; }

@test "bad input: objects of the same name with another owner are not changed" {
    local before
    k create service clusterip other-head --tcp=80:80
    before=$(k get service other-head -o jsonpath='{.metadata.uid} {.metadata.resourceVersion}')
    cluster_yaml other 1 | k apply -f -
    eventually 30 "the condition says so" reason_is Progressing NotOwned other
    equal "the other's Service" "$(k get service other-head -o jsonpath='{.metadata.uid} {.metadata.resourceVersion}')" "$before"
    k delete service other-head
    settled 1 other
    k delete dvm other --cascade=foreground --timeout=60s
}
