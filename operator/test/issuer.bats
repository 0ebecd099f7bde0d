#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# Certificates by an issuer of cert-manager: a real kube-apiserver and etcd with cert-manager's resource, and the test in
# place of its controller.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() { new_namespace; }
teardown() { end_programs; }

message_of() { status_of "{.status.conditions[?(@.type==\"$1\")].message}"; }
is_said() { [[ $(message_of Progressing) == *"$1"* ]]; }
by_issuer='"security": {"issuerRef": {"name": "company", "kind": "ClusterIssuer"}}'

# The resource as cert-manager has it, as far as the operator uses it.
install_resource() {
    k apply -f - >&2 << 'END'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, plural: certificates, singular: certificate, listKind: CertificateList}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [secretName, issuerRef]
              properties:
                secretName: {type: string}
                commonName: {type: string}
                duration: {type: string}
                renewBefore: {type: string}
                dnsNames: {type: array, items: {type: string}}
                usages: {type: array, items: {type: string, enum: [digital signature, server auth, client auth]}}
                subject:
                  type: object
                  properties:
                    organizations: {type: array, items: {type: string}}
                    organizationalUnits: {type: array, items: {type: string}}
                privateKey:
                  type: object
                  properties:
                    algorithm: {type: string, enum: [RSA, ECDSA, Ed25519]}
                    size: {type: integer}
                    rotationPolicy: {type: string, enum: [Never, Always]}
                issuerRef:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, kind: {type: string}, group: {type: string}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
END
    k wait --for=condition=Established crd/certificates.cert-manager.io --timeout=60s >&2
    local limit=$((SECONDS + 60))
    until k get certificates.cert-manager.io > /dev/null 2>&1; do [ "$SECONDS" -lt "$limit" ]; done
}

