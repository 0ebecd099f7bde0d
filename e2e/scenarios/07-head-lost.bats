#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The head's pod is deleted: jobs end with a reason, members join the next incarnation, Available becomes True again.
load ../lib

incarnation_is_new() { [ "$(pstat | jq -r .incarnation)" != "$1" ]; }

@test "head pod deleted: jobs end with a reason, members rejoin, Available again with the same pods" {
    local uids incarnation code
    have 3
    uids=$(member_uids)
    incarnation=$(pstat | jq -r .incarnation)
    hold job 1,2,3 "$X-1"
    k delete pod "$X-head-0" --timeout=60s
    run ended job 30
    code=$status
    [ "$code" = 122 ] || [ "$code" = 123 ] || fail "the job's exit code is $code: $(said job)"
    said job | grep -q 'prun: ' || fail "no word on why the job has ended: $(said job)"
    eventually 60 "a new incarnation" incarnation_is_new "$incarnation"
    k wait --for=condition=Available "dvm/$X" --timeout=60s
    settled 3
    equal "members' pods" "$(member_uids)" "$uids"
    mpi_over 3
}

@test "head killed by SIGKILL from outside: jobs end with a reason, members rejoin, Available again" {
    local incarnation restarts
    have 3
    incarnation=$(pstat | jq -r .incarnation)
    restarts=$(restarts_of "$X-head-0")
    kill_from_outside "$X-head-0" dvm-spawner
    eventually 60 "its container is started again" has_restarted "$X-head-0" "$restarts"
    eventually 60 "a new incarnation" incarnation_is_new "$incarnation"
    settled 3
    mpi_over 3
}
