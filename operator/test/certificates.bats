#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator renews certificates: a real kube-apiserver and etcd, and an operator whose wall clock the test moves.
# The certificates are issued in the past, by an operator whose clock is behind; so they suit the head's clock, too.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by or for lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() {
    new_namespace
    start_proxy
    plain_port=$((head_port - 1))
    metrics_addr=127.0.0.1:$plain_port
    set_clock 0
}
teardown() {
    touch "$dir/no-kubelet"
    end_programs
}

days_behind() { set_clock $(($1 * -86400)); }
fingerprint() { secret_file "$1" tls.crt | openssl x509 -noout -fingerprint; }
is_renewed() { [ "$(fingerprint "x-$1")" != "${before[$1]}" ]; }
lasts_days() { secret_file "x-$1" tls.crt | openssl x509 -noout -checkend $(($2 * 86400)) > /dev/null; }
# A change that means nothing makes the operator look at the cluster.
poke() { kn annotate dvm x poked="$RANDOM$SECONDS" --overwrite >&2; }
first_end() { curl --noproxy '*' -s -m 10 "http://127.0.0.1:$plain_port/metrics" | sed -n 's/^dvm_operator_cluster_certificate_end_seconds{.*} //p'; }
first_end_after_days() { [ "$(first_end)" -gt $(($(date +%s) + $1 * 86400)) ]; }

is_as_expected() { [ "$(status_of '{.status.conditions[?(@.type=="Degraded")].reason}')" = AsExpected ]; }

# issued DAYS [COMMAND...]: the cluster runs with certificates of so many days ago; the command comes before the operator
# knows what day it is.
issued() {
    local role
    days_behind "$1"
    running 2
    declare -gA before=()
    for role in head member operator user ca; do before[$role]=$(fingerprint "x-$role"); done
    authority=$(kn get secret x-ca -o jsonpath='{.metadata.resourceVersion}')
    "${@:2}"
    days_behind 0
}

@test "certificates with less than a third of their life left are renewed once, by the same authority" {
    local role sets
    issued 70
    sets=$(kn get sts/x-head -o jsonpath='{.metadata.generation}')
    poke
    for role in head member operator user; do
        until_true 30 is_renewed "$role"
        lasts_days "$role" 89
        secret_file "x-$role" tls.crt > "$dir/$role.crt"
        secret_file "x-$role" tls.key | openssl pkey -pubout > "$dir/$role.pub"
        openssl x509 -in "$dir/$role.crt" -noout -pubkey | diff - "$dir/$role.pub"
        secret_file x-ca tls.crt > "$dir/ca.crt"
        secret_file "x-$role" ca.crt | diff - "$dir/ca.crt"
        openssl verify -CAfile "$dir/ca.crt" "$dir/$role.crt"
    done
    until_true 30 first_end_after_days 89
    becomes '{.status.conditions[?(@.type=="Available")].status}' True # connected with the new certificate
    scale 3
    becomes '{.spec.replicas}' 3 sts/x
    [ "$(requests '^PATCH .*/secrets/')" -eq 4 ]
    [ "$(kn get secret x-ca -o jsonpath='{.metadata.resourceVersion}')" = "$authority" ]
    [ "$(kn get sts x-head -o jsonpath='{.metadata.generation}')" = "$sets" ]
}

# rest_and_resume [COMMAND...]: the Secrets are looked at again when the head comes back.
rest_and_resume() {
    kn patch dvm x --type merge -p '{"spec": {"suspend": true}}' >&2
    becomes '{.status.campaign.phase}' Draining
    order away
    becomes '{.spec.replicas}' 0 sts/x-head
    "$@"
    order restart
    order back
    kn patch dvm x --type merge -p '{"spec": {"suspend": false}}' >&2
    becomes '{.spec.replicas}' 1 sts/x-head
}
unchanged() { [ "$(grep -c 'secrets are unchanged' "$dir/operator.log")" = "$1" ]; }

@test "Secrets that are those of the last look are not decoded again, and one that was deleted meanwhile is made" {
    running 1
    rest_and_resume true
    until_true 30 unchanged 1
    first=$(uid_of secret/x-user)
    rest_and_resume kn delete secret x-user >&2
    until_true 60 exists secret/x-user
    [ "$(uid_of secret/x-user)" != "$first" ]
    unchanged 1
    condition Degraded AsExpected
}

@test "certificates with more than a third of their life left stay" {
    local role
    issued 55
    poke
    a_pass_is_done
    for role in head member operator user; do [ "$(fingerprint "x-$role")" = "${before[$role]}" ]; done
    [ "$(requests '^PATCH .*/secrets/')" -eq 0 ]
    first_end_after_days 34
    run ! first_end_after_days 36
}

