#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Random schedules: the ones that CI runs, or as many as requested, on all cores.
# ci/sim.sh ci BUILD, ci/sim.sh long BUILD SEEDS [FROM]; SEEDS: how many, or FIRST..LAST.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LSAN_OPTIONS="suppressions=$PWD/ci/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=print_stacktrace=1
# Schedules with up to 64 daemons, the first ones of them also with the sanitizers, and with 1,024. Seed 4 of the latter
# alone takes ten minutes: daemons that are named by shrinks come again by the thousand, and the checker looks at every
# member after each input of the head.
readonly SMALL=2000 SANITIZED=800 LARGE=12 LARGE_FROM=5
# Of seeds with --keepers, three of twenty have a schedule whose head has keepers.
readonly KEPT=2000 KEPT_FRESH=100
readonly FRESH=400 # with seeds that no run has had before, half with up to 4 daemons; a failure prints the command that
                   # repeats it
jobs=$(nproc)

usage() {
    echo "sim: SEEDS=200000, SEEDS=200000 FROM=5001 or SEEDS=5001..205000" >&2
    exit 2
}

# CPU time of the processes that a shell has waited for: the second line of `times`.
cpu_seconds() {
    awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%d\n", u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$1"
}

run_ci() {
    local build=$1 begun=$SECONDS cpu fresh
    fresh=$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')
    timeout --kill-after=5 1500 "$build/release/sim" --seed 1 --seeds $SMALL --nodes-max 64 --jobs "$jobs" --matrix
    timeout --kill-after=5 1500 "$build/asan/sim" --seed 1 --seeds $SANITIZED --nodes-max 64 --jobs "$jobs"
    timeout --kill-after=5 600 "$build/release/sim" --seed 1 --seeds $KEPT --nodes-max 64 --keepers --jobs "$jobs" --matrix
    timeout --kill-after=5 1500 "$build/release/sim" --seed $LARGE_FROM --seeds $LARGE --nodes 1024 --jobs "$jobs"
    echo "fresh seeds from $fresh on:"
    timeout --kill-after=5 600 "$build/release/sim" --seed "$fresh" --seeds $((FRESH / 2)) --nodes-max 64 --jobs "$jobs"
    timeout --kill-after=5 600 "$build/release/sim" --seed "$fresh" --seeds $((FRESH / 2)) --nodes-max 4 --jobs "$jobs"
    timeout --kill-after=5 600 "$build/release/sim" --seed "$fresh" --seeds $KEPT_FRESH --keepers --jobs "$jobs"
    times >"$build/sim.times" # not in a subshell: that one has waited for nobody
    cpu=$(cpu_seconds "$build/sim.times")
    echo "all schedules took $((SECONDS - begun)) s, $cpu s of CPU"
}

run_long() {
    local build=$1 seeds=$2 from=$3 begun=$SECONDS matrix=
    if [[ $seeds =~ ^([0-9]+)\.\.([0-9]+)$ ]]; then
        from=${BASH_REMATCH[1]}
        seeds=$((BASH_REMATCH[2] - from + 1))
    fi
    [[ $seeds =~ ^[1-9][0-9]*$ && $from =~ ^[0-9]+$ ]] || usage
    [ "$seeds" -lt $SMALL ] || matrix=--matrix # fewer may miss a cell
    "$build/release/sim" --seed "$from" --seeds "$seeds" --nodes-max 64 --jobs "$jobs" ${matrix:+"$matrix"}
    echo "$seeds schedules in $((SECONDS - begun)) s on $jobs cores"
}

[ $# -ge 2 ] || usage
case $1 in
ci) run_ci "$2" ;;
long) run_long "$2" "${3:-}" "${4:-1}" ;;
*) usage ;;
esac
