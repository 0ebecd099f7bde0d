#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make demo: tells what this project does while it happens. PROVIDER: kind (default), context, or none (no Kubernetes).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PROVIDER=${PROVIDER:-kind}

case $PROVIDER in
none) exec "$here/local.sh" ;;
kind | context) exec "$here/kubernetes.sh" ;;
*) printf 'demo.sh: PROVIDER is kind, context or none, not %s\n' "$PROVIDER" >&2; exit 2 ;;
esac
