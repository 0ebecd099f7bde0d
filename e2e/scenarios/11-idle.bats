#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator does not poll: in an idle minute it sends no request beyond its open streams, the renewals of its Lease,
# and a look each 45 s whether a user's Secret, which it may not watch, is still there.
load ../lib

# Ended requests without watches, which the server ends from time to time, and without PUT, by which a Lease is renewed.
requests() {
    kubectl get --raw "/api/v1/namespaces/$NS/pods/$(operator_pod):8080/proxy/metrics" |
        awk '/^dvm_operator_kube_requests_total/ && !/method="(WATCH|PUT)"/ {n += $2} END {print n + 0}'
}
seen_by_server() { audit "$1" 'select((.user.username | endswith(":dvm-operator")) and .verb != "watch" and .objectRef.resource != "leases" and .objectRef.name != "'"$X"'-user")' | wc -l; }
reconciles() { kubectl get --raw "/api/v1/namespaces/$NS/pods/$(operator_pod):8080/proxy/metrics" | awk '/^dvm_operator_reconciles_total/ {n += $2} END {print n + 0}'; }
minute_is_over() { [ "$SECONDS" -ge "$1" ]; }
quiet() { local n; n=$(requests); eventually 5 "three seconds" minute_is_over $((SECONDS + 3)); [ "$(requests)" = "$n" ]; }

@test "idle: sixty seconds without a request beyond the open streams, the Lease, and looks for the user's Secret" {
    local before audited looks
    have 3
    eventually 30 "what has just happened is settled" quiet
    before=$(requests)
    audited=$(audit_size)
    eventually 70 "a minute" minute_is_over $((SECONDS + 60))
    looks=$(($(requests) - before))
    [ "$looks" -le 2 ] || fail "the operator has counted $looks requests"
    equal "requests beside the Lease and these looks that the API server has seen" "$(seen_by_server "$audited")" 0
}
