#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures the operator against an API server of its own (operator/test/apiserver.sh), with live heads (fakehead --many)
# and pods that run as far as their status says; one JSON line per figure.
#
# CLUSTERS: number of DvmClusters, of 2 members each. SCALES: number of scalings. OPERATOR: the program.
# The operator finds the heads by an /etc/hosts of its own, so it runs in a mount namespace.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/apiserver.bash
. "$ROOT/bench/apiserver.bash"
CLUSTERS=${CLUSTERS:-1000}
SCALES=${SCALES:-20}
OPERATOR=${OPERATOR:-$ROOT/build/release/bin/dvm-operator}
FAKEHEAD=${FAKEHEAD:-$ROOT/build/release/operator/test/fakehead}

dir=$(mktemp -d "${TMPDIR:-/tmp}/dvm-bench-XXXXXX")
operator='' heads=''
at_end() {
    local pid
    trap '' INT TERM
    for pid in $operator $heads $manager; do kill -KILL "$pid" 2> /dev/null || true; done
    stop_api
    [ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap at_end EXIT
trap 'exit 130' INT TERM

DVMS=apis/dvm.openpmix.io/v1alpha1/namespaces/bench/dvmclusters

# --- the operator

start_operator() {
    local port
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    metrics=http://127.0.0.1:$port
    # shellcheck disable=SC2016  # expanded by that shell
    unshare --map-root-user --mount sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' - "$dir/hosts" \
        "$OPERATOR" --kubeconfig "$dir/api/kubeconfig" --namespace bench --metrics-addr "127.0.0.1:$port" >> "$dir/operator.log" 2>&1 &
    operator=$!
    PAUSE=0.02 until_true is_ready
}
is_ready() { curl --noproxy '*' -sf -m 5 -o /dev/null "$metrics/readyz"; }
stop_operator() {
    kill -TERM "$operator"
    wait "$operator" || true
    operator=''
}
# metric NAME: the sum of its series.
metric() { curl --noproxy '*' -sf -m 20 "$metrics/metrics" | awk -v name="$1" 'index($1, name) == 1 && $1 ~ "^" name "({|$)" {sum += $2} END {print sum + 0}'; }
requests() { metric dvm_operator_kube_requests_total; }
by_verb() { curl --noproxy '*' -sf -m 20 "$metrics/metrics" | sed -nE 's/^dvm_operator_kube_requests_total\{(.*)\} (.*)/\1=\2/p' | grep -v '=0$' | tr '\n' ' '; }
# at_rest: no pass waits or runs, and few requests were sent for a second: Secrets are read again one after the other.
at_rest() {
    local before
    [ "$(metric dvm_operator_queue_depth)" = 0 ] && before=$(requests) || return 1
    sleep 1
    [ "$(metric dvm_operator_queue_depth)" = 0 ] && [ "$(requests)" -le $((before + 5)) ]
}
heads_up() { [ "$(metric dvm_operator_cluster_head_up)" -ge "$CLUSTERS" ]; }

# --- the clusters

addresses() { awk -v n="$CLUSTERS" 'BEGIN {for (i = 0; i < n; i++) printf "%d 127.1.%d.%d\n", i, i / 250, i % 250 + 1}'; }
make_clusters() {
    addresses | awk -v path="/$DVMS" '{print "POST " path " application/json {\"apiVersion\": \"dvm.openpmix.io/v1alpha1\", \"kind\": \"DvmCluster\", \"metadata\": {\"name\": \"b" $1 "\"}, \"spec\": {\"replicas\": 2, \"image\": \"example.test/daemon:1\"}}"}' |
        entries > "$dir/make"
    many "$dir/make"
}
# children_exist: two Services (one is the server's own), two budgets, two StatefulSets, five Secrets each.
children_exist() {
    [ "$(count api/v1/namespaces/bench/secrets)" -ge $((5 * CLUSTERS)) ] && [ "$(count "$SETS")" -ge $((2 * CLUSTERS)) ] &&
        [ "$(count api/v1/namespaces/bench/services)" -ge $((2 * CLUSTERS)) ] &&
        [ "$(count apis/policy/v1/namespaces/bench/poddisruptionbudgets)" -ge $((2 * CLUSTERS)) ]
}
pods_exist() { [ "$(count "$PODS")" -ge $((3 * CLUSTERS)) ]; }
# Without kube-controller-manager the pods are made here.
make_pods() {
    get "/$SETS" | jq -c --arg path "/$PODS" '.items[] | .metadata as $m | .spec as $s | range($s.replicas) |
        ("\($m.name)-\(. + ($s.ordinals.start // 0))") as $name | {name: $name, m: $m, s: $s}' |
        jq -rc --arg path "/$PODS" '"POST \($path) application/json " + ({apiVersion: "v1", kind: "Pod", metadata: {name: .name,
            labels: (.s.template.metadata.labels + {"controller-revision-hash": "\(.m.name)-5c9f7b8d9"}), annotations: .s.template.metadata.annotations,
            ownerReferences: [{apiVersion: "apps/v1", kind: "StatefulSet", name: .m.name, uid: .m.uid, controller: true, blockOwnerDeletion: true}]},
            spec: (.s.template.spec + {nodeName: "node-1"})} | tojson)' | entries > "$dir/pods"
    many "$dir/pods"
}
# run_pods: the status that a kubelet would write.
run_pods() {
    local now
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    get "/$PODS" | jq -r --arg now "$now" --arg path "/$PODS" '.items[].metadata.name | "PATCH \($path)/\(.)/status application/merge-patch+json " + ({status: {
        phase: "Running", hostIP: "10.1.2.3", podIP: "10.4.5.6", startTime: $now,
        conditions: (["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] | map({type: ., status: "True", lastTransitionTime: $now})),
        containerStatuses: [{name: "prted", image: "example.test/daemon:1", imageID: "example.test/daemon@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            containerID: "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", ready: true, started: true, restartCount: 0,
            state: {running: {startedAt: $now}}}]}} | tojson)' | entries > "$dir/run"
    many "$dir/run"
}
start_heads() {
    local i addr name
    get /api/v1/namespaces/bench/secrets | jq -r '.items[] | select(.metadata.name | endswith("-head")) |
        "\(.metadata.name[0:-5]) \(.data["ca.crt"]) \(.data["tls.crt"]) \(.data["tls.key"])"' > "$dir/certs"
    while read -r name ca cert key; do
        mkdir -p "$dir/heads/$name"
        base64 -d <<< "$ca" > "$dir/heads/$name/ca.crt"
        base64 -d <<< "$cert" > "$dir/heads/$name/tls.crt"
        base64 -d <<< "$key" > "$dir/heads/$name/tls.key"
    done < "$dir/certs"
    while read -r i addr; do echo "$dir/heads/b$i $addr"; done < <(addresses) > "$dir/heads.list"
    "$FAKEHEAD" --many "$dir/heads.list" > "$dir/heads.out" 2> "$dir/heads.log" &
    heads=$!
    until_true grep -q ready "$dir/heads.out"
}

