#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# PMIx events over several daemons and jobs, with real clients: which processes receive which event, each once.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

events=${EVENT_PROBE:-$repo/build/probe/event_probe}

setup_file() {
    build_all
    [ -n "${EVENT_PROBE:-}" ] || make -s -C "$repo" build/probe/event_probe >&2
}
setup() {
    new_dvm_dir
    said=$BATS_TEST_TMPDIR/said
    gate=$BATS_TEST_TMPDIR/gate
    mkfifo "$said" "$gate"
    exec {said_fd}<> "$said"
    lines=()
}
teardown() { end_dvm; }

# start_ranks NAME N [PRUN-OPTION…] -- [ARGUMENT…]: a job in the background that prints the events of its ranks.
start_ranks() {
    local name=$1 n=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    timeout --kill-after=10 "$limit" "$bin/prun" -n "$n" "${options[@]}" "$events" "$@" > "$said" 2> "$BATS_TEST_TMPDIR/$name.err" 3>&- &
    eval "${name}_pid=$!"
}

# take N: the next N lines of the jobs' output, in any order; sorted in $taken.
take() {
    local i
    lines=()
    for ((i = 0; i < $1; i++)); do
        read -r -t "$limit" -u "$said_fd" line
        lines+=("$line")
    done
    taken=$(printf '%s\n' "${lines[@]}" | LC_ALL=C sort)
}

# No line is left when all processes that could print one have ended.
nothing_more() {
    [ "$(timeout 0.1 cat <&"$said_fd" || true)" = "" ]
}

expect() { # LINE…: these and no others
    take $#
    [ "$taken" = "$(printf '%s\n' "$@" | LC_ALL=C sort)" ] || {
        echo "$taken" >&2
        false
    }
}

nspace_of() { sed -n "s/^up $1 \([^ ]*\) .*/\1/p" <<< "$taken" | head -n 1; }

# --- ranges: a0 sends; A has ranks on nodes 1 to 3, B on 1 and 2, C on 3; node 4 has none

start_three_jobs() {
    start_dvm 4 --slots 3
    start_ranks a 3 --host 1-3 --map-by node -- ranks a "$gate"
    start_ranks b 2 --host 1,2 --map-by node -- ranks b
    start_ranks c 1 --host 3 -- ranks c
    take 6
    b=$(nspace_of b)
    c=$(nspace_of c)
    exec {gate_fd}> "$gate"
}

end_three_jobs() {
    echo end >&"$gate_fd"
    wait "$a_pid" "$b_pid" "$c_pid"
    nothing_more
}

@test "an event for the sender only, or for its node, goes no further" {
    start_three_jobs
    echo proclocal >&"$gate_fd"
    expect "a0 proclocal"
    echo local >&"$gate_fd"
    expect "a0 local" "b0 local"
    end_three_jobs
}

@test "an event for the namespace reaches its ranks on all nodes, and no rank of another job there" {
    start_three_jobs
    echo namespace >&"$gate_fd"
    expect "a0 namespace" "a1 namespace" "a2 namespace"
    end_three_jobs
}

@test "an event for the session, for all, or without a range reaches every job" {
    start_three_jobs
    local range
    for range in session global undef; do
        echo "$range" >&"$gate_fd"
        expect "a0 $range" "a1 $range" "a2 $range" "b0 $range" "b1 $range" "c0 $range"
    done
    end_three_jobs
}

@test "an event for a list of processes reaches these, on any node and of any job" {
    start_three_jobs
    echo "custom $b 1 $c *" >&"$gate_fd"
    expect "b1 custom" "c0 custom"
    echo "custom $b *" >&"$gate_fd"
    expect "b0 custom" "b1 custom"
    echo "custom no.such 0 $c 7" >&"$gate_fd"
    end_three_jobs
}

@test "a custom range without a list is refused, and no process is notified" {
    start_three_jobs
    echo nolist >&"$gate_fd"
    expect "a0 nolist" "refused: bad parameter"
    end_three_jobs
}

@test "an event for the resource manager is in the log of the sender's daemon, and no other rank is notified" {
    start_three_jobs
    echo rm >&"$gate_fd"
    expect "a0 rm"
    end_three_jobs
    grep -q "\.0 sent an event for the resource manager" "$DVM_SESSION_DIR/1/prted.log"
}

