# SPDX-License-Identifier: BSD-3-Clause
# Output of the demo: chapters, commands that are printed before they run, long steps with elapsed time.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LOGS=$ROOT/build/demo
RUNNING=() # process groups of the demo that run
STARTED=$EPOCHREALTIME
if [ -t 1 ]; then BOLD=$'\e[1m' DIM=$'\e[2m' PLAIN=$'\e[0m'; else BOLD='' DIM='' PLAIN=''; fi

now_ms() { local t=$EPOCHREALTIME; printf '%s' "${t%[.,]*}${t: -6:3}"; }

# since MICROSECOND_TIME: seconds with one digit.
since() {
    local tenths=$((($(now_ms) - ${1%[.,]*}${1: -6:3}) / 100))
    printf '%d.%d' $((tenths / 10)) $((tenths % 10))
}

say() { printf '%s\n' "$*"; }
chapter() { printf '\n%s%s%s  %s(%s s)%s\n' "$BOLD" "$*" "$PLAIN" "$DIM" "$(since "$STARTED")" "$PLAIN"; }
fail() {
    printf '\nThe demo cannot go on: %s\n' "$*" >&2
    exit 1
}

# words COMMAND…: quoted as in a shell.
words() {
    local word text=
    for word in "$@"; do
        if [[ $word =~ ^[A-Za-z0-9_./:=,@%+-]+$ ]]; then text+=" $word"; else text+=" '$word'"; fi
    done
    printf '%s' "${text# }"
}

# show COMMAND…: prints it, then runs it; its output is indented.
show() {
    printf '  %s$ %s%s\n' "$BOLD" "$(words "$@")" "$PLAIN"
    timeout --foreground --kill-after=10 300 "$@" 2>&1 | sed 's/^/    /'
}

# --- long steps and background jobs: process groups of their own, which end with the demo

# group NAME COMMAND…: starts it; its output goes to a log, its process id to GROUP.
group() {
    local log=$LOGS/$1.log
    shift
    setsid "$@" > "$log" 2>&1 < /dev/null &
    GROUP=$!
    RUNNING+=("$GROUP")
}

# joined PID: waits for its end and returns its exit code.
joined() {
    local rc=0 pid left=()
    wait "$1" || rc=$?
    for pid in "${RUNNING[@]}"; do if [ "$pid" != "$1" ]; then left+=("$pid"); fi; done
    RUNNING=("${left[@]}")
    return "$rc"
}

# progress TEXT SINCE LOG: one changing line on a terminal; elsewhere a line from time to time.
progress() {
    local last
    if [ -t 1 ]; then
        last=$(tail -n 1 "$3" 2> /dev/null | tr -d '\r' | cut -c1-60 || true)
        printf '\r\e[K  %s … %s s  %s%s%s' "$1" "$(since "$2")" "$DIM" "$last" "$PLAIN"
    elif [ $((++TICKS % 20)) = 0 ]; then
        printf '  %s … %s s\n' "$1" "$(since "$2")"
    fi
}

# long TEXT NAME COMMAND…: shows its progress, and the end of its log if it fails.
long() {
    local text=$1 name=$2 from=$EPOCHREALTIME
    shift 2
    TICKS=0
    group "$name" "$@"
    while [ "$(ps -o state= -p "$GROUP" 2> /dev/null | tr -d ' ')" != Z ] && kill -0 "$GROUP" 2> /dev/null; do
        progress "$text" "$from" "$LOGS/$name.log"
        sleep 0.25
    done
    if [ -t 1 ]; then printf '\r\e[K'; fi
    if joined "$GROUP"; then
        printf '  %s: %s s\n' "$text" "$(since "$from")"
    else
        tail -n 25 "$LOGS/$name.log" >&2
        fail "$text (its log: ${LOGS#"$ROOT"/}/$name.log)"
    fi
}

# as_seen TEXT NAME COMMAND…: like long, but in the foreground where sudo may ask for a password.
as_seen() {
    if [ "$(id -u)" = 0 ]; then
        long "$@"
    else
        printf '  %s\n' "$1"
        "${@:3}" || fail "$1"
    fi
}

# Called at every end: ends all processes of the demo.
end_groups() {
    local pid
    for pid in "${RUNNING[@]}"; do kill -TERM -- "-$pid" 2> /dev/null || true; done
    for pid in "${RUNNING[@]}"; do
        timeout 30 tail -s 0.1 --pid="$pid" -f /dev/null || kill -KILL -- "-$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
    RUNNING=()
}

mkdir -p "$LOGS"
