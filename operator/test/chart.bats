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
    refused "networkPolicy.daemons needs the namespaces" --set clusterWide=true,networkPolicy.daemons.enabled=true
    refused "networkPolicy" --set networkPolicy=true
}

@test "each wrong value of the list is refused by the schema" {
    local value n=0 chart=$repo/charts/dvm-operator
    # Without templates, since each of them costs time.
    mkdir "$dir/values"
    cp "$chart"/{Chart.yaml,values.yaml,values.schema.json} "$dir/values"
    helm template r "$dir/values" --kube-version "$K8S_VERSION" >&2
    while IFS= read -r value; do
        [[ $value != \#* ]] || continue
        n=$((n + 1))
        if helm template r "$dir/values" --kube-version "$K8S_VERSION" --set-json "$value" > /dev/null 2> "$dir/helm.err"; then echo "accepted: $value"; return 1; fi
        grep -q "don't meet the specifications of the schema" "$dir/helm.err" || { echo "$value:"; cat "$dir/helm.err"; return 1; }
    done < "$repo/operator/test/chart-wrong.txt"
    [ "$n" -gt 60 ]
}

@test "right values at the edges of the schema give objects that the API server accepts" {
    rendered -f "$repo/operator/test/chart-right.yaml" > "$dir/right.yaml"
    # Its resource is not installed.
    awk 'BEGIN { RS = "---\n"; ORS = "---\n" } !/kind: ServiceMonitor/' "$dir/right.yaml" | k apply --dry-run=server -f - >&2
    grep -qx '    release: prometheus' "$dir/right.yaml"
}

@test "the API server accepts the objects of the chart, whatever the values" {
    local values
    for values in replicas=1 highAvailability=true clusterWide=true "watchNamespaces={$ns}" templatePolicy=any networkPolicy.operator.enabled=true networkPolicy.daemons.enabled=true; do
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

# stored_policy NAME: the NetworkPolicy as JSON, stored by the API server.
stored_policy() { kn get networkpolicy "r-dvm-operator-daemons$1" -o json; }
# who_may PORT POLICY: the selectors that reach the port; "all" for a rule without a peer.
who_may() {
    jq -c --argjson port "$1" '[.spec.ingress[] | select((.ports // [{port: $port}]) | any(.port == $port)) |
        .from // ["all"] | .[]]' <<< "$2"
}

@test "networkPolicy.daemons: only the pods of one DvmCluster and the operator reach its ports, probes all" {
    local policy labels
    rendered --set networkPolicy.daemons.enabled=true,networkPolicy.daemons.clusters="{x,y}" > "$dir/objects.yaml"
    k apply -f "$dir/objects.yaml" >&2
    policy=$(stored_policy -x)
    stored_policy -y > /dev/null
    [ "$(jq -c '.spec.policyTypes' <<< "$policy")" = '["Ingress"]' ]
    daemons='{"podSelector":{"matchLabels":{"dvm.openpmix.io/cluster":"x"}}}'
    [ "$(jq -c '{podSelector: .spec.podSelector}' <<< "$policy")" = "$daemons" ]
    [ "$(who_may 7400 "$policy")" = "[$daemons]" ]
    [ "$(who_may 7443 "$policy" | jq -c 'length')" = 2 ]
    [ "$(who_may 7443 "$policy" | jq -c '.[0]')" = "$daemons" ]
    [ "$(who_may 7480 "$policy" | jq -c '.[1]')" = '"all"' ]
    # The selectors are those of the operator's pods and of the daemons' pods.
    labels=$(kn get deployment r-dvm-operator -o json | jq -c .spec.template.metadata.labels)
    who_may 7443 "$policy" | jq -e --argjson labels "$labels" --arg ns "$ns" '.[1] |
        .namespaceSelector.matchLabels == {"kubernetes.io/metadata.name": $ns} and
        (.podSelector.matchLabels as $m | $m | length == 2 and all(to_entries[]; $labels[.key] == .value))' >&2
    k apply -f "$repo/crds/dvm.openpmix.io_dvmclusters.yaml" >&2
    start_operator
    make_cluster 2
    appears sts/x
    appears sts/x-head
    for set in x x-head; do
        [ "$(kn get sts "$set" -o json | jq -r '.spec.template.metadata.labels["dvm.openpmix.io/cluster"]')" = x ]
    done
    kill -KILL "$(cat "$dir/operator.pid")"
}

@test "networkPolicy.daemons: without names all daemons of a namespace are peers, and further peers may be named" {
    local policy
    rendered --set networkPolicy.daemons.enabled=true,watchNamespaces="{$ns}" \
        --set-json 'networkPolicy.daemons.from=[{"podSelector": {"matchLabels": {"run": "prun"}}}]' > "$dir/objects.yaml"
    k apply -f "$dir/objects.yaml" >&2
    policy=$(stored_policy "")
    daemons='{"podSelector":{"matchExpressions":[{"key":"dvm.openpmix.io/cluster","operator":"Exists"}]}}'
    [ "$(jq -c '{podSelector: .spec.podSelector}' <<< "$policy")" = "$daemons" ]
    [ "$(who_may 7400 "$policy")" = "[$daemons,{\"podSelector\":{\"matchLabels\":{\"run\":\"prun\"}}}]" ]
    [ "$(who_may 7480 "$policy")" = "[$daemons,\"all\"]" ]
}

@test "/metrics is for the operator's pod alone, and for bearers of a token, unless metricsAccess says otherwise" {
    rendered > "$dir/plain.yaml"
    grep -qx '            - --metrics-access=loopback' "$dir/plain.yaml"
    run grep -E 'metrics-token|authorization:' "$dir/plain.yaml"
    [ "$status" -eq 1 ]
    rendered --set metricsAccess=all,serviceMonitor=true | grep -qx '            - --metrics-access=all'
    run rendered --set serviceMonitor=true
    [ "$status" -ne 0 ]
    grep -q 'serviceMonitor needs metricsToken.secret, or metricsAccess: all' "$dir/helm.err"
    run rendered --set metricsAccess=all,metricsToken.secret=m
    [ "$status" -ne 0 ]
    rendered --set serviceMonitor=true,metricsToken.secret=m,metricsToken.key=k > "$dir/token.yaml"
    grep -qx '            - --metrics-access=loopback' "$dir/token.yaml"
    grep -qx '            - --metrics-token-file=/etc/dvm-metrics/k' "$dir/token.yaml"
    grep -qx '            secretName: m' "$dir/token.yaml"
    grep -A 4 'authorization:' "$dir/token.yaml" | tr -d ' \n' | grep -qx 'authorization:type:Bearercredentials:name:mkey:k'
}

@test "serviceMonitor selects the Service of the metrics, whose port the pods have" {
    rendered --set serviceMonitor=true,metricsToken.secret=m --show-only templates/servicemonitor.yaml > "$dir/monitor.yaml"
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

@test "helm test starts a DVM and a pod that runs a job in it, and the API server accepts both" {
    rendered --show-only templates/tests/job.yaml > "$dir/job.yaml"
    grep -q '^kind: DvmCluster' "$dir/job.yaml"
    kn apply --dry-run=server -f "$dir/job.yaml" >&2
    rendered --set watchNamespaces="{$ns-a,$ns-b}" --show-only templates/tests/job.yaml | grep -c "namespace: $ns-a" | grep -qx 2
    run rendered --set testJob=false --show-only templates/tests/job.yaml
    [ "$status" -ne 0 ]
    run rendered --set networkPolicy.daemons.enabled=true --show-only templates/tests/job.yaml
    [ "$status" -ne 0 ]
}

@test "crds.manage makes the CRD an object of the release that an uninstall keeps" {
    rendered --set crds.manage=true --show-only templates/crd.yaml > "$dir/crd.yaml"
    grep -q 'helm.sh/resource-policy: keep' "$dir/crd.yaml"
    k apply --server-side --force-conflicts --dry-run=server -f "$dir/crd.yaml" >&2
    k create --dry-run=client -o json -f "$dir/crd.yaml" | jq -S .spec > "$dir/managed.json"
    k create --dry-run=client -o json -f "$repo/crds/dvm.openpmix.io_dvmclusters.yaml" | jq -S .spec | diff - "$dir/managed.json"
    run rendered --show-only templates/crd.yaml
    [ "$status" -ne 0 ]
}

@test "kubectl takes the operator's container, unless podAnnotations names another; its other annotations are added" {
    local yaml of='.spec.template.metadata.annotations["kubectl.kubernetes.io/default-container"]'
    annotations() { rendered --show-only templates/deployment.yaml "$@" | k create --dry-run=client -o json -f -; }
    yaml=$(annotations --set podAnnotations.a=b)
    [ "$(jq -r "$of" <<< "$yaml")" = operator ]
    [ "$(jq -r '.spec.template.metadata.annotations.a' <<< "$yaml")" = b ]
    [ "$(jq -r '[.spec.template.spec.containers[].name] | join(" ")' <<< "$yaml")" = operator ]
    yaml=$(annotations --set 'podAnnotations.kubectl\.kubernetes\.io/default-container=side')
    [ "$(jq -r "$of" <<< "$yaml")" = side ]
}

@test "a digest names the operator's image in place of a tag" {
    local digest
    digest=sha256:$(printf 'x' | sha256sum | cut -d' ' -f1)
    rendered --set "image.digest=$digest" --show-only templates/deployment.yaml | grep -qF "image: \"dvm-operator@$digest\""
    run rendered --set image.digest=sha256:short
    [ "$status" -ne 0 ]
}

@test "with everything turned on the chart gives the objects of operator/test/chart-all.yaml" {
    local golden=$repo/operator/test/chart-all.yaml
    ns=dvm rendered --set highAvailability=true,serviceMonitor=true,metricsToken.secret=metrics,certManager=true --set watchNamespaces="{a,b}" \
        --set networkPolicy.operator.enabled=true,networkPolicy.daemons.enabled=true,networkPolicy.daemons.clusters="{x}" > "$dir/all.yaml"
    # The template policy and the roles are compared with the plain manifest.
    awk 'BEGIN { RS = "---\n"; ORS = "---\n" } !/kind: (ValidatingAdmission|ClusterRole)/' "$dir/all.yaml" > "$dir/golden.yaml"
    [ -z "${UPDATE_GOLDEN:-}" ] || cp "$dir/golden.yaml" "$golden"
    diff -u "$golden" "$dir/golden.yaml" || { echo "if this is meant: UPDATE_GOLDEN=1 ci/bats.sh operator/test/chart.bats"; return 1; }
}
