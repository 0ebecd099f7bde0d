# SPDX-License-Identifier: BSD-3-Clause
# Steps of a run, each with a time limit, and a limit for the whole run. A step that exceeds a limit is named with its
# processes, and all of them are ended. Sourced by .ci/run, which sets logs, bounds and run_seconds.
# shellcheck shell=bash disable=SC2154,SC2034

table=()
failed=0
running= # the step, and since when
begun=0
STEP_GRACE=${STEP_GRACE:-20} # seconds between a request to end and SIGKILL

took() { printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); }
row() { table+=("$(printf '%-12s %5d s  %s' "$1" "$2" "$3")"); } # NAME SECONDS RESULT

# gone PID SECONDS: it has ended within the time. In the background, so that a signal to the run takes effect at once.
gone() {
    timeout --kill-after=5 "$2" tail -s 0.2 --pid="$1" -f /dev/null &
    wait $!
}

# Processes of the running step, by a mark in their environment. Detached ones have it too. Those of sudo start with an
# empty environment, and end with their parents.
step_pids() { grep -lszxF "CI_STEP=$$.$running" /proc/[0-9]*/environ | cut -d/ -f3; }

# Ends all processes of the running step: by SIGTERM first, then by SIGKILL.
end_step() {
    local signal pids until
    [ -n "$running" ] || return 0
    for signal in TERM KILL; do
        until=$((SECONDS + STEP_GRACE))
        while mapfile -t pids < <(step_pids) && [ "${#pids[@]}" -gt 0 ] && [ "$SECONDS" -lt "$until" ]; do
            kill -"$signal" "${pids[@]}" 2> /dev/null
            sleep 0.5
        done
    done
}

show_step() {
    local pids
    echo "=== $running: $1; it ran, and is ended:"
    mapfile -t pids < <(step_pids)
    [ "${#pids[@]}" -eq 0 ] || ps -o pid,ppid,etimes,stat,wchan:20,args -p "$(IFS=,; echo "${pids[*]}")" | cut -c 1-200
}

# step NAME COMMAND...: runs it, its output shown and kept; notes seconds and result. Its bound is that of the table
# `bounds`, or the remaining time of the run.
step() {
    local name=$1 bound=${bounds[$1]:-300} left=$((run_seconds - SECONDS)) result=ok out tee pid
    shift
    begun=$SECONDS
    echo "=== $name (after $(took "$SECONDS"))"
    if [ "$left" -le 0 ]; then
        failed=1
        row "$name" 0 "NOT RUN: the run has had its $(took "$run_seconds")"
        return 1
    fi
    running=$name
    [ "$left" -ge "$bound" ] || bound=$left
    exec {out}> >(exec tee "$logs/$name.log")
    tee=$!
    set -m # else it would ignore SIGINT, and so would what it starts
    CI_STEP="$$.$name" "$@" >&"$out" 2>&1 < /dev/null {out}>&- &
    pid=$!
    set +m
    exec {out}>&-
    if ! gone "$pid" "$bound"; then
        result="TIMEOUT: ended after $(took "$bound")"
        show_step "not over after $(took "$bound")"
        end_step
    elif ! wait "$pid"; then
        result=FAILED
    fi
    # Without this, a process that holds the output open would be waited for without end.
    if ! gone "$tee" 10; then
        [ "$result" != ok ] || result="FAILED: left processes behind"
        show_step "processes are left that hold its output"
        end_step
        kill "$tee" 2> /dev/null
    fi
    row "$name" $((SECONDS - begun)) "$result"
    running=
    [ "$result" = ok ] || failed=1
    [ "$result" = ok ]
}

# report: the results, printed at any end of the run.
report() {
    [ -z "$running" ] || row "$running" $((SECONDS - begun)) "STOPPED by a signal"
    printf '\n'
    printf '%s\n' "${table[@]}"
    echo "in all: $(took "$SECONDS")"
}
