#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The scripts behind make demo, with programs that stand in for go, podman and mmdebstrap: what is built once, what waits
# for what, what is left after a stop, and what is printed on a terminal and elsewhere.

# shellcheck disable=SC2154,SC2016  # set by bats; text for other shells

bats_require_minimum_version 1.5.0

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/{base,api,operator,dvm,examples,third_party,daemon-image} "$BATS_TEST_TMPDIR/bin"
    cp -r "$BATS_TEST_DIRNAME"/../../{e2e,demo,Makefile,Dockerfile,.dockerignore} "$tree"
    cp "$BATS_TEST_DIRNAME/../../daemon-image/Dockerfile" "$tree/daemon-image"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache T=$BATS_TEST_TMPDIR PATH=$BATS_TEST_TMPDIR/bin:$PATH BUILDER=podman
    export DEMO_LOGS=$BATS_TEST_TMPDIR/logs TMPDIR=$BATS_TEST_TMPDIR
    cache=$XDG_CACHE_HOME/dvm-operator
    # shellcheck source=e2e/provider/kind/versions.sh
    . "$tree/e2e/provider/kind/versions.sh"
    binaries=$tree/e2e/provider/kind/binaries.sh
    mkfifo "$T/begun" "$T/gate"
}
# Processes that a failed test has left.
teardown() {
    local pid
    [ ! -e "$T/pids" ] || while read -r pid; do kill -KILL "$pid" 2> /dev/null || true; done < "$T/pids"
}

# background FILE COMMAND…: its output is in the file, its process id in $pid. It does not ignore SIGINT, as it would
# without job control, and leads a process group.
background() {
    local out=$1
    shift
    set -m
    "$@" > "$out" 2>&1 < /dev/null 3>&- &
    pid=$!
    set +m
    echo "$pid" >> "$T/pids"
}

# stand_in NAME: a program of that name, its text from stdin. "held" in it waits at the gate if the file $T/hold is there.
stand_in() {
    { printf '%s\n' '#!/usr/bin/env bash' 'set -e' \
        'held() { if [ -e "$T/hold" ]; then echo "$$" >> "$T/pids"; echo > "$T/begun"; read -r _ < "$T/gate"; fi; }'; cat; } > "$T/bin/$1"
    chmod +x "$T/bin/$1"
}
# A go that notes each program and writes it in two halves; coredns is held in between.
fake_go() {
    mkdir -p "$T/module"
    touch "$T/module/go.mod"
    stand_in go << 'END'
case $1 in
mod) printf '{\n\t"Dir": "%s"\n}\n' "$T/module" ;;
build)
    while [ "$1" != -o ]; do shift; done
    echo "$(basename "$2")" | sed 's/^\.//; s/\..*//' >> "$T/built"
    printf 'half ' > "$2"
    case $2 in *coredns*) held ;; esac
    printf 'whole' >> "$2"
    chmod +x "$2"
    ;;
esac
END
}
is_whole() { [ "$(cat "$BIN_DIR/$1")" = "half whole" ]; }
built() { [ "$(xargs < "$T/built")" = "$1" ] || { echo "built: $(xargs < "$T/built")"; return 1; }; }
# said FILE TEXT: returns when the file has that text, be the line complete or not.
said() {
    local until=$((SECONDS + 30))
    until grep -q -- "$2" "$1"; do
        [ "$SECONDS" -lt "$until" ] || { cat "$1"; return 1; }
        read -rt 0.1 <> <(:) || true
    done
}
ended() { timeout 30 tail -s 0.1 --pid="$1" -f /dev/null; }

@test "programs: each part is announced with its place and the time that it usually takes" {
    fake_go
    run "$binaries" etcd coredns
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^"part: 2 Kubernetes programs are to be built, usually "[0-9]+" min"$ ]]
    [[ $output == *"part: building etcd (1 of 2), usually "*" s"*"part: building coredns (2 of 2), usually "* ]]
    is_whole etcd
    is_whole coredns
    run "$binaries" etcd coredns
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    built "etcd coredns"
}

@test "programs: a stop leaves nothing that looks complete, and the next start goes on with that program" {
    local signal code
    for signal in TERM INT; do
        rm -rf "$cache" "$T/built"
        fake_go
        touch "$T/hold"
        background "$T/out" "$binaries" etcd coredns
        read -r _ < "$T/begun"
        # A terminal sends SIGINT to the whole group.
        if [ "$signal" = INT ]; then kill -INT -- "-$pid"; else kill -TERM "$pid"; fi
        code=0
        wait "$pid" || code=$?
        [ "$code" -eq 130 ]
        ended "$(tail -n 1 "$T/pids")"
        is_whole etcd
        [ "$(ls -A "$BIN_DIR")" = etcd ]
        rm "$T/hold"
        run "$binaries" etcd coredns
        [ "$status" -eq 0 ]
        [[ $output == *"part: building coredns (1 of 1)"* ]]
        built "etcd coredns coredns"
        is_whole coredns
    done
}

