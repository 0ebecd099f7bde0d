#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# ci/archives.sh can refuse: each check is given a build in which it has to.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || exit
    good=${BUILD:-build}
    good=${good#"$PWD"/}
    export BUILD=$BATS_TEST_TMPDIR/build
    mkdir -p "$BUILD/release/bin" "$BUILD/asan" "$BUILD/mutant"
    cp -p "$good"/release/libcore.a "$good"/release/{sim,prted}.map "$BUILD/release/"
    cp -p "$good"/release/sim "$BUILD/release/"
    cp -p "$good"/release/bin/prted "$BUILD/release/bin/"
    cp -p "$good"/mutant/libcore.a "$BUILD/mutant/"
    sed -i "s|^$good/|$BUILD/|; s|LOAD $good/|LOAD $BUILD/|" "$BUILD"/release/*.map
}

@test "a build as it is passes" {
    ci/archives.sh core mutants
}

# The link is only printed: tests beside this one run the programs.
@test "a build folder given by its absolute path has its one name in commands and in the check" {
    run make --no-print-directory -n -W dvm/bin/prted.c BUILD="$PWD/$good" "$good/release/bin/prted"
    [ "$status" -eq 0 ]
    [[ $output == *"-Map=$good/release/prted.map -o $good/release/bin/prted $good/"* ]]
    [[ $output != *"$PWD/$good/"* ]]
    BUILD=$PWD/$good ci/archives.sh core
}

@test "a core object that comes from elsewhere is refused" {
    echo "LOAD $BUILD/release/dvm/protocol/core/apply.o" >>"$BUILD/release/prted.map"
    run ci/archives.sh core
    [ "$status" -eq 1 ]
    [[ $output == *"from elsewhere"* ]]
}

@test "a core object that the simulator does not hold is refused" {
    sed -i '/libcore.a(apply.o)/d' "$BUILD/release/sim.map"
    run ci/archives.sh core
    [ "$status" -eq 1 ]
    [[ $output == *"prted alone holds apply.o"* ]]
}

@test "another archive under the simulator is refused" {
    sed -i "s|$BUILD/release/libcore.a|$BUILD/asan/libcore.a|" "$BUILD/release/sim.map"
    run ci/archives.sh core
    [ "$status" -eq 1 ]
    [[ $output == *"takes nothing from"* ]]
}

@test "functions that differ are refused" {
    cp -p "$good/mutant/sim" "$BUILD/release/sim"
    touch "$BUILD/release/sim"
    run ci/archives.sh core
    [ "$status" -eq 1 ]
    [[ $output == *"functions of the core differ"* ]]
}

@test "a program that is older than the archive is refused" {
    touch "$BUILD/release/libcore.a"
    run ci/archives.sh core
    [ "$status" -eq 1 ]
    [[ $output == *"is older than"* ]]
}

@test "a released archive that holds a mutant is refused" {
    cp -p "$BUILD/mutant/libcore.a" "$BUILD/release/libcore.a"
    run ci/archives.sh mutants
    [ "$status" -eq 1 ]
    [[ $output == *"holds deliberate mistakes"* ]]
}

@test "a mutant whose lines are not in its file once fails the build, by the name of the file" {
    printf '%s\n' 'file a.c' '- one' '+ two' '' > "$BATS_TEST_TMPDIR/mutants.txt"
    printf '%s\n' zero one > "$BATS_TEST_TMPDIR/a.c"
    run awk -v file=a.c -f ci/mutate.awk "$BATS_TEST_TMPDIR/mutants.txt" "$BATS_TEST_TMPDIR/a.c"
    [ "$status" -eq 0 ]
    [ "$output" = $'zero\ntwo' ]
    printf '%s\n' one one > "$BATS_TEST_TMPDIR/a.c"
    run awk -v file=a.c -f ci/mutate.awk "$BATS_TEST_TMPDIR/mutants.txt" "$BATS_TEST_TMPDIR/a.c"
    [ "$status" -eq 1 ]
    [[ $output == *"a.c: the lines of a mutant stand there 2 times, not once"* ]]
    printf '%s\n' zero > "$BATS_TEST_TMPDIR/a.c"
    run awk -v file=a.c -f ci/mutate.awk "$BATS_TEST_TMPDIR/mutants.txt" "$BATS_TEST_TMPDIR/a.c"
    [ "$status" -eq 1 ]
    printf '%s\n' 'file a.c' '- one' '+ two' '' '  zero' '  one' '+ three' '' > "$BATS_TEST_TMPDIR/mutants.txt"
    printf '%s\n' zero one > "$BATS_TEST_TMPDIR/a.c"
    run awk -v file=a.c -f ci/mutate.awk "$BATS_TEST_TMPDIR/mutants.txt" "$BATS_TEST_TMPDIR/a.c"
    [ "$status" -eq 1 ]
    [[ $output == *"a.c: two mutants have the same line: one"* ]]
}
