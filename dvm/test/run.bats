#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Unusual use of prun: closed descriptors, terminals, pipes that close, programs that leave processes or files; limits.

# shellcheck disable=SC2154,SC2016  # set by bats; expressions are for the ranks' shells

bats_require_minimum_version 1.5.0
load lib

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() {
    end_dvm
    [ -z "${group:-}" ] || leave_memory_group
}

# code_of COMMAND...: its exit code in $code. bats' own `run` would give away the descriptors that are closed here.
code_of() {
    code=0
    timeout --kill-after=10 "$limit" "$bin/prun" "$@" || code=$?
}

@test "closed descriptors: no input, or output that is reported as lost" {
    start_dvm 1
    code_of -n 1 cat <&-
    [ "$code" -eq 0 ]
    code_of -n 1 true >&-
    [ "$code" -eq 0 ]
    code_of -n 1 echo x >&- 2> "$BATS_TEST_TMPDIR/err"
    [ "$code" -eq 1 ]
    grep -q "writing the ranks' stdout" "$BATS_TEST_TMPDIR/err"
    code_of -n 1 sh -c 'echo x >&2; exit 3' 2>&-
    [ "$code" -eq 3 ]
    code_of -n 1 sh -c 'cat; echo y; exit 3' <&- >&- 2>&-
    [ "$code" -eq 3 ]
    timeout --kill-after=10 "$limit" "$bin/pstat" <&- > /dev/null 2>&-
}

# type_in TEXT WORDS: on the terminal that $terminal is; returns when a line there ends with these.
type_in() {
    local line=
    printf '%s' "$1" >&"${terminal[1]}"
    until [[ "$line" == *"$2"*$'\r' ]]; do
        read -r -t "$limit" -u "${terminal[0]}" line
        echo "$line"
    done
}

@test "a prun that comes from the background, or is stopped and continued, reads the terminal again" {
    start_dvm 1
    # A shell with job control on a terminal of its own, which does not echo.
    coproc terminal { exec script -q -c 'exec bash --norc --noprofile -i' /dev/null 2>&1 3>&-; }
    local pid=$!
    type_in $'stty -echo; PS1=; echo re\'\'ady\n' ready
    # The rank prints its input in another form than it was typed.
    type_in "$bin/prun -n 1 sh -c 'echo st\"\"arted; sed -u s/^/rank-says-/' &"$'\n' started
    type_in $'fg\n' "$bin/prun"
    type_in $'one\n' rank-says-one
    type_in $'\x1a' Stopped
    type_in $'fg\n' "$bin/prun"
    type_in $'two\n' rank-says-two
    type_in $'\x04echo code=$?\n' code=0
    printf 'exit\n' >&"${terminal[1]}" # bash closes the descriptors of a coprocess that has ended
    wait "$pid"
}

@test "a removed directory is no working directory" {
    start_dvm 1
    mkdir "$BATS_TEST_TMPDIR/gone"
    cd "$BATS_TEST_TMPDIR/gone"
    rmdir "$BATS_TEST_TMPDIR/gone"
    run -2 prun -n 1 pwd
    [[ "$output" == "prun: the working directory does not exist any more: name another with --wdir"* ]]
    run -0 prun -n 1 --wdir / pwd
    [ "$output" = / ]
}

no_job_runs() { [ "$(view '[.jobs[] | select(.state == "RUNNING")] | length')" = 0 ]; }

@test "a reader that closes its end ends the job, whichever rank still writes" {
    start_dvm 2 --slots 2
    prun -n 4 yes "$BATS_TEST_TMPDIR" | head -n 1 > "$BATS_TEST_TMPDIR/first"
    [ "$(cat "$BATS_TEST_TMPDIR/first")" = "$BATS_TEST_TMPDIR" ]
    eventually no_job_runs
    run ! pgrep -f "^yes $BATS_TEST_TMPDIR"
}

@test "--host without a daemon with slots fails at once with the reason" {
    start_dvm 1
    run -125 prun --host 99 true
    [[ "$output" == "prun: not launched: no daemon that --host names is wired and has slots"* ]]
    run -125 prun -n 2 --host 0 true
    [[ "$output" == *"no daemon that --host names"* ]]
}

@test "--host with a vpid that is no member fails at once, names it, and starts no rank" {
    start_dvm 2
    run -125 prun --host 2,99 touch "$BATS_TEST_TMPDIR/ran"
    [ "$output" = "prun: not launched: --host names vpids that are no members now: 99" ]
    run -125 prun -n 1 --host 1,3-4 touch "$BATS_TEST_TMPDIR/ran" : -n 1 true
    [ "$output" = "prun: not launched: --host names vpids that are no members now: 3, 4" ]
    run -125 prun --no-wait --host 2-20 touch "$BATS_TEST_TMPDIR/ran"
    [[ "$output" == *"now: 3, 4, 5, 6, 7, 8, 9, 10 and others" ]]
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    run -0 prun --host 1,2 -N 1 true
}

