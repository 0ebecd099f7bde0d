# SPDX-License-Identifier: BSD-3-Clause
# Shared by kubernetes.sh and down.sh: names, and the removal of the demo's objects.
# shellcheck shell=bash

NS=dvm-demo
# Exists if the demo has created the cluster: then demo-down may remove it.
# shellcheck disable=SC2034  # used by those who read this file
MADE=${XDG_CACHE_HOME:-~/.cache}/dvm-operator/made-by-demo-${E2E_CLUSTER:-dvm-e2e}

provider() { "$ROOT/e2e/provider/provider.sh" "$@"; }

# remove_all: the resource first, while the operator can end its DVM in order.
remove_all() {
    kubectl --namespace "$NS" delete dvm --all --ignore-not-found --timeout=60s > /dev/null 2>&1 || true
    helm uninstall dvm-operator --namespace "$NS" --ignore-not-found --wait --timeout 1m > /dev/null 2>&1 || true
    kubectl delete namespace "$NS" --ignore-not-found --timeout=120s > /dev/null
}
