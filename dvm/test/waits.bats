#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# What a job waits for is told: by pstat, and once by prun -v.

# shellcheck disable=SC2034,SC2154,SC2030,SC2031  # set and read by lib.bash and bats; each test has a shell of its own
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

ends=${END_PROBE:-$repo/build/probe/end_probe}

setup_file() {
    build_all
    [ -n "${END_PROBE:-}" ] || make -s -C "$repo" build/probe/end_probe >&2
}
setup() {
    new_dvm_dir
    export DVM_WAIT_TOLD_MS=500
}
teardown() { end_dvm; }

# shows JOB PATTERN: of the whole text; nothing is shown without PATTERN.
shows() { view ".jobs[] | select(.id == \"$1\") | .waitsFor" | grep -qxE -- "${2-}"; }

# job_of FILE: the name of the job, as prun -v has written it there.
job_of() { sed -n 's/^prun: job \(.*\): accepted$/\1/p' "$1"; }

# told WHAT MAP PATTERN: 3 of 4 ranks do WHAT, which is answered when the last one, at a word from here, has published and ended.
told() {
    local dir=$BATS_TEST_TMPDIR/$1.$2 job pid
    mkdir "$dir"
    prun -v --rtos recoverable --map-by "$2" -n 4 "$ends" "$1" late during 4 "$dir" > "$dir/out" 2> "$dir/err" 3>&- &
    pid=$!
    eventually eval "job=\$(job_of \"$dir/err\") && [ -n \"\$job\" ]"
    eventually shows "$job" "$3" || { view .jobs; return 1; }
    [ "$(pstat jobs | awk -v job="$job" '$1 == job' | grep -cE "  $3\$")" -eq 1 ]
    eventually grep -qxE "prun: job $job: [A-Z]*: $3" "$dir/err"
    echo 1 > "$dir/go"
    mv "$dir/go" "$dir/go.0"
    wait "$pid" || true # a rank may end in a call that fails; each of the others tells its outcome
    [ "$(grep -c "^$1: " "$dir/out")" -eq 3 ]
    [ "$(grep -cE ": $3\$" "$dir/err")" -eq 1 ]
    shows "$job"
}

# all_told MAP TEXT: of collectives, which wait for rank 3 in these words.
all_told() {
    local what pids=()
    for what in fence connect disconnect group; do
        told "$what" "$1" "$what: $2" &
        pids+=("$!")
    done
    # On one daemon the library itself gives up after 2 s.
    [ "$1" = slot ] || told get "$1" "PMIx_Get: (rank 1 waits|other daemons wait) for data of rank 3"
    for what in "${pids[@]}"; do wait "$what"; done
}

@test "one daemon: pstat and prun -v tell for which rank the others wait, and in which call" {
    start_dvm 1 --slots 32
    all_told slot "rank 0 waits for rank 3"
}

@test "two daemons: they tell for which rank those beside it wait" {
    start_dvm 2 --slots 32
    all_told node "rank 1 waits for rank 3"
}

@test "four daemons: they tell for which rank other daemons wait" {
    start_dvm 4 --slots 16
    all_told node "other daemons wait for rank 3"
}

@test "a value that nobody has published is named, with the rank that waits for it" {
    start_dvm 2 --slots 4
    told lookup slot 'PMIx_Lookup: rank [0-2] waits for "last.word"'
}

@test "a rank that waits for the job that it spawns is named" {
    local gate=$BATS_TEST_TMPDIR/gate pid
    start_dvm 1 --slots 2
    mkfifo "$gate"
    prun -v -n 1 "$probe" spawn-port 4711 1 sh -c 'read -r _ < "$1"; exec "$2" accept 4711' sh "$gate" "$probe" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" 3>&- &
    pid=$!
    eventually grep -qE ": [A-Z]+: spawn: rank 0 waits until all of job [0-9a-f]+\.2 have called MPI_Init\$" "$BATS_TEST_TMPDIR/err"
    echo > "$gate"
    wait "$pid"
}

@test "a rank that goes on after it was told to end is named" {
    local job asked hold_by=(sh -c 'trap "" TERM; exec "$@"' sh)
    start_dvm 1 --slots 2
    hold_job stubborn 2
    job=$(view '.jobs[0].id')
    pterm --job "$job" 3>&- &
    asked=$!
    eventually shows "$job" "ranks 0-1: told to end, and not ended yet"
    end_job stubborn
    wait "$asked"
}

@test "output that is not read is told, until it is read" {
    local job fd pid
    start_dvm 1 --slots 2
    mkfifo "$BATS_TEST_TMPDIR/out"
    prun -n 1 head -c 100000000 /dev/zero > "$BATS_TEST_TMPDIR/out" 3>&- &
    pid=$!
    exec {fd}< "$BATS_TEST_TMPDIR/out"
    eventually eval "job=\$(view '.jobs[0].id') && [ \"\$job\" != null ]"
    eventually shows "$job" "output: its reader is slower than the job"
    [ "$(wc -c <&"$fd")" -eq 100000000 ]
    wait "$pid"
}

@test "a job that waits for nothing is shown so, and many short waits are no long one" {
    start_dvm 2 --slots 4
    hold_job plain 1
    for map in slot node; do
        prun -v --map-by "$map" -n 2 "$ends" often - - 2 - 2>> "$BATS_TEST_TMPDIR/err"
    done
    run ! grep "waits\|wait for" "$BATS_TEST_TMPDIR/err"
    shows "$(view '.jobs[0].id')"
    [ "$(pstat jobs | awk 'NR == 2 { print $NF }')" = - ]
    release_job plain 1
    end_job plain
}
