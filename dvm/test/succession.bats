#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The head's process is killed and started again by hand, without its supervisor: jobs, members and the size of the DVM
# stay (docs/head.md).

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test changes its own copy
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

shares=${SHARE_PROBE:-$repo/build/probe/share_probe}
volume_shim=${VOLUME_SHIM:-$repo/build/probe/volume_shim.so}

setup_file() {
    build_all
    [ -n "${SHARE_PROBE:-}" ] || make -s -C "$repo" build/probe/share_probe >&2
    [ -n "${VOLUME_SHIM:-}" ] || make -s -C "$repo" build/probe/volume_shim.so >&2
}
setup() { new_dvm_dir; }
teardown() {
    end_dvm
    [ -z "${heir:-}" ] || wait_end "$heir"
}

# kill_head: SIGKILL to the daemon itself; its command line and ports are kept for start_heir.
kill_head() {
    end_supervisor
    local dir=$DVM_SESSION_DIR/0 spawner
    spawner=$(spawner_of 0)
    mapfile -d '' -t head_line < "/proc/$(daemon_of 0)/cmdline"
    head_ports=$(cat "$dir/ports.json")
    kill -KILL "$(daemon_of 0)"
    wait_end "$spawner"
}

# start_heir: another process of the head, with the arguments of the former one and at its ports.
start_heir() {
    local dir=$DVM_SESSION_DIR/0
    rm "$dir/ports.json"
    "${head_line[@]}" --join-port "$(jq .join <<< "$head_ports")" --control-port "$(jq .control <<< "$head_ports")" \
        >> "$dir/prted.log" 2>&1 3>&- &
    heir=$!
    echo "$heir $(cut -d' ' -f22 "/proc/$heir/stat")" > "$dir/pid"
    eventually test -e "$dir/ports.json"
}

all_wired() { [ "$(view '[.members[] | select(.state == "wired" and .vpid > 0)] | length')" = "$1" ]; }
incarnation() { view .incarnation; }

@test "a job of all members that was submitted at a member goes on, and ends with its own code and all its output" {
    start_dvm 3 --slots 2
    local before
    before=$(incarnation)
    hold_job held 6 --dvm "$DVM_SESSION_DIR/1"
    kill_head
    start_heir
    eventually all_wired 3
    [ "$(incarnation)" = "$before" ]
    [ "$(view '.jobs | length')" -eq 1 ]
    [ "$(ranks_of held | wc -l)" -eq 6 ]
    release_job held 6
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 6 ]
    prun -n 6 true
}

@test "jobs that end, and that are submitted, while there is no head end with their own codes" {
    start_dvm 2 --slots 2
    hold_job held 4 --dvm "$DVM_SESSION_DIR/1"
    kill_head
    release_job held 4
    timeout "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/2" -n 1 sh -c 'exit 7' 3>&- &
    local other=$!
    local ranks
    mapfile -t ranks < <(ranks_of held)
    wait_end "${ranks[@]}"
    start_heir
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 4 ]
    local status=0
    wait "$other" || status=$?
    [ "$status" -eq 7 ]
}

@test "a second head in the directory of one that runs does not start" {
    start_dvm 1
    local line
    mapfile -d '' -t line < "/proc/$(daemon_of 0)/cmdline"
    run "${line[@]}"
    [ "$status" -eq 1 ]
    prun -n 1 true
}

@test "damaged records are cut off where the damage begins, and the DVM goes on with what is before" {
    start_dvm 2
    kill_head
    printf 'damage' >> "$DVM_SESSION_DIR/0/records"
    start_heir
    eventually all_wired 2
    prun -n 2 true
}

@test "an orderly end leaves no records" {
    start_dvm 1
    [ -s "$DVM_SESSION_DIR/0/records" ]
    local spawner supervisor
    spawner=$(spawner_of 0)
    supervisor=$(supervisor)
    kill -TERM "$(daemon_of 0)"
    wait_end "$spawner" "$supervisor" # it has nothing to go on with
    [ ! -e "$DVM_SESSION_DIR/0/records" ]
    [ -z "$(daemon_of 0)" ]
}

# keep_at_members: from now on the head's records are at members alone.
keep_at_members() {
    kill_head
    head_line+=(--keepers)
    start_heir
    eventually all_wired "$1"
    eventually kept_by "$1"
}

metric() { curl -s "127.0.0.1:$(jq .plain "$DVM_SESSION_DIR/0/ports.json")/metrics" | awk -v name="$1" '$1 == name { print $2 }'; }
kept_by() { [ "$(metric dvm_keepers)" -eq "$(($1 < 2 ? $1 : 2))" ]; }

waits() { [ "$(view '[.jobs[] | select(.state == "VM_READY")] | length')" -eq 1 ]; }

