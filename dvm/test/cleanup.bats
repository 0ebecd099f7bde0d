#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The rules of docs/cleanup.md, each with a real PMIx client that ends in six ways: by finalize, without it, by
# abort, by SIGKILL, by the loss of its daemon, and by SIGKILL of daemon, spawner and ranks at once. The rules themselves
# are a table in cleanup_client.c.

# shellcheck disable=SC2034,SC2154,SC2030,SC2031  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

client() { timeout --kill-after=10 "$limit" "$BATS_FILE_TMPDIR/client" "$@"; }

# One DVM for all ends but the loss of the daemon; that one is a DVM of its own, whose rank registers everything.
setup_file() {
    build_all
    # shellcheck disable=SC2046
    gcc -std=gnu17 -D_GNU_SOURCE $(pkg-config --cflags pmix) -o "$BATS_FILE_TMPDIR/client" \
        "$BATS_TEST_DIRNAME/cleanup_client.c" $(pkg-config --libs pmix)
    export DVM_SESSION_DIR=$BATS_FILE_TMPDIR/lost
    lose_a_daemon
    export DVM_SESSION_DIR=$BATS_FILE_TMPDIR/tree
    lose_a_tree
    export DVM_SESSION_DIR=$BATS_FILE_TMPDIR/d
    prte start -n 2 --slots 4 > "$BATS_FILE_TMPDIR/start"
}

teardown_file() { prte stop >&2; }

lose_a_daemon() {
    local root=$BATS_FILE_TMPDIR/lost.rules says=$BATS_FILE_TMPDIR/lost.says daemon spawner
    mkdir "$root"
    mkfifo "$says"
    prte start -n 1 > "$BATS_FILE_TMPDIR/start"
    # shellcheck disable=SC2046
    prun -n 1 "$BATS_FILE_TMPDIR/client" register "$root" wait $(client list) > "$says" 2> "$says.err" &
    read -r -t "$limit" line < "$says"
    [ "$line" = up ]
    spawner=$(spawner_of 1)
    daemon=$(daemon_of 1)
    [ "$spawner" != "$daemon" ]
    find "$DVM_SESSION_DIR/1" -maxdepth 1 -type d -name '*.*' > "$BATS_FILE_TMPDIR/lost.jobdirs"
    kill -KILL "$daemon"
    wait_end "$spawner" # it removes before it ends
    wait $! || true
    prte stop >&2 || true
}

# The client registers everything on member 1, whose processes are then killed all at once. $command starts it again.
kill_tree() {
    local root=$1 says=$1.says line pids
    mkdir "$root"
    mkfifo "$says"
    prte start -n 1 > "$root.start"
    # shellcheck disable=SC2046
    prun -n 1 "$BATS_FILE_TMPDIR/client" register "$root" wait $(client list) > "$says" 2> "$says.err" &
    read -r -t "$limit" line < "$says"
    [ "$line" = up ]
    mapfile -d '' -t command < "/proc/$(daemon_of 1)/cmdline"
    pids="$(pgrep -f "prted .*--session-dir $DVM_SESSION_DIR/1( |\$)") $(own -f "$BATS_FILE_TMPDIR/client register $root")"
    eventually all_kept
    # shellcheck disable=SC2086  # all at once: nobody is left to remove anything
    kill -STOP $pids
    # shellcheck disable=SC2086
    kill -KILL $pids
    wait $! || true
    # shellcheck disable=SC2086
    wait_end $pids
}

# The spawner has noted the last request of the client that is not refused.
all_kept() { grep -qaF "/mixed-with-control/f" "$DVM_SESSION_DIR"/1/cleanups-*; }

lose_a_tree() {
    local root=$BATS_FILE_TMPDIR/tree.rules
    kill_tree "$root"
    [ -e "$root/file/f" ] # nothing has been removed yet
    "${command[@]}" > "$root.again" 2>&1 3>&- &
    eventually no_list
    kill -TERM $!
    wait $! || true
    prte stop >&2 || true
}

