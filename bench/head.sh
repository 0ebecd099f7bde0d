#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures the end of the head, and what its records cost; one JSON line per figure. usage: head.sh [MEMBERS…] (default: 8 64)
#
# RUNS: heads that are killed for each figure (0: none); ROUNDS: rounds of jobs, in which the three kinds of heads take turns; JOBS: jobs
# of a round, one after the other and then 16 at once.
set -euo pipefail
RUNS=${RUNS:-7}
ROUNDS=${ROUNDS:-15}
JOBS=${JOBS:-100}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/lib.bash
source "$here/lib.bash"

ms_since() { awk -v from="$1" -v to="$(now_us)" 'BEGIN {printf "%.1f\n", (to - from) / 1000}'; }
prun() { timeout --kill-after=10 60 "$BIN/prun" "$@"; }

# --- from SIGKILL to the first job and the first event

# first_job N: at a member, where prun waits, and at the head, where it is tried again until a head is there.
first_job() {
    local killed
    prte start -n "$1" --slots 4 > /dev/null
    killed=$(now_us)
    kill -KILL "$(prted_of 0)"
    (prun --dvm "$DVM_SESSION_DIR/1" -n 1 true && ms_since "$killed" >> "$dir/member.$1") &
    until prun -n 1 true 2> /dev/null; do :; done
    ms_since "$killed" >> "$dir/head.$1"
    wait $!
    prte stop > /dev/null
}

# first_event N: of a shrink by one member, which is tried again until a head is there.
first_event() {
    local killed event=""
    prte start -n "$1" --slots 4 > /dev/null
    killed=$(now_us)
    kill -KILL "$(prted_of 0)"
    until [ -n "$event" ]; do
        while read -r _ _ event _; do
            [[ $event != asked ]] || continue
            ms_since "$killed" >> "$dir/event.$1"
            break
        done < <(prte resize $(($1 - 1)) 2> /dev/null)
    done
    prte stop > /dev/null
}

absence() {
    local n=$1 i of
    for ((i = 0; i < RUNS; i++)); do
        first_job "$n"
        first_event "$n"
    done
    for of in member head event; do
        emit head_absence members "$n" first "$of" runs "$RUNS" median_ms "$(median < "$dir/$of.$n")" \
            all_ms "$(sort -n "$dir/$of.$n" | jq -sc .)"
    done
}

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

# dvm KIND OPTION…: a DVM of 8 members whose head has these options.
dvm() {
    mkdir "$dir/bin.$1"
    cp "$(readlink -f "$BIN/prte")" "$dir/bin.$1/prte"
    write_prted "$@"
    DVM_SESSION_DIR=$dir/$1 timeout "$LIMIT" "$dir/bin.$1/prte" start -n 8 --slots 64 > /dev/null
}
in_sync() { [ "$(DVM_SESSION_DIR=$dir/keepers metric 0 dvm_keepers 2> /dev/null)" = 2 ]; }

# start_dvms: without records, with a file, with that and keepers. A first head with keepers asks the members, which takes longer
# than `prte start` waits; so the next process of a head gets them.
start_dvms() {
    dvm none
    dvm records --keep-records
    dvm keepers --keep-records
    write_prted keepers --keep-records --keepers
    kill -KILL "$(DVM_SESSION_DIR=$dir/keepers prted_of 0)"
    local limit=$((SECONDS + LIMIT))
    until in_sync; do
        [ "$SECONDS" -lt "$limit" ] || { echo "bench head: no two keepers within $LIMIT s" >&2; return 1; }
        read -r -t 0.1 _ <> <(:) || true
    done
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

end_dvms() {
    local kind
    for kind in none records keepers; do
        [ ! -e "$dir/$kind/local.json" ] || timeout 60 "$BIN/prte" stop --dvm "$dir/$kind" > /dev/null 2>&1 || true
    done
    at_end
}
trap end_dvms EXIT

start_dvms
cost
bytes
[ $# -gt 0 ] || set -- 8 64
if ((RUNS > 0)); then
    for n in "$@"; do absence "$n"; done
fi
