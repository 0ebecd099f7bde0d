#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Memory and descriptors of the daemons do not grow with the number of ended jobs.

# shellcheck disable=SC2154  # set by bats

bats_require_minimum_version 1.5.0
load lib

hostile=${HOSTILE_PROBE:-$repo/build/probe/hostile_probe}

setup_file() {
    build_all
    [ -n "${HOSTILE_PROBE:-}" ] || make -s -C "$repo" build/probe/hostile_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# Lines "PID DESCRIPTORS KILOBYTES" of every daemon and spawner.
footprint() {
    local pid
    for pid in $(daemons); do
        printf '%s %s %s\n' "$pid" "$(find "/proc/$pid/fd" -mindepth 1 | wc -l)" \
            "$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status")"
    done
}

# heaps VPID...: bytes that these daemons have allocated, one line each.
heaps() {
    local vpid
    for vpid; do metric "$vpid" process_heap_bytes; done
}

# The C library's heaps breathe. A client's object that stays would be 2 MB here, the requests that patch 0014 of libpmix frees
# 0.3 MB in each member.
@test "MPI: 200 jobs in a row do not change size and descriptors of daemons and spawners" {
    start_dvm 2 --slots 2
    local i bound=80000
    # The head remembers as many jobs.
    for ((i = 0; i < 64; i++)); do prun -n 2 true; done
    for ((i = 0; i < 10; i++)); do prun -n 2 --map-by node "$examples/mpi_hello" > /dev/null; done
    footprint > "$BATS_TEST_TMPDIR/before"
    heaps 0 1 2 > "$BATS_TEST_TMPDIR/heaps"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/before")" -ge 6 ]
    for ((i = 0; i < 200; i++)); do
        prun -n 2 --map-by node "$examples/mpi_hello" > "$BATS_TEST_TMPDIR/out"
        [ "$(grep -c "^hello from rank [01] of 2 " "$BATS_TEST_TMPDIR/out")" -eq 2 ]
    done
    footprint > "$BATS_TEST_TMPDIR/after"
    paste "$BATS_TEST_TMPDIR"/{before,after}
    paste -d ' ' "$BATS_TEST_TMPDIR"/{before,after} |
        awk '$1 != $4 || $2 != $5 || $6 - $3 > 1024 { bad = 1 } END { exit bad }'
    heaps 0 1 2 | paste -d ' ' "$BATS_TEST_TMPDIR/heaps" - | tee /dev/stderr | awk -v bound="$bound" '$2 - $1 > bound { bad = 1 } END { exit bad || NR != 3 }'
}

@test "a thousand jobs leave neither memory in head and member nor a descriptor" {
    local vpid
    local -a heap fds
    thousand() { timeout --kill-after=10 "$limit" xargs -P 8 -I{} "$bin/prun" -n 1 true < <(seq 1000); }
    start_dvm 1 --slots 8
    thousand # histories and caches have grown by then, which are bounded
    for vpid in 0 1; do
        heap[vpid]=$(metric "$vpid" process_heap_bytes)
        fds[vpid]=$(metric "$vpid" process_open_fds)
    done
    thousand
    for vpid in 0 1; do
        [ $(($(metric "$vpid" process_heap_bytes) - heap[vpid])) -lt 45000 ]
        [ "$(metric "$vpid" process_open_fds)" -le $((fds[vpid] + 2)) ]
    done
}

# Without patch 0032 of libpmix 40 spawned jobs leave 330 kB in the member.
@test "a member does not grow with spawned jobs" {
    local before
    start_dvm 1 --slots 2
    run -0 prun -n 1 "$examples/mpi_spawn" 1 20
    before=$(heaps 0 1)
    run -0 prun -n 1 "$examples/mpi_spawn" 1 40
    [ "$output" = "spawn: parents=1 children=1 ok" ]
    heaps 0 1 | paste -d ' ' <(echo "$before") - | tee /dev/stderr | awk '$2 - $1 > 100000 { bad = 1 } END { exit bad || NR != 2 }'
}

# 20,000 requests that stay would take 8 MB.
@test "requests to refresh a cache leave no memory in their daemon" {
    local before
    start_dvm 1 --slots 2
    prun --stdin none -n 1 "$hostile" refreshes 20000
    before=$(metric 1 process_heap_bytes)
    run prun --stdin none -n 1 "$hostile" refreshes 20000
    echo "$output"
    [ "${lines[1]}" = "asked after 1 connections: NOT FOUND" ]
    echo "from $before to $(metric 1 process_heap_bytes) bytes"
    [ "$(metric 1 process_heap_bytes)" -lt $((before + 1000000)) ]
}
