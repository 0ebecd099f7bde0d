#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The end of groups: a group ends with its job, and a construction that cannot be completed ends with an error.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

groups=${GROUP_PROBE:-$repo/build/probe/group_probe}

setup_file() {
    build_all
    [ -n "${GROUP_PROBE:-}" ] || make -s -C "$repo" build/probe/group_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# all_say N LINE: N ranks have printed this line, and no other line was printed.
all_say() {
    echo "$output"
    [ "$(sort <<< "$output" | uniq -c | tr -s ' \n' ' ')" = " $1 $2 " ]
}

@test "a program that leaves its group as it is can be run again, on one daemon and on several" {
    local ranks
    start_dvm 2 --slots 4
    for ranks in 1 4 6; do
        for _ in 1 2 3; do
            run prun -n "$ranks" "$groups" keep ours
            [ "$status" -eq 0 ]
            all_say "$ranks" "construct: SUCCESS"
        done
    done
}

@test "a group with a context id is constructed and destructed again and again, by one rank and by several" {
    local ranks
    start_dvm 2 --slots 4
    for ranks in 1 4 6; do
        run prun -n "$ranks" "$groups" again ours 3
        [ "$status" -eq 0 ]
        all_say "$((3 * ranks))" "construct: SUCCESS $((3 * ranks)) destruct: SUCCESS"
    done
}

@test "a rank that is killed inside a construction leaves the group's name to the next job" {
    local ranks
    start_dvm 2 --slots 4
    for ranks in 4 6; do
        run prun -n "$ranks" "$groups" die ours
        [ "$status" -eq 137 ]
        run prun -n "$ranks" "$groups" keep ours
        [ "$status" -eq 0 ]
        all_say "$ranks" "construct: SUCCESS"
    done
}

@test "recoverable: a construction ends with an error when a member is killed inside it" {
    local ranks
    start_dvm 2 --slots 4
    for ranks in 4 6; do
        run prun --rtos recoverable -n "$ranks" "$groups" die ours
        [[ "$output" == *"construct: an error"* ]]
        [[ "$output" != *"construct: SUCCESS"* ]]
        [ "$(grep -c '^construct: an error$' <<< "$output")" -eq $((ranks - 1)) ]
    done
}

@test "after a construction has timed out, the same job and the next one can use the group's name" {
    local ranks
    start_dvm 2 --slots 4
    for ranks in 4 6; do
        run prun -n "$ranks" "$groups" alone ours 1
        [ "$status" -eq 0 ]
        [ "$(grep -c '^construct: TIMEOUT$' <<< "$output")" -eq $((ranks - 1)) ]
        [ "$(grep -c '^again: SUCCESS$' <<< "$output")" -eq "$ranks" ]
        run prun -n "$ranks" "$groups" keep ours
        [ "$status" -eq 0 ]
        all_say "$ranks" "construct: SUCCESS"
    done
}

# MPI libraries without sessions have nothing to be tested here.
need_sessions() {
    local said
    said=$("$examples/mpi_session" 0 2> /dev/null) || true
    [ "$said" != "session: this MPI library has none" ] || skip "$said"
}

@test "MPI: a communicator is created from a session's group, at its first use and again, by one rank and by several on all daemons" {
    local ranks
    need_sessions
    start_dvm 3 --slots 2
    for ranks in 1 1 2 6 6; do
        run --separate-stderr prun -n "$ranks" "$examples/mpi_session" 3
        echo "$output $stderr"
        [ "$status" -eq 0 ]
        [ "$output" = "session: ranks=$ranks times=3 ok" ]
    done
}

@test "MPI: a session that is not finalized, or whose rank is killed, leaves the next run its communicator" {
    local ranks
    need_sessions
    start_dvm 3 --slots 2
    for ranks in 1 6; do
        run --separate-stderr prun -n "$ranks" "$examples/mpi_session" 1 keep
        echo "$output $stderr"
        [[ "$output" == *"session: ranks=$ranks times=1 ok"* ]]
        run prun -n "$ranks" "$examples/mpi_session" 1 die
        echo "$output"
        [ "$status" -eq 137 ] || [ "$status" -eq 1 ] # the killed rank, or one whose communicator then fails
        run --separate-stderr prun -n "$ranks" "$examples/mpi_session" 1
        echo "$output $stderr"
        [ "$status" -eq 0 ]
        [ "$output" = "session: ranks=$ranks times=1 ok" ]
    done
}
