#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that are submitted from outside at the members' addresses, while members leave and join. Each answer of a daemon
# that takes no jobs now makes prun go on to the next address of the name.
#
# SUBMISSIONS, RESIZES: how many jobs, and how often a member leaves and joins again.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034,SC2016  # set by lib.bash; each test is a process of its own; for the ranks' shell

bats_require_minimum_version 1.5.0
load lib

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/dvm-connect >&2
}

setup() {
    new_dvm_dir
    at_names true 2> /dev/null || skip "no right to name hosts"
    members=()
}

teardown() {
    [ "${#members[@]}" -eq 0 ] || kill "${members[@]}" 2> /dev/null || true
    end_dvm
}

# The names from1 to from3 have the addresses of all three members, beginning with that one.
write_names() {
    local i j
    for i in 1 2 3; do
        for j in 0 1 2; do echo "127.0.1.$(((i + j - 1) % 3 + 1)) from$i"; done
    done > "$BATS_TEST_TMPDIR/hosts"
}

# at_names COMMAND...: these names exist.
at_names() {
    [ -e "$BATS_TEST_TMPDIR/hosts" ] || write_names
    timeout --kill-after=10 $((limit * 10)) unshare --mount sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$BATS_TEST_TMPDIR/hosts" "$@"
}

# A DVM of three members with one join port, each at its own address: like the Service of all daemons. prte's own
# members have made room for them.
start_members() {
    prte start -n 3 --slots 4
    export DVM_TLS_DIR=$DVM_SESSION_DIR/tls/user
    join=$(jq .join "$DVM_SESSION_DIR/0/ports.json")
    prte resize --remove 1-3 > "$BATS_TEST_TMPDIR/resize"
    port=0
    for vpid in 1 2 3; do start_member "$vpid"; done
    for vpid in 1 2 3; do eventually is "$vpid" wired; done
}

start_member() {
    local dir=$BATS_TEST_TMPDIR/m$1
    rm -rf "$dir"
    mkdir -m 700 "$dir"
    "$bin/prted" --role member --vpid "$1" --cluster local/d --head "127.0.0.1:$join" --tls-dir "$DVM_SESSION_DIR/tls/member" \
        --session-dir "$dir" --host-name "node$1" --address "127.0.1.$1" --bind "127.0.1.$1" --join-port "$port" --plain-port 0 \
        --slots 4 >> "$BATS_TEST_TMPDIR/prted.log" 2>&1 3>&- &
    members[$1]=$!
    eventually [ -s "$dir/ports.json" ]
    port=$(jq .join "$dir/ports.json")
}

end_member() {
    kill "${members[$1]}" || true
    wait "${members[$1]}" || true
}

is() { [ "$(view ".members[] | select(.vpid == $1).state")" = "$2" ]; }

# from MEMBER PRUN-ARGUMENT...: submits at the members' addresses, beginning with that one.
from() { at_names "$bin/prun" --dvm "from$1:$port" "${@:2}"; }

# answers MEMBER TEXT: what a prun gets that asks this member alone.
answers() {
    run --separate-stderr -125 prun --dvm "127.0.1.$1:$port" --reconnect 0 true
    [[ "$stderr" == *"$2"* ]] || { echo "$stderr" && false; }
}

@test "a member that leaves: the job is submitted at the next address" {
    start_members
    hold_job held 1 --host 1
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    eventually is 1 draining
    answers 1 "leav"
    [ "$(from 1 --reconnect 0 -n 1 sh -c 'echo "$PMIX_HOSTNAME"')" != node1 ]
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
    wait $!
}

@test "a member that has left and stays as a process: the job is submitted at the next address" {
    start_members
    prte resize --remove 1
    answers 1 "parked"
    [ "$(from 1 --reconnect 0 -n 1 sh -c 'echo "$PMIX_HOSTNAME"')" != node1 ]
}

@test "an address that refuses connections: the job is submitted at the next one" {
    start_members
    prte resize --remove 1
    end_member 1
    answers 1 "refused"
    [ "$(from 1 --reconnect 0 -n 1 sh -c 'echo "$PMIX_HOSTNAME"')" != node1 ]
}

# wait_at_1 PRUN-ARGUMENT...: a job that waits for the slots of member 2, submitted by this prun. Its number is $pid.
wait_at_1() {
    hold_job held 4 --host 2
    "$@" <&0 3>&- &
    pid=$!
    eventually grep -q "waits" "$BATS_TEST_TMPDIR/err"
}

