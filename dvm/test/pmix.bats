#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What PMIx offers to applications over several daemons, with real clients: spawn, connect, events, queries, control, tools.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# --- spawn

@test "MPI: parents spawn children on other daemons, sum up with both groups, and part" {
    start_dvm 4 --slots 1
    run prun -n 2 "$examples/mpi_spawn" 2
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: parents=2 children=2 ok" ]
    [ "$(view '[.jobs[] | .vpids | map(tostring) | join("-")] | sort | join(" ")')" = "1-2 3-4" ]
}

@test "MPI: children that share daemons with their parents and with each other" {
    start_dvm 3 --slots 4
    run prun -n 2 "$examples/mpi_spawn" 8
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: parents=2 children=8 ok" ]
}

@test "a spawned job's output comes to prun, which waits for it when the parent has ended" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn 1 sh -c 'tail --pid="$1" -f /dev/null; echo "late from $PMIX_HOSTNAME"' sh @pid
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "spawn: SUCCESS" ]
    [ "${lines[1]}" = "late from node2" ]
}

@test "the end of a spawned job on another daemon is told to its parent" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn-wait 1 sh -c 'exit 5'
    [ "$status" -eq 0 ]
    [ "$output" = "my child ended with code 5" ]
}

@test "a job that fails takes with it what it has spawned" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn-fail 1 sh -c 'exec sleep 12345' "$BATS_TEST_TMPDIR"
    [ "$status" -eq 7 ]
    [ "$(view '.jobs[] | select(.exitCode == 122) | .reason')" != "" ]
    [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" -eq 0 ]
}

@test "a spawn that cannot be started fails in the caller, which goes on" {
    start_dvm 1 --slots 2
    run prun -n 1 "$probe" spawn 1 /no/such/program
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: JOB FAILED TO LAUNCH" ]
}
