#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A real MPI program runs over all members.
load ../lib

setup() {
    have 4
    remember_start
}

@test "mpi: one rank on each of four pods, on three nodes, computes from a random seed" {
    mpi_over 4 "$X-head-0" 3
}

@test "mpi: a job can be submitted in a member's pod" {
    mpi_over 4 "$X-3"
}

@test "mpi: without -n every free slot is used, and the ranks of a pod share memory" {
    local seed
    seed=$(draw_seed)
    equal result "$(in_head prun mpi_coll "$seed")" "coll: size=8 seed=$seed result=$(coll_result "$seed" 8) ok"
}

@test "mpi: a ring of messages keeps its count" {
    equal ring "$(in_head prun -n 8 mpi_ring 500)" "ring: size=8 rounds=500 token=14000 ok"
}

@test "mpi: eight jobs at a time, each with its own result" {
    local i seed
    for i in 1 2 3 4 5 6 7 8; do
        seed=$((i * 1000003))
        background "job$i" kubectl --namespace "$NS" exec "$X-head-0" -- prun -n 2 --map-by node mpi_coll "$seed"
    done
    for i in 1 2 3 4 5 6 7 8; do
        seed=$((i * 1000003))
        ended "job$i" 60 || { said "job$i"; false; }
        equal "result of job $i" "$(said "job$i")" "coll: size=2 seed=$seed result=$(coll_result "$seed" 2) ok"
    done
}

@test "mpi: exit code, standard error and standard input are forwarded" {
    run in_head prun -n 2 sh -c 'echo to stderr >&2; exit 7'
    equal "exit code" "$status" 7
    [[ $output == *"to stderr"* ]]
    equal "what cat says" "$(echo hello | k exec -i "$X-head-0" -- prun -n 1 cat)" hello
}

@test "mpi: a job that can never fit fails at once with the reason" {
    run in_head prun -n 9 true
    equal "exit code" "$status" 125
    [[ $output == *9* && $output == *8* ]]
}

@test "mpi: an ended job leaves no process and no used slot" {
    local left
    in_head prun -n 8 sh -c 'sleep 300 & true'
    for left in 1 2 3 4; do
        run k exec "$X-$left" -- sh -c 'cat /proc/[0-9]*/comm 2> /dev/null | grep -c sleep || :'
        equal "processes left on $X-$left" "$output" 0
    done
    equal "slots in use" "$(pstat | jq '[.members[].slotsUsed] | add')" 0
}
