#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures local DVMs on this host; one JSON line per figure. usage: local.sh [MEMBERS…] (default: 8 64)
#
# BIN, HELPERS: where the programs and the helpers of bench/ are. RUNS, JOBS, GROWTH_JOBS, IDLE_S: how much.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$here/.." && pwd)
BIN=${BIN:-$ROOT/build/bin}
HELPERS=${HELPERS:-$ROOT/build/release/bench}
RUNS=${RUNS:-60}
JOBS=${JOBS:-1000}
GROWTH_JOBS=${GROWTH_JOBS:-2000}
IDLE_S=${IDLE_S:-30}
LIMIT=300 # seconds; nothing here takes longer unless it hangs

dir=$(mktemp -d "${TMPDIR:-/tmp}/dvm-bench-XXXXXX")
export DVM_SESSION_DIR=$dir/d
now_us() { local t=${EPOCHREALTIME/./}; t=${t/,/}; printf '%s' "$t"; }
prte() { timeout "$LIMIT" "$BIN/prte" "$@"; }
pstat() { timeout 20 "$BIN/pstat" "$@"; }

at_end() {
    if [ -e "$DVM_SESSION_DIR/local.json" ]; then prte stop > /dev/null 2>&1 || true; fi
    rm -rf "$dir"
}
trap at_end EXIT
trap 'exit 130' INT TERM

# emit BENCH KEY VALUE…: one line; values that are JSON stay so, others become texts.
emit() {
    local bench=$1
    shift
    jq -cn --arg bench "$bench" --args '[range(0; $ARGS.positional | length; 2) as $i |
        {key: $ARGS.positional[$i], value: ($ARGS.positional[$i + 1] as $v | try ($v | fromjson) catch $v)}] |
        {bench: $bench} + from_entries' "$@"
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
# timed N KEY… -- COMMAND…: by the launcher, with those keys in the line.
timed() { timeout "$LIMIT" "$HELPERS/launcher" "$@"; }

# --- processes of a DVM: each daemon is a pair of spawner and prted

spawner_of() { awk '{print $1; exit}' "$DVM_SESSION_DIR/$1/pid"; }
prted_of() { pgrep -P "$(spawner_of "$1")" -x prted | head -n 1; }
# memory PID: {"rss_kib", "pss_kib", "private_kib"}
memory() {
    awk '/^Rss:/ {rss = $2} /^Pss:/ {pss = $2} /^Private_(Clean|Dirty):/ {private += $2}
        END {printf "{\"rss_kib\": %d, \"pss_kib\": %d, \"private_kib\": %d}", rss, pss, private}' "/proc/$1/smaps_rollup"
}
switches() { awk '/ctxt_switches/ {n += $2} END {print n}' "/proc/$1/task/"*/status; }
threads() { awk '/^Threads:/ {print $2}' "/proc/$1/status"; }

tell_memory() {
    local n=$1 when=$2 pid
    emit memory members "$n" when "$when" of head process prted threads "$(threads "$(prted_of 0)")" \
        memory "$(memory "$(prted_of 0)")"
    emit memory members "$n" when "$when" of head process spawner memory "$(memory "$(spawner_of 0)")"
    pid=$(prted_of 1)
    emit memory members "$n" when "$when" of member process prted threads "$(threads "$pid")" memory "$(memory "$pid")"
    emit memory members "$n" when "$when" of member process spawner memory "$(memory "$(spawner_of 1)")"
}

# --- what is measured

boot_times() {
    local n=$1 runs=$2 i start
    for ((i = 0; i <= runs; i++)); do # the first warms up
        start=$(now_us)
        prte start -n "$n" --slots 64 > /dev/null
        if ((i > 0)); then echo $(($(now_us) - start)) >> "$dir/boot.$n"; fi
        if ((i < runs)); then prte stop > /dev/null; fi
    done
    emit boot members "$n" runs "$runs" median_ms "$(median < "$dir/boot.$n" | awk '{print $1 / 1000}')"
}

