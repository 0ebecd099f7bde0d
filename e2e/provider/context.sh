#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The test cluster is the one of the current kubeconfig context: same verbs as kind.sh (see README.md)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/kind/versions.sh"

KUBECONFIG_FILE=$CLUSTER_DIR/context/kubeconfig
BUILDER=${BUILDER:-docker}
PATH=$PATH:$BIN_DIR

say() { printf '%s\n' "$*" >&2; }
die() { say "context.sh: $*"; exit 1; }
own_kubectl() { KUBECONFIG=$KUBECONFIG_FILE timeout 60 kubectl "$@"; }

# A copy of the current context: a switch of the context elsewhere does not redirect a running test.
up() {
    mkdir -p "$CLUSTER_DIR/context"
    command -v kubectl > /dev/null || "$here/kind/binaries.sh" kubectl
    if [ "${KUBECONFIG:-}" != "$KUBECONFIG_FILE" ]; then
        (umask 077 && kubectl config view --minify --flatten --raw > "$KUBECONFIG_FILE.new")
        mv "$KUBECONFIG_FILE.new" "$KUBECONFIG_FILE"
    fi
    own_kubectl wait --for=condition=Ready nodes --all --timeout=50s > /dev/null
    say "cluster: context $(own_kubectl config current-context)"
}

push() {
    local target=${E2E_PUSH_REGISTRY%/}/$1
    case $BUILDER in
    docker | podman) "$BUILDER" tag "$1" "$target" && "$BUILDER" push "$target" ;;
    buildah) buildah push "$1" "docker://$target" ;;
    esac
}

# load IMAGE…: by a command that takes the image's name, or by a registry the cluster can pull from.
load() {
    local image load_command
    [ $# -gt 0 ] || die "usage: context.sh load IMAGE…"
    for image in "$@"; do
        if [ -n "${E2E_LOAD_CMD:-}" ]; then
            read -ra load_command <<< "$E2E_LOAD_CMD"
            "${load_command[@]}" "$image"
        elif [ -n "${E2E_PUSH_REGISTRY:-}" ]; then
            push "$image"
        else
            die "how does an image get there? Set E2E_PUSH_REGISTRY=HOST/PATH or E2E_LOAD_CMD='COMMAND…'"
        fi
    done
}

exec_node() {
    local node_command
    [ $# -ge 2 ] || die "usage: context.sh exec-node NODE COMMAND…"
    [ -n "${E2E_NODE_CMD:-}" ] || die "how is a command run on a node? Set E2E_NODE_CMD, for example to ssh"
    read -ra node_command <<< "$E2E_NODE_CMD"
    "${node_command[@]}" "$@"
}

kubeconfig() {
    [ -s "$KUBECONFIG_FILE" ] || die "run 'up' first"
    printf '%s\n' "$KUBECONFIG_FILE"
}

# shellcheck disable=SC2016  # $PATH is for the shell that reads the line
env_lines() { printf 'export PATH="$PATH":%q KUBECONFIG=%q\n' "$BIN_DIR" "$KUBECONFIG_FILE"; }
nodes() { own_kubectl get nodes --output name | sed 's|^node/||'; }
# The cluster belongs to the user: only the copy of the kubeconfig is removed.
down() { rm -rf "$CLUSTER_DIR/context"; }

verb=${1:-}
if [ $# -gt 0 ]; then shift; fi
case $verb in
up | load | kubeconfig | nodes | down) "$verb" "$@" ;;
env) env_lines ;;
exec-node) exec_node "$@" ;;
*) die "usage: context.sh up | load IMAGE… | kubeconfig | env | nodes | exec-node NODE COMMAND… | down" ;;
esac