@test "programs: two at once build each program once, and the second says that it waits" {
    fake_go
    touch "$T/hold"
    background "$T/first" "$binaries" etcd coredns
    local first=$pid
    read -r _ < "$T/begun"
    background "$T/second" "$binaries" coredns
    said "$T/second" "^part: waiting, another process builds Kubernetes programs"
    rm "$T/hold"
    echo > "$T/gate"
    wait "$first"
    wait "$pid"
    built "etcd coredns"
    is_whole coredns
}

@test "programs: a build whose script was killed is waited for, not run beside another" {
    fake_go
    touch "$T/hold"
    background "$T/first" "$binaries" coredns
    read -r _ < "$T/begun"
    kill -KILL "$pid"
    background "$T/second" "$binaries" coredns
    said "$T/second" "^part: waiting"
    built coredns
    rm "$T/hold"
    echo > "$T/gate"
    wait "$pid"
    built "coredns coredns"
    is_whole coredns
    [ "$(ls -A "$BIN_DIR")" = coredns ]
}

# A podman that keeps images as files: name -> "id label". Two builds at the same time are noted.
fake_podman() {
    mkdir -p "$T/images"
    stand_in docker <<< 'exit 1'
    stand_in podman << 'END'
file() { echo "$T/images/${1//[:\/]/_}"; }
case "$1 $2" in
"image inspect")
    name=${*: -1}
    [ -e "$(file "$name")" ] || exit 1
    read -r id label < "$(file "$name")"
    case $4 in *Id*) echo "$id" ;; *) echo "$label" ;; esac
    ;;
"image rm") echo "$3" >> "$T/removed" ;;
"image prune") echo "prune" >> "$T/removed" ;;
build*)
    while [ "$1" != --tag ]; do shift; done
    tag=$2
    mkdir "$T/building" || { echo "two at once" >> "$T/clash"; exit 1; }
    echo "${tag%:*}" >> "$T/built"
    case $tag in dvm-daemon*) held ;; esac
    while [ $# -gt 1 ] && [ "$1" != --label ]; do shift; done
    echo "id$RANDOM$RANDOM ${2#*=}" > "$(file "$tag")"
    rmdir "$T/building"
    ;;
import*)
    name=${*: -1}
    echo "id$RANDOM $(wc -c)" > "$(file "$name")"
    ;;
tag*) cp "$(file "$2")" "$(file "$3")" ;;
rmi*) rm "$(file "$2")" ;;
esac
END
}

@test "images: two builds at once wait for each other, and build each image once" {
    fake_podman
    touch "$T/hold"
    background "$T/first" "$tree/e2e/images.sh"
    local first=$pid
    read -r _ < "$T/begun"
    background "$T/second" "$tree/e2e/images.sh"
    said "$T/second" "^part: waiting, another process builds images"
    rm "$T/hold"
    echo > "$T/gate"
    wait "$first"
    wait "$pid"
    [ ! -e "$T/clash" ]
    built "dvm-daemon dvm-operator"
    grep -q "^part: building image dvm-daemon:dev .*, usually 4 min" "$T/first"
    grep -q "^image dvm-operator:dev: unchanged" "$T/second"
}

@test "images: a stop is no harm, and a changed source replaces one image, and removes that one alone" {
    local former
    fake_podman
    touch "$T/hold"
    background "$T/first" "$tree/e2e/images.sh"
    read -r _ < "$T/begun"
    kill -INT -- "-$pid"
    wait "$pid" || true
    rm -rf "$T/hold" "$T/building"
    "$tree/e2e/images.sh"
    built "dvm-daemon dvm-daemon dvm-operator"
    read -r former _ < "$T/images/dvm-operator_dev"
    echo > "$tree/operator/new.c"
    "$tree/e2e/images.sh"
    built "dvm-daemon dvm-daemon dvm-operator dvm-operator"
    [ "$(cat "$T/removed")" = "$former" ]
}

