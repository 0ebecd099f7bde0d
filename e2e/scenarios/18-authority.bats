#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The certificate authority is replaced while an MPI job runs: the job goes on, no pod is replaced, new daemons join.
load ../lib

setup() {
    # kubectl's websockets do not last longer than a minute without input.
    export KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false
    have 3
    remember_start
}

field_is() { equal "$1" "$(dvm "$1")" "$2"; }
marked() { [ -n "$(k get secret "$X-ca" -o jsonpath="{.metadata.annotations.dvm\.openpmix\.io/$1}")" ]; }
# The kubelet looks at the Secrets of a pod that changes, not only once in a while.
pods_read_secrets() { k annotate pods -l "dvm.openpmix.io/cluster=$X" "read=$1" --overwrite > /dev/null; }
authority() { k get secret "$X-ca" -o jsonpath='{.data.tls\.crt}' | base64 -d | openssl x509 -noout -fingerprint; }
all_pods() { k get pods -l "dvm.openpmix.io/cluster=$X" -o jsonpath='{range .items[*]}{.metadata.uid}{.status.containerStatuses[0].restartCount} {end}'; }

@test "a new authority under an MPI job: the job goes on, no pod is replaced, and daemons of the new one join" {
    local pods before since
    before=$(authority) pods=$(all_pods) since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    hold span 1,2,3
    k patch dvm "$X" --type merge --patch '{"spec": {"security": {"authorityRevision": 1, "overlapSeconds": 40}}}'
    eventually 60 "all Secrets trust both authorities" marked trusted-since
    pods_read_secrets trusted
    eventually 120 "all Secrets have certificates of the new authority" marked issued-since
    pods_read_secrets issued
    eventually 120 "the old authority is forgotten" field_is .status.authorityRevision 1
    pods_read_secrets forgotten
    [ "$(authority)" != "$before" ] || fail "the authority is the old one"
    released span
    equal "pods and their restarts" "$(all_pods)" "$pods"
    scale 4
    settled 4
    mpi_over 4
    scale 3
    settled 3
    equal "losses since $since" "$(k get events -o json | jq --arg since "$since" '[.items[] | select((.reason == "MemberLost"
        or .reason == "HeadUnreachable" or .reason == "JobEnded") and (.lastTimestamp // .eventTime) > $since)] | length')" 0
}
