#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Certificates and trust bundles that are replaced while the DVM runs.

# shellcheck disable=SC2154  # set by lib.bash

bats_require_minimum_version 1.5.0
load lib

setup_file() { build_all; }
setup() {
    new_dvm_dir
    pki=$BATS_TEST_TMPDIR/pki
    mkdir "$pki"
    printf '[req]\ndistinguished_name=d\n[d]\n' > "$pki/config"
}
teardown() { end_dvm; }

# signed NAME DAYS OPENSSL-OPTION...: $pki/NAME.crt and its key.
signed() {
    openssl req -x509 -config "$pki/config" -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout "$pki/$1.key" -out "$pki/$1.crt" -days "$2" "${@:3}" 2> "$pki/err" || { cat "$pki/err"; return 1; }
}
authority() { signed ca 365 -subj "/O=$cluster/OU=ca/CN=ca" -addext basicConstraints=critical,CA:TRUE,pathlen:0; }
# leaf NAME ROLE DAYS
leaf() {
    signed "$1" "$3" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -subj "/O=$cluster/OU=$2/CN=$1" \
        -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=serverAuth,clientAuth \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1
}

# ended_leaf NAME ROLE: its life was over in 2020.
ended_leaf() {
    leaf "$1" "$2" 1
    : > "$pki/index"
    openssl x509 -x509toreq -in "$pki/$1.crt" -signkey "$pki/$1.key" -out "$pki/$1.csr" 2> /dev/null
    printf '[ca]\ndefault_ca=c\n[c]\ndatabase=%s/index\nrand_serial=yes\nnew_certs_dir=%s\ndefault_md=sha256\npolicy=p\n[p]\nO=supplied\nOU=supplied\nCN=supplied\n' \
        "$pki" "$pki" > "$pki/ca.config"
    openssl ca -batch -notext -config "$pki/ca.config" -cert "$pki/ca.crt" -keyfile "$pki/ca.key" -in "$pki/$1.csr" \
        -out "$pki/$1.crt" -startdate 20200101000000Z -enddate 20200102000000Z 2> "$pki/err" || { cat "$pki/err"; return 1; }
}

# put FILE ROLE NAME: replaces a file of the role at once, as the kubelet does.
put() {
    cp "$1" "$DVM_SESSION_DIR/tls/$2/$3.new"
    mv "$DVM_SESSION_DIR/tls/$2/$3.new" "$DVM_SESSION_DIR/tls/$2/$3"
}
trust() { for role in head member user; do put "$1" "$role" ca.crt; done; }
put_leaf() {
    put "$pki/$2.crt" "$1" tls.crt
    put "$pki/$2.key" "$1" tls.key
}
port_of() { jq ".$2" "$DVM_SESSION_DIR/$1/ports.json"; }
# shown VPID: the name in the certificate that the daemon shows to a new connection.
shown() {
    local tls=$DVM_SESSION_DIR/tls/user
    openssl s_client -connect "127.0.0.1:$(port_of "$1" join)" -CAfile "$tls/ca.crt" -cert "$tls/tls.crt" \
        -key "$tls/tls.key" < /dev/null 2> /dev/null | openssl x509 -noout -subject -nameopt multiline | sed -n 's/.*commonName *= //p'
}

@test "certificates are replaced under a running job: new members join with the new ones, then the old authority ends" {
    local role
    start_dvm 2 --slots 2
    cluster=$(openssl x509 -in "$DVM_SESSION_DIR/tls/head/tls.crt" -noout -subject -nameopt multiline | sed -n 's/.*organizationName *= //p' | sed 's|/|\\/|g')
    hold_job kept 2 --map-by node
    [ "$(shown 0)" = head ]
    authority
    for role in head member user; do leaf "new-$role" "$role" 90; done
    cat "$DVM_SESSION_DIR/tls/head/ca.crt" "$pki/ca.crt" > "$pki/both.crt"
    trust "$pki/both.crt"
    put_leaf member new-member
    prte resize 3
    [ "$(shown 0)" = head ]
    [ "$(shown 1)" = new-member ]
    for role in head user; do put_leaf "$role" "new-$role"; done
    trust "$pki/ca.crt"
    [ "$(shown 0)" = new-head ]
    prte resize 4
    [ "$(shown 4)" = new-member ]
    prun -n 4 --map-by node sh -c 'echo here' > "$BATS_TEST_TMPDIR/out"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/out")" -eq 4 ]
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 5 ]
    release_job kept 2
    end_job kept
    [ "$code" -eq 0 ]
    [ "$(grep -c released <<< "$said")" -eq 2 ]
}

@test "a daemon whose certificate has ended does not join, and joins when it is renewed" {
    start_dvm 1 --slots 2
    cluster=$(openssl x509 -in "$DVM_SESSION_DIR/tls/head/tls.crt" -noout -subject -nameopt multiline | sed -n 's/.*organizationName *= //p' | sed 's|/|\\/|g')
    authority
    ended_leaf old member
    leaf new member 90
    cat "$DVM_SESSION_DIR/tls/head/ca.crt" "$pki/ca.crt" > "$pki/both.crt"
    trust "$pki/both.crt"
    put_leaf member old
    timeout --kill-after=10 "$limit" "$bin/prte" resize 2 > "$BATS_TEST_TMPDIR/resize" 2>&1 3>&- &
    eventually grep -q "certificate has expired" "$DVM_SESSION_DIR/0/prted.log"
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 2 ]
    put_leaf member new
    wait $!
    [ "$(view '[.members[] | select(.state == "wired")] | length')" -eq 3 ]
}
