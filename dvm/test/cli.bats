#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Command lines of all programs: refused ones and their messages.

# shellcheck disable=SC2154  # set by bats

bats_require_minimum_version 1.5.0
repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
bin=${BIN:-$repo/build/bin} # BIN: ready-made programs
bounded=(timeout --kill-after=10 60)

setup_file() {
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/{prted,prun,pstat,pterm,prte,dvm-connect,dvm-spawner,dvm-operator} >&2
}

setup() {
    export DVM_SESSION_DIR=$BATS_TEST_TMPDIR/nobody
}

# refused TEXT PROGRAM [ARG...]: exit code 2, no standard output, one line of error with TEXT and the hint to --help.
refused() {
    local text=$1 program=$2
    shift 2
    run --separate-stderr -2 "${bounded[@]}" "$bin/$program" "$@"
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "$program: "*"$text"*"see '$program --help'" ]]
}

@test "prun refuses a command line without a program" {
    refused "no program to run" prun
    refused "no program to run" prun -n 4
    refused "no program beside ':'" prun -n 1 a :
}

@test "prun refuses unknown options by their name" {
    refused "unknown option -0" prun -0 a
    refused "option --frobnicate" prun --frobnicate a
}

@test "prun refuses options without their value" {
    refused "-n needs a value" prun -n
    refused "--np needs a value" prun -np
    refused "--timeout needs a value" prun --timeout
}

@test "prun refuses bad numbers" {
    refused "'x' is not a whole number" prun -n x a
    refused "0 is not within" prun -n 0 a
    refused "has to be more than 0" prun --timeout 0 a
    refused "neither a rank nor all nor none" prun --stdin 1x a
}

@test "prun refuses contradictions" {
    refused "contradict each other" prun -N 2 --map-by slot a
    refused "-n is given twice" prun -n 2 -np 3 a
    refused "the job has ranks 0..1" prun -n 2 --stdin 2 a
    refused "needs its own -n" prun -n 2 a : b
}

@test "prun refuses unknown mappings and hosts" {
    refused "'board' is not one of slot, node, package" prun --map-by board a
    refused "neither a vpid nor a name" prun --host nobody a
    refused "slots cannot be given here" prun --host 1:4 a
}

@test "prun refuses options that only mpirun and srun have, and names its equivalent" {
    refused "--host LIST" prun --hostfile f a
    refused "--host LIST" prun -hostfile f a
    refused "--timeout S takes seconds" prun -t 5 a
    refused "there is no option -soft: -n N" prun -soft 1:3 a
    refused "--recoverable lets the others go on" prun --no-kill a
    refused "unknown option -nprocs: -n N and --np N" prun -nprocs 2 a
}

@test "prun refuses a file as the directory for its output" {
    touch "$BATS_TEST_TMPDIR/file"
    run -2 "${bounded[@]}" "$bin/prun" --output "dir=$BATS_TEST_TMPDIR/file" a
    [ "$output" = "prun: --output: writing into $BATS_TEST_TMPDIR/file: Not a directory" ]
}

@test "prun refuses to pass on an unset variable" {
    refused "not set in the environment" prun -x SURELY_NOT_SET_HERE a
}

@test "prun without a DVM exits 125 and names the command that starts one" {
    run -125 "${bounded[@]}" "$bin/prun" -n 1 true
    [[ "$output" == "prun: no DVM at $DVM_SESSION_DIR/prted.sock"*"prte start"*"--dvm"* ]]
}

@test "pstat refuses unknown arguments" {
    refused "'nodes' is not one of members, tree, jobs, campaigns, links" pstat nodes
    refused "one at a time" pstat members tree
    refused "contradict each other" pstat --watch-events jobs
    refused "unknown option -x" pstat -x
}

@test "pterm refuses unknown arguments" {
    refused "'now' has no meaning here" pterm now
    refused "'soon' is not a whole number" pterm --deadline soon
    refused "--signal needs a --job" pterm --signal TERM
    refused "'NONE' is not a whole number" pterm --job 1.1 --signal NONE
    refused "contradict each other" pterm --job 1.1 --deadline 2
    refused "--continue needs a --job" pterm --continue
    refused "contradict each other" pterm --job 1.1 --signal TERM --continue
}

@test "dvm-connect refuses a descriptor that is no socket, and prints its purpose" {
    refused "host, port and directory are needed" dvm-connect x
    refused "standard input is no socket" dvm-connect x 7400 /tmp < /dev/null
    run --separate-stderr -0 "${bounded[@]}" "$bin/dvm-connect" --help
    [[ "$output" == "Usage: dvm-connect"*"Exit code"* ]]
}

