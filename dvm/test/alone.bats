#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# prte run: a DVM for one job, which ends with prte run in any way.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "prte run is one job in a DVM of its own, with prun's exit code" {
    run -0 --separate-stderr prte run -n 2 -- -n 2 --map-by node sh -c 'echo $PMIX_HOSTNAME'
    [ "$(sort <<< "$output" | tr '\n' ' ')" = "node1 node2 " ]
    run -5 prte run -- sh -c 'exit 5'
}

# run_apart [OPTION...]: prte run in a session and a folder of its own. Its two ranks, and for each a process that has left
# them, ignore what asks them to end. Returns when all are up; sets $prte, and $dir, the DVM's directory.
run_apart() {
    apart=$BATS_TEST_TMPDIR/apart
    rm -rf "$apart"
    mkdir "$apart"
    mkfifo "$apart/says"
    cat > "$apart/rank" <<- 'END'
		trap '' TERM INT HUP
		setsid sh -c 'trap "" TERM INT HUP; echo up; exec tail -n 0 -f "$1"' left "$0" &
		exec tail -n 0 -f "$0"
	END
    TMPDIR=$apart python3 -c 'import os, signal, sys
for s in signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM: signal.signal(s, signal.SIG_DFL)
os.setsid()
os.execv(sys.argv[1], sys.argv[1:])' \
        "$bin/prte" run --slots 2 "$@" -- -n 2 sh "$apart/rank" > "$apart/says" 2> "$apart/err" 3>&- &
    prte=$!
    local fd
    exec {fd}< "$apart/says"
    for _ in 1 2; do read -r -t "$limit" -u "$fd" _; done
    exec {fd}<&-
    dir=$(echo "$apart"/dvm-run-*)
}

# The processes that have the folder in their command line or in their environment; zombies have neither.
apart_processes() { grep -laFf <(echo "$apart") /proc/[0-9]*/{cmdline,environ} 2> /dev/null | cut -d/ -f3 | sort -u | grep -vx $$; }
nothing_apart() { [ -z "$(apart_processes)" ] && [ ! -e "$dir" ]; }

# ends_with CODE: prte run has this exit code. When it has returned, nothing is left.
ends_with() {
    local code=0
    wait "$prte" || code=$?
    cat "$apart/err"
    [ "$code" -eq "$1" ]
}

@test "a signal to prte run ends its DVM with all processes and files; the exit code is 128 and its number" {
    local signal
    for signal in TERM INT HUP QUIT; do
        run_apart
        kill -"$signal" "$prte"
        ends_with $((128 + $(kill -l "$signal")))
        nothing_apart
    done
    for signal in TERM INT; do # also to prun
        run_apart
        kill -"$signal" -- -"$prte"
        ends_with $((128 + $(kill -l "$signal")))
        nothing_apart
    done
}

@test "prte run that is killed, alone or with its group, leaves no process and no file" {
    run_apart -n 2
    kill -KILL "$prte"
    ends_with 137
    eventually nothing_apart
    run_apart
    kill -KILL -- -"$prte"
    ends_with 137
    eventually nothing_apart
    run_apart
    kill -PIPE "$prte"
    ends_with 141
    eventually nothing_apart
}

@test "a second signal to prte run kills what the first one asks to end" {
    run_apart
    kill -STOP "$(cut -d' ' -f1 "$dir/1/pid")"
    kill -TERM "$prte"
    kill -TERM "$prte"
    ends_with 143
    nothing_apart
}

@test "prte run ends a DVM whose daemons hang, also when it is killed" {
    local signal pids
    for signal in TERM KILL; do
        run_apart
        pids=$(pgrep -f -- "prted .*--session-dir $dir/")
        # shellcheck disable=SC2086 # numbers
        kill -STOP $pids
        kill -"$signal" "$prte"
        ends_with $((128 + $(kill -l "$signal")))
        eventually nothing_apart
    done
}

@test "a signal to prte run before its DVM is ready leaves nothing" {
    local signal
    apart=$BATS_TEST_TMPDIR/apart
    mkdir "$apart" "$BATS_TEST_TMPDIR/bin"
    cp -L "$bin/prte" "$bin/prun" "$BATS_TEST_TMPDIR/bin"
    # The members never come: their prted is a process that reports none.
    printf '#!/bin/sh\ncase "$*" in *"--role member"*) echo > "%s"; exec tail -n 0 -f "$0" ;; esac\nexec "%s" "$@"\n' \
        "$BATS_TEST_TMPDIR/hung" "$bin/prted" > "$BATS_TEST_TMPDIR/bin/prted"
    chmod +x "$BATS_TEST_TMPDIR/bin/prted"
    for signal in TERM KILL; do
        mkfifo "$BATS_TEST_TMPDIR/hung"
        TMPDIR=$apart "$BATS_TEST_TMPDIR/bin/prte" run -- true 2> "$apart/err" 3>&- &
        prte=$!
        read -r -t "$limit" _ <> "$BATS_TEST_TMPDIR/hung"
        dir=$(echo "$apart"/dvm-run-*)
        kill -"$signal" "$prte"
        ends_with $((128 + $(kill -l "$signal")))
        eventually nothing_apart
        rm "$BATS_TEST_TMPDIR/hung"
    done
}

guard() { ps -eo pid=,ppid=,stat=,comm= | awk '$4 == "dvm-guard" && $3 !~ /Z/ {print $1}' | while read -r pid; do
    grep -qzF "$apart" "/proc/$pid/environ" && echo "$pid"; done; }

@test "prte run ends its DVM when the processes that keep it are killed" {
    run_apart
    # shellcheck disable=SC2046 # numbers: the guard and the supervisor
    kill -KILL $(guard)
    ends_with 123
    grep -q 'the process that keeps the DVM had ended' "$apart/err"
    eventually nothing_apart
}

@test "nohup prte run goes on after SIGHUP, and passes SIGUSR1 on to its ranks" {
    mkfifo "$BATS_TEST_TMPDIR/says"
    nohup "$bin/prte" run -- -n 1 sh -c 'trap "echo told; exit 7" USR1; echo up; tail -f /dev/null & wait' \
        > "$BATS_TEST_TMPDIR/says" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    local pid=$! fd line
    exec {fd}< "$BATS_TEST_TMPDIR/says"
    read -r -t "$limit" -u "$fd" line
    kill -HUP "$pid"
    kill -USR1 "$pid"
    read -r -t "$limit" -u "$fd" line
    [ "$line" = told ]
    local code=0
    wait "$pid" || code=$?
    [ "$code" -eq 7 ]
}
