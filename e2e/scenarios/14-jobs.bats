#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Jobs as their users see them, in restricted pods with the image's MPI library.
# shellcheck disable=SC2016 # what is in single quotes is expanded in the pod
load ../lib

setup() {
    have 4
    remember_start
}

# Processes in the members' pods other than the daemons and this query.
processes_of() {
    local v
    for v in 1 2 3 4; do
        k exec "$X-$v" -- sh -c "cat /proc/[0-9]*/comm 2> /dev/null | grep -cx '$1' || :"
    done | awk '{ n += $1 } END { print n + 0 }'
}

sleepers_are() { [ "$(processes_of sleep)" = "$1" ]; }

@test "jobs: one-sided communication over all ranks" {
    equal says "$(in_head prun -n 8 mpi_onesided)" "onesided: size=8 ok"
}

@test "jobs: ranks spawn others and compute with them" {
    run in_head prun -n 2 mpi_spawn 4
    equal "exit code" "$status" 0
    [[ $output == *"spawn: parents=2 children=4 ok"* ]]
}

@test "jobs: MPI_Abort ends every rank with its code, and the message names the caller" {
    run in_head prun -n 8 mpi_abort 3 42
    equal "exit code" "$status" 42
    [[ $output == *"rank 3"* ]]
    equal "ranks left" "$(processes_of mpi_abort)" 0
    equal "slots in use" "$(pstat | jq '[.members[].slotsUsed] | add')" 0
}

@test "jobs: 64 ranks on 8 slots, with oversubscription" {
    local seed
    seed=$(draw_seed)
    equal result "$(in_head prun --oversubscribe -n 64 mpi_coll "$seed")" \
        "coll: size=64 seed=$seed result=$(coll_result "$seed" 64) ok"
}

@test "jobs: a detached job is listed, followed by another prun, and ended by name" {
    local job
    job=$(in_head prun --detach -n 4 --map-by node sh -c 'echo "rank $PMIX_RANK"')
    run in_head prun --attach "$job"
    equal "exit code" "$status" 0
    equal "lines of output" "$(grep -c '^rank [0-3]$' <<< "$output")" 4
    job=$(in_head prun --detach -n 8 sleep 600)
    equal "slots in use" "$(pstat | jq '[.members[].slotsUsed] | add')" 8
    in_head pterm --job "$job"
    run in_head prun --attach "$job"
    equal "exit code" "$status" 143
    equal "ranks left" "$(processes_of sleep)" 0
}

@test "jobs: a missing program fails the job with its pod and the reason" {
    run in_head prun -n 4 --map-by node no-such-program
    equal "exit code" "$status" 125
    [[ $output == *"$X-"*"no-such-program"* ]]
}

@test "jobs: killing prun ends its ranks" {
    background killed kubectl --namespace "$NS" exec "$X-head-0" -- sh -c 'prun -n 8 sleep 601 & echo $! > /tmp/p; wait'
    eventually 30 "8 ranks" sleepers_are 8
    in_head sh -c 'kill -KILL "$(cat /tmp/p)"'
    eventually 30 "no rank" sleepers_are 0
    equal "slots in use" "$(pstat | jq '[.members[].slotsUsed] | add')" 0
}

# Of the daemon in each member's pod.
descriptors() {
    local v
    for v in 1 2 3 4; do
        k exec "$X-$v" -- sh -c 'ls "$(dirname "$(grep -lx prted /proc/[0-9]*/comm)")/fd" | wc -l'
    done | tr '\n' ' '
}

@test "jobs: twenty in a row leak no descriptor and no session directory" {
    local v fds
    in_head prun -n 8 mpi_hello > /dev/null
    fds=$(descriptors)
    for _ in {1..20}; do in_head prun -n 8 mpi_hello > /dev/null; done
    equal descriptors "$(descriptors)" "$fds"
    for v in 1 2 3 4; do
        equal "directories of jobs on $X-$v" "$(k exec "$X-$v" -- sh -c 'ls -d /run/dvm/*.* 2> /dev/null | grep -c "[0-9a-f]\.[0-9]" || :')" 0
    done
}

