#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The chart in a namespace of its own: install, upgrade and uninstall, while a DVM runs.
load ../lib

setup_file() { make_namespace "$NS-helm"; }
teardown_file() { remove_namespace "$NS-helm"; }
setup() {
    NS=$NS-helm
    remember_start
}

@test "helm: lint has no finding" {
    run helm lint "$ROOT/charts/dvm-operator"
    [ "$status" = 0 ]
    [[ $output != *WARNING* && $output != *ERROR* ]]
}

@test "helm: install, and a DVM is Available; the operator sees its own namespace only" {
    install_chart "$NS"
    cluster_yaml "$X" 1 | k apply -f -
    settled 1
    equal "list of another namespace" "$(kubectl auth can-i list dvm -n default --as "system:serviceaccount:$NS:dvm-operator" || :)" no
    equal "list of Secrets" "$(k auth can-i list secrets --as "system:serviceaccount:$NS:dvm-operator" || :)" no
}

@test "helm: test runs a job in a DVM of its own, and removes both" {
    run helm test dvm-operator --namespace "$NS" --timeout 170s
    [ "$status" = 0 ] || fail "$output"
    eventually 60 "the test's DVM is gone" no_test_dvm
}
no_test_dvm() { equal "DvmClusters" "$(k get dvm -o name)" "dvmcluster.dvm.openpmix.io/$X"; }

@test "helm: upgrade replaces the operator, the DVM and its jobs continue" {
    local before pod
    before=$(member_uids) pod=$(operator_pod)
    hold job 1
    install_chart "$NS" --set logLevel=debug
    [ "$(operator_pod)" != "$pod" ]
    scale 2
    settled 2
    equal "the first member's pod" "$(member_uids | cut -d' ' -f1)" "$before"
    released job
}

images_of() { k get pods -l "dvm.openpmix.io/cluster=other" -o json | jq -r '[.items[].spec.containers[0].image] | unique | join(" ")'; }
is_outdated() { [[ $(condition Progressing reason other) = OutdatedPods && $(condition Progressing message other) == *other-1* ]] || fail "$(condition Progressing message other)"; }
without_image() { cluster_yaml other 1 | sed '/^  image:/d'; }

@test "helm: upgrade to another daemon image replaces no running pod; a user deletes those that are named" {
    local before new=docker.io/library/dvm-daemon:dev
    without_image | k apply -f -
    settled 1 other
    before=$(member_uids other)
    hold job 1 other-head-0
    install_chart "$NS" --set daemonImage="$new"
    eventually 60 "the outdated pods are named" is_outdated
    equal "the member's pod" "$(member_uids other)" "$before"
    equal "the images" "$(images_of)" dvm-daemon:dev
    equal "Ready" "$(condition Ready status other)" True
    released job
    k delete pod other-1 other-head-0 --timeout=60s
    settled 1 other
    equal "the images" "$(images_of)" "$new"
    equal "Progressing" "$(condition Progressing reason other)" UpToDate
    k delete dvm other --timeout=60s
}

@test "helm: uninstall leaves the DVM running, and a new install manages it" {
    local before
    before=$(member_uids)
    helm uninstall dvm-operator --namespace "$NS" --wait --timeout 1m
    eventually 30 "the operator's pod is gone" no_operator
    mpi_over 2
    install_chart "$NS"
    settled 2
    scale 1
    settled 1
    equal "the first member's pod" "$(member_uids)" "${before%% *}"
}
no_operator() { equal "pods of the operator" "$(k get pods -l app.kubernetes.io/name=dvm-operator -o name)" ""; }

lease() { k get lease dvm-operator -o jsonpath="{.spec.$1}"; }
own_shrinks() { pstat | jq '[.campaigns[] | select(.id | startswith("shrink-"))] | length'; }
leads_not() { [[ $(lease holderIdentity) != @(|"$1") ]] || fail "the leader is $(lease holderIdentity)"; }

@test "C18: the leader of two operators is killed while a job holds a campaign open; the other one continues it" {
    local first id known
    install_chart "$NS" --set highAvailability=true
    have 2
    known=$(own_shrinks)
    hold job 2
    first=$(lease holderIdentity)
    scale 1
    eventually 20 "the campaign drains" has_phase Draining
    id=$(dvm .status.campaign.id)
    k delete pod "$first" --force --grace-period=0 # it cannot release its Lease
    eventually 60 "the other operator has the Lease" leads_not "$first"
    equal "the campaign" "$(dvm .status.campaign.id)" "$id"
    released job
    settled 1
    equal "the last campaign" "$(dvm '.status.lastCampaign | .id + " " + .phase')" "$id Complete"
    equal "shrinks of the operator" "$(own_shrinks)" $((known + 1))
}
