#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures local DVMs on this host; one JSON line per figure. usage: local.sh [MEMBERS…] (default: 8 64)
#
# RUNS, JOBS, MANY_JOBS, IDLE_S: numbers of runs and jobs, and seconds of the idle measurement.
set -euo pipefail
RUNS=${RUNS:-60}
JOBS=${JOBS:-1000}
MANY_JOBS=${MANY_JOBS:-10000}
IDLE_S=${IDLE_S:-30}
HEARTBEAT_S=5 # half of --silence-ms
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/lib.bash
source "$here/lib.bash"

tell_memory() {
    local n=$1 when=$2 pid
    emit memory members "$n" when "$when" of head process prted threads "$(threads "$(prted_of 0)")" \
        memory "$(memory "$(prted_of 0)")"
    emit memory members "$n" when "$when" of head process spawner memory "$(memory "$(spawner_of 0)")"
    pid=$(prted_of 1)
    emit memory members "$n" when "$when" of member process prted threads "$(threads "$pid")" memory "$(memory "$pid")"
    emit memory members "$n" when "$when" of member process spawner memory "$(memory "$(spawner_of 1)")"
}

# tell_start N: the processor time that each process has taken since its start; of the members the median one.
tell_start() {
    local n=$1 vpid
    for ((vpid = 1; vpid <= n; vpid++)); do
        cpu_ms "$(prted_of "$vpid")" >> "$dir/start.prted.$n"
        cpu_ms "$(spawner_of "$vpid")" >> "$dir/start.spawner.$n"
    done
    emit start members "$n" of head prted_cpu_ms "$(cpu_ms "$(prted_of 0)")" spawner_cpu_ms "$(cpu_ms "$(spawner_of 0)")"
    emit start members "$n" of member prted_cpu_ms "$(median < "$dir/start.prted.$n")" \
        spawner_cpu_ms "$(median < "$dir/start.spawner.$n")"
}

# --- the measurements

# whole FILE COMMAND…: runs it and adds the milliseconds from its start to its end to the file.
whole() {
    local file=$1 start
    shift
    start=$(now_us)
    "$@"
    echo $(($(now_us) - start)) | awk '{print $1 / 1000}' >> "$file"
}

boot_times() {
    local n=$1 runs=$2 i start
    for ((i = 0; i <= runs; i++)); do # the first warms up
        start=$(now_us)
        prte start -n "$n" --slots 64 > /dev/null
        if ((i > 0)); then echo $(($(now_us) - start)) >> "$dir/boot.$n"; fi
        if ((i < runs)); then whole "$dir/stop.$n" "$BIN/prte" stop > /dev/null; fi
    done
    emit stop members "$n" runs "$runs" median_ms "$(median < "$dir/stop.$n")"
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

# many N: 10,000 jobs from 16 clients at once: rate, failures, and the growth of the head and a member. The first thousand
# jobs fill the bounded histories and do not count as growth.
many() {
    local n=$1 first line
    first=$(timed -n 1000 -c 16 -- "$BIN/prun" -n 1 --host 1-4 true)
    local head member
    head=$(state 0)
    member=$(state 1)
    line=$(timed -n "$MANY_JOBS" -c 16 -- "$BIN/prun" -n 1 --host 1-4 true)
    emit many members "$n" jobs $((MANY_JOBS + 1000)) failed "$(jq -n "$(jq .failed <<< "$first") + $(jq .failed <<< "$line")")" \
        per_s "$(jq .per_s <<< "$line")" median_ms "$(jq .median_ms <<< "$line")" p99_ms "$(jq .p99_ms <<< "$line")"
    emit growth members "$n" jobs "$MANY_JOBS" of head before "$head" after "$(state 0)"
    emit growth members "$n" jobs "$MANY_JOBS" of member before "$member" after "$(state 1)"
}

# idle N: how often each thread woke up, and how many heartbeats there were on its links: each wakes a daemon once or twice, to
# ask and for the answer, or for the question.
idle() {
    local n=$1 of pid kind vpid links
    local -A before
    for of in "prted 0" "prted 1" "spawner 1"; do
        read -r kind vpid <<< "$of"
        before[$of]=$(switches "$("${kind}_of" "$vpid")")
    done
    read -r -t "$IDLE_S" _ <> <(:) || true
    for of in "prted 0" "prted 1" "spawner 1"; do
        read -r kind vpid <<< "$of"
        pid=$("${kind}_of" "$vpid")
        links=$((vpid == 0 ? n : 1))
        emit idle members "$n" seconds "$IDLE_S" process "$kind" vpid "$vpid" links "$links" \
            heartbeats $((${#kind} > 5 ? 0 : links * IDLE_S / HEARTBEAT_S)) \
            wakeups "$(paste <(echo "${before[$of]}") <(switches "$pid") | awk '{print $2 - $1}' | jq -sc .)"
    done
}

# figures LINES: times since the request: the campaign was complete, the last departure was reported, all ended.
figures() {
    awk '/asked for campaign/ {asked = $1} /CampaignComplete/ {complete = $1} /DaemonDeparted/ {departed = $1} {last = $1}
        END {printf "%.1f %.1f %.1f\n", complete - asked, departed - asked, last - asked}' "$1"
}
column() { awk -v c="$1" '{print $c}' "$2" | median; }

# resize N TO: to TO members and back, several times; the times are those that prte prints, and of a growth also the
# whole command. The time that prte prints of it ends when all are wired.
resize() {
    local n=$1 to=$2 i shrinks=$dir/shrinks.$1.$2 grows=$dir/grows.$1.$2 commands=$dir/commands.$1.$2
    for ((i = 0; i < 7; i++)); do
        prte resize "$to" > "$dir/resize"
        figures "$dir/resize" >> "$shrinks"
        whole "$commands" "$BIN/prte" resize "$n" > "$dir/resize"
        awk 'END {print $1}' "$dir/resize" >> "$grows"
    done
    emit shrink members "$n" to "$to" runs 7 event_ms "$(column 1 "$shrinks")" departed_ms "$(column 2 "$shrinks")" \
        gone_ms "$(column 3 "$shrinks")"
    emit grow members "$to" to "$n" runs 7 wired_ms "$(column 1 "$grows")" whole_ms "$(median < "$commands")"
}

# breakdown N: in a DVM of its own whose daemons say when they do what, which takes them some 10 us a line.
breakdown() {
    local n=$1
    DVM_LOG_LEVEL=debug prte start -n "$n" --slots 64 > /dev/null
    timed -n "$RUNS" -t "$dir/times" -- "$BIN/prun" -n 1 --host 3 true > "$dir/line"
    awk -v members="$n" -f "$here/breakdown.awk" "$dir/times" "$DVM_SESSION_DIR/0/prted.log" "$DVM_SESSION_DIR/3/prted.log"
    prte stop > /dev/null
}

"$HELPERS/floor"
"$HELPERS/floor" discovers
[ $# -gt 0 ] || set -- 8 64
for n in "$@"; do
    boot_times "$n" 5
    tell_start "$n"
    tell_memory "$n" "after boot"
    job_times "$n"
    rates "$n"
    resize "$n" $((n - 1))
    resize "$n" $((n / 2))
    many "$n"
    tell_memory "$n" "after jobs"
    idle "$n"
    prte stop > /dev/null
    breakdown "$n"
done
