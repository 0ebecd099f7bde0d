#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator is killed at each of its writes: the server has carried the write out, the answer does not arrive. A step
# is repeated: the operator is killed at its first write, then at its second, and so on, until the step has no further
# write. After each kill another operator begins; the end state is right, no campaign runs twice, nothing of others is
# touched. A new authority is not repeated: there each operator is killed at its first write.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by or for lib.bash; each test is a process of its own

load lib

setup_file() {
    start_api
    start_manager statefulset-controller,garbage-collector-controller,namespace-controller
}

teardown_file() {
    end_manager
    stop_api
}

setup() {
    manager_built || skip "kube-controller-manager not built"
    new_namespace
    start_proxy
    bystanders
}

teardown() { end_programs; }

# reach SECONDS COMMAND...: until the command succeeds; an operator that was killed is followed by another one.
reach() {
    local limit=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || { echo "not in time after a kill at write $n: $*"; return 1; }
        kill -0 "$(cat "$dir/operator.pid")" 2> /dev/null || start_operator
        sleep 0.05
    done
}

until_true() { reach "$@"; } # for the functions of lib.bash

# killed_at_each_write STEP LEAST: until a run of the step has no further write; there are LEAST of them at least.
killed_at_each_write() {
    local kills=0
    for n in {1..60}; do
        proxy forget
        proxy "kill?pid=$(cat "$dir/operator.pid")&after=$n"
        "$1"
        quiet
        if [ "$(requests ' kill$')" -eq 0 ]; then
            echo "# killed at each of $kills writes" >&3
            [ "$kills" -ge "$2" ]
            return
        fi
        kills=$((kills + 1))
        kill -0 "$(cat "$dir/operator.pid")" 2> /dev/null || start_operator
    done
    echo "the step has no end"
    return 1
}

# cluster JQ: true if the filter holds for the status; conditions by type in $c.
cluster() {
    kn get dvm x -o json 2> /dev/null |
        jq -e "([.status.conditions[]? | {(.type): .status}] | add) as \$c | .status as \$s | $1" > /dev/null
}
has_members() { cluster "\$s.replicas == $1 and \$s.readyReplicas == $1 and \$s.campaign == null and \$c.Ready == \"True\" and \$c.Available == \"True\""; }
gone() { [ "$(kn get "$kinds" -o name)" = "$before" ]; }
has_objects() { [ "$(kn get "$kinds" -o name | wc -l)" -eq "$1" ]; }
has_object() { kn get "$@" > /dev/null 2>&1; }

# Deletion is part of the step: the operator is killed in it too if it writes something.
created_and_deleted() {
    make_cluster 1
    reach 60 has_object secret/x-user
    start_head
    reach 60 has_members 1
    of_one_authority
    reach 60 has_objects "$whole"
    kn delete dvm x --timeout=60s >&2
    kill -KILL "$(cat "$dir/head.pid")"
    reach 60 gone
}

@test "C18: killed at each write of a creation and a deletion" {
    kinds=pods,services,secrets,statefulsets,poddisruptionbudgets
    before=$(kn get "$kinds" -o name)
    whole=$(($(wc -l <<< "$before") + 13)) # two pods, sets, Services and budgets each, five Secrets
    start_operator
    killed_at_each_write created_and_deleted 10
}

shrinks() { asked | grep -o 'shrink-[0-9]*-[0-9a-f]*' | sort -u | wc -l; }

scaled_up_and_down() {
    local stays ids
    stays=$(uid_of pod/x-1) ids=$(shrinks)
    scale 3
    reach 60 has_members 3
    scale 1
    reach 60 has_members 1
    [ "$(uid_of pod/x-1)" = "$stays" ]
    [ "$(shrinks)" -eq $((ids + 1)) ]
}

@test "C18: killed at each write of a growth and a shrink: one campaign each time" {
    running 1
    reach 60 has_members 1
    killed_at_each_write scaled_up_and_down 6
}

image_of() { kn get pod "$1" -o jsonpath='{.spec.containers[0].image}' 2> /dev/null; }

# is_new POD IMAGE UID: another pod with that image is there; it runs, and its daemon has joined.
is_new() {
    [ "$(image_of "$1")" = "$2" ] && [ "$(uid_of "pod/$1")" != "$3" ] || return 1
    runs "$1"
    order "join?vpid=${1#x-}"
}

updates() { asked | grep -o 'update-[0-9]*-[0-9a-f]*' | sort -u | wc -l; }

updated() {
    local first ids head
    first=$(uid_of pod/x-1) head=$(uid_of pod/x-head-0) ids=$(updates)
    kn patch dvm x --type merge -p "{\"spec\": {\"image\": \"example.test/daemon:$((100 + n))\"}}" >&2
    reach 60 is_new x-1 "example.test/daemon:$((100 + n))" "$first"
    # shellcheck disable=SC2016  # jq's variables
    reach 60 cluster '$s.campaign == null and $s.updatedReplicas == 1 and $s.readyReplicas == 1'
    [ "$(uid_of pod/x-head-0)" = "$head" ]
    [ "$(updates)" -eq $((ids + 1)) ]
}

@test "C18: killed at each write of a rolling update: one campaign each time, and the head's pod stays" {
    running 1
    reach 60 has_members 1
    runs x-1
    reach 60 has_object pod/x-head-0
    runs x-head-0
    killed_at_each_write updated 8
}

