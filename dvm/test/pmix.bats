#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# PMIx services for applications over several daemons, with real clients: spawn, connect, queries, control, tools.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash
tool=${TOOL_PROBE:-$repo/build/probe/tool_probe}
shares=${SHARE_PROBE:-$repo/build/probe/share_probe}

setup_file() {
    build_all
    [ -n "${TOOL_PROBE:-}" ] || make -s -C "$repo" build/probe/tool_probe >&2
    [ -n "${SHARE_PROBE:-}" ] || make -s -C "$repo" build/probe/share_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# --- spawn

@test "MPI: parents spawn children on other daemons, sum up with both groups, and disconnect" {
    start_dvm 4 --slots 1
    run prun -n 2 "$examples/mpi_spawn" 2
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: parents=2 children=2 ok" ]
    [ "$(view '[.jobs[] | .vpids | map(tostring) | join("-")] | sort | join(" ")')" = "1-2 3-4" ]
}

@test "MPI: children that share daemons with their parents and with each other" {
    start_dvm 3 --slots 4
    run prun -n 2 "$examples/mpi_spawn" 8
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: parents=2 children=8 ok" ]
}

@test "C26: a spawn that only its parents leave no slots for fails at once, and delays no other job" {
    start_dvm 2 --slots 1
    run --separate-stderr prun -n 2 "$examples/mpi_spawn" 1
    [ "$status" -ne 0 ]
    [[ "$stderr" == *MPI_ERR_@(SPAWN|UNKNOWN):* ]] # of Open MPI 4.1, 5.0
    run -0 prun -n 2 --oversubscribe "$examples/mpi_spawn" 1
    [ "$output" = "spawn: parents=2 children=1 ok" ]
    run -0 prun -n 1 "$probe" spawn 1 true
}

@test "C26: other jobs run beside a parent whose spawn was refused" {
    start_dvm 2 --slots 1
    cd "$BATS_TEST_TMPDIR"
    timeout --kill-after=10 "$limit" "$bin/prun" -n 1 sh -c '"$1" spawn 2 true; exec tail -f /dev/null' sh "$probe" > out 2> err 3>&- &
    eventually grep -q '^spawn: ' out
    run ! grep -qx 'spawn: PMIX_SUCCESS' out
    run -0 prun -n 1 true
    own_kill TERM -f "^$bin/prun -n 1 sh -c " # it runs still; timeout would pass a signal on twice
    wait "$!" || [ $? -eq 143 ]
}

# topology_of VPID: the file that ranks of that daemon share the machine's topology by.
topology_of() { find "$DVM_SESSION_DIR/$1" -name topology.hwloc; }

no_topology() { [ -z "$(find "$DVM_SESSION_DIR" -name topology.hwloc 2> /dev/null)" ]; }

# Open MPI 4.1 asks for each part itself, 5.0 has libpmix do it; both say what they take.
@test "MPI: ranks take the machine's topology from their daemon, which removes it at its end" {
    local daemon spawner
    start_dvm 2 --slots 2
    prun -n 4 true
    [ -z "$(topology_of 1)" ] # nobody has asked
    prun -x OMPI_MCA_hwloc_base_verbose=5 -x PMIX_MCA_pmix_hwloc_verbose=5 -n 4 "$examples/mpi_hello" > "$BATS_TEST_TMPDIR/out" 2>&1
    [ "$(grep -cE 'hwloc:base: topology in shared memory|shmem adopted' "$BATS_TEST_TMPDIR/out")" -eq 4 ]
    run ! grep -E 'discovering topology|checking v2 xml' "$BATS_TEST_TMPDIR/out"
    [ "$(stat -c %a "$(topology_of 1)" "$(topology_of 2)")" = "$(printf '400\n400')" ]
    spawner=$(spawner_of 1)
    daemon=$(daemon_of 1)
    kill -KILL "$daemon"
    wait_end "$spawner" # it removes before it ends
    [ -z "$(topology_of 1)" ]
    pterm
    eventually no_topology
}

# --- groups

@test "a group is made when all have come, not before, by name or all of a job, within a limit or none" {
    start_dvm 3 --slots 2
    for members in named all; do
        for seconds in 0 60; do
            run prun -n 4 "$shares" group 4 "$members" "$seconds" comes
            echo "$members $seconds: $output"
            [ "$status" -eq 0 ]
            [ "$(sort <<< "$output" | uniq -c | tr -s ' \n' ' ')" = " 4 SUCCESS 1 waits for its last " ]
        done
    done
}

@test "a group that a rank does not join ends at its time limit" {
    local size sizes=(3 4) # the last is on a daemon of its own, or with another that comes
    start_dvm 3 --slots 2
    for size in "${sizes[@]}"; do
        for members in named all; do
            run prun -n "$size" "$shares" group "$size" "$members" 1 stays
            echo "$size $members: $output"
            [ "$status" -eq 0 ]
            [ "$(sort <<< "$output" | uniq -c | tr -s ' \n' ' ')" = " $((size - 1)) TIMEOUT 1 waits for its last " ]
        done
    done
}

# --- queries and control

@test "a rank queries jobs, sizes, and the processes of a job on other daemons" {
    start_dvm 3 --slots 2
    hold_job other 3 --map-by node
    local id
    id=$(view '.jobs[0].id')
    run prun -n 2 "$probe" query "$id"
    [ "$status" -eq 0 ]
    local me
    me=$(sed -n 's/^me: //p' <<< "$output")
    [[ "$output" == *"pmix.qry.ns: $id,$me"* ]]
    [[ "$output" == *"pmix.univ.size: 6"* ]]
    [[ "$output" == *"pmix.job.size: 3"* ]]
    [[ "$output" == *"pmix.qry.jst: OPERATION IN PROGRESS"* ]]
    [[ "$output" == *"pmix.qry.ptable: 0@node1:running 1@node2:running 2@node3:running"* ]]
    [[ "$output" == *"pmix.qry.lptable: 0@node1:running"$'\n'* ]]
    [[ "$output" == *"pmix.qry.spawn: "*pmix.mapby,pmix.rankby,pmix.bindto*pmix.preloadfiles* ]]
    [[ "$output" == *"pmix.qry.debug: pmix.dbg.exec,pmix.dbg.init,pmix.dbg.notify"* ]]
    [[ "$output" == *"pmix.qry.keys: pmix.qry.ns,"*,pmix.qry.keys* ]]
    [[ "$output" == *"no.such.key: NOT FOUND"* ]]
    release_job other 3
    end_job other
    run prun -n 1 "$probe" query "$id"
    [[ "$output" == *"pmix.qry.jst: SUCCESS"* ]]
    [[ "$output" == *"pmix.qry.ptable:"$'\n'* ]]
}

# by_tool ARGUMENT...: "pmix_probe control ARGUMENT..." of a tool at the daemon of vpid 3; its last line is in $line.
by_tool() {
    run timeout --kill-after=10 "$limit" "$probe" tool-control "$(head -n 1 "$DVM_SESSION_DIR/3/pmix.node3.tool.dvm")" "$@"
    line=${lines[-1]}
}

@test "a tool kills one rank of a job on another daemon" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    hold_job victim 2
    by_tool kill "$(view '.jobs[0].id')" 1
    [ "$line" = "control: SUCCESS" ]
    end_job victim
    [ "$code" -eq 137 ]
    grep -q "rank 1 on node2 (vpid 2) was ended by signal 9" "$BATS_TEST_TMPDIR/victim.err"
}

