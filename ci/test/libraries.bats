#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/libraries.sh refuses a program that needs a library which is not on its list, or does not set its allocator.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    good=${BUILD:-build}
    export BUILD=$BATS_TEST_TMPDIR/build
    mkdir -p "$BUILD/release"
    cp -rp "$good/release/bin" "$BUILD/release/"
}

# program NAME LIBRARY: puts a program in its place that is linked with the library.
program() {
    echo 'int main(void) { return 0; }' | gcc -x c -o "$BUILD/release/bin/$1" - -Wl,--no-as-needed "-l$2"
}

@test "the programs of this build pass" {
    ci/libraries.sh
}

@test "prun with libevent is refused" {
    program prun event
    run ci/libraries.sh
    [ "$status" -eq 1 ]
    [[ $output == *"prun needs libevent, which is not on its list"* ]]
}

@test "pterm with a library of another program's list is refused" {
    program pterm crypto
    run ci/libraries.sh
    [ "$status" -eq 1 ]
    [[ $output == *"pterm needs libcrypto, which is not on its list"* ]]
}

@test "a program that does not set the allocator of a library is refused" {
    program pstat jansson
    run ci/libraries.sh
    [ "$status" -eq 1 ]
    [[ $output == *"pstat needs libjansson and does not call heap_guard_json()"* ]]
    program prted event_core
    run ci/libraries.sh
    [ "$status" -eq 1 ]
    [[ $output == *"prted needs libevent_core and does not call heap_guard_events()"* ]]
}

@test "a program that is missing or cannot be read is refused" {
    rm "$BUILD/release/bin/pstat"
    run ci/libraries.sh
    [ "$status" -eq 1 ]
    echo text >"$BUILD/release/bin/pstat"
    run ci/libraries.sh
    [ "$status" -eq 1 ]
}