no_list() { ! compgen -G "$DVM_SESSION_DIR/1/cleanups-*" > /dev/null; }

# Directories of jobs in the session of a daemon.
jobdirs() { find "$DVM_SESSION_DIR/$1" -mindepth 1 -maxdepth 1 -type d -name '????????????????.*'; }

# ends RANKS MODE RULE: after each kind of end of the clients, exactly the entries that the rule names are left.
ends() {
    local end code
    for end in finalize return abort kill; do
        mkdir "$BATS_TEST_TMPDIR/$end"
        code=0
        prun -n "$1" --host 1 "$BATS_FILE_TMPDIR/client" "$2" "$BATS_TEST_TMPDIR/$end" "$end" "$3" || code=$?
        case $end:$code in
            finalize:0 | return:1 | abort:3 | kill:137) ;;
            *) echo "$end: exit code $code" && return 1 ;;
        esac
        client check "$BATS_TEST_TMPDIR/$end" "$3"
    done
}

rule() {
    ends 1 register "$1"
    client check "$BATS_FILE_TMPDIR/lost.rules" "$1"
    client check "$BATS_FILE_TMPDIR/tree.rules" "$1"
}

# The first rank registers and ends; each of the others waits until the job NAME is released.
# hold_others NAME RANKS RULE [PRUN-OPTION...]
hold_others() {
    local name=$1 ranks=$2 rule=$3 from=$1_fd line
    shift 3
    mkdir "$BATS_TEST_TMPDIR/r"
    hold_job "$name" "$((ranks - 1))" "$@" -n 1 "$BATS_FILE_TMPDIR/client" register "$BATS_TEST_TMPDIR/r" say "$rule" :
    read -r -t "$limit" -u "${!from}" line # all have said "up" now
}

@test "files: a named file is removed, others stay" { rule file; }
@test "files: all of a list go" { rule files-in-a-list; }
@test "files: files of several keys of a request are removed" { rule files-of-two-keys; }
@test "files: a duplicate is dropped without an error" { rule file-twice; }
@test "files: a missing one is no error" { rule file-that-is-absent; }
@test "files: a directory named as a file stays" { rule file-that-is-a-directory; }
@test "files: a link is removed, its target stays" { rule file-that-is-a-link; }
@test "directories: a named one is removed with its files" { rule directory; }
@test "directories: without recursion subdirectories stay, and so do their parents" { rule directory-not-recursive; }
@test "directories: with recursion the whole tree is removed" { rule directory-recursive; }
@test "directories: directives are for all of a list" { rule directories-in-a-list-share-directives; }
@test "directories: directives are for all of a request, wherever they stand" { rule directories-of-two-keys-share-directives; }
@test "directories: directives are not for another request's" { rule directives-are-of-their-request-alone; }
@test "leave-topdir: the named directory stays, empty" { rule leave-topdir; }
@test "leave-topdir: with recursion the named directory alone stays" { rule leave-topdir-recursive; }
@test "only-empty: empty directories are removed, files and their directories stay" { rule only-empty-directories; }
@test "duplicates: recursion wins when it comes later" { rule same-directory-recursive-wins-later; }
@test "duplicates: recursion wins when it came earlier" { rule same-directory-recursive-wins-earlier; }
@test "duplicates: leave-topdir wins when it comes later" { rule same-directory-leave-topdir-wins-later; }
@test "duplicates: leave-topdir wins when it came earlier" { rule same-directory-leave-topdir-wins-earlier; }
@test "duplicates: another spelling is the same directory" { rule same-directory-in-another-spelling; }
@test "duplicates: a directory under another one is no duplicate" { rule directory-under-another-is-no-duplicate; }
@test "ignore: a file of the same request" { rule ignored-file-of-the-same-request; }
@test "ignore: a file of an earlier request" { rule ignored-file-of-an-earlier-request; }
@test "ignore: a file of a later request" { rule ignored-file-of-a-later-request; }
@test "ignore: all of a list" { rule ignored-files-in-a-list; }
@test "ignore: a directory stays with all that is below it" { rule ignored-directory-stays-with-all-below; }
@test "contradiction: a file in one request is refused, and no path of it is registered" { rule file-ignored-in-the-same-request-is-refused; }
@test "contradiction: a file that was ignored earlier is refused" { rule file-ignored-earlier-is-refused; }
@test "contradiction: a file that is to be removed cannot be ignored later" { rule file-ignored-later-is-refused; }
@test "contradiction: a directory that was ignored earlier is refused" { rule directory-ignored-earlier-is-refused; }
@test "contradiction: a directory that is to be removed cannot be ignored later" { rule directory-ignored-later-is-refused; }
@test "paths: a relative one is refused" { rule relative-path-is-refused; }
@test "paths: one relative path refuses the whole request" { rule one-relative-path-refuses-the-request; }
@test "paths: one with .. is refused" { rule path-that-leads-up-is-refused; }
@test "paths: the root is refused" { rule root-is-refused; }
@test "paths: an empty one is refused" { rule empty-list-is-refused; }
@test "links: one in a tree is removed and not followed" { rule link-in-a-tree-is-not-followed; }
@test "links: one named as a directory stays and is not followed" { rule link-named-as-directory-is-not-followed; }
@test "owner: files of another user or group stay" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make files of others"
    rule others-files-stay
}

