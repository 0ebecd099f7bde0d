#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A real kube-apiserver with its etcd for tests, everything in one directory: apiserver.sh VERB DIR
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/../../e2e/provider/kind/versions.sh"

usage() {
    cat >&2 <<'END'
usage: apiserver.sh start DIR           etcd and a server; prints KUBECONFIG=…
       apiserver.sh stop DIR            ends everything (DIR stays, with the logs)
       apiserver.sh server-start DIR N  server N on the same etcd, at the port it had before; prints KUBECONFIG=…
       apiserver.sh server-kill DIR N   ends it with SIGKILL
       apiserver.sh compact DIR         makes etcd forget all versions but the last
       apiserver.sh built               whether the programs are there
SERVICE_RANGE: addresses of the Services, 10.0.0.0/24 by default.
The kubeconfig has the contexts "token" (current), "cert", "nobody" (a wrong token), "stranger" (a wrong authority),
"operator-a" and "operator-b", whose writes are listed in DIR/audit.log.
END
    exit 2
}

say() { printf '%s\n' "$*" >&2; }

built() { [ -x "$BIN_DIR/etcd" ] && [ -x "$BIN_DIR/kube-apiserver" ]; }

# free_port: a port below the range that the kernel assigns.
free_port() {
    local port
    while :; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break
    done
    echo "$port"
}

# port NAME: chosen at the first start, kept for later starts.
port() {
    [ -s "$dir/$1.port" ] || free_port > "$dir/$1.port"
    cat "$dir/$1.port"
}

# begun PID: start time of that process. It stays the same when the process executes another program, unlike the command
# line. Fails if there is no such process, or if it is a zombie.
begun() {
    local stat fields
    stat=$(cat "/proc/$1/stat" 2> /dev/null) || return 1
    read -ra fields <<< "${stat##*) }"
    [ "${fields[0]}" != Z ] && echo "${fields[19]}"
}

# mine NAME: succeeds while the process of that name that this script has started runs.
mine() {
    local pid since
    read -r pid since 2> /dev/null < "$dir/$1.pid" && [ -n "$since" ] && [ "$(begun "$pid")" = "$since" ]
}

# end NAME SIGNAL: sends the signal and waits for the end of the process, with a deadline.
end() {
    local pid deadline=$((SECONDS + 60))
    mine "$1" || return 0
    read -r pid _ < "$dir/$1.pid"
    kill "-$2" "$pid" 2> /dev/null || true
    while mine "$1"; do
        [ "$SECONDS" -lt "$deadline" ] || { say "$1 does not end"; return 1; }
        sleep 0.05
    done
    rm -f "$dir/$1.pid"
}

# launch NAME PROGRAM ARG…
launch() {
    local name=$1
    shift
    # Only the standard descriptors are passed on: bats would wait for the server to close an inherited one.
    setsid "$@" > "$dir/$name.log" 2>&1 < /dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
    echo "$! $(begun $!)" > "$dir/$name.pid"
}

# wait_for NAME URL: until the URL is answered 200; fails when the process ends.
wait_for() {
    local deadline=$((SECONDS + 120))
    until curl --noproxy '*' -sfk -m 5 -H "Authorization: Bearer $TOKEN" -o /dev/null "$2"; do
        if ! mine "$1" || [ $SECONDS -ge $deadline ]; then
            say "$1 does not come up:"
            tail -n 20 "$dir/$1.log" >&2
            return 1
        fi
        sleep 0.1
    done
}

TOKEN=test-admin

keys() {
    [ ! -s "$dir/client.crt" ] || return 0
    (
        cd "$dir"
        openssl ecparam -genkey -name prime256v1 -noout -out sa.key
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=test-ca
        openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 30 -subj /CN=other-ca
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=kube-apiserver
        openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -set_serial 2 -days 30 -out server.crt \
            -extfile <(echo subjectAltName=IP:127.0.0.1,DNS:localhost)
        openssl req -newkey rsa:2048 -nodes -keyout client.key -out client.csr -subj /O=system:masters/CN=tester
        openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -set_serial 3 -days 30 -out client.crt
        printf '%s,%s,%s,system:masters\n' "$TOKEN" admin admin operator-a operator-a operator-a \
            operator-b operator-b operator-b > tokens.csv
    ) > "$dir/keys.log" 2>&1
}

# The writes of two users are recorded, each with one line when it is complete.
audit_policy() {
    cat > "$dir/audit.yaml" << END
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, users: [operator-a, operator-b], verbs: [create, update, patch, delete]}
- {level: None}
END
}

base64_of() { base64 < "$dir/$1" | tr -d '\n'; }

