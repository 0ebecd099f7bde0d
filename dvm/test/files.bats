#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# prun --preload-files and --preload-binary: files are complete on every daemon of a job before a rank starts, and removed
# at any kind of end of the job.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() {
    new_dvm_dir
    mkdir "$BATS_TEST_TMPDIR/w"
    cd "$BATS_TEST_TMPDIR/w" || return
}
teardown() {
    [ -z "${small:-}" ] || { end_dvm; umount "$small"; }
    end_dvm
}

# Files that jobs have left in the daemons' directories, and processes that would write there.
leftovers() {
    find "$DVM_SESSION_DIR" -mindepth 2 -maxdepth 2 -name '*.*' -type d
    pgrep -f -- "dvm-stage write $DVM_SESSION_DIR/" || true
}

# A file of holes: as long as one likes, made at once.
large() { truncate -s "$2" "$1"; }

no_reader() { ! own -f 'dvm-stage read'; } # it notices when it writes

# --- refused files

refused() {
    local code=$1 why=$2
    shift 2
    run --separate-stderr prun "$@"
    echo "$stderr"
    [ "$status" -eq "$code" ]
    [[ "$stderr" == *"$why"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "impossible names are refused in one line, and no job is started" {
    start_dvm 1
    mkdir dir other
    echo x | tee a dir/b other/b > b
    refused 2 "'../a' leads up by '..'; by its absolute path it would come as 'a'" --preload-files ../a true
    refused 2 "'dir/../a' leads up by '..'" --preload-files dir/../a true
    refused 2 "an empty name" --preload-files a,,b true
    refused 2 "has no name" --preload-files / true
    refused 2 "would both be 'b'" --preload-files b,"$PWD/dir/b" true
    refused 2 "is in no directory of PATH" --preload-binary no-such-program
    refused 2 "--attach can be given with" --preload-files a --attach x
    refused 125 "file $PWD/none: No such file or directory" --preload-files none true
    refused 125 "$PWD/dir is a directory: name the files in it" --preload-files dir true
    mkfifo pipe
    refused 125 "$PWD/pipe is no file" --preload-files pipe true
    [ "$(view '.jobs | length')" -eq 0 ]
}

@test "a file that cannot be read is refused with its name" {
    start_dvm 1
    echo x > secret && chmod 0 secret
    # root may read it, unless that is taken from it
    [ "$(id -u)" -ne 0 ] || prun() { setpriv --bounding-set -dac_override,-dac_read_search timeout --kill-after=10 "$limit" "$bin/prun" "$@"; }
    refused 125 "file $PWD/secret: Permission denied" --preload-files secret true
}

# --- the files as ranks see them

@test "every rank on 4 daemons finds unchanged files by their relative paths" {
    start_dvm 4 --slots 2
    mkdir -p data/deep
    head -c 3000001 /dev/urandom > data/deep/in
    : > empty
    printf 'one byte less' > text && chmod 640 text
    run prun -n 8 --preload-files ./data//deep/in,text --preload-files empty \
        sh -c 'echo "$(sha256sum data/deep/in text empty | cut -c1-64 | tr "\n" " ")$(stat -c %a text)"'
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 8 ]
    [ "$(sort -u <<< "$output")" = "$(sha256sum data/deep/in text empty | cut -c1-64 | tr '\n' ' ')640" ]
    [ -z "$(leftovers)" ]
}

@test "an absolute path comes by its last name; the same file twice is one; set-id bits stay behind" {
    start_dvm 2
    echo x > a && chmod 6755 a
    run prun -N 1 --preload-files "$PWD/a,a,./a" sh -c 'find . -type f -printf "%P %m\n"'
    [ "$status" -eq 0 ]
    [ "$(sort -u <<< "$output")" = "a 755" ]
}

@test "ranks start where the files are, or in --wdir; DVM_FILES_DIR is the directory of the files" {
    start_dvm 2
    echo here > a
    run prun -N 1 --preload-files a sh -c '[ "$PWD" = "$DVM_FILES_DIR" ] && [ "$OMPI_FILE_LOCATION" = "$PWD" ] && [ "$(pwd -P)" = "$PWD" ] && cat a'
    [ "$status" -eq 0 ]
    [ "$(sort -u <<< "$output")" = here ]
    run prun -N 1 --wdir / --preload-files a sh -c '[ "$PWD" = / ] && cat "$DVM_FILES_DIR/a"'
    [ "$status" -eq 0 ]
    [ "$(sort -u <<< "$output")" = here ]
}

@test "a program named by a relative path is that of the working directory" {
    start_dvm 1
    printf '#!/bin/sh\necho "mine reads $(cat a)"\n' > prog && chmod 755 prog
    echo x > a
    run prun -n 1 --preload-files a ./prog
    [ "$status" -eq 0 ]
    [ "$output" = "mine reads x" ]
    run prun -n 1 --preload-files a,prog sh -c ./prog
    [ "$output" = "mine reads x" ]
    run prun -n 1 --preload-files a,prog ././prog
    [ "$output" = "mine reads x" ]
}

@test "--preload-binary: the program itself is sent, each of several its own" {
    start_dvm 2
    mkdir bin
    printf '#!/bin/sh\necho one "$0" "$@"\n' > one && chmod 755 one
    printf '#!/bin/sh\necho two "$0" "$@"\n' > bin/two && chmod 755 bin/two
    run prun -n 1 -s ./one x : -n 1 --preload-binary bin/two y : -n 1 echo three
    [ "$status" -eq 0 ]
    [ "$(grep -c "^one $DVM_SESSION_DIR/.*/files/one x$" <<< "$output")" -eq 1 ]
    [ "$(grep -c "^two $DVM_SESSION_DIR/.*/files/bin/two y$" <<< "$output")" -eq 1 ]
    [ "$(grep -c '^three$' <<< "$output")" -eq 1 ]
    PATH=$PWD/bin:$PATH run prun -n 1 -s two z
    [ "$output" = "two $(sed 's/^two //; s/ z$//' <<< "$output") z" ]
}

@test "only the daemons of the job get a file" {
    start_dvm 4 --slots 1
    echo x > a
    run prun -n 1 --host 3 --preload-files a sh -c 'echo "$PMIX_HOSTNAME"'
    [ "$output" = node3 ]
    [ "$(grep -l ' ranks, with ' "$DVM_SESSION_DIR"/[0-9]/prted.log)" = "$DVM_SESSION_DIR/3/prted.log" ]
}

@test "a detached job has its files before prun leaves" {
    start_dvm 2
    large big 8M
    job=$(prun --detach -N 1 --preload-files big sh -c 'stat -c %s big')
    rm big
    run prun --attach "$job"
    [ "$status" -eq 0 ]
    [ "$output" = "8388608
8388608" ]
}

# --- failures during the transfer

preparing() { [ "$(view '[.jobs[] | select(.state == "PREPARING")] | length')" -eq 1 ]; }
no_staging() { ! preparing; }
nothing_left() { [ -z "$(leftovers)" ]; }

# The file has been opened at its source, and each of the two daemons writes it.
arriving() { [ "$(find "$DVM_SESSION_DIR" -path '*/files/big' | wc -l)" -eq 2 ]; }

# A prun of a large file in the background: $pid; its errors are in err.
prun_large() {
    large big 4G
    timeout --kill-after=10 "$limit" "$bin/prun" -N 1 --preload-files big "$@" > out 2> err 3>&- &
    pid=$!
}

start_large() {
    prun_large "$@"
    eventually arriving
}

ended() { # CODE
    local code=0
    wait "$pid" || code=$?
    cat err
    [ "$code" -eq "$1" ]
    [ -z "$(leftovers)" ]
}

@test "a full disk on a daemon fails the job with node, path and reason, and leaves no file" {
    [ "$(id -u)" -eq 0 ] || skip "needs a mount"
    mkdir "$DVM_SESSION_DIR"
    mount -t tmpfs -o size=8m,mode=700 none "$DVM_SESSION_DIR" || skip "no mounts here"
    small=$DVM_SESSION_DIR
    start_dvm 2
    large big 16M
    refused 125 "its files cannot be put on node" -N 1 --preload-files big sh -c 'echo started'
    [[ "$stderr" == *"writing $DVM_SESSION_DIR/"*"/files/big: No space left on device" ]]
    [ -z "$output" ]
    [ -z "$(leftovers)" ]
    echo x > a
    prun -N 1 --preload-files a cat a
}

@test "a file that changes while it is read fails the job, and leaves no copy" {
    start_dvm 2
    start_large true
    echo more >> big
    ended 125
    grep -q "prun: not launched: reading $PWD/big, which has changed meanwhile" err
}

@test "Ctrl-C while files are on their way ends the job" {
    start_dvm 2
    start_large true
    own_kill INT -f "^$bin/prun -N 1 --preload-files big"
    ended 143
    grep -q 'ended by the user' err
}

@test "--timeout while files are on their way ends the job with 124" {
    start_dvm 2
    prun_large --timeout 1 true
    ended 124
}

@test "a prun that is killed while it sends files leaves no file on a daemon" {
    start_dvm 2
    start_large true
    eventually own -f 'dvm-stage read'
    own_kill KILL -f "^$bin/prun -N 1 --preload-files big"
    wait "$pid" || true
    eventually no_staging
    [ "$(view '.jobs[0].exitCode')" -eq 122 ]
    eventually nothing_left
    eventually no_reader
}

@test "a daemon that is lost while it takes files fails the job with 123, and its spawner removes them" {
    start_dvm 2
    start_large sleep 1
    local spawner daemon
    spawner=$(spawner_of 2)
    daemon=$(daemon_of 2)
    [ "$spawner" != "$daemon" ]
    kill -KILL "$daemon"
    wait_end "$spawner" # it removes before it ends
    ended 123
    grep -q 'lost with .* daemon (vpid 2)' err
}

@test "a writer that is killed fails the job, and leaves no file" {
    start_dvm 2
    start_large true
    pkill -KILL -f "dvm-stage write $DVM_SESSION_DIR/2/"
    ended 125
    grep -q 'its files cannot be put on node2 (vpid 2): the process that writes them was ended by signal 9' err
}

@test "pterm --job ends a job whose files are on their way" {
    start_dvm 2
    start_large true
    pterm --job "$(view '.jobs[] | select(.state == "PREPARING") | .id')"
    ended 143
}

@test "detached jobs that are ended while their files come report their end, and do not delay files of later jobs" {
    start_dvm 2
    large big 4G
    local job
    for _ in 1 2 3 4; do
        timeout --kill-after=10 "$limit" "$bin/prun" --detach -N 1 --preload-files big true > out 2> err 3>&- &
        pid=$!
        eventually preparing
        job=$(view '.jobs[] | select(.state == "PREPARING") | .id')
        pterm --job "$job"
        ended 143
    done
    run -143 prun --attach "$job"
    echo x > a
    run -0 prun -N 1 --preload-files a cat a
}

# --- room

# Most memory that each daemon has had so far, kB.
peaks() {
    local p
    for p in $(daemons); do
        awk -v pid="$p" '/^VmHWM/ { print pid, $2 }' "/proc/$p/status"
    done | sort
}

@test "a file of 64 MiB over 8 daemons takes none of them more than 12 MiB" {
    start_dvm 8
    echo warm > a
    prun -N 1 --preload-files a true
    peaks > before
    large big 64M
    prun -N 1 --preload-files big sh -c '[ "$(stat -c %s big)" = 67108864 ]'
    peaks > after
    [ "$(wc -l < before)" -ge 9 ]
    join before after | awk '{ print; if ($3 - $2 > 12288) bad = 1 } END { exit bad }'
}

# --- files of jobs that ranks spawn

@test "a job that a rank spawns has its files from the rank's daemon, which reads them" {
    start_dvm 3 --slots 1
    mkdir in
    head -c 3000000 /dev/urandom > in/data
    printf '#!/bin/sh\nsha256sum in/data\n' > prog && chmod 755 prog
    run prun -n 1 "$probe" spawn-files in/data - 2 sh -c 'sha256sum in/data'
    [ "$status" -eq 0 ]
    [ "$(sort -u <<< "$output")" = "$(sha256sum in/data)
spawn: SUCCESS" ]
    run prun -n 1 "$probe" spawn-files in/data + 2 ./prog
    [ "$(sort -u <<< "$output")" = "$(sha256sum in/data)
spawn: SUCCESS" ]
    run prun -n 1 "$probe" spawn-files "$PWD/in/data" / 1 sh -c 'cd "$DVM_FILES_DIR"; sha256sum data'
    [ "$(sort -u <<< "$output" | head -n 1)" = "$(sha256sum in/data | sed 's# in/data# data#')" ]
    eventually nothing_left
}

@test "impossible file names of a spawn request are refused, unreadable files fail it" {
    start_dvm 2
    run prun -n 1 "$probe" spawn-files ../x - 1 true
    echo "$output" && [ "$output" = "spawn: BAD PARAM" ]
    run prun -n 1 "$probe" spawn-files a, - 1 true
    echo "$output" && [ "$output" = "spawn: BAD PARAM" ]
    run prun -n 1 "$probe" spawn-files no-such-file - 1 true
    [ "$status" -eq 0 ]
    [[ "$output" == "spawn: "*ABORTED* ]]
    grep -q "opening $PWD/no-such-file: No such file or directory" "$DVM_SESSION_DIR"/1/prted.log
    eventually nothing_left
}

open_of_1() { find "/proc/$(daemon_of 1)/fd" -type l | wc -l; }
reader_wrote() { # BYTES
    local reader
    reader=$(own -f 'dvm-stage read') && [ "$(written "$reader")" -ge "$1" ]
}
open_are() { [ "$(open_of_1)" -eq "$1" ]; }

@test "a job that a rank has spawned, ended while its files have no room, leaves no descriptor open" {
    start_dvm 1 --slots 2
    large big 4G
    echo x > a
    prun -n 1 "$probe" spawn-files "$PWD/a" / 1 true
    local before
    before=$(open_of_1)
    timeout --kill-after=10 "$limit" "$bin/prun" -n 1 "$probe" spawn-files "$PWD/big" / 1 true > out 2> err 3>&- &
    pid=$!
    eventually preparing
    eventually pkill -STOP -f "dvm-stage write $DVM_SESSION_DIR/1/"
    # More than the room for its pieces: the daemon has read one for which there is none, and reads no more.
    eventually reader_wrote 700000
    pstat --dvm "$DVM_SESSION_DIR/1" > seen
    pterm --job "$(view '.jobs[] | select(.state == "PREPARING") | .id')"
    wait "$pid" || true
    eventually nothing_left
    eventually open_are "$before"
}

@test "a program that one of two daemons does not have is named with it, and no rank starts on the other" {
    local ran=$BATS_TEST_TMPDIR/ran
    start_dvm 2 --slots 2
    touch a
    job() { prun -x PATH=../..:/bin --preload-files a -n 2 --map-by node only-here "$ran"; } # found from where the files are: in the daemon's own directory
    printf '#!/bin/sh\necho >"$1.$PMIX_RANK"\n' > "$DVM_SESSION_DIR/1/only-here"
    chmod +x "$DVM_SESSION_DIR/1/only-here"
    run -125 job
    [ "$output" = "prun: rank 1 was not started on node2 (vpid 2): exec only-here: No such file or directory" ]
    [ ! -e "$ran.0" ]
    mv "$DVM_SESSION_DIR/1/only-here" "$DVM_SESSION_DIR/2/"
    run -125 job
    [ "$output" = "prun: rank 0 was not started on node1 (vpid 1): exec only-here: No such file or directory" ]
    [ ! -e "$ran.1" ]
    cp "$DVM_SESSION_DIR/2/only-here" "$DVM_SESSION_DIR/1/"
    run -0 job
    [ -e "$ran.0" ] && [ -e "$ran.1" ]
}
