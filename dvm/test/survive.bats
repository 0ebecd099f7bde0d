#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# prun --survive: prun follows a job that goes on without it.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# survives: a job that prints "begin", waits until a byte is written into the gate, and exits 7; $prun follows it.
survives() {
    mkfifo "$BATS_TEST_TMPDIR/gate"
    "$bin/prun" --survive -n 1 sh -c 'echo begin; read -r x < "$1"; echo "got $x"; exit 7' rank "$BATS_TEST_TMPDIR/gate" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    prun=$!
    eventually grep -qx begin "$BATS_TEST_TMPDIR/out"
    job=$(sed -nE 's/^prun: job (.*) goes on without this prun; --attach \1 follows it$/\1/p' "$BATS_TEST_TMPDIR/err")
    [ -n "$job" ]
}

@test "a job with --survive is followed, and goes on when its prun is killed" {
    start_dvm 2 --slots 1
    survives
    kill -KILL "$prun"
    wait "$prun" || true
    echo word > "$BATS_TEST_TMPDIR/gate"
    run --separate-stderr -7 prun --attach "$job"
    [ "$output" = $'begin\ngot word' ]
}

@test "a prun that attaches takes a job with --survive over from the one that follows it" {
    start_dvm 2 --slots 1
    local rc=0
    survives
    prun --attach "$job" > "$BATS_TEST_TMPDIR/says" &
    local attached=$!
    wait "$prun" || rc=$?
    [ "$rc" -eq 123 ]
    echo word > "$BATS_TEST_TMPDIR/gate"
    rc=0
    wait "$attached" || rc=$?
    [ "$rc" -eq 7 ]
    [ "$(cat "$BATS_TEST_TMPDIR/says")" = $'begin\ngot word' ]
}

@test "no output of a job with --survive is lost to a slow reader" {
    start_dvm 1 --slots 1
    prun --survive -n 1 seq 1 300000 2> /dev/null |
        (read -r first && [ "$first" -eq 1 ] && prun -n 1 --oversubscribe true && tail -n 1) > "$BATS_TEST_TMPDIR/last"
    [ "$(cat "$BATS_TEST_TMPDIR/last")" -eq 300000 ]
}

@test "Ctrl-C ends a job with --survive; without it prun exits with the job's code" {
    start_dvm 2 --slots 1
    local rc=0
    survives
    echo word > "$BATS_TEST_TMPDIR/gate"
    wait "$prun" || rc=$?
    [ "$rc" -eq 7 ]
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = $'begin\ngot word' ]
    rm "$BATS_TEST_TMPDIR/gate" "$BATS_TEST_TMPDIR/out"
    survives
    kill -INT "$prun"
    rc=0
    wait "$prun" || rc=$?
    [ "$rc" -eq 143 ]
}
