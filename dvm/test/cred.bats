#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Credentials of ranks and tools over several daemons, with real clients.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2034,SC2030,SC2031  # hold_by is read by lib.bash; each test has its own environment

bats_require_minimum_version 1.5.0
load lib.bash

holder=${CRED_PROBE:-$repo/build/probe/cred_probe}

setup_file() {
    build_all
    [ -n "${CRED_PROBE:-}" ] || make -s -C "$repo" build/probe/cred_probe >&2
}
setup() { new_dvm_dir; }
teardown() { end_dvm; }

tool_uri() { head -n 1 "$DVM_SESSION_DIR/1/pmix.node1.tool.dvm"; }

# hold_cred NAME: a rank on the first daemon that waits; its credential is in $BATS_TEST_TMPDIR/NAME.cred.
hold_cred() {
    hold_by=("$holder" save - "$BATS_TEST_TMPDIR/$1.cred")
    hold_job "$1" 1 --host 1
    unset hold_by
}

# check VPID NAME [DIRECTIVE...]: the result of validation by a rank at that daemon.
check() {
    local vpid=$1 name=$2
    shift 2
    prun -n 1 --host "$vpid" "$holder" check - "$BATS_TEST_TMPDIR/$name.cred" "$@"
}

only_job() { view '.jobs[0].id'; }

says_so() { printf 'validate: SUCCESS\nholder: %s uid=%s gid=%s type=dvm' "$1" "$(id -u)" "$(id -g)"; }

@test "every altered byte of a rank's credential is refused at another daemon" {
    start_dvm 2 --slots 2
    hold_cred one
    run prun -n 1 --host 2 "$holder" alter - "$BATS_TEST_TMPDIR/one.cred"
    [ "$status" -eq 0 ]
    local all=$(($(stat -c %s "$BATS_TEST_TMPDIR/one.cred") + 2))
    [ "$output" = "altered: 0 good, $all of $all invalid" ]
    release_job one 1
    end_job one
}

@test "a malformed credential is refused" {
    start_dvm 1 --slots 1
    local text
    for text in '' mine "$(id -u):$(id -g)" "$(printf '%05000d' 1)"; do
        printf %s "$text" > "$BATS_TEST_TMPDIR/forged.cred"
        run check 1 forged
        [ "$output" = "validate: INVALID CRED" ]
    done
}

@test "a credential of another DVM is refused, also of the same name" {
    start_dvm 1 --slots 2
    hold_cred other
    local first=$DVM_SESSION_DIR
    mkdir "$BATS_TEST_TMPDIR/e"
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/e/${first##*/}
    start_dvm 1 --slots 1
    run check 1 other
    [ "$output" = "validate: INVALID CRED" ]
    prte stop
    DVM_SESSION_DIR=$first
    run check 1 other
    [ "${lines[0]}" = "validate: SUCCESS" ]
    release_job other 1
    end_job other
}

@test "a credential ends with the job of its holder, at every daemon" {
    start_dvm 3 --slots 2
    hold_cred brief
    local id vpid
    id=$(only_job)
    for vpid in 1 2 3; do
        run check "$vpid" brief
        [ "$output" = "$(says_so "$id 0")" ]
    done
    release_job brief 1
    end_job brief
    [ "$code" -eq 0 ]
    for vpid in 1 2 3; do
        run check "$vpid" brief
        [ "$output" = "validate: NOT FOUND" ]
    done
}

@test "a credential of another user than the one expected is refused" {
    start_dvm 2 --slots 2
    hold_cred mine
    local id
    id=$(only_job)
    run check 2 mine "uid=$(($(id -u) + 1))"
    [ "$output" = "validate: INVALID CRED" ]
    run check 2 mine "gid=$(($(id -g) + 1))"
    [ "$output" = "validate: INVALID CRED" ]
    run check 2 mine "uid=$(id -u)" "gid=$(id -g)" type=dvm
    [ "$output" = "$(says_so "$id 0")" ]
    run check 2 mine type=munge
    [ "$output" = "validate: NOT SUPPORTED" ]
    release_job mine 1
    end_job mine
}

@test "a credential of unknown types only is refused, else the first known type is used" {
    start_dvm 1 --slots 1
    run prun -n 1 "$holder" get - native
    [ "$output" = "get: NOT SUPPORTED type=none" ]
    run prun -n 1 "$holder" get - munge,dvm
    [ "$output" = "get: SUCCESS type=dvm" ]
    run prun -n 1 "$holder" get - ''
    [ "$output" = "get: SUCCESS type=dvm" ]
}

@test "each rank of a job identifies every other rank by its credential" {
    start_dvm 3 --slots 2
    run prun -n 6 "$holder" all
    [ "$status" -eq 0 ]
    [ "$(sort <<< "$output")" = "$(printf 'rank %d knows 6 of 6\n' 0 1 2 3 4 5)" ]
}

@test "a credential gives no right to join or to submit" {
    start_dvm 1 --slots 2
    hold_cred lost
    # The credential contains the daemon's certificate, which is public, but not its key.
    local bytes tls=$DVM_SESSION_DIR/tls/member cert key
    bytes=$(od -An -v -tx1 "$BATS_TEST_TMPDIR/lost.cred" | tr -d ' \n')
    cert=$(openssl x509 -in "$tls/tls.crt" -outform DER | od -An -v -tx1 | tr -d ' \n')
    key=$(openssl ec -in "$tls/tls.key" -noout -text 2> /dev/null | sed -n '/^priv:/,/^pub:/p' |
        grep -o '[0-9a-f][0-9a-f]' | tail -n 32 | tr -d '\n')
    [ "${#key}" -eq 64 ]
    [[ "$bytes" == *"$cert"* ]]
    [[ "$bytes" != *"$key"* ]]
    release_job lost 1
    end_job lost
}

@test "a tool's credential names the tool, and never a job, whatever name the tool takes" {
    export DVM_PMIX_TOOLS=1
    start_dvm 2 --slots 2
    hold_cred rank
    local id name
    id=$(only_job)
    for name in '' " $id" " ${id%.*}.99" " dvm"; do
        timeout --kill-after=10 20 "$holder" save "$(tool_uri)$name" "$BATS_TEST_TMPDIR/tool.cred"
        run check 2 tool
        [ "${lines[0]}" = "validate: SUCCESS" ]
        [[ "${lines[1]}" == "holder: tool."*" 0 uid=$(id -u) gid=$(id -g) type=dvm" ]]
    done
    timeout --kill-after=10 20 "$holder" save "$(tool_uri) debugger" "$BATS_TEST_TMPDIR/tool.cred"
    run check 2 tool
    [ "$output" = "$(says_so 'debugger 0')" ]
    run timeout --kill-after=10 20 "$holder" check "$(tool_uri)" "$BATS_TEST_TMPDIR/rank.cred"
    [ "$output" = "$(says_so "$id 0")" ]
    release_job rank 1
    end_job rank
}