@test "a tool ends a job, and signals a rank of one" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    hold_job victim 2
    by_tool term "$(view '.jobs[0].id')" '*'
    [ "$line" = "control: SUCCESS" ]
    end_job victim
    [ "$code" -eq 143 ]
    hold_job other 1
    by_tool 10 "$(view '.jobs[] | select(.state == "RUNNING") | .id')" 0 # SIGUSR1
    [ "$line" = "control: SUCCESS" ]
    end_job other
    [ "$code" -eq 138 ]
}

@test "a tool pauses and resumes a whole job" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    hold_job other 2
    local id pid
    id=$(view '.jobs[0].id')
    by_tool stop "$id" '*'
    for pid in $(ranks_of other); do
        eventually grep -q "^State:.T" "/proc/$pid/status"
    done
    by_tool cont "$id" '*'
    release_job other 2
    end_job other
    [ "$code" -eq 0 ]
}

@test "a rank may not control another job, by no directive, and the job goes on" {
    start_dvm 3 --slots 1
    hold_job other 2
    local id how
    id=$(view '.jobs[0].id')
    for how in "kill $id *" "term $id *" "stop $id *" "cont $id *" "10 $id *" "kill $id 0" "kill $id 1"; do
        read -ra how <<< "$how"
        run prun -n 1 "$probe" control "${how[@]}"
        [ "$output" = "control: NO PERMISSIONS" ]
    done
    release_job other 2
    end_job other
    [ "$code" -eq 0 ]
}

@test "a rank controls the job that it has spawned, on another daemon" {
    start_dvm 3 --slots 1
    run prun -n 1 "$probe" spawn-control term 2 tail -f /dev/null
    [[ "$output" == *"control: SUCCESS"* ]]
    [ "$status" -eq 0 ]
}

@test "control of a job or a rank that does not exist is refused, and no signal is sent" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    hold_job other 1
    run prun -n 1 "$probe" control kill no.such '*'
    [ "$output" = "control: NOT FOUND" ]
    by_tool kill no.such '*'
    [ "$line" = "control: NOT FOUND" ]
    by_tool kill "$(view '.jobs[0].id')" 1
    [ "$line" = "control: NOT FOUND" ]
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
}

@test "a rank's log entries for output and errors arrive at prun, messages are in its daemon's log" {
    start_dvm 1
    prun -n 1 "$probe" log "to the output" "to the errors" "to whoever reads logs" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err"
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = "to the outpute-mail: NOT SUPPORTED" ]
    [ "$(cat "$BATS_TEST_TMPDIR/err")" = "to the errors" ]
    [ "$(grep -c "to whoever reads logs" "$DVM_SESSION_DIR/1/prted.log")" -eq 4 ]
}

