#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A member's pod is deleted (a shrink of one), or a member is killed from outside or loses its node (a loss): it rejoins
# with its vpid.
load ../lib

setup() {
    have 3
    remember_start
}

epoch_of() { pstat | jq -r --argjson v "$1" '.members[] | select(.vpid == $v) | .epoch'; }
is_new() { [ "$(uid_of "$1")" != "$2" ]; }
has_rejoined() { # VPID OLD-EPOCH
    pstat | jq -e --argjson v "$1" --argjson e "$2" '.members[] | select(.vpid == $v) | .state == "wired" and .epoch > $e' > /dev/null
}

@test "C19: member pod deleted: a shrink of one, then it rejoins; jobs elsewhere continue" {
    local uid epoch
    uid=$(uid_of "$X-2")
    epoch=$(epoch_of 2)
    hold others 1,3
    k delete pod "$X-2" --timeout=60s
    eventually 60 "a new pod" is_new "$X-2" "$uid"
    eventually 60 "vpid 2 is wired again, in a later life" has_rejoined 2 "$epoch"
    released others
    settled 3
    equal "daemons that were lost" "$(pstat | jq '[.members[] | select(.state == "lost")] | length')" 0
    mpi_over 3
}

@test "member pod deleted while a job runs there: the pod waits for the job" {
    local uid
    uid=$(uid_of "$X-2")
    hold there 2
    k delete pod "$X-2" --wait=false
    eventually 20 "vpid 2 drains" is_draining 2
    equal "its pod" "$(uid_of "$X-2")" "$uid"
    in_head prun -n 2 --map-by node true
    equal "its pod after another job" "$(uid_of "$X-2")" "$uid"
    released there
    eventually 60 "a new pod" is_new "$X-2" "$uid"
    settled 3
    mpi_over 3
}
is_draining() { equal state "$(pstat | jq -r --argjson v "$1" '.members[] | select(.vpid == $v) | .state')" draining; }

@test "C19: member killed by SIGKILL from outside: a loss, then it rejoins with its vpid; jobs elsewhere continue" {
    local epoch restarts uid code=0
    epoch=$(epoch_of 2)
    uid=$(uid_of "$X-2")
    restarts=$(restarts_of "$X-2")
    hold others 1,3
    hold there 2
    kill_from_outside "$X-2" dvm-spawner
    eventually 60 "its container is started again" has_restarted "$X-2" "$restarts"
    eventually 60 "vpid 2 is wired again, in a later life" has_rejoined 2 "$epoch"
    equal "pod" "$(uid_of "$X-2")" "$uid"
    ended there 30 || code=$? # not by `run`: only this shell may wait for it
    equal "exit code of the job that had its rank there" "$code" 123
    released others
    settled 3
    mpi_over 3
}

@test "daemon killed by SIGKILL inside a pod: its ranks end with it, and it rejoins" {
    local epoch restarts
    epoch=$(epoch_of 3)
    restarts=$(restarts_of "$X-3")
    kill_from_outside "$X-3" prted 0
    eventually 60 "its container is started again" has_restarted "$X-3" "$restarts"
    eventually 60 "vpid 3 is wired again, in a later life" has_rejoined 3 "$epoch"
    settled 3
    mpi_over 3
}

teardown() {
    end_hang
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ]; then keep_failure; fi
    stop_background
}

@test "a member's node hangs: its pod is replaced within a minute, and the former one ends when the node is back" {
    local uid node epoch code=0
    export KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false # they do not last longer than a minute without input
    node=$(node_of "$X-3")
    leave_alone "$node" "$X-3"
    uid=$(uid_of "$X-3")
    hold others 1,2
    hold there 3
    hang_node "$node" "$uid"
    ended there 60 || code=$?
    equal "exit code of the job that had its rank there" "$code" 123
    eventually 120 "the node is known to be gone" node_is "$node" Unknown
    eventually 60 "a new pod" is_new "$X-3" "$uid"
    settled 3 "$X" 60
    signal_pod CONT "$node" "$uid" > /dev/null # its daemon wakes beside the new one
    uid=$(uid_of "$X-3") epoch=$(epoch_of 3)
    wake_node
    eventually 60 "the former daemon has ended" hung_are_gone
    released others
    settled 3
    equal "the new pod" "$(uid_of "$X-3")" "$uid"
    equal "the epoch of vpid 3" "$(epoch_of 3)" "$epoch"
    mpi_over 3
}
