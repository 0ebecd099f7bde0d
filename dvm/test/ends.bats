#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that others wait for and that end instead: what the others get is the same on one daemon and on several.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

ends=${END_PROBE:-$repo/build/probe/end_probe}

setup_file() {
    build_all
    [ -n "${END_PROBE:-}" ] || make -s -C "$repo" build/probe/end_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# outcome_of WHAT HOW: of the first call and of a second one.
outcome_of() {
    case $1/$2 in
    get/*) echo "$1: NOT FOUND, NOT FOUND" ;;
    */never | group/* | context/*) echo "$1: PROC ABORTED, PROC ABORTED" ;;
    *) echo "$1: SUCCESS, SUCCESS" ;;
    esac
}

# ends_so WHAT HOW WHEN: in a job of 4 ranks, 3 print the outcome.
ends_so() {
    local dir=$BATS_TEST_TMPDIR/$1.$2.$3
    mkdir "$dir"
    prun --rtos recoverable --map-by "$map" -n 4 "$ends" "$@" 4 "$dir" > "$dir/out" 2> "$dir/err" 3>&- || true
    [ "$(sort "$dir/out" | uniq -c | tr -s ' ')" = " 3 $(outcome_of "$1" "$2")" ] ||
        { echo "$*" && tail "$dir/out" "$dir/err"; }
}

# all_ends MEMBERS MAP: each operation, each end, before and during it; prints what is not as it should be.
all_ends() {
    local map=$2 what how when pids
    start_dvm "$1" --slots 32
    for what in fence data connect disconnect group context get; do
        pids=()
        for how in killed exit final never; do
            for when in before during; do
                ends_so "$what" "$how" "$when" >> "$BATS_TEST_TMPDIR/wrong" 2>&1 3>&- &
                pids+=("$!")
            done
        done
        wait "${pids[@]}"
    done
    cat "$BATS_TEST_TMPDIR/wrong"
    [ ! -s "$BATS_TEST_TMPDIR/wrong" ]
}

@test "one daemon: each operation has its outcome when a rank ends before it or during it, in any way" {
    all_ends 1 slot
}

@test "two daemons, two ranks each: each operation has the same outcome when a rank ends" {
    all_ends 2 node
}

@test "four daemons: each operation has the same outcome when a rank ends" {
    all_ends 4 node
}

@test "a rank that runs two programs one after the other is waited for between them, on one daemon and on four" {
    local map
    start_dvm 4 --slots 4
    for map in slot node; do
        mkdir "$BATS_TEST_TMPDIR/$map"
        run -0 --separate-stderr prun --map-by "$map" -n 4 sh -c '"$1" again first - 4 "$2" && exec "$1" again second - 4 "$2"' sh \
            "$ends" "$BATS_TEST_TMPDIR/$map"
        [ "$output" = $'SUCCESS\nSUCCESS\nSUCCESS\nSUCCESS' ]
    done
}

@test "MPI: a rank that ends before MPI_Init ends the job with a line, if others wait for it" {
    local map first
    start_dvm 2 --slots 4
    for map in slot node; do
        for first in 0 1; do
            run ! --separate-stderr prun --map-by "$map" -n 2 sh -c '[ "$PMIX_RANK" = "$1" ] && exit 0; exec "$2"' sh "$first" \
                "$examples/mpi_hello"
            echo "$stderr"
            [[ "$stderr" == *"prun: rank $first on "*": it has ended before PMIx_Init, and other ranks wait for it"* ]]
        done
    done
}

@test "a rank that never calls PMIx_Init and that nobody waits for ends well" {
    start_dvm 2 --slots 4
    for map in slot node; do
        run -0 prun --map-by "$map" -n 2 sh -c '[ "$PMIX_RANK" = 0 ] || exit 0; exec "$1" hello' sh "$probe"
    done
}