@test "a call that waits for a rank that does not come ends at its time limit" {
    start_dvm 2 --slots 1
    run --separate-stderr prun -n 2 "$probe" late # on the other stream, a word of 4.2.2 about get
    [ "$status" -eq 0 ]
    [ "$output" = "fence: TIMEOUT
connect: TIMEOUT
disconnect: TIMEOUT
get: TIMEOUT
fence, too late: TIMEOUT" ]
}

@test "a rank with a PMIx library of version 3 is a line in the daemon's log and one at prun, with that version" {
    make -s -C "$repo" build/probe/former_probe >&2
    local former=$repo/build/probe/former_probe text
    start_dvm 2 --slots 1
    run --separate-stderr prun -n 2 "$former"
    [ "$status" -eq 0 ]
    [ "$(sort -u <<< "$output")" = "turned away" ]
    text="($former): its PMIx library 3.2.3 cannot talk to this DVM, which needs version 4 or later"
    [ "$(sort <<< "$stderr")" = "rank 0 $text"$'\n'"rank 1 $text" ] # one for each, although each has tried twice
    [ "$(grep -cF "$text" "$DVM_SESSION_DIR/1/prted.log")" -eq 1 ]
    [ "$(grep -cF "$text" "$DVM_SESSION_DIR/2/prted.log")" -eq 1 ]
}

# --- requests for another size

# ask_begin ARGUMENT...: "pmix_probe alloc ARGUMENT..." as one rank in the background; its lines come by next_line.
ask_begin() {
    mkfifo "$BATS_TEST_TMPDIR/asks" "$BATS_TEST_TMPDIR/enters"
    timeout --kill-after=10 "$limit" "$bin/prun" --stdin 0 -n 1 "$probe" alloc "$@" \
        > "$BATS_TEST_TMPDIR/asks" < "$BATS_TEST_TMPDIR/enters" 3>&- &
    ask_pid=$!
    exec {asks}< "$BATS_TEST_TMPDIR/asks" {enters}> "$BATS_TEST_TMPDIR/enters"
}
next_line() { read -r -t "$limit" -u "$asks" line; }
ask_end() {
    exec {enters}>&-
    said=$(cat <&"$asks")
    wait "$ask_pid"
}
campaign() { view ".campaigns[] | select(.id == \"$1\") | $2"; }
pid_of() { read -r pid _ < "$DVM_SESSION_DIR/$1/pid"; echo "$pid"; }

@test "C12 C13: a rank gives back the highest member and is notified once; other ranks and default handlers are not" {
    start_dvm 4 --slots 1
    run prun -n 2 "$probe" alloc release nodes=1 reqid=mine wait
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-1 reqid=mine status=Draining" ]
    [ "${lines[1]}" = "event: READY id=alloc-1 reqid=mine cause=SUCCESS text=-" ]
    [ "$(sort <<< "${lines[2]}"$'\n'"${lines[3]}")" = $'rank 0 was told 1 ends\nrank 1 was told 0 ends' ]
    [ "${#lines[@]}" -eq 4 ]
    [ "$(campaign alloc-1 '.requester | "\(.rank) \(.vpid) \(.id) \(.told)"')" = "0 1 mine ByEvent" ]
    [ "$(view '[.members[] | select(.state == "wired").vpid] | join(" ")')" = "0 1 2 3" ]
    [ "$(view .size.members)" -eq 3 ]
}

@test "C13: a rank's extension is complete when all its daemons have come, and usable" {
    start_dvm 2 --slots 1
    ask_begin extend nodes=2 reqid=more keep=1 wait
    next_line
    [ "$line" = "alloc: SUCCESS id=alloc-1 reqid=more status=Gathering" ]
    [ "$(campaign alloc-1 '.targets | join(" ")')" = "3 4" ]
    prte resize 4
    next_line
    [ "$line" = "event: READY id=alloc-1 reqid=more cause=SUCCESS text=-" ]
    prun -n 3 true
    ask_end
    [ "$said" = "rank 0 was told 1 ends" ]
}

@test "C26: an extension ends with its job, also one that is killed, and its daemon with it, unless it is to stay" {
    local keep pid
    for keep in "" keep=1; do
        start_dvm 2 --slots 1
        ask_begin extend nodes=1 $keep wait enter
        next_line
        prte resize 3
        next_line
        [ "$line" = "event: READY id=alloc-1 reqid=- cause=SUCCESS text=-" ]
        pid=$(pid_of 3)
        kill -KILL "$(own -f "^$probe alloc extend")"
        ask_end || [ $? -eq 137 ]
        rm "$BATS_TEST_TMPDIR"/{asks,enters}
        [ -n "$keep" ] || wait_end "$pid"
        [ -n "$keep" ] || [ "$(campaign alloc-2 '"\(.kind) \(.phase) \(.requester.told)"')" = "shrink Complete Gone" ]
        [ "$(view .size.members)" -eq "$([ -n "$keep" ] && echo 3 || echo 2)" ]
        prte stop
    done
}

@test "C13: an MPI program extends a full DVM, spawns ranks on the new daemon, and gives it back" {
    start_dvm 2 --slots 1
    mkfifo "$BATS_TEST_TMPDIR/says"
    timeout --kill-after=10 "$limit" "$bin/prun" -n 2 "$examples/mpi_elastic" +1 x1 - > "$BATS_TEST_TMPDIR/says" 3>&- &
    ask_pid=$!
    exec {asks}< "$BATS_TEST_TMPDIR/says"
    next_line
    [ "$line" = "elastic: extend alloc-1" ]
    prte resize 3
    run cat <&"$asks"
    wait "$ask_pid"
    [[ $output == $'elastic: alloc-1 ready\nelastic: spawned on '*$'\nelastic: release alloc-2\nelastic: alloc-2 ready' ]]
    [ "$(view '[.jobs[] | .vpids | map(tostring) | join("-")] | sort | join(" ")')" = "1-2 3" ]
    [ "$(view .size.members)" -eq 2 ]
}

@test "C8: an extension without a new daemon in time is taken back, and its requester gets the reason" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" alloc extend nodes=2 timeout=1 wait
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-1 reqid=- status=Gathering" ]
    [ "${lines[1]}" = "event: FAILED id=alloc-1 reqid=- cause=TIMEOUT text=its deadline of 1 s has passed, 2 of 2 daemons have not joined" ]
    [ "${lines[2]}" = "rank 0 was told 1 ends" ]
    [ "$(view .size.members)" -eq 2 ]
}