@test "the output of a job that ends while its keeper is new is complete" {
    start_dvm 1 --slots 1
    keep_at_members 1
    local i
    for i in $(seq 12); do
        prte resize 0 > "$BATS_TEST_TMPDIR/resize"
        timeout --kill-after=10 "$limit" "$bin/prun" -n 1 echo ran > "$BATS_TEST_TMPDIR/out.$i" 2>&1 3>&- &
        eventually waits
        prte resize 1 > "$BATS_TEST_TMPDIR/resize"
        wait $!
        [ "$(cat "$BATS_TEST_TMPDIR/out.$i")" = ran ]
    done
}

# lose_head: SIGKILL, and its records are lost too.
lose_head() {
    wait_end "$heir" & # it is our child
    kill_head
    rm -f "$DVM_SESSION_DIR/0/records"
}

@test "a head that has lost its directory asks the members, and a job of all of them ends with its own code" {
    start_dvm 3 --slots 2
    keep_at_members 3
    local before
    before=$(incarnation)
    hold_job held 6 --dvm "$DVM_SESSION_DIR/1"
    lose_head
    start_heir
    eventually all_wired 3
    [ "$(incarnation)" = "$before" ]
    [ "$(ranks_of held | wc -l)" -eq 6 ]
    release_job held 6
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 6 ]
    prun -n 6 true
}

@test "SIGTERM of a head whose records members keep ends no job, and the next head goes on" {
    start_dvm 2 --slots 2
    keep_at_members 2
    rm "$DVM_SESSION_DIR/0/records"
    local before
    before=$(incarnation)
    hold_job held 4 --dvm "$DVM_SESSION_DIR/1"
    head_ports=$(cat "$DVM_SESSION_DIR/0/ports.json")
    kill -TERM "$(daemon_of 0)"
    wait_end "$heir"
    [ ! -e "$DVM_SESSION_DIR/0/records" ]
    start_heir
    eventually all_wired 2
    [ "$(incarnation)" = "$before" ]
    release_job held 4
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 4 ]
}

# keep_on_volume MEMBERS: from now on the head's records are in a directory of their own too.
keep_on_volume() {
    volume=$BATS_TEST_TMPDIR/volume
    kill_head
    mkdir "$volume"
    mv "$DVM_SESSION_DIR/0/records" "$volume/"
    head_line+=(--keepers --records-dir "$volume")
    start_heir
    eventually all_wired "$1"
    eventually kept_by "$1"
}

# crash_member VPID: SIGKILL.
crash_member() {
    local spawner
    spawner=$(spawner_of "$1")
    kill -KILL "$(daemon_of "$1")"
    wait_end "$spawner"
}

@test "a head goes on with the records of its volume when both keepers are lost with it, also after a SIGTERM" {
    start_dvm 3 --slots 1
    keep_on_volume 3
    local before
    before=$(incarnation)
    hold_job held 1 --dvm "$DVM_SESSION_DIR/3" --host 3
    [ ! -e "$DVM_SESSION_DIR/0/records" ]
    kill -TERM "$(daemon_of 0)"
    wait_end "$heir"
    [ -s "$volume/records" ]
    start_heir
    eventually all_wired 3
    eventually kept_by 3
    wait_end "$heir" & # it is our child
    kill_head
    crash_member 1
    crash_member 2
    start_heir
    eventually all_wired 1
    [ "$(incarnation)" = "$before" ]
    [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" -eq 1 ]
    release_job held 1
    end_job held
    [ "$code" -eq 0 ]
    [ "$said" = "released on node3" ]
    grep -q 'those of the volume are taken' "$DVM_SESSION_DIR/0/prted.log"
}

@test "both keepers are lost with the head: most members are left, and a job of these ends with its own code" {
    start_dvm 5 --slots 3
    keep_at_members 5
    local before
    before=$(incarnation)
    hold_job held 6 --dvm "$DVM_SESSION_DIR/4" --host 3,4,5 --map-by node
    hold_job lost 2 --dvm "$DVM_SESSION_DIR/4" --host 1,5 --map-by node
    lose_head
    crash_member 1
    crash_member 2
    start_heir
    eventually all_wired 3
    [ "$(incarnation)" = "$before" ]
    end_job lost
    [ "$code" -eq 123 ]
    grep -q 'the head was lost with all records of the job, and vpid 1' "$BATS_TEST_TMPDIR/lost.err"
    [ "$(ranks_of held | wc -l)" -eq 6 ]
    [ "$(view '[.jobs[] | select(.state == "REGISTERED" or .state == "RUNNING")] | length')" -eq 1 ]
    release_job held 6
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 6 ]
    prun -n 6 true
    run ! grep -h 'is illegal' "$DVM_SESSION_DIR"/{3,4,5}/prted.log
}

@test "a head makes its directory on a new volume, and the file has its records once it has asked" {
    start_dvm 1
    kill_head
    head_line+=(--keepers --records-dir "$BATS_TEST_TMPDIR/new")
    start_heir
    eventually kept_by 1
    [ -s "$BATS_TEST_TMPDIR/new/records" ]
    [ "$(metric dvm_records_file)" -eq 1 ]
}

