#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The call graph that ci/graph.sh makes of objects.

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"
    graph=$BATS_TEST_DIRNAME/../graph.sh
    cd "$tree" || return 1
}

# file, symbols that it defines, symbols that it calls
compile() {
    mkdir -p "$(dirname "$1")" "build/release/$(dirname "$1")"
    printf 'int %s(void);\nint %s(void);\nint %s(void) { return %s(); }\n' "$2" "$3" "$2" "$3" |
        gcc -x c -c -o "build/release/${1%.c}.o" -
    : >"$1"
}

# Each file is a noun.
nouns() {
    local f
    for f; do : > "${f%.c}.h"; done
}

@test "calls in one direction are no cycle" {
    compile base/a/low.c low getpid
    compile dvm/b/high.c high low
    run "$graph" build
    [ "$status" -eq 0 ]
    [[ $output == "2 files in 2 folders; 1 calls between files, 1 between folders; cycles: 0 between files"* ]]
}

@test "a cycle between two nouns of a folder is refused" {
    compile dvm/b/left.c left right
    compile dvm/b/right.c right left
    nouns dvm/b/left.c dvm/b/right.c
    run "$graph" build
    [ "$status" -eq 1 ]
    [[ $output == *"cycle between files: dvm/b/"*"cycles: 1 between files of different nouns, 0 between folders" ]]
}

@test "a cycle between two folders is refused" {
    compile base/a/left.c left right
    compile base/a/other.c other getpid
    compile dvm/b/right.c right other
    run "$graph" build
    [ "$status" -eq 1 ]
    [[ $output == *"cycle between folders: "*"cycles: 0 between files of different nouns, 1 between folders" ]]
}

@test "files of one noun may call each other: of the first word's header, or without one of the folder" {
    compile dvm/b/job_map.c left right
    compile dvm/b/job_end.c right left
    compile dvm/b/other.c other getpid
    : > dvm/b/job_private.h
    run "$graph" build
    [ "$status" -eq 0 ]
    compile dvm/b/other.c middle right
    compile dvm/b/job_end.c right middle
    run "$graph" build
    [ "$status" -eq 1 ]
    rm dvm/b/job_private.h
    : > dvm/b/b.h
    run "$graph" build
    [ "$status" -eq 0 ]
}

@test "a header of a file's own makes it a noun, whatever its first word" {
    compile dvm/b/job_map.c left right
    compile dvm/b/job_end.c right left
    : > dvm/b/job_map.h
    run "$graph" build
    [ "$status" -eq 1 ]
}

@test "a known cycle is shown, and is refused when another file of its folder joins it" {
    echo 'dvm/b: left right' > known
    compile dvm/b/left.c left right
    compile dvm/b/right.c right left
    nouns dvm/b/left.c dvm/b/right.c
    run "$graph" build known
    [ "$status" -eq 0 ]
    [[ $output == *"cycle between files (known): dvm/b/"* ]]
    compile dvm/b/right.c right middle
    compile dvm/b/middle.c middle left
    nouns dvm/b/middle.c
    run "$graph" build known
    [ "$status" -eq 1 ]
    [[ $output == *"cycle between files: dvm/b/"*"cycles: 1 between files"* ]]
}

@test "a second cycle in the folder of a known one is refused" {
    printf '%s\n' '# comment' 'dvm/b: left right' 'dvm/b: other' 'dvm/c: third other' > known
    compile dvm/b/left.c left right
    compile dvm/b/right.c right left
    nouns dvm/b/left.c dvm/b/right.c
    compile dvm/b/other.c other third
    compile dvm/b/third.c third other
    nouns dvm/b/other.c dvm/b/third.c
    run "$graph" build known
    [ "$status" -eq 1 ]
    [[ $output == *"cycle between files (known): dvm/b/"* ]]
    [[ $output == *"cycle between files: dvm/b/"*"cycles: 2 between files"* ]]
}

@test "a known cycle is refused when a file of another folder takes a place in it" {
    echo 'dvm/b: left right' > known
    compile dvm/b/left.c left right
    compile dvm/c/right.c right left
    run "$graph" build known
    [ "$status" -eq 1 ]
}

@test "what is left of a known cycle is accepted, and a missing list is no empty one" {
    echo 'dvm/b: left right gone' > known
    compile dvm/b/left.c left right
    compile dvm/b/right.c right left
    nouns dvm/b/left.c dvm/b/right.c
    run "$graph" build known
    [ "$status" -eq 0 ]
    run "$graph" build nowhere
    [ "$status" -eq 2 ]
}

@test "the list of known cycles names files that exist" {
    local folder words name
    while IFS=: read -r folder words; do
        [[ $folder != '#'* ]] || continue
        for name in $words; do
            [ -f "$BATS_TEST_DIRNAME/../../$folder/$name.c" ] || { echo "$folder/$name.c"; return 1; }
        done
    done < "$BATS_TEST_DIRNAME/../graph.txt"
}
