#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make demo-down: removes the objects of make demo, and the cluster if the demo created it and no test uses it.
set -euo pipefail
# shellcheck source=demo/tell.bash
. "$(dirname "${BASH_SOURCE[0]}")/tell.bash"
# shellcheck source=demo/kube.bash
. "$ROOT/demo/kube.bash"
export PROVIDER=${PROVIDER:-kind}

trap end_groups EXIT
trap 'exit 130' INT TERM HUP

if [ "$PROVIDER" = none ]; then
    say "the demo without Kubernetes leaves nothing"
    exit 0
fi
eval "$(provider env)"
if ! kubectl get --raw /readyz > /dev/null 2>&1; then
    say "there is no cluster"
elif [ ! -e "$MADE" ] || kubectl get namespace dvm-e2e > /dev/null 2>&1; then
    export -f remove_all
    export NS
    long "the DVM, the operator and the namespace $NS are removed" down bash -c remove_all
    say "The cluster is kept: the demo did not create it, or another test uses it (e2e/provider/provider.sh down removes it)."
    exit 0
fi
long "the cluster is removed" down "$ROOT/e2e/provider/provider.sh" down
rm -f "$MADE"
# The provider's engine may run another cluster.
if [ "$PROVIDER" = kind ] && [ -z "$(docker ps --quiet 2> /dev/null)" ]; then
    "$ROOT/e2e/provider/provider.sh" down --all
fi
