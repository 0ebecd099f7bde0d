#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Tests of the cluster that the kind provider creates.

setup_file() {
    here=$(cd "$(dirname "$BATS_TEST_FILENAME")" && pwd)
    export PROVIDER=$here/../provider.sh
    unset DOCKER_HOST
    env PROVIDER=kind "$PROVIDER" up
    eval "$(env PROVIDER=kind "$PROVIDER" env)"
    "$here/../build-image.sh" "$here/Dockerfile" "$here" dvm-e2e/provider-test:v1
    env PROVIDER=kind "$PROVIDER" load dvm-e2e/provider-test:v1
    kubectl apply -f "$here/pods.yaml"
    kubectl -n provider-test rollout status statefulset/web --timeout=90s
}

teardown_file() { kubectl delete namespace provider-test --timeout=60s; }
provider() { env PROVIDER=kind "$PROVIDER" "$@"; }
in_pod() { kubectl -n provider-test exec "$1" -- "${@:2}"; }

@test "four nodes are Ready" {
    [ "$(kubectl get nodes --no-headers | awk '$2 == "Ready"' | wc -l)" = 4 ]
    [ "$(provider nodes | wc -l)" = 4 ]
}

@test "a second up changes nothing within two seconds" {
    SECONDS=0
    run provider up
    [ "$status" = 0 ]
    [[ $output == *"up already"* ]]
    [ "$SECONDS" -le 2 ]
}

@test "pods run on three nodes and reach each other by address" {
    [ "$(kubectl -n provider-test get pods -o jsonpath='{.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l)" = 3 ]
    local address
    for address in $(kubectl -n provider-test get pods -o jsonpath='{.items[*].status.podIP}'); do
        in_pod web-0 wget -qO- "http://$address:8080/"
    done
}

@test "a service answers by its name, with more than one of its pods" {
    run in_pod web-0 sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do wget -qO- http://web.provider-test.svc.cluster.local/; done'
    [ "$status" = 0 ]
    [ "$(sort -u <<< "$output" | wc -l)" -ge 2 ]
}

@test "each pod of a stateful set has its own name" {
    local i
    for i in 0 1 2; do
        [ "$(in_pod web-0 wget -qO- "http://web-$i.each.provider-test.svc.cluster.local:8080/")" = "web-$i" ]
    done
}

@test "a namespace of the restricted level refuses a privileged pod" {
    run kubectl -n provider-test run bad --image=dvm-e2e/provider-test:v1 --privileged
    [ "$status" != 0 ]
    [[ $output == *"violates PodSecurity"* ]]
}

@test "the audit log names the scaling of a stateful set" {
    kubectl -n provider-test scale statefulset/web --replicas=2
    provider exec-node "$(provider nodes | grep control-plane)" grep -q '"subresource":"scale"' /var/log/kubernetes/audit.log
    kubectl -n provider-test scale statefulset/web --replicas=3
    kubectl -n provider-test rollout status statefulset/web --timeout=60s
}

@test "a claim is bound to a volume that a pod can write" {
    kubectl apply -f "$(dirname "$BATS_TEST_FILENAME")/volume.yaml"
    kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/provider-test-writer --timeout=60s
    kubectl get pvc provider-test-data -o jsonpath='{.status.phase}' | grep -qx Bound
    kubectl delete --wait=false -f "$(dirname "$BATS_TEST_FILENAME")/volume.yaml"
}

@test "a connection of a pod to another machine is refused at once" {
    [ "$("$(dirname "$PROVIDER")/kind/engine.sh" choice)" = own ] || skip "the engine is the user's own"
    run in_pod web-0 timeout 5 bash -c '< /dev/tcp/198.51.100.1/80' # an address that is nobody's
    [ "$status" != 0 ]
    [[ $output == *"Connection refused"* ]]
}
