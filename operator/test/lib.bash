# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of the operator: an API server, an operator, a stand-in for the head; loaded by bats.
# shellcheck shell=bash

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
operator=${OPERATOR:-$repo/build/asan/bin/dvm-operator}          # OPERATOR, FAKEHEAD, …: ready-made ones
fakehead=${FAKEHEAD:-$repo/build/asan/operator/test/fakehead}
faultproxy=${FAULTPROXY:-$repo/build/asan/operator/test/faultproxy}
api=$repo/operator/test/apiserver.sh
# shellcheck source=e2e/provider/kind/versions.sh
. "$repo/e2e/provider/kind/versions.sh"

start_api() {
    export API_DIR=$BATS_FILE_TMPDIR/apiserver
    if ! "$api" built; then return 0; fi
    [ -n "${OPERATOR:-}" ] || make -s -C "$repo" build/asan/bin/dvm-operator >&2
    [ -n "${FAKEHEAD:-}" ] || make -s -C "$repo" build/asan/operator/test/fakehead >&2
    [ -n "${FAULTPROXY:-}" ] || make -s -C "$repo" build/asan/operator/test/faultproxy >&2
    "$api" start "$API_DIR" >&2
    export KUBECONFIG=$API_DIR/kubeconfig
    k apply -f "$repo/crds/dvm.openpmix.io_dvmclusters.yaml" >&2
    resources_are_served
}

# `kubectl wait` for a condition fails at once while the new definition has no list of conditions at all.
resources_are_served() {
    local limit=$((SECONDS + 60)) said
    until said=$(k get dvmclusters 2>&1); do
        [ "$SECONDS" -lt "$limit" ] || { echo "$said" >&2; return 1; }
        sleep 0.1
    done
}

stop_api() {
    if "$api" built; then "$api" stop "$API_DIR"; fi
}

# start_manager CONTROLLER,...: the controllers that create pods, collect garbage and so on, beside the API server.
start_manager() {
    manager_built || return 0
    "$BIN_DIR/kube-controller-manager" --kubeconfig "$API_DIR/kubeconfig" --leader-elect=false --controllers="$1" \
        --concurrent-gc-syncs 2 --bind-address 127.0.0.1 --secure-port 0 \
        --cert-dir "$API_DIR" > "$API_DIR/manager.log" 2>&1 < /dev/null 3>&- &
    echo $! > "$API_DIR/manager-pid"
}
end_manager() { [ ! -s "$API_DIR/manager-pid" ] || kill -KILL "$(cat "$API_DIR/manager-pid")" || true; }
manager_built() { "$api" built && [ -x "$BIN_DIR/kube-controller-manager" ]; }

# Every call has a deadline.
k() { PATH=$BIN_DIR:$PATH timeout --foreground --kill-after=10 90 kubectl "$@"; }
kn() { k -n "$ns" "$@"; }

new_namespace() {
    "$api" built || skip "kube-apiserver not built"
    export KUBECONFIG=$API_DIR/kubeconfig
    ns=t$BATS_TEST_NUMBER
    dir=$BATS_TEST_TMPDIR
    head_port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    k create namespace "$ns" >&2
    k label namespace "$ns" pod-security.kubernetes.io/enforce=restricted >&2
}

