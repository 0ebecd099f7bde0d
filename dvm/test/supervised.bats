#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The head's process is killed, and its supervisor starts another one: what users of a local DVM see (docs/head.md).

# shellcheck disable=SC2154,SC2034  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

all_wired() { [ "$(view '[.members[] | select(.state == "wired" and .vpid > 0)] | length')" = "$1" ]; }
jobs_known() { [ "$(view '.jobs | length')" -eq "$1" ]; }

# rings VPID: the rank of mpi_ring there has sent messages.
rings() {
    local pid
    pid=$(pgrep -P "$(spawner_of "$1")" -x mpi_ring) && [ "$(written "$pid")" -gt 100000 ]
}

@test "an MPI job of all members goes on while the head is killed twice, and ends with the right sum" {
    start_dvm 3 --slots 1
    local before rc=0
    before=$(view .incarnation)
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/1" -N 1 "$examples/mpi_ring" 1000 \
        "$BATS_TEST_TMPDIR/enough" > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    local ring=$!
    eventually rings 3
    crash_head
    crash_head
    eventually all_wired 3
    [ "$(view .incarnation)" = "$before" ]
    touch "$BATS_TEST_TMPDIR/enough"
    wait "$ring" || rc=$?
    cat "$BATS_TEST_TMPDIR/out" "$BATS_TEST_TMPDIR/err"
    [ "$rc" -eq 0 ]
    [[ "$(cat "$BATS_TEST_TMPDIR/out")" == "ring: size=3 rounds="*" ok" ]]
    [ ! -s "$BATS_TEST_TMPDIR/err" ]
    grep -q 'prte: the head .* it is started again' "$DVM_SESSION_DIR/0/prted.log"
}

@test "queued jobs keep their order, and a program that begins MPI under the next head ends with its own code" {
    start_dvm 2 --slots 1
    hold_job held 2 --dvm "$DVM_SESSION_DIR/1"
    local i pids=()
    for i in 1 2 3; do
        timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/$((i % 2 + 1))" -n 2 sh -c \
            '[ "$PMIX_RANK" -ne 0 ] || echo "$1" >> "$2"; exec "$3" 10' job "$i" "$BATS_TEST_TMPDIR/order" "$examples/mpi_ring" \
            > "$BATS_TEST_TMPDIR/out.$i" 2>&1 3>&- &
        pids+=($!)
        eventually jobs_known "$((i + 1))"
    done
    crash_head
    release_job held 2
    end_job held
    [ "$code" -eq 0 ]
    for i in "${pids[@]}"; do wait "$i"; done
    [ "$(tr '\n' ' ' < "$BATS_TEST_TMPDIR/order")" = "1 2 3 " ]
    grep -q ' ok$' "$BATS_TEST_TMPDIR/out.3"
}

@test "a detached job of a member can be attached again after the head was killed, with all its output" {
    start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate job
    mkfifo "$gate"
    job=$(prun --dvm "$DVM_SESSION_DIR/1" --detach -n 1 --host 2 sh -c 'echo begin; read -r x < "$1"; echo "got $x"; exit 7' rank "$gate")
    crash_head
    echo more > "$gate"
    run --separate-stderr -7 prun --dvm "$DVM_SESSION_DIR/1" --attach "$job"
    [ "$output" = $'begin\ngot more' ]
}

@test "prun outside at a member follows its job over the end of the head" {
    start_dvm 2 --slots 2
    hold_job held 4 --dvm "127.0.0.1:$(jq .join "$DVM_SESSION_DIR/1/ports.json")" --tls-dir "$DVM_SESSION_DIR/tls/user"
    crash_head
    release_job held 4
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 4 ]
}

@test "members of a supervised head stay through prte stop, which starts no further head" {
    start_dvm 2
    local supervisor
    supervisor=$(supervisor)
    crash_head
    prte stop
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
    wait_end "$supervisor"
}

@test "prte stop ends a DVM whose head hangs, although that head has a supervisor" {
    start_dvm 1
    local supervisor
    supervisor=$(supervisor)
    kill -STOP "$(daemon_of 0)"
    timeout "$limit" "$bin/prte" stop
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
    wait_end "$supervisor"
}