@test "C12: impossible requests are refused with a status that names the reason, and change nothing" {
    start_dvm 3 --slots 1
    local expected request
    while read -r expected request; do
        # shellcheck disable=SC2086
        run prun -n 1 "$probe" alloc $request
        [ "$output" = "alloc: $expected id=- reqid=- status=-"$'\n'"rank 0 was told 0 ends" ] ||
            { echo "$request: $output"; return 1; }
    done <<- 'END'
		BAD-PARAM release
		BAD-PARAM extend
		BAD-PARAM extend nodes=0
		BAD-PARAM extend list=some-where
		BAD-PARAM extend list=4:2
		BAD-PARAM extend list=4,5 nodes=3
		BAD-PARAM extend nodes=1 timeout=-1
		NOT-SUPPORTED extend nodes=1 time=0:1
		BAD-PARAM release list=2
		NO-PERMISSIONS release list=0
		RESOURCE-BUSY release list=node1
		RESOURCE-BUSY release nodes=3
		OUT-OF-RESOURCE release nodes=4
		OUT-OF-RESOURCE extend nodes=1048575
		NOT-FOUND release list=7
		NOT-FOUND release id=alloc-1
		NOT-FOUND cancel id=alloc-1
		NOT-FOUND cancel reqid=mine
		NOT-SUPPORTED new nodes=1
		NOT-SUPPORTED reacquire nodes=1
		NOT-SUPPORTED extend nodes=1 cpus!=4
		NOT-SUPPORTED other
	END
    [ "$(view '.campaigns | length')" -eq 0 ]
    [ "$(view .size.members)" -eq 3 ]
}

@test "C7: a request with nothing to do is complete with its answer, and no event follows" {
    start_dvm 3 --slots 1
    run prun -n 1 "$probe" alloc extend list=node2,x-3.x.ns.svc cpus=4
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-1 reqid=- status=Complete" ]
    [ "${lines[1]}" = "rank 0 was told 0 ends" ]
    [ "$(campaign alloc-1 .requester.told)" = ByAnswer ]
    prte resize 2
    run prun -n 1 "$probe" alloc release list=3
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-2 reqid=- status=Complete" ]
}

@test "C12: the requester's own id names one request: repeated it is the same, with another request it is refused" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" alloc extend nodes=1 reqid=a next extend nodes=1 reqid=a next extend nodes=2 reqid=a \
        next cancel reqid=a wait next extend nodes=1 reqid=a
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-1 reqid=a status=Gathering" ]
    [ "${lines[1]}" = "${lines[0]}" ]
    [ "${lines[2]}" = "alloc: EXISTS id=- reqid=- status=-" ]
    [ "${lines[3]}" = "alloc: SUCCESS id=alloc-1 reqid=a status=Cancelled" ]
    [ "${lines[4]}" = "event: FAILED id=alloc-1 reqid=a cause=JOB CANCELED text=-" ]
    [ "${lines[5]}" = "alloc: DVM-MOD id=- reqid=- status=-" ]
    [ "${lines[6]}" = "rank 0 was told 1 ends" ]
    [ "$(view '.campaigns | length')" -eq 1 ]
}

