#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What a cluster's other programs and rules expect of an operator, against a real kube-apiserver and etcd: strict
# validation, dry runs that admission refuses, users of the pods, budgets, queues, other controllers.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() { new_namespace; }
teardown() { end_programs; }

message_of() { status_of "{.status.conditions[?(@.type==\"$1\")].message}"; }

@test "a misspelt field of a pod is named, and no StatefulSet is made" {
    start_operator
    make_cluster 2 '"template": {"spec": {"affinity": {"nodeAffinity": {"preferred": []}}}}'
    condition Progressing TemplateRefused
    [[ $(message_of Progressing) == *'unknown field "spec.affinity.nodeAffinity.preferred"'* ]]
    run kn get sts
    [ "$output" = "No resources found in $ns namespace." ]
    kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/template"}]' >&2
    appears sts/x
}

# refuse_dry_runs: admission refuses each dry run of a pod, as a webhook may do that cannot judge one.
refuse_dry_runs() {
    k apply -f - >&2 << END
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "$ns"}, "spec":
  {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
   "validations": [{"expression": "!request.dryRun", "message": "no dry runs here"}]}},
 {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "$ns"}, "spec":
  {"policyName": "$ns", "validationActions": ["Deny"], "matchResources": {"namespaceSelector":
   {"matchLabels": {"kubernetes.io/metadata.name": "$ns"}}}}}]}
END
    local limit=$((SECONDS + 60))
    while dry_pod > /dev/null 2>&1; do [ "$SECONDS" -lt "$limit" ]; done
}
dry_pod() {
    jq -n '{apiVersion: "v1", kind: "Pod", metadata: {name: "p"}, spec: {containers: [{name: "c", image: "i",
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}}],
        securityContext: {runAsNonRoot: true, seccompProfile: {type: "RuntimeDefault"}}}}' | kn create --dry-run=server -f -
}

@test "where admission refuses dry runs the condition names the way out, and the annotation is one" {
    refuse_dry_runs
    start_operator
    make_cluster 2
    condition Progressing TemplateRefused
    [[ $(message_of Progressing) == *"no dry runs here"*"dvm.openpmix.io/dry-run=skip"* ]]
    kn annotate dvm x dvm.openpmix.io/dry-run=skip >&2
    appears sts/x
    appears sts/x-head
}

@test "the user of the pods is that of the spec; with userFrom Namespace they name none" {
    start_operator
    make_cluster 1
    becomes '{.spec.template.spec.securityContext.runAsUser}' 65532 sts/x
    kn patch dvm x --type merge -p '{"spec": {"security": {"runAsUser": 1000700000}}}' >&2
    becomes '{.spec.template.spec.securityContext.fsGroup}' 1000700000 sts/x-head
    becomes '{.spec.template.spec.securityContext.runAsUser}' 1000700000 sts/x
    kn patch dvm x --type merge -p '{"spec": {"security": {"runAsUser": null, "userFrom": "Namespace"}}}' >&2
    until_true 30 names_no_user
    for value in '"root"' 0 5; do # 5: only with userFrom Spec
        run kn patch dvm x --type merge -p "{\"spec\": {\"security\": {\"runAsUser\": $value}}}"
        [ "$status" -ne 0 ]
    done
}
names_no_user() { [ "$(kn get sts x -o json | jq -c '.spec.template.spec.securityContext | keys')" = '["runAsNonRoot","seccompProfile"]' ]; }

@test "the API server takes the status of 65,535 members with the words of 64 campaigns, within 64 KiB" {
    make -s -C "$repo" build/asan/operator/status/test/test_bounds >&2
    BOUNDS_STATUS=$dir/status.json "$repo/build/asan/operator/status/test/test_bounds" >&2
    make_cluster 65535
    jq -c '{status: .}' "$dir/status.json" > "$dir/patch.json"
    kn patch dvm x --subresource=status --type merge --patch-file "$dir/patch.json" >&2
    kn get dvm x -o json | jq -cS .status > "$dir/kept.json"
    diff <(jq -cS . "$dir/status.json") "$dir/kept.json" # no field is unknown
    [ "$(wc -c < "$dir/kept.json")" -le 65537 ]
}

# applies MANAGER SPEC [OPTION...]
applies() {
    kn apply --server-side --field-manager="$1" "${@:3}" -f - << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "x"}, "spec": $2}
END
}
spec_of() { kn get dvm x -o json | jq -c ".spec.$1"; }

@test "two managers apply parts of one spec, and the operator writes the status beside them" {
    start_operator
    applies platform '{"replicas": 2, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "25%"}}, "head": {"template":
        {"spec": {"nodeSelector": {"pool": "stable"}}}}}' >&2
    applies team '{"image": "example.test/daemon:1", "applicationLimits": {"min": 1, "max": 4}}' >&2
    becomes '{.status.desiredReplicas}' 2
    run applies team '{"image": "example.test/daemon:1", "applicationLimits": {"min": 1}, "replicas": 3}'
    [ "$status" -ne 0 ]
    [[ $output == *conflict*platform*.spec.replicas* ]]
    applies team '{"image": "example.test/daemon:1", "applicationLimits": {"min": 1}}' >&2 # gives max up
    [ "$(spec_of applicationLimits)" = '{"min":1}' ]
    applies platform '{"replicas": 3, "updateStrategy": {"type": "OnDelete"}}' >&2
    [ "$(spec_of updateStrategy)" = '{"type":"OnDelete"}' ]
    [ "$(spec_of head.template)" = null ]
    [ "$(spec_of image)" = '"example.test/daemon:1"' ]
    becomes '{.status.desiredReplicas}' 3
}