@test "owner: a directory of another user stays" {
    [ "$(id -u)" = 0 ] || skip "needs root, to make files of others"
    rule others-directories-stay
}

@test "targets: a job, at the end of its last process here" { rule job-target; }
@test "targets: without one it is the caller's job" { rule null-target; }
@test "targets: a path that a job ignores does not affect a process's request" { rule process-and-job-are-apart; }
@test "targets: a process that is not here is refused" { rule unknown-target-is-refused; }

@test "targets: a process's files are removed at its end, a job's at the end of its last process here" {
    rule process-and-job
    local r=$BATS_TEST_TMPDIR/r/process-and-job
    hold_others held 2 process-and-job --host 1
    client gone "$r/f"
    [ -e "$r/g" ]
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
    [ ! -e "$r/g" ]
    [ -e "$r/h" ]
}

@test "targets: a job's files go with its last process on this node, though others run elsewhere" {
    hold_others held 2 job-target -N 1
    [ "$(view '[.jobs[] | select(.state == "RUNNING")][0].vpids | map(tostring) | join(" ")')" = "1 2" ]
    client gone "$BATS_TEST_TMPDIR/r/job-target/f"
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
}

@test "targets: another job on this node may be named, and its end counts" {
    local id f=$BATS_TEST_TMPDIR/job-target/f
    hold_job held 1 --host 1
    id=$(view '[.jobs[] | select(.state == "RUNNING")][0].id')
    prun -n 1 --host 1 "$BATS_FILE_TMPDIR/client" for "$id" "$BATS_TEST_TMPDIR" finalize job-target
    [ -e "$f" ]
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
    [ ! -e "$f" ]
}

