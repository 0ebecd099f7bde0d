#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Another user of the host at the PMIx server's port, who knows all that can be known: the port and the names of a job and
# of its ranks. What a process states about itself counts for nothing.

# shellcheck disable=SC2154,SC2034,SC2030,SC2031  # set by lib.bash; each test changes its own copy

bats_require_minimum_version 1.5.0
load lib

setup_file() {
    [ "$(id -u)" = 0 ] || skip "only root can become another user"
    build_all
    make -s -C "$repo" build/probe/tool_probe build/probe/stranger_shim.so >&2
}

setup() {
    new_dvm_dir
    # The programs of the other user lie in a directory that this user may read.
    open=$(mktemp -d /tmp/strangers.XXXXXX)
    chmod 755 "$open"
    cp "$repo"/build/probe/{pmix_probe,tool_probe,stranger_shim.so} "$open"
    chmod 755 "$open"/*
    DVM_PMIX_TOOLS=1 start_dvm 1 --slots 4
    # A rank that stays, and what it has in its environment.
    hold_job victim 1
    rank=$(ranks_of victim)
    mapfile -d '' -t told < <(grep -zE '^(PMIX_|TMPDIR=)' "/proc/$rank/environ")
    uri=$(head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm")
}

teardown() {
    [ -z "${open:-}" ] || rm -rf "$open"
    end_dvm
}

# stranger COMMAND...: as user 65534, in a rank's environment. claiming: it states user 0.
stranger() {
    env -i PATH="$PATH" HOME=/ "${told[@]}" TMPDIR=/tmp ${claims[@]+"${claims[@]}"} \
        timeout --kill-after=10 "$limit" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
claiming() {
    local claims=(STRANGER_UID=0 STRANGER_GID=0 LD_PRELOAD="$open/stranger_shim.so")
    stranger "$@"
}

jobs_so_far() { view '.jobs | length'; }

@test "another user is refused as a rank, whatever user it states, and can spawn nothing" {
    local before
    before=$(jobs_so_far)
    # The attack itself works: a rank of another job is taken in the same way.
    run prun -n 1 env "${told[@]}" "$open/pmix_probe" spawn 1 true
    echo "rank: $output"
    [[ "$output" == *"spawn: SUCCESS"* ]]
    eventually eval "[ \"\$(jobs_so_far)\" -gt $before ]"
    before=$(jobs_so_far)
    run stranger "$open/pmix_probe" spawn 1 touch "$BATS_TEST_TMPDIR/spawned"
    echo "honest: $output"
    [ "$status" -ne 0 ]
    [[ "$output" != *"SUCCESS"* ]]
    run claiming "$open/pmix_probe" spawn 1 touch "$BATS_TEST_TMPDIR/spawned"
    echo "claiming: $output"
    [ "$status" -ne 0 ]
    [[ "$output" != *"SUCCESS"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/spawned" ]
    [ "$(jobs_so_far)" -eq "$before" ]
    release_job victim 1
    end_job victim
    [ "$code" = 0 ]
}

@test "another user is refused as a tool, whatever user it states, and can spawn nothing" {
    local before
    told=()
    run timeout "$limit" "$open/tool_probe" run "$uri" none 1 true < /dev/null
    echo "own user: $output"
    [ "$status" -eq 0 ]
    before=$(jobs_so_far)
    run stranger "$open/tool_probe" run "$uri" none 1 touch "$BATS_TEST_TMPDIR/spawned" < /dev/null
    echo "honest: $output"
    [ "$status" -ne 0 ]
    run claiming "$open/tool_probe" run "$uri" none 1 touch "$BATS_TEST_TMPDIR/spawned" < /dev/null
    echo "claiming: $output"
    [ "$status" -ne 0 ]
    [ ! -e "$BATS_TEST_TMPDIR/spawned" ]
    [ "$(jobs_so_far)" -eq "$before" ]
    release_job victim 1
    end_job victim
}

# other_container COMMAND...: as the daemon's user, in a rank's environment and in a PID namespace of its own.
other_container() {
    env -i PATH="$PATH" HOME=/ "${told[@]}" TMPDIR=/tmp \
        timeout --kill-after=10 "$limit" unshare --pid --fork --mount-proc "$@"
}

@test "a process of another container that shares the network and the user is neither a rank nor a tool" {
    local before
    before=$(jobs_so_far)
    other_container true
    run other_container "$open/pmix_probe" spawn 1 touch "$BATS_TEST_TMPDIR/spawned"
    echo "as a rank: $output"
    [ "$status" -ne 0 ]
    [[ "$output" != *"SUCCESS"* ]]
    told=()
    run other_container "$open/tool_probe" run "$uri" none 1 touch "$BATS_TEST_TMPDIR/spawned" < /dev/null
    echo "as a tool: $output"
    [ "$status" -ne 0 ]
    [ ! -e "$BATS_TEST_TMPDIR/spawned" ]
    [ "$(jobs_so_far)" -eq "$before" ]
    release_job victim 1
    end_job victim
    [ "$code" = 0 ]
}

@test "a process of the daemon's user that no rank has started is no rank, and the job's rank goes on" {
    run env -i PATH="$PATH" HOME=/ "${told[@]}" timeout "$limit" "$open/pmix_probe" spawn 1 touch "$BATS_TEST_TMPDIR/spawned"
    echo "$output"
    [ "$status" -ne 0 ]
    [[ "$output" != *"SUCCESS"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/spawned" ]
    release_job victim 1
    end_job victim
    [ "$code" = 0 ]
}
