#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# One allocation of the head's process, a member's, prun's or the simulator's fails, also one of a library: either all
# goes on and jobs run, or the process ends with exit code 1 and one line. MEMORY_POINTS and MEMORY_SEED say how many
# allocations and which; MEMORY_TABLE names a file for the table of all of them.

# shellcheck disable=SC2154  # set by lib.bash and bats

bats_require_minimum_version 1.5.0
load lib.bash

export MEMORY_SHIM=${MEMORY_SHIM:-$repo/build/probe/memory_shim.so}
said="out of memory, the program ends wanted_bytes="

setup_file() {
    build_all
    [ -e "$MEMORY_SHIM" ] || make -s -C "$repo" build/probe/memory_shim.so >&2
}
setup() {
    top=$BATS_TEST_TMPDIR
    MEMORY_PRTED=$(readlink -f "$bin/prted")
    export MEMORY_PRTED MEMORY_ROLE=head
    make_bin "$top/bin"
}
teardown() { end_left "$top"; }

# end_left FOLDER: kills the daemons with session directories in it.
end_left() {
    local left
    left=$(pgrep -f -- "--session-dir $1/") || return 0
    # shellcheck disable=SC2086 # numbers
    kill -KILL $left 2> /dev/null || true
}

# make_bin FOLDER: prte, and beside it a prted that preloads the shim into the first head of a DVM, or its first member
# (MEMORY_ROLE). The daemon, a child of its spawner, writes its exit code itself: prte kills what a DVM that failed leaves, also a shell
# around the daemon. The next head of the DVM has all memory.
make_bin() {
    mkdir -p "$1"
    cp "$(readlink -f "$bin/prte")" "$1/prte"
    cat > "$1/prted" << 'EOT'
#!/usr/bin/env bash
[[ " $* " == *" --role $MEMORY_ROLE "* ]] && mkdir "$MEMORY_DIR/first" 2> /dev/null || exec "$MEMORY_PRTED" "$@"
echo "$$" > "$MEMORY_DIR/pid"
export MEMORY_PID=$$ MEMORY_CODE=$MEMORY_DIR/code LD_PRELOAD=$MEMORY_SHIM MEMORY_CALLS=$MEMORY_DIR/calls
exec "$MEMORY_PRTED" "$@" 2> "$MEMORY_DIR/log"
EOT
    chmod +x "$1/prted"
}

# run_point NUMBER: a DVM of one member and a job in it; allocation NUMBER of the head or the member fails, none if it is 0.
run_point() {
    export MEMORY_DIR=$top/$1 MEMORY_FAIL=$1 DVM_SESSION_DIR=$top/$1/d
    mkdir "$MEMORY_DIR"
    if timeout --kill-after=5 60 "$top/bin/prte" start -n 1 --slots 1 > "$MEMORY_DIR/start" 2>&1; then
        timeout --kill-after=5 60 "$bin/prun" ${no_wait+--no-wait} -n 1 echo ran > "$MEMORY_DIR/job" 2>&1 || true
        timeout --kill-after=5 60 "$top/bin/prte" stop > "$MEMORY_DIR/stop" 2>&1 || true
    fi
    timeout 30 tail --pid="$(cat "$MEMORY_DIR/pid")" -f /dev/null || touch "$MEMORY_DIR/hung"
    end_left "$DVM_SESSION_DIR"
}

# outcome NUMBER: of the head or the member.
outcome() {
    local code lines
    code=$(cat "$top/$1/code" 2> /dev/null) || code=none
    lines=$(grep -c "$said" "$top/$1/log") || true
    case $code,$lines in
    0,0) [ "$(cat "$top/$1/job")" = ran ] && echo survived || echo "no job" ;;
    1,1) echo line ;;
    1,0) echo silent ;;
    none,*) [ -e "$top/$1/hung" ] && echo hung || echo signal ;;
    *) echo "exit $code, $lines lines" ;;
    esac
}

# caller NUMBER: who asked for the allocation that failed: a library, libpmix (it is linked into prted), or a file of prted.
caller() {
    local program offset place
    while read -r program offset _; do
        case $program in
        *memory_shim.so | */libc.so*) ;;
        "$MEMORY_PRTED")
            place=$(addr2line -e "$program" "$offset")
            case $place in
            */base/heap/wrapped.c:*) continue ;; # its caller
            libpmix/*) echo libpmix ;;
            *) echo "${place##*"$repo/"}" ;;
            esac
            return
            ;;
        *) echo "${program##*/}" && return ;;
        esac
    done < "$top/$1/calls"
    echo none
}

# draw COUNT SEED MOST: so many different numbers of allocations.
draw() {
    awk -v n="$1" -v seed="$2" -v most="$3" 'BEGIN {
        for (srand(seed); n > 0 && n <= most; ) if (!seen[x = 1 + int(rand() * most)]++) { print x; n-- } }'
}

# run_points: those on standard input, two at a time.
run_points() {
    local n running=()
    while read -r n; do
        if [ "${#running[@]}" -eq 2 ]; then
            wait "${running[0]}" || true
            running=("${running[1]}")
        fi
        run_point "$n" 3>&- < /dev/null &
        running+=($!)
    done
    # By number: the process that bounds the time of a test is another child of this shell.
    wait "${running[@]}" || true
}

