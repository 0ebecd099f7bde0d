#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The PMIx server's port in the hands of a hostile client: neither silence nor malformed messages end or hang a daemon.
# The daemons are those with the sanitizers.

bats_require_minimum_version 1.5.0
load lib.bash

# shellcheck disable=SC2034 # lib.bash uses it
bin=${BIN:-$repo/build/asan/bin}
hostile=${HOSTILE_PROBE:-$repo/build/probe/hostile_probe}

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" asan >&2
    export ASAN_OPTIONS=detect_leaks=0
    [ -n "${HOSTILE_PROBE:-}" ] || make -s -C "$repo" build/probe/hostile_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "C27: connections that say nothing, or half a hello, hold up no rank: it connects while they are still silent" {
    start_dvm 1 --slots 2
    run prun -n 1 "$hostile" silence 40
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "connected beside 40 silent connections, 40 of them still open" ]
}

@test "C27: a hostile client ends no daemon, and the next job runs there: hellos and messages of all commands, mutated" {
    local seed
    start_dvm 1 --slots 2
    for seed in ${HOSTILE_SEEDS:-1 2 1000 1015}; do
        run prun -n 1 "$hostile" "$seed" "${HOSTILE_CONNECTIONS:-100}"
        echo "seed $seed: $output"
        [[ "$output" == *"asked after "*" connections: NOT FOUND" ]]
        [ "$status" -eq 0 ]
        # shellcheck disable=SC2154 # lib.bash sets it
        run prun -n 1 "$probe" spawn 1 true
        [ "$status" -eq 0 ]
        [ "$output" = "spawn: SUCCESS" ]
    done
}

@test "C27: a value of any type ends no daemon, as an attribute, committed, or asked for: counts, lengths, missing parts" {
    local name
    export HWLOC_LIBXML=0 # its own parser takes any depth
    start_dvm 1 --slots 2
    for name in $("$hostile" cases); do
        run prun --stdin none -n 1 "$hostile" case "$name"
        echo "$name: $output"
        [ "$output" = "asked after 1 connections: NOT FOUND" ]
        [ "$status" -eq 0 ]
    done
}

# Clock ticks of processor time that the daemon has taken.
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$(daemon_of "$1")/stat"; }

@test "C27: a commit of 100,000 keys takes the daemon seconds, and its keys are forgotten with the job" {
    local before
    start_dvm 1 --slots 2
    for _ in 1 2 3; do
        before=$(cpu_ticks 1)
        run prun --stdin none -n 1 "$hostile" case many-keys
        echo "$output"
        [ "$output" = "asked after 1 connections: NOT FOUND" ]
        echo "ticks: $(($(cpu_ticks 1) - before))"
        # 2.4 s with the sanitizers; minutes if each key is compared with all others
        [ $(($(cpu_ticks 1) - before)) -lt $((20 * $(getconf CLK_TCK))) ]
    done
}