@test "a release of members that the job has not brought waits for other jobs there, and may not end them" {
    start_dvm 3 --slots 1
    hold_job other 1 --host 3
    ask_begin release nodes=1 kill=1 next release list=node3 timeout=1 next release list=node3 reqid=gently enter \
        next cancel reqid=gently wait
    next_line
    [ "$line" = "alloc: NO-PERMISSIONS id=- reqid=- status=-" ]
    next_line
    [ "$line" = "alloc: NO-PERMISSIONS id=- reqid=- status=-" ]
    next_line
    [ "$line" = "alloc: SUCCESS id=alloc-1 reqid=gently status=Draining" ]
    [ "$(campaign alloc-1 '.waiting | length')" -eq 1 ]
    echo >&"$enters"
    next_line
    [ "$line" = "alloc: SUCCESS id=alloc-1 reqid=gently status=Cancelled" ]
    next_line
    [ "$line" = "event: FAILED id=alloc-1 reqid=gently cause=JOB CANCELED text=-" ]
    ask_end
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
    [ "$(view '.campaigns | length')" -eq 1 ]
}

@test "a release of a job's own extension ends other jobs there if the rank requests it; no other job's rank may" {
    start_dvm 2 --slots 1
    ask_begin extend nodes=1 wait enter next release id=alloc-1 kill=1 wait
    next_line
    prte resize 3
    next_line
    [ "$line" = "event: READY id=alloc-1 reqid=- cause=SUCCESS text=-" ]
    hold_job other 1 --host 3
    run prun -n 1 "$probe" alloc release list=3 kill=1 next release nodes=1 timeout=1
    [ "${lines[0]}" = "alloc: NO-PERMISSIONS id=- reqid=- status=-" ]
    [ "${lines[1]}" = "alloc: NO-PERMISSIONS id=- reqid=- status=-" ]
    echo >&"$enters"
    next_line
    [[ "$line" == "alloc: SUCCESS id=alloc-2 reqid=- status="* ]]
    next_line
    [ "$line" = "event: READY id=alloc-2 reqid=- cause=SUCCESS text=-" ]
    ask_end
    end_job other
    [ "$code" -eq 122 ]
    [ "$(campaign alloc-2 '.ended | length')" -eq 1 ]
}

@test "the daemons of an extension are released by its id, by its own job only" {
    start_dvm 2 --slots 1
    ask_begin extend nodes=1 wait enter next release id=alloc-1 wait
    next_line
    prte resize 3
    next_line
    [ "$line" = "event: READY id=alloc-1 reqid=- cause=SUCCESS text=-" ]
    run prun -n 1 "$probe" alloc release id=alloc-1
    [ "${lines[0]}" = "alloc: NOT-FOUND id=- reqid=- status=-" ]
    echo >&"$enters"
    next_line
    next_line
    [ "$line" = "event: READY id=alloc-2 reqid=- cause=SUCCESS text=-" ]
    ask_end
    [ "$(campaign alloc-2 '.targets | join(" ")')" = 3 ]
}

@test "C13: a request goes on when its rank has ended; the end is not reported, and the record names the reason" {
    start_dvm 3 --slots 1
    hold_job other 1 --host 3
    run prun -n 1 "$probe" alloc release list=3
    [ "${lines[0]}" = "alloc: SUCCESS id=alloc-1 reqid=- status=Draining" ]
    [ "$(campaign alloc-1 .requester.told)" = NotYet ]
    local pid
    pid=$(pid_of 3)
    release_job other 1
    end_job other
    wait_end "$pid"
    [ "$(campaign alloc-1 '"\(.phase) \(.requester.told)"')" = "Complete Gone" ]
}

@test "C13: a request goes on when the daemon of its rank is lost" {
    start_dvm 3 --slots 1
    hold_job other 1 --host 3
    ask_begin release list=3 wait
    next_line
    [ "$line" = "alloc: SUCCESS id=alloc-1 reqid=- status=Draining" ]
    local pid
    pid=$(pid_of 3)
    kill -KILL "$(pid_of 1)"
    local ended=0
    ask_end || ended=$?
    [ "$ended" -eq 123 ]
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
    wait_end "$pid"
    [ "$(campaign alloc-1 '"\(.phase) \(.requester.told)"')" = "Complete Gone" ]
}

@test "a tool resizes the DVM and is notified of the end" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    run timeout --kill-after=10 20 "$probe" tool-alloc "$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")" release nodes=1 reqid=t wait
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = "alloc: SUCCESS id=alloc-1 reqid=t status=Draining" ]
    [ "${lines[2]}" = "event: READY id=alloc-1 reqid=t cause=SUCCESS text=-" ]
    [ "${lines[3]}" = "told 1 ends" ]
}

# --- tools

@test "a tool attaches to a daemon that admits tools, and queries the jobs of all daemons" {
    no_outer_name; export DVM_PMIX_TOOLS=1
    start_dvm 2 --slots 1
    hold_job other 2
    local id
    id=$(view '.jobs[0].id')
    run timeout --kill-after=10 20 "$probe" tool "$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")" "$id"
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "tool: tool."*".1" ]]
    [ "${lines[1]}" = "pmix.qry.ns: $id" ]
    [ "${lines[2]}" = "pmix.qry.ptable: 0@node1:running 1@node2:running" ]
    release_job other 2
    end_job other
}

# said_something PORT: the peer of this port has written bytes that were not read.
said_something() { [ -n "$(ss -Htn state established "sport = :$1" | awk '$1 > 0')" ]; }