@test "a leftover process that holds a rank's output is not waited for long, and this is reported" {
    start_dvm 1
    run --separate-stderr -0 prun -n 2 sh -c 'sleep 1000 & echo said'
    [ "$output" = "$(printf 'said\nsaid')" ]
    [[ "$stderr" == "prun: rank "[01]" on node1 (vpid 1) has ended, but a process that it left holds its standard "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run ! own -f '^sleep 1000$'
    run --separate-stderr -0 prun -n 2 sh -c 'sleep 1000 > /dev/null 2>&1 & echo said'
    [ -z "$stderr" ]
    run ! own -f '^sleep 1000$'
}

@test "the end of a job is reported with rank, node, reason, and core dump" {
    start_dvm 2 --slots 1
    run -139 prun -n 2 sh -c '[ "$PMIX_RANK" = 0 ] || kill -SEGV $$; exec sleep 1000'
    [[ "$output" =~ ^prun:\ rank\ 1\ on\ node2\ \(vpid\ 2\)\ was\ ended\ by\ signal\ 11\ \(Segmentation\ fault\)(, core dumped)?,\ pid\ [0-9]+$ ]]
    run -7 prun -n 2 sh -c '[ "$PMIX_RANK" = 0 ] || exit 7; exec sleep 1000'
    [[ "$output" =~ ^prun:\ rank\ 1\ on\ node2\ \(vpid\ 2\)\ exited\ with\ code\ 7,\ pid\ [0-9]+$ ]]
    run ! own -f '^sleep 1000$'
}

# memory_group BYTES: a new group of processes with that limit, in $group; this shell moves there. False: none can be made.
memory_group() {
    local root=/sys/fs/cgroup limit_file=memory.max
    if [ -e "$root/memory/memory.limit_in_bytes" ]; then
        root=$root/memory limit_file=memory.limit_in_bytes
    fi
    # "4:memory:/its/path", or "0::/its/path"
    group_before=$root$(sed -nE 's/^([0-9]+:memory|0:):(.*)/\2/p' /proc/self/cgroup | head -n 1)
    mkdir "$root/dvm-test-$$" 2> /dev/null || return 1
    group=$root/dvm-test-$$
    echo "$1" > "$group/$limit_file" && echo "$BASHPID" > "$group/cgroup.procs"
}
leave_memory_group() {
    echo "$BASHPID" > "$group_before/cgroup.procs"
    rmdir "$group"
}

@test "a rank that the kernel kills for lack of memory is reported so, and the DVM goes on" {
    memory_group 250000000 || skip "no right to limit memory"
    start_dvm 1
    run -137 prun -n 1 tail /dev/zero
    [[ "$output" =~ "was ended by signal 9 (Killed) by the kernel, out of memory, pid "[0-9]+$ ]]
    prun -n 1 true
}

@test "programs that cannot be run are named with the reason" {
    start_dvm 1
    printf '#!/no/such/shell\n' > "$BATS_TEST_TMPDIR/script"
    printf '\177ELF of some other machine' > "$BATS_TEST_TMPDIR/binary"
    chmod +x "$BATS_TEST_TMPDIR"/{script,binary}
    run -125 prun -n 1 "$BATS_TEST_TMPDIR/script"
    [[ "$output" == *"node1 (vpid 1): exec $BATS_TEST_TMPDIR/script: its interpreter /no/such/shell: No such file or directory" ]]
    run -125 prun -n 1 "$BATS_TEST_TMPDIR/binary"
    [[ "$output" == *"exec $BATS_TEST_TMPDIR/binary: Exec format error" ]]
    run -125 prun -n 1 /tmp
    [[ "$output" == *"exec /tmp: Permission denied" ]]
}

# --- much input and output in little memory

# peak PID: KiB that a process has had at most.
peak() { awk '/^VmHWM:/ {print $2}' "/proc/$1/status"; }
# noise BYTES: the same bytes at each call, without repetition within them.
noise() { openssl enc -aes-128-ctr -K 00 -iv 00 < /dev/zero 2> /dev/null | head -c "$1"; }
# through BYTES READER...: noise through rank 0 of four, to a reader that passes it on. prun and its input stay until the
# peak memory of each process on the way was read: at most 12 MiB more than before, for prun 12 MiB in all.
through() {
    local bytes=$1 sum vpid pid
    local -A took
    shift
    mkfifo "$BATS_TEST_TMPDIR"/{through,gate}
    for vpid in 0 1 2; do took[$vpid]=$((-$(peak "$(daemon_of "$vpid")"))); done
    { noise "$bytes"; read -r _ < "$BATS_TEST_TMPDIR/gate"; } | "$bin/prun" -n 4 cat > "$BATS_TEST_TMPDIR/through" 3>&- &
    pid=$!
    sum=$("$@" < <(head -c "$bytes" "$BATS_TEST_TMPDIR/through") | cksum)
    for vpid in 0 1 2; do took[$vpid]=$((took[$vpid] + $(peak "$(daemon_of "$vpid")"))); done
    took[prun]=$(peak "$pid")
    echo > "$BATS_TEST_TMPDIR/gate"
    wait "$pid"
    [ "$sum" = "$(noise "$bytes" | cksum)" ]
    declare -p took
    for vpid in "${!took[@]}"; do [ "${took[$vpid]}" -lt 12288 ]; done
}

@test "1 GB goes through prun -n 4 cat, and no process on its way takes more than 12 MiB for it" {
    start_dvm 2 --slots 2
    through 1000000000 cat
}

# It lets everybody else wait: each part of 64 KiB is taken after a request to the head.
slowly() {
    while view .size > /dev/null && head -c 65536 > "$BATS_TEST_TMPDIR/part" && [ -s "$BATS_TEST_TMPDIR/part" ]; do
        cat "$BATS_TEST_TMPDIR/part"
    done
}

@test "for a reader that is slower than the input, no process keeps more than 12 MiB" {
    start_dvm 2 --slots 2
    through 33554432 slowly
}

@test "output without the end of a line is passed on while the rank goes on" {
    local first
    start_dvm 1
    mkfifo "$BATS_TEST_TMPDIR"/{out,gate}
    # The rank waits for its reader.
    "$bin/prun" -n 1 sh -c 'printf x; read -r _ < "$1"' sh "$BATS_TEST_TMPDIR/gate" > "$BATS_TEST_TMPDIR/out" 3>&- &
    exec 5< "$BATS_TEST_TMPDIR/out"
    read -r -t "$limit" -n 1 -u 5 first
    [ "$first" = x ]
    echo > "$BATS_TEST_TMPDIR/gate"
    wait "$!"
}

@test "PATH and LD_LIBRARY_PATH of a rank are those of prun, without additions" {
    start_dvm 1
    run -0 env PATH="$PATH:/here" LD_LIBRARY_PATH=/its/lib "$bin/prun" -n 1 sh -c 'echo "$PATH $LD_LIBRARY_PATH"'
    [ "$output" = "$PATH:/here /its/lib" ]
    run -0 env -u LD_LIBRARY_PATH "$bin/prun" -n 1 sh -c 'echo "${LD_LIBRARY_PATH-unset}"'
    [ "$output" = unset ]
}

@test "with --daemon-limits ranks have the limits that their daemon was started with, not its own raised ones" {
    local there
    there=$(
        ulimit -Sn 321 -Ss 7000 -St 5000
        ulimit -Hc 0
        start_dvm 1 --slots 2 > /dev/null
        cat /proc/self/limits
    )
    grep -q "^Max open files  *321 " <<< "$there"
    run -0 prun --daemon-limits -n 1 cat /proc/self/limits
    diff <(echo "$there") <(echo "$output")
    run -0 prun --daemon-limits -n 2 --output tag cat /proc/self/limits # ranks that wait for each other
    for rank in 0 1; do
        diff <(echo "$there") <(sed -n "s/^\[$rank\]<stdout>: //p" <<< "$output")
    done
    # Both have more for themselves: it would not be a test otherwise.
    local pid
    for pid in "$(spawner_of 1)" "$(daemon_of 1)"; do
        ! grep -q "^Max open files  *321 " "/proc/$pid/limits"
    done
}

@test "the debug logs of head and member hold each step of a job that bench/breakdown.awk looks for" {
    export DVM_LOG_LEVEL=debug
    start_dvm 1 --slots 2
    local started=${EPOCHREALTIME/./}
    prun -n 1 --host 1 true
    echo "$started ${EPOCHREALTIME/./}" > "$BATS_TEST_TMPDIR/times"
    run -0 awk -v members=1 -f "$repo/bench/breakdown.awk" "$BATS_TEST_TMPDIR/times" \
        "$DVM_SESSION_DIR"/{0,1}/prted.log
    jq -e '.runs == 1 and .exec_ms > 0 and .report_ms > 0' <<< "$output"
}

@test "a rank knows its program and arguments, and those of its job, as under mpirun" {
    start_dvm 1 --slots 4
    run prun -x OMPI_ARGV=old --tag-output -n 1 env : -n 2 sh -c 'env' name two
    [ "$status" -eq 0 ]
    [ "$(grep -c "OMPI_COMMAND=env$" <<< "$output")" -eq 1 ]
    [ "$(grep -c "OMPI_COMMAND=sh$" <<< "$output")" -eq 2 ]
    [ "$(grep -c "OMPI_ARGV=-c env name two$" <<< "$output")" -eq 2 ]
    [ "$(grep -c "OMPI_ARGV=" <<< "$output")" -eq 2 ]
    [ "$(grep -c "OMPI_NUM_APP_CTX=2$" <<< "$output")" -eq 3 ]
    [ "$(grep -c "OMPI_FIRST_RANKS=0 1$" <<< "$output")" -eq 3 ]
    [ "$(grep -c "OMPI_APP_CTX_NUM_PROCS=1 2$" <<< "$output")" -eq 3 ]
}
