#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The PMIx server's port in the hands of a hostile client: neither silence nor malformed messages end or hang a daemon.
# The daemons are those with the sanitizers.
# shellcheck disable=SC2030,SC2031  # the functions below are called in the process of one test

bats_require_minimum_version 1.5.0
load lib.bash

# shellcheck disable=SC2034 # lib.bash uses it
bin=${BIN:-$repo/build/asan/bin}
hostile=${HOSTILE_PROBE:-$repo/build/probe/hostile_probe}
tool=${TOOL_PROBE:-$repo/build/probe/tool_probe}

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" asan >&2
    export ASAN_OPTIONS=detect_leaks=0
    [ -n "${HOSTILE_PROBE:-}" ] || make -s -C "$repo" build/probe/hostile_probe >&2
    [ -n "${TOOL_PROBE:-}" ] || make -s -C "$repo" build/probe/tool_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "C27: connections that say nothing, or half a hello, hold up no rank: it connects while they are still silent" {
    start_dvm 1 --slots 2
    run prun -n 1 "$hostile" silence 40
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "connected beside 40 silent connections, 40 of them still open" ]
}

@test "C27: a hostile client ends no daemon, and the next job runs there: hellos and messages of all commands, mutated" {
    local seed
    start_dvm 1 --slots 2
    for seed in ${HOSTILE_SEEDS:-1 2 1000 1015}; do
        run prun -n 1 "$hostile" "$seed" "${HOSTILE_CONNECTIONS:-100}"
        echo "seed $seed: $output"
        [[ "$output" == *"asked after "*" connections: NOT FOUND" ]]
        [ "$status" -eq 0 ]
        # shellcheck disable=SC2154 # lib.bash sets it
        run prun -n 1 "$probe" spawn 1 true
        [ "$status" -eq 0 ]
        [ "$output" = "spawn: SUCCESS" ]
    done
}

@test "C27: a value of any type ends no daemon, as an attribute, committed, or asked for: counts, lengths, missing parts" {
    local name
    export HWLOC_LIBXML=0 # its own parser takes any depth
    start_dvm 1 --slots 2
    for name in $("$hostile" cases); do
        run prun --stdin none -n 1 "$hostile" case "$name"
        echo "$name: $output"
        [ "$output" = "asked after 1 connections: NOT FOUND" ]
        [ "$status" -eq 0 ]
    done
}

# Clock ticks of processor time that the daemon has taken.
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$(daemon_of "$1")/stat"; }

@test "C27: a commit of 100,000 keys takes the daemon seconds, and its keys are forgotten with the job" {
    local before
    start_dvm 1 --slots 2
    for _ in 1 2 3; do
        before=$(cpu_ticks 1)
        run prun --stdin none -n 1 "$hostile" case many-keys
        echo "$output"
        [ "$output" = "asked after 1 connections: NOT FOUND" ]
        echo "ticks: $(($(cpu_ticks 1) - before))"
        # 2.4 s with the sanitizers; minutes if each key is compared with all others
        [ $(($(cpu_ticks 1) - before)) -lt $((20 * $(getconf CLK_TCK))) ]
    done
}

@test "messages whose headers come in two parts are answered" {
    start_dvm 1 --slots 2
    run prun --stdin none -n 1 "$hostile" halves 10
    echo "$output"
    [ "${lines[0]}" = "10 of 10 messages are answered" ]
}

@test "C27: connections that announce long messages are closed when a rank has announced more than two" {
    start_dvm 1 --slots 2
    run prun --stdin none -n 1 "$hostile" announce 16
    echo "$output"
    [ "${lines[0]}" = "2 of 16 connections are open" ]
    [ "${lines[1]}" = "asked after 1 connections: NOT FOUND" ]
}

# peak_kb VPID: the most memory that the daemon has had.
peak_kb() { awk '/^VmHWM/ { print $2 }' "/proc/$(daemon_of "$1")/status"; }

# expect_within MB LINE ARGUMENT...: the probe's first line in a new DVM. An honest question is answered afterwards, and
# the daemon has never had MB more memory than before.
expect_within() {
    local mb=$1 line=$2 before
    shift 2
    ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1 start_dvm 1 --slots 2
    prun -n 1 true
    before=$(peak_kb 1)
    run prun --stdin none -n 1 "$hostile" "$@"
    echo "$output"
    [ "${lines[0]}" = "$line" ]
    [ "${lines[1]}" = "asked after 1 connections: NOT FOUND" ]
    echo "from $before to $(peak_kb 1) KB"
    [ "$(peak_kb 1)" -lt $((before + mb * 1024)) ]
}

@test "C27: stored values take 128 MB for a rank's node and as much for others, and a commit beyond it is refused" {
    # two tables; and a message, as it comes and as it is unpacked
    expect_within $((2 * 128 + 64)) "42 of 150 values are stored: OUT OF RESOURCE" store 150
    grep -q 'the value of stored.42 and those after it are not stored: a rank may store 262144 values and 128 MB' \
        "$DVM_SESSION_DIR/1/prted.log"
}

@test "C27: a message of many arrays is refused when they have more than 262,144 elements together" {
    expect_within 400 "12 arrays: UNPACK FAILURE" unpack 12 # 1.3 GB otherwise
}

@test "C27: a rank that reads no answers is left when 160 MB of them wait" {
    expect_within 300 "not all of 200 answers have come" deaf 200 # 600 MB otherwise
}

@test "C27: a rank cannot store arrays about nodes, which the daemon gives" {
    start_dvm 1 --slots 2
    run prun --stdin none -n 1 "$hostile" arrays 10
    echo "$output"
    [ "${lines[0]}" = "0 of 10 arrays are stored" ]
    [ "${lines[1]}" = "asked after 1 connections: NOT FOUND" ]
}

@test "a rank cannot end the output request of a tool" {
    DVM_PMIX_TOOLS=1 start_dvm 1 --slots 4
    local gate=$BATS_TEST_TMPDIR/gate says=$BATS_TEST_TMPDIR/says line uri
    uri=$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")
    mkfifo "$gate" "$gate.2" "$says"
    # shellcheck disable=SC2016,SC2154 # for the ranks' shell; set by lib.bash
    timeout --kill-after=10 "$limit" "$tool" run "$uri" pull 1 \
        sh -c 'read -r _ < "$1"; echo first; read -r _ < "$1.2"; echo second' sh "$gate" < /dev/null > "$says" 3>&- &
    local tool_pid=$!
    exec {fd}< "$says"
    expect() { read -r -t "$limit" -u "$fd" line && echo "it says: $line" && [ "$line" = "$1" ]; }
    expect "pull: SUCCESS"
    echo > "$gate"
    expect first
    run prun --stdin none -n 1 "$hostile" end-output 1
    echo "$output"
    [ "${lines[0]}" = "0 requests are ended" ]
    echo > "$gate.2"
    expect second
    expect "ended with code 0"
    wait "$tool_pid"
}

expect_refreshed() {
    run prun --stdin none -n 2 "$hostile" refresh 3
    echo "$output"
    [[ "$output" == *"3 of 3 new values are found"* ]]
    [ "$status" -eq 0 ]
}

@test "a refreshed cache has the value that a rank of another daemon has put last" {
    start_dvm 2 --slots 1
    expect_refreshed
}

@test "a refreshed cache has the value that a rank of the same daemon has put last" {
    start_dvm 1 --slots 2
    expect_refreshed
}
