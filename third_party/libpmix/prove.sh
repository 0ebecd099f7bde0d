#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows that each patch is needed: prove.sh [NUMBER…] builds the library without the patch, and runs the tests that the
# patch's header names. A test is named by its file, and by its function or the beginning of its name in quotation marks.
#
# Each of these tests must fail: otherwise the script fails. What a test has printed is kept in
# build/without/NUMBER.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
patches=third_party/libpmix/patches
mapfile -t numbers < <([ $# -eq 0 ] || printf '%s\n' "$@")
[ $# -gt 0 ] || mapfile -t numbers < <(cd "$patches" && printf '%.4s\n' *)

# tests_of PATCH: "FILE NAME" a line. A header names a file once before the names of its tests.
tests_of() {
    local word file=
    sed '/^diff /,$d' "$1" | tr '\n' ' ' | sed 's/.*Test: //' |
        grep -oE 'dvm/[a-z_/]+\.(bats|c)|"[^"]+"|\b[a-z0-9]+(_[a-z0-9]+){3,}' | while read -r word; do
        if [[ $word == dvm/* ]]; then file=$word; else echo "$file ${word//\"/}"; fi
    done
}

# build BUILD TARGET…: with the library that lacks the patch of this number.
build() {
    local build=$1
    shift
    WITHOUT=${build##*/} make -s -j2 BUILD="$build" "${@/#/$build/}" > "$build.log" 2>&1 || {
        echo "not built: $build.log" >&2
        exit 1
    }
}

# outcome FILE NAME BUILD: "passes", "fails", "does not exist", or "is not reached".
outcome() {
    local name=${2% …} said bin=$3/bin
    said=$3/$(basename "$1").$(tr -c 'a-z0-9\n' - <<< "${name,,}" | cut -c 1-40).txt
    if [[ $1 == *.c ]]; then
        grep -q "cmocka_unit_test.*($name)" "$1" || { echo "does not exist" && return; }
        build "$3" "asan/${1%.c}"
        timeout 600 "$3/asan/${1%.c}" > "$said" 2>&1 < /dev/null || true
        grep -q "^\[ RUN      \] $name$" "$said" || { echo "is not reached" && return; }
        if grep -q "^\[       OK \] $name$" "$said"; then echo passes; else echo fails; fi
    else
        grep -qF "@test \"$name" "$1" || { echo "does not exist" && return; }
        ! grep -q '^bin=.*/asan/bin' "$1" || bin=$3/asan/bin # tests that need the sanitizers
        build "$3" "${bin#"$3/"}"/{prted,prun,pstat,pterm,prte,dvm-spawner,dvm-stage}
        if BIN=$PWD/$bin ci/bats.sh -f "^$name" "$1" > "$said" 2>&1 < /dev/null; then echo passes; else echo fails; fi
    fi
}

bad=0
for number in "${numbers[@]}"; do
    patch=$(echo "$patches/$number"-*.patch)
    mkdir -p "build/without/$number"
    while read -r file name; do
        result=$(outcome "$file" "$name" "build/without/$number")
        printf '%s | %s %s | %s\n' "$number" "$file" "$name" "$result"
        [ "$result" = fails ] || bad=1
    done < <(tests_of "$patch")
done
exit "$bad"
