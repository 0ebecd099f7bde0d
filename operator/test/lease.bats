#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Two operators that share a Lease, against a real kube-apiserver and etcd. Their users differ, so that the server's
# audit log shows who has written what. Each test asserts that objects of others were not touched.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() {
    new_namespace
    bystanders
}
teardown() { end_programs; }

# lead NAME SECONDS: starts an operator that waits for the Lease "dvm"; its user and identity are operator-NAME.
lead() { start_operator "$1" --context "operator-$1" --lease "$ns/dvm" --identity "operator-$1" --lease-duration "$2"; }
signal() { kill "-$2" "$(cat "$dir/$1.pid")"; }
holder_is() { becomes '{.spec.holderIdentity}' "$1" lease/dvm; }
lease() { kn get lease dvm -o jsonpath="{.spec.$1}"; }
logged() { grep -q "$2" "$dir/$1.log"; }
# writes NAME: the number of requests of operator-NAME that change something other than a Lease.
writes() {
    jq -r --arg ns "$ns" --arg user "operator-$1" \
        'select(.user.username == $user and .objectRef.namespace == $ns and .objectRef.resource != "leases") | .auditID' \
        "$API_DIR/audit.log" | wc -l
}
# with_head REPLICAS: as running() does, with the operator that lib.bash looks at.
with_head() {
    make_cluster "$1"
    start_head
    becomes '{.status.readyReplicas}' "$1"
}
# The waits of lib.bash need to know that an operator runs.
watch_over() { ln -sf "$1.pid" "$dir/operator.pid"; }

@test "a wrong duration of the Lease and a namespace given twice are refused" {
    run timeout --kill-after=10 60 "$operator" --lease x --lease-duration 1
    [ "$status" -eq 2 ]
    [[ $output == *"--lease-duration must be 3 to 3600"* ]]
    run timeout --kill-after=10 60 "$operator" --namespace a --namespace a
    [ "$status" -eq 2 ]
    [[ $output == *"--namespace a is given twice"* ]]
}

@test "the Lease has the fields that other clients read" {
    watch_over a
    lead a 15
    holder_is operator-a
    [ "$(lease leaseDurationSeconds)" = 15 ]
    [ "$(lease leaseTransitions)" = 0 ]
    micro='^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$'
    [[ $(lease acquireTime) =~ $micro ]]
    [[ $(lease renewTime) =~ $micro ]]
    acquired=$(lease acquireTime)
    renewed() { [[ $(lease renewTime) > $acquired ]]; }
    until_true 60 renewed
    [ "$(lease acquireTime)" = "$acquired" ]
    [ "$(lease leaseTransitions)" = 0 ]
}

@test "an operator that waits for the Lease changes nothing and is ready" {
    kn create -f - >&2 << END
{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "dvm"},
 "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600, "renewTime": "2024-01-01T00:00:00.000000Z"}}
END
    watch_over a
    port=$((head_port - 1))
    start_operator a --context operator-a --lease "$ns/dvm" --identity operator-a --metrics-addr "127.0.0.1:$port"
    metric_is() { curl --noproxy '*' -sf -m 10 "http://127.0.0.1:$port/metrics" | grep -qx "$1"; }
    until_true 60 metric_is 'dvm_operator_leader 0'
    make_cluster 2
    read_twice() { metric_is 'dvm_operator_kube_requests_total{method="GET",status="2xx"} [2-9]'; }
    until_true 60 read_twice
    curl --noproxy '*' -sf -m 10 "http://127.0.0.1:$port/readyz"
    [ "$(writes a)" -eq 0 ]
    [ "$(lease holderIdentity)" = somebody ]
    kn patch lease dvm --type merge -p '{"spec": {"holderIdentity": ""}}' >&2
    appears sts/x
    until_true 60 metric_is 'dvm_operator_leader 1'
}

@test "a leader that was stopped past its Lease is replaced, and writes nothing when it continues" {
    watch_over a
    lead a 10
    with_head 2
    lead b 10
    until_true 60 logged b "waiting for the Lease"
    holder_is operator-a
    [ "$(writes b)" -eq 0 ]
    signal a STOP
    before=$(writes a)
    [ "$before" -gt 0 ]
    watch_over b
    holder_is operator-b
    [ "$(lease leaseTransitions)" = 1 ]
    order 'hold?on=1'
    scale 1
    becomes '{.status.campaign.phase}' Draining
    signal a CONT
    until_true 60 logged a "the Lease is lost"
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.phase}' Complete
    scale 3
    becomes '{.status.readyReplicas}' 3
    condition Progressing UpToDate
    a_pass_is_done
    replicas_are 3
    [ "$(lease holderIdentity)" = operator-b ]
    [ "$(writes a)" -eq "$before" ]
    [ "$(writes b)" -le 30 ]
    [ "$(count 'PUT campaign')" -eq 1 ]
}

@test "a clean stop releases the Lease, and the other operator continues at once" {
    watch_over a
    lead a 3600 # only a release can end it in time
    with_head 2
    lead b 3600
    until_true 60 logged b "waiting for the Lease"
    order 'hold?on=1'
    scale 1
    becomes '{.status.campaign.phase}' Draining
    rm "$dir/operator.pid"
    [ "$(writes b)" -eq 0 ]
    end_operator TERM a
    [ "$ended" -eq 0 ]
    watch_over b
    holder_is operator-b
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.phase}' Complete
    becomes '{.spec.replicas}' 1 sts/x
    condition Progressing UpToDate
    [ "$(writes b)" -le 20 ]
    [ "$(count 'PUT campaign')" -eq 1 ]
}

@test "a leader that cannot renew its Lease stops, and works again when the API server is back" {
    watch_over a
    lead a 10
    with_head 2
    "$api" server-kill "$API_DIR" 0
    until_true 60 logged a "the Lease is lost"
    "$api" server-start "$API_DIR" 0 >&2
    scale 3
    becomes '{.spec.replicas}' 3 sts/x
    [ "$(lease holderIdentity)" = operator-a ]
    [ "$(lease leaseTransitions)" = 0 ]
}

@test "the rights of the chart are sufficient to take, renew and release the Lease" {
    as_chart_says
    start_operator operator --lease "$ns/r-dvm-operator" --identity pod-1
    becomes '{.spec.holderIdentity}' pod-1 lease/r-dvm-operator
    make_cluster 1
    appears sts/x
    end_operator TERM
    [ "$ended" -eq 0 ]
    [ -z "$(kn get lease r-dvm-operator -o jsonpath='{.spec.holderIdentity}')" ]
    run grep -i forbidden "$dir/operator.log"
    [ "$status" -eq 1 ]
}
