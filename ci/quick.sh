#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The inner loop, at most a minute on two cores with a warm build: the unit tests that the change touches, QUICK_SEEDS=200
# random schedules, and the gates format and layers. The change is what differs from the merge base with the branch main:
# commits, the worktree, and new files. A test is touched if an object that it is linked with depends on a changed file, by
# the compiler's and the linker's own lists. Tests beside a changed file come first; those for which QUICK_SECONDS=25 of
# recorded time do not suffice are named, and `make unit` runs them.
# ci/quick.sh BUILD TEST...; the archives of BUILD/asan are up to date. --list BUILD TEST...: names the tests, runs nothing.
set -euo pipefail

cd "${QUICK_ROOT:-$(dirname "${BASH_SOURCE[0]}")/..}"

# For a change that touches no unit test: one of each layer.
readonly FIXED='base/buf/test/test_ api/test/test_ dvm/protocol/wire/test/test_ dvm/protocol/map/test/test_ operator/plan/test/test_'
readonly CORES=2 LINK_MS=600

list=
if [ "${1:-}" = --list ]; then
    list=1
    shift
fi
build=$1
tests=("${@:2}")
tmp=$(mktemp -d)
checks=
trap '[ -z "$checks" ] || kill "$checks" 2> /dev/null || true; rm -rf "$tmp"' EXIT

changed_files() {
    local base
    base=$(git merge-base HEAD main 2> /dev/null || git merge-base HEAD origin/main 2> /dev/null || echo HEAD)
    {
        git diff --name-only "$base"
        git ls-files --others --exclude-standard
    } | LC_ALL=C sort -u
}

# Objects that depend on a changed file, from BUILD/asan on and without their ending.
touched_objects() {
    # shellcheck disable=SC2016 # for awk
    find "$build/asan" -name '*.d' -print0 | xargs -0 -r awk -v changed="$tmp/changed" -v build="$build/asan/" '
        BEGIN { while ((getline line < changed) > 0) is_changed[line] = 1 }
        FNR == 1 { object = substr(FILENAME, length(build) + 1); sub(/\.d$/, "", object); seen = 0 }
        !seen { for (i = 1; i <= NF; i++) if ($i in is_changed) { print object; seen = 1; break } }'
    # New ones have no list yet.
    sed -n 's/\.c$//p' "$tmp/changed"
}

# Which of the tests are linked with such an object, or were never linked. The linker names a member of an archive by the last
# part of its path, so a test may be taken that has another one of that name.
touched_tests() {
    local t
    awk '{ print $0 ".o"; sub(/.*\//, ""); print ")" $0 ".o" }' "$tmp/objects" > "$tmp/names"
    for t in "${tests[@]}"; do
        if [ ! -s "$t.parts" ] || grep -qF -f "$tmp/names" "$t.parts"; then
            echo "$t"
        fi
    done
}

# Lines "distance milliseconds test": 0 is a test beside a changed file.
ranked() {
    local t folder ms near
    while read -r t; do
        folder=${t#"$build/asan/"}
        ms=$(cat "$build/unit-times/${folder//\//+}" 2> /dev/null || echo 1000)
        near=1
        ! grep -q "^${folder%/test/*}/[^/]*\(/[^/]*\)\?$" "$tmp/changed" || near=0
        echo "$near $ms $t"
    done
}

changed_files > "$tmp/changed"
touched_objects | LC_ALL=C sort -u > "$tmp/objects"
: > "$tmp/touched"
[ ! -s "$tmp/objects" ] || touched_tests > "$tmp/touched"
what="touched by $(wc -l < "$tmp/changed") changed files"
if [ ! -s "$tmp/touched" ]; then
    what="the fixed set, since no changed file touches one"
    for t in $FIXED; do
        printf '%s\n' "${tests[@]}" | grep "^$build/asan/$t" || true
    done > "$tmp/touched"
fi
ranked < "$tmp/touched" | LC_ALL=C sort -k1,1n -k2,2n |
    awk -v room="$((${QUICK_SECONDS:-25} * 1000 * CORES))" -v link_ms=$LINK_MS -v late="$tmp/late" '
        { used += $2 + link_ms } used <= room || NR == 1 { print $3; next } { print $3 > late }' > "$tmp/run"
if [ -n "$list" ]; then
    cat "$tmp/run"
    exit
fi
mapfile -t run < "$tmp/run"
echo "${#run[@]} unit test programs, $what"

# Beside the unit tests, which wait for other processes and for time.
other_checks() {
    local files
    "$build/release/sim" --seed "${QUICK_FROM:-1}" --seeds "${QUICK_SEEDS:-200}" --nodes-max 64 --jobs "$CORES" | head -n 1
    mapfile -t files < <(grep -E '\.[ch]$' "$tmp/changed" | while read -r f; do [ ! -e "$f" ] || echo "$f"; done)
    [ "${#files[@]}" -eq 0 ] || LINT_PATHS="${files[*]}" ci/lint.sh format
    ci/lint.sh layers
}
(set -e; other_checks) > "$tmp/checks.log" 2>&1 &
checks=$!
make -s -j"$CORES" "${run[@]}"
UNIT_JOBS=$CORES UNIT_TIMES=$build/unit-times ci/unit.sh "${run[@]}" > "$tmp/unit.log" 2>&1 || {
    cat "$tmp/unit.log"
    exit 1
}
tail -n 1 "$tmp/unit.log"
wait "$checks" || {
    cat "$tmp/checks.log"
    exit 1
}
cat "$tmp/checks.log"
if [ -s "$tmp/late" ]; then
    echo "$(wc -l < "$tmp/late") more are touched and were not run, make unit runs them:"
    sed "s,^$build/asan/,  ," "$tmp/late"
fi
echo "quick: $SECONDS s"
