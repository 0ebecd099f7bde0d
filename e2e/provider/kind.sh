#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The test cluster, created with kind: kind.sh up|load|kubeconfig|env|nodes|exec-node|down (see README.md)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/kind/versions.sh"
# shellcheck source=e2e/provider/part.bash
. "$here/part.bash"

CLUSTER=${E2E_CLUSTER:-dvm-e2e}
CONFIG=${E2E_KIND_CONFIG:-kind-config.yaml}
ROOT=$(cd "$here/../.." && pwd)
KUBECONFIG_FILE=$CLUSTER_DIR/$CLUSTER/kubeconfig
MARK=$CLUSTER_DIR/$CLUSTER/created-by-e2e
USABLE=$CLUSTER_DIR/$CLUSTER/usable # there once the cluster was complete
CREATING=0
PATH=$BIN_DIR:$PATH
export KUBECONFIG=$KUBECONFIG_FILE

say() { printf '%s\n' "$*" >&2; }
die() { say "kind.sh: $*"; exit 1; }
engine() { "$here/kind/engine.sh" "$@"; }

use_engine() { eval "$(engine env)"; }
# The output of kind is read whole: grep -q would end at the first match, and kind would fail under pipefail.
exists() { grep -qxF "$CLUSTER" <<< "$(kind get clusters 2> /dev/null)"; }
kube() { timeout --kill-after=10 120 kubectl "$@"; }

# Succeeds if the cluster was complete, the API server answers, and the container of each node runs.
is_alive() {
    [ -e "$MARK" ] && [ -e "$USABLE" ] && [ -s "$KUBECONFIG_FILE" ] || return 1
    timeout 5 kubectl get --raw /readyz > /dev/null 2>&1 || return 1
    local states
    states=$(docker ps --all --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --format '{{.State}}')
    [ -n "$states" ] && ! grep -qv running <<< "$states"
}

delete_cluster() {
    kind delete cluster --quiet --name "$CLUSTER" --kubeconfig "$KUBECONFIG_FILE"
    rm -rf "${CLUSTER_DIR:?}/$CLUSTER"
}

# A run that is stopped removes a cluster that is not complete.
on_exit() { if [ "$CREATING" = 1 ]; then say "kind.sh: removing the unfinished cluster"; delete_cluster; fi; }

# With the user's engine kind uses the published node image.
prepare() {
    if [ "$(engine choice)" = own ]; then
        "$here/kind/binaries.sh"
        "$here/kind/node-image.sh"
    else
        "$here/kind/binaries.sh" kind kubectl helm
    fi
}

# kind returns when the nodes have joined; tests need Ready nodes and names that resolve.
wait_until_usable() {
    kube wait --for=condition=Ready nodes --all --timeout=100s > /dev/null &&
        kube --namespace kube-system rollout status deployment/coredns --timeout=100s > /dev/null &&
        touch "$USABLE"
}

# A test that stopped a node leaves its container, which gets its address back. After the end of the engine (a reboot)
# all containers are stopped, and the engine would assign their addresses in the order of their start. Routes between
# pods would then lead to wrong nodes, so such a cluster is created again.
revive() {
    local stopped
    mapfile -t stopped < <(docker ps --all --quiet --filter "label=io.x-k8s.kind.cluster=$CLUSTER" --filter status=exited)
    if [ ${#stopped[@]} -gt 1 ]; then return 1; fi
    if [ ${#stopped[@]} -eq 1 ]; then docker start "${stopped[@]}" > /dev/null; fi
    [ -s "$KUBECONFIG_FILE" ] && kind export kubeconfig --quiet --name "$CLUSTER" --kubeconfig "$KUBECONFIG_FILE" &&
        poll_api && wait_until_usable
}

poll_api() {
    local limit=$((SECONDS + 60))
    until timeout 5 kubectl get --raw /readyz > /dev/null 2>&1; do
        [ "$SECONDS" -lt "$limit" ] || return 1
        sleep 0.5
    done
}

create() {
    mkdir -p "$CLUSTER_DIR/$CLUSTER"
    trap on_exit EXIT
    trap 'exit 130' INT TERM
    CREATING=1
    touch "$MARK"
    part 45 "creating the nodes of the cluster"
    (cd "$ROOT" && kind create cluster --quiet --name "$CLUSTER" --config "$CONFIG" --kubeconfig "$KUBECONFIG_FILE")
    wait_until_usable
    CREATING=0
}

up() {
    local start=$SECONDS
    engine up
    use_engine
    if is_alive; then say "cluster $CLUSTER: up already"; return; fi
    prepare
    take_lock "$CLUSTER_DIR/lock" "creates a cluster"
    if is_alive; then say "cluster $CLUSTER: up already"; return; fi
    if exists; then
        [ -e "$MARK" ] || die "there is a cluster $CLUSTER that this script did not make; set E2E_CLUSTER"
        if revive; then say "cluster $CLUSTER: up again in $((SECONDS - start)) s"; return; fi
        say "cluster $CLUSTER: not usable, making it anew"
        delete_cluster
    fi
    create 9>&-
    say "cluster $CLUSTER: up in $((SECONDS - start)) s, kubeconfig $KUBECONFIG_FILE"
}

load() {
    [ $# -gt 0 ] || die "usage: kind.sh load IMAGE…"
    use_engine
    kind load docker-image --quiet --name "$CLUSTER" "$@"
}

exec_node() {
    [ $# -ge 2 ] || die "usage: kind.sh exec-node NODE COMMAND…"
    local node=$1
    shift
    use_engine
    grep -qxF "$node" <<< "$(kind get nodes --quiet --name "$CLUSTER")" || die "cluster $CLUSTER has no node $node"
    docker exec --interactive "$node" "$@"
}

nodes() {
    use_engine
    kind get nodes --quiet --name "$CLUSTER" | sort
}

# shellcheck disable=SC2016  # $PATH is for the shell that reads the line
env_lines() {
    printf 'export PATH=%q:"$PATH" KUBECONFIG=%q\n' "$BIN_DIR" "$KUBECONFIG_FILE"
    engine env
}

kubeconfig() {
    [ -s "$KUBECONFIG_FILE" ] || die "cluster $CLUSTER is not up"
    printf '%s\n' "$KUBECONFIG_FILE"
}

down() {
    use_engine
    if [ -e "$MARK" ] && [ -x "$BIN_DIR/kind" ] && docker version > /dev/null 2>&1; then delete_cluster; fi
    case ${1:-} in
    '') ;;
    --all) engine down ;;
    *) die "usage: kind.sh down [--all]" ;;
    esac
}

verb=${1:-}
if [ $# -gt 0 ]; then shift; fi
case $verb in
up | load | kubeconfig | nodes | down) "$verb" "$@" ;;
env) env_lines ;;
exec-node) exec_node "$@" ;;
*) die "usage: kind.sh up | load IMAGE… | kubeconfig | env | nodes | exec-node NODE COMMAND… | down [--all]" ;;
esac
