#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that stop for a debugger, over several daemons, with real programs; the state of processes is read from /proc.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash
hold_probe=${HOLD_PROBE:-$repo/build/probe/hold_probe}

setup_file() {
    build_all
    [ -n "${HOLD_PROBE:-}" ] || make -s -C "$repo" build/probe/hold_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# stopped_job PRUN-OPTION...: a job in the background; returns when prun reports that it has stopped. Its name is in $job,
# its output comes to $BATS_TEST_TMPDIR/out.
stopped_job() {
    mkfifo "$BATS_TEST_TMPDIR/err"
    timeout --kill-after=10 "$limit" "$bin/prun" "$@" > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    prun_pid=$!
    exec {err}< "$BATS_TEST_TMPDIR/err"
    read -r -t "$limit" -u "$err" line
    [[ "$line" == *"stopped for a debugger: pterm --job "*" --continue" ]]
    job=$(view '.jobs[-1].id')
    [ "$line" = "prun: job $job: stopped for a debugger: pterm --job $job --continue" ]
}

# over: prun's exit code is in $code, its further output in $said.
over() {
    said=$(cat <&"$err")
    code=0
    wait "$prun_pid" || code=$?
}

state_of() { awk '/^State:/ { print $2 }' "/proc/$1/status"; }
job_state() { view ".jobs[] | select(.id == \"$job\") | .state"; }
job_runs() { [ "$(job_state)" = RUNNING ]; }
no_sleeper() { ! own -x -f "sleep 13579"; }

@test "--stop-on-exec: each rank stops in its program, and goes on at pterm's request" {
    start_dvm 2 --slots 2
    stopped_job --stop-on-exec -n 3 sleep 0.1357
    [ "$(job_state)" = READY_FOR_DEBUG ]
    local pids pid
    pids=$(own -x -f "sleep 0.1357")
    [ "$(wc -l <<< "$pids")" -eq 3 ]
    for pid in $pids; do
        [ "$(state_of "$pid")" = T ]
        [ "$(awk '/^TracerPid:/ { print $2 }' "/proc/$pid/status")" -eq 0 ]
        [ "$(basename "$(readlink "/proc/$pid/exe")")" = "$(basename "$(readlink -f "$(command -v sleep)")")" ]
    done
    pterm --job "$job" --continue
    over
    [ "$code" -eq 0 ]
    [ -z "$said" ]
    [ "$(job_state)" = TERMINATED ]
}

@test "--stop-on-exec: SIGCONT of another process also continues the rank, and the state is left" {
    start_dvm 2 --slots 1
    stopped_job --stop-on-exec -n 2 sleep 13579
    own_kill CONT -x -f "sleep 13579"
    eventually job_runs
    pterm --job "$job"
    over
    [ "$code" -eq 143 ]
    run ! own -x -f "sleep 13579"
}

@test "--stop-in-init: no rank returns from PMIx_Init before pterm's request" {
    start_dvm 2 --slots 2
    stopped_job --stop-in-init -n 3 "$probe" hello
    [ "$(job_state)" = READY_FOR_DEBUG ]
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
    pterm --job "$job" --continue
    over
    [ "$code" -eq 0 ]
    [ "$(sort "$BATS_TEST_TMPDIR/out" | uniq -c | xargs)" = "3 hello" ]
}

@test "--stop-in-init holds MPI programs too" {
    start_dvm 2 --slots 2
    stopped_job --stop-in-init -n 4 "$examples/mpi_ring"
    [ ! -s "$BATS_TEST_TMPDIR/out" ]
    pterm --job "$job" --continue
    over
    [ "$code" -eq 0 ]
    [ -s "$BATS_TEST_TMPDIR/out" ]
}

@test "--stop-in-app: a rank stops where the program declares itself ready" {
    start_dvm 2 --slots 1
    stopped_job --stop-in-app -n 2 "$hold_probe" stops
    [ "$(job_state)" = READY_FOR_DEBUG ]
    [ "$(sort "$BATS_TEST_TMPDIR/out" | xargs)" = "stops stops" ]
    pterm --job "$job" --continue
    over
    [ "$code" -eq 0 ]
    [ "$(sort "$BATS_TEST_TMPDIR/out" | xargs)" = "goes on goes on stops stops" ]
}

@test "a stopped job is ended by its user, by its time limit, and by prun's end" {
    start_dvm 2 --slots 1
    stopped_job --stop-on-exec -n 2 sleep 13579
    pterm --job "$job"
    over
    [ "$code" -eq 143 ]
    rm "$BATS_TEST_TMPDIR/err"
    stopped_job --stop-in-init --timeout 10 -n 2 "$probe" hello
    over
    [ "$code" -eq 124 ]
    rm "$BATS_TEST_TMPDIR/err"
    stopped_job --stop-on-exec -n 2 sleep 13579
    own_kill KILL -x -f "$bin/prun --stop-on-exec -n 2 sleep 13579"
    over
    eventually no_sleeper
    run ! own -x -f "$probe hello"
    [ "$(view '[.members[].slotsUsed] | add')" -eq 0 ]
}

@test "the loss of a daemon ends the stopped ranks there, and the job" {
    start_dvm 2 --slots 1
    stopped_job --stop-on-exec -n 2 sleep 13579
    pkill -KILL -o -f -- "prted .*--session-dir $DVM_SESSION_DIR/2"
    over
    [ "$code" -eq 123 ]
    eventually no_sleeper
}

@test "a job that does not stop, or does not exist, cannot be continued" {
    start_dvm 1
    hold_job plain 1
    run pterm --job "$(view '.jobs[0].id')" --continue
    [ "$status" -eq 1 ]
    [[ "$output" == *"does not stop for a debugger"* ]]
    run pterm --job no.such --continue
    [ "$status" -eq 1 ]
    release_job plain 1
    end_job plain
    [ "$code" -eq 0 ]
}

# held_by KIND WHERE: the probe as rank or tool; its output comes to $says.
held_by() {
    local uri=$1 where=$2 which=$3 n=$4
    shift 4
    mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/says"
    if [ "$uri" = - ]; then
        timeout --kill-after=10 "$limit" "$bin/prun" -n 1 "$hold_probe" hold - "$where" "$which" "$n" "$@" \
            < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/says" 2>&1 3>&- &
    else
        timeout --kill-after=10 "$limit" "$hold_probe" hold "$uri" "$where" "$which" "$n" "$@" \
            < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/says" 2>&1 3>&- &
    fi
    who_pid=$!
    exec {in}> "$BATS_TEST_TMPDIR/in"
    exec {says}< "$BATS_TEST_TMPDIR/says"
    early=0 # words of ranks that do not stop
    while read -r -t "$limit" -u "$says" line && [ "$line" = hello ]; do early=$((early + 1)); done
    [[ "$line" == "ready: "* ]] || { echo "$line" >&2; return 1; }
    job=${line#ready: }
    at=${job#*, at }
    job=${job%%,*}
}

let_go() {
    echo >&"$in"
    said=$(cat <&"$says")
    code=0
    wait "$who_pid" || code=$?
}

@test "a rank spawns a job that stops in PMIx_Init, is notified once, and continues it" {
    start_dvm 3 --slots 1
    held_by - init '*' 2 "$probe" hello
    [ "$at" = pmix-init ]
    [ "$(job_state)" = READY_FOR_DEBUG ]
    let_go
    [ "$code" -eq 0 ]
    [[ "$said" == *"ended with code 0 after 1 such events"* ]]
    [ "$(grep -c '^hello$' <<< "$said")" -eq 2 ]
}

@test "a rank spawns a job of which one rank stops" {
    start_dvm 3 --slots 2
    held_by - init 1 4 "$probe" hello # with neighbours on its node and elsewhere
    [ "$(job_state)" = READY_FOR_DEBUG ]
    for ((; early < 3; early++)); do
        read -r -t "$limit" -u "$says" line
        [ "$line" = hello ]
    done
    let_go
    [ "$code" -eq 0 ]
    [[ "$said" == *"ended with code 0 after 1 such events"* ]]
    [ "$(grep -c '^hello$' <<< "$said")" -eq 1 ]
}

@test "a tool spawns jobs that stop at their exec and in PMIx_Init, beside itself and elsewhere" {
    export DVM_PMIX_TOOLS=1
    start_dvm 2 --slots 1
    local uri
    uri=$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")
    held_by "$uri" exec '*' 2 "$(command -v sleep)" 0.1357
    [ "$at" = exec ]
    [ "$(job_state)" = READY_FOR_DEBUG ]
    let_go
    [ "$code" -eq 0 ]
    [ "$said" = "ended with code 0 after 1 such events" ]
    rm "$BATS_TEST_TMPDIR"/{in,says}
    held_by "$uri" init '*' 2 "$probe" hello
    [ "$(job_state)" = READY_FOR_DEBUG ]
    let_go
    [ "$code" -eq 0 ]
    [[ "$said" == *"ended with code 0 after 1 such events"* ]]
}