@test "base image: packages that end early give no image" {
    fake_podman
    stand_in apt-get <<< 'echo Debian http://mirror.example.org/debian bookworm Debian main'
    stand_in mmdebstrap <<< 'printf half; exit 1'
    run "$tree/e2e/provider/kind/base-image.sh" trixie debian:trixie-slim
    [ "$status" -ne 0 ]
    [ ! -e "$T/images/debian_trixie-slim" ]
    stand_in mmdebstrap <<< 'printf whole'
    run -0 "$tree/e2e/provider/kind/base-image.sh" trixie debian:trixie-slim
    [[ $output == *"part: base image debian:trixie-slim from the packages of trixie, usually "* ]]
    [ "$(cut -d' ' -f2 "$T/images/debian_trixie-slim")" = 5 ]
    [ "$(ls "$T/images")" = debian_trixie-slim ]
    stand_in mmdebstrap <<< 'exit 1'
    run -0 "$tree/e2e/provider/kind/base-image.sh" trixie debian:trixie-slim
}

# told LINE...: a script that begins with demo/tell.bash.
told() { printf '%s\n' 'set -euo pipefail' ". $tree/demo/tell.bash" 'trap end_groups EXIT' "$@" > "$T/script"; }

@test "output: parts of two steps are lines without control sequences, and each step ends with its time" {
    told 'step "the first is done" one bash -c "echo part: building a, usually 4 s >&2; echo noise; read -r _ < $T/gate"' \
        'step "the second is done" two bash -c "echo part: building b, usually 5 min; echo > $T/gate"' finish \
        'long "a short one" three true'
    run -0 bash "$T/script"
    [[ $output != *$'\e'* && $output != *$'\r'* && $output != *noise* ]]
    grep -qE '^ +[0-9]+\.[0-9] s  one: building a, usually 4 s$' <<< "$output"
    grep -qE '^ +[0-9]+\.[0-9] s  two: building b, usually 5 min$' <<< "$output"
    grep -qE '^  the first is done: [0-9]+\.[0-9] s$' <<< "$output"
    grep -qE '^  the second is done: [0-9]+\.[0-9] s$' <<< "$output"
    [[ ${lines[-1]} =~ ^"  a short one: "[0-9.]+" s"$ ]]
    [ "${#lines[@]}" -eq 5 ]
}

@test "output: a step without a new part says from time to time that it goes on, and what it does" {
    told 'step "it is done" one bash -c "echo part: building a, usually 4 s; read -r _ < $T/gate"' \
        'step "the other is done" two bash -c "echo line; read -r _ < $T/gate"' finish
    local gate
    exec {gate}<> "$T/gate" # no reader sees its end when another one has its line
    DEMO_STILL_S=0 background "$T/out" bash "$T/script"
    said "$T/out" '^  still: one: building a … [0-9.]* s | the other is done … [0-9.]* s  line$'
    printf '\n\n' >& "$gate"
    wait "$pid"
}

@test "output: a terminal has one changing line besides" {
    told 'long "it is done" one bash -c "echo part: building a, usually 4 s; read -r _ < $T/gate"'
    background /dev/null script -q -f -e -c "bash $T/script" "$T/out"
    said "$T/out" $'\r\e\\[K.*one: building a … '
    echo > "$T/gate"
    wait "$pid"
    grep -qE 'it is done: [0-9.]+ s' "$T/out"
}

@test "output: a step that fails is named with the end of its log, and ends the others" {
    told 'step "one is done" one bash -c "echo \$\$ >> $T/pids; echo > $T/begun; exec tail -f /dev/null"' \
        'step "two is done" two bash -c "read -r _ < $T/begun; echo the reason; exit 3"' finish
    run bash "$T/script"
    [ "$status" -eq 1 ]
    [[ $output == *"the reason"*"The demo cannot go on: two is done (its log: $T/logs/two.log)"* ]]
    ended "$(cat "$T/pids")"
}

@test "output: the log of a job in the background is there at once, without what an earlier run has left in it" {
    mkdir -p "$T/logs"
    echo "RUNNING" > "$T/logs/job.log"
    told 'group job bash -c "read -r _ < $T/gate; echo RUNNING"' 'wc -c < "$LOGS/job.log"' 'echo > "$T/gate"' job_runs 'echo it runs'
    run -0 bash "$T/script"
    [ "$output" = $'0\nit runs' ]
}

@test "README: its commands on a cluster go with a demonstration that is there" {
    local readme=$BATS_TEST_DIRNAME/../../README.md ns
    ns=$(sed -n 's/^NS=//p' "$tree/demo/kube.bash")
    grep -q 'helm upgrade --install' "$readme"
    run grep -E "(helm|kubectl).*(-n|--namespace) $ns\b" "$readme"
    [ "$status" -eq 1 ]
}
