#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Resizes of a local DVM: real daemons on this host, jobs that run, wait and are submitted meanwhile.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "4 -> 2 waits for the job on the leaving daemons and names it; the job's result is kept" {
    start_dvm 4 --slots 1
    hold_job one 4
    : > "$BATS_TEST_TMPDIR/resize" # there before tail looks for it
    prte resize 2 > "$BATS_TEST_TMPDIR/resize" &
    local resize=$!
    timeout --kill-after=10 "$limit" grep -q -m1 'Draining, waits for job .* ranks 2-3' \
        <(tail -n +1 -f --pid=$resize "$BATS_TEST_TMPDIR/resize")
    [ "$(view '[.members[] | select(.state == "draining") | .vpid] | join(",")')" = "3,4" ]
    [ "$(view '.campaigns[-1].phase')" = Draining ]
    release_job one 4
    end_job one
    [ "$code" -eq 0 ]
    [ "$(sort <<< "$said" | tr '\n' ' ')" = \
        "released on node1 released on node2 released on node3 released on node4 " ]
    wait "$resize"
    grep -q 'CampaignComplete: Complete' "$BATS_TEST_TMPDIR/resize"
    [ "$(view '.campaigns[-1].phase')" = Complete ]
    [ "$(view '[.members[] | select(.state == "wired") | .vpid] | join(",")')" = "0,1,2" ]
    [ -z "$(pgrep -f "prted .*--session-dir $DVM_SESSION_DIR/[34] ")" ]
}

@test "a shrink by 4 is one repair of each survivor's tree and one terminal event" {
    start_dvm 6 --radix 2
    repairs() { view '[.members[] | select(.vpid <= 2) | .repairs] | join(" ")'; }
    [ "$(repairs)" = "0 0 0" ]
    prte resize 2 > "$BATS_TEST_TMPDIR/resize"
    [ "$(repairs)" = "1 1 1" ]
    [ "$(grep -c 'CampaignComplete' "$BATS_TEST_TMPDIR/resize")" -eq 1 ]
}

@test "C3: a stream of jobs over the leaving daemons loses none" {
    start_dvm 4 --slots 2
    local i pids=()
    for i in 1 2 3 4 5 6 7 8; do
        prun -n 3 --map-by node "$examples/mpi_ring" 20 > "$BATS_TEST_TMPDIR/ring$i" 2>&1 &
        pids+=($!)
    done
    prte resize 2
    for i in 0 1 2 3 4 5 6 7; do wait "${pids[$i]}"; done
    for i in 1 2 3 4 5 6 7 8; do grep -q '^ring: size=3 .* ok$' "$BATS_TEST_TMPDIR/ring$i"; done
}

@test "C15: --drain kill ends the job on leaving daemons and every report has the reason" {
    start_dvm 2 --slots 1
    hold_job one 2
    run -0 prte resize 1 --drain kill
    [[ "$output" == *"has ended job "*" ranks "* ]]
    end_job one
    [ "$code" -eq 122 ]
    [ "$(view '.campaigns[-1].ended | length')" -eq 1 ]
}

@test "C15: a deadline ends jobs that still run on leaving daemons" {
    start_dvm 2 --slots 1
    hold_job one 2
    run -0 prte resize 1 --deadline 0
    end_job one
    [ "$code" -eq 122 ]
}

@test "a resize without a deadline ends when its head hangs, and names what the campaign waits for" {
    start_dvm 2 --slots 1 --silence 2 --link-grace 2
    hold_job one 2
    : > "$BATS_TEST_TMPDIR/resize"
    prte resize 1 &> "$BATS_TEST_TMPDIR/resize" &
    local resize=$! rc=0 stopped=$SECONDS
    timeout --kill-after=10 "$limit" grep -q -m1 'Draining, waits for job' \
        <(tail -n +1 -f --pid=$resize "$BATS_TEST_TMPDIR/resize")
    kill -STOP "$(daemon_of 0)"
    wait "$resize" || rc=$?
    local took=$((SECONDS - stopped))
    kill -KILL "$(daemon_of 0)"
    [ "$rc" -eq 1 ]
    [ "$took" -le 40 ] # 22 s, and some for a slow machine
    grep -q '^prte: the head has not answered for 10 s: campaign prte-1 was last Draining, waits for job .* ranks 1; ' \
        "$BATS_TEST_TMPDIR/resize"
}