@test "a tool that dies before it has been answered does not take the daemon with it" {
    DVM_PMIX_TOOLS=1 MALLOC_PERTURB_=165 start_dvm 1 --slots 1 # what has been freed is not taken for what it was
    member=$(daemon_of 1)
    uri=$(head -n 1 "$DVM_SESSION_DIR"/1/pmix.*.tool.dvm)
    kill -STOP "$member"
    "$probe" tool "$uri" any > "$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
    tool_pid=$!
    eventually said_something "${uri##*:}"
    kill -KILL "$tool_pid"
    wait "$tool_pid" || true
    kill -CONT "$member"
    [ "$(prun -n 1 "$probe" hello)" = hello ]
    kill -0 "$member"
}

@test "a tool is refused by a daemon that does not admit tools, even if it knows the port" {
    start_dvm 1 --slots 1
    [ -z "$(find "$DVM_SESSION_DIR" -name 'pmix.*.tool*')" ]
    local uri
    uri=$(prun -n 1 sh -c 'printf %s "$PMIX_SERVER_URI41"')
    [ -n "$uri" ]
    local name
    for name in "" a.name.of.its.own; do
        run timeout --kill-after=10 20 "$probe" tool "$uri" any $name
        [ "$status" -ne 0 ]
        [[ "$output" != *"tool: "* ]]
    done
    prun -n 1 true
}

# tool_uri [VPID]
tool_uri() { head -n 1 "$DVM_SESSION_DIR/${1:-1}/pmix.node${1:-1}.tool.dvm"; }

# gated_job RANKS PROGRAM ARGUMENT...: a job of prun, $job, in the background, whose ranks begin with open_gate RANKS.
gated_job() {
    local ranks=$1
    shift
    mkfifo "$BATS_TEST_TMPDIR/begin"
    prun --stdin none -n "$ranks" sh -c 'read -r _ < "$0"; exec "$@"' "$BATS_TEST_TMPDIR/begin" "$@" \
        > "$BATS_TEST_TMPDIR/prun.out" 2> "$BATS_TEST_TMPDIR/prun.err" 3>&- &
    job_pid=$!
    running() { job=$(view '.jobs[] | select(.state == "RUNNING") | .id') && [ -n "$job" ]; }
    eventually running
}
open_gate() {
    local i
    exec {begin_fd}<> "$BATS_TEST_TMPDIR/begin"
    for ((i = 0; i < $1; i++)); do echo >&"$begin_fd"; done
}

# watch VPID HOW: a tool at that daemon reads $job; its output is in watch.VPID. Returns when it has been accepted.
watch() {
    local out=$BATS_TEST_TMPDIR/watch.$1
    timeout --kill-after=10 "$limit" "$tool" watch "$(tool_uri "$1")" "$2" "$job" > "$out" 2> "$out.err" 3>&- &
    eventually grep -q '^pull: SUCCESS' "$out"
}

# tool_run HOW N PROGRAM ARGUMENT...
tool_run() { timeout --kill-after=10 "$limit" "$tool" run "$(tool_uri)" "$@" 2> "$BATS_TEST_TMPDIR/err"; }

@test "the output of jobs that a tool spawns comes to the tool, from all daemons, by stream" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 2
    tool_run forward 4 sh -c 'echo "out $PMIX_RANK"; echo "err $PMIX_RANK" >&2' < /dev/null > "$BATS_TEST_TMPDIR/out"
    [ "$(grep ^out "$BATS_TEST_TMPDIR/out" | sort)" = $'out 0\nout 1\nout 2\nout 3' ]
    [ "$(grep ^err "$BATS_TEST_TMPDIR/err" | sort)" = $'err 0\nerr 1\nerr 2\nerr 3' ]
    grep -qx 'ended with code 0' "$BATS_TEST_TMPDIR/out"
    run ! grep unheard <(tool_run none 2 echo unheard < /dev/null)
}

@test "a tool finds the DVM by its directory, and as the system's server, until the DVM ends" {
    no_outer_name; DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    local way
    for way in "TMPDIR=$BATS_TEST_TMPDIR search" "PMIX_SYSTEM_TMPDIR=$DVM_SESSION_DIR/0 system"; do
        run timeout --kill-after=10 "$limit" env "${way% *}" "$tool" run "${way#* }" forward 2 sh -c 'echo "found $PMIX_HOSTNAME"'
        [ "$status" -eq 0 ]
        [ "$(grep ^found <<< "$output" | sort)" = $'found node1\nfound node2' ]
    done
    prte stop
    [ -z "$(find "$BATS_TEST_TMPDIR" -name 'pmix.*')" ]
    run timeout --kill-after=10 20 env TMPDIR="$BATS_TEST_TMPDIR" "$tool" run search forward 1 true
    [ "$status" -ne 0 ]
    start_dvm 1 --slots 1 # that admits no tools
    run timeout --kill-after=10 20 env TMPDIR="$BATS_TEST_TMPDIR" "$tool" run search forward 1 true
    [ "$status" -ne 0 ]
}

