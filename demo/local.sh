#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo without Kubernetes: a head and seven daemons on this host, an MPI job, and a resize while it runs. Leaves nothing.
set -euo pipefail
# shellcheck source=demo/tell.bash
. "$(dirname "${BASH_SOURCE[0]}")/tell.bash"

BUILD=${BUILD:-$ROOT/build}
cd "$ROOT"
export PATH=$BUILD/bin:$BUILD/examples:$PATH
DVM_SESSION_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dvm-demo.XXXXXX")
export DVM_SESSION_DIR

clean_up() {
    end_groups
    # Fails if no DVM was started.
    timeout --kill-after=5 20 prte stop > /dev/null 2>&1 || true
    rm -rf "$DVM_SESSION_DIR"
}
on_signal() {
    trap '' INT TERM HUP
    printf '\nstopped: the DVM is shut down\n' >&2
    exit 130
}
trap clean_up EXIT
trap on_signal INT TERM HUP

as_seen "packages" deps "$ROOT/ci/deps.sh"
long "the programs are built" build make -j "$(nproc)" all

chapter "1. A DVM: a head (vpid 0) and seven members, each a process of its own on this host"
show prte start -n 7 --slots 2 --radix 2
say "  They form a tree, here of fan-out 2. A message from the head passes at most three links:"
show pstat tree

chapter "2. A real MPI program, one rank on each member"
show prun -n 7 --map-by node mpi_coll 4711

chapter "3. Seven members become three, while a job runs on all seven"
say "  A job starts; each rank works for a second, then all communicate by MPI:"
printf '  %s$ %s%s\n' "$BOLD" "prun -n 7 --map-by node --verbose sh -c 'sleep 1; exec mpi_coll 42' &" "$PLAIN"
group job timeout --kill-after=10 120 prun -n 7 --map-by node --verbose sh -c 'sleep 1; exec mpi_coll 42'
job=$GROUP
job_runs
say "  Members 4 to 7 leave. No new rank is placed there, and running ranks may end first."
show prte resize 3
joined "$job" || fail "the job failed during the resize: $(cat "$LOGS/job.log")"
say "  The job ended with its result:"
show grep coll: "${LOGS#"$ROOT"/}/job.log"
say "  One campaign, one repair of the tree by each survivor (column REPAIRS):"
show pstat campaigns
show pstat members
show pstat tree

chapter "4. Three become five; the new members accept jobs at once"
show prte resize 5
# shellcheck disable=SC2016  # expanded by each rank's shell
show prun -n 5 --map-by node sh -c 'echo "a rank on $PMIX_HOSTNAME"'

chapter "5. The DVM ends and leaves nothing"
show prte stop

say
say "Done in $(since "$STARTED") s. To continue by hand:"
say "  export PATH=$BUILD/bin:$BUILD/examples:\$PATH"
say "  prte start -n 4; prun mpi_hello; pstat; prte resize 2; prte stop"
say "The same on Kubernetes: make demo"
