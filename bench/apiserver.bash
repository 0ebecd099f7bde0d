# SPDX-License-Identifier: BSD-3-Clause
# An API server with kube-controller-manager, for benches of operators. Sourced; `dir` is a directory of the caller.
#
# Set by start_api: url, manager (pid). Whoever sources this ends `manager`, and calls stop_api.
# shellcheck shell=bash
# shellcheck source=bench/lines.bash
. "$ROOT/bench/lines.bash"
# shellcheck source=e2e/provider/kind/versions.sh
. "$ROOT/e2e/provider/kind/versions.sh"
API=$ROOT/operator/test/apiserver.sh
LIMIT=600 # seconds; nothing here takes longer unless it hangs
manager=''

# By curl: kubectl would use more of the processor than the operator.

server() { sed -n 's/^ *server: //p' "$dir/api/kubeconfig" | head -n 1; }
ask() { curl --noproxy '*' -sf -m "$LIMIT" --cacert "$dir/api/ca.crt" -H 'Authorization: Bearer test-admin' "$@"; }
get() { ask "$url$1"; }
# many FILE: sends the requests of a file of curl, eight at once; none may fail.
many() {
    curl --noproxy '*' -sS -Z --parallel-max 8 --fail-early -K "$1" > "$dir/many.log" 2>&1 || { tail -n 5 "$dir/many.log" >&2; return 1; }
}
# request METHOD PATH TYPE BODY: an entry of such a file; the body is read from standard input.
entries() { # of lines "METHOD PATH TYPE BODY"
    awk -v url="$url" -v ca="$dir/api/ca.crt" '{
        body = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ /, "", body); gsub(/\\/, "\\\\", body); gsub(/"/, "\\\"", body)
        printf "%srequest = %s\nurl = \"%s%s\"\nheader = \"Content-Type: %s\"\ndata = \"%s\"\n", (NR > 1 ? "next\n" : ""), $1, url, $2, $3, body
        printf "header = \"Authorization: Bearer test-admin\"\ncacert = \"%s\"\nfail\nsilent\noutput = /dev/null\n", ca }'
}
# count COLLECTION: number of its objects in the namespace, without reading them.
count() {
    get "/$1?limit=1" | jq '.metadata.remainingItemCount as $more | (.items | length) + ($more // 0)'
}
SETS=apis/apps/v1/namespaces/bench/statefulsets
PODS=api/v1/namespaces/bench/pods

until_true() {
    local deadline=$((SECONDS + LIMIT))
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || { echo "bench: not true in $LIMIT s: $*" >&2; tail -n 5 "$dir/operator.log" >&2; return 1; }
        sleep "${PAUSE:-0.2}"
    done
}
now_ms() { local t=${EPOCHREALTIME/[.,]/}; printf '%s' $((t / 1000)); }

# start_api CRD…: the files of the definitions.
start_api() {
    local crd
    SERVICE_RANGE=10.0.0.0/16 "$API" start "$dir/api" > /dev/null
    url=$(server)
    for crd in "$@"; do
        ask -X POST -H 'Content-Type: application/yaml' --data-binary "@$crd" -o /dev/null \
            "$url/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    done
    ask -X POST -H 'Content-Type: application/json' -o /dev/null -d '{"metadata": {"name": "bench"}}' "$url/api/v1/namespaces"
    [ -x "$BIN_DIR/kube-controller-manager" ] || return 0
    "$BIN_DIR/kube-controller-manager" --kubeconfig "$dir/api/kubeconfig" --leader-elect=false --kube-api-qps 500 --kube-api-burst 1000 \
        --controllers=statefulset-controller,garbage-collector-controller,disruption-controller --concurrent-statefulset-syncs 20 \
        --bind-address 127.0.0.1 --secure-port 0 --cert-dir "$dir/api" > "$dir/manager.log" 2>&1 &
    manager=$!
}
stop_api() { "$API" stop "$dir/api" || true; }

# memory PID: of a program that is at rest
memory() {
    sleep 6 # freed memory is given back some seconds after a pass
    awk '/^Rss:/ {rss = $2} /^Pss:/ {pss = $2} /^Private_(Clean|Dirty):/ {private += $2} /^Anonymous:/ {anon = $2}
        END {printf "{\"rss_kib\": %d, \"pss_kib\": %d, \"private_kib\": %d, \"anonymous_kib\": %d}", rss, pss, private, anon}' "/proc/$1/smaps_rollup"
}
# cpu_us PID
cpu_us() { cat "/proc/$1/task/"*/schedstat | awk '{sum += $1} END {printf "%d", sum / 1000}'; }
