#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The template policy "restricted": the chart's ValidatingAdmissionPolicy in a real kube-apiserver, and the operator where
# that policy is absent. The templates are those of operator/model/test/test_policy.c; Pod Security's own code in the API
# server judges the pods that members would get from them.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() {
    new_namespace
    cases=$repo/operator/model/test/policy.json
}
teardown() { end_programs; }

# object SPEC: a DvmCluster with this pod template.
object() {
    jq -n --argjson spec "$1" '{apiVersion: "dvm.openpmix.io/v1alpha1", kind: "DvmCluster", metadata: {name: "x"},
        spec: {replicas: 1, image: "example.test/daemon:1", template: {spec: $spec}}}'
}

# install_policy: the chart's policy; waits until the API server applies it in this namespace.
install_policy() {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    "$BIN_DIR/helm" template "$ns" "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --show-only templates/template-policy.yaml 2> "$dir/helm.err" > "$dir/policy.yaml"
    k apply -f "$dir/policy.yaml" >&2
    local limit=$((SECONDS + 60))
    # Of a name that does not exist: an object that exists is refused for that.
    while object '{"hostPID": true}' | jq '.metadata.name = "probe"' | kn create --dry-run=server -f - > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$limit" ]
    done
}

# judged FILE: tries to create the objects c0, c1, ... of the List; "N VERDICT" of each, the verdict being "accepted" or
# the API server's words.
judged() {
    { kn create --dry-run=server --validate=false -f "$1" 2>&1 || true; } | sed -nE 's/^[a-z./]+\/c([0-9]+) created.*/\1 accepted/p
        s/^Error from server.*(pods|Pod|dvmclusters\.dvm\.openpmix\.io) "c([0-9]+)" (is (forbidden|invalid): .*)/\2 \3/p' | sort -n
}

@test "the API server judges each template of the list as the operator does, and names the path" {
    local n expected
    install_policy
    n=$(jq length "$cases")
    jq '{apiVersion: "v1", kind: "List", items: [to_entries[] | {apiVersion: "dvm.openpmix.io/v1alpha1", kind: "DvmCluster",
        metadata: {name: "c\(.key)"}, spec: {image: "i", template: .value.template}}]}' "$cases" > "$dir/objects.json"
    judged "$dir/objects.json" | sed -E 's/is forbidden: .* denied request: (.* is refused by the template policy).*/\1/' > "$dir/verdicts"
    jq -r 'to_entries[] | "\(.key) " + if .value.refused then "spec.template.\(.value.refused) is refused by the template policy" else
        "accepted" end' "$cases" | sed -E 's/\[[0-9]+\]/[]/g' > "$dir/expected"
    expected=$(wc -l < "$dir/expected")
    [ "$n" -gt 60 ] && [ "$expected" -eq "$n" ]
    diff "$dir/expected" "$dir/verdicts" >&2
}

@test "Pod Security refuses no pod whose template is allowed, and the list has its verdicts" {
    k create priorityclass low --value=1 --preemption-policy=Never >&2
    k apply -f - >&2 <<< '{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia"}'
    make -s -C "$repo" build/asan/operator/test/pods >&2
    "$repo/build/asan/operator/test/pods" "$cases" "$ns" > "$dir/pods.json"
    judged "$dir/pods.json" | sed -E 's/accepted/allowed/; s/is forbidden: violates PodSecurity "restricted:latest".*/refused/' > "$dir/said"
    # A pod that is invalid otherwise is not judged, and has no line of these words.
    jq -r 'to_entries[] | select(.value.podSecurity != "invalid") | "\(.key) \(.value.podSecurity)"' "$cases" > "$dir/expected"
    grep -E '^[0-9]+ (allowed|refused)$' "$dir/said" | diff "$dir/expected" - >&2
    [ "$(grep -c refused "$dir/expected")" -gt 30 ]
    run jq -e 'any(.[]; .allowed and .podSecurity != "allowed")' "$cases"
    [ "$output" = false ]
}

@test "the API server accepts a DvmCluster without a template" {
    install_policy
    jq -n '{apiVersion: "dvm.openpmix.io/v1alpha1", kind: "DvmCluster", metadata: {name: "x"}, spec: {}}' |
        kn create --dry-run=server -f - >&2
}