@test "targets: requests of several processes for one job are merged" {
    rule same-directory-of-two-processes
    rm -r "${BATS_TEST_TMPDIR:?}"/*
    ends 2 share same-directory-of-two-processes
}

@test "targets: a path that one process has ignored cannot be registered by another" {
    rule file-ignored-by-another-process-is-refused
    rm -r "${BATS_TEST_TMPDIR:?}"/*
    ends 2 share file-ignored-by-another-process-is-refused
}

@test "mixed: with another directive both are done" {
    rule mixed-with-control
    local code=0
    mkdir "$BATS_TEST_TMPDIR/r"
    prun -n 1 "$BATS_FILE_TMPDIR/client" killed "$BATS_TEST_TMPDIR/r" wait mixed-with-control || code=$?
    [ "$code" -eq 137 ]
    client check "$BATS_TEST_TMPDIR/r" mixed-with-control
}

@test "mixed: with an unsupported directive no path is registered" { rule mixed-with-what-is-not-supported; }
@test "mixed: a bad path keeps the other directive from being carried out" { rule mixed-with-control-but-refused; }
@test "mixed: with a target on another daemon the whole request is refused" { rule mixed-with-control-of-nobody; }

@test "every rule of the client's table has a test" {
    run -0 client list
    for name in "${lines[@]}"; do
        grep -q "rule $name\b" "$BATS_TEST_FILENAME"
    done
}

# --- paths that the daemon removes without a request to the library

@test "prun: --cleanup-file and --cleanup-dir are carried out when the job has ended, and only then" {
    local top=$BATS_TEST_TMPDIR
    mkdir -p "$top/d/s" "$top/e/s" "$top/o"
    touch "$top/f" "$top/d/f" "$top/d/s/f" "$top/e/f" "$top/e/s/f" "$top/o/f"
    ln -s "$top/o" "$top/e/link"
    prun -n 2 --cleanup-file "$top/f" --cleanup-dir "$top/d" --cleanup-dir "$top/e,recursive,leave-topdir" \
        test -e "$top/f" -a -e "$top/d/f" -a -e "$top/e/s/f"
    [ "$(cd "$top" && find d e f o 2> /dev/null | sort | tr '\n' ' ')" = "d d/s d/s/f e o o/f " ]
}

@test "prun: a job that fails to start is cleaned up after too" {
    touch "$BATS_TEST_TMPDIR/f"
    run prun --cleanup-file "$BATS_TEST_TMPDIR/f" -n 1 /nonexistent/program
    [ "$status" -ne 0 ]
    client gone "$BATS_TEST_TMPDIR/f"
}

@test "spawn: the paths of the request are removed when the new job ends" {
    touch "$BATS_TEST_TMPDIR/f"
    prun -n 1 "$BATS_FILE_TMPDIR/client" spawn "$BATS_TEST_TMPDIR/f"
    client gone "$BATS_TEST_TMPDIR/f"
}

@test "sessions: a job's directory is removed with the job and all its contents" {
    # shellcheck disable=SC2016
    prun -n 2 "$BATS_FILE_TMPDIR/client" run sh -c 'cd "$0"/*.* && mkdir -p "x$PMIX_RANK/y" && touch "x$PMIX_RANK/y/f" && chmod 0 "x$PMIX_RANK"' \
        "$DVM_SESSION_DIR/1"
    [ -z "$(jobdirs 1)" ]
}

@test "sessions: a program that speaks no PMIx has no directory made for it" {
    hold_job held 2
    [ -z "$(jobdirs 1)" ]
    release_job held 2
    end_job held
    [ "$code" -eq 0 ]
}

@test "sessions: a job whose directory cannot be made fails with rank, node, path and reason" {
    local job next
    job=$(prun -n 1 printenv PMIX_NAMESPACE)
    next=$DVM_SESSION_DIR/1/${job%.*}.$((${job##*.} + 1))
    touch "$next"
    run prun -n 2 "$examples/mpi_hello"
    [ "$status" -eq 125 ]
    [[ "$output" == *"rank "[01]" on node1 "*"making $next: File exists"* ]]
    rm "$next"
    prun -n 1 "$examples/mpi_hello"
}

@test "sessions: a job's directory is removed when its daemon is lost" {
    [ "$(wc -l < "$BATS_FILE_TMPDIR/lost.jobdirs")" -eq 1 ]
    [ ! -e "$(cat "$BATS_FILE_TMPDIR/lost.jobdirs")" ]
}

@test "sessions: directories left by a crash of daemon and spawner are removed at the next start, no others" {
    local left pids command
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/d
    prte start -n 1
    hold_by=("$BATS_FILE_TMPDIR/client" run)
    hold_job held 1 --host 1
    left=$(jobdirs 1)
    [ -n "$left" ]
    mkdir "$left/x" "$BATS_TEST_TMPDIR/outside" "$DVM_SESSION_DIR/1/other.1"
    touch "$left/x/f" "$BATS_TEST_TMPDIR/outside/f"
    ln -s "$BATS_TEST_TMPDIR/outside" "$left/x/link"
    pids=$(pgrep -f "prted .*--session-dir $DVM_SESSION_DIR/1( |\$)")
    mapfile -d '' -t command < "/proc/$(pgrep -xf "[^ ]*/prted .*--session-dir $DVM_SESSION_DIR/1( .*)?")/cmdline"
    # shellcheck disable=SC2086  # both at once: nobody is left to remove anything, and none sees the other's end
    kill -STOP $pids
    # shellcheck disable=SC2086
    kill -KILL $pids
    wait "$held_pid" || true
    [ -e "$left/x/f" ]
    "${command[@]}" > "$BATS_TEST_TMPDIR/again" 2>&1 3>&- &
    client gone "$left"
    kill -TERM $!
    wait $! || true
    [ -d "$DVM_SESSION_DIR/1/other.1" ]
    [ -e "$BATS_TEST_TMPDIR/outside/f" ]
    prte stop >&2 || true
}

