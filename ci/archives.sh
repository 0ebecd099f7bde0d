#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks that the simulator tests the released code: sim and prted have the same objects of the core, from one
# archive, and no released archive has a deliberate mistake (dvm/sim/mutant_list.h).
# ci/archives.sh [core] [mutants]; BUILD names another build folder.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
BUILD=${BUILD:-build}
BUILD=${BUILD#"$PWD"/} # the Makefile's name for it
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

refuse() {
    echo "archives: $*"
    failed=1
}

# Objects that the program has from the archive of the core, by its link map.
members() {
    sed -n "s|^$1(\([^)]*\)).*|\1|p" "$2" | LC_ALL=C sort -u
}

# Functions of the core in a program, with their sizes.
functions() {
    nm -S --defined-only "$1" | awk 'NF == 4 && $3 == "T" { print $4, $2 }' | LC_ALL=C sort |
        LC_ALL=C join - <(nm --defined-only "$archive" 2>/dev/null | awk '$2 == "T" { print $3 }' | LC_ALL=C sort -u)
}

check_program() {
    local program=$1 map=$2
    [ -s "$map" ] || { refuse "$map is missing"; return; }
    [ ! "$archive" -nt "$program" ] || refuse "$program is older than $archive"
    members "$archive" "$map" >"$3"
    [ -s "$3" ] || refuse "$program takes nothing from $archive"
    if grep -E "^LOAD .*/dvm/($modules)/" "$map"; then
        refuse "$program takes objects of the core from elsewhere than $archive"
    fi
}

# Only looking into the core is left to the simulator.
check_core() {
    local only
    modules=$(sed -n 's/^CORE_MODULES := //p' Makefile | tr ' ' '|')
    archive=$BUILD/release/libcore.a
    check_program "$BUILD/release/bin/prted" "$BUILD/release/prted.map" "$tmp/prted"
    check_program "$BUILD/release/sim" "$BUILD/release/sim.map" "$tmp/sim"
    [ "$failed" -eq 0 ] || return 0
    only=$(LC_ALL=C comm -23 "$tmp/prted" "$tmp/sim" | tr '\n' ' ')
    [ -z "$only" ] || refuse "prted alone holds $only"
    only=$(LC_ALL=C comm -13 "$tmp/prted" "$tmp/sim" | grep -v '_inspect\.o$' | tr '\n' ' ') || true
    [ -z "$only" ] || refuse "sim alone holds $only"
    functions "$BUILD/release/bin/prted" >"$tmp/prted.nm"
    functions "$BUILD/release/sim" | grep -v '^[a-z]*_inspect' >"$tmp/sim.nm"
    diff "$tmp/prted.nm" "$tmp/sim.nm" || refuse "functions of the core differ between prted and sim"
    [ "$failed" -ne 0 ] ||
        echo "prted and sim hold the same $(wc -l <"$tmp/prted") objects, $(wc -l <"$tmp/prted.nm") functions, of $archive"
}

# Whatever a mutant does, it asks mutant_is() first.
check_mutants() {
    local variant lib n
    for variant in release asan; do
        for lib in "$BUILD/$variant"/lib*.a; do
            if nm "$lib" 2>/dev/null | grep -w mutant_is; then
                refuse "$lib holds deliberate mistakes"
            fi
        done
    done
    n=$(nm "$BUILD/mutant/libcore.a" 2>/dev/null | grep -cw mutant_is) || true
    [ "$n" -gt 0 ] || refuse "$BUILD/mutant/libcore.a holds no mistakes: this check sees nothing"
    [ "$failed" -ne 0 ] || echo "no mutant in the archives of release and asan; $n objects of build/mutant hold some"
}

[ $# -gt 0 ] || set -- core mutants
for check in "$@"; do
    case $check in
    core | mutants) "check_$check" ;;
    *)
        echo "archives: there is no check $check" >&2
        exit 2
        ;;
    esac
done
exit "$failed"
