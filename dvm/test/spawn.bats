#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that ranks spawn: their output and end, those that fail or end before they connect, the hosts that they name.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

@test "a spawned job's output comes to prun, which waits for it when the parent has ended" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn 1 sh -c 'tail --pid="$1" -f /dev/null; echo "late from $PMIX_HOSTNAME"' sh @pid
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = $'late from node2\nspawn: SUCCESS' ] # nothing orders the outputs of two daemons
}

@test "the end of a spawned job on another daemon is reported to its parent" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn-wait 1 sh -c 'exit 5'
    [ "$status" -eq 5 ]
    [[ "$output" == "my child ended with code 5: "*"NON ZERO TERM"* ]]
    run prun -n 1 "$probe" spawn-wait 1 true
    [ "$output" = "my child ended with code 0: SUCCESS" ]
}

@test "a job that fails ends the jobs that it has spawned" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn-fail 1 sh -c 'exec sleep 12345' "$BATS_TEST_TMPDIR"
    [ "$status" -eq 7 ]
    [ "$(view '.jobs[] | select(.exitCode == 122) | .reason')" != "" ]
    [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" -eq 0 ]
}

@test "a spawned job that fails is reported by prun, which exits with its code" {
    start_dvm 2 --slots 1
    run prun -n 1 "$probe" spawn 1 sh -c 'exit 5'
    [ "$status" -eq 5 ]
    [[ "$output" == *"prun: spawned job "*": rank 0 on node2 (vpid 2) exited with code 5, pid "* ]]
}

@test "a spawn that cannot be started fails in the caller, which goes on" {
    start_dvm 1 --slots 2
    run prun -n 1 "$probe" spawn 1 /no/such/program
    [ "$status" -eq 0 ]
    [ "$output" = "spawn: JOB FAILED TO LAUNCH" ]
}

# early_end CODE N PROGRAM…: a job of N that was spawned to connect ends before that. The spawn fails, prun says why in one
# line, and again at the end if the job has failed, and ends with CODE.
early_end() {
    local code=$1
    shift
    run --separate-stderr -"$code" prun -n 1 --host 1 "$probe" spawn-port 4711 "$@"
    [ "$output" = "spawn: JOB FAILED TO LAUNCH" ]
    [[ "${stderr_lines[0]}" == "prun: rank 0 has spawned job "*", which has ended before all of its ranks had called MPI_Init (PMIx_Init): the spawn fails"* ]]
    [ "${#stderr_lines[@]}" -eq $((code ? 2 : 1)) ]
}

@test "a spawn of programs that are to connect fails if they end before PMIx_Init, all or one, with any code" {
    start_dvm 2 --slots 3
    early_end 4 1 sh -c 'exit 4'
    early_end 4 3 sh -c 'exit 4'
    [[ "$stderr" == *"the spawn fails: rank "[012]" on node"[12]" (vpid "[12]") exited with code 4, pid "* ]]
    early_end 0 3 true
    early_end 137 2 sh -c 'kill -KILL $$'
    early_end 4 3 sh -c '[ "$PMIX_RANK" = 1 ] && exit 4; exec "$1" accept 1' sh "$probe"
}

@test "a spawner that waits at a port of programs that have ended gets an answer" {
    start_dvm 2 --slots 2
    local where
    for where in 1 2; do
        run -0 prun -n 1 --host "$where" "$probe" spawn-port "47$where" 2 "$probe" hello
        [ "$(sort <<< "$output")" = $'hello\nhello\nlookup: NOT FOUND\nspawn: SUCCESS' ]
        run -0 prun -n 1 --host "$where" "$probe" spawn-port "48$where" 2 "$probe" accept "48$where"
        [ "$output" = $'spawn: SUCCESS\nlookup: SUCCESS' ]
    done
}

@test "a job that a rank spawns runs on the hosts that it names, by vpid, range, pod or node" {
    start_dvm 4 --slots 1
    local level hosts where
    while read -r level hosts where; do
        run prun -n 1 --host 1 "$probe" spawn-host "$level" "$hosts" "$(wc -w <<< "$where")" sh -c 'echo "on $PMIX_HOSTNAME"'
        [ "$status" -eq 0 ]
        [ "$(grep ^spawn <<< "$output")" = "spawn: SUCCESS" ]
        [ "$(sed -n 's/^on //p' <<< "$output" | sort | xargs)" = "$where" ]
    done << 'END'
job 3 node3
app x-2,4 node2 node4
job 3-4 node3 node4
app node4.x.svc node4
END
    # The machine's own name, as MPI_Get_processor_name has it, is each of its members.
    run -0 prun -n 1 --host "$(uname -n)" "$probe" spawn-host job "$(uname -n)" 3 sh -c 'echo "on $PMIX_HOSTNAME"'
    [ "$(sort -u <<< "$output" | wc -l)" -eq 4 ]
}

@test "a spawn on hosts that do not exist, are full, or would have to be added, is refused" {
    start_dvm 2 --slots 1
    local row
    local -a words
    for row in "job 9:JOB FAILED TO LAUNCH" "job 2,9:JOB FAILED TO LAUNCH" "job nobody:BAD PARAM" "job 2:5:BAD PARAM" "pmix.addhost 3:NOT SUPPORTED" "pmix.hostfile /f:NOT SUPPORTED" "job 2:JOB FAILED TO LAUNCH"; do
        read -ra words <<< "${row%:*}"
        run prun -n 1 --host 1 "$probe" spawn-host "${words[@]}" 2 echo started
        [ "$status" -eq 0 ]
        [ "$output" = "spawn: ${row##*:}" ]
    done
}