@test "a head whose volume cannot be read says so, and its members alone keep the records" {
    start_dvm 2
    kill_head
    head_line+=(--keepers --records-dir "$BATS_TEST_TMPDIR/absent/deep")
    start_heir
    eventually kept_by 2
    grep -q 'records of the head, .*/absent/deep/records: opening it: .*: members alone keep the records' "$DVM_SESSION_DIR/0/prted.log"
    [ "$(metric dvm_records_file)" -eq 0 ]
    prun -n 2 true
}

@test "a head whose records another process has says so, and its members alone keep the records" {
    start_dvm 2
    kill_head
    head_line+=(--keepers)
    exec {former}<> "$DVM_SESSION_DIR/0/records"
    flock --nonblock "$former"
    start_heir
    eventually kept_by 2
    exec {former}>&-
    grep -q 'records of the head, .*/records: another head has it: members alone keep the records' "$DVM_SESSION_DIR/0/prted.log"
    prun -n 2 true
}

# hang_volume MEMBERS: the head has a volume, which does not answer from now on.
hang_volume() {
    LD_PRELOAD=$volume_shim VOLUME_HANGS=$BATS_TEST_TMPDIR/hangs keep_on_volume "$1"
    [ "$(metric dvm_records_file)" -eq 1 ]
    touch "$BATS_TEST_TMPDIR/hangs"
}
volume_is_lost() { [ "$(metric dvm_records_file)" -eq 0 ]; }
log_lines() { grep -c "$1" "$DVM_SESSION_DIR/0/prted.log"; }

@test "a head whose volume hangs goes on with its jobs, gives the volume up, and hands over at SIGTERM" {
    start_dvm 2 --slots 2
    hang_volume 2
    local before
    before=$(incarnation)
    prun -n 2 true
    hold_job held 2 --dvm "$DVM_SESSION_DIR/1"
    eventually volume_is_lost
    [ "$(log_lines "writing $volume/records: no answer for 10000 ms, it is given up: members alone keep them from now on")" -eq 1 ]
    prun -n 2 true
    kill -TERM "$(daemon_of 0)"
    wait_end "$heir"
    [ "$(log_lines "writing $volume/records: no answer for 2000 ms")" -eq 1 ]
    rm "$BATS_TEST_TMPDIR/hangs"
    start_heir
    eventually all_wired 2
    [ "$(incarnation)" = "$before" ]
    release_job held 2
    end_job held
    [ "$code" -eq 0 ]
    [ "$(grep -c "released on" <<< "$said")" -eq 2 ]
}

@test "a DVM whose head's volume hangs ends in order, and the head says that its file was not removed" {
    start_dvm 1 --slots 1
    hang_volume 1
    prun -n 1 true
    exec {log}< "$DVM_SESSION_DIR/0/prted.log" # it is removed
    run prte stop
    [ "$status" -eq 0 ]
    [[ "$output" != *"ending them"* ]]
    wait_end "$heir"
    [ "$(grep -c "writing $volume/records: no answer for 2000 ms, writes left: 1" <&"$log")" -eq 1 ]
    exec {log}>&-
    [ -z "$(daemons)" ]
}

# meet NAME OWN OTHER [FIFO]: a job at member 1 that publishes OWN and waits for the value OTHER.
meet() {
    timeout --kill-after=10 "$limit" "$bin/prun" --dvm "$DVM_SESSION_DIR/1" --stdin none -n 1 "$shares" meet "${@:2}" \
        > "$BATS_TEST_TMPDIR/$1.out" 2>&1 3>&- &
    eval "${1}_pid=$!"
}
says() { grep -qx "$2" "$BATS_TEST_TMPDIR/$1.out"; }

@test "published values stay with the next head, and lookups that wait and publishes meanwhile are completed there" {
    start_dvm 2 --slots 2
    mkfifo "$BATS_TEST_TMPDIR/late"
    meet first here there
    eventually says first published
    meet second there there "$BATS_TEST_TMPDIR/late"
    eventually says second up
    kill_head
    echo now > "$BATS_TEST_TMPDIR/late"
    start_heir
    eventually all_wired 2
    wait "$first_pid"
    says first "met: SUCCESS"
    wait "$second_pid"
    says second "met: SUCCESS"
    run prun -n 1 "$shares" look-up here
    [ "$output" = "NOT FOUND" ]
}

@test "values that are kept by members alone stay with the next head until their job ends" {
    start_dvm 2 --slots 2
    keep_at_members 2
    meet first here there
    eventually says first published
    lose_head
    start_heir
    eventually all_wired 2
    run prun -n 1 "$shares" look-up here
    [ "$output" = SUCCESS ]
    prun --dvm "$DVM_SESSION_DIR/2" -n 1 "$shares" meet there there
    wait "$first_pid"
    says first "met: SUCCESS"
    run prun -n 1 "$shares" look-up here
    [ "$output" = "NOT FOUND" ]
}
