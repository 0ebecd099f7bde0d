#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Finds the calls that allocated the growth of head and member over many jobs; one JSON line per daemon and kind of job.
#
# HEAP_JOBS, HEAP_MPI_JOBS: number of measured jobs. Before them, as many jobs run as fill the bounded histories.
set -euo pipefail
HEAP_JOBS=${HEAP_JOBS:-1000}
HEAP_MPI_JOBS=${HEAP_MPI_JOBS:-100}
PLACES=5 # that are told, the largest
# shellcheck source=bench/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
export HEAP_DIR=$dir/heap
number=0

# dump NAME: allocated blocks of head and member, by the allocating calls. Note that a request for metrics allocates too.
dump() {
    local vpid pid
    for vpid in 0 1; do
        pid=$(prted_of "$vpid")
        kill -s RTMIN+5 "$pid"
        until [ -e "$HEAP_DIR/$pid.$number" ]; do metric "$vpid" process_heap_bytes > /dev/null; done
        mv "$HEAP_DIR/$pid.$number" "$HEAP_DIR/$vpid.$1"
    done
    number=$((number + 1))
}

# places BEFORE AFTER: lines "BYTES BLOCKS CALLS…" of the differences, the largest growth first.
places() {
    awk '{
            bytes = $1; blocks = $2; $1 = $2 = ""
            if (FNR == NR) { had[$0] = bytes; blocks_had[$0] = blocks }
            else if (bytes != had[$0] + 0) { print bytes - had[$0], blocks - blocks_had[$0] $0 }
            if (FNR != NR) { delete had[$0] }
        } END { for (calls in had) print -had[calls], -blocks_had[calls] calls }' "$1" "$2" | sort -rn
}

# named: functions of ours have no names in the program's own table.
named() {
    local call name
    local -a words
    while read -r -a words; do
        printf '%s %s' "${words[0]}" "${words[1]}"
        for call in "${words[@]:2}"; do
            name=${call##*:}
            if [[ $call == prted:* ]]; then
                call=${call#prted:}
                name=$(addr2line -f -e "$BIN/prted" "${call%%:*}" | head -n 1)
            fi
            printf ' %s' "${name:-${call%:}}"
        done
        echo
    done
}

# tell WHAT JOBS: the difference of the dumps "before" and "after". A block belongs to the first caller outside libc.
tell() {
    local vpid
    for vpid in 0 1; do
        places "$HEAP_DIR/$vpid".{before,after} > "$dir/places"
        emit heap what "$1" jobs "$2" of "$([ "$vpid" = 0 ] && echo head || echo member)" \
            bytes_by "$(awk '{
                    for (i = 3; $i ~ /^libc\./; i++);
                    sub(/:.*/, "", $i); sum[$i] += $1
                } END { for (i in sum) print i, sum[i] }' "$dir/places" |
                jq -Rnc '[inputs / " " | {(.[0]): (.[1] | tonumber)}] | add // {}')" \
            places "$(head -n "$PLACES" "$dir/places" | awk '$1 > 0' | named |
                jq -Rnc '[inputs / " " | {bytes: (.[0] | tonumber), blocks: (.[1] | tonumber), calls: .[2:]}]')"
    done
}

true_jobs() { timed -n "$1" -c 4 -w 0 -- "$BIN/prun" -n 1 --host 1 true > /dev/null; }
mpi_jobs() { timed -n "$1" -w 0 -- "$BIN/prun" -n 8 --map-by node "$ROOT/build/examples/mpi_hello" > /dev/null; }

mkdir "$HEAP_DIR"
LD_PRELOAD=$HELPERS/heap.so prte start -n 4 --slots 4 > /dev/null
true_jobs 500
mpi_jobs 5
dump before
true_jobs "$HEAP_JOBS"
dump after
tell "prun true" "$HEAP_JOBS"
dump before
mpi_jobs "$HEAP_MPI_JOBS"
dump after
tell "mpi_hello, 8 ranks on 4 members" "$HEAP_MPI_JOBS"
prte stop > /dev/null