@test "default handlers run last, and not for events that are marked" {
    start_dvm 2 --slots 1
    run prun -n 2 "$events" handlers
    [ "$status" -eq 0 ]
    [ "$output" = $'plain: one\nplain: several\nplain: default\nmarked: one\nmarked: several' ]
}

@test "a storm of events is refused beyond a limit, and each accepted event arrives once" {
    start_dvm 2 --slots 1
    local other
    other=$(daemon_of 2)
    start_ranks a 2 --map-by node -- storm 5000 "$gate"
    take 1
    exec {gate_fd}> "$gate"
    kill -STOP "$other"
    echo go >&"$gate_fd"
    expect "about 1024 taken, the others refused"
    kill -CONT "$other"
    echo end >&"$gate_fd"
    expect "all of what was taken has come"
    wait "$a_pid"
}

rss_kib() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$(daemon_of "$1")/status"; }

@test "delivered events leave no memory behind" {
    start_dvm 2 --slots 1
    printf 'go\nend\n' > "$BATS_TEST_TMPDIR/go"
    local before i to
    for to in "" listed; do # the namespace, a list of processes
        for ((i = 0; i < 11; i++)); do
            [ "$i" -ne 1 ] || before=$(rss_kib 2)
            run prun -n 2 --map-by node "$events" storm 900 "$BATS_TEST_TMPDIR/go" $to
            [[ "$output" == *"all of what was taken has come"* ]]
        done
        # 9,000 events; the library's record of one takes 3 KiB.
        echo "KiB: $before, then $(rss_kib 2)"
        [ $(($(rss_kib 2) - before)) -lt 8192 ]
    done
}

@test "an event for the session is forgotten when all jobs that were there have ended" {
    start_dvm 1 --slots 2
    local before grown i
    for ((i = 0; i < 160; i++)); do
        [ "$i" -ne 80 ] || before=$(metric 1 process_heap_bytes) # the daemon keeps the history of 64 jobs
        prun -n 2 "$probe" notify -3007 session
    done
    grown=$(($(metric 1 process_heap_bytes) - before))
    # 160 events; the library's record of one takes 1.4 KiB.
    echo "the daemon's heap has grown by $grown bytes"
    [ "$grown" -lt 65536 ]
}

# --- ranks that are lost

# told EVENT RANK…: the output of each of these ranks.
told() {
    local what=$1 rank
    shift
    for rank in "$@"; do echo "$rank $what"; done
}

# survivors HOW LOST SIZE: the ranks below LOST end in that way.
survivors() {
    start_dvm 3 --slots 2
    start_ranks a "$3" --recoverable --map-by node -- survive "$@"
}

end_survivors() {
    code=0
    wait "$a_pid" || code=$?
    nothing_more
}

@test "the end of a rank by a signal is reported to the remaining ranks, and runs no default handler" {
    survivors signal 1 5
    mapfile -t all < <(told "BY_SIG own 0 code 137" 1 2 3 4)
    expect "${all[@]}"
    end_survivors
    [ "$code" -eq 0 ]
    grep -q "1 of 5 ranks failed or were lost: rank 0 on node1 (vpid 1) was ended by signal 9" "$BATS_TEST_TMPDIR/a.err"
}

@test "a rank that exits as a PMIx client is reported as not finalized, with its code" {
    survivors exit 1 5
    mapfile -t all < <(told "TERM_WO_SYNC own 0 code 5" 1 2 3 4)
    expect "${all[@]}"
    end_survivors
    [ "$code" -eq 5 ]
}

@test "a rank that finalizes and exits with a code is reported with the code" {
    survivors finalize 1 5
    mapfile -t all < <(told "EXIT_NONZERO own 0 code 6" 1 2 3 4)
    expect "${all[@]}"
    end_survivors
    [ "$code" -eq 6 ]
}

@test "a rank that another process has killed is reported as killed" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 2
    start_ranks a 3 --recoverable --map-by node -- survive wait 1 3
    take 1
    run timeout --kill-after=10 "$limit" "$probe" tool-control "$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")" \
        kill "$(cut -d' ' -f2 <<< "$taken")" 0
    [ "${lines[-1]}" = "control: SUCCESS" ]
    mapfile -t all < <(told "BY_CMD own 0 code 137" 1 2)
    expect "${all[@]}"
    end_survivors
}

