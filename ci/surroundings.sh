#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs some tests of local DVMs in the surroundings in which users start programs, one after the other: in a batch job or a
# process of another launcher, with that one's variables, without HOME, with umask 077, with a TMPDIR of 70 characters.
# The tests themselves are started there, so that they, their DVM, its tools and its ranks all have these surroundings.
#
# surroundings.sh [NAME...]: those of that name; SURROUNDINGS_TESTS="LINE...": names of tests, in place of those below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=dvm/test/outer.bash
. dvm/test/outer.bash

ALL=(sbatch srun qsub bsub flux mpirun hydra no-home umask long-tmpdir)
FILES=(dvm/test/local.bats dvm/test/alone.bats dvm/test/pmix.bats dvm/test/run.bats)
# Start and end of a DVM, MPI over several daemons, spawn, input, output, environment, PMIx clients and tools.
TESTS=${SURROUNDINGS_TESTS:-'prte start is ready when all members are wired in one tree
MPI: collectives with a seed that this test draws
MPI: parents spawn children on other daemons, sum up with both groups, and disconnect
standard input goes through rank 0 unchanged
the environment is passed on, with variables of -x, and without those of this shell
a rank queries jobs, sizes, and the processes of a job on other daemons
a tool attaches to a daemon that admits tools, and queries the jobs of all daemons
a rank knows its program and arguments, and those of its job, as under mpirun
prte run is one job in a DVM of its own, with prun.s exit code
pterm leaves no process and no file'}
# Ready-made ones, so that no test calls make.
build=$(realpath "${BUILD:-build}")
export BIN=$build/bin EXAMPLES=$build/examples PROBE=$build/probe/pmix_probe

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# in_surroundings NAME COMMAND...
in_surroundings() {
    local name=$1 set
    shift
    case $name in
    no-home) env -u HOME "$@" ;;
    umask) (umask 077 && "$@") ;;
    long-tmpdir)
        set=$tmp/$(printf '%070d' 0)
        set=${set:0:70}
        mkdir -p "$set"
        TMPDIR=$set "$@"
        ;;
    *)
        mapfile -t set < <(outer "$name")
        [ "${#set[@]}" -gt 2 ] || { echo "surroundings: none is called $name" >&2; return 1; }
        env "${set[@]}" "$@"
        ;;
    esac
}

names=("$@")
[ $# -gt 0 ] || names=("${ALL[@]}")
wanted=$(wc -l <<< "$TESTS")
pattern="^($(paste -sd'|' <<< "$TESTS"))\$"
failed=0
for name in "${names[@]}"; do
    from=$SECONDS
    rc=0
    in_surroundings "$name" ci/bats.sh -f "$pattern" "${FILES[@]}" > "$tmp/out" 2>&1 < /dev/null || rc=$?
    ran=$(grep -c '^ok ' "$tmp/out" || true)
    if [ "$rc" = 0 ] && [ "$ran" = "$wanted" ]; then
        echo "ok $name: $ran tests, $((SECONDS - from)) s"
    else
        cat "$tmp/out"
        echo "not ok $name: $ran of $wanted tests, $((SECONDS - from)) s"
        failed=1
    fi
done
exit "$failed"