# issue ROLE: a Secret for the Certificate, as cert-manager makes it from an issuer of kind CA.
issue() {
    local spec
    spec=$(kn get certificate "x-$1" -o json | jq .spec)
    [ -e "$dir/issuer.key" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/issuer.key" \
        -out "$dir/issuer.crt" -days 10 -subj /CN=company 2> "$dir/openssl.log"
    jq -r '"[v]\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\nkeyUsage=digitalSignature" +
        (if .dnsNames then "\nsubjectAltName=" + ([.dnsNames[] | "DNS:" + .] | join(",")) else "" end)' <<< "$spec" > "$dir/v.cnf"
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$dir/$1.key" -out "$dir/$1.csr" -multivalue-rdn -subj \
        "$(jq -r '"/O=" + (.subject.organizations[0] | gsub("/"; "\\/")) + "/OU=" + .subject.organizationalUnits[0] + "/CN=" + .commonName' <<< "$spec")" 2>> "$dir/openssl.log"
    openssl x509 -req -in "$dir/$1.csr" -CA "$dir/issuer.crt" -CAkey "$dir/issuer.key" -CAcreateserial -days 5 -extfile "$dir/v.cnf" \
        -extensions v -out "$dir/$1.crt" 2>> "$dir/openssl.log"
    kn apply -f - >&2 << END
{"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": {"name": "$(jq -r .secretName <<< "$spec")",
 "annotations": {"cert-manager.io/certificate-name": "x-$1"}}, "data": {"ca.crt": "$(base64 -w0 "$dir/issuer.crt")",
 "tls.crt": "$(base64 -w0 "$dir/$1.crt")", "tls.key": "$(base64 -w0 "$dir/$1.key")"}}
END
}

@test "an issuer that is not listed is refused, by the operator and by the admission policy" {
    local limit=$((SECONDS + 60)) said
    make_cluster 2 "$by_issuer"
    start_operator
    condition Progressing InvalidSpec
    is_said "spec.security.issuerRef is ClusterIssuer/company, which the operator may not ask"
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    "$BIN_DIR/helm" template "$ns" "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --set certManager=true,issuers="{ClusterIssuer/other,Issuer/*}" --show-only templates/issuer-policy.yaml 2> "$dir/helm.err" | k apply -f - >&2
    by() { jq -n --argjson ref "$1" '{apiVersion: "dvm.openpmix.io/v1alpha1", kind: "DvmCluster", metadata: {name: "y"},
        spec: {security: {issuerRef: $ref}}}' | kn create --dry-run=server -f - 2>&1; }
    while said=$(by '{"name": "company", "kind": "ClusterIssuer"}'); do [ "$SECONDS" -lt "$limit" ]; done
    [[ $said == *"spec.security.issuerRef is ClusterIssuer/company, which the operator may not ask"* ]]
    run by '{"name": "any", "group": "example.test"}'
    [[ $output == *"is Issuer.example.test/any, which"* ]]
    by '{"name": "any"}' >&2
    by '{"name": "other", "kind": "ClusterIssuer"}' >&2
}

@test "without cert-manager a condition says so, and the cluster starts when there is one" {
    start_operator operator --issuer ClusterIssuer/company
    make_cluster 2 "$by_issuer"
    condition Progressing CertificateMissing
    [[ $(message_of Progressing) == *"there is no cert-manager in this cluster"*issuerRef* ]]
    run kn get secret x-ca
    [ "$status" -ne 0 ]
    install_resource
    until_true 60 kn get certificate x-head
    [ "$(kn get certificate x-head -o jsonpath='{.metadata.ownerReferences[0].kind}')" = DvmCluster ]
}

@test "an issuer's certificates are asked for, waited for with its words, and used" {
    local role
    install_resource
    start_operator operator --issuer Issuer/own --issuer 'ClusterIssuer/*'
    make_cluster 2 "$by_issuer"
    until_true 60 kn get certificate x-head
    kn get certificate x-head -o json | jq -e --arg ns "$ns" '.spec | .issuerRef == {name: "company", kind: "ClusterIssuer",
        group: "cert-manager.io"} and .subject == {organizations: [$ns + "/x"], organizationalUnits: ["head"]} and
        (.dnsNames | index("x-head." + $ns + ".svc")) and .secretName == "x-head" and .duration == "2160h"' >&2
    kn patch certificate x-head --subresource status --type merge -p '{"status": {"conditions": [{"type": "Ready", "status": "False",
        "message": "the issuer is not ready"}]}}' >&2
    until_true 60 is_said "Certificate x-head: the issuer is not ready"
    condition Progressing CertificateMissing
    for role in head member operator user; do
        until_true 60 kn get certificate "x-$role"
        issue "$role"
    done
    start_head
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    run kn get secret x-ca
    [ "$status" -ne 0 ]
    run kn patch dvm x --type merge -p '{"spec": {"security": {"issuerRef": {"name": "another"}}}}'
    [[ $output == *"issuerRef cannot be changed"* ]]
    run kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/security/issuerRef"}]'
    [[ $output == *"issuerRef cannot be changed"* ]]
}

@test "a Secret that cert-manager has not made, and a Certificate of another owner, are not used" {
    install_resource
    start_operator operator --issuer ClusterIssuer/company
    kn create secret generic x-head --from-literal=tls.crt=x >&2
    make_cluster 2 "$by_issuer"
    condition Progressing NotOwned
    [[ $(message_of Progressing) == *"Secret x-head: it exists and cert-manager has not made it"* ]]
    kn delete dvm x >&2
    kn delete certificate --all >&2
    kn apply -f - >&2 << 'END'
{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "x-head"}, "spec": {"secretName": "x-head",
 "issuerRef": {"name": "mine"}}}
END
    make_cluster 2 "$by_issuer"
    condition Progressing NotOwned
    [[ $(message_of Progressing) == *"Certificate x-head: it exists"* ]]
    [ "$(kn get certificate x-head -o jsonpath='{.spec.issuerRef.name}')" = mine ]
}

@test "the operator's rights for Certificates come with certManager=true, and with nothing else" {
    as_chart_says
    may() { [ "$(kn auth can-i "$1" certificates.cert-manager.io --as "system:serviceaccount:$ns:r-dvm-operator" 2> /dev/null)" = yes ]; }
    run may create
    [ "$status" -ne 0 ]
    as_chart_says --set certManager=true
    local limit=$((SECONDS + 30))
    until may create; do [ "$SECONDS" -lt "$limit" ]; done
    may patch
    run may delete
    [ "$status" -ne 0 ]
}