@test "a tool at a leaving daemon gets the end of its job, whose ranks are elsewhere: a shrink waits for it, or ends it" {
    local out=$BATS_TEST_TMPDIR/out mode pid resize
    for mode in wait kill; do
        rm -f "$out"
        DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
        mkfifo "$BATS_TEST_TMPDIR/gate.$mode"
        timeout --kill-after=10 "$limit" "$tool" run "$(tool_uri 2)" forward 1 \
            sh -c 'echo runs; read -r _ < "$1"' sh "$BATS_TEST_TMPDIR/gate.$mode" < /dev/null > "$out" 2> "$out.err" 3>&- &
        pid=$!
        eventually grep -qs runs "$out"
        [ "$(view '.jobs[0].vpids == [1]')" = true ]
        prte resize 1 --drain "$mode" > "$BATS_TEST_TMPDIR/resize" 3>&- &
        resize=$!
        eventually grep -q 'waits for job' "$BATS_TEST_TMPDIR/resize"
        [ "$mode" = kill ] || echo > "$BATS_TEST_TMPDIR/gate.$mode"
        wait "$pid"
        grep -qx "ended with code $([ "$mode" = kill ] && echo 122 || echo 0)" "$out"
        wait "$resize"
        grep -q 'CampaignComplete: Complete' "$BATS_TEST_TMPDIR/resize"
        prte stop
    done
}

@test "a tool requests the output of its job, and ends the request" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate says=$BATS_TEST_TMPDIR/says line
    mkfifo "$gate" "$gate.2" "$says"
    tool_run pull,leave 1 sh -c 'read -r _ < "$1"; echo first; read -r _ < "$1.2"; echo second' sh "$gate" < /dev/null > "$says" 3>&- &
    local tool_pid=$!
    exec {fd}< "$says"
    expect() { read -r -t "$limit" -u "$fd" line && echo "it says: $line" && [ "$line" = "$1" ]; }
    expect "pull: SUCCESS"
    echo > "$gate"
    expect first
    expect left
    echo > "$gate.2"
    expect "ended with code 0"
    wait "$tool_pid"
}

@test "a tool on a daemon without ranks gets events of ranks elsewhere for the session, for all, or for the tool" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    local whom out pid
    for whom in session global itself; do
        out=$BATS_TEST_TMPDIR/heard.$whom # its own: the tool's process empties it at a time of its own
        timeout --kill-after=10 "$limit" "$tool" hear "$(tool_uri 3)" -3007 > "$out" 3>&- &
        pid=$!
        eventually grep -q listens "$out"
        [ "$whom" != itself ] || whom=$(sed -n 's/ listens//p' "$out")
        prun -n 1 --host 1 "$probe" notify -3007 "$whom"
        wait "$pid"
        grep -qx "heard from rank 0" "$out"
    done
}

@test "a tool pushes megabytes to its job's input, to one rank or all, until their end" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    head -c 20000000 /dev/urandom > "$BATS_TEST_TMPDIR/data"
    local sum
    sum=$(md5sum < "$BATS_TEST_TMPDIR/data")
    run --separate-stderr tool_run forward,push,all 2 md5sum < "$BATS_TEST_TMPDIR/data"
    [ "$status" -eq 0 ]
    [ "$(grep -cxF "$sum" <<< "$output")" -eq 2 ]
    run --separate-stderr tool_run forward,push,wrong 2 sh -c '[ "$PMIX_RANK" = 1 ] || exec md5sum; wc -c' < "$BATS_TEST_TMPDIR/data"
    [ "$status" -eq 0 ]
    grep -qx 'push: BAD PARAM' <<< "$output"
    [ "$(grep -cxF "$sum" <<< "$output")" -eq 1 ]
    grep -qx 0 <<< "$output"
}

@test "a tool reads the output of a job of prun, beside prun, at any daemon, to its end" {
    DVM_PMIX_TOOLS=1 start_dvm 3 --slots 1
    local at pids=()
    gated_job 3 sh -c 'head -c 100000 /dev/zero | tr "\0" "$PMIX_RANK"; echo "err $PMIX_RANK" >&2'
    for at in 0 1 3; do
        watch "$at" all
        pids+=("$!")
    done
    open_gate 3
    wait "$job_pid"
    wait "${pids[@]}"
    [ "$(wc -c < "$BATS_TEST_TMPDIR/prun.out")" -eq 300000 ]
    for at in 0 1 3; do
        [ "$(head -n 1 "$BATS_TEST_TMPDIR/watch.$at")" = 'pull: SUCCESS' ]
        for rank in 0 1 2; do
            [ "$(sed 1d "$BATS_TEST_TMPDIR/watch.$at" | tr -cd "$rank" | wc -c)" -eq $((100000 + (rank == 0))) ] # "code 0"
        done
        [[ "$(tail -c 30 "$BATS_TEST_TMPDIR/watch.$at")" == *"ended with code 0" ]]
        [ "$(sort "$BATS_TEST_TMPDIR/watch.$at.err")" = $'err 0\nerr 1\nerr 2' ]
    done
}

