#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# A rank takes HOME, limits and umask from its user's shell. Tools inside a rank find the rank's own DVM.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash and bats; each test is a process
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() {
    [ -z "${open:-}" ] || rm -rf "$open"
    end_dvm
}

no_daemons() { [ -z "$(daemons)" ]; }

@test "a DVM and its tools need no HOME and no entry of their user" {
    start_as() {
        "$@" "$open/prte" start -n 1 --slots 2 --dvm "$open/d"
        [ "$("$@" "$open/prun" --dvm "$open/d" -n 2 "$open/mpi_hello" | grep -c ' of 2 ')" -eq 2 ]
        "$@" "$open/pstat" --dvm "$open/d" members
        "$@" "$open/prte" stop --dvm "$open/d"
        [ "$("$@" env TMPDIR="$open" "$open/prte" run -- -n 1 echo alone)" = alone ]
    }
    local -a unknown=(unshare --user --map-user=12345 --map-group=12345)
    open=$(mktemp -d)
    cp "$(readlink -f "$bin")"/* "$examples/mpi_hello" "$open"
    start_as timeout --kill-after=10 "$limit" env -u HOME -u USER -u LOGNAME
    run ! getent passwd 12345
    if [ "$(id -u)" -eq 0 ]; then # also in a chroot, which has no namespaces of users
        unknown=(setpriv --reuid 12345 --regid 12345 --clear-groups)
        chown 12345:12345 "$open"
    fi
    start_as timeout --kill-after=10 "$limit" env -u HOME -u USER -u LOGNAME "${unknown[@]}"
}

# --- limits of the submitting shell

shows_limits=(sh -c 'echo "$(ulimit -Ss) $(ulimit -Sc) $(ulimit -Sn) $(umask) ${DVM_LIMITS-}"')

@test "ranks have the limits and the umask of the shell that submits them, on each member; spawned ones too" {
    start_dvm 2 --slots 2
    local daemons_own
    daemons_own=$(prun -n 1 "${shows_limits[@]}")
    (
        ulimit -Ss 4096
        ulimit -Sc 0
        ulimit -Sn 300
        umask 027
        run -0 prun -n 2 --map-by node "${shows_limits[@]}"
        [ "$output" = $'4096 0 300 0027 \n4096 0 300 0027 ' ]
        [ "$(prun -n 1 "$probe" spawn 1 "${shows_limits[@]}" | grep -c '^4096 0 300 0027 $')" -eq 1 ]
        [ "$(prun -n 1 "$bin/prun" -n 1 "${shows_limits[@]}")" = "4096 0 300 0027 " ]
        [ "$(prun --daemon-limits -n 1 "${shows_limits[@]}")" = "$daemons_own" ]
        [ "$(prun --dvm "localhost:$(jq .join "$DVM_SESSION_DIR/0/ports.json")" --tls-dir "$DVM_SESSION_DIR/tls/user" \
            -x DVM_LIMITS="077 1024:- 0:- 100:- -:- -:-" -n 1 "${shows_limits[@]}")" = "$daemons_own" ]
    )
    [ "$(prun -x DVM_LIMITS=nonsense -n 1 "${shows_limits[@]}")" = "$daemons_own" ]
}

@test "a limit above the hard one of the daemon is that, and prun says so once" {
    (ulimit -n 500 && start_dvm 1 --slots 4)
    ulimit -Sn 600
    run -0 --separate-stderr prun -n 4 sh -c 'ulimit -Sn'
    [ "$output" = $'500\n500\n500\n500' ]
    [ "$(grep -c 'hard limits of the daemon are lower than the limits here, ranks have: nofile 500$' <<< "$stderr")" -eq 1 ]
}

# --- tools inside a rank

@test "prun, pstat and prte inside a rank find the rank's own DVM, whatever the user's environment says" {
    local elsewhere=$BATS_TEST_TMPDIR/elsewhere
    start_dvm 2 --slots 2
    PATH=$bin:$PATH
    local dir=$DVM_SESSION_DIR
    [ "$(prun -n 1 prun -n 1 sh -c 'echo inner on $PMIX_HOSTNAME')" = "inner on node1" ]
    [ "$(DVM_SESSION_DIR=$elsewhere prun --dvm "$dir" -x DVM_SESSION_DIR -n 1 prun -n 1 echo inner)" = inner ]
    [ "$(prun -n 1 prun -n 1 prun -n 1 echo third)" = third ] # a rank of a rank's job
    [[ "$(prun -n 1 pstat members)" == *node2* ]]
    run -125 prun -n 1 prun --dvm "$elsewhere" -n 1 true # what is named counts
    [[ "$output" == *"$elsewhere"* ]]
    prun --dvm "$dir/2" -n 1 prun -n 1 true # submitted at a member
    [ "$(prun -n 1 sh -c 'prte resize 1 > /dev/null; prun -n 1 echo smaller')" = smaller ]
    run -122 prun -n 1 pterm # ends its own rank too
    eventually no_daemons
}

@test "MPI: prun and mpirun inside a rank, before and after its MPI_Init" {
    start_dvm 2 --slots 2
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    local inner
    local -a inners=("$bin/prun -n 2")
    [[ "$(mpirun --version 2> /dev/null)" != *"(Open MPI) 4"* ]] || inners+=("mpirun --oversubscribe -n 2")
    for inner in "${inners[@]}"; do
        [ "$(prun -n 1 sh -c "$inner $examples/mpi_hello" | grep -c '^hello from rank [01] of 2 ')" -eq 2 ]
        # shellcheck disable=SC2086 # words
        run -0 prun -n 1 "$examples/mpi_nest" $inner "$examples/mpi_hello"
        [ "$(grep -c '^hello from rank [01] of 2 ' <<< "$output")" -eq 2 ]
    done
}
