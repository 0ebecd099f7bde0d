#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# make demo: runs a DVM step by step and explains each step. PROVIDER: kind (default), context, or none (no Kubernetes).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PROVIDER=${PROVIDER:-kind}

case $PROVIDER in
none) exec "$here/local.sh" ;;
kind | context) exec "$here/kubernetes.sh" ;;
*) printf 'demo.sh: PROVIDER is kind, context or none, not %s\n' "$PROVIDER" >&2; exit 2 ;;
esac
