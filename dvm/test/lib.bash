# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of local DVMs: real daemons on this host, real programs; loaded by bats.
# shellcheck shell=bash disable=SC2034

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
bin=${BIN:-$repo/build/bin} # BIN, EXAMPLES: ready-made ones
examples=${EXAMPLES:-$repo/build/examples}
probe=${PROBE:-$repo/build/probe/pmix_probe}
limit=60 # seconds; nothing here takes longer unless it hangs

build_all() {
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/{prted,prun,pstat,pterm,prte,dvm-spawner,dvm-stage} >&2
    [ -n "${EXAMPLES:-}" ] || make -s -C "$repo" examples >&2
    [ -n "${PROBE:-}" ] || make -s -C "$repo" build/probe/pmix_probe >&2
}

prun() { timeout --kill-after=10 "$limit" "$bin/prun" "$@"; }
pstat() { timeout --kill-after=10 "$limit" "$bin/pstat" "$@"; }
pterm() { timeout --kill-after=10 "$limit" "$bin/pterm" "$@"; }
prte() { timeout --kill-after=10 "$limit" "$bin/prte" "$@"; }

# Each test has a directory of its own, with a short path: sockets are in it.
new_dvm_dir() {
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/d
}

# no_outer_name: for tests of tools, which would take name and server from the variables of a launcher around this shell.
no_outer_name() { unset "${!PMIX_@}"; }

# Processes whose command line names this test's directory, apart from those that look.
daemons() { pgrep -f -- "prted .*--session-dir $DVM_SESSION_DIR/" || true; }

# own PGREP-OPTION... PATTERN: the processes that pgrep finds and that belong to this test. They have the DVM's directory
# in their environment: tools by DVM_SESSION_DIR, ranks by the PMIx server's variables.
own() {
    local pid found=1
    for pid in $(pgrep "$@"); do
        grep -qzF "=${DVM_DIR:-$DVM_SESSION_DIR}" "/proc/$pid/environ" 2> /dev/null || continue
        echo "$pid"
        found=0
    done
    return "$found"
}

# own_kill SIGNAL PGREP-OPTION... PATTERN: sends it to each of them; fails if there is none.
own_kill() {
    local pids
    pids=$(own "${@:2}") || return 1
    # shellcheck disable=SC2086 # numbers
    kill -"$1" $pids
}

# The spawner of a daemon, and the daemon, which is its child of that name. Ranks before their exec, and processes that remove
# files, have the spawner's command line: the newest process with it need not be the daemon.
spawner_of() { cut -d' ' -f1 "$DVM_SESSION_DIR/$1/pid"; }
daemon_of() { pgrep -P "$(spawner_of "$1")" -x prted; }

# The process that starts the head again.
supervisor() { cut -d' ' -f1 "$DVM_SESSION_DIR/supervisor"; }
end_supervisor() {
    kill -TERM "$(supervisor)" 2> /dev/null || return 0
    wait_end "$(supervisor)"
}

# crash_head: SIGKILL to the head's daemon, whose supervisor starts another one. Returns when that answers.
crash_head() {
    local former
    former=$(daemon_of 0)
    kill -KILL "$former"
    eventually is_succeeded "$former"
}
is_succeeded() {
    local pid
    pid=$(daemon_of 0) && [ "$pid" != "$1" ] && pstat --json > /dev/null 2>&1
}

