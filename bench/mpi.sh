#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures local DVMs with real MPI programs; one JSON line per figure.
#
# MPI_JOBS, PAIRS: numbers of jobs and pairs.
set -euo pipefail
MPI_JOBS=${MPI_JOBS:-200}
PAIRS=${PAIRS:-3}
# shellcheck source=bench/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"
HELLO=$ROOT/build/examples/mpi_hello

# floor_of: a bare PMIx server with a TLS context, beside our daemons: memory that they share counts for neither.
floor_of() { "$HELPERS/floor" | jq -c 'select(.what == "server and TLS context")'; }

# hello: a real program so many times in a row; what head and member hold before and after, and over the floor of that moment.
hello() {
    local line floor before_head before_member
    prte start -n 4 --slots 2 > /dev/null
    timed -n 20 -- "$BIN/prun" -n 4 --map-by node "$HELLO" > /dev/null
    before_head=$(state 0)
    before_member=$(state 1)
    line=$(timed -n "$MPI_JOBS" -w 0 -- "$BIN/prun" -n 4 --map-by node "$HELLO")
    floor=$(floor_of)
    jq -c --argjson n 4 '{bench: "mpi", what: "hello", ranks: $n} + .' <<< "$line"
    emit growth what "MPI jobs" jobs "$MPI_JOBS" of head before "$before_head" after "$(state 0)"
    emit growth what "MPI jobs" jobs "$MPI_JOBS" of member before "$before_member" after "$(state 1)"
    jq -cn --argjson floor "$floor" --argjson member "$(state 1)" --argjson head "$(state 0)" \
        '{bench: "memory", when: "after MPI jobs", floor: ($floor | {rss_kib, private_kib}),
          above_floor_kib: {member: ($member.rss_kib - $floor.rss_kib), member_private: ($member.private_kib - $floor.private_kib),
          head: ($head.rss_kib - $floor.rss_kib), head_private: ($head.private_kib - $floor.private_kib)}}'
    prte stop > /dev/null
}

# crowd: 64 ranks on whatever CPUs there are, by us over 4 members and by the launcher that comes with Open MPI, in turn.
crowd() {
    local i ours=() theirs=()
    if ! command -v mpirun > /dev/null; then return 0; fi
    prte start -n 4 --slots 16 > /dev/null
    for ((i = 0; i < PAIRS; i++)); do
        ours+=("$(timed -n 1 -w 0 -- "$BIN/prun" -n 64 "$HELLO" | jq -c '[.median_ms, .failed]')")
        theirs+=("$(timed -n 1 -w 0 -- mpirun --allow-run-as-root --oversubscribe -n 64 "$HELLO" | jq -c '[.median_ms, .failed]')")
    done
    prte stop > /dev/null
    jq -cn --argjson ours "[$(IFS=, && echo "${ours[*]}")]" --argjson theirs "[$(IFS=, && echo "${theirs[*]}")]" \
        'def median: sort | .[length / 2 | floor];
         {bench: "mpi", what: "64 ranks, oversubscribed", pairs: ($ours | length), failed: ([$ours[], $theirs[]] | map(.[1]) | add),
          prun_ms: ($ours | map(.[0]) | median), mpirun_ms: ($theirs | map(.[0]) | median),
          ratio: ([range($ours | length) | $ours[.][0] / $theirs[.][0]] | median)}'
}

# latency: of 8 bytes between two ranks, each bound to a core of its own, by us and by the launcher that comes with Open MPI, in
# turn. Only a daemon that has its machine for itself binds ranks by default, so the host gets the name of the member's node.
latency() {
    local i ours=() theirs=()
    if ! command -v mpirun > /dev/null || ! unshare --uts true 2> /dev/null || [ "$(nproc)" -lt 2 ]; then return 0; fi
    unshare --uts sh -c 'hostname node1 && exec "$@"' sh timeout "$LIMIT" "$BIN/prte" start -n 1 --slots 2 > /dev/null
    for ((i = 0; i < PAIRS; i++)); do
        ours+=("$(timeout "$LIMIT" "$BIN/prun" -n 2 "$HELPERS/pingpong")")
        theirs+=("$(timeout "$LIMIT" mpirun --allow-run-as-root --bind-to core -n 2 "$HELPERS/pingpong")")
    done
    prte stop > /dev/null
    jq -cn --argjson ours "[$(IFS=, && echo "${ours[*]}")]" --argjson theirs "[$(IFS=, && echo "${theirs[*]}")]" \
        'def median: sort | .[length / 2 | floor];
         {bench: "mpi", what: "8 bytes between bound ranks", pairs: ($ours | length), prun_us: ($ours | median),
          mpirun_us: ($theirs | median), ratio: ([range($ours | length) | $ours[.] / $theirs[.]] | median)}'
}

hello
crowd
latency