@test "a job that waits for slots when its member leaves is submitted at the next address, with its input and files" {
    start_members
    cd "$BATS_TEST_TMPDIR"
    echo input > in
    echo file > data
    wait_at_1 from 1 --reconnect 0 -n 1 --host 2 --preload-files data sh -c 'cat - data; echo "$PMIX_HOSTNAME"' \
        < in > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err"
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/resize"
    eventually grep -q "again" "$BATS_TEST_TMPDIR/err"
    [ "$(grep again "$BATS_TEST_TMPDIR/err")" = "prun: not launched: the daemon of its prun (vpid 1) leaves the DVM; it is submitted again at 127.0.1.2" ]
    release_job held 4
    end_job held
    wait "$pid"
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = $'input\nfile\nnode2' ]
    [ "$(view '[.jobs[] | select(.state == "NEVER_LAUNCHED")] | length')" -eq 1 ]
    [ "$(view '.jobs | length')" -eq 3 ]
}

@test "a job that the head has sent on, and that waits for slots when its member leaves, goes to another member" {
    start_members
    wait_at_1 prun --dvm "127.0.0.1:$join" -n 1 --host 2 sh -c 'exit 7' 2> "$BATS_TEST_TMPDIR/err"
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/resize"
    eventually grep -q "vpid 1) leaves the DVM; it is submitted again at 127.0.1.2" "$BATS_TEST_TMPDIR/err"
    release_job held 4
    end_job held
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 7 ]
}

@test "a job that waits for slots when its member leaves ends with 123 if the name has no other address" {
    start_members
    wait_at_1 prun --dvm "127.0.1.1:$port" --reconnect 0 -n 1 --host 2 true 2> "$BATS_TEST_TMPDIR/err"
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/resize"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 123 ]
    [ "$(tail -n 1 "$BATS_TEST_TMPDIR/err")" = "prun: not launched: the daemon of its prun (vpid 1) leaves the DVM" ]
    release_job held 4
    end_job held
}

# fill_pipe: the pipe $full takes nothing more, so who writes to it waits.
fill_pipe() {
    mkfifo "$BATS_TEST_TMPDIR/full"
    exec {full}<> "$BATS_TEST_TMPDIR/full"
    head -c 65536 /dev/zero >&"$full"
}

@test "a member that leaves when the head has just sent a client on to it: the job runs at the head" {
    start_members
    fill_pipe
    prun -v --dvm "127.0.0.1:$join" -n 1 sh -c 'exit 7' 2>&"$full" 3>&- &
    local pid=$!
    eventually at_member_1
    prte resize --remove 1 > "$BATS_TEST_TMPDIR/resize"
    head -c 65536 <&"$full" > "$BATS_TEST_TMPDIR/zeros"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 7 ]
    read -r -t "$limit" -u "$full" line
    [ "$line" = "prun: the head sends this client on to 127.0.1.1 port $port" ]
    [ "$(view '.jobs | length')" -eq 1 ]
    # The job's client was at the head.
    read -r -t "$limit" -u "$full" line
    [[ "$line" == *": accepted" ]]
}

at_member_1() { pgrep -f "^dvm-connect 127.0.1.1 $port "; }

# submit WORKER NUMBER: that many jobs, and more until the file "resized" exists.
submit() {
    local n=0
    while [ "$n" -lt "$2" ] || [ ! -e "$BATS_TEST_TMPDIR/resized" ]; do
        n=$((n + 1))
        "$bin/prun" --dvm "from$((n % 3 + 1)):$port" -n 1 true 2> "$BATS_TEST_TMPDIR/err.$1" ||
            echo "code $? $(cat "$BATS_TEST_TMPDIR/err.$1")" >> "$BATS_TEST_TMPDIR/failed"
    done
    echo "$n" > "$BATS_TEST_TMPDIR/count.$1"
}

resize_members() {
    local i vpid
    for ((i = 0; i < $1; i++)); do
        vpid=$((i % 3 + 1))
        prte resize --remove "$vpid" > "$BATS_TEST_TMPDIR/resize"
        end_member "$vpid"
        start_member "$vpid"
        eventually is "$vpid" wired
    done
    touch "$BATS_TEST_TMPDIR/resized"
}

@test "jobs that are submitted at the members' addresses while members leave and join all run" {
    local jobs=${SUBMISSIONS:-60} resizes=${RESIZES:-6} pids=() i
    start_members
    export bin port BATS_TEST_TMPDIR
    { declare -f submit; echo 'submit "$@"'; } > "$BATS_TEST_TMPDIR/submit"
    for i in 1 2; do
        at_names bash "$BATS_TEST_TMPDIR/submit" "$i" "$((jobs / 2))" 3>&- &
        pids+=($!)
    done
    resize_members "$resizes"
    wait "${pids[@]}"
    cat "$BATS_TEST_TMPDIR/failed" 2> /dev/null || true
    echo "$(awk '{ n += $1 } END { print n }' "$BATS_TEST_TMPDIR"/count.*) jobs during $((2 * resizes)) resizes"
    [ ! -e "$BATS_TEST_TMPDIR/failed" ]
    [ "$(awk '{ n += $1 } END { print n }' "$BATS_TEST_TMPDIR"/count.*)" -ge "$jobs" ]
}