end_dvm() {
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then
        tail -n 20 "$DVM_SESSION_DIR"/*/prted.log >&2 2> /dev/null || true
    fi
    [ ! -e "$DVM_SESSION_DIR/local.json" ] || prte stop >&2 || true
}

# start_dvm MEMBERS [OPTION...]
start_dvm() {
    prte start -n "$@" > "$BATS_TEST_TMPDIR/start"
    [ "$(cat "$BATS_TEST_TMPDIR/start")" = "DVM ready: $1 members" ]
}

# in_time COMMAND...: it ends a DVM whose end takes long, says which daemons it waits for and for how long at most, and
# needs no more than that and the time of the signals (7 s), with some seconds for a slow machine.
in_time() {
    local began=$SECONDS
    run --separate-stderr "$@"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ "$stderr" =~ ^$1:\ waits\ for\ the\ daemons\ of\ vpids\ [0-9,-]+\ to\ end,\ for\ at\ most\ ([0-9]+)\ s ]]
    [ $((SECONDS - began)) -le $((BASH_REMATCH[1] + 7 + 8)) ]
}

# metric VPID NAME: of the daemon's own figures.
metric() {
    curl -fsS -m "$limit" "http://127.0.0.1:$(jq .plain "$DVM_SESSION_DIR/$1/ports.json")/metrics" | awk -v name="$2" '$1 == name {print $2}'
}

# view FILTER: a part of the answer to GET /v1/dvm.
view() { pstat --json | jq -r "$1"; }

# hold_job NAME RANKS [PRUN-OPTION...]: a job in the background whose ranks each print "up" and then wait
# until release_job NAME. Returns when all ranks are up. They are started by the command in hold_by, if there is one.
hold_job() {
    local name=$1 ranks=$2 line
    shift 2
    local gate=$BATS_TEST_TMPDIR/$name.gate says=$BATS_TEST_TMPDIR/$name.says
    mkfifo "$gate" "$says"
    # The job's output comes through a pipe, so that a read waits for it.
    # shellcheck disable=SC2016
    timeout --kill-after=10 "$limit" "$bin/prun" --stdin none "$@" -n "$ranks" \
        ${hold_by[@]+"${hold_by[@]}"} sh -c 'echo up; read -r _ < "$1"; echo "released on $PMIX_HOSTNAME"' rank "$gate" \
        > "$says" 2> "$BATS_TEST_TMPDIR/$name.err" 3>&- &
    eval "${name}_pid=$!"
    exec {fd}< "$says"
    eval "${name}_fd=$fd"
    while [ "$ranks" -gt 0 ]; do
        read -r -t "$limit" -u "$fd" line
        [ "$line" = up ]
        ranks=$((ranks - 1))
    done
}

# The processes of a held job's ranks; its prun, below timeout(1).
ranks_of() { pgrep -f "^sh -c .* rank $BATS_TEST_TMPDIR/$1.gate\$"; }
prun_of() { pgrep -f "^$bin/prun .* rank $BATS_TEST_TMPDIR/$1.gate\$"; }

# release_job NAME RANKS: continues its ranks. One byte for each: several readers would share longer ones.
release_job() {
    local gate=$BATS_TEST_TMPDIR/$1.gate i
    exec {gate_fd}<> "$gate"
    for ((i = 0; i < $2; i++)); do echo >&"$gate_fd"; done
}

# end_job NAME: its further output is in $said, its exit code in $code.
end_job() {
    local fd_name=${1}_fd pid_name=${1}_pid
    said=$(cat <&"${!fd_name}")
    code=0
    wait "${!pid_name}" || code=$?
    exec {gate_fd}>&- || true
}

# wait_end PID...: waits until these processes, which need not be children, have ended.
wait_end() {
    local pid
    for pid in "$@"; do
        timeout --kill-after=10 "$limit" tail --pid="$pid" -f /dev/null
    done
}

# eventually COMMAND...: it succeeds within the limit. For conditions without an event; no other test code polls.
eventually() {
    local until=$((SECONDS + limit))
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}

# written PID: bytes that the process has written so far.
written() { awk '/^wchar/ { print $2 }' "/proc/$1/io"; }

# rest PID...: all their threads sleep, and none has woken between two looks. One process looks twice: with a process for
# each look, timers of the daemons would fire in between on a loaded machine.
rest() {
    local files
    files=$(printf '/proc/%s/task/*/status ' "$@")
    # shellcheck disable=SC2086 # names to be found
    awk '/^State/ && $2 ~ /[RD]/ { exit }
        /^voluntary/ && FILENAME in slept { same += slept[FILENAME] == $2; next }
        /^voluntary/ { slept[FILENAME] = $2; threads++ }
        END { exit threads == 0 || same != threads }' $files $files
}

# stands_still PID [READER...]: the process waits for a reader of its pipe, and all daemons and these readers sleep at the
# same time. So none of them goes on before another process does something.
stands_still() {
    local all
    mapfile -t all < <(daemons)
    [[ "$(< "/proc/$1/wchan")" == *pipe_write ]] && rest "$@" "${all[@]}"
}
