#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# kubectl delete leaves nothing: no object of any namespaced kind, no process on any node.
load ../lib

# All objects of the namespace, without Events and other records.
everything() {
    kubectl api-resources --verbs=list --namespaced -o name | grep -vE '^events(\.|$)|^pods\.metrics' | sort |
        xargs -I{} timeout --kill-after=10 60 kubectl --namespace "$NS" get {} --ignore-not-found -o name 2> /dev/null | sort
}
# Processes of the daemons of this namespace and of their ranks, found by their environment.
processes() {
    local node
    for node in $(provider nodes); do
        # shellcheck disable=SC2016  # expanded on the node
        on_node "$node" sh -c 'for e in $(grep -lsxzF "POD_NAMESPACE=$1" /proc/[0-9]*/environ); do cat "${e%environ}comm"; done 2> /dev/null || :' of "$NS"
    done
}
is_as_before() { equal "what is there" "$(everything)" "$1"; }
no_processes() { equal "processes" "$(processes | sort | uniq -c)" ""; }

@test "delete: no object and no process is left, even of a DVM that runs jobs" {
    local before
    k delete dvm --all --cascade=foreground --timeout=90s
    eventually 60 "no process is left" no_processes
    before=$(everything)
    cluster_yaml "$X" 3 | k apply -f -
    settled 3
    hold job 1,2,3
    [[ $(processes) == *prted*cat* ]] || fail "processes are not found: $(processes)"
    [ "$(everything)" != "$before" ]
    k delete dvm "$X" --timeout=60s
    eventually 90 "nothing is left" is_as_before "$before"
    eventually 30 "no process is left" no_processes
}
