#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Where ranks run and which CPUs they get, on this machine's own CPUs: the displayed CPUs are those of the kernel.

# shellcheck disable=SC2154  # set by lib.bash and bats
# shellcheck disable=SC2016  # what is for the ranks' shell, is for it

bats_require_minimum_version 1.5.0
load lib.bash

setup_file() { build_all; }
setup() { new_dvm_dir; }
teardown() { end_dvm; }

# The output of each rank about itself: rank, CPUs, "rank 0 0-1"
says='echo "rank $PMIX_RANK $(sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status)"'
yields=(sh -c 'echo $OMPI_MCA_mpi_yield_when_idle')
here() { sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/self/status; }
# The CPUs that this process may use, one a line.
each_cpu() { here | tr ',' '\n' | awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }'; }
two_cores() { [ "$(each_cpu | wc -l)" -ge 2 ] || skip "this machine has one CPU"; }

# shown_is_true OUTPUT: each row of the table agrees with the output of its rank.
shown_is_true() {
    local shown said
    shown=$(awk '/^ *RANK/ { on = 1; next } on && $1 ~ /^[0-9]+$/ { print "rank", $1, $5 } /^rank/ { on = 0 }' <<< "$1")
    said=$(grep '^rank' <<< "$1" | sort -k2n)
    [ -n "$shown" ]
    [ "$shown" = "$said" ]
}

# --- refused, and nothing started