@test "killed: what ranks of a killed daemon have registered is removed by prte stop" {
    local name
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/d
    kill_tree "$BATS_TEST_TMPDIR/rules"
    prte stop >&2
    for name in file directory-recursive ignored-file-of-a-later-request; do
        client check "$BATS_TEST_TMPDIR/rules" "$name"
    done
}

@test "killed: what ranks of a killed DVM have registered is removed by the next prte start" {
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/d
    kill_tree "$BATS_TEST_TMPDIR/rules"
    end_supervisor
    local pids
    pids=$(pgrep -f "prted .*--session-dir $DVM_SESSION_DIR/0( |\$)")
    # shellcheck disable=SC2086
    kill -KILL $pids
    # shellcheck disable=SC2086
    wait_end $pids
    prte start -n 1
    client check "$BATS_TEST_TMPDIR/rules" file
    client check "$BATS_TEST_TMPDIR/rules" directory-recursive
    prte stop >&2
}

# The removal of $BATS_TEST_TMPDIR/rules is held; prte's standard error comes through the FIFO "says".
slow_cleanup() {
    make -s -C "$repo" build/probe/cleaner_shim.so >&2
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/d CLEANER_GATE=$BATS_TEST_TMPDIR/gate
    mkfifo "$CLEANER_GATE" "$BATS_TEST_TMPDIR/says"
    kill_tree "$BATS_TEST_TMPDIR/rules"
}

slow_stop() { LD_PRELOAD=$repo/build/probe/cleaner_shim.so prte stop; }

# Standard input without the lines that `prte stop` writes while it waits for daemons: a slow machine has them.
no_waits() { grep -v '^prte: waits for the daemons of vpids ' || true; }

notice="prte: removing what jobs registered for cleanup with the killed daemons of vpids 1: waiting for at most 60 s"

@test "killed: prte stop reports a cleanup that takes long, with its limit, and waits for its end" {
    local line stop
    slow_cleanup
    slow_stop > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/says" 3>&- &
    stop=$!
    exec {fd}< "$BATS_TEST_TMPDIR/says"
    while read -r -t "$limit" -u "$fd" line && [ -z "$(no_waits <<< "$line")" ]; do :; done
    [ "$line" = "$notice" ]
    [ -e "$BATS_TEST_TMPDIR/rules/file/f" ]
    [ -e "$DVM_SESSION_DIR" ]
    : > "$CLEANER_GATE"
    wait "$stop"
    [ -z "$(no_waits <&"$fd")" ]
    client check "$BATS_TEST_TMPDIR/rules" file
    [ ! -e "$DVM_SESSION_DIR" ]
}

@test "killed: prte stop does not wait longer than the limit of a cleanup, and reports that paths stay" {
    slow_cleanup
    CLEANER_S=2 run --separate-stderr slow_stop
    [ "$status" -eq 0 ]
    [ "$(no_waits <<< "$stderr")" = "$notice"$'\n'"prte: paths that jobs registered for cleanup stay: not removed in time" ]
    [ -e "$BATS_TEST_TMPDIR/rules/file/f" ]
    [ ! -e "$DVM_SESSION_DIR" ]
}