@test "dvm-spawner refuses to run without a daemon, and prints its purpose" {
    refused "socket, daemon, token, grace, level and directory are needed" dvm-spawner 3 4 5
    refused "the socket does not keep message boundaries" dvm-spawner 0 $$ 0123456789abcdef 2000 info "" < /dev/null
    run --separate-stderr -0 "${bounded[@]}" "$bin/dvm-spawner" --help
    [[ "$output" == "Usage: dvm-spawner"*"Exit code"* ]]
}

@test "dvm-operator refuses an unknown option and an argument, and prints its purpose" {
    refused "--frobnicate: no such option" dvm-operator --frobnicate
    refused "--identity: no such option, or its value is missing" dvm-operator --identity
    refused 'unexpected argument "x"' dvm-operator x
    refused "exclude each other" dvm-operator --namespace a --all-namespaces
    run --separate-stderr -0 "${bounded[@]}" "$bin/dvm-operator" --help
    [[ "$output" == "Usage: dvm-operator"*"Exit code"* ]]
}

@test "a daemon without its spawner beside it does not start, and reports it" {
    cp "$bin/prted" "$BATS_TEST_TMPDIR/prted"
    run --separate-stderr -1 "$BATS_TEST_TMPDIR/prted" --role head --cluster t/x --tls-dir /nowhere --session-dir "$BATS_TEST_TMPDIR/s"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"the spawner's program $BATS_TEST_TMPDIR/dvm-spawner: No such file or directory"* ]]
}

@test "prted refuses an address of the head that is not HOST:PORT" {
    for bad in 10.0.0.1 :7400 '[]:7400' fd00::1:7400 x:70000; do
        refused "--head: \"$bad\" is not allowed" prted --role member --head "$bad"
    done
    refused "needed" prted --role member --head '[fd00::1]:7400'
}

@test "a vpid or a number of members above 65535 is refused with the limit, by the daemon and its tools" {
    for bad in 65536 1048575 4294967297; do
        refused "--vpid: $bad is not within 0..65535" prted --role member --vpid "$bad"
        refused "--size: $bad is not within 0..65535" prted --role head --size "$bad"
        refused "--host: $bad is not within 0..65535" prun --host "$bad" true
        refused "--host: $bad is not within 0..65535" prun --host "1-$bad" true
        refused "--host: $bad is not within 0..65535" prun --host "node$bad" true
        refused "--host: $bad is not within 0..65535" prte resize --remove "$bad"
    done
}

@test "prted refuses a directory of the records that is not absolute" {
    refused '--records-dir: "records" is not allowed' prted --role head --records-dir records
}

@test "prted refuses a directory of the records without the option that keeps them" {
    refused "--records-dir needs --role head and --keep-records" prted --role head --cluster t/x --tls-dir /nowhere \
        --session-dir "$BATS_TEST_TMPDIR/s" --records-dir /records
}

@test "prte and prted refuse limits of faults that contradict each other, and start nothing" {
    refused "the link grace is 6 s, it must be at most the silence, 5 s" prte start -n 1 --link-grace 6 --silence 5
    refused "twice the link grace, 18 s" prte run --silence 8 --head-absence 17.999 -- true
    refused "the link grace is 0.05 s, it must be 0.1 to" prte start -n 1 --link-grace 0.05
    refused "--silence: 'never' is not a number" prte start -n 1 --silence never
    refused "does not take --silence" prte resize 2 --silence 5
    [ ! -e "$DVM_SESSION_DIR" ]
    refused "the link grace is 20 s, it must be at most the silence, 10 s" prted --link-grace-ms 20000
    refused "the head's absence is 0 s" prted --head-absence-ms 0
    refused "--silence-ms: \"-1\" is not allowed" prted --silence-ms -1
}

@test "prte refuses unknown arguments" {
    refused "a command is missing: start, resize, stop or run" prte
    refused "not one of start, resize, stop, run" prte begin
    refused "needs -n" prte start
    refused "not within 0..1024" prte start -n 1025
    refused "not within 2..1024" prte start -n 2 --radix 1
    refused "does not take --drain" prte start -n 2 --drain wait
    refused "has no meaning" prte start -n 2 3
    refused "contradict each other" prte start -n 2 --foreground --daemonize
    refused "resize needs one number" prte resize
    refused "'few' is not a whole number" prte resize few
    refused "neither wait nor kill" prte resize 2 --drain gently
    refused "contradicts it" prte resize 2 --drain kill --deadline 3
    refused "run needs a program" prte run -n 2
    TMPDIR=here refused "'here' is not an absolute path" prte run -- true
}

