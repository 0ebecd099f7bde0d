#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures the end of the head, and what its records cost; one JSON line per figure. usage: head.sh [MEMBERS…] (default: 8 64)
#
# RUNS: heads that end for each figure (0: none); ROUNDS: rounds of jobs (0: none), in which the three kinds of heads take turns; JOBS:
# jobs of a round, one after the other and then 16 at once.
set -euo pipefail
RUNS=${RUNS:-7}
ROUNDS=${ROUNDS:-15}
JOBS=${JOBS:-100}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/lib.bash
source "$here/lib.bash"

ms_since() { awk -v from="$1" -v to="$(now_us)" 'BEGIN {printf "%.1f\n", (to - from) / 1000}'; }
prun() { timeout --kill-after=10 60 "$BIN/prun" "$@"; }

# --- what the records cost

# write_prted KIND OPTION…: the head's program of that DVM, with these options in the place of --keep-records.
write_prted() {
    {
        printf '#!/usr/bin/env bash\noptions=(%s)\nprogram=%q\n' "${*:2}" "$(readlink -f "$BIN/prted")"
        cat << 'END'
args=()
for arg in "$@"; do
    if [ "$arg" = --keep-records ]; then args+=("${options[@]}"); else args+=("$arg"); fi
done
exec "$program" "${args[@]}"
END
    } > "$dir/bin.$1/prted.new"
    chmod +x "$dir/bin.$1/prted.new"
    mv "$dir/bin.$1/prted.new" "$dir/bin.$1/prted"
}

# dvm KIND MEMBERS OPTION…: a DVM whose head has these options.
dvm() {
    mkdir "$dir/bin.$1"
    cp "$(readlink -f "$BIN/prte")" "$dir/bin.$1/prte"
    write_prted "$1" "${@:3}"
    DVM_SESSION_DIR=$dir/$1 timeout "$LIMIT" "$dir/bin.$1/prte" start -n "$2" --slots 64 > /dev/null
}
# until_in_sync KIND MEMBERS: they are wired, and two of them keep the records.
until_in_sync() {
    local limit=$((SECONDS + LIMIT))
    until [ "$(DVM_SESSION_DIR=$dir/$1 metric 0 dvm_keepers 2> /dev/null)" = 2 ] &&
        [ "$(pstat --dvm "$dir/$1" --json | jq '[.members[] | select(.vpid > 0 and .state == "wired")] | length')" = "$2" ]; do
        [ "$SECONDS" -lt "$limit" ] || { echo "bench head: no two keepers within $LIMIT s" >&2; return 1; }
        read -r -t 0.1 _ <> <(:) || true
    done
}

# start_dvms: without records, with a file, with that and keepers. A first head with keepers asks the members, which takes longer
# than `prte start` waits; so the next process of a head gets them.
start_dvms() {
    dvm none 8
    dvm records 8 --keep-records
    dvm keepers 8 --keep-records
    write_prted keepers --keep-records --keepers
    kill -KILL "$(DVM_SESSION_DIR=$dir/keepers prted_of 0)"
    until_in_sync keepers 8
}

# jobs KIND ARGUMENT…: their figures, as a line of JSON.
jobs_in() { DVM_SESSION_DIR=$dir/$1 timed "${@:2}" -- "$BIN/prun" -n 1 true; }

cost() {
    local kind round
    for ((round = 0; round < ROUNDS; round++)); do
        for kind in none records keepers; do
            jobs_in "$kind" -n "$JOBS" | jq .median_ms >> "$dir/ms.$kind"
            jobs_in "$kind" -n "$JOBS" -c 16 | jq .per_s >> "$dir/rate.$kind"
        done
    done
    for kind in none records keepers; do
        emit head_cost kind "$kind" members 8 rounds "$ROUNDS" jobs "$JOBS" median_ms "$(median < "$dir/ms.$kind")" \
            ms_ratio "$(paste "$dir/ms.$kind" "$dir/ms.none" | awk '{printf "%.3f\n", $1 / $2}' | median)" \
            per_s "$(median < "$dir/rate.$kind")" \
            rate_ratio "$(paste "$dir/rate.$kind" "$dir/rate.none" | awk '{printf "%.3f\n", $1 / $2}' | median)"
    done
}

