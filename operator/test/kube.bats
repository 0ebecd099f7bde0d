#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The client of the Kubernetes API and its cache against a real kube-apiserver and etcd.

repo=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
kubecheck=${KUBECHECK:-$repo/build/asan/operator/cache/test/kubecheck} # KUBECHECK: a ready-made one
api=$repo/operator/test/apiserver.sh
MAPS=/api/v1/namespaces/default/configmaps

setup_file() {
    export CLUSTER_DIR=$BATS_FILE_TMPDIR/apiserver
    if ! "$api" built; then return 0; fi
    [ -n "${KUBECHECK:-}" ] || make -s -C "$repo" build/asan/operator/cache/test/kubecheck >&2
    "$api" start "$CLUSTER_DIR" >&2
}

teardown_file() {
    if "$api" built; then "$api" stop "$CLUSTER_DIR"; fi
}

setup() {
    "$api" built || skip "kube-apiserver not built"
    export KUBECONFIG=$CLUSTER_DIR/kubeconfig
    follower=
}

teardown() {
    if [ -n "${follower:-}" ]; then kill -KILL "$follower" 2> /dev/null || true; fi
}

request() { timeout --kill-after=10 60 "$kubecheck" request "$@"; }

# create NAME VALUE [LABEL]: a ConfigMap in the namespace default.
create() {
    request POST "$MAPS" application/json \
        "{\"metadata\": {\"name\": \"$1\", \"labels\": {\"test\": \"${3:-none}\"}}, \"data\": {\"value\": \"$2\"}}"
}

change() { request PATCH "$MAPS/$1" application/merge-patch+json "{\"data\": {\"value\": \"$2\"}}"; }

version_of() { request GET "$MAPS/$1" | sed -n 's/.*"resourceVersion":"\([0-9]*\)".*/\1/p'; }

# follow PATH [SELECTOR]: in the background; expect reads its output. FOLLOW=follow-metadata: the metadata alone.
follow() {
    exec {lines}< <(exec "$kubecheck" "${FOLLOW:-follow}" "$@" 3>&- 2> "$BATS_TEST_TMPDIR/follow.log")
    follower=$!
}

# expect TEXT: reads until a line has this text.
expect() {
    local seen=
    while read -r -t 90 -u "$lines" line; do
        seen+=$line$'\n'
        if [[ $line == *"$1"* ]]; then return 0; fi
    done
    printf 'no line with "%s", but:\n%s' "$1" "$seen"
    cat "$BATS_TEST_TMPDIR/follow.log"
    return 1
}

# stop_following: SIGTERM; expect may read the last lines.
stop_following() { kill -TERM "$follower"; }

@test "a token and a client certificate are accepted, a request without either is refused" {
    [[ $(request GET /api/v1/namespaces/default) == "200 "* ]]
    [[ $(KUBE_CONTEXT=cert request GET /api/v1/namespaces/default) == "200 "* ]]
    [[ $(KUBE_CONTEXT=nobody request GET /api/v1/namespaces/default) == "401 "*Unauthorized* ]]
}

@test "a server of another authority is refused" {
    run request GET /api/v1/namespaces/default
    [[ $output == "200 "* ]]
    export KUBE_CONTEXT=stranger
    run request GET /api/v1/namespaces/default
    [[ $output == "0 "*"SSL certificate problem"* ]]
}

@test "a refusal carries the message of the server" {
    [[ $(request GET /api/v1/namespaces/nowhere) == "404 "*'namespaces "nowhere" not found'* ]]
    [[ $(create Not_A_Name x) == "422 "*"Invalid value"* ]]
    [[ $(request PATCH "$MAPS/x" application/json '{}') == "415 "* ]]
}

@test "an object is created once, changed and deleted" {
    [[ $(create once 1) == "201 "*'"value":"1"'* ]]
    [[ $(create once 2) == "409 "*"already exists"* ]]
    [[ $(change once 3) == "200 "*'"value":"3"'* ]]
    [[ $(request DELETE "$MAPS/once") == "200 "* ]]
    [[ $(change once 4) == "404 "* ]]
}

