# SPDX-License-Identifier: BSD-3-Clause
# What the benches of local DVMs share: a directory that is removed at the end, JSON lines, and the daemons' processes.
# BIN, HELPERS: where the programs and the helpers of bench/ are.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=bench/lines.bash
. "$ROOT/bench/lines.bash"
BIN=${BIN:-$ROOT/build/bin}
HELPERS=${HELPERS:-$ROOT/build/release/bench}
LIMIT=300 # seconds; nothing here takes longer unless it hangs

dir=$(mktemp -d "${TMPDIR:-/tmp}/dvm-bench-XXXXXX")
export DVM_SESSION_DIR=$dir/d
now_us() { local t=${EPOCHREALTIME/./}; t=${t/,/}; printf '%s' "$t"; }
prte() { timeout --kill-after=10 "$LIMIT" "$BIN/prte" "$@"; }
pstat() { timeout --kill-after=10 20 "$BIN/pstat" "$@"; }

at_end() {
    if [ -e "$DVM_SESSION_DIR/local.json" ]; then prte stop > /dev/null 2>&1 || true; fi
    rm -rf "$dir"
}
trap at_end EXIT
trap 'exit 130' INT TERM

# timed N KEY… -- COMMAND…: by the launcher, with those keys in the line.
timed() { timeout --kill-after=10 "$LIMIT" "$HELPERS/launcher" "$@"; }

# --- processes of a DVM: each daemon is a pair of spawner and prted

spawner_of() { awk '{print $1; exit}' "$DVM_SESSION_DIR/$1/pid"; }
prted_of() { pgrep -P "$(spawner_of "$1")" -x prted | head -n 1; }
# memory PID: {"rss_kib", "pss_kib", "private_kib"}
memory() {
    awk '/^Rss:/ {rss = $2} /^Pss:/ {pss = $2} /^Private_(Clean|Dirty):/ {private += $2}
        END {printf "{\"rss_kib\": %d, \"pss_kib\": %d, \"private_kib\": %d}", rss, pss, private}' "/proc/$1/smaps_rollup"
}
# cpu_ms PID: the processor time of all its threads.
cpu_ms() { cat "/proc/$1/task/"*/schedstat | awk '{sum += $1} END {printf "%.2f\n", sum / 1e6}'; }
# switches PID: how often each of its threads, in their order, has gone to sleep of its own accord.
switches() {
    local task
    for task in $(printf '%s\n' "/proc/$1/task/"* | sort -V); do
        awk '/^voluntary_ctxt_switches/ {print $2}' "$task/status"
    done
}
# metric VPID NAME: of the daemon's own figures.
metric() { curl -fsS -m 20 "http://127.0.0.1:$(jq .plain "$DVM_SESSION_DIR/$1/ports.json")/metrics" | awk -v name="$2" '$1 == name {print $2}'; }
threads() { awk '/^Threads:/ {print $2}' "/proc/$1/status"; }
# state VPID: what a daemon holds, in bytes allocated and in descriptors.
state() {
    jq -cn --argjson memory "$(memory "$(prted_of "$1")")" --argjson heap "$(metric "$1" process_heap_bytes)" \
        --argjson fds "$(metric "$1" process_open_fds)" '$memory + {heap_bytes: $heap, fds: $fds}'
}