# bytes: of the records of a job, by the growth of the file; it is read before it has 16 MiB.
bytes() {
    local before ranks
    for ranks in 1 64; do
        before=$(stat -c %s "$dir/records/0/records")
        DVM_SESSION_DIR=$dir/records timed -n 20 -w 0 -- "$BIN/prun" -n "$ranks" true > /dev/null
        emit head_bytes ranks "$ranks" per_job "$((($(stat -c %s "$dir/records/0/records") - before) / 20))"
    done
}

# --- from the end of the head to the first job and the first event

# start_alone RECORDS N: a DVM of its own whose head keeps its records in a file, or with keepers and nowhere else.
start_alone() {
    if [ "$1" = file ]; then
        prte start -n "$2" --slots 4 > /dev/null
        return
    fi
    dvm kept "$2" --keep-records
    write_prted kept --keepers
    kill -KILL "$(DVM_SESSION_DIR=$dir/kept prted_of 0)"
    until_in_sync kept "$2"
}

# end_head RECORDS SIGNAL: sets `ended`.
end_head() {
    local pid
    pid=$(DVM_SESSION_DIR=$(session "$1") prted_of 0)
    ended=$(now_us)
    kill -"$2" "$pid"
}
session() { if [ "$1" = file ]; then echo "$dir/d"; else echo "$dir/kept"; fi; }
stop_alone() {
    DVM_SESSION_DIR=$(session "$1") prte stop > /dev/null
    rm -rf "$dir/bin.kept"
}

# first_job RECORDS N SIGNAL: at a member, where prun waits, and at the head, where it is tried again until a head is there.
first_job() {
    local ended at
    at=$(session "$1")
    start_alone "$1" "$2"
    end_head "$1" "$3"
    (prun --dvm "$at/1" -n 1 true && ms_since "$ended" >> "$dir/member.$1.$2.$3") &
    until prun --dvm "$at" -n 1 true 2> /dev/null; do :; done
    ms_since "$ended" >> "$dir/head.$1.$2.$3"
    wait $!
    stop_alone "$1"
}

# first_event RECORDS N SIGNAL: of a shrink by one member, which is tried again until a head is there.
first_event() {
    local ended event=""
    start_alone "$1" "$2"
    end_head "$1" "$3"
    until [ -n "$event" ]; do
        while read -r _ _ event _; do
            [[ $event != asked ]] || continue
            ms_since "$ended" >> "$dir/event.$1.$2.$3"
            break
        done < <(DVM_SESSION_DIR=$(session "$1") prte resize $(($2 - 1)) 2> /dev/null)
    done
    stop_alone "$1"
}

# absence RECORDS N SIGNAL
absence() {
    local i of
    for ((i = 0; i < RUNS; i++)); do
        first_job "$@"
        first_event "$@"
    done
    for of in member head event; do
        emit head_absence records "$1" members "$2" signal "$3" first "$of" runs "$RUNS" \
            median_ms "$(median < "$dir/$of.$1.$2.$3")" all_ms "$(sort -n "$dir/$of.$1.$2.$3" | jq -sc .)"
    done
}

end_dvms() {
    local kind
    for kind in none records keepers kept; do
        [ ! -e "$dir/$kind/local.json" ] || timeout 60 "$BIN/prte" stop --dvm "$dir/$kind" > /dev/null 2>&1 || true
    done
    at_end
}
trap end_dvms EXIT

if ((ROUNDS > 0)); then
    start_dvms
    cost
    bytes
fi
[ $# -gt 0 ] || set -- 8 64
if ((RUNS > 0)); then
    for n in "$@"; do
        absence file "$n" KILL
        absence keepers "$n" KILL
        absence keepers "$n" TERM
    done
fi