# allocations: of a daemon that gets all memory, from its start to its end.
allocations() {
    run_point 0
    [ "$(outcome 0)" = survived ]
    total=$(cat "$top/0/calls")
    [ "$total" -gt 1000 ]
}

# table: lines "NUMBER TAB OUTCOME TAB CALLER" for the points on standard input.
table() {
    local n
    while read -r n; do printf '%s\t%s\t%s\n' "$n" "$(outcome "$n")" "$(caller "$n")"; done
}

# check_points COUNT: of the daemon that MEMORY_ROLE names.
check_points() {
    allocations
    draw "$1" "${MEMORY_SEED:-1}" "$total" > "$top/points"
    run_points < "$top/points"
    table < "$top/points" > "$top/table"
    [ -z "${MEMORY_TABLE:-}" ] || cp "$top/table" "$MEMORY_TABLE"
    cat "$top/table"
    # Those of hwloc and of the loader of libraries are their own, and not all are checked; but the daemon ends.
    run awk -F '\t' '$2 != "line" && $2 != "survived" && ($3 !~ /^(libhwloc\.so.*|ld-linux.*)$/ || $2 == "hung")' "$top/table"
    [ -z "$output" ]
    # The allocations did fail.
    grep -q "$(printf '\tline\t')" "$top/table"
}

@test "whichever allocation of the head fails: the DVM runs jobs, or the head ends with exit code 1 and one line" {
    check_points "${MEMORY_POINTS:-24}"
    grep -q "$(printf '\tline\tlibpmix')" "$top/table"
}

@test "whichever allocation of a member fails: it runs jobs, or it ends with exit code 1 and one line" {
    export MEMORY_ROLE=member no_wait= # the member may be lost for good
    check_points "${MEMORY_POINTS:-12}"
}

# prun_point NUMBER: of prun; prints its exit code and how many lines said why.
prun_point() {
    local code=0
    MEMORY_PROGRAM=prun MEMORY_FAIL=$1 MEMORY_CALLS=$top/calls.$1 LD_PRELOAD=$MEMORY_SHIM \
        timeout --kill-after=5 60 "$bin/prun" -n 1 echo ran > "$top/out.$1" 2> "$top/err.$1" || code=$?
    echo "$code $(grep -c "$said" "$top/err.$1") $(cat "$top/out.$1")"
}

@test "whichever allocation of prun fails: the job has run, or prun ends with exit code 1 and one line" {
    local n last ended=0 answer
    new_dvm_dir
    start_dvm 1 --slots 2
    run prun_point 0
    [ "$output" = "0 0 ran" ]
    last=$(cat "$top/calls.0")
    for n in 1 $(draw "${MEMORY_POINTS:-24}" "${MEMORY_SEED:-1}" "$last"); do
        answer=$(prun_point "$n")
        echo "$n: $answer"
        [ "$answer" = "0 0 ran" ] || [ "${answer:0:3}" = "1 1" ]
        grep -q '/prun +' "$top/calls.$n"
        ended=$((ended + ${answer:0:1}))
    done
    [ "$ended" -gt 0 ]
    end_dvm
}

# schedule SEED NUMBER: that random schedule; allocation NUMBER fails. Prints the exit code and how many lines said why.
schedule() {
    local code=0
    rm -f "$top/calls"
    MEMORY_PROGRAM=sim MEMORY_FAIL=$2 MEMORY_CALLS=$top/calls LD_PRELOAD=$MEMORY_SHIM \
        timeout --kill-after=5 60 "$repo/build/release/sim" --seed "$1" --nodes-max 4 --seeds 1 --jobs 1 > "$top/schedule" 2>&1 ||
        code=$?
    echo "$code $(grep -c "$said" "$top/schedule")"
}

@test "whichever allocation of a random schedule fails: all invariants hold, or the program ends with exit code 1 and one line" {
    local i n seed answer ended=0
    [ -e "$repo/build/release/sim" ] || make -s -C "$repo" build/release/sim >&2
    for ((i = 0; i < ${MEMORY_SCHEDULES:-60}; i++)); do
        seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
        answer=$(schedule "$seed" 0)
        [ "$answer" = "0 0" ] || { echo "seed $seed, no allocation fails: $answer"; tail -20 "$top/schedule"; return 1; }
        n=$(draw 1 "$seed" "$(cat "$top/calls")")
        answer=$(schedule "$seed" "$n")
        echo "seed $seed, allocation $n: $answer"
        [ "$answer" = "0 0" ] || [ "$answer" = "1 1" ]
        ended=$((ended + ${answer:0:1}))
    done
    [ "$ended" -gt 0 ]
}

@test "a head that never again gets memory after an allocation has failed ends with exit code 1 and one line" {
    export MEMORY_GONE=1
    allocations
    draw 6 "${MEMORY_SEED:-1}" "$((total * 3 / 4))" > "$top/points"
    run_points < "$top/points"
    table < "$top/points" | tee "$top/table"
    run awk -F '\t' '$2 != "line"' "$top/table"
    [ -z "$output" ]
}
