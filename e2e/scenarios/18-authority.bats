#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The certificate authority is replaced, or Secrets are lost, while an MPI job runs: the job goes on, no pod is replaced,
# new daemons join.
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
nobody_lost() { # SINCE
    equal "losses since $1" "$(k get events -o json | jq --arg since "$1" '[.items[] | select((.reason == "MemberLost"
        or .reason == "HeadUnreachable" or .reason == "JobEnded") and (.lastTimestamp // .eventTime) > $since)] | length')" 0
}

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
    nobody_lost "$since"
}

is_remade() { [ "$(k get secret "$X-$1" -o jsonpath='{.metadata.uid}')" != "$2" ]; } # ROLE UID
trusted_by_members() { equal "authorities" "$(k get secret "$X-member" -o jsonpath='{.data.ca\.crt}' | base64 -d | grep -c BEGIN)" "$1"; }

@test "authority and members' Secret are deleted under an MPI job: both are made anew, the job goes on, no pod is replaced" {
    local before pods since uid
    k patch dvm "$X" --type merge --patch '{"spec": {"security": {"overlapSeconds": 40}}}'
    before=$(authority) pods=$(all_pods) since=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    uid=$(k get secret "$X-member" -o jsonpath='{.metadata.uid}')
    hold span 1,2,3
    k delete secret "$X-ca" "$X-member"
    scale 4 # a pod that waits for its volumes has the Secrets read at once, not within ten minutes
    eventually 60 "the members' Secret is another one" is_remade member "$uid"
    eventually 60 "all Secrets trust the new authority" marked trusted-since
    pods_read_secrets lost
    eventually 120 "all Secrets have certificates of the new authority" marked issued-since
    pods_read_secrets issued-again
    eventually 120 "only the new authority is trusted" trusted_by_members 1
    pods_read_secrets forgotten-again
    [ "$(authority)" != "$before" ] || fail "the authority is the old one"
    settled 4
    released span
    mpi_over 4
    scale 3
    settled 3
    equal "pods and their restarts" "$(all_pods)" "$pods"
    nobody_lost "$since"
}