@test "a write with an old resourceVersion is a conflict and changes nothing" {
    create stale 1
    old=$(version_of stale)
    change stale 2
    body="{\"metadata\": {\"name\": \"stale\", \"resourceVersion\": \"$old\"}, \"data\": {\"value\": \"3\"}}"
    [[ $(request PUT "$MAPS/stale" application/json "$body") == "409 "*"has been modified"* ]]
    [[ $(request GET "$MAPS/stale") == *'"value":"2"'* ]]
}

@test "server-side apply creates, repeats without a change, and conflicts with another manager" {
    apply() {
        request PATCH "$MAPS/applied?fieldManager=$1" application/apply-patch+yaml \
            "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"applied\"}, \"data\": {\"value\": \"$2\"}}"
    }
    [[ $(apply one 1) == "201 "* ]]
    before=$(version_of applied)
    [[ $(apply one 1) == "200 "* ]]
    [ "$(version_of applied)" = "$before" ]
    [[ $(apply two 2) == "409 "*'conflict with "one"'* ]]
}

@test "seven hundred requests at once are all answered, and a list has all objects" {
    request POST /api/v1/namespaces application/json '{"metadata": {"name": "many"}}'
    [ "$(timeout --kill-after=10 120 "$kubecheck" fill /api/v1/namespaces/many/configmaps 700)" = "failed 0" ]
    follow /api/v1/namespaces/many/configmaps
    expect "synced 700"
}

@test "a watch reports created, changed and deleted objects" {
    create early 1
    follow "$MAPS"
    expect "+default/early ConfigMap 1"
    expect synced
    create watched 1
    expect "+default/watched ConfigMap 1"
    change watched 2
    expect "+default/watched ConfigMap 2"
    request DELETE "$MAPS/watched"
    expect "-default/watched ConfigMap 2"
}

@test "a watch of metadata alone gets no data, also of a collection that was empty" {
    local maps=/api/v1/namespaces/bare/configmaps body='{"metadata": {"name": "x"}, "data": {"value": "1"}}'
    request POST /api/v1/namespaces application/json '{"metadata": {"name": "bare"}}'
    FOLLOW=follow-metadata follow "$maps"
    expect "synced 0"
    request POST "$maps" application/json "$body"
    expect "+bare/x PartialObjectMetadata"
    [ "$line" = "+bare/x PartialObjectMetadata" ]
    stop_following
    expect "count 1"
    FOLLOW=follow-metadata follow "$maps"
    expect "+bare/x PartialObjectMetadata"
    [ "$line" = "+bare/x PartialObjectMetadata" ]
    request DELETE "$maps/x"
    expect "-bare/x"
}

@test "an object that leaves the selection is reported as deleted" {
    create chosen 1 yes
    create other 1 no
    follow "$MAPS" "test in (yes)"
    expect "+default/chosen"
    expect "synced 1"
    request PATCH "$MAPS/chosen" application/merge-patch+json '{"metadata": {"labels": {"test": "no"}}}'
    expect "-default/chosen"
}

@test "a watch resumes without a new list after the server was stopped" {
    create before 1
    follow "$MAPS"
    expect synced
    "$api" server-kill "$CLUSTER_DIR" 0
    expect lost
    "$api" server-start "$CLUSTER_DIR" 0
    expect connected
    create after 1
    expect "+default/after ConfigMap 1"
    stop_following
    expect "relists 0"
}

@test "after a compaction the collection is listed again and deletions are reported" {
    create gone 1
    create kept 1
    follow "$MAPS"
    expect synced
    "$api" server-kill "$CLUSTER_DIR" 0
    expect lost
    second=$("$api" server-start "$CLUSTER_DIR" 1)
    (
        export "${second?}"
        request DELETE "$MAPS/gone"
        change kept 2
        create new 1
    )
    "$api" compact "$CLUSTER_DIR"
    "$api" server-kill "$CLUSTER_DIR" 1
    "$api" server-start "$CLUSTER_DIR" 0
    expect "+default/kept ConfigMap 2"
    expect "-default/gone"
    stop_following
    expect "relists 1"
}
