#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/beside.sh runs commands at the same time, and fails if one fails.

setup() {
    beside=$BATS_TEST_DIRNAME/../beside.sh
    cd "$BATS_TEST_TMPDIR" || exit
}

# told TEXT: what was printed, without the seconds.
told() { diff <(printf '%s\n' "$1") <(sed -E 's/ after [0-9]+ s/ after S s/' <<< "$output"); }

@test "beside: all run at the same time; the output of the others comes as a whole after that of the first" {
    mkfifo a b c
    run timeout 20 "$beside" 'read -r _ < a; echo 3; echo > b; echo 4' 'echo 1; echo > a; read -r _ < c; echo 2' \
        'echo 5; read -r _ < b; echo > c; echo 6'
    [ "$status" -eq 0 ]
    told '3
4
beside: done after S s: read -r _ < a; echo 3; echo > b; echo 4
1
2
beside: done after S s: echo 1; echo > a; read -r _ < c; echo 2
5
6
beside: done after S s: echo 5; read -r _ < b; echo > c; echo 6'
}

@test "beside: the failure of each is named, and fails the run after all have ended" {
    run "$beside" 'exit 3' 'echo all'
    [ "$status" -eq 1 ]
    told 'beside: failed (3) after S s: exit 3
all
beside: done after S s: echo all'
    run "$beside" 'echo all' 'exit 4' 'echo more'
    [ "$status" -eq 1 ]
    told 'all
beside: done after S s: echo all
beside: failed (4) after S s: exit 4
more
beside: done after S s: echo more'
}

@test "beside: a request to end ends all commands, one that ignores it too, and shows what they have said" {
    mkfifo a b
    "$beside" 'trap "" TERM; echo $$ > first; echo > a; tail -f /dev/null' \
        'echo word; echo $$ > second; echo > b; tail -f /dev/null' > out 3>&- &
    read -r _ < a
    read -r _ < b
    kill -TERM "$!"
    rc=0
    wait "$!" || rc=$?
    [ "$rc" -eq 130 ]
    [[ $(ps -o state= -p "$(< first),$(< second)") != *[!Z[:space:]]* ]]
    grep -x word out
}
