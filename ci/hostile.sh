#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Attacks the PMIx server's port of a real daemon, built with the sanitizers, as a hostile rank would (hostile_probe.c):
# hostile.sh BUILD, for FUZZ_SECONDS, from seed HOSTILE_FROM on. Fails when the daemon ends or hangs, with the seed and
# the end of its log. A seed that aborts its own job, as any rank may, is followed by an honest job.
set -euo pipefail

build=$1
seconds=${FUZZ_SECONDS:-60}
seed=${HOSTILE_FROM:-1}
bin=$build/asan/bin
probe=$(realpath "$build/probe/hostile_probe")
DVM_SESSION_DIR=$(mktemp -d)/d
export DVM_SESSION_DIR DVM_PMIX_SILENT_MS=10000 ASAN_OPTIONS=detect_leaks=0

leave() {
    timeout --kill-after=5 30 "$bin/prte" stop > /dev/null 2>&1 || true
    rm -rf "${DVM_SESSION_DIR%/d}"
}
trap leave EXIT

attack() { timeout --kill-after=5 60 "$bin/prun" --stdin none -n 1 "$probe" "$1" 50; }
is_answered() { [[ $1 == *"asked after"*"NOT FOUND" ]]; }
aborts_itself() { [[ $1 == *"aborted the job with code"* ]]; }
runs_a_job() { timeout --kill-after=5 60 "$bin/prun" --stdin none -n 1 true; }

show() {
    echo "hostile: seed $seed ends or hangs the daemon: $said"
    tail -n 120 "$DVM_SESSION_DIR/1/prted.log"
}

aborts=0
timeout 60 "$bin/prte" start -n 1 --slots 2 > /dev/null
while [ "$SECONDS" -lt "$seconds" ]; do
    if said=$(attack "$seed" 2>&1) && is_answered "$said"; then
        :
    elif aborts_itself "$said" && said=$(runs_a_job 2>&1); then
        aborts=$((aborts + 1))
    else
        show
        exit 1
    fi
    seed=$((seed + 1))
done
echo "hostile: $((seed - ${HOSTILE_FROM:-1})) seeds of 50 connections in $SECONDS s; $aborts aborted their own job"