# start_doomed_operator: it is killed at its first write; it is stopped until the proxy knows that.
start_doomed_operator() {
    start_operator
    kill -STOP "$(cat "$dir/operator.pid")"
    doom_operator
    kill -CONT "$(cat "$dir/operator.pid")"
}
doom_operator() { proxy "kill?pid=$(cat "$dir/operator.pid")&after=1"; }

# killed_until COMMAND...: until the command succeeds, each operator is killed at its first write.
killed_until() {
    local limit=$((SECONDS + 60))
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || { echo "not in time with a kill at each write: $*"; return 1; }
        kill -0 "$(cat "$dir/operator.pid")" 2> /dev/null || start_doomed_operator
    done
}

# The overlap is over, and the kubelet has renewed the head's files; a change that means nothing starts a pass.
overlap_passes() {
    local key
    for key in ca.crt tls.crt tls.key; do secret_file x-head "$key" > "$dir/head/$key"; done
    set_clock $(($(cat "$WALLCLOCK") + 601))
    kn annotate dvm x poked="$1" --overwrite >&2
}

# record_secrets: each version of each Secret, in the order of the writes, in secrets.json.
record_secrets() {
    PATH=$BIN_DIR:$PATH kubectl get --raw "/api/v1/namespaces/$ns/secrets?watch=1" > "$dir/secrets.json" 2> "$dir/watch.log" 3>&- &
    echo $! > "$dir/watch.pid"
    until_true 30 recorded "$(kn get secret x-user -o jsonpath='{.metadata.resourceVersion}')"
}
recorded() { grep -q "\"resourceVersion\":\"$1\"" "$dir/secrets.json"; }
all_recorded() {
    local version
    for version in $(kn get secrets -o jsonpath='{.items[*].metadata.resourceVersion}'); do recorded "$version" || return 1; done
}

# is_consistent ROLE: the key is that of the certificate; all roles trust it, and it trusts the certificates of all.
is_consistent() {
    local other
    openssl x509 -in "$dir/$1.tls.crt" -noout -pubkey | cmp - <(openssl pkey -in "$dir/$1.tls.key" -pubout) || return 1
    for other in x-head x-member x-operator x-user; do
        openssl verify -CAfile "$dir/$other.ca.crt" "$dir/$1.tls.crt" > /dev/null || return 1
        openssl verify -CAfile "$dir/$1.ca.crt" "$dir/$other.tls.crt" > /dev/null || return 1
    done
}

# always_consistent: the recorded versions, one after the other. The first five are those of before.
always_consistent() {
    local type name ca crt key count=0
    while read -r type name ca crt key; do
        count=$((count + 1))
        base64 -d <<< "$ca" > "$dir/$name.ca.crt"
        base64 -d <<< "$crt" > "$dir/$name.tls.crt"
        base64 -d <<< "$key" > "$dir/$name.tls.key"
        [ "$count" -gt 5 ] || continue
        [ "$type" = MODIFIED ] || { echo "$type $name"; return 1; }
        [ "$name" = x-ca ] || is_consistent "$name" ||
            { echo "write $((count - 5)), of $name: a certificate is not trusted, or not of its key"; return 1; }
    done < <(jq -r 'select(.object.metadata.name != "x-theirs") |
        "\(.type) \(.object.metadata.name) \(.object.data | "\(.["ca.crt"]) \(.["tls.crt"]) \(.["tls.key"])")"' "$dir/secrets.json")
    [ "$count" -eq 21 ] # new authority; four bundles; mark; four certificates; mark; bundle of one; four bundles
}

has_mark() { kn get secret x-ca -o json | jq -e ".metadata.annotations[\"dvm.openpmix.io/$1\"]" > /dev/null; }
# texts FILE: checksums of that file in the Secrets of the four roles.
texts() { for role in head member operator user; do secret_file "x-$role" "$1" | cksum; done; }
identities() { kn get secrets -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}'; }

@test "C18: killed at each write of a new authority: each certificate in use is trusted by all at any time" {
    local leaves bundles uids authority theirs
    set_clock -86400 # so that it can be put forward
    running 1
    reach 60 has_members 1
    kn create secret generic x-theirs --from-literal=tls.crt=theirs >&2
    kn label secret x-theirs dvm.openpmix.io/cluster=x >&2
    reach 60 revision_is 0
    quiet
    record_secrets
    theirs=$(kn get secret x-theirs -o json) uids=$(identities) leaves=$(texts tls.crt) authority=$(secret_file x-ca tls.crt)
    proxy forget
    doom_operator
    kn patch dvm x --type merge -p '{"spec": {"security": {"authorityRevision": 1}}}' >&2
    killed_until has_mark trusted-since
    [ "$(texts tls.crt)" = "$leaves" ]
    bundles=$(texts ca.crt)
    overlap_passes 1
    killed_until has_mark issued-since
    [ "$(texts ca.crt)" = "$bundles" ]
    overlap_passes 2
    killed_until revision_is 1
    until_true 30 all_recorded
    always_consistent
    [ "$(requests '^(PATCH|POST) .*/secrets.* kill$')" -eq 16 ]
    [ "$(requests '^(PATCH|POST) .*/secrets')" -eq 16 ]
    proxy "kill?pid=0"
    scale 2
    reach 60 has_members 2 # the connection with the head is one of the new authority
    of_one_authority
    [ "$(secret_file x-ca tls.crt)" != "$authority" ]
    [ "$(identities)" = "$uids" ]
    [ "$(kn get secret x-theirs -o json)" = "$theirs" ]
}
