#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The daemon's ports under crowds of strangers, who connect and show no credential: probes, the operator, tools and
# daemons are served all the same.

# shellcheck disable=SC2154,SC2034  # set by lib.bash

bats_require_minimum_version 1.5.0
load lib

crowd=${CROWD:-$repo/build/probe/crowd}

setup_file() {
    build_all
    [ -n "${BIN:-}" ] || make -s -C "$repo" build/bin/dvm-connect >&2
    [ -n "${CROWD:-}" ] || make -s -C "$repo" build/probe/crowd >&2
}
setup() {
    new_dvm_dir
    crowds=()
}
teardown() {
    disperse
    end_dvm
}

port() { jq ".$2" "$DVM_SESSION_DIR/$1/ports.json"; }

# gather VPID PORT COUNT SAYS [SOURCES]: a crowd at this port. Returns when each of it has been connected.
gather() {
    local up says=$BATS_TEST_TMPDIR/crowd.$1.$2
    mkfifo "$says"
    "$crowd" "$(port "$1" "$2")" "${@:3}" > "$says" 3>&- &
    crowds+=($!)
    exec {fd}< "$says"
    rm "$says"
    read -r -t "$limit" -u "$fd" up
    [ "$up" = up ]
}

# The crowds say how many they were.
disperse() {
    [ ${#crowds[@]} -eq 0 ] || kill "${crowds[@]}" 2> /dev/null || true
    wait "${crowds[@]}" || true
    crowds=()
}

# probe VPID: as the kubelet does, a connection for each.
probe() { curl -sS -m "$limit" -o "$BATS_TEST_TMPDIR/said" -w '%{http_code}' "http://127.0.0.1:$(port "$1" plain)/$2"; }

# as ROLE METHOD PATH [CURL-OPTION...]: a call of the control API. The head's certificate has its name, not an address.
as() {
    local tls=$DVM_SESSION_DIR/tls/$1
    curl -fsS -m "$limit" --cacert "$tls/ca.crt" --cert "$tls/tls.crt" --key "$tls/tls.key" -X "$2" "${@:4}" \
        "https://127.0.0.1:$(port 0 control)$3"
}

probes_are_answered() {
    local i vpid
    for i in {1..10}; do
        for vpid in "$@"; do
            [ "$(probe "$vpid" readyz)" = 200 ]
            [ "$(probe "$vpid" healthz)" = 200 ]
        done
    done
}

@test "probes are answered while 64 silent connections, then 2,000, are at the plain port" {
    start_dvm 1
    gather 1 plain 64 silent
    probes_are_answered 1
    disperse
    gather 1 plain 2000 silent
    probes_are_answered 1
}

@test "probes are answered while 500 strangers of 100 addresses have sent half a request each" {
    start_dvm 1
    gather 1 plain 500 head 100
    probes_are_answered 1
}

@test "the operator is served while 600 strangers are at the control port" {
    start_dvm 1
    gather 0 control 600 silent
    as operator GET /v1/dvm | jq -e '.members'
    disperse
    gather 0 control 600 hello 50
    as operator GET /v1/dvm | jq -e '.members'
}

watches() { [ "$(metric 0 dvm_event_streams)" = 1 ]; }

@test "an event stream stays while a crowd comes to the control port" {
    local from stream
    start_dvm 1
    from=$(as operator GET /v1/dvm | jq -r '"incarnation=\(.incarnation)&from=\(.events.next)"')
    as operator GET "/v1/events?$from" -N > "$BATS_TEST_TMPDIR/events" 3>&- &
    stream=$!
    eventually watches
    gather 0 control 1000 hello
    prte resize 2
    eventually grep -q '"vpid"' "$BATS_TEST_TMPDIR/events"
    kill "$stream"
}

@test "tools outside, local tools and daemons are served while 5,000 half handshakes are at the join port" {
    start_dvm 2 --slots 4
    gather 0 join 5000 hello
    [ "$(prun -n 2 echo local | sort | uniq -c | tr -s ' ')" = " 2 local" ]
    [ "$(DVM_TLS_DIR=$DVM_SESSION_DIR/tls/user prun --dvm "127.0.0.1:$(port 0 join)" -n 1 echo outside)" = outside ]
    prte resize 3
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 4 ]
}

@test "10,000 strangers at three ports: jobs, a resize and probes go on" {
    local i
    start_dvm 2 --slots 4
    gather 0 join 4000 hello 20
    gather 0 control 3000 hello 20
    gather 0 plain 3000 head 20
    for i in 1 2; do
        prun -n 4 true
        probes_are_answered 0
        as operator GET /v1/dvm > "$BATS_TEST_TMPDIR/view"
    done
    prte resize 4
    prun -n 4 --map-by node true
    prte resize 1
    probes_are_answered 0
}
