#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The chart without a cluster: lint, the schema of its values, and its objects in a dry run of a real kube-apiserver.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    new_namespace
}

helm() { timeout --kill-after=10 60 "$BIN_DIR/helm" "$@"; }
# rendered OPTION...: the objects of the chart on stdout.
rendered() { helm template r "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" "$@" 2> "$dir/helm.err"; }

@test "helm lint has no finding" {
    run helm lint "$repo/charts/dvm-operator"
    [ "$status" -eq 0 ]
    [[ $output != *WARNING* && $output != *ERROR* ]]
}

@test "values that the schema does not know, and contradictions, are refused" {
    refused() { # TEXT OPTION...
        local text=$1
        shift
        if rendered "$@" > /dev/null; then echo "accepted: $*"; return 1; fi
        grep -q "$text" "$dir/helm.err" || { cat "$dir/helm.err"; return 1; }
    }
    refused "replica" --set replica=2
    refused "templatePolicy" --set templatePolicy=none
    refused "leaseDurationSeconds" --set leaderElection.leaseDurationSeconds=1
    refused "several operators need leaderElection.enabled" --set replicas=2,leaderElection.enabled=false
    refused "exclude each other" --set clusterWide=true,watchNamespaces="{a}"
}

@test "the API server accepts the objects of the chart, whatever the values" {
    local values
    for values in replicas=1 highAvailability=true clusterWide=true "watchNamespaces={$ns}" templatePolicy=any networkPolicy=true; do
        rendered --set "$values" > "$dir/objects.yaml"
        grep -q '^kind: Deployment' "$dir/objects.yaml"
        k apply --dry-run=server -f "$dir/objects.yaml" >&2
    done
}

@test "highAvailability gives two operators with a Lease, a budget, a spread and a rolling update" {
    rendered --set highAvailability=true > "$dir/objects.yaml"
    grep -qx '  replicas: 2' "$dir/objects.yaml"
    grep -q -- "--lease=$ns/r-dvm-operator" "$dir/objects.yaml"
    grep -q '^kind: PodDisruptionBudget' "$dir/objects.yaml"
    grep -q 'topologyKey: kubernetes.io/hostname' "$dir/objects.yaml"
    grep -q 'type: RollingUpdate' "$dir/objects.yaml"
    rendered > "$dir/objects.yaml"
    grep -qx '  replicas: 1' "$dir/objects.yaml"
    run grep -E 'kind: (PodDisruptionBudget|NetworkPolicy|ServiceMonitor)' "$dir/objects.yaml"
    [ "$status" -eq 1 ]
}

@test "serviceMonitor selects the Service of the metrics, whose port the pods have" {
    rendered --set serviceMonitor=true --show-only templates/servicemonitor.yaml > "$dir/monitor.yaml"
    grep -q '^kind: Service$' "$dir/monitor.yaml"
    grep -q '^kind: ServiceMonitor$' "$dir/monitor.yaml"
    grep -q 'targetPort: metrics' "$dir/monitor.yaml"
    rendered --show-only templates/deployment.yaml | grep -q 'name: metrics'
}

@test "the plain manifest is that of the chart, and the API server takes it with the operator's namespace" {
    "$repo/ci/manifest.sh" > "$dir/manifest.yaml"
    diff -u "$repo/deploy/dvm-operator.yaml" "$dir/manifest.yaml" || { echo "not fresh: make manifest"; return 1; }
    k apply --server-side -f "$repo/deploy/dvm-operator.yaml" >&2
    k get deployment -n dvm-operator dvm-operator >&2
    k apply --server-side -f "$repo/deploy/dvm-operator.yaml" >&2
    run grep -E 'managed-by: Helm|helm.sh/' "$dir/manifest.yaml"
    [ "$status" -eq 1 ]
    k delete --wait=false -n dvm-operator deployment dvm-operator >&2
}

@test "helm test: the pod of the test tells a ready operator from one that is not there" {
    local check port=$((head_port + 1))
    rendered --show-only templates/tests/ready.yaml > "$dir/ready.yaml"
    k apply -n "$ns" --dry-run=server -f "$dir/ready.yaml" >&2
    check=$(k create --dry-run=client -f "$dir/ready.yaml" -o jsonpath='{.spec.containers[0].command[2]}')
    [ -n "$check" ]
    run bash -c "$check" 127.0.0.1 "$port" 1
    [ "$status" -eq 1 ]
    [[ $output == *"not ready after 1 s: no answer"* ]]
    k apply -f "$repo/crds/dvm.openpmix.io_dvmclusters.yaml" >&2
    metrics_addr=127.0.0.1:$port start_operator
    run bash -c "$check" 127.0.0.1 "$port" 60
    kill -KILL "$(cat "$dir/operator.pid")"
    [ "$status" -eq 0 ]
}