@test "a tool is refused the output of an unknown job, a redirection, and input to a job that is not its own" {
    DVM_PMIX_TOOLS=1 start_dvm 1 --slots 2
    hold_job other 1
    run timeout --kill-after=10 20 "$tool" foreign "$(tool_uri)" nobody.7
    [ "$output" = $'pull: NOT FOUND\npush: NOT FOUND' ]
    run timeout --kill-after=10 20 "$tool" foreign "$(tool_uri)" "$(view '.jobs[0].id')"
    [ "$output" = $'pull: SUCCESS\npush: NOT FOUND' ]
    run timeout --kill-after=10 20 "$tool" watch "$(tool_uri)" redirect "$(view '.jobs[0].id')"
    [ "$output" = 'pull: NOT SUPPORTED' ]
    release_job other 1
    end_job other
    [ "$code" -eq 0 ]
    [ "$said" = "released on node1" ]
}

@test "a tool ends its request for the output of a job of prun, and disconnects: the job and prun lose nothing" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate2
    mkfifo "$gate" "$gate.2"
    gated_job 1 sh -c 'echo first; read -r _ < "$1"; seq 100000; read -r _ < "$1.2"; seq 100000' sh "$gate"
    watch 1 leave
    local left=$!
    watch 2 all
    local killed=$!
    open_gate 1
    eventually grep -qx left "$BATS_TEST_TMPDIR/watch.1"
    echo > "$gate"
    eventually grep -qx 100000 "$BATS_TEST_TMPDIR/watch.2"
    cmp <(echo 'pull: SUCCESS'; echo first; seq 100000) "$BATS_TEST_TMPDIR/watch.2"
    pkill -KILL -P "$killed"
    echo > "$gate.2"
    wait "$job_pid"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/prun.out")" -eq 200001 ]
    wait "$left"
    [ "$(cat "$BATS_TEST_TMPDIR/watch.1")" = $'pull: SUCCESS\nfirst\nleft\nended with code 0' ]
    wait "$killed" || true
}

@test "a tool that does not read the output of a job of prun is waited for a second, loses the rest, and is notified" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    gated_job 1 head -c 50000000 /dev/zero
    watch 2 all
    local pid=$! got
    pkill -STOP -P "$pid"
    open_gate 1
    wait "$job_pid"
    [ "$(wc -c < "$BATS_TEST_TMPDIR/prun.out")" -eq 50000000 ]
    pkill -CONT -P "$pid"
    wait "$pid"
    got=$(tr -cd '\0' < "$BATS_TEST_TMPDIR/watch.2" | wc -c)
    [ "$got" -lt 20000000 ]
    [[ "$(cat "$BATS_TEST_TMPDIR/watch.2.err")" == "$((50000000 - got)) bytes of output of job "*" were dropped: nobody read them" ]]
    grep -aqx 'ended with code 0' <(tr -d '\0' < "$BATS_TEST_TMPDIR/watch.2")
}

@test "a tool that does not read blocks its job, and the daemon keeps little" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate out=$BATS_TEST_TMPDIR/out before after pid bytes
    hwm() { daemons | xargs -I{} awk '/^VmHWM/ { sum += $2 } END { print sum }' /proc/{}/status | awk "{ sum += \$1 } END { print sum }"; }
    mkfifo "$gate"
    before=$(hwm)
    tool_run pull 1 sh -c 'read -r _ < "$1"; exec head -c 100000000 /dev/zero' sh "$gate" < /dev/null > "$out" 3>&- &
    local tool_pid=$!
    eventually grep -q 'pull: SUCCESS' "$out"
    pkill -STOP -f "^$tool run .* $gate\$"
    echo > "$gate"
    eventually own -f '^head -c 100000000 /dev/zero$'
    pid=$(own -f '^head -c 100000000 /dev/zero$')
    eventually stands_still "$pid" # its reader is stopped
    bytes=$(written "$pid")
    after=$(hwm)
    echo "written $bytes, memory $before KiB, then $after KiB"
    pkill -CONT -f "^$tool run .* $gate\$"
    wait "$tool_pid"
    [ "$bytes" -lt 20000000 ]
    [ $((after - before)) -lt 20000 ]
    [ "$(tr -cd '\0' < "$out" | wc -c)" -eq 100000000 ]
}

@test "a job that waits for its tool goes on when the tool is killed" {
    DVM_PMIX_TOOLS=1 start_dvm 2 --slots 1
    local gate=$BATS_TEST_TMPDIR/gate out=$BATS_TEST_TMPDIR/out over=$BATS_TEST_TMPDIR/over
    mkfifo "$gate" "$over"
    tool_run pull 1 sh -c 'read -r _ < "$2"; head -c 30000000 /dev/zero; echo over > "$1"' sh "$over" "$gate" < /dev/null > "$out" 3>&- &
    eventually grep -q 'pull: SUCCESS' "$out"
    pkill -STOP -f "^$tool run .* $gate\$"
    echo > "$gate"
    much() { [ "$(written "$(own -f '^head -c 30000000 /dev/zero$')")" -ge 1000000 ]; } # less than what may be kept for it
    eventually much
    pkill -KILL -f "^$tool run .* $gate\$"
    read -r -t "$limit" _ < "$over"
    run prun -n 2 echo well
    [ "$output" = $'well\nwell' ]
}