# end_programs, the last command of a teardown, since bats looks at no other: each operator that still runs is ended by
# SIGTERM, and must end with 0: the sanitizers, also that of leaks, report at its end. Others are killed. Bystanders, if
# the test has any, must be as they were.
end_programs() {
    local file bad=0
    [ -z "${BATS_TEST_COMPLETED:-}" ] || end_operators || bad=1
    [ -z "${BATS_TEST_COMPLETED:-}" ] || [ ! -f "$dir/bystanders" ] || untouched || bad=1
    for file in "$dir"/*.pid; do
        [ ! -e "$file" ] || kill -KILL "$(cat "$file")" 2> /dev/null || true
    done
    [ "${BATS_TEST_COMPLETED:-}" = 1 ] && [ "$bad" = 0 ] || tail -n 40 "$dir"/*.log >&2 || true
    return "$bad"
}
end_operators() {
    local name bad=0
    for name in $(sort -u "$dir/operators" 2> /dev/null); do
        kill -0 "$(cat "$dir/$name.pid" 2> /dev/null)" 2> /dev/null || continue
        end_operator TERM "$name"
        [ "$ended" = 0 ] || { echo "the operator $name ended with $ended" >&2; bad=1; }
    done
    return "$bad"
}

# start_operator [NAME [OPTION...]]: in the background. metrics_addr: its plain port; operator_args: more options;
# operator_env: its environment.
start_operator() {
    env ${operator_env[@]+"${operator_env[@]}"} "$operator" --kubeconfig "${OPERATOR_KUBECONFIG:-$KUBECONFIG}" --namespace "$ns" --log-level debug \
        --metrics-addr "${metrics_addr:-}" --head-connect "x=127.0.0.1:$head_port" ${operator_args[@]+"${operator_args[@]}"} "${@:2}" >> "$dir/${1:-operator}.log" 2>&1 3>&- &
    echo $! > "$dir/${1:-operator}.pid"
    echo "${1:-operator}" >> "$dir/operators"
}

# set_clock SECONDS: the wall clock of operators that start from now on, and of those that run with it, is off by so many.
set_clock() {
    make -s -C "$repo" build/probe/wallclock.so >&2
    export WALLCLOCK=$dir/shift
    operator_env=(LD_PRELOAD="$repo/build/probe/wallclock.so" ASAN_OPTIONS="verify_asan_link_order=0:${ASAN_OPTIONS:-}")
    echo "$1" > "$WALLCLOCK"
}

# end_operator SIGNAL [NAME]: waits up to 60 s for the end of the operator; its exit status is in $ended.
end_operator() {
    local pid
    pid=$(cat "$dir/${2:-operator}.pid")
    kill "-$1" "$pid"
    ended=0
    timeout --kill-after=10 60 tail -s 0.1 --pid="$pid" -f /dev/null || kill -KILL "$pid"
    wait "$pid" || ended=$?
    rm "$dir/${2:-operator}.pid"
}

# start_proxy: the operator's requests pass through a proxy that makes them fail on order (faultproxy.c).
start_proxy() {
    local url token
    url=$(sed -n 's/^ *server: //p' "$KUBECONFIG" | head -n 1)
    token=$(sed -n 's/.*token: "\(test-admin\)".*/\1/p' "$KUBECONFIG")
    mkdir -p "$dir/proxy"
    "$faultproxy" "$dir/proxy" "$url" "$API_DIR/ca.crt" "$token" >> "$dir/proxy.log" 2>&1 3>&- &
    echo $! > "$dir/proxy.pid"
    until_written "$dir/proxy/ports"
    proxy_orders=$(sed -n 's/^ORDERS=//p' "$dir/proxy/ports")
    export OPERATOR_KUBECONFIG=$dir/kubeconfig
    sed -e "s|server: .*|server: http://127.0.0.1:$(sed -n 's/^PROXY=//p' "$dir/proxy/ports")|" "$KUBECONFIG" > "$OPERATOR_KUBECONFIG"
}
until_written() { timeout --kill-after=10 60 sh -c 'until [ -s "$1" ]; do sleep 0.05; done' - "$1"; }
proxy() { curl --noproxy '*' -sf -m 10 -X POST -o /dev/null "http://127.0.0.1:$proxy_orders/$1"; }
passed() { curl --noproxy '*' -sf -m 10 "http://127.0.0.1:$proxy_orders/log"; }
# requests [PATTERN]: number of the operator's requests whose line in the log matches. The look for x-user, which comes
# every 45 s, is not among them.
requests() { passed | grep -vF -- '-user?resourceVersion=0 ' | grep -cE -- "${1:-.}" || true; }
# quiet: waits until the operator has sent no request for two seconds; the proxy sees each of them.
quiet() {
    curl --noproxy '*' -sf -m 60 -o /dev/null "http://127.0.0.1:$proxy_orders/quiet" ||
        { echo "the operator does not come to rest"; passed | tail; return 1; }
}

# make_cluster REPLICAS [MORE-SPEC]: creates the DvmCluster x and waits for its Secrets.
make_cluster() {
    kn apply -f - >&2 << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "x"},
 "spec": {"replicas": $1, "image": "example.test/daemon:1"${2:+, $2}}}
END
}

secret_file() { kn get secret "$1" -o "go-template={{index .data \"$2\" | base64decode}}"; }

# start_head: starts the stand-in with the certificate that the operator has created.
start_head() {
    local key
    appears secret/x-operator
    mkdir -p "$dir/head"
    for key in ca.crt tls.crt tls.key; do secret_file x-head "$key" > "$dir/head/$key"; done
    rm -f "$dir/head/ports"
    "$fakehead" "$dir/head" "$head_port" >> "$dir/head.log" 2>&1 3>&- &
    echo $! > "$dir/head.pid"
    until_true 30 test -s "$dir/head/ports"
    . "$dir/head/ports"
}

order() { curl --noproxy '*' -sf -m 10 -X POST -o /dev/null "http://127.0.0.1:$ORDERS/$1"; }
asked() { curl --noproxy '*' -sf -m 10 "http://127.0.0.1:$ORDERS/log"; }
# count WHAT: number of such requests to the head.
count() { asked | grep -o "\"what\": *\"$1\"" | wc -l; }

# running REPLICAS: starts operator and head, and waits until the cluster is Available.
running() {
    start_operator
    make_cluster "$1" "${2:-}"
    start_head
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    becomes '{.status.readyReplicas}' "$1"
}

