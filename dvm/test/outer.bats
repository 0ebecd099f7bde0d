#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs submitted, and DVMs started, inside another launcher or batch system: its variables do not tell ranks who they are.

# shellcheck disable=SC2154,SC2016  # set by lib.bash and bats; what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib
load outer

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# knows_all COMMAND...: it is a prun of four ranks, and they see each other.
knows_all() { [ "$("$@" -n 4 --map-by node "$examples/mpi_hello" | grep -c '^hello from rank [0-3] of 4 ')" -eq 4 ]; }

@test "MPI: ranks know each other whatever an outer launcher has set, also if -x names it" {
    start_dvm 2 --slots 2
    local name pair
    for name in "${launchers[@]}"; do
        local -a set words=()
        mapfile -t set < <(outer "$name")
        [ "${#set[@]}" -gt 2 ]
        for pair in "${set[@]}"; do words+=(-x "$pair"); done
        echo "$name"
        knows_all env "${set[@]}" "$bin/prun"
        knows_all prun "${words[@]}"
    done
}

@test "MPI: a DVM that is started inside an outer launcher has a world of its own" {
    local -a set
    mapfile -t set < <(for name in "${launchers[@]}"; do outer "$name"; done)
    timeout --kill-after=10 "$limit" env "${set[@]}" "$bin/prte" start -n 2 --slots 2
    knows_all env "${set[@]}" "$bin/prun"
    knows_all prun
}

@test "MPI: prun and prte inside a rank of mpirun run jobs of their own" {
    type mpirun > /dev/null 2>&1 || skip "there is no mpirun"
    local -a outside=(timeout --kill-after=10 "$limit" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 1)
    "${outside[@]}" "$bin/prte" start -n 2 --slots 2
    knows_all "${outside[@]}" "$bin/prun"
}

@test "parameters of the user and names for scripts reach the ranks unchanged, also of a spawned job" {
    start_dvm 1 --slots 4
    local -a mine=(OMPI_MCA_btl_tcp_links=2 OMPI_MCA_orte_base_help_aggregate=0 OMPI_ALLOW_RUN_AS_ROOT=1 PMIX_MCA_gds_base_verbose=0
        PRTE_MCA_x=1 UCX_TLS=tcp FI_PROVIDER=tcp I_MPI_DEBUG=1 SLURM_JOB_ID=77 SLURM_TMPDIR=/x SLURM_ARRAY_TASK_ID=3 PBS_JOBID=1.x
        PBS_O_WORKDIR=/y LSB_JOBID=5 JOB_ID=9)
    local variable
    for words in "" "$probe spawn 1"; do
        # shellcheck disable=SC2086
        run -0 env "${mine[@]}" SLURM_PROCID=0 PMI_RANK=0 "$bin/prun" -n 1 $words env
        for variable in "${mine[@]}"; do
            grep -qxF "$variable" <<< "$output"
        done
        ! grep -qE '^(SLURM_PROCID|PMI_RANK)=' <<< "$output"
    done
}

@test "a spawned rank has its own numbers, though the request has those of its parent" {
    start_dvm 1 --slots 4
    run -0 prun -n 1 -x PROBE_ENVIRON=1 sh -c 'PMI_RANK=7 exec "$@"' sh "$probe" spawn 2 \
        sh -c 'echo "$PMIX_RANK $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE ${PMI_RANK-none}"'
    [ "$(grep none <<< "$output" | sort)" = "$(printf '0 0 2 none\n1 1 2 none')" ]
}
