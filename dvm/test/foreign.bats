#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Words of other users on a terminal: names of programs and arguments with control characters reach ranks unchanged, and no
# program of ours prints them as they are.

# shellcheck disable=SC2154,SC2016,SC2030,SC2031  # set by lib.bash and bats; ranks' words are for them; each test is a process

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() {
    new_dvm_dir
    export LC_ALL=C.UTF-8
}
teardown() { end_dvm; }

# An escape, a bell, C1 controls, a right-to-left override, a newline, DEL, and bytes that are no UTF-8.
bad=$'x\e[31m\a\xc2\x9b1m\u202ey\nz\x7f\xff'

# clean FILE...: no terminal acts on it. Newlines end its lines.
clean() {
    [ -s "$1" ]
    run ! grep -qaP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$@"
    iconv -f UTF-8 -t UTF-8 "$@" > /dev/null
}

@test "messages of prun about a program with a bad name are harmless, and one line" {
    start_dvm 1 --slots 2
    local out=$BATS_TEST_TMPDIR/out
    LC_ALL=C
    run -125 --separate-stderr prun -v -n 1 "/$bad"
    echo "$stderr" > "$out"
    clean "$out"
    [[ "$stderr" == *'exec /x\x1b[31m\x07\xc2\x9b1m\xe2\x80\xaey\nz\x7f\xff: No such file'* ]]
    prun "--$bad" a 2> "$out" || [ "$?" -eq 2 ]
    clean "$out"
    [ "$(wc -l < "$out")" -eq 1 ]
    prun --wdir "/$bad" true 2> "$out" || [ "$?" -eq 125 ]
    clean "$out"
    prun --preload-files "/$bad" true 2> "$out" || true
    clean "$out"
    prun --dvm "/$bad" true 2> "$out" || [ "$?" -eq 125 ]
    clean "$out"
    prun --attach "$bad" 2> "$out" || true
    clean "$out"
    pstat "$bad" 2> "$out" || [ "$?" -eq 2 ]
    clean "$out"
    pstat --dvm "/$bad" 2> "$out" || [ "$?" -eq 1 ]
    clean "$out"
    pterm --job "$bad" 2> "$out" || true
    clean "$out"
    prte "$bad" 2> "$out" || [ "$?" -eq 2 ]
    clean "$out"
    prte start -n 1 --dvm "$BATS_TEST_TMPDIR/no/$bad" 2> "$out" || [ "$?" -eq 1 ]
    clean "$out"
}

@test "pstat shows such words harmlessly, as text and as JSON, and the rank gets them unchanged" {
    start_dvm 1 --slots 2
    local form out=$BATS_TEST_TMPDIR/out
    LC_ALL=C
    run -125 prun -n 1 "/$bad" # pstat has the reason of its end
    prun -n 1 sh -c 'printf %s "$1" > "$2"' sh "$bad" "$BATS_TEST_TMPDIR/got"
    [ "$(od -c "$BATS_TEST_TMPDIR/got")" = "$(printf %s "$bad" | od -c)" ]
    for form in "" jobs tree members campaigns; do
        # shellcheck disable=SC2086
        pstat $form > "$out"
        clean "$out"
        # shellcheck disable=SC2086
        pstat --json $form > "$out"
        clean "$out"
        jq . "$out" > /dev/null
    done
    pstat jobs > "$out"
    grep -qF 'exec /x\x1b[31m' "$out"
    [ "$(pstat --json jobs | jq -r '.jobs[0].reason' | grep -c $'exec /x\e\[31m\a')" -eq 1 ] # in JSON nothing is lost
}