@test "prte in the foreground reports the end of a head, and stays as long as its supervisor" {
    mkfifo "$BATS_TEST_TMPDIR/out"
    timeout --foreground --kill-after="$limit" "$limit" "$bin/prte" start -n 1 --foreground > "$BATS_TEST_TMPDIR/out" \
        2> "$BATS_TEST_TMPDIR/err" 3>&- &
    local pid=$! line
    exec {fd}< "$BATS_TEST_TMPDIR/out"
    read -r -t "$limit" -u "$fd" line
    crash_head
    eventually all_wired 1
    prun -n 1 true
    grep -q 'prte: the daemon of vpid 0 ended with exit code 137' "$BATS_TEST_TMPDIR/err"
    kill -TERM "$pid"
    wait "$pid"
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "a detached job that was submitted at the head goes on when the head is killed, and can be attached again there" {
    start_dvm 2 --slots 2
    local gate=$BATS_TEST_TMPDIR/gate job says=$BATS_TEST_TMPDIR/says
    mkfifo "$gate"
    job=$(prun --detach -n 4 sh -c 'echo begin; read -r _ < "$1"; echo "released on $PMIX_HOSTNAME"' rank "$gate")
    crash_head
    crash_head
    eventually all_wired 2
    [ "$(view '.jobs[] | select(.state == "RUNNING") | .id')" = "$job" ]
    : > "$says"
    "$bin/prun" --attach "$job" >> "$says" 2> "$says.err" 3>&- &
    local first=$! rc=0
    eventually grep -q 'earlier output of the job was not kept' "$says.err"
    exec {gate_fd}<> "$gate"
    echo $'\n\n\n' >&"$gate_fd" # four ranks read byte by byte: each takes one empty line
    wait "$first" || rc=$?
    cat "$says" "$says.err"
    [ "$rc" -eq 0 ]
    [ "$(grep -c 'released on node' "$says")" -eq 4 ]
    prun --attach "$job" # its end is kept
    [ "$(prun -n 1 echo other)" = other ]
}

@test "the output of a detached job that is written while there is no head is kept for the next one" {
    start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate job head
    mkfifo "$gate"
    job=$(prun --detach -n 1 --host 2 sh -c 'read -r x < "$1"; echo "got $x"; exit 7' rank "$gate")
    eventually job_runs
    head=$(daemon_of 0)
    kill -STOP "$head" # it reads no more
    echo more > "$gate"
    eventually is_drained_fifo "$job"
    kill -KILL "$head"
    eventually is_succeeded "$head"
    run --separate-stderr -7 prun --attach "$job"
    [ "$output" = "got more" ]
}
job_runs() { [ "$(view '.jobs[0].state')" = RUNNING ]; }
# The rank has read its line and has ended.
is_drained_fifo() { ! pgrep -f "^sh -c .* rank $BATS_TEST_TMPDIR/gate\$" > /dev/null; }

@test "a job of a prun at the head that waits for it ends with the head" {
    start_dvm 1 --slots 1
    hold_job held 1
    crash_head
    end_job held
    [ "$code" -eq 123 ]
    eventually no_rank_of held
    prun -n 1 true
}
no_rank_of() { ! ranks_of "$1" > /dev/null; }

@test "with --survive the job of a prun at the head goes on: prun says so, and another one follows it" {
    start_dvm 1 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate says=$BATS_TEST_TMPDIR/says prun rc=0
    mkfifo "$gate"
    "$bin/prun" --survive -n 1 sh -c 'echo begin; read -r x < "$1"; echo "got $x"; exit 7' rank "$gate" > "$says" 2> "$says.err" 3>&- &
    prun=$!
    eventually grep -qx begin "$says"
    crash_head
    wait "$prun" || rc=$?
    [ "$rc" -eq 123 ]
    grep -qF 'the job may go on (--attach)' "$says.err"
    echo word > "$gate"
    run --separate-stderr -7 prun --attach "$(sed -nE 's/^prun: job (.*) goes on without this prun; .*/\1/p' "$says.err")"
    # A member sends output again to the next head if the former one had not acknowledged it.
    [ "$output" = "got word" ] || [ "$output" = $'begin\ngot word' ]
}

# kill_at PATTERN FILE: kills the head when the command that writes to the file has printed a line like that.
kill_at() {
    timeout --kill-after=10 "$limit" grep -q -m1 "$1" <(tail -n +1 -F "$2" 2> /dev/null)
    crash_head
}

@test "prte resize goes on with the next head: a shrink that drains is one campaign, and a grow starts no member twice" {
    start_dvm 3 --slots 1
    hold_job held 3 --dvm "$DVM_SESSION_DIR/1"
    local says=$BATS_TEST_TMPDIR/resize rc=0
    timeout --kill-after=10 "$limit" "$bin/prte" resize 2 > "$says" 2>&1 3>&- &
    local resize=$!
    kill_at 'Draining, waits for job' "$says"
    release_job held 3
    end_job held
    [ "$code" -eq 0 ]
    wait "$resize" || rc=$?
    cat "$says"
    [ "$rc" -eq 0 ]
    grep -q 'the head has another process' "$says"
    [ "$(view '[.campaigns[] | .id + " " + .phase] | join(",")')" = "$(view '.campaigns[0].id') Complete" ]
    [ "$(view '.size.members')" = 2 ]
    all_wired 2
    timeout --kill-after=10 "$limit" "$bin/prte" resize 4 > "$says.grow" 2>&1 3>&- &
    resize=$!
    kill_at 'members started: 2' "$says.grow"
    wait "$resize" || rc=$?
    cat "$says.grow"
    [ "$rc" -eq 0 ]
    all_wired 4
    [ "$(prun -N 1 sh -c 'echo $PMIX_HOSTNAME' | sort | xargs)" = "node1 node2 node3 node4" ]
}

is_removing() { [ "$(view '.campaigns[0].phase')" = Removing ]; }

@test "a shrink whose members are leaving when the head ends is completed once, by the next head" {
    start_dvm 3 --slots 1
    local says=$BATS_TEST_TMPDIR/resize rc=0 leaver
    leaver=$(daemon_of 3)
    kill -STOP "$leaver"
    timeout --kill-after=10 "$limit" "$bin/prte" resize 2 > "$says" 2>&1 3>&- &
    local resize=$!
    eventually is_removing
    crash_head
    kill -CONT "$leaver"
    wait "$resize" || rc=$?
    cat "$says"
    [ "$rc" -eq 0 ]
    [ "$(view '[.campaigns[] | .id + " " + .phase] | join(",")')" = "$(view '.campaigns[0].id') Complete" ]
    all_wired 2
    [ "$(prun -N 1 sh -c 'echo $PMIX_HOSTNAME' | sort | xargs)" = "node1 node2" ]
}

# --- services under way

# A program of the running job has begun: the ranks are its processes.
runs_program() { own -x "$1" > /dev/null; }

@test "a fence under way while the head is killed is completed" {
    start_dvm 2 --slots 1
    mkfifo "$BATS_TEST_TMPDIR/gate"
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/1" -N 1 sh -c \
        '[ "$PMIX_RANK" -eq 0 ] || read -r _ < "$1"; exec "$2" 10' rank "$BATS_TEST_TMPDIR/gate" "$examples/mpi_ring" \
        > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    local job=$! rc=0
    eventually runs_program mpi_ring # rank 0 waits in MPI_Init for rank 1
    crash_head
    echo > "$BATS_TEST_TMPDIR/gate"
    wait "$job" || rc=$?
    cat "$BATS_TEST_TMPDIR/out"
    [ "$rc" -eq 0 ]
    grep -q ' ok$' "$BATS_TEST_TMPDIR/out"
}

@test "a spawn that waits for slots while the head is killed succeeds under the next one" {
    start_dvm 2 --slots 1
    hold_job held 1 --dvm "$DVM_SESSION_DIR/1" --host 2
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/1" -n 1 "$probe" spawn 1 sh -c 'echo "child on $PMIX_HOSTNAME"' \
        > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    local job=$! rc=0
    eventually jobs_known 3
    crash_head
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
    wait "$job" || rc=$?
    cat "$BATS_TEST_TMPDIR/out"
    [ "$rc" -eq 0 ]
    [ "$(sort "$BATS_TEST_TMPDIR/out")" = $'child on node2\nspawn: SUCCESS' ]
}

@test "a lookup and a publish under way while the head is killed are served by the next one, and later ones succeed" {
    local shares=${SHARE_PROBE:-$repo/build/probe/share_probe}
    [ -n "${SHARE_PROBE:-}" ] || make -s -C "$repo" build/probe/share_probe >&2
    start_dvm 1 --slots 4
    local verb head i=0 jobs=()
    mkfifo "$BATS_TEST_TMPDIR/gate"
    for verb in look-up publish; do
        timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/1" -n 1 sh -c 'read -r _ < "$1"; exec "$2" "$3" "key"' rank \
            "$BATS_TEST_TMPDIR/gate" "$shares" "$verb" > "$BATS_TEST_TMPDIR/$verb" 2>&1 3>&- &
        jobs+=($!)
        i=$((i + 1))
        eventually jobs_run "$i"
    done
    head=$(daemon_of 0)
    kill -STOP "$head" # it answers no more
    exec {gate_fd}<> "$BATS_TEST_TMPDIR/gate"
    echo $'\n' >&"$gate_fd"
    eventually runs_program share_probe
    kill -KILL "$head"
    eventually is_succeeded "$head"
    for i in "${jobs[@]}"; do wait "$i" || { cat "$BATS_TEST_TMPDIR/look-up" "$BATS_TEST_TMPDIR/publish"; false; }; done
    grep -qxE 'SUCCESS|NOT FOUND' "$BATS_TEST_TMPDIR/look-up" # the publish came first, or it did
    [ ! -s "$BATS_TEST_TMPDIR/publish" ]
    prun -n 1 "$shares" publish key
}
jobs_run() { [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" -eq "$1" ]; }