# kubeconfig NAME: writes the file of one server and prints its path.
kubeconfig() {
    local file=$dir/kubeconfig
    [ "$1" = 0 ] || file=$file-$1
    cat > "$file" << END
apiVersion: v1
kind: Config
current-context: token
clusters:
- name: test
  cluster:
    server: https://127.0.0.1:$(port "apiserver-$1")
    certificate-authority-data: $(base64_of ca.crt)
- name: stranger
  cluster:
    server: https://127.0.0.1:$(port "apiserver-$1")
    certificate-authority: other.crt
users:
- name: token
  user: {token: "$TOKEN"}
- name: nobody
  user: {token: "wrong"}
- name: operator-a
  user: {token: operator-a}
- name: operator-b
  user: {token: operator-b}
- name: cert
  user:
    client-certificate-data: $(base64_of client.crt)
    client-key: client.key
contexts:
- name: token
  context: {cluster: test, user: token}
- name: cert
  context: {cluster: test, user: cert}
- name: nobody
  context: {cluster: test, user: nobody}
- name: stranger
  context: {cluster: stranger, user: token}
- name: operator-a
  context: {cluster: test, user: operator-a}
- name: operator-b
  context: {cluster: test, user: operator-b}
END
    echo "KUBECONFIG=$file"
}

start_etcd() {
    local client peer
    ! mine etcd || return 0
    client=http://127.0.0.1:$(port etcd) peer=http://127.0.0.1:$(port etcd-peer)
    launch etcd "$BIN_DIR/etcd" --data-dir "$dir/etcd" --unsafe-no-fsync --log-level error \
        --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
        --initial-cluster "default=$peer"
    wait_for etcd "$client/health"
}

start_server() {
    local port
    port=$(port "apiserver-$1")
    if ! mine "apiserver-$1"; then
        audit_policy
        # The defaults would compact etcd, and take the address from the machine's first interface.
        launch "apiserver-$1" "$BIN_DIR/kube-apiserver" --etcd-servers "http://127.0.0.1:$(port etcd)" \
            --etcd-compaction-interval 0 --bind-address 127.0.0.1 --advertise-address 127.0.0.1 \
            --endpoint-reconciler-type none --secure-port "$port" --cert-dir "$dir" \
            --tls-cert-file "$dir/server.crt" --tls-private-key-file "$dir/server.key" \
            --client-ca-file "$dir/ca.crt" --token-auth-file "$dir/tokens.csv" \
            --authorization-mode RBAC --service-cluster-ip-range "${SERVICE_RANGE:-10.0.0.0/24}" \
            --service-account-key-file "$dir/sa.key" --service-account-signing-key-file "$dir/sa.key" \
            --service-account-issuer https://kubernetes.default.svc \
            --audit-policy-file "$dir/audit.yaml" --audit-log-path "$dir/audit.log" \
            --disable-admission-plugins ServiceAccount
        wait_for "apiserver-$1" "https://127.0.0.1:$port/readyz"
        # The server creates this object after it has reported ready.
        wait_for "apiserver-$1" "https://127.0.0.1:$port/api/v1/namespaces/default"
    fi
    kubeconfig "$1"
}

# Another process may take a port between the choice and the bind; then the start is repeated with other ports.
start() {
    local try
    keys
    for try in 1 2 3; do
        if start_etcd && start_server 0; then return 0; fi
        stop
        rm -rf "$dir"/*.port "$dir/etcd"
        say "trying again after attempt $try"
    done
    return 1
}

stop() {
    local pid
    for pid in "$dir"/apiserver-*.pid; do
        [ ! -e "$pid" ] || end "$(basename "$pid" .pid)" KILL
    done
    end etcd KILL
}

compact() {
    local url revision
    url=http://127.0.0.1:$(port etcd)
    revision=$(curl --noproxy '*' -sf -m 10 -d '{"key": "AA=="}' "$url/v3/kv/range" |
        sed -n 's/.*"revision":"\([0-9]*\)".*/\1/p')
    curl --noproxy '*' -sf -m 10 -o /dev/null -d "{\"revision\": \"$revision\", \"physical\": true}" \
        "$url/v3/kv/compaction"
}

[ $# -ge 1 ] || usage
if [ "$1" = built ]; then
    built
    exit
fi
[ $# -ge 2 ] || usage
built || { say "etcd and kube-apiserver are not built: e2e/provider/kind/binaries.sh etcd kube-apiserver"; exit 1; }
mkdir -p "$2"
dir=$(cd "$2" && pwd)
case $1 in
start) start ;;
stop) stop ;;
server-start) start_server "${3:?}" ;;
server-kill) end "apiserver-${3:?}" KILL ;;
compact) compact ;;
*) usage ;;
esac