# until_true SECONDS COMMAND...: repeats the command until it succeeds, while the operator runs.
until_true() {
    local limit=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || { echo "not in time: $*"; return 1; }
        kill -0 "$(cat "$dir/operator.pid")"
    done
}

# appears OBJECT: waits until the object exists.
exists() { kn get "$1" > /dev/null 2>&1; }
appears() { until_true 60 exists "$1"; }

# becomes JSONPATH VALUE [OBJECT]
becomes() {
    appears "${3:-dvm/x}"
    kn wait --for=jsonpath="$1"="$2" "${3:-dvm/x}" --timeout=60s >&2
}
condition() { becomes "{.status.conditions[?(@.type==\"$1\")].reason}" "$2"; }
status_of() { kn get dvm x -o jsonpath="$1"; }
# says REASON TEXT: an Event of this reason has this text.
says() { [[ $(kn get events -o jsonpath="{range .items[?(@.reason==\"$1\")]}{.message}{\"\n\"}{end}") == *"$2"* ]]; }
replicas_are() { [ "$(kn get sts x -o jsonpath='{.spec.replicas}')" = "$1" ]; }
scale() { kn scale dvm x --replicas="$1" >&2; }

# a_pass_is_done: waits until a pass has seen all that was written before (by a change of the head's template, whose pod
# is not replaced).
a_pass_is_done() {
    local slots=$((RANDOM % 1000 + 2))
    kn patch dvm x --type merge -p "{\"spec\": {\"head\": {\"slots\": $slots}}}" >&2
    becomes '{.spec.template.spec.containers[0].args[17]}' "$slots" sts/x-head
}

# as_chart_says [OPTION...]: gives the operator the rights of the chart's Role, and a kubeconfig of its service account.
as_chart_says() {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    "$BIN_DIR/helm" template r "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --show-only templates/rbac.yaml --show-only templates/serviceaccount.yaml "$@" 2> "$dir/helm.err" > "$dir/rights.yaml"
    k apply -f "$dir/rights.yaml" >&2
    export OPERATOR_KUBECONFIG=$dir/kubeconfig
    token=$(kn create token r-dvm-operator)
    sed -e "s/{token: \"test-admin\"}/{token: \"$token\"}/" "$KUBECONFIG" > "$OPERATOR_KUBECONFIG"
    [[ $(k --kubeconfig "$OPERATOR_KUBECONFIG" auth whoami) == *"system:serviceaccount:$ns:r-dvm-operator"* ]]
}

uid_of() { kn get "$1" -o jsonpath='{.metadata.uid}'; }

# Objects that look like those of the cluster x but belong to nobody; the operator must leave them alone.
bystanders() {
    kn apply -f - >&2 << 'END'
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "theirs", "labels": {"dvm.openpmix.io/cluster": "x"}},
  "spec": {"ports": [{"port": 80}]}},
 {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "theirs", "labels": {"dvm.openpmix.io/cluster": "x"}},
  "spec": {"replicas": 3, "serviceName": "theirs", "selector": {"matchLabels": {"a": "b"}},
           "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}]}
END
    describe_bystanders > "$dir/bystanders"
}
# A controller of StatefulSets may run, and writes the status.
describe_bystanders() { kn get service/theirs statefulset/theirs -o json | jq '.items[] | del(.metadata.resourceVersion, .status)'; }
untouched() { describe_bystanders | diff "$dir/bystanders" - >&2; }

# --- no kubelet runs the pods, so the tests write what a kubelet would write

# waits NAME REASON: the kubelet's status of a container that does not start.
waits() {
    kn patch pod "$1" --subresource=status --type merge -p "{\"status\": {\"containerStatuses\": [
        {\"name\": \"prted\", \"image\": \"i\", \"imageID\": \"\", \"ready\": false, \"restartCount\": 0,
         \"state\": {\"waiting\": {\"reason\": \"$2\", \"message\": \"as told\"}}}]}}" >&2
}

# runs NAME: the kubelet's status of a container that runs.
runs() {
    kn patch pod "$1" --subresource=status --type merge -p "{\"status\": {\"containerStatuses\": [
        {\"name\": \"prted\", \"image\": \"i\", \"imageID\": \"\", \"ready\": true, \"restartCount\": 0,
         \"state\": {\"running\": {\"startedAt\": \"2024-01-01T00:00:00Z\"}}}]}}" >&2
}

revision_is() { [ "$(status_of '{.status.authorityRevision}')" = "$1" ]; }

# of_one_authority: all certificates are of the authority in x-ca, and it alone is trusted.
of_one_authority() {
    local role
    secret_file x-ca tls.crt > "$dir/ca.crt"
    for role in head member operator user ca; do
        secret_file "x-$role" ca.crt | diff - "$dir/ca.crt" > /dev/null || return 1
        secret_file "x-$role" tls.crt > "$dir/leaf.crt"
        openssl verify -CAfile "$dir/ca.crt" "$dir/leaf.crt" > /dev/null || return 1
    done
}
