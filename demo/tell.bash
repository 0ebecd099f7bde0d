# SPDX-License-Identifier: BSD-3-Clause
# Output of the demo: chapters, commands that are printed before they run, long steps with their parts and elapsed time.
# Control sequences are written to a terminal only.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LOGS=${DEMO_LOGS:-$ROOT/build/demo}
RUNNING=() # process groups of the demo that run
STARTED=$EPOCHREALTIME
STILL_S=${DEMO_STILL_S:-60} # between two lines about a step that goes on, if no terminal shows its time
if [ -t 1 ]; then TERMINAL=1 BOLD=$'\e[1m' DIM=$'\e[2m' PLAIN=$'\e[0m'; else TERMINAL='' BOLD='' DIM='' PLAIN=''; fi

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

# --- background jobs: process groups of their own, which end with the demo

# group NAME COMMAND…: starts it; its output goes to a log, its process id to GROUP. The log is there, and empty, at once.
group() {
    local log=$LOGS/$1.log
    shift
    : > "$log"
    setsid "$@" >> "$log" 2>&1 < /dev/null &
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

# job_runs: waits until the log of the group "job" says that it runs, for ten seconds.
job_runs() {
    for _ in {1..100}; do
        if grep -q RUNNING "$LOGS/job.log"; then return; fi
        sleep 0.1
    done
    cat "$LOGS/job.log" >&2
    fail "the job does not start"
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

# --- long steps: each has an index in these arrays from its start to its end

STEP_TEXT=() STEP_NAME=() STEP_PID=() STEP_FROM=()
STEP_PARTS=() # how many of the lines "part: TEXT" of its log have been shown
STEP_NOW=()   # the last of them
STEP_SINCE=() # since when that is so
TOLD=0        # when the last line was printed

# step TEXT NAME COMMAND…: starts one. Those that are started before finish run at the same time.
step() {
    STEP_TEXT+=("$1") STEP_NAME+=("$2") STEP_FROM+=("$EPOCHREALTIME") STEP_PARTS+=(0) STEP_NOW+=('') STEP_SINCE+=("$EPOCHREALTIME")
    group "${@:2}"
    STEP_PID+=("$GROUP")
}

# print TEXT…: a line that stays, in the place of the changing one.
print() {
    if [ -n "$TERMINAL" ]; then printf '\r\e[K'; fi
    printf '%s\n' "$*"
    TOLD=$SECONDS
}

# show_parts INDEX: the parts that have begun since the last call.
show_parts() {
    local part
    while IFS= read -r part; do
        STEP_PARTS[$1]=$((STEP_PARTS[$1] + 1))
        STEP_NOW[$1]=$part
        STEP_SINCE[$1]=$EPOCHREALTIME
        print "$(printf '    %6s s  %s: %s' "$(since "$STARTED")" "${STEP_NAME[$1]}" "$part")"
    done < <(sed -n 's/^part: //p' "$LOGS/${STEP_NAME[$1]}.log" | tail -n "+$((STEP_PARTS[$1] + 1))")
}

# last_line INDEX: of its log.
last_line() { tail -n 1 "$LOGS/${STEP_NAME[$1]}.log" | tr -d '\r' | tr -c '[:print:]\n' ' ' | sed 's/^ *//'; }

# doing INDEX: what it does now, and for how long.
doing() {
    local now=${STEP_NOW[$1]%, usually*}
    if [ -n "$now" ]; then
        printf '%s: %s … %s s' "${STEP_NAME[$1]}" "$now" "$(since "${STEP_SINCE[$1]}")"
    else
        printf '%s … %s s  %s' "${STEP_TEXT[$1]}" "$(since "${STEP_FROM[$1]}")" "$(last_line "$1")"
    fi
}

# show_running: one changing line on a terminal; elsewhere a line if there has been none for a while.
show_running() {
    local i line=
    if [ -z "$TERMINAL" ] && [ $((SECONDS - TOLD)) -lt "$STILL_S" ]; then return; fi
    for i in "${!STEP_PID[@]}"; do line+=${line:+ | }$(doing "$i"); done
    if [ -n "$TERMINAL" ]; then
        printf '\r\e[K  %s%s%s' "$DIM" "${line:0:$((${COLUMNS:-80} - 4))}" "$PLAIN"
    else
        print "  still: ${line:0:250}"
    fi
}

is_running() { [ "$(ps -o state= -p "$1" 2> /dev/null | tr -d ' ')" != Z ] && kill -0 "$1" 2> /dev/null; }

# end_step INDEX: tells how long it took, or shows the end of its log and ends the demo.
end_step() {
    local text=${STEP_TEXT[$1]} log=$LOGS/${STEP_NAME[$1]}.log from=${STEP_FROM[$1]} pid=${STEP_PID[$1]}
    unset "STEP_TEXT[$1]" "STEP_NAME[$1]" "STEP_PID[$1]" "STEP_FROM[$1]" "STEP_PARTS[$1]" "STEP_NOW[$1]" "STEP_SINCE[$1]"
    if joined "$pid"; then
        print "$(printf '  %s: %s s' "$text" "$(since "$from")")"
    else
        if [ -n "$TERMINAL" ]; then printf '\r\e[K'; fi
        tail -n 25 "$log" >&2
        fail "$text (its log: ${log#"$ROOT"/})"
    fi
}

# finish: waits for all steps.
finish() {
    local i ended
    TOLD=$SECONDS
    while [ ${#STEP_PID[@]} -gt 0 ]; do
        for i in "${!STEP_PID[@]}"; do
            ended=''
            is_running "${STEP_PID[i]}" || ended=1
            show_parts "$i"
            if [ -n "$ended" ]; then end_step "$i"; fi
        done
        if [ ${#STEP_PID[@]} -gt 0 ]; then
            show_running
            sleep 0.25
        fi
    done
}

# long TEXT NAME COMMAND…: one step, shows its parts, and the end of its log if it fails.
long() {
    step "$@"
    finish
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

mkdir -p "$LOGS"