@test "an object that is older than the policy can be scaled, changed elsewhere, and deleted" {
    object '{"hostPID": true}' | kn create -f - >&2
    install_policy
    kn scale dvm x --replicas=2 >&2
    kn patch dvm x --type merge -p '{"spec": {"slotsPerDaemon": 2}}' >&2
    run kn patch dvm x --type merge -p '{"spec": {"template": {"spec": {"hostIPC": true}}}}'
    [ "$status" -ne 0 ]
    kn patch dvm x --type merge -p '{"spec": {"template": {"spec": {"hostPID": false}}}}' >&2
    kn delete dvm x >&2
}

@test "the policy of one release does not bind other namespaces" {
    install_policy
    object '{"hostPID": true}' | k -n default create --dry-run=server -f - >&2
}

@test "without the admission policy the operator refuses the template, and a corrected one is applied" {
    start_operator
    object '{"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}' | kn create -f - >&2
    condition Progressing InvalidSpec
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"spec.template.spec.volumes[0].hostPath"* ]]
    run kn get sts,services,secrets
    [ "$output" = "No resources found in $ns namespace." ]
    kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/template"}]' >&2
    appears sts/x
}

@test "what spec.head.template may not have is refused by the operator, with the field" {
    start_operator
    kn create -f - >&2 << 'END'
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "x"},
 "spec": {"head": {"template": {"spec": {"hostPID": true}}}}}
END
    condition Progressing InvalidSpec
    condition Stalled InvalidSpec
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"spec.head.template"*hostPID* ]]
    run kn get sts,services,secrets
    [ "$output" = "No resources found in $ns namespace." ]
}

@test "with the policy \"any\" the operator applies the template, unless it breaks the daemons" {
    k label --overwrite namespace "$ns" pod-security.kubernetes.io/enforce=privileged >&2
    start_operator operator --template-policy any
    object '{"volumes": [{"name": "root", "hostPath": {"path": "/"}}], "setHostnameAsFQDN": true}' | kn create -f - >&2
    condition Progressing InvalidSpec
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"spec.template.spec.setHostnameAsFQDN is refused: a daemon"* ]]
    kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/template/spec/setHostnameAsFQDN"}]' >&2
    appears sts/x
    [[ $(kn get sts x -o jsonpath='{.spec.template.spec.volumes[*].hostPath.path}') == / ]]
}

@test "an operator works in each namespace that it was given, with a Role there, and in no other" {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    other=$ns-other
    k create namespace "$other" >&2
    k create namespace "$ns-third" >&2
    as_chart_says --set "watchNamespaces={$ns,$other}"
    start_operator operator --namespace "$other"
    for each in "$ns" "$other" "$ns-third"; do
        object '{}' | k -n "$each" create -f - >&2
    done
    appears sts/x
    ns=$other appears sts/x
    run k --kubeconfig "$OPERATOR_KUBECONFIG" auth can-i list pods -n "$ns-third"
    [ "$status" -ne 0 ]
    [ "$(k -n "$ns-third" get sts -o name)" = "" ]
    run grep -i forbidden "$dir/operator.log"
    [ "$status" -eq 1 ]
}

@test "the roles view and edit of the chart allow what their names say" {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    "$BIN_DIR/helm" template r "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --show-only templates/roles.yaml 2> "$dir/helm.err" | k apply -f - >&2
    kn create rolebinding reader --clusterrole="$ns-r-dvm-operator-view" --user=reader >&2
    kn create rolebinding writer --clusterrole="$ns-r-dvm-operator-edit" --user=writer >&2
    may() { kn auth can-i "$2" dvmclusters.dvm.openpmix.io ${3:+--subresource="$3"} --as "$1" > /dev/null 2>&1; }
    until_may() { local limit=$((SECONDS + 30)); until may "$@"; do [ "$SECONDS" -lt "$limit" ]; done; }
    until_may reader list
    until_may writer create
    until_may writer patch scale
    run may reader create
    [ "$status" -ne 0 ]
    run may writer update status
    [ "$status" -ne 0 ]
    k get clusterrole "$ns-r-dvm-operator-view" -o yaml | grep 'aggregate-to-view: "true"'
    k get clusterrole "$ns-r-dvm-operator-edit" -o yaml | grep 'aggregate-to-edit: "true"'
}