@test "pstat, pterm and prte without a DVM exit 1 and name the command that starts one" {
    for command in "pstat" "pterm" "prte resize 2" "prte stop"; do
        # shellcheck disable=SC2086
        run -1 "${bounded[@]}" "$bin"/$command
        [[ "$output" == *"'prte start -n 4'"* ]]
    done
}

@test "a DVM does not start with too few open files, and says how many it needs" {
    ulimit -n 24
    run -1 "${bounded[@]}" "$bin/prte" start -n 2
    [[ "$output" == *"the limit of open files is 24, a daemon needs 64 (ulimit -Hn)"* ]]
    run -1 "${bounded[@]}" "$bin/prte" stop
    [[ "$output" == *"'prte start -n 4'"* ]]
}

@test "a refused command line creates no file" {
    refused "unknown option" prte start -n 2 -z
    [ ! -e "$DVM_SESSION_DIR" ]
}

@test "a directory with other files in it is not taken" {
    mkdir "$DVM_SESSION_DIR"
    echo precious > "$DVM_SESSION_DIR/file"
    run -1 "${bounded[@]}" "$bin/prte" start -n 1
    [[ "$output" == *"has files in it that are no DVM's"* ]]
    [ "$(cat "$DVM_SESSION_DIR/file")" = precious ]
}

@test "a directory whose sockets would have too long paths is refused with the limit" {
    DVM_SESSION_DIR=$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..100})
    run -1 "${bounded[@]}" "$bin/prte" start -n 1
    [[ "$output" == *"more than 107 bytes"* ]]
    [ ! -e "$DVM_SESSION_DIR" ]
    mkdir "$DVM_SESSION_DIR"
    TMPDIR=$DVM_SESSION_DIR run -1 "${bounded[@]}" "$bin/prte" run -- true
    [[ "$output" == *"more than 107 bytes"*"TMPDIR for 'prte run'"* ]]
    [ -z "$(ls -A "$DVM_SESSION_DIR")" ]
}

@test "every program has a help text that names all its options, on standard output" {
    for program in prun pstat pterm prte; do
        run --separate-stderr -0 "${bounded[@]}" "$bin/$program" --help
        [ -z "$stderr" ]
        [[ "$output" == "Usage: $program"* ]]
        [[ "$output" == *"--dvm"* && "$output" == *"--version"* && "$output" == *"Exit code"* ]]
    done
    run -0 "${bounded[@]}" "$bin/prun" --help
    while read -r option; do
        [[ "$output" == *"--$option"* ]]
    done < <(grep -oP '^    \{"\K[a-z-]+(?=", [nr])' "$repo/dvm/tools/submit/options.c")
}

@test "manual pages have the contents of the help texts" {
    [ -z "${BIN:-}" ] || skip "ready-made programs"
    make -s -C "$repo" man
    for program in prun pstat pterm prte prted; do
        page=$(sed 's/\\f.//g; s/\\//g' "$repo/build/man/$program.1")
        [[ "$page" == *".SH SYNOPSIS"* ]]
        for option in $("$bin/$program" --help | grep -oE -- '--[a-z-]+' | sort -u); do
            [[ "$page" == *"$option"* ]]
        done
    done
}

@test "every program prints its version" {
    for program in prun pstat pterm prte prted dvm-connect dvm-spawner dvm-stage; do
        run -0 "${bounded[@]}" "$bin/$program" --version
        [[ "$output" =~ ^$program\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
    done
}

@test "prun refuses an option of the whole job before a later program, unless it says the same" {
    refused "--map-by holds for the whole job" prun -n 1 a : -n 1 --map-by node b
    refused "--host holds for the whole job" prun -n 1 a : -n 1 --host 2 b
    refused "--no-wait holds for the whole job" prun -n 1 a : -n 1 --no-wait b
    run -125 "${bounded[@]}" "$bin/prun" -n 1 --map-by node a : -n 1 --map-by node b # there is no DVM
}

@test "prun names DVM_PRUN_OPTIONS when its words are wrong" {
    export DVM_PRUN_OPTIONS
    DVM_PRUN_OPTIONS="--frobnicate" refused "\$DVM_PRUN_OPTIONS: unknown or ambiguous option --frobnicate" prun a
    DVM_PRUN_OPTIONS="-n 2 a" refused "\$DVM_PRUN_OPTIONS: 'a' is no option" prun b
    DVM_PRUN_OPTIONS="-n '2" refused "\$DVM_PRUN_OPTIONS: a quote ' is not closed" prun b
    DVM_PRUN_OPTIONS="--detach" refused "(\$DVM_PRUN_OPTIONS is '--detach')" prun --stdin 0 a
}
