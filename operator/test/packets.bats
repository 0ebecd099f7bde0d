#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The chart's NetworkPolicies decide about packets: as a real kube-apiserver has stored them, they become rules of the
# kernel in a network namespace for each pod, and connections are tried. Refused: the packet has come, but nobody listens.

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

bats_require_minimum_version 1.5.0
load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() {
    [ -x "$BIN_DIR/helm" ] || skip "helm not built"
    unshare -n true 2> /dev/null || skip "no network namespaces"
    new_namespace
    pods=0
    new_net bridge
    in_net_of bridge ip link add bridge0 type bridge
    in_net_of bridge ip link set bridge0 up
}
teardown() { end_programs; }

# new_net NAME: a network namespace, which lives as long as its process.
new_net() {
    unshare -n sleep 300 3>&- &
    echo $! > "$dir/$1.pid"
    # shellcheck disable=SC2016  # expanded by sh
    timeout --kill-after=5 20 sh -c 'until [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do :; done' - "$(cat "$dir/$1.pid")"
}
in_net_of() { nsenter -t "$(cat "$dir/$1.pid")" -n "${@:2}"; }

# new_pod NAME NAMESPACE LABELS: a network namespace with an address on the bridge.
new_pod() {
    pods=$((pods + 1))
    new_net "$1"
    in_net_of bridge ip link add "v$pods" type veth peer name eth0 netns "$(cat "$dir/$1.pid")"
    in_net_of bridge ip link set "v$pods" master bridge0
    in_net_of bridge ip link set "v$pods" up
    in_net_of "$1" ip address add "10.9.0.$pods/24" dev eth0
    in_net_of "$1" ip link set eth0 up
    in_net_of "$1" ip link set lo up
    jq -nc --arg name "$1" --arg ns "$2" --arg ip "10.9.0.$pods" --argjson labels "$3" '{$name, $ns, $ip, $labels}' >> "$dir/pods"
}
address_of() { jq -r --arg name "$1" 'select(.name == $name) | .ip' "$dir/pods"; }

# The rules of a pod, from the policies that select it: nothing but answers comes in unless a rule allows it. A pod that no
# policy selects gets none.
# shellcheck disable=SC2016  # jq's
RULES='
def fits($labels): . as $s | (($s.matchLabels // {}) | to_entries | all($labels[.key] == .value)) and
    (($s.matchExpressions // []) | all(.key as $k | .values as $v | if .operator == "Exists" then $labels | has($k)
        elif .operator == "In" then [$labels[$k]] | inside($v) else error("operator " + .operator) end));
def is_peer($pod; $own): . as $p | if $p | has("ipBlock") then error("ipBlock") else
    (if $p.namespaceSelector then $p.namespaceSelector | fits({"kubernetes.io/metadata.name": $pod.ns}) else $pod.ns == $own end) and
    (if $p.podSelector then $p.podSelector | fits($pod.labels) else true end) end;
[$policies[].items[] | select(.metadata.namespace == $pod.ns and (.spec.podSelector | fits($pod.labels)))] as $mine |
if $mine | length == 0 then empty else
    "add table inet guard",
    "add chain inet guard in { type filter hook input priority 0; policy drop; }",
    "add rule inet guard in iif lo accept",
    "add rule inet guard in ct state established,related accept",
    ($mine[] | .metadata.namespace as $own | .spec.ingress[]? | . as $rule |
        (if $rule.from then $pods[] | select(. as $each | any($rule.from[]; is_peer($each; $own))) | "ip saddr \(.ip) " else "" end) as $who |
        (if $rule.ports then $rule.ports[] | "tcp dport \(.port) " else "" end) as $port |
        "add rule inet guard in \($who)\($port)accept")
end'

# enforce: each pod gets the rules of the policies that the API server has.
enforce() {
    local name
    k get networkpolicies -A -o json > "$dir/policies.json"
    while read -r name; do
        jq -r --slurpfile pods "$dir/pods" --slurpfile policies "$dir/policies.json" -n \
            "(\$pods[] | select(.name == \"$name\")) as \$pod | $RULES" > "$dir/$name.nft"
        in_net_of "$name" nft -f "$dir/$name.nft"
    done < <(jq -r .name "$dir/pods")
}

# reaches FROM TO PORT: the packet reaches the pod (which refuses it), or the rules drop it and nothing comes back.
reaches() {
    local said
    said=$(in_net_of "$1" timeout 3 bash -c "exec 3<> /dev/tcp/$(address_of "$2")/$3" 2>&1) && { echo "somebody listens"; return 1; }
    [[ $said == *refused* ]]
}
may() { reaches "$@" || { echo "does not reach: $*"; cat "$dir/$2.nft"; return 1; }; }
may_not() { ! reaches "$@" || { echo "reaches: $*"; cat "$dir/$2.nft"; return 1; }; }

apply_policies() {
    "$BIN_DIR/helm" template r "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --show-only templates/networkpolicy-daemons.yaml --show-only templates/networkpolicy.yaml \
        --set networkPolicy.operator.enabled=true,networkPolicy.daemons.enabled=true "$@" 2> "$dir/helm.err" | k apply -f - >&2
}
# The labels are those that the operator gives to the pods of a DvmCluster, and the chart to those of the operator.
start_pods() {
    local operator_labels daemon
    operator_labels=$("$BIN_DIR/helm" template r "$repo/charts/dvm-operator" --namespace "$ns" --kube-version "$K8S_VERSION" \
        --show-only templates/deployment.yaml 2> "$dir/helm.err" | k create --dry-run=client -o json -f - | jq -c .spec.template.metadata.labels)
    start_operator
    make_cluster 2
    appears sts/x
    appears sts/x-head
    for daemon in x x-head; do
        new_pod "$daemon" "$ns" "$(kn get sts "$daemon" -o json | jq -c .spec.template.metadata.labels)"
    done
    new_pod y "$ns" "$(jq -c '.["dvm.openpmix.io/cluster"] = "y"' <<< "$(kn get sts x -o json | jq -c .spec.template.metadata.labels)")"
    new_pod manager "$ns" "$operator_labels"
    new_pod impostor other "$operator_labels"
    new_pod stranger "$ns" '{"app": "web"}'
    new_pod client "$ns" '{"run": "prun"}'
}

@test "packets: one policy for each DvmCluster: its daemons and the operator reach its ports, others the probes alone" {
    local port
    start_pods
    may stranger x 7400 # without rules all reach all
    apply_policies --set networkPolicy.daemons.clusters="{x}" \
        --set-json 'networkPolicy.daemons.from=[{"podSelector": {"matchLabels": {"run": "prun"}}}]'
    enforce
    for port in 7400 7443 7480 50000; do
        may x x-head "$port"
        may x-head x "$port"
    done
    for port in 7400 7443 50000; do
        may_not stranger x-head "$port"
        may_not impostor x-head "$port"
        may_not y x "$port"
    done
    may manager x-head 7443
    may_not manager x-head 7400
    may client x-head 7400
    may client x-head 7443
    may_not client x 50000
    may stranger x-head 7480
    may stranger y 7400 # a DvmCluster that is not named has no policy
    may x y 50000
}

@test "packets: one policy for all daemons of a namespace, and the operator's pod shows its probes alone" {
    start_pods
    apply_policies
    enforce
    may y x 7400
    may y x 50000
    may_not stranger y 7400
    may_not client x-head 7400
    may manager y 7443
    may stranger manager 8080
    may_not stranger manager 8081
    may_not x manager 22
    may stranger client 22 # no daemon, no policy
}
