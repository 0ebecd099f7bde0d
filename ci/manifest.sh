#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes to its output one manifest of the chart with its default values, in the namespace dvm-operator: namespace, CRD,
# operator. Labels that say that Helm manages the objects are left out. HELM: the program, default that of make api-test.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$root/e2e/provider/kind/versions.sh"
HELM=${HELM:-$BIN_DIR/helm}
if [ ! -x "$HELM" ]; then
    echo "manifest: there is no $HELM; make api-test builds it" >&2
    exit 2
fi

cat << 'END'
# SPDX-License-Identifier: BSD-3-Clause
# The operator as one manifest, made from charts/dvm-operator by make manifest:
# kubectl apply --server-side -f dvm-operator.yaml
---
apiVersion: v1
kind: Namespace
metadata:
  name: dvm-operator
END
timeout --kill-after=10 60 "$HELM" template dvm-operator "$root/charts/dvm-operator" --namespace dvm-operator \
    --kube-version "$K8S_VERSION" --include-crds --no-hooks | sed -E '/^ +app.kubernetes.io\/managed-by: Helm$/d; /^ +helm.sh\/chart: /d'
