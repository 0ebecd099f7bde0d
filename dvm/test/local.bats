#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A local DVM: real daemons on this host, real Open MPI programs, losses, and nothing left behind.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# --- starting

@test "prte start is ready when all members are wired in one tree" {
    start_dvm 6 --radix 2
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 7 ]
    [ "$(view '[.members[].depth] | max')" -le 3 ]
    run pstat tree
    [ "${#lines[@]}" -eq 7 ]
}

@test "a second DVM in the same directory is refused, and the first one goes on" {
    start_dvm 1
    run prte start -n 1
    [ "$status" -eq 1 ]
    [[ "$output" == *"a DVM runs in"*"prte stop"* ]]
    prun -n 1 true
}

@test "the directory and the keys in it are the user's alone" {
    start_dvm 1
    [ "$(stat -c %a "$DVM_SESSION_DIR")" = 700 ]
    [ -z "$(find "$DVM_SESSION_DIR/tls" -type f -perm /077)" ]
}

@test "a directory may have a long or strange name: certificates have one of their own" {
    local name
    for name in "$(printf 'x%.0s' {1..59})" $'two words, \xe9+"=\\/CN=x'; do
        DVM_SESSION_DIR=$BATS_TEST_TMPDIR/${name//\//_}
        start_dvm 1
        [[ "$(view .cluster)" =~ ^local/[A-Za-z0-9._-]{1,40}-[0-9a-f]{8}$ ]]
        [ "$(prun -n 1 sh -c 'echo up')" = up ]
        prte stop
    done
}

wired() { [ "$(view '[.members[] | select(.state == "wired")] | length')" = "$1" ]; }

# start_beside COMMANDS: prte start of ten members, whose prted is a shell script: these commands, then prted itself. Standard
# error is in the file $said.
start_beside() {
    local beside=$BATS_TEST_TMPDIR/bin
    said=$BATS_TEST_TMPDIR/said
    mkdir "$beside"
    cp -L "$bin/prte" "$beside"
    printf '#!/bin/sh\n%s\nexec "%s" "$@"\n' "$1" "$bin/prted" > "$beside/prted"
    chmod +x "$beside/prted"
    : > "$said"
    "$beside/prte" start -n 10 --foreground > /dev/null 2> "$said" 3>&- &
    prte=$!
}

no_daemons() { [ -z "$(daemons)" ]; }

# fails_with LINE: that prte ends with this line, and leaves nothing.
fails_with() {
    local rc=0
    wait "$prte" || rc=$?
    cat "$said"
    [ "$rc" -eq 1 ]
    grep -qx "prte: $1" "$said"
    [ ! -e "$DVM_SESSION_DIR/local.json" ]
    eventually no_daemons
}

@test "prte start says which members have not joined, how long it waits for them, and leaves nothing" {
    start_beside 'case "$*" in *"--vpid 10 "*) set -- $(echo "$*" | sed "s/--head [^ ]*/--head 127.0.0.1:1/") ;; esac'
    eventually grep -qx "prte: waits for the members of vpids [0-9,-]*10 to join, each after the one before, for at most 60 s" "$said"
    eventually wired 10
    kill -TERM "$prte"
    fails_with "9 of 10 members are wired, those of vpids 10 are missing: interrupted before all members were wired"
}

@test "prte start says which members have not been started, and how long it waits for them" {
    start_beside 'case "$*" in *"--vpid 10 "*) echo $$ > "'"$BATS_TEST_TMPDIR/hung"'"; exec tail -f /dev/null ;; esac'
    eventually grep -qx "prte: waits for the daemon of vpid 10 to be started, for at most 60 s" "$said"
    kill -KILL "$(< "$BATS_TEST_TMPDIR/hung")"
    fails_with "the process that forks the daemons of vpids 10 to 10 was ended by signal 9 (Killed)"
}

# --- jobs

@test "every rank of a job over 4 daemons knows its size, and each daemon has its share" {
    start_dvm 4 --slots 2
    run prun -n 8 sh -c 'echo "$PMIX_RANK $PMIX_HOSTNAME"'
    [ "$status" -eq 0 ]
    [ "$(cut -d' ' -f1 <<< "$output" | sort -n | tr '\n' ' ')" = "0 1 2 3 4 5 6 7 " ]
    [ "$(cut -d' ' -f2 <<< "$output" | sort | uniq -c | awk '{print $2 ":" $1}' | tr '\n' ' ')" = \
        "node1:2 node2:2 node3:2 node4:2 " ]
}

@test "MPI: hello over 4 daemons" {
    start_dvm 4 --slots 2
    run prun -n 8 "$examples/mpi_hello"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^hello from rank [0-7] of 8 on ' <<< "$output")" -eq 8 ]
    [ "$(awk '{print $4}' <<< "$output" | sort -u | wc -l)" -eq 8 ]
}

@test "MPI: a ring over 4 daemons" {
    start_dvm 4 --slots 1
    run prun -n 4 "$examples/mpi_ring" 5
    [ "$status" -eq 0 ]
    [ "$output" = "ring: size=4 rounds=5 token=30 ok" ]
}

@test "MPI: collectives with a seed that this test draws" {
    local seed=$((RANDOM * 32768 + RANDOM + 1))
    start_dvm 4 --slots 1
    run prun -n 4 "$examples/mpi_coll" "$seed"
    [ "$status" -eq 0 ]
    [[ "$output" == "coll: size=4 seed=$seed result="*" ok" ]]
}

@test "MPI: 1 to 64 ranks over 1 to 8 daemons, again and again" {
    start_dvm 8 --slots 8
    local round n
    for round in 1 2 3; do
        for n in 1 7 36 64; do
            seed=$((RANDOM * round))
            run -0 prun -n "$n" "$examples/mpi_coll" "$seed"
            [[ "$output" == *"size=$n seed=$seed result="* ]]
            run -0 prun -n "$n" --map-by node "$examples/mpi_ring"
            [[ "$output" == *"size=$n"*ok* ]]
        done
    done
}

@test "MPI: one-sided communication" {
    start_dvm 4 --slots 2
    run -0 prun -n 8 "$examples/mpi_onesided"
    [ "$output" = "onesided: size=8 ok" ]
}

@test "MPI: MPI_Abort ends every rank with its code and names its caller" {
    start_dvm 4 --slots 2
    run -42 prun -n 8 "$examples/mpi_abort" 3 42
    [[ "$output" == *"rank 3"* ]]
    [ -z "$(own -f "$examples/mpi_abort 3 42")" ]
    [ "$(view '[.members[].slotsUsed] | add')" -eq 0 ]
}

# A rank that aborts removes its directories by itself, unless PMIX_TDIR_RMCLEAN says that the daemon does it.
@test "MPI: MPI_Abort leaves the daemon's directory as it is" {
    local before
    start_dvm 1
    prun -n 1 "$examples/mpi_hello" # the first one has the topology written
    before=$(ls "$DVM_SESSION_DIR/1")
    run -7 prun -n 1 "$examples/mpi_abort" 0 7
    [ "$(ls "$DVM_SESSION_DIR/1")" = "$before" ]
    prun -n 1 "$examples/mpi_hello"
    prun -n 1 --dvm "$DVM_SESSION_DIR/1/prted.sock" true
}

@test "MPI: two jobs at once do not disturb each other" {
    start_dvm 4 --slots 2
    prun -n 4 --map-by node "$examples/mpi_ring" 50 > "$BATS_TEST_TMPDIR/one" &
    local first=$!
    prun -n 4 --map-by node "$examples/mpi_coll" 7 > "$BATS_TEST_TMPDIR/two"
    wait "$first"
    grep -q "^ring: size=4 .* ok$" "$BATS_TEST_TMPDIR/one"
    grep -q "^coll: size=4 .* ok$" "$BATS_TEST_TMPDIR/two"
}

@test "two jobs run at the same time" {
    start_dvm 2 --slots 2
    hold_job one 2
    hold_job two 2
    [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" -eq 2 ]
    release_job one 2
    end_job one
    [ "$code" -eq 0 ]
    release_job two 2
    end_job two
    [ "$code" -eq 0 ]
}

@test "several programs in one job have their ranks in order" {
    start_dvm 2 --slots 2
    run prun --tag-output -n 1 echo first : -n 2 echo second
    [ "$status" -eq 0 ]
    [ "$(sort <<< "$output")" = "[0]<stdout>: first
[1]<stdout>: second
[2]<stdout>: second" ]
}

@test "exit codes: 0, that of the failing rank, 128 and the signal" {
    start_dvm 2 --slots 2
    run -0 prun -n 4 true
    run -7 prun -n 4 sh -c '[ "$PMIX_RANK" != 2 ] || exit 7'
    [[ "$output" == *"rank 2"* ]]
    run -137 prun -n 1 sh -c 'kill -KILL $$'
}

@test "a program that is not there fails the job with rank, node and reason" {
    start_dvm 2
    run -125 prun -n 2 no-such-program
    [[ "$output" == *"node"*"no-such-program"*"No such file or directory"* ]]
    run -125 prun -n 1 /etc/passwd
    [[ "$output" == *"Permission denied"* ]]
}

@test "a working directory that is not there fails the job with its name" {
    start_dvm 1
    run -125 prun -n 1 --wdir /no/such/dir true
    [[ "$output" == *"/no/such/dir"* ]]
}

@test "a program that one rank lacks keeps all other ranks of the job from starting, on every daemon" {
    local ran=$BATS_TEST_TMPDIR/ran
    start_dvm 2 --slots 2
    run -125 prun --map-by node -n 1 touch "$ran" : -n 1 --wdir /no/such/dir true
    [ "$output" = "prun: rank 1 was not started on node2 (vpid 2): chdir /no/such/dir: No such file or directory" ]
    run -125 prun --map-by node -n 1 touch "$ran" : -n 1 /etc/passwd
    [ "$output" = "prun: rank 1 was not started on node2 (vpid 2): exec /etc/passwd: Permission denied" ]
    run -125 prun --host node1 -n 1 touch "$ran" : -n 1 no-such-program
    [ "$output" = "prun: rank 1 was not started on node1 (vpid 1): exec no-such-program: No such file or directory" ]
    printf '#!/no/such/shell\n' > "$BATS_TEST_TMPDIR/script"
    chmod +x "$BATS_TEST_TMPDIR/script"
    run -125 prun --map-by node --recoverable -n 1 touch "$ran" : -n 1 "$BATS_TEST_TMPDIR/script"
    [[ "$output" == *"its interpreter /no/such/shell: No such file or directory" ]]
    [ ! -e "$ran" ]
    run -0 prun --map-by node -n 1 touch "$ran" : -n 1 --wdir / true
    [ -e "$ran" ]
    run -0 prun -n 4 true
    [ -z "$(find "$DVM_SESSION_DIR"/[012] -name '*.[1-9]' -type d)" ]
}

@test "standard input goes through rank 0 unchanged" {
    start_dvm 2 --slots 2
    head -c 3000000 /dev/urandom > "$BATS_TEST_TMPDIR/in"
    prun -n 2 cat < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/out"
    cmp "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
}

@test "standard input goes to one rank, to all, or to none" {
    start_dvm 2 --slots 2
    run prun --tag-output --stdin 3 -n 4 cat <<< "x"
    [ "$output" = "[3]<stdout>: x" ]
    run prun --stdin all -n 4 cat <<< "x"
    [ "$output" = "$(printf 'x\nx\nx\nx')" ]
    run -0 prun --stdin none -n 4 cat <<< "x"
    [ -z "$output" ]
}

@test "a lot of output arrives whole, also when it is read slowly" {
    start_dvm 2 --slots 2
    [ "$(prun -n 1 seq 1 500000 | sha256sum)" = "$(seq 1 500000 | sha256sum)" ]
    [ "$(prun --tag-output -n 4 seq 1 20000 | sort | uniq -c | awk '$1 != 1' | wc -l)" -eq 0 ]
}

@test "standard output and standard error stay apart" {
    start_dvm 1
    run --separate-stderr -0 prun -n 1 sh -c 'echo out; echo err >&2'
    [ "$output" = out ]
    [ "$stderr" = err ]
}

@test "the environment is passed on, with variables of -x, and without those of this shell" {
    start_dvm 1
    local dir=$DVM_SESSION_DIR
    HERE=yes DVM_SESSION_DIR=/elsewhere run -0 prun --dvm "$dir" -n 1 -x MORE=a=b env
    [[ "$output" == *"HERE=yes"* && "$output" == *"MORE=a=b"* ]]
    [ "$(grep '^DVM_SESSION_DIR=' <<< "$output")" = "DVM_SESSION_DIR=$dir" ]
    run -0 prun -n 1 --wdir /usr pwd
    [ "$output" = /usr ]
}

@test "ranks run where --host, -N and --map-by place them" {
    start_dvm 4 --slots 2
    where() { prun "$@" sh -c 'echo "$PMIX_RANK:$PMIX_HOSTNAME"' | sort | tr '\n' ' '; }
    [ "$(where -n 2 --host node3)" = "0:node3 1:node3 " ]
    [ "$(where --host 2,4 -N 1)" = "0:node2 1:node4 " ]
    [ "$(where -n 4 --map-by node)" = "0:node1 1:node2 2:node3 3:node4 " ]
    [ "$(where -n 3)" = "0:node1 1:node1 2:node2 " ]
    [ "$(where -n 3 --host 1 --oversubscribe)" = "0:node1 1:node1 2:node1 " ]
}

@test "a job that can never fit fails at once with the numbers" {
    start_dvm 2 --slots 2
    run -125 prun -n 5 true
    [[ "$output" == *"5 ranks"*"4"* ]]
}

@test "a job waits for slots, prints the reason, and runs when they are free; --no-wait fails" {
    start_dvm 1 --slots 1
    hold_job one 1
    run -125 prun --no-wait -n 1 true
    [[ "$output" == *"1"* ]]
    : > "$BATS_TEST_TMPDIR/two.err" # tail may open it before prun does
    prun -v -n 1 echo second > "$BATS_TEST_TMPDIR/two" 2> "$BATS_TEST_TMPDIR/two.err" &
    local second=$!
    timeout --kill-after=10 20 grep -q -m1 'job .*: [A-Z_]*: ' <(tail -n +1 -f --pid=$second "$BATS_TEST_TMPDIR/two.err")
    [ "$(view '[.jobs[] | select(.reason != "")] | length')" -ge 1 ]
    release_job one 1
    end_job one
    wait "$second"
    [ "$(cat "$BATS_TEST_TMPDIR/two")" = second ]
}

@test "a job that exceeds its time limit is ended with 124" {
    start_dvm 1
    run -124 prun --timeout 0.3 -n 1 tail -f /dev/null
    [[ "$output" == *"time"* ]]
}

@test "under nohup a job goes on when its terminal closes" {
    start_dvm 1
    mkfifo "$BATS_TEST_TMPDIR/in" "$BATS_TEST_TMPDIR/out"
    # Not below timeout(1), which has a SIGHUP of its own.
    (trap '' HUP && exec "$bin/prun" -n 1 --timeout "$limit" sh -c 'trap "" USR2; echo up; read -r word; echo "$word"') \
        < "$BATS_TEST_TMPDIR/in" > "$BATS_TEST_TMPDIR/out" 3>&- &
    local pid=$! line
    exec {to}> "$BATS_TEST_TMPDIR/in" {from}< "$BATS_TEST_TMPDIR/out"
    read -r -t "$limit" -u "$from" line
    [ "$line" = up ]
    kill -HUP "$pid"
    kill -USR2 "$pid" # taken after it
    echo on >&"$to"
    read -r -t "$limit" -u "$from" line
    [ "$line" = on ]
    wait "$pid"
}

@test "Ctrl-C ends the job and all its ranks" {
    start_dvm 2 --slots 2
    hold_job one 4
    local ranks
    ranks=$(ranks_of one)
    [ "$(wc -w <<< "$ranks")" -eq 4 ]
    kill -INT "$(prun_of one)"
    end_job one
    [ "$code" -ne 0 ]
    # shellcheck disable=SC2086
    wait_end $ranks
    [ "$(view '[.members[].slotsUsed] | add')" -eq 0 ]
}

@test "the ranks of a prun that is killed are ended" {
    start_dvm 2 --slots 1
    hold_job one 2
    local ranks
    ranks=$(ranks_of one)
    [ "$(wc -w <<< "$ranks")" -eq 2 ]
    kill -KILL "$(prun_of one)"
    # shellcheck disable=SC2086
    wait_end $ranks
    prun -n 2 true
}

routed() { metric "$1" dvm_routed_frames_total; }

@test "a job of one rank wakes the head and its daemon only" {
    local i before others
    start_dvm 4
    for ((i = 0; i < 20; i++)); do # the start's last acknowledgements may come in between, once
        before=("$(routed 1)" "$(routed 3)" "$(routed 4)" "$(routed 2)")
        prun -n 1 --host 2 true
        others="$(routed 1) $(routed 3) $(routed 4)"
        [ "$(routed 2)" -gt "${before[3]}" ]
        if [ "$others" = "${before[*]:0:3}" ]; then break; fi
    done
    [ "$others" = "${before[*]:0:3}" ]
}

@test "an idle daemon: the PMIx library's threads sleep, its own wakes for heartbeats" {
    local task tasks n i all
    start_dvm 1
    prun -n 1 true
    mapfile -t all < <(daemons)
    eventually rest "${all[@]}" # the job's name is released in the library after the job's end
    tasks=("/proc/$(daemon_of 1)/task/"*)
    [ "${#tasks[@]}" -ge 2 ] # libpmix 5 listens on its one thread, 4.2 on another
    slept() { for task in "${tasks[@]}"; do awk '/^voluntary/ {print $2}' "$task/status"; done; }
    mapfile -t before < <(slept)
    read -r -t 6 _ <> <(:) || true # the time that is looked at: a heartbeat is due each 5 s
    mapfile -t after < <(slept)
    [ $((after[1] - before[1])) -eq 0 ]
    for ((i = 2; i < ${#tasks[@]}; i++)); do
        [ $((after[i] - before[i])) -le 1 ] # it may have been on its way to sleep
    done
    n=$((after[0] - before[0]))
    [ "$n" -le 8 ]
}

# --- detached jobs

# A job that prints "begin", waits until a byte is written into $gate, and exits 7. Prints its name.
detached() {
    mkfifo "$gate"
    # shellcheck disable=SC2016
    prun --detach -n 1 sh -c 'echo begin; read -r x < "$1"; echo "got $x"; exit 7' rank "$gate"
}

@test "a detached job goes on without its prun, and a prun that attaches gets its output and its exit code" {
    start_dvm 2 --slots 1
    gate=$BATS_TEST_TMPDIR/gate
    job=$(detached)
    [[ "$(pstat jobs)" == *"$job"* ]]
    prun --attach "$job" > "$BATS_TEST_TMPDIR/says" & # waits for its end
    local attached=$!
    echo word > "$gate"
    local result=0
    wait "$attached" || result=$?
    [ "$result" -eq 7 ]
    [ "$(cat "$BATS_TEST_TMPDIR/says")" = $'begin\ngot word' ]
}

@test "the end of a detached job can still be queried after it" {
    start_dvm 1 --slots 1
    gate=$BATS_TEST_TMPDIR/gate
    job=$(detached)
    echo word > "$gate"
    prun -n 1 true # waits for the slot that the job gives back at its end
    run --separate-stderr -7 prun --attach "$job"
    [ "$output" = $'begin\ngot word' ]
    run -125 prun --attach 1.1
    [[ "$output" == *"no detached job 1.1 was submitted at this daemon"* ]]
}

@test "the latest output of a detached job is kept, and the amount of dropped output is reported" {
    start_dvm 1 --slots 1
    job=$(prun --detach -n 1 sh -c 'seq 1 200000')
    prun -n 1 true # waits for the slot that the job gives back at its end
    run --separate-stderr -0 prun --attach "$job"
    [ "${lines[-1]}" = 200000 ]
    [ "${#output}" -le 262144 ]
    [[ "$stderr" == *"bytes of earlier output were not kept"* ]]
}

@test "a refused detached job is reported at once" {
    start_dvm 1
    run -125 prun --detach -n 99 true
    [[ "$output" == *99* ]]
    run -125 prun --attach 1.1
}

@test "one follower at a time; when it is killed the detached job goes on" {
    start_dvm 1
    gate=$BATS_TEST_TMPDIR/gate
    job=$(detached)
    : > "$BATS_TEST_TMPDIR/says" # for tail, which may come first
    "$bin/prun" --attach "$job" >> "$BATS_TEST_TMPDIR/says" 3>&- &
    local first=$!
    timeout --kill-after=10 20 grep -q -m1 begin <(tail -n +1 -f --pid=$first "$BATS_TEST_TMPDIR/says")
    run -125 prun --attach "$job"
    [[ "$output" == *"another prun is attached to job $job already"* ]]
    kill -KILL "$first"
    wait "$first" || true
    echo more > "$gate"
    run --separate-stderr -7 prun --attach "$job"
    [ "$output" = $'begin\ngot more' ]
}

@test "pterm --job ends a job, or signals its ranks, and leaves the DVM" {
    start_dvm 1
    run -1 pterm --job 1.1
    [[ "$output" == *"no job 1.1"* ]]
    mkfifo "$BATS_TEST_TMPDIR/gate" "$BATS_TEST_TMPDIR/up"
    # The trap is in place when the rank prints "up", and runs as soon as the signal has interrupted the read.
    # shellcheck disable=SC2016
    job=$(prun --detach -n 1 sh -c 'trap "echo usr; exit 3" USR1; echo up > "$2"; read -r x < "$1"; read -r x < "$1"' rank \
        "$BATS_TEST_TMPDIR/gate" "$BATS_TEST_TMPDIR/up")
    read -r -t "$limit" _ < "$BATS_TEST_TMPDIR/up"
    job2=$(prun --detach --oversubscribe -n 1 tail -f /dev/null)
    pterm --job "$job2"
    run -143 prun --attach "$job2"
    [[ "$output" == *"ended by the user"* ]]
    pterm --job "$job" --signal USR1
    run --separate-stderr -3 prun --attach "$job"
    [ "$output" = usr ]
    job=$(prun --detach -n 1 tail -f /dev/null)
    pterm --job "$job" --signal KILL
    run -137 prun --attach "$job"
    prun -n 1 true
}

@test "--output puts times and tags before lines, merges streams, and writes files" {
    start_dvm 2 --slots 1
    run -0 prun --output tag,timestamp,merge -n 1 sh -c 'echo out; echo err >&2'
    grep -qxE '[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z \[0\]<stdout>: out' <<< "$output"
    grep -qxE '[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z \[0\]<stderr>: err' <<< "$output"
    # shellcheck disable=SC2016
    run -0 prun --output "dir=$BATS_TEST_TMPDIR/out" -n 2 sh -c 'echo "$PMIX_RANK"; echo "e$PMIX_RANK" >&2'
    [ "$output" = "" ]
    [ "$(cat "$BATS_TEST_TMPDIR"/out/*/rank.1.out)" = 1 ]
    [ "$(cat "$BATS_TEST_TMPDIR"/out/*/rank.0.err)" = e0 ]
    # Their names sort.
    run -0 prun --oversubscribe --output "dir=$BATS_TEST_TMPDIR/more" -n 9 true : -n 3 sh -c 'echo "$PMIX_RANK"'
    [ "$(cat "$BATS_TEST_TMPDIR"/more/*/rank.*.out)" = "$(printf '9\n10\n11')" ]
    run -0 prun --output "dir=$BATS_TEST_TMPDIR/free" sh -c 'echo "$PMIX_RANK"'
    [ "$(cat "$BATS_TEST_TMPDIR"/free/*/rank.0001.out)" = 1 ]
    run -2 prun --output "dir=/dev/null/x" -n 1 true
    [[ "$output" == *"/dev/null/x"* ]]
    [ "$(view '[.jobs[]] | length')" -eq 4 ]
}

# --- members that one process has forked

@test "11 members have command lines, names and numbers of their own, and a job runs on each" {
    local vpid
    start_dvm 11 --slots 1
    for ((vpid = 1; vpid <= 11; vpid++)); do
        tr '\0' ' ' < "/proc/$(pgrep -nf "prted .*--session-dir $DVM_SESSION_DIR/$vpid ")/cmdline" > "$BATS_TEST_TMPDIR/words"
        grep -q -- "--role member --vpid $vpid --cluster .*/$vpid --dvm-dir $DVM_SESSION_DIR --host-name node$vpid --address" "$BATS_TEST_TMPDIR/words"
        [ "$(grep -c "wired as vpid $vpid," "$DVM_SESSION_DIR/$vpid/prted.log")" -eq 1 ]
    done
    [ "$(prun -n 11 sh -c 'echo "$PMIX_HOSTNAME"' | sort -uV | tr '\n' ' ')" = "$(printf 'node%d ' {1..11})" ]
    prte resize 8 > /dev/null
    prte resize 12 > /dev/null # 9, and 10 to 12
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 13 ]
}

@test "--foreground tells the signal that has ended a forked member" {
    : > "$BATS_TEST_TMPDIR/err"
    timeout --foreground --kill-after=10 "$limit" "$bin/prte" start -n 10 --foreground > "$BATS_TEST_TMPDIR/out" \
        2> "$BATS_TEST_TMPDIR/err" 3>&- &
    local prte=$!
    eventually grep -qs "DVM ready" "$BATS_TEST_TMPDIR/out"
    kill -KILL "$(cut -d' ' -f1 "$DVM_SESSION_DIR/10/pid")"
    eventually grep -q "the daemon of vpid 10 was ended by signal 9 (Killed)" "$BATS_TEST_TMPDIR/err"
    prte stop
    wait "$prte"
}

# --- losses and ends

# sizes N: so many changes of the size, over one connection to the control API.
sizes() {
    local tls=$DVM_SESSION_DIR/tls/operator
    awk -v n="$1" -v url="https://127.0.0.1:$(jq .control "$DVM_SESSION_DIR/0/ports.json")/v1/size" -v tls="$tls" 'BEGIN {
        for (i = 1; i <= n; i++) {
            if (i > 1) print "next"
            printf "url=\"%s\"\nrequest=PUT\nfail\ninsecure\ncert=\"%s/tls.crt\"\nkey=\"%s/tls.key\"\n", url, tls, tls
            printf "data=\"{\\\"sequence\\\": %d, \\\"members\\\": %d}\"\noutput=/dev/null\n", i, 1 + i % 2
        }
    }' | timeout --kill-after=10 "$limit" curl -s -K -
}

@test "who does not read its events is disconnected with the reason" {
    start_dvm 1 --slots 1
    "$bin/pstat" --watch-events > "$BATS_TEST_TMPDIR/events" 2> "$BATS_TEST_TMPDIR/why" 3>&- &
    local watcher=$! rc=0
    watches() { [ "$(metric 0 dvm_event_streams)" = "$1" ]; }
    eventually watches 1
    kill -STOP "$watcher"
    sizes 15000 3>&- &
    local sizes=$!
    eventually watches 0 # it may read the reason for some seconds
    kill -CONT "$watcher"
    wait "$watcher" || rc=$?
    wait "$sizes"
    [ "$rc" -eq 1 ]
    [ "$(cat "$BATS_TEST_TMPDIR/why")" = "pstat: the events were not read in time" ]
    awk 'NR > 1 && $2 != last + 1 { exit 1 } { last = $2 } END { exit NR == 0 }' "$BATS_TEST_TMPDIR/events"
}

@test "C19: a member that is killed ends its jobs with 123; others run on; a resize brings it back" {
    start_dvm 3 --slots 1
    hold_job one 1 --host 1
    hold_job two 1 --host 3
    kill -KILL "$(cut -d' ' -f1 "$DVM_SESSION_DIR/3/pid")"
    end_job two
    [ "$code" -eq 123 ]
    [[ "$(cat "$BATS_TEST_TMPDIR/two.err")" == *"3"* ]]
    release_job one 1
    end_job one
    [ "$code" -eq 0 ]
    prte resize 3
    prun -N 1 true
}

@test "C19: SIGTERM of a member is a shrink of one" {
    start_dvm 2
    local pid
    pid=$(cut -d' ' -f1 "$DVM_SESSION_DIR/2/pid")
    kill -TERM "$pid"
    wait_end "$pid"
    [ "$(view '.campaigns[-1].phase')" = Complete ]
    [ "$(view '.campaigns[-1].targets | join(",")')" = 2 ]
}

@test "pterm leaves no process and no file" {
    start_dvm 4 --slots 2
    prun -n 8 "$examples/mpi_hello" > /dev/null
    run -0 --separate-stderr pterm
    [ -z "$output" ]
    [[ "$stderr" != *"vpids 0 to end"* ]] # the head does not wait for its client
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "pterm ends running jobs, which are reported as cancelled" {
    start_dvm 2 --slots 1
    hold_job one 2
    pterm
    end_job one
    [ "$code" -eq 122 ]
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "pterm with a deadline lets a job end by itself" {
    start_dvm 2 --slots 1
    hold_job one 2
    pterm --deadline 50 &
    local term=$!
    release_job one 2
    end_job one
    [ "$code" -eq 0 ]
    wait "$term"
    [ ! -e "$DVM_SESSION_DIR" ]
}

@test "prte stop and pterm end a hung member within the limit that they name" {
    local end
    for end in "prte stop" pterm; do
        start_dvm 2 --silence 2 --link-grace 2
        kill -STOP "$(daemon_of 2)"
        # shellcheck disable=SC2086
        in_time $end
        grep -qx "${end% *}: the daemons of vpids 2 have not ended by themselves: ending them" <<< "$stderr"
        [ ! -e "$DVM_SESSION_DIR" ]
        [ -z "$(daemons)" ]
    done
}

@test "prte stop ends a DVM with a hung head within the limit that it names" {
    start_dvm 1
    kill -STOP "$(daemon_of 0)"
    in_time prte stop
    [[ "$stderr" == *"the daemon has not answered for 30 s: ending what is left of the DVM"* ]]
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "prte stop ends the remaining daemons and their ranks when the head was killed" {
    start_dvm 2 --slots 1
    end_supervisor
    hold_job one 2
    kill -KILL "$(cut -d' ' -f1 "$DVM_SESSION_DIR/0/pid")"
    end_job one
    [ "$code" -ne 0 ]
    run prte stop
    [ "$status" -eq 0 ]
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "files of a killed DVM are replaced by the next start" {
    start_dvm 2
    local pids
    end_supervisor
    pids=$(daemons) # and their spawners
    # shellcheck disable=SC2086
    kill -KILL $pids
    # shellcheck disable=SC2086
    wait_end $pids
    start_dvm 1
    prun -n 1 true
}

@test "prte in the foreground ends its DVM at SIGTERM and leaves no process and no file" {
    mkfifo "$BATS_TEST_TMPDIR/out"
    # A signal to timeout(1) begins the time until it kills, too.
    timeout --foreground --kill-after="$limit" "$limit" "$bin/prte" start -n 2 --foreground > "$BATS_TEST_TMPDIR/out" 3>&- &
    local pid=$!
    exec {fd}< "$BATS_TEST_TMPDIR/out"
    local line
    read -r -t "$limit" -u "$fd" line
    [ "$line" = "DVM ready: 2 members" ]
    kill -TERM "$pid"
    wait "$pid"
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

# asks_its_head PID: the prte that timeout(1) with this PID has started asks its head to end.
asks_its_head() { pgrep -P "$(pgrep -P "$1")" -x prte > /dev/null; }

@test "prte in the foreground ends at a second signal although its head hangs, and leaves nothing" {
    mkfifo "$BATS_TEST_TMPDIR/out"
    timeout --foreground --kill-after="$limit" "$limit" "$bin/prte" start -n 2 --foreground > "$BATS_TEST_TMPDIR/out" \
        2> "$BATS_TEST_TMPDIR/err" 3>&- &
    local pid=$!
    exec {fd}< "$BATS_TEST_TMPDIR/out"
    local line
    read -r -t "$limit" -u "$fd" line
    kill -STOP "$(daemon_of 0)"
    kill -TERM "$pid"
    eventually asks_its_head "$pid"
    kill -TERM "$pid"
    timeout 15 tail --pid="$pid" -f /dev/null
    wait "$pid"
    [ ! -e "$DVM_SESSION_DIR" ]
    [ -z "$(daemons)" ]
}

@test "prte in the foreground returns when pterm has ended its DVM" {
    mkfifo "$BATS_TEST_TMPDIR/out"
    timeout --kill-after=10 "$limit" "$bin/prte" start -n 2 --foreground > "$BATS_TEST_TMPDIR/out" 3>&- &
    local pid=$!
    exec {fd}< "$BATS_TEST_TMPDIR/out"
    local line
    read -r -t "$limit" -u "$fd" line
    pterm
    wait "$pid"
    [ ! -e "$DVM_SESSION_DIR" ]
}

@test "pstat shows members, jobs and campaigns, and JSON as the control API" {
    start_dvm 2 --slots 1
    prun -n 1 true
    run -0 pstat
    [[ "${lines[0]}" == "DVM local/d: 2 of 2 members wired, 0 of 2 slots in use,"* ]]
    run -0 pstat members
    [ "${#lines[@]}" -eq 4 ]
    run -0 pstat jobs
    [[ "${lines[1]}" == *TERMINATED* ]]
    [ "$(pstat --json jobs | jq -r 'keys | join(",")')" = jobs ]
    [ "$(view '.cluster')" = local/d ]
}

@test "a start that the daemon itself refuses is reported, and delays no shrink" {
    ulimit -n 256
    start_dvm 2 --slots 400
    run prun -n 300 true
    [ "$status" -eq 125 ]
    [[ "$output" == *"was not started"* ]]
    prte resize 1
}

@test "a member's local socket gives no rights over the DVM" {
    start_dvm 2
    run prte resize 1 --dvm "$DVM_SESSION_DIR/1"
    [ "$status" -ne 0 ]
    [ "$(view '.size.members')" = 2 ]
    run pterm --dvm "$DVM_SESSION_DIR/1"
    [ "$status" -ne 0 ]
    prun --dvm "$DVM_SESSION_DIR/1" true
}
