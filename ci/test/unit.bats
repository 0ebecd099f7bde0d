#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/unit.sh runs all programs, several at a time, and fails if one fails.

setup() {
    unit=$BATS_TEST_DIRNAME/../unit.sh
    cd "$BATS_TEST_TMPDIR" || exit
}

# program NAME LINE...: a shell script in place of a test program.
program() {
    printf '%s\n' '#!/bin/sh' "${@:2}" > "$1"
    chmod +x "$1"
}

@test "unit: a program that fails is named after all have run, and fails the run" {
    program good 'echo one'
    program bad 'echo two' 'exit 3'
    program later 'touch ran'
    UNIT_JOBS=1 run "$unit" ./good ./bad ./later
    [ "$status" -eq 1 ]
    [[ ${lines[-1]} == "failed: ./bad (3, after "* ]]
    [ -e ran ]
}

@test "unit: a program that a signal ends fails the run, and so does one that is not there" {
    # shellcheck disable=SC2016 # for the program
    program killed 'kill -SEGV $$'
    run "$unit" ./killed ./missing
    [ "$status" -eq 1 ]
    [[ $output == *"failed: ./killed (139, "* ]]
    [[ $output == *"failed: ./missing (127, "* ]]
}

@test "unit: programs that run at the same time do not mix their output" {
    mkfifo a b
    program one 'echo 1' 'echo > a' 'read -r _ < b' 'echo 2'
    program two 'read -r _ < a' 'echo 3' 'echo > b' 'echo 4'
    UNIT_JOBS=2 run "$unit" ./one ./two
    [ "$status" -eq 0 ]
    [[ $output == *$'# ./one\n1\n2'* ]]
    [[ $output == *$'# ./two\n3\n4'* ]]
    [ "${lines[-1]}" = "all 2 unit test programs passed" ]
}

@test "unit: the least time of a program is written down" {
    program good true
    mkdir times
    echo 100000 > times/.+good
    UNIT_TIMES=$PWD/times run "$unit" ./good
    [ "$(< times/.+good)" -lt 100000 ]
    echo 0 > times/.+good
    UNIT_TIMES=$PWD/times run "$unit" ./good
    [ "$(< times/.+good)" -eq 0 ]
}

@test "check: a folder, a test's source or a bats file names what runs, and a name without tests is refused" {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    run make --no-print-directory -s check T=dvm/protocol/nothing
    [ "$status" -eq 2 ]
    [[ $output == *"no tests in 'dvm/protocol/nothing'"* ]]
    run make --no-print-directory -n check T=dvm/protocol/tree/
    [[ ${lines[-1]} == *ci/unit.sh*/dvm/protocol/tree/test/test_* ]]
    [[ ${lines[-1]} != *protocol/map* ]]
    run make --no-print-directory -n check T=dvm/protocol/tree/test/test_tree.c
    [[ ${lines[-1]} == "ci/unit.sh "*/dvm/protocol/tree/test/test_tree ]]
    run make --no-print-directory -n check T=dvm/test/links.bats NAME=reset
    [[ ${lines[-1]} == *bats.sh" -f 'reset' dvm/test/links.bats" ]]
}
