#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The simulator's program: the same seed gives the same run, a failure prints its trace, wrong arguments are refused.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../../.." || exit
    sim=build/release/sim
    mutant=build/mutant/sim
}

@test "the trace of a seed is the same byte for byte" {
    local seed
    for seed in 3 17 99 "5 --nodes 40" "6 --nodes 64"; do
        # shellcheck disable=SC2086
        "$sim" --seed $seed --trace >"$BATS_TEST_TMPDIR/a" 2>&1 || true
        # shellcheck disable=SC2086
        "$sim" --seed $seed --trace >"$BATS_TEST_TMPDIR/b" 2>&1 || true
        [ "$(wc -l <"$BATS_TEST_TMPDIR/a")" -gt 20 ]
        cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    done
}

@test "schedules are the same in several processes and in one" {
    "$sim" --seed 5 --seeds 40 --nodes-max 64 --matrix >"$BATS_TEST_TMPDIR/one" || true
    "$sim" --seed 5 --seeds 40 --nodes-max 64 --matrix --jobs 3 >"$BATS_TEST_TMPDIR/three" || true
    cmp "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/three"
}

@test "a failure names the invariant, the command that repeats it, and the related trace lines" {
    run -1 "$mutant" --mutant skip-remap --seed 1 --seeds 60 --nodes-max 64
    local line again
    line=$(grep -m1 '^seed' <<<"$output")
    [[ $line == *": no-send-to-leaving at "*" ms: job "* ]]
    again=$(sed -n '0,/all of it:/s/^ *all of it: sim \(.*\); .*/\1/p' <<<"$output")
    grep -q 'WAITING_FOR_DAEMONS -> LAUNCH_APPS' <<<"$output"
    # shellcheck disable=SC2086
    run -1 "$mutant" --mutant skip-remap $again
    grep -qxF "$line" <<<"$output"
}

@test "a run in which no head lost its keepers fails with the matrix" {
    run -1 "$sim" --seed 2 --seeds 20 --keepers --matrix
    [[ "$output" == *"all keepers lost too 0"* ]]
    [[ "$output" == *" 0 failed"* ]]
}

@test "a matrix with an empty cell fails the run" {
    run -1 "$sim" --seed 1 --matrix
    [[ $output == *"(EMPTY)"* ]]
    run -0 "$sim" --seed 1
}

@test "all 64 bits of a seed decide, and the largest seed is one" {
    "$sim" --seed 4294967297 --trace >"$BATS_TEST_TMPDIR/a"
    "$sim" --seed 1 --trace >"$BATS_TEST_TMPDIR/b"
    run ! cmp -s "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    run -0 "$sim" --seed 18446744073709551615
    [[ $output == *"seeds 18446744073709551615 to 18446744073709551615"* ]]
    run -2 "$sim" --seed 18446744073709551616
    run -2 "$sim" --seed 18446744073709551615 --seeds 2
    [ "$output" = "sim: the last seed would be above 64 bits" ]
}

@test "the mutants have names, and only those are taken" {
    run -0 "$mutant" --mutants
    [ "${#lines[@]}" -ge 30 ]
    run -2 "$mutant" --mutant skip-remaps
    [ "$output" = "sim: there is no mutant skip-remaps" ]
    run -2 "$sim" --mutant skip-remap
    [[ $output == *"this build holds none"* ]]
    run -0 "$sim" --mutants
    [ -z "$output" ]
}

@test "wrong arguments are refused with the valid ones" {
    run -2 "$sim" --seed 1x
    [ "$output" = "sim: --seed takes 0 to 18446744073709551615" ]
    run -2 "$sim" --nodes 1
    run -2 "$sim" --nodes 5 --nodes-max 6
    run -2 "$sim" --jobs 2 --trace
    run -2 "$sim" more
    run -2 ci/sim.sh long build 5..4
}