@test "contradictory or unknown policies are refused in one line, and no job is started" {
    start_dvm 1 --slots 2
    local words
    while read -r words; do
        # shellcheck disable=SC2086
        run -2 --separate-stderr prun $words touch "$BATS_TEST_TMPDIR/ran"
        # shellcheck disable=SC2154
        [ "${#stderr_lines[@]}" -eq 1 ]
        [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    done <<- 'EOF'
	-N 2 --map-by ppr:1:numa
	--map-by numa:pe=2 --bind-to hwthread
	--map-by core:pe=2
	--map-by l3cache
	--map-by ppr:1:board
	--rank-by fill
	--bind-to gpu
	--display slots
	EOF
    [ "$(view '.jobs | length')" = 0 ]
}

@test "a job that no daemon can hold fails at once with the reason, and starts no rank" {
    two_cores
    start_dvm 2 --slots 4
    local cpus words
    cpus=$(each_cpu | wc -l)
    while read -r words; do
        # shellcheck disable=SC2086
        run -125 --separate-stderr prun $words touch "$BATS_TEST_TMPDIR/ran"
        [[ "$stderr" == *"not launched: "* ]]
        [ ! -e "$BATS_TEST_TMPDIR/ran" ]
    done <<- EOF
	-N 5
	--map-by ppr:5:package
	-n 1 --map-by slot:pe=5
	-n 1 --map-by numa:pe=$((cpus + 1))
	-n $((2 * cpus + 1)) --bind-to hwthread
	EOF
}

# --- bound

@test "bound ranks run on the CPUs that --display shows, and before their output" {
    two_cores
    start_dvm 2 --slots 2
    run -0 prun -n 2 --bind-to core --display map,bind sh -c "$says"
    shown_is_true "$output"
    [[ "${lines[0]}" == "job "*": 2 ranks on 1 daemon, map-by slot, bind-to core" ]]
    [[ "${lines[1]}" == *RANK*APP*NODE*VPID*CPUS* ]]
    [ "$(grep '^rank' <<< "$output" | cut -d' ' -f3 | sort -u | wc -l)" -eq 2 ]
    run -0 prun -n 4 --map-by hwthread --bind-to hwthread --display bind sh -c "$says"
    shown_is_true "$output"
    run -0 prun --map-by ppr:1:package --bind-to package --display bind sh -c "$says"
    shown_is_true "$output"
    run -0 prun -n 2 --map-by node:pe=2 --bind-to core --display bind sh -c "$says"
    shown_is_true "$output"
    [ "$(awk '$4 == 1 || $4 == 2 { print $3 }' <<< "$output" | tr '\n' ' ')" = "node1 node2 " ]
}

@test "--display map prints no CPUs, and a job without it prints no table" {
    start_dvm 1 --slots 2
    run -0 prun -n 1 --display map true
    [[ "${lines[1]}" != *CPUS* ]]
    [[ "${lines[2]}" == *node1* ]]
    run -0 prun -n 1 --bind-to core true
    [ -z "$output" ]
}

@test "jobs beside each other get different cores, and wait if there is none" {
    two_cores
    start_dvm 1 --slots 64
    local all
    all=$(each_cpu | wc -l)
    hold_job one $((all - 1)) --bind-to hwthread
    run -0 prun -n 1 --bind-to hwthread sh -c "$says"
    local last=$output
    [ "$last" = "rank 0 $(each_cpu | tail -n 1)" ]
    run -125 --separate-stderr prun --no-wait -n 2 --bind-to hwthread true
    [[ "$stderr" == *"node1 has no idle hwthread left to bind to"* ]]
    release_job one $((all - 1))
    end_job one
    [ "$code" -eq 0 ]
    run -0 prun -n 1 --bind-to hwthread sh -c "$says"
    [ "$output" = "rank 0 $(each_cpu | head -n 1)" ]
}

@test "--do-not-launch shows the map, starts no rank and leaves the slots free" {
    start_dvm 2 --slots 2
    run -0 --separate-stderr prun --do-not-launch -n 3 touch "$BATS_TEST_TMPDIR/started"
    [[ "${lines[0]}" == "job "*": 3 ranks on 2 daemons, map-by slot"* ]]
    [ "$(grep -c 'node[12]' <<< "$output")" -eq 3 ]
    [ -z "$stderr" ]
    run -0 prun --do-not-launch --no-wait --display bind -n 4 --bind-to core true
    [[ "${lines[1]}" == *CPUS* ]]
    run -125 --separate-stderr prun --do-not-launch -n 5 true
    [[ "$stderr" == *"not launched: "* ]]
    prun --no-wait -n 4 true
    [ ! -e "$BATS_TEST_TMPDIR/started" ]
    [ "$(view '[.jobs[] | select(.ranks == 3) | .state, .exitCode] | join(" ")')" = "TERMINATED 0" ]
    run -2 --separate-stderr prun --do-not-launch --detach true
    [[ "$stderr" == *"--do-not-launch and --detach contradict each other"* ]]
}

# --- not bound

@test "daemons that share a machine bind no rank by default, and report it once" {
    start_dvm 2 --slots 2
    run -0 --separate-stderr prun -n 3 sh -c "$says"
    [ -z "$stderr" ]
    [ "$(cut -d' ' -f3 <<< "$output" | sort -u)" = "$(here)" ]
    run -0 --separate-stderr prun -v -n 3 true
    [ "$(grep -c 'ranks are not bound: node1 shares its CPUs with others' <<< "$stderr")" -eq 1 ]
    run -0 prun -n 1 --display bind true
    [[ "$output" == *"not bound"*"node1 shares its CPUs"* ]]
}

@test "a daemon that has its machine for itself binds each rank to a core, if there is one for each" {
    two_cores
    unshare --uts true 2> /dev/null || skip "no right to give this host another name"
    export -f prte
    export bin limit
    timeout --kill-after=10 "$limit" unshare --uts sh -c 'hostname node1 && exec "$@"' sh "$bin/prte" start -n 1 --slots 64
    run -0 prun -n 2 --display bind sh -c "$says"
    shown_is_true "$output"
    [ "$(grep '^rank' <<< "$output" | cut -d' ' -f3 | sort -u | wc -l)" -eq 2 ]
    run -0 --keep-empty-lines prun -n 2 "${yields[@]}" # bound: they poll
    [ "$output" = $'\n\n' ]
    run -0 prun -n 1 --bind-to none "${yields[@]}"
    [ "$output" = 1 ]
    run -0 --separate-stderr prun -v -n 64 true
    [[ "$stderr" == *"ranks are not bound: node1 has fewer idle CPUs than ranks"* ]]
    run -0 prun -n 2 --bind-to none sh -c "$says"
    [ "$(cut -d' ' -f3 <<< "$output" | sort -u)" = "$(here)" ]
}

# --- slots

@test "a DVM has the slots of the CPUs that it may use, and ranks stay on these" {
    local cpu
    cpu=$(each_cpu | tail -n 1)
    timeout --kill-after=10 "$limit" taskset -c "$cpu" "$bin/prte" start -n 2
    [ "$(view '[.members[1:][].slots] | join(",")')" = 1,1 ]
    run -0 prun -N 1 --bind-to core sh -c "$says"
    [ "$(cut -d' ' -f3 <<< "$output" | sort -u)" = "$cpu" ]
}

@test "nolocal leaves out the daemon that prun talks to" {
    start_dvm 2 --slots 1
    run -0 prun --dvm "$DVM_SESSION_DIR/1" -n 1 --map-by slot:nolocal sh -c 'echo $PMIX_HOSTNAME'
    [ "$output" = node2 ]
    run -125 prun --dvm "$DVM_SESSION_DIR/1" -n 2 --map-by slot:nolocal true
}