@test "several ranks that end at once are each reported once to each remaining rank" {
    survivors signal 3 6
    mapfile -t all < <(for r in 0 1 2; do told "BY_SIG own $r code 137" 3 4 5; done)
    expect "${all[@]}"
    end_survivors
    [ "$code" -eq 0 ]
}

@test "the ranks of a lost daemon are reported to those on other daemons" {
    survivors wait 2 6 # two on node 1 is one of the two; see --map-by node
    take 2
    # Ranks 0 and 3 are on node 1, 1 and 4 on node 2: kill rank 1's daemon, then rank 0 by its number.
    kill -KILL "$(daemon_of 2)"
    mapfile -t all < <(for r in 1 4; do told "TERM_WO_SYNC own $r" 2 3 5; done)
    expect "${all[@]}"
    pterm --job "$(view '.jobs[0].id')"
    wait "$a_pid" || true
}

@test "the loss of a daemon is reported as an offline node, to registered ranks of any job; a shrink is not" {
    start_dvm 4 --slots 1
    start_ranks a 2 -- offline
    expect up up
    prte resize 3 > /dev/null
    kill -KILL "$(daemon_of 3)"
    expect "rank 0: offline: 3 node3" "rank 1: offline: 3 node3"
    wait "$a_pid"
    nothing_more
}

@test "the rank that has spawned a job is notified of its start, the cause of its end, and its end, each once" {
    start_dvm 2 --slots 1
    local how expected
    while IFS=: read -r how expected; do
        start_ranks a 1 -- parent "$events" die "$how"
        expect "parent0 JOB_START other -2" "parent0 $expected" "parent0 JOB_END other -2 ${expected#* other 0 }"
        code=0
        wait "$a_pid" || code=$?
        [ "$code" -eq "${expected##* }" ]
    done << '.'
signal:BY_SIG other 0 code 137
exit:TERM_WO_SYNC other 0 code 5
abort:REQUESTED_ABORT other 0 code 7
.
    nothing_more
}

@test "the end of a job is told once, with its name, and to no job that comes later" {
    start_dvm 1 --slots 4
    for _ in 1 2 3; do
        run timeout --kill-after=10 "$limit" "$bin/prun" -n 1 "$events" ends true
        [ "$status" -eq 0 ]
        [ "$output" = "1, of my child" ]
    done
}

# expect_of_connected connected|parted EVENT...: two parents, whose child job of two connects to
# them and, if `parted`, disconnects; then rank 0 of the children fails. The events that all of
# them see are the three below and the given ones.
expect_of_connected() {
    local kind=$1 code=0
    shift
    start_ranks a 2 -- connected "$events" "$kind"
    expect "parent0 JOB_START other -2" "parent0 TERM_WO_SYNC other 0 code 5" "$@" \
        "child1 TERM_WO_SYNC own 0 code 5"
    wait "$a_pid" || code=$?
    [ "$code" -eq 5 ]
}

@test "a rank that has connected to a job is notified of the loss of the job's ranks" {
    start_dvm 4 --slots 1
    expect_of_connected connected "parent1 TERM_WO_SYNC other 0 code 5"
}

@test "a rank that has connected to a job on its daemon is notified of the loss of the job's ranks" {
    start_dvm 1 --slots 4
    expect_of_connected connected "parent1 TERM_WO_SYNC other 0 code 5"
}

@test "a rank that has disconnected from a job on its daemon is not notified" {
    start_dvm 1 --slots 4
    expect_of_connected parted
}

@test "a rank that has disconnected before is not notified" {
    start_dvm 4 --slots 1
    expect_of_connected parted
}

# --- groups by invitation: the library's, between clients, by events that are ours to pass on

@test "ranks on three daemons are invited to a group, accept, and are notified when it is complete; without a context id, and no rank can leave" {
    start_dvm 3 --slots 1
    start_ranks club 3 -- invite accept
    expect "invite: SUCCESS, 0 results" "leave: not supported" "rank "{0,1,2}": invited to club by rank 0" \
        "rank "{0,1,2}": complete: club by rank 0" "rank "{1,2}": join: SUCCESS"
    wait "$club_pid"
    nothing_more
}

@test "a declined invitation does not end: the library counts acceptances only" {
    start_dvm 3 --slots 1
    start_ranks club 3 -- invite decline
    expect "invite: no end of it" "leave: not supported" "rank "{0,1,2}": invited to club by rank 0" "rank "{1,2}": join: SUCCESS"
    wait "$club_pid"
    nothing_more
}
