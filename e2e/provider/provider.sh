#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls the cluster provider that PROVIDER names: kind (the default) or context.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

case ${PROVIDER:=kind} in
kind | context) exec "$here/$PROVIDER.sh" "$@" ;;
*) printf 'provider.sh: PROVIDER is kind or context, not %s\n' "$PROVIDER" >&2; exit 2 ;;
esac
