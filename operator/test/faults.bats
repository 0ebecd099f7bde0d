#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator against a real kube-apiserver and etcd through a proxy that makes its requests fail (faultproxy.c). Each
# test asserts the end state, the number of requests, and that objects of others were not touched.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by or for lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }

setup() {
    new_namespace
    start_proxy
    bystanders > "$dir/bystanders"
}

teardown() {
    [ "${BATS_TEST_COMPLETED:-}" != 1 ] || untouched
    end_programs
}

# Objects that look like those of the cluster x but belong to nobody; the operator must leave them alone.
bystanders() {
    kn apply -f - >&2 << 'END'
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "theirs", "labels": {"dvm.openpmix.io/cluster": "x"}},
  "spec": {"ports": [{"port": 80}]}},
 {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "theirs", "labels": {"dvm.openpmix.io/cluster": "x"}},
  "spec": {"replicas": 3, "serviceName": "theirs", "selector": {"matchLabels": {"a": "b"}},
           "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}]}
END
    versions_of_bystanders
}
versions_of_bystanders() { kn get service/theirs statefulset/theirs -o jsonpath='{.items[*].metadata.resourceVersion}'; }
untouched() { [ "$(versions_of_bystanders)" = "$(cat "$dir/bystanders")" ]; }

plain() { curl --noproxy '*' -s -m 10 "http://127.0.0.1:$plain_port/$1"; }
with_plain_port() {
    plain_port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    metrics_addr=127.0.0.1:$plain_port
}
ready() { [[ $(plain readyz) == ok* ]]; }
not_ready() { [[ $(plain readyz) == "the API server has been silent for too long"* ]]; }

@test "silent watch: a watch on which no byte arrives is opened anew, and a change is not missed" {
    operator_args=(--watch-silence 3)
    running 2
    quiet
    proxy silent
    proxy forget
    scale 4
    becomes '{.spec.replicas}' 4 sts/x
    becomes '{.status.readyReplicas}' 4
    # Each of the five watches was opened anew at least once, and none of them in a loop.
    [ "$(requests 'dvmclusters\?watch=1')" -ge 1 ]
    [ "$(requests 'watch=1')" -le 100 ]
    [ "$(requests '^(PUT|PATCH|POST)')" -le 12 ]
}

@test "silent API server: the plain port says so, and that it is over" {
    operator_args=(--watch-silence 2)
    with_plain_port
    running 1
    until_true 30 ready
    [[ $(plain metrics) == *'dvm_operator_watch_age_seconds{collection="pods"} '* ]]
    [[ $(plain readyz) == *"watch statefulsets: heard "*" s ago"* ]]
    proxy 'fault?kind=hang&match=watch=1'
    proxy silent
    until_true 60 not_ready
    proxy mend
    until_true 60 ready
}

@test "stale 409: after a conflict the object is read, and the next try succeeds" {
    running 2
    quiet
    proxy 'silent?on=2'
    kn annotate dvm x a=b >&2
    kn label service x-head c=d >&2
    proxy forget
    first=$(status_of '{.status.size.sequence}')
    order 'lower?n=1'
    later() { [ "$(status_of '{.status.size.sequence}')" -gt "$first" ]; }
    until_true 30 later
    [ "$(status_of '{.metadata.annotations.a}')" = b ]
    quiet
    [ "$(requests 'PUT .*/dvmclusters/x/status')" -le 5 ]
    [ "$(requests 'GET .*/dvmclusters/x ')" -eq 1 ]
}
