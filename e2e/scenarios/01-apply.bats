#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl apply creates a DVM in a namespace that enforces the restricted level. Its image has only our programs.
load ../lib

@test "apply: the resource becomes Available with four members" {
    cluster_yaml "$X" 4 | k apply -f -
    k wait --for=condition=Available "dvm/$X" --timeout=120s
    settled 4
    k wait --for=condition=Ready pod -l "dvm.openpmix.io/cluster=$X" --timeout=60s
    equal replicas "$(replicas_of "$X")" 4
    equal "states of the daemons" "$(pstat | jq -r '[.members[].state] | unique | join(" ")')" wired
    equal vpids "$(pstat | jq -c '[.members[].vpid]')" '[0,1,2,3,4]'
}

@test "apply: a repeated apply changes nothing" {
    local before
    have 4
    before=$(dvm '[.metadata.generation, .metadata.resourceVersion]'; member_uids)
    cluster_yaml "$X" 4 | k apply -f -
    settled 4
    equal "generation, version and pods" "$(dvm '[.metadata.generation, .metadata.resourceVersion]'; member_uids)" "$before"
}

@test "apply: kubectl get shows the sizes and the state" {
    run k get dvm "$X"
    [[ ${lines[0]} =~ NAME.*DESIRED.*READY.*AVAILABLE.*STATE ]]
    [[ ${lines[1]} =~ ^x\ +4\ +4\ +True\ +UpToDate ]]
    run k describe dvm "$X"
    [[ $output == *Events:*Available* ]]
}

@test "apply: the namespace refuses a privileged pod and accepts the pods of the operator" {
    run k run bad --image=dvm-daemon:dev --privileged
    [ "$status" != 0 ]
    [[ $output == *'violates PodSecurity "restricted'* ]]
    equal "user, root and token of the daemons" "$(k get pods -l "dvm.openpmix.io/cluster=$X" -o json | jq -c '[.items[].spec |
        [.securityContext.runAsUser, .containers[0].securityContext.readOnlyRootFilesystem, .automountServiceAccountToken]] | unique')" \
        '[[65532,true,false]]'
    equal "the container that kubectl takes" "$(k get pods -l "dvm.openpmix.io/cluster=$X" -o json |
        jq -r '[.items[].metadata.annotations["kubectl.kubernetes.io/default-container"]] | unique | join(" ")')" prted
    run in_head sh -c 'echo x > /usr/local/bin/x'
    [ "$status" != 0 ]
    [[ $output == *"Read-only file system"* ]]
}

@test "apply: the image launches with our programs only" {
    run in_head ls /usr/local/bin
    equal "programs in /usr/local/bin" "$(xargs <<< "$output")" "dvm-connect dvm-spawner dvm-stage prte prted prun pstat pterm"
    # shellcheck disable=SC2016  # expanded in the pod
    run in_head sh -c 'for p in dvm-connect dvm-spawner dvm-stage prte prted prun pterm pstat; do readlink -f "$(command -v "$p")"; done | xargs -n1 dirname | sort -u'
    equal "the folder they are found in" "$output" /usr/local/bin
    run in_head sh -c 'find / -xdev \( -type f -o -type l \) \( -name "mpirun*" -o -name "mpiexec*" -o -name "orte*" -o -name "prterun*" -o -name prte \
        -o -name prted -o -name prun -o -name pterm -o -name "ssh*" -o -name rsh \) -perm /111 ! -path "/usr/local/bin/*" 2> /dev/null || :'
    equal "foreign launchers" "$output" ""
}

@test "apply: the first process of a pod is prted, and it reaps" {
    local zombies
    equal "process 1" "$(in_head cat /proc/1/comm)" dvm-spawner
    k exec "$X-1" -- sh -c 'sh -c "sh -c : & exec true" & wait'
    # shellcheck disable=SC2016  # expanded in the pod
    zombies='for s in /proc/[0-9]*/stat; do read -r line < "$s" && case ${line##*) } in Z*) exit 1 ;; esac; done 2> /dev/null; exit 0'
    eventually 10 "no zombie is left" k exec "$X-1" -- bash -c "$zombies"
}
