#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A daemon whose PMIx library hangs: it ends, with its ranks, and reports why; also if it was ordered to end.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

shim=${STILL_SHIM:-$repo/build/probe/still_shim.so}
why="libpmix has not answered for 5000 ms"

setup_file() {
    build_all
    [ -n "${STILL_SHIM:-}" ] || make -s -C "$repo" build/probe/still_shim.so >&2
}
setup() {
    new_dvm_dir
    export STILL=$BATS_TEST_TMPDIR/still DVM_PMIX_SILENT_MS=5000
    mkfifo "$STILL"
}
teardown() { end_dvm; }

# start_still: a DVM of two members; a rank on the first one has made its library's thread hang. $prun is its prun.
start_still() {
    LD_PRELOAD=$shim start_dvm 2 --slots 2
    "$bin/prun" --host 1 -n 1 "$probe" late > "$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
    prun=$!
    read -r -t "$limit" line < "$STILL"
    [ "$line" = still ]
    rank=$(own -f "^$probe late\$")
    daemon=$(pgrep -f -- "prted .*--session-dir $DVM_SESSION_DIR/1( |\$)" | paste -sd ' ')
}

@test "a limit that is no number of milliseconds is refused" {
    local bad
    for bad in 0 x -1 1e9 99999999999; do
        DVM_PMIX_SILENT_MS=$bad run -2 --separate-stderr "$bin/prted" --role head --cluster t/x --tls-dir /nowhere --session-dir "$BATS_TEST_TMPDIR/s"
        [[ "$stderr" == "prted: \$DVM_PMIX_SILENT_MS: \"$bad\" is not allowed"* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [ ! -e "$BATS_TEST_TMPDIR/s" ]
    done
}

@test "a request to a hung PMIx thread is noticed: the daemon ends with its ranks, their jobs with 123, and the DVM goes on" {
    start_still
    run --separate-stderr prun --host 1 -n 1 true
    [ "$status" -eq 123 ]
    [[ "$stderr" == *"vpid 1"*"$why"* ]]
    local code=0
    wait "$prun" || code=$?
    [ "$code" -eq 123 ]
    grep -qF "$why" "$BATS_TEST_TMPDIR/out"
    # shellcheck disable=SC2086
    wait_end "$rank" $daemon
    [ "$(grep -c "ends with all ranks here: $why, [1-9][0-9]* requests wait" "$DVM_SESSION_DIR/1/prted.log")" -eq 1 ]
    prun --host 2 -n 1 true
}

@test "a job on a daemon with a hung PMIx thread can be ended" {
    start_still
    kill "$prun"
    local code=0
    wait "$prun" || code=$?
    [ "$code" -eq 143 ] || [ "$code" -eq 123 ]
    # shellcheck disable=SC2086
    wait_end "$rank" $daemon
    prun --host 2 -n 1 true
}

@test "the DVM ends with a hung PMIx thread, leaves no process, and kills no daemon" {
    start_still
    in_time prte stop
    [[ "$stderr" != *"ending them"* ]]
    # shellcheck disable=SC2086
    wait_end "$rank" $daemon
    [ -z "$(daemons)" ]
    wait "$prun" || true
}