@test "kubectl explain describes the fields with their types" {
    explains() { # its lines are wrapped
        said=$(k explain "dvmcluster.$1" | tr -s ' \n' ' ')
        [[ $said == *"$2"* ]] || { echo "$said"; return 1; }
    }
    explains spec.applicationLimits.max "may request members up to this number"
    explains spec.updateStrategy.rollingUpdate.maxUnavailable "a number, or a percentage"
    explains spec.security.runAsUser "<integer>"
    explains spec.security.userFrom "ENUM: Spec Namespace"
    explains spec.head.template "A pod template for the head alone"
    explains spec.minReplicas "Refused. It is called applicationLimits.min."
    explains status.releases "<[]Object>"
}

@test "spec.head.template changes the head's set alone" {
    start_operator
    make_cluster 1
    appears sts/x
    before=$(kn get sts x -o jsonpath='{.metadata.generation}')
    kn patch dvm x --type merge -p '{"spec": {"head": {"template": {"spec": {"nodeSelector": {"pool": "stable"},
        "tolerations": [{"key": "pool", "operator": "Exists"}]}}}}}' >&2
    becomes '{.spec.template.spec.nodeSelector.pool}' stable sts/x-head
    becomes '{.spec.template.spec.tolerations[*].key}' pool sts/x-head
    kn patch dvm x --type merge -p '{"spec": {"head": {"template": {"spec": {"tolerations": [{"key": "pool", "operator": "Perhaps"}]}}}}}' >&2
    condition Progressing TemplateRefused
    [ "$(kn get sts x -o jsonpath='{.metadata.generation}')" = "$before" ]
}

@test "the head has the volume that spec.head.storage names, and members do not" {
    start_operator
    make_cluster 1 '"head": {"storage": {"claimName": "records.x"}}'
    becomes '{.spec.template.spec.volumes[?(@.name=="records")].persistentVolumeClaim.claimName}' records.x sts/x-head
    appears sts/x
    run -0 kn get sts x -o jsonpath='{.spec.template.spec.volumes[?(@.name=="records")].name}'
    [ -z "$output" ]
    local storage
    for storage in '{"claimName": "Records"}' '{"claimName": "a..b"}' '{"claimName": null}'; do
        run kn patch dvm x --type merge -p "{\"spec\": {\"head\": {\"storage\": $storage}}}"
        [ "$status" -ne 0 ]
    done
    kn patch dvm x --type merge -p '{"spec": {"head": {"storage": null}}}' >&2
    until_true 30 has_no_records
}
has_no_records() { ! kn get sts x-head -o json | grep -q -e records; }

@test "budgets are those of spec.disruption" {
    start_operator
    make_cluster 4 '"disruption": {"maxUnavailable": 2, "headMaxUnavailable": 0}'
    becomes '{.spec.maxUnavailable}' 2 pdb/x
    becomes '{.spec.maxUnavailable}' 0 pdb/x-head
    kn patch dvm x --type merge -p '{"spec": {"disruption": {"maxUnavailable": 0}}}' >&2
    becomes '{.spec.maxUnavailable}' 0 pdb/x
}

@test "an object that another controller manages is left alone, and its manager cannot be changed" {
    start_operator
    kn apply -f - >&2 << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "y"}, "spec": {"managedBy": "example.org/other"}}
END
    make_cluster 1
    appears sts/x
    [ "$(kn get dvm x -o jsonpath='{.spec.managedBy}')" = dvm.openpmix.io/dvm-operator ]
    run kn get sts/y secret/y-ca
    [ "$status" -ne 0 ]
    [ "$(kn get dvm y -o jsonpath='{.status}')" = "" ]
    run kn patch dvm y --type merge -p '{"spec": {"managedBy": "dvm.openpmix.io/dvm-operator"}}'
    [[ $output == *"managedBy cannot be changed"* ]]
}

@test "the label of a queue, a scheduler and a pod group reach the objects that they are for" {
    start_operator
    kn apply -f - >&2 << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster",
 "metadata": {"name": "x", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
 "spec": {"replicas": 2, "image": "example.test/daemon:1", "template":
  {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}, "spec": {"schedulerName": "gang-scheduler"}}}}
END
    appears sts/x
    kn get sts x x-head -o json | jq -e '.items | length == 2 and all(.[]; .metadata.labels["kueue.x-k8s.io/queue-name"] == "team"
        and .spec.template.metadata.labels["scheduling.x-k8s.io/pod-group"] == "gang"
        and .spec.template.spec.schedulerName == "gang-scheduler")' >&2
    kn label dvm x kueue.x-k8s.io/queue-name=other --overwrite >&2
    becomes '{.metadata.labels.kueue\.x-k8s\.io/queue-name}' other sts/x
}
