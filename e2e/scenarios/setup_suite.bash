# SPDX-License-Identifier: BSD-3-Clause
# Before and after all scenarios: a namespace of the restricted level, the operator by its chart, the recorder.
# shellcheck shell=bash

# shellcheck source=e2e/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/../lib.bash"

setup_suite() {
    eval "$(provider env)"
    export PATH KUBECONFIG DOCKER_HOST
    make_namespace "$NS"
    setpriv --pdeathsig TERM "$ROOT/e2e/record.sh" "$NS" "$OUT/recorded" < /dev/null > /dev/null 2>&1 &
    RECORDER=$!
    # A DVM that an earlier run has kept has an older image.
    kubectl --namespace "$NS" delete dvm --all --cascade=foreground --ignore-not-found --timeout=90s > /dev/null 2>&1 || true
    kubectl --namespace "$NS" delete deployment dvm-operator --ignore-not-found > /dev/null
    install_chart "$NS"
}

teardown_suite() {
    if [ -n "${E2E_KEEP:-}" ]; then
        say "kept: namespace $NS, with the operator"
    else
        remove_namespace "$NS"
    fi
    if [ -n "${RECORDER:-}" ]; then
        kill -TERM "$RECORDER" 2> /dev/null || true
        wait "$RECORDER" 2> /dev/null || true
    fi
}