# scale_one I N: milliseconds until the StatefulSet has N replicas, and the operator's processor time in them. A watch
# tells it at once, so that little of what the operator does afterwards is counted.
until_scaled() { # REPLICAS, from the lines of a watch
    local line
    while IFS= read -r -t "$LIMIT" line <&"$watch"; do
        [[ $line != *'"spec":{"replicas":'"$1,"* ]] || return 0
    done
    echo "bench: the watch has ended, or tells nothing" >&2
    return 1
}
scale_one() {
    local t0 cpu0 t1 cpu1 watch watcher
    exec {watch}< <(exec curl --noproxy '*' -sfN -m "$LIMIT" --cacert "$dir/api/ca.crt" -H 'Authorization: Bearer test-admin' \
        "$url/$SETS?watch=1&fieldSelector=metadata.name%3Db$1")
    watcher=$!
    until_scaled "$(($2 - 1))" # it tells first what there is
    t0=$(now_ms) cpu0=$(cpu_us "$operator")
    ask -X PATCH -H 'Content-Type: application/merge-patch+json' -o /dev/null -d "{\"spec\": {\"replicas\": $2}}" "$url/$DVMS/b$1"
    until_scaled "$2"
    cpu1=$(cpu_us "$operator") t1=$(now_ms)
    kill "$watcher"
    exec {watch}<&-
    echo $((t1 - t0)) >> "$dir/scale.ms"
    echo $((cpu1 - cpu0)) >> "$dir/scale.cpu"
}
tell_scales() {
    local i cpu0 rate
    cpu0=$(cpu_us "$operator")
    sleep 10
    rate=$(($(cpu_us "$operator") - cpu0))
    emit operator-idle clusters "$CLUSTERS" cpu_ms_per_s "$(awk "BEGIN {printf \"%.2f\", $rate / 10000}")"
    : > "$dir/scale.ms"
    : > "$dir/scale.cpu"
    for ((i = 0; i < SCALES; i++)); do scale_one "$((i * 7 % CLUSTERS))" "$((3 + i / CLUSTERS))"; done
    emit operator-scale clusters "$CLUSTERS" runs "$SCALES" to_patch_ms "$(median < "$dir/scale.ms")" \
        cpu_ms "$(median < "$dir/scale.cpu" | awk '{printf "%.2f", $1 / 1000}')"
}

start_api "$ROOT/crds/dvm.openpmix.io_dvmclusters.yaml"
until_true get "/$DVMS" > /dev/null 2>&1
{ cat /etc/hosts && addresses | awk '{print $2 " b" $1 "-head.bench.svc"}'; } > "$dir/hosts"
start_operator
sleep 5
emit operator-memory clusters 0 memory "$(memory "$operator")"
t0=$(now_ms) cpu0=$(cpu_us "$operator") before=$(requests)
make_clusters
until_true children_exist
ms=$(($(now_ms) - t0))
until_true at_rest
emit operator-create clusters "$CLUSTERS" children_exist_ms "$ms" requests_per_cluster "$(awk "BEGIN {printf \"%.2f\", ($(requests) - $before) / $CLUSTERS}")" \
    cpu_ms "$((($(cpu_us "$operator") - cpu0) / 1000))" by_verb "$(by_verb)" controller_manager "${manager:+yes}"
emit operator-memory clusters "$CLUSTERS" pods 0 heads 0 memory "$(memory "$operator")"
[ -n "$manager" ] || make_pods
until_true pods_exist
until_true at_rest
emit operator-memory clusters "$CLUSTERS" pods $((3 * CLUSTERS)) heads 0 memory "$(memory "$operator")"
start_heads
run_pods
until_true heads_up
until_true at_rest
emit operator-memory clusters "$CLUSTERS" pods $((3 * CLUSTERS)) heads "$CLUSTERS" memory "$(memory "$operator")" requests_per_cluster "$(awk "BEGIN {printf \"%.2f\", $(requests) / $CLUSTERS}")" by_verb "$(by_verb)"
tell_scales
stop_operator
t0=$(now_ms)
start_operator
synced=$(($(now_ms) - t0))
until_true heads_up
up=$(($(now_ms) - t0))
until_true at_rest
emit operator-restart clusters "$CLUSTERS" synced_ms "$synced" heads_up_ms "$up" cpu_ms "$(($(cpu_us "$operator") / 1000))" requests "$(requests)" memory "$(memory "$operator")" by_verb "$(by_verb)"
