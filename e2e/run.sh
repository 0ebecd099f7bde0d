#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The end-to-end tests: cluster up, images on its nodes, then the scenarios. usage: run.sh [SCENARIO…]
#
# SCENARIO is the beginning of a file's name (02 or 02-mpi). E2E_KEEP=1 leaves the operator and the resources in
# place. With CI set, a skip that e2e/allowed-skips does not name is a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/lib.bash
. "$here/lib.bash"

say_time() { say "$(printf '%02d:%02d' $((SECONDS / 60)) $((SECONDS % 60))) $*"; }

# A run that is stopped removes its resources and uncordons its nodes.
on_stop() {
    trap '' INT TERM
    say "stopping: removing the namespace $NS"
    kubectl get nodes -o name 2> /dev/null | xargs -r timeout --kill-after=10 60 kubectl uncordon > /dev/null 2>&1 || true
    remove_namespace "$NS" > /dev/null 2>&1 || true
    exit 130
}

scenarios() {
    local name found
    if [ $# -eq 0 ]; then
        printf '%s\n' "$here"/scenarios/*.bats
        return
    fi
    for name in "$@"; do
        found=$(compgen -G "$here/scenarios/$name*.bats") || { say "no scenario $name"; return 2; }
        printf '%s\n' "$found"
    done
}

files=$(scenarios "$@")
mapfile -t files <<< "$files"
rm -rf "$OUT"
mkdir -p "$OUT"
provider up
eval "$(provider env)"
# The scenarios drain nodes, so one run at a time uses a cluster.
exec 9> "$KUBECONFIG.e2e-lock"
flock --nonblock 9 || { say "another run of the scenarios is under way on this cluster; waiting for it"; flock 9; }
trap on_stop INT TERM
say_time "cluster ready"
"$here/images.sh" --load 9>&-
say_time "images ready"
rc=0
# In the background, so that the shell handles a signal at once.
BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-600} "$ROOT/ci/bats.sh" --report-formatter tap --output "$OUT" "${files[@]}" 9>&- &
wait $! || rc=$?
say_time "done"
if [ -n "${CI:-}" ]; then "$ROOT/ci/skips.sh" "$OUT/report.tap" >&2 || rc=1; fi
exit "$rc"
