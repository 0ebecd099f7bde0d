#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/quick.sh finds the unit tests that a change touches, in a sample tree with the lists of a compiler and a linker.

setup() {
    ci=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
    export QUICK_ROOT=$BATS_TEST_TMPDIR/tree
    mkdir -p "$QUICK_ROOT"
    cd "$QUICK_ROOT" || exit
    git init -q -b main .
    git config user.name tester
    git config user.email tester@example.org
    echo /build/ > .gitignore
    module base/buf buf 'base/buf/buf.h'
    module dvm/tree tree 'dvm/tree/tree.h base/buf/buf.h'
    module dvm/map map 'dvm/map/map.h'
    linked base/buf/test/test_buf buf
    linked dvm/tree/test/test_tree tree buf
    linked dvm/map/test/test_map map
    git add . && git commit -qm one
}

# module FOLDER NAME HEADERS: a source, and the dependencies that the compiler would report.
module() {
    mkdir -p "$1/test" "build/asan/$1/test"
    echo "int $2;" | tee "$1/$2.c" "$1/$2.h" > "$1/test/test_$2.c"
    printf 'build/asan/%s/%s.o: %s/%s.c \\\n  %s\n' "$1" "$2" "$1" "$2" "$3" > "build/asan/$1/$2.d"
    echo "build/asan/$1/test/test_$2.o: $1/test/test_$2.c $1/$2.h" > "build/asan/$1/test/test_$2.d"
}

# linked TEST MEMBER...: the archive members that the linker would report.
linked() {
    { echo "build/asan/$1.o"; printf '(build/asan/liball.a)%s.o\n' "${@:2}"; } > "build/asan/$1.parts"
}

touched() {
    "$ci/quick.sh" --list build build/asan/{base/buf/test/test_buf,dvm/tree/test/test_tree,dvm/map/test/test_map} | xargs -n 1 basename | xargs
}

@test "quick takes the tests that are linked with a changed source" {
    echo 'int more;' >> dvm/map/map.c
    [ "$(touched)" = test_map ]
}

@test "quick takes the tests of all that includes a changed header, those beside it first" {
    echo 'int more;' >> base/buf/buf.h
    mkdir build/unit-times
    echo 5 > build/unit-times/dvm+tree+test+test_tree
    echo 5000 > build/unit-times/base+buf+test+test_buf
    [ "$(touched)" = "test_buf test_tree" ]
}

@test "quick counts commits since the merge base with main, and new files" {
    git checkout -q -b work
    echo 'int more;' >> dvm/tree/tree.c
    git commit -qam two
    [ "$(touched)" = test_tree ]
    echo 'int new;' > dvm/map/map_more.c
    echo '(build/asan/liball.a)map_more.o' >> build/asan/dvm/map/test/test_map.parts
    [ "$(touched)" = "test_map test_tree" ]
}

@test "quick takes a test that is changed itself, and one that was never linked" {
    rm build/asan/dvm/map/test/test_map.parts
    echo 'int more;' >> base/buf/test/test_buf.c
    [ "$(touched)" = "test_buf test_map" ]
}

@test "quick leaves out tests beyond its time limit, and never all" {
    echo 'int more;' >> base/buf/buf.h
    mkdir build/unit-times
    echo 700 > build/unit-times/dvm+tree+test+test_tree
    QUICK_SECONDS=1 run touched
    [ "$output" = test_buf ]
    echo 100000 > build/unit-times/base+buf+test+test_buf
    QUICK_SECONDS=1 run touched
    [ "$output" = test_buf ]
}

@test "quick takes the fixed set when nothing that is tested has changed" {
    [ "$(touched)" = test_buf ]
    echo words > page.md
    [ "$(touched)" = test_buf ]
}
