#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/symbols.sh can refuse: each check is given a build in which it has to.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    good=${BUILD:-build}
    export BUILD=$BATS_TEST_TMPDIR/build
    mkdir -p "$BUILD/release/bin" "$BUILD/libpmix/release/lib"
    cp "$good"/release/lib*.a "$BUILD/release/"
    cp "$good"/release/bin/{prted,prun,dvm-operator} "$BUILD/release/bin/"
    cp "$good"/libpmix/release/lib/libpmix.a "$BUILD/libpmix/release/lib/"
}

# define NAME: an archive of ours defines a function of that name.
define() {
    echo "int $1(void); int $1(void) { return 0; }" | gcc -fno-builtin -w -c -x c -o "$BATS_TEST_TMPDIR/$1.o" -
    ar crs "$BUILD/release/libbad.a" "$BATS_TEST_TMPDIR/$1.o"
}

refused() {
    run ci/symbols.sh
    [ "$status" -eq 1 ]
    grep -qF -- "$1" <<< "$output" || { echo "$output"; return 1; }
}

@test "a build as it is passes" {
    ci/symbols.sh
}

@test "a function of libc, libevent, hwloc or libpmix that is defined by us is refused" {
    local name names=(close event_add hwloc_topology_load PMIx_Info_load pmix_server_notify_client_of_event)
    for name in "${names[@]}"; do define "$name"; done
    run ci/symbols.sh
    [ "$status" -eq 1 ]
    for name in "${names[@]}"; do
        grep -qF "defines $name, which is a function or an object of lib" <<< "$output"
    done
}

@test "a tool that is linked with libpmix is refused" {
    cp "$BUILD/release/bin/prted" "$BUILD/release/bin/prun"
    refused "prun is linked with libpmix"
}

@test "a prted that exports a symbol of libpmix is refused" {
    gcc -rdynamic -w -x c -o "$BUILD/release/bin/prted" - <<< 'void PMIx_server_init(void) {} int main(void) { return 0; }'
    refused "prted exports PMIx_server_init"
}

@test "a build without objects of ours is refused" {
    rm "$BUILD"/release/lib*.a
    refused "holds no objects of ours"
}