@test "a certificate that cannot be renewed makes the cluster Degraded in time, and Ready" {
    issued 70 kn patch secret x-ca --type merge -p '{"stringData": {"tls.key": "garbage"}}'
    poke
    condition Degraded CertificateNotRenewed
    [[ $(status_of '{.status.conditions[?(@.type=="Degraded")].message}') == *"Secret x-head: the certificate ends at 2"*"reading the key of a certificate authority"* ]]
    becomes '{.status.conditions[?(@.type=="Ready")].status}' True
    until_true 30 says CertificateNotRenewed "Secret x-head: the certificate ends at 2"
    [ "$(fingerprint x-head)" = "${before[head]}" ]
}

passes() { curl --noproxy '*' -s -m 10 "http://127.0.0.1:$plain_port/metrics" | awk '/^dvm_operator_reconciles_total/ {n += $2} END {print n + 0}'; }

@test "a renewal that the API server refuses comes again after its pause, and nothing spins meanwhile" {
    local had
    issued 70 proxy 'fault?kind=403&method=PATCH&match=secrets'
    poke
    condition Degraded CertificateNotRenewed
    quiet
    had=$(passes)
    quiet # two seconds or more
    echo "$had passes, then $(passes)"
    [ "$(passes)" -le $((had + 5)) ]
    [ "$(requests '^PATCH .*/secrets/')" -le 5 ]
}

@test "a Secret of a role that cannot be read is reported, and created again when it is deleted" {
    running 2
    end_operator TERM
    kn patch secret x-member --type merge -p '{"stringData": {"tls.crt": "garbage"}}' >&2
    start_operator
    condition Degraded CertificateNotRenewed
    [[ $(status_of '{.status.conditions[?(@.type=="Degraded")].message}') == "Secret x-member: "*"is missing or unreadable. Delete the Secret"* ]]
    until_true 30 says CertificateNotRenewed "Secret x-member: "
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    becomes '{.status.conditions[?(@.type=="Ready")].status}' True
    kn delete secret x-member >&2
    until_true 90 lasts_days member 89
    until_true 30 is_as_expected
}

# kubelet: the head's files follow its Secret, as those of a pod do, until the end of the test.
kubelet() {
    (while [ ! -e "$dir/no-kubelet" ]; do
        for key in ca.crt tls.crt tls.key; do secret_file x-head "$key" > "$dir/head/$key.new" && mv "$dir/head/$key.new" "$dir/head/$key"; done
        sleep 0.5
    done) > "$dir/kubelet.log" 2>&1 3>&- &
    echo $! > "$dir/kubelet.pid"
}
authorities() { secret_file "x-$1" ca.crt | grep -c BEGIN; }
new_revision() { kn patch dvm x --type merge -p "{\"spec\": {\"security\": {\"authorityRevision\": $1}}}" >&2; }

@test "a new authority is asked for: all trust both, then certificates follow, then the old one is forgotten" {
    local before writes
    running 2 '"security": {"overlapSeconds": 10}'
    kubelet
    revision_is 0
    before=$(fingerprint x-ca) writes=$(requests '^(PATCH|POST) .*/secrets')
    new_revision 1
    until_true 60 revision_is 1
    of_one_authority
    [ "$(fingerprint x-ca)" != "$before" ]
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    # New authority; four bundles; mark; four certificates; mark; bundle of one; four bundles.
    [ "$(requests '^(PATCH|POST) .*/secrets')" -eq $((writes + 16)) ]
    scale 3
    becomes '{.spec.replicas}' 3 sts/x
    run kn patch dvm x --type merge -p '{"spec": {"security": {"authorityRevision": 0}}}'
    [ "$status" -ne 0 ]
    [[ $output == *"authorityRevision cannot be reduced"* ]]
}

head_trusts_two() { [ "$(authorities head)" -eq 2 ]; }

@test "a lost authority is replaced, also together with a certificate, and the cluster stays Available" {
    running 2 '"security": {"overlapSeconds": 10}'
    kubelet
    end_operator TERM
    kn delete secret x-ca x-member >&2
    start_operator
    appears secret/x-ca
    appears secret/x-member
    until_true 10 head_trusts_two
    until_true 60 of_one_authority
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    scale 3
    becomes '{.spec.replicas}' 3 sts/x
}

@test "all Secrets are lost: they are created anew, and the cluster is Available when the head has read them" {
    running 2 '"security": {"overlapSeconds": 10}'
    kubelet
    end_operator TERM
    kn delete secret x-ca x-head x-member x-operator x-user >&2
    start_operator
    appears secret/x-user
    of_one_authority
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
}