@test "jobs: files that prun stages are complete on every pod of the job and are removed with it" {
    local v sum
    in_head sh -c 'mkdir -p /tmp/in && head -c 3000000 /dev/urandom > /tmp/in/data'
    sum=$(in_head sha256sum /tmp/in/data | cut -d ' ' -f 1)
    run in_head sh -c 'cd /tmp && prun -n 4 --map-by node --preload-files in/data sha256sum in/data'
    equal "exit code" "$status" 0
    equal "whole copies" "$(grep -cx "$sum  in/data" <<< "$output")" 4
    in_head rm -r /tmp/in
    for v in 1 2 3 4; do
        equal "copies left on $X-$v" "$(k exec "$X-$v" -- find /run/dvm /tmp -name data)" ""
    done
}

# A pod of the same image outside the DVM, with the certificate of a role.
outsider() {
    k delete pod outside --ignore-not-found --now > /dev/null
    k apply -f - > /dev/null << YAML
apiVersion: v1
kind: Pod
metadata:
  name: outside
spec:
  securityContext:
    {runAsNonRoot: true, runAsUser: 10001, runAsGroup: 10001, fsGroup: 10001, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: shell
    image: dvm-daemon:dev
    command: [sleep, "3600"]
    env: [{name: DVM_TLS_DIR, value: /tls}]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
  volumes:
  - name: tls
    secret: {secretName: $X-$1}
YAML
    k wait --for=condition=Ready pod/outside --timeout=60s > /dev/null
}

@test "jobs: a pod outside runs a job with the user's certificate, over TLS, with input and exit code" {
    local sum
    outsider user
    sum=$(k exec outside -- sh -c 'seq 200000 > /tmp/in; sha256sum < /tmp/in')
    equal "what came through" "$(k exec outside -- sh -c "prun --dvm $X-head -n 1 cat < /tmp/in | sha256sum")" "$sum"
    equal "nodes seen" "$(k exec outside -- prun --dvm "$X-head" -n 4 --map-by node mpi_hello | awk '{print $NF}' | sort -u | wc -w)" 4
    run k exec outside -- prun --dvm "$X-head" -n 2 sh -c 'exit 7'
    equal "exit code" "$status" 7
    equal "members seen" "$(k exec outside -- pstat --dvm "$X-head" --json | jq '.members | length')" 5
    k delete pod outside --now > /dev/null
}

runs_one() { equal "the jobs that run" "$(pstat | jq '[.jobs[] | select(.state == "RUNNING" or .state == "REGISTERED")] | length')" 1; }
head_answers() { [ -n "$(pstat | jq -r .incarnation)" ]; }

@test "jobs: the job of a pod outside that has reached the head goes on when the head's container is killed" {
    local restarts stop
    stop=/tmp/stop.$(draw_seed)
    outsider user
    background ring kubectl --namespace "$NS" exec outside -- prun --dvm "$X-head" -n 4 --map-by node mpi_ring 10 "$stop"
    eventually 30 "the job runs" runs_one
    restarts=$(restarts_of "$X-head-0")
    kill_from_outside "$X-head-0" dvm-spawner
    eventually 90 "its container is started again" has_restarted "$X-head-0" "$restarts"
    eventually 60 "the next head answers" head_answers
    for v in 1 2 3 4; do k exec "$X-$v" -- touch "$stop"; done
    ended ring 60 || { said ring; fail "the job ended badly"; }
    said ring | grep -qE '^ring: size=4 rounds=[0-9]+ token=[0-9]+ ok$' || fail "its output: $(said ring)"
    settled 4
    k delete pod outside --now > /dev/null
}

@test "jobs: a pod outside with a daemon's certificate is refused in one line" {
    outsider member
    run k exec outside -- prun --dvm "$X-head" -n 1 true
    equal "exit code" "$status" 125
    [[ $output == *"prun: "*"is of role member"* ]]
    k delete pod outside --now > /dev/null
}