job_times() {
    local n=$1
    timed -n "$RUNS" -k bench=floor -k what=true -- true
    timed -n "$RUNS" -k bench=prun -k members="$n" -k what=--version -- "$BIN/prun" --version
    timed -n "$RUNS" -k bench=prun -k members="$n" -k what="-n 1" -- "$BIN/prun" -n 1 true
    timed -n "$RUNS" -k bench=prun -k members="$n" -k what="-n 4" -- "$BIN/prun" -n 4 true
    timed -n "$RUNS" -k bench=prun -k members="$n" -k what="-n 4 by node" -- "$BIN/prun" -n 4 --map-by node true
    timed -n "$RUNS" -k bench=prun -k members="$n" -k what="-N 1" -- "$BIN/prun" -n "$n" -N 1 true
}

rates() {
    local n=$1 c
    for c in 1 4 16; do
        timed -n "$JOBS" -c "$c" -k bench=rate -k members="$n" -- "$BIN/prun" -n 1 true
    done
}

# growth N: of the head's resident memory over jobs.
growth() {
    local n=$1 before after line
    before=$(memory "$(prted_of 0)")
    line=$(timed -n "$GROWTH_JOBS" -c 4 -- "$BIN/prun" -n 1 true)
    after=$(memory "$(prted_of 0)")
    emit growth members "$n" jobs "$GROWTH_JOBS" failed "$(jq .failed <<< "$line")" before "$before" after "$after"
}

# idle N: how often the threads of a process were switched to, which is how often they woke up.
idle() {
    local n=$1 of pid kind vpid
    local -A before
    for of in "prted 0" "prted 1" "spawner 1"; do
        read -r kind vpid <<< "$of"
        before[$of]=$(switches "$("${kind}_of" "$vpid")")
    done
    read -r -t "$IDLE_S" _ <> <(:) || true
    for of in "prted 0" "prted 1" "spawner 1"; do
        read -r kind vpid <<< "$of"
        pid=$("${kind}_of" "$vpid")
        emit idle members "$n" seconds "$IDLE_S" process "$kind" vpid "$vpid" wakeups $(($(switches "$pid") - ${before[$of]}))
    done
}

# figures LINES: when, since the request, the campaign was complete, the last departure was told, all was over.
figures() {
    awk '/asked for campaign/ {asked = $1} /CampaignComplete/ {complete = $1} /DaemonDeparted/ {departed = $1} {last = $1}
        END {printf "%.1f %.1f %.1f\n", complete - asked, departed - asked, last - asked}' "$1"
}
column() { awk -v c="$1" '{print $c}' "$2" | median; }

# resize N TO: to TO members and back, several times, by what prte tells.
resize() {
    local n=$1 to=$2 i shrinks=$dir/shrinks.$1.$2 grows=$dir/grows.$1.$2
    for ((i = 0; i < 7; i++)); do
        prte resize "$to" > "$dir/resize"
        figures "$dir/resize" >> "$shrinks"
        prte resize "$n" > "$dir/resize"
        awk '/started/ {begun = $1} END {print $1 - begun}' "$dir/resize" >> "$grows"
    done
    emit shrink members "$n" to "$to" runs 7 event_ms "$(column 1 "$shrinks")" departed_ms "$(column 2 "$shrinks")" \
        gone_ms "$(column 3 "$shrinks")"
    emit grow members "$to" to "$n" runs 7 wired_ms "$(column 1 "$grows")"
}

"$HELPERS/floor"
[ $# -gt 0 ] || set -- 8 64
for n in "$@"; do
    boot_times "$n" 5
    tell_memory "$n" "after boot"
    job_times "$n"
    rates "$n"
    resize "$n" $((n - 1))
    resize "$n" $((n / 2))
    growth "$n"
    tell_memory "$n" "after jobs"
    idle "$n"
    prte stop > /dev/null
done
