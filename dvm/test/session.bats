#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Session control over several daemons, by real ranks and tools; for libraries whose server module has an entry for it:
# Debian 13's, by ci/trixie.sh.

# shellcheck disable=SC2154,SC2030,SC2031,SC2016  # set by lib.bash and bats; what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

asker=${SESSION_PROBE:-$repo/build/probe/session_probe}
shim=${SESSION_SHIM:-$repo/build/probe/session_shim.so}

setup_file() {
    build_all
    [ -n "${SESSION_PROBE:-}" ] || make -s -C "$repo" build/probe/session_{probe,shim.so} >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# start_with_shim MEMBERS [OPTION...]
start_with_shim() { LD_PRELOAD=$shim DVM_PMIX_TOOLS=1 start_dvm "$@"; }

tool_uri() { head -n 1 "$DVM_SESSION_DIR/$1/pmix.node$1.tool.dvm"; }

# is_state JOB STATE: of all its ranks' processes, as the kernel tells it.
is_state() {
    local pid
    for pid in $(ranks_of "$1"); do
        grep -q "^State:	[$2]" "/proc/$pid/status" || return 1
    done
}

@test "the library's own call does not ask the daemon" {
    start_dvm 1 --slots 1
    run prun -n 1 "$asker" - stub pause
    [ "$output" = "session: PMIX_ERR_NOT_SUPPORTED" ]
}

@test "a rank or a tool that asks for what is not to be had is refused, and nothing happens" {
    start_with_shim 1 --slots 2
    hold_job any 1
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 1)" 7 pause
    [ "$output" = "session: PMIX_ERR_NOT_FOUND" ]
    run prun -n 1 "$asker" - 0 terminate
    [ "$output" = "session: PMIX_ERR_NO_PERMISSIONS" ]
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 1)" 0 terminate
    [ "$output" = "session: PMIX_ERR_NO_PERMISSIONS" ] # of a member's daemon
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 1)" 0 preempt
    [ "$output" = "session: PMIX_ERR_NOT_SUPPORTED" ]
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 1)" 0 pause resume
    [ "$output" = "session: PMIX_ERR_BAD_PARAM" ]
    is_state any SR
    release_job any 1
    end_job any
    [ "$code" -eq 0 ]
}

@test "all jobs of the session pause and go on, wherever they run" {
    start_with_shim 2 --slots 2
    hold_job one 2
    hold_job two 1 --host 2
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 1)" 0 pause
    [ "$output" = "session: PMIX_SUCCESS" ]
    eventually is_state one T
    eventually is_state two T
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 2)" 4294967295 resume
    [ "$output" = "session: PMIX_SUCCESS" ]
    eventually is_state one SR
    eventually is_state two SR
    release_job one 2
    end_job one
    [ "$code" -eq 0 ]
    release_job two 1
    end_job two
    [ "$code" -eq 0 ]
}

@test "a signal goes to all jobs of the session, also to those that wait" {
    start_with_shim 2 --slots 2
    hold_job one 4
    timeout --kill-after=10 "$limit" "$bin/prun" -n 2 true 2> /dev/null 3>&- &
    local waits=$! ended=0
    both() { [ "$(view '.jobs | length')" -eq 2 ]; }
    eventually both
    timeout --kill-after=10 20 "$asker" "$(tool_uri 2)" 0 sig=15
    end_job one
    [ "$code" -eq 143 ]
    wait "$waits" || ended=$?
    [ "$ended" -eq 143 ]
}

@test "a rank signals all jobs of the session, its own too" {
    start_with_shim 2 --slots 2
    hold_job one 3
    run prun -n 1 sh -c '"$0" - 0 sig=12; exec tail -f /dev/null' "$asker"
    [ "$status" -eq 140 ]
    end_job one
    [ "$code" -eq 140 ]
}

@test "a tool at the head ends the DVM, with what runs there" {
    start_with_shim 2 --slots 1
    hold_job last 2
    local all
    mapfile -t all < <(daemons)
    [ "${#all[@]}" -ge 3 ]
    run timeout --kill-after=10 20 "$asker" "$(tool_uri 0)" 0 terminate
    echo "$output"
    end_job last
    [ "$code" -eq 122 ]
    wait_end "${all[@]}"
    [ -z "$(daemons)" ]
    [[ "${lines[0]}" == "session: "*SUCCESS ]]
}
