#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures LeaderWorkerSet as bench/operator.sh measures the operator: the same API server, as many StatefulSets and pods.
#
# LWS: its manager, the package sigs.k8s.io/lws/cmd built with Go. LWS_SOURCE: the source of that module.
# CLUSTERS: number of LeaderWorkerSets, each of one leader and two workers.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/apiserver.bash
. "$ROOT/bench/apiserver.bash"
CLUSTERS=${CLUSTERS:-1000}
: "${LWS:?the manager of LeaderWorkerSet}" "${LWS_SOURCE:?the source of its module}"

dir=$(mktemp -d "${TMPDIR:-/tmp}/dvm-bench-XXXXXX")
lws=''
at_end() {
    local pid
    trap '' INT TERM
    for pid in $lws $manager; do kill -KILL "$pid" 2> /dev/null || true; done
    stop_api
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap at_end EXIT
trap 'exit 130' INT TERM
LWSS=apis/leaderworkerset.x-k8s.io/v1/namespaces/bench/leaderworkersets

# The API server has no Services, so it calls the webhooks by an address. Its certificate is for 127.0.0.1.
make_webhooks() {
    local kind
    for kind in mutating validating; do
        awk -v RS='---\n' -v kind="$kind" 'tolower($0) ~ "kind: " kind "webhook"' "$LWS_SOURCE/config/webhook/manifests.yaml" |
            awk -v port="$port" -v ca="$(base64 -w 0 "$dir/api/ca.crt")" '/^    service:/ {next} /^      name(space)?:/ {next}
                /^      path:/ {print "    caBundle: " ca; print "    url: https://127.0.0.1:" port $2; next} {print}' > "$dir/$kind.yaml"
        ask -X POST -H 'Content-Type: application/yaml' --data-binary "@$dir/$kind.yaml" -o /dev/null \
            "$url/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations"
    done
}
listens() { (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; }
start_lws() {
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    mkdir "$dir/webhook"
    cp "$dir/api/server.crt" "$dir/webhook/tls.crt"
    cp "$dir/api/server.key" "$dir/webhook/tls.key"
    cat > "$dir/config.yaml" << END
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {host: 127.0.0.1, port: $port, certDir: $dir/webhook}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
END
    KUBECONFIG=$dir/api/kubeconfig "$LWS" --config "$dir/config.yaml" --zap-log-level error > "$dir/operator.log" 2>&1 &
    lws=$!
    until_true listens
    make_webhooks
}
make_clusters() {
    local i
    for ((i = 0; i < CLUSTERS; i++)); do
        echo "POST /$LWSS application/json" '{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "b'$i'"},' \
            '"spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 3, "workerTemplate": {"spec": {"containers": [{"name": "prted", "image": "example.test/daemon:1"}]}}}}}'
    done | entries > "$dir/make"
    many "$dir/make"
}
# children_exist: a headless Service and two StatefulSets each; the second one is made when the leader's pod exists.
children_exist() {
    [ "$(count "$SETS")" -ge $((2 * CLUSTERS)) ] && [ "$(count api/v1/namespaces/bench/services)" -ge "$CLUSTERS" ]
}
pods_exist() { [ "$(count "$PODS")" -ge $((3 * CLUSTERS)) ]; }

start_api "$LWS_SOURCE/config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
until_true get "/$LWSS" > /dev/null 2>&1
start_lws
emit lws-memory clusters 0 memory "$(memory "$lws")"
t0=$(now_ms) cpu0=$(cpu_us "$lws")
make_clusters
until_true children_exist
ms=$(($(now_ms) - t0))
emit lws-create clusters "$CLUSTERS" children_exist_ms "$ms" cpu_ms "$((($(cpu_us "$lws") - cpu0) / 1000))" controller_manager "${manager:+yes}"
until_true pods_exist
emit lws-memory clusters "$CLUSTERS" pods $((3 * CLUSTERS)) memory "$(memory "$lws")"
