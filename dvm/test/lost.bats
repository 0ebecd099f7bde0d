#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A job that loses ranks: prun --rtos, its final text and its exit code, pstat.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

holder=${PTRACE_PROBE:-$repo/build/probe/ptrace_probe} # a debugger's hold, which SIGCONT does not end

setup_file() {
    build_all
    [ -n "${PTRACE_PROBE:-}" ] || make -s -C "$repo" build/probe/ptrace_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# lose_rank N HOW [OPTION…]: a job of N ranks of which rank 1 ends in that way. Each other one waits until it has.
lose_rank() {
    local n=$1 how=$2 pid=$BATS_TEST_TMPDIR/pid
    shift 2
    mkfifo "$pid"
    timeout --kill-after=10 "$limit" "$bin/prun" -n "$n" "$@" sh -c '
        [ "$PMIX_RANK" != 1 ] || { echo $$ > "$1"; eval "$2"; }
        [ "$PMIX_RANK" != 0 ] || { read -r other < "$1"; exec tail --pid="$other" -f /dev/null; }
        true' sh "$pid" "$how"
}

last_job() { view '.jobs[-1] | .state + ": " + .reason'; }

@test "contradictory options are refused before anything is started" {
    start_dvm 1
    local words
    for words in "--rtos recoverable,abort" "--recoverable --rtos abort" "--strict" "--rtos abort --strict" "--rtos what"; do
        # shellcheck disable=SC2086
        run --separate-stderr prun $words -n 1 true
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    done
    [ "$(view '.jobs | length')" -eq 0 ]
}

@test "without an option, and with abort, the first rank that fails ends the job" {
    start_dvm 2 --slots 2
    run lose_rank 4 'kill -KILL $$' --rtos abort
    [ "$status" -eq 137 ]
    [[ "$output" == *"rank 1 on node1 (vpid 1) was ended by signal 9"* ]]
}

@test "recoverable: a rank that a signal ends is named at the end and in pstat, and the others decide the exit code" {
    start_dvm 2 --slots 2
    run lose_rank 4 'kill -KILL $$' --rtos recoverable
    [ "$status" -eq 0 ]
    local text="1 of 4 ranks failed or were lost: rank 1 on node1 (vpid 1) was ended by signal 9 (Killed), pid "
    [[ "$output" == "prun: $text"+([0-9]) ]]
    [[ "$(last_job)" == "TERMINATED: $text"+([0-9]) ]]
    pstat jobs | grep -qF "$text"
}

@test "recoverable and strict: a rank that a signal ends makes the exit code" {
    start_dvm 2 --slots 2
    run lose_rank 4 'kill -KILL $$' --rtos recoverable,strict
    [ "$status" -eq 137 ]
    [[ "$output" == *"1 of 4 ranks failed or were lost"* ]]
}

@test "recoverable: a rank that exits with a code makes the exit code, and ends no other rank" {
    start_dvm 2 --slots 2
    run lose_rank 4 'exit 3' --recoverable
    [ "$status" -eq 3 ]
    [[ "$output" == *"rank 1 on node1 (vpid 1) exited with code 3"* ]]
}

# --- ranks that exit with 0 in their PMIx session

# says_not_finalized RANK: the output is one line, which names the rank and what it has not called.
says_not_finalized() {
    # shellcheck disable=SC2027  # the rank is a pattern
    [[ "$output" == "prun: rank "$1" on node"+([0-9])" (vpid "+([0-9])") exited with code 0 "*"without MPI_Finalize (PMIx_Finalize): NotFinalized, pid "+([0-9]) ]]
}

@test "a rank that exits with 0 without finalizing ends its job, also if all ranks do so" {
    start_dvm 2 --slots 2
    local by
    for by in node slot; do
        run -1 prun -n 2 --map-by "$by" "$probe" leave 1
        says_not_finalized 1
        [[ "$(last_job)" == "ABORTED: rank 1 on "*NotFinalized* ]]
    done
    run -1 prun -n 3 "$probe" leave ""
    says_not_finalized "[012]"
    run -1 prun -n 1 sh -c '"$1" leave ""; exit 0' sh "$probe"
    says_not_finalized 0
}

@test "a rank may exit with 0 if it, or a child of it, has finalized, or if it was never a client" {
    start_dvm 1 --slots 2
    run -0 prun -n 2 "$probe" again
    [ -z "$output" ]
    run -0 prun -n 2 sh -c '"$1" again; exit 0' sh "$probe"
    [ -z "$output" ]
    run -0 prun -n 2 sh -c '"$1" leave ""; "$1" again' sh "$probe"
    [ -z "$output" ]
    run -0 prun -n 2 true
    [ -z "$output" ]
}

@test "recoverable: a rank that exits with 0 without finalizing fails nothing, and with strict the job" {
    start_dvm 1 --slots 2
    run -0 prun --recoverable -n 2 "$probe" leave 1
    [ -z "$output" ]
    run -1 prun --recoverable --strict -n 2 "$probe" leave 1
    [[ "$output" == *"1 of 2 ranks failed or were lost: rank 1 on "*NotFinalized* ]]
}

@test "ranks that end with their job need not finalize" {
    start_dvm 1 --slots 2
    local pid=$BATS_TEST_TMPDIR/ready
    mkfifo "$pid"
    timeout --kill-after=10 "$limit" "$bin/prun" -n 1 sh -c 'trap "exit 0" TERM; "$1" leave ""; echo > "$2"; sleep 1000 & wait' \
        sh "$probe" "$pid" > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    local prun_pid=$! code=0
    read -r _ < "$pid"
    pterm --job "$(view '.jobs[-1].id')"
    wait "$prun_pid" || code=$?
    [ "$code" -eq 143 ]
    run ! grep NotFinalized "$BATS_TEST_TMPDIR/out"
}

# --- the spawner

family=900000 # seconds that the family sleeps, with a digit more for each
# start_family RANKS [OPTION…]: each rank leaves a child, and another in a session of its own; returns when all are there.
start_family() {
    local n=$1
    shift
    timeout --kill-after=10 "$limit" "$bin/prun" -n "$n" "$@" sh -c '
        sleep "${1}1" & setsid sleep "${1}2" & wait' sh "$family" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    prun_pid=$!
    eventually all_there "$((2 * n))"
}
all_there() { [ "$(own -f "^sleep ${family}[12]$" | wc -l)" -eq "$1" ]; }
end_family() { code=0; wait "$prun_pid" || code=$?; }

@test "a spawner that is killed: no process of the job is left, prun names daemon, node and reason, and the daemon ends" {
    start_dvm 2 --slots 1
    start_family 2
    local daemon job
    daemon=$(daemon_of 2)
    job=$(find "$DVM_SESSION_DIR/2" -mindepth 1 -maxdepth 1 -type d -name '*.*')
    kill -KILL "$(spawner_of 2)"
    end_family
    [ "$code" -eq 123 ]
    grep -qF "1 rank on node2 was lost with its daemon (vpid 2): its spawner has ended" "$BATS_TEST_TMPDIR/err"
    wait_end "$daemon"
    all_there 0 # prun has returned: those of vpid 1 are gone too
    [ -z "$job" ] || [ ! -e "$job" ]
    grep -q "the spawner has ended, and with it all ranks here" "$DVM_SESSION_DIR/2/prted.log"
    prte resize 2 # it comes back
    prun -N 1 true
}

@test "a daemon that hangs: its spawner ends its ranks and it, the job ends with 123, and others run" {
    prte start -n 2 --slots 1 --silence 2 --link-grace 2 --head-absence 6 > "$BATS_TEST_TMPDIR/start"
    start_family 2
    local daemon spawner
    daemon=$(daemon_of 2)
    spawner=$(spawner_of 2)
    kill -STOP "$daemon"
    wait_end "$daemon" "$spawner"
    end_family
    [ "$code" -eq 123 ]
    all_there 0
    grep -q "the daemon has sent nothing for 4000 ms, it is killed" "$DVM_SESSION_DIR/2/prted.log"
    prun -n 1 true
    prte resize 2
    prun -N 1 true
}

# start_impatient MEMBERS [OPTION...]: a DVM whose daemons wait 4 s for an answer, not 10. prte starts the prted beside it.
start_impatient() {
    local beside=$BATS_TEST_TMPDIR/bin
    mkdir "$beside"
    cp -L "$bin/prte" "$beside"
    printf '#!/bin/sh\nexec "%s" "$@" --silence-ms 4000 --link-grace-ms 2000\n' "$bin/prted" > "$beside/prted"
    chmod +x "$beside/prted"
    timeout --kill-after=10 "$limit" "$beside/prte" start -n "$@" > "$BATS_TEST_TMPDIR/start"
    [ "$(< "$BATS_TEST_TMPDIR/start")" = "DVM ready: $1 members" ]
}

@test "a stopped spawner is continued, and its job ends normally" {
    start_impatient 1 --slots 2
    kill -STOP "$(spawner_of 1)"
    run -0 prun -n 2 echo here
    [ "$output" = $'here\nhere' ]
    grep -q "the spawner does not answer, it gets SIGCONT" "$DVM_SESSION_DIR/1/prted.log"
}

@test "a spawner that cannot be continued is killed, and its job ends" {
    start_impatient 2 --slots 1
    start_family 2
    mkfifo "$BATS_TEST_TMPDIR/held"
    timeout --kill-after=10 "$limit" "$holder" "$(spawner_of 2)" > "$BATS_TEST_TMPDIR/held" 3>&- &
    local holder_pid=$! line=
    read -r -t "$limit" line < "$BATS_TEST_TMPDIR/held" || true
    echo "$holder: $line"
    [ "$line" != "Operation not permitted" ] || skip "processes may not be debugged here"
    [ "$line" = held ]
    end_family
    [ "$code" -eq 123 ]
    grep -qF "(vpid 2): its spawner has ended: it has not answered for 4000 ms" "$BATS_TEST_TMPDIR/err"
    all_there 0
    wait "$holder_pid"
}

@test "prte stop ends a DVM with a stopped spawner, and all leftover processes of its ranks" {
    start_impatient 1 --slots 1
    start_family 1
    kill -STOP "$(spawner_of 1)"
    in_time prte stop
    [ -z "$(daemons)" ]
    end_family
    [ "$code" -ne 0 ]
    all_there 0
}

@test "prte stop ends daemons that are stopped when their spawners are killed" {
    start_dvm 2 --slots 1
    start_family 2
    kill -STOP "$(daemon_of 2)"
    kill -KILL "$(spawner_of 2)"
    in_time prte stop
    [ -z "$(daemons)" ]
    end_family
    [ "$code" -ne 0 ]
    all_there 0
}

# rings VPID: the rank of mpi_ring there has sent messages.
rings() {
    local pid
    pid=$(pgrep -P "$(spawner_of "$1")" -x mpi_ring) && [ "$(written "$pid")" -gt 100000 ]
}

# A rank that waits for a message of the killed one notices its end at once, and Open MPI aborts; the head learns of the
# daemon's end after the link grace.
@test "C23: an MPI job whose daemon is killed ends with 123 and names it, whichever rank notices first" {
    start_dvm 3 --slots 1
    for _ in 1 2 3; do
        timeout --kill-after=10 "$limit" "$bin/prun" -v -N 1 "$examples/mpi_ring" 1000000000 \
            > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
        prun_pid=$!
        eventually rings 3
        kill -KILL "$(daemon_of 3)" "$(spawner_of 3)" "$(pgrep -P "$(spawner_of 3)" -x mpi_ring)"
        end_family
        cat "$BATS_TEST_TMPDIR/err"
        [ "$code" -eq 123 ]
        grep -qF "lost with its daemon (vpid 3)" "$BATS_TEST_TMPDIR/err"
        prte resize 3
    done
}

@test "recoverable: ranks that are lost with their daemon count only with strict" {
    local options=() expected pid rank
    for expected in 0 123; do
        start_dvm 2 --slots 1
        hold_job two 2 --recoverable "${options[@]}"
        for pid in $(ranks_of two); do
            ! grep -qz '^PMIX_RANK=1$' "/proc/$pid/environ" || rank=$pid
        done
        kill -KILL "$(daemon_of 2)"
        wait_end "$rank" # before it can take the other's byte
        release_job two 1
        end_job two
        [ "$code" -eq "$expected" ]
        grep -qF "1 of 2 ranks failed or were lost: 1 rank on node2 was lost with its daemon (vpid 2)" "$BATS_TEST_TMPDIR/two.err"
        prte stop
        rm "$BATS_TEST_TMPDIR/two".*
        options=(--strict)
    done
}

# over PID...: each has ended, or is a zombie that its parent has not reaped yet.
over() {
    local pid
    for pid in "$@"; do
        [ ! -e "/proc/$pid" ] || [ "$(awk '/^(State|Threads)/ { print $2 }' "/proc/$pid/status" | xargs)" = "Z 1" ] || return 1
    done
}

# has_closed PID N: it has at most N descriptors.
has_closed() { [ ! -d "/proc/$1/fd" ] || [ "$(find "/proc/$1/fd" | wc -l)" -le "$2" ]; }

@test "ranks of one node that are killed together while they wait for another one do not take the daemon with them" {
    MALLOC_PERTURB_=165 start_dvm 1 --slots 4 # what has been freed is not taken for what it was
    spawner=$(spawner_of 1)
    member=$(daemon_of 1)
    for way in fence connect disconnect; do
        mkfifo "$BATS_TEST_TMPDIR/$way"
        timeout --kill-after=10 "$limit" "$bin/prun" -n 4 "$probe" doomed "$way" > "$BATS_TEST_TMPDIR/$way" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
        job=$!
        exec {says}< "$BATS_TEST_TMPDIR/$way"
        pids=()
        for rank in 0 1 2 3; do
            read -r -t "$limit" -u "$says" "pids[$rank]"
        done
        open=$(find "/proc/$member/fd" | wc -l)
        kill -STOP "$spawner" "$member" # so that their connections end at once, before the daemon hears of anything
        kill -KILL "${pids[@]}"
        eventually over "${pids[@]}"
        kill -CONT "$member"
        eventually has_closed "$member" "$((open - 4))"
        kill -CONT "$spawner"
        code=0
        wait "$job" || code=$?
        exec {says}<&-
        [ "$code" -eq 137 ]
        [ "$(prun -n 4 "$probe" hello | wc -l)" -eq 4 ]
    done
}

@test "recoverable: a fence does not wait for a dead rank whose connection is still open" {
    start_dvm 2 --slots 2
    for where in 1 1-2; do
        run --separate-stderr timeout 20 "$bin/prun" --rtos recoverable --host "$where" --map-by slot:oversubscribe -n 4 "$probe" survive
        [ "$status" -eq 0 ]
        [ "$(grep -cE '^fence: (PARTIAL )?SUCCESS$' <<< "$output")" -eq 3 ]
    done
}