# has_waited PID TIMES: it has slept so many times, and been woken.
has_waited() { [ "$(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status")" -ge "$2" ]; }

@test "a resize whose head is quiet for long goes on while the jobs run" {
    start_dvm 2 --slots 1
    hold_job one 2
    "$bin/prte" resize 1 > "$BATS_TEST_TMPDIR/resize" 3>&- &
    local resize=$! before
    eventually grep -q Draining "$BATS_TEST_TMPDIR/resize"
    before=$(awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$resize/status")
    # Twice for an event that does not come, and for an answer of the head.
    eventually has_waited "$resize" $((before + 4))
    release_job one 2
    end_job one
    [ "$code" -eq 0 ]
    wait "$resize"
}

@test "a resize names the removed daemons that do not end" {
    start_dvm 3 --slots 1 --silence 2 --link-grace 2
    kill -STOP "$(daemon_of 2)" "$(daemon_of 3)"
    run -1 timeout --kill-after=10 "$limit" "$bin/prte" resize 1
    kill -CONT "$(daemon_of 2)" "$(daemon_of 3)"
    [[ "$output" == *"the removed daemons of vpids 2-3 have not ended within 15 s"* ]]
}

@test "a job on the survivors runs on through a shrink" {
    start_dvm 4 --slots 1
    hold_job one 2 --host 1,2
    run -0 prte resize 2
    release_job one 2
    end_job one
    [ "$code" -eq 0 ]
}

# submit_jobs FIRST LAST: one after the other; prints the number and the exit code of each that did not end with its own.
submit_jobs() {
    local i rc
    for ((i = $1; i <= $2; i++)); do
        rc=0
        prun -n $((i % 4 + 1)) sh -c "sleep 0.02; exit $((i % 3))" > "$BATS_TEST_TMPDIR/job.$i" 2>&1 || rc=$?
        [ "$rc" -eq $((i % 3)) ] || echo "job $i: $rc $(cat "$BATS_TEST_TMPDIR/job.$i")"
    done
}

# RESIZES: how many; ten times as many jobs are submitted.
@test "C1: jobs that are submitted through resizes all run and end with their own codes" {
    local resizes=${RESIZES:-10} lane i lanes=()
    start_dvm 4 --slots 2
    for lane in 0 1 2 3; do
        submit_jobs $((lane * resizes * 5 / 2 + 1)) $(((lane + 1) * resizes * 5 / 2)) > "$BATS_TEST_TMPDIR/lane.$lane" 3>&- &
        lanes+=($!)
    done
    for ((i = 0; i < resizes; i++)); do
        prte resize $((i % 2 ? 4 : 2)) > /dev/null
    done
    wait "${lanes[@]}"
    run -0 cat "$BATS_TEST_TMPDIR"/lane.*
    [ -z "$output" ]
    [ "$(find "$BATS_TEST_TMPDIR" -name 'job.*' | wc -l)" -eq $((resizes * 10)) ]
    prte resize 4 > /dev/null
    run -0 prun -n 8 true
}

@test "C20: 2 -> 5, and MPI over 5" {
    start_dvm 2 --slots 1
    run -0 prte resize 5
    run -0 prun -n 5 "$examples/mpi_hello"
    [ "$(grep -c ' of 5 on ' <<< "$output")" -eq 5 ]
}

@test "C10: 4 -> 2 -> 4, again and again, with the same vpids" {
    start_dvm 4 --slots 1
    local i
    for i in 1 2 3; do
        prte resize 2
        prte resize 4
        [ "$(prun -N 1 sh -c 'echo $PMIX_HOSTNAME' | sort | tr '\n' ' ')" = "node1 node2 node3 node4 " ]
    done
}

@test "down to no member: jobs are held or refused with a reason; up again they run" {
    start_dvm 1
    prte resize 0
    run prun --no-wait -n 1 true
    [ "$status" -eq 125 ]
    [[ "$output" == *"0 of 0 "*"free"* ]]
    prte resize 1
    prun -n 1 true
}

@test "a resize to the size that is there changes nothing" {
    start_dvm 2
    run -0 prte resize 2
    [ "$(view '.campaigns | length')" -eq 0 ]
    run -1 prte resize 2 --drain kill
    [[ "$output" == *"nobody is to be removed"* ]]
}

@test "--watch-events prints a resize as it happens" {
    start_dvm 2
    mkfifo "$BATS_TEST_TMPDIR/events"
    "$bin/pstat" --watch-events > "$BATS_TEST_TMPDIR/events" 3>&- &
    local watcher=$!
    exec {fd}< "$BATS_TEST_TMPDIR/events"
    local line=
    # Whether the stream is open shows by its first event: sizes change until one comes through.
    an_event_comes() {
        size=$((5 - size))
        prte resize "$size" > /dev/null && read -r -t 1 -u "$fd" line
    }
    local size=2
    eventually an_event_comes
    [[ "$line" =~ ^[0-9:.]+\ +[0-9]+\ +(Size|DaemonWired|Campaign|NodesOffered|DaemonDeparted) ]]
    kill "$watcher"
}

@test "any members may leave, their places stay free, and the next resize fills them" {
    start_dvm 4 --slots 1
    hold_job other 1 --host 2
    run prte resize --remove 1,9
    [ "$status" -eq 1 ]
    [ "$output" = "prte: --remove: only 1 of these 2 daemons are members" ]
    prte resize --remove 3,1
    [ "$(view '[.members[] | select(.state == "wired").vpid] | join(" ")')" = "0 2 4" ]
    prun -n 1 true
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
    run prun -N 1 "$examples/mpi_ring" 10
    [[ $output == *"size=2 "*ok* ]]
    prte resize 4
    run prun -N 1 "$examples/mpi_ring" 10
    [[ $output == *"size=4 "*ok* ]]
}
