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

# --- what there is, and control

@test "a rank asks what runs: jobs, sizes, and the processes of a job on other daemons" {
    start_dvm 3 --slots 2
    hold_job other 3 --map-by node
    local id
    id=$(view '.jobs[0].id')
    run prun -n 2 "$probe" query "$id"
    [ "$status" -eq 0 ]
    local me
    me=$(sed -n 's/^me: //p' <<< "$output")
    [[ "$output" == *"pmix.qry.ns: $id,$me"* ]]
    [[ "$output" == *"pmix.univ.size: 6"* ]]
    [[ "$output" == *"pmix.job.size: 3"* ]]
    [[ "$output" == *"pmix.qry.jst: OPERATION IN PROGRESS"* ]]
    [[ "$output" == *"pmix.qry.ptable: 0@node1:running 1@node2:running 2@node3:running"* ]]
    [[ "$output" == *"pmix.qry.lptable: 0@node1:running"$'\n'* ]]
    [[ "$output" == *"no.such.key: NOT FOUND"* ]]
    release_job other 3
    end_job other
    run prun -n 1 "$probe" query "$id"
    [[ "$output" == *"pmix.qry.jst: SUCCESS"* ]]
    [[ "$output" == *"pmix.qry.ptable:"$'\n'* ]]
}

@test "a rank kills one rank of another job on another daemon" {
    start_dvm 3 --slots 1
    hold_job victim 2
    run prun -n 1 "$probe" control kill "$(view '.jobs[0].id')" 1
    [ "$output" = "control: SUCCESS" ]
    end_job victim
    [ "$code" -eq 137 ]
    grep -q "rank 1 on node2 (vpid 2) was ended by signal 9" "$BATS_TEST_TMPDIR/victim.err"
}

@test "a rank pauses and resumes a whole job" {
    start_dvm 3 --slots 1
    hold_job other 2
    local id pid
    id=$(view '.jobs[0].id')
    prun -n 1 "$probe" control stop "$id" '*'
    for pid in $(ranks_of other); do
        timeout 20 sh -c 'until grep -q "^State:.T" "/proc/$1/status"; do :; done' sh "$pid"
    done
    prun -n 1 "$probe" control cont "$id" '*'
    release_job other 2
    end_job other
    [ "$code" -eq 0 ]
}

@test "control of a job or a rank that is not there is refused, and nothing is sent" {
    start_dvm 2 --slots 1
    hold_job other 1
    run prun -n 1 "$probe" control kill no.such '*'
    [ "$output" = "control: NOT FOUND" ]
    run prun -n 1 "$probe" control kill "$(view '.jobs[0].id')" 1
    [ "$output" = "control: NOT FOUND" ]
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
}

@test "what a rank logs for output and errors arrives at prun" {
    start_dvm 1
    prun -n 1 "$probe" log "to the output" "to the errors" > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err"
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = "to the output" ]
    [ "$(cat "$BATS_TEST_TMPDIR/err")" = "to the errors" ]
}

# --- tools

@test "a tool attaches to a daemon that admits tools, and asks what runs on all of them" {
    export DVM_PMIX_TOOLS=1
    start_dvm 2 --slots 1
    hold_job other 2
    local id
    id=$(view '.jobs[0].id')
    run timeout 20 "$probe" tool "$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")" "$id"
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "tool: tool."*".1" ]]
    [ "${lines[1]}" = "pmix.qry.ns: $id" ]
    [ "${lines[2]}" = "pmix.qry.ptable: 0@node1:running 1@node2:running" ]
    release_job other 2
    end_job other
}

@test "a tool is refused by a daemon that does not admit tools, even if it knows the port" {
    start_dvm 1 --slots 1
    [ -z "$(find "$DVM_SESSION_DIR" -name 'pmix.*.tool*')" ]
    local uri
    uri=$(prun -n 1 sh -c 'printf %s "$PMIX_SERVER_URI41"')
    [ -n "$uri" ]
    run timeout 20 "$probe" tool "$uri" any
    [ "$status" -ne 0 ]
    [[ "$output" != *"tool: "* ]]
    prun -n 1 true
}
