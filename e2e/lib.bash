# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scenarios: the cluster under test, waits with a deadline, jobs, and the files that a failure leaves.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OUT=${E2E_OUT:-$ROOT/build/e2e}
NS=${E2E_NAMESPACE:-dvm-e2e}
X=x # the DvmCluster that most scenarios share
AUDIT_LOG=/var/log/kubernetes/audit.log
BACKGROUND=() # process groups that a test has started

say() { printf '%s\n' "$*" >&2; }
# Every call has a deadline, which is longer than any --timeout.
kubectl() { timeout --foreground --kill-after=10 "${LIMIT:-150}" kubectl "$@"; }
helm() { timeout --foreground --kill-after=10 200 helm "$@"; }
k() { LIMIT=${LIMIT:-90} kubectl --namespace "$NS" "$@"; }
provider() { "$ROOT/e2e/provider/provider.sh" "$@"; }
on_node() { timeout --kill-after=10 120 "$ROOT/e2e/provider/provider.sh" exec-node "$@" < /dev/null; }

# fail TEXT…: ends the test with a reason.
fail() {
    printf 'FAILED: %s\n' "$*"
    return 1
}

# equal WHAT FOUND EXPECTED
equal() { [ "$2" = "$3" ] || fail "$1 is '$2', expected '$3'"; }

# --- waits: by kubectl wait where it can, otherwise by this function, the only one that sleeps

# eventually SECONDS WHAT COMMAND…: COMMAND succeeds before the deadline; otherwise its last output is printed.
eventually() {
    local limit=$((SECONDS + $1)) seconds=$1 what=$2 said=
    shift 2
    until said=$("$@" 2>&1); do
        if [ "$SECONDS" -ge "$limit" ]; then
            fail "not within $seconds s: $what${said:+ ($said)}"
            return 1
        fi
        sleep 0.25
    done
}

# --- namespaces and the operator

# make_namespace NAME: with the restricted level; a namespace of that name that is being deleted is waited for.
make_namespace() {
    if [ "$(kubectl get namespace "$1" --ignore-not-found -o jsonpath='{.status.phase}')" = Terminating ]; then
        kubectl wait --for=delete "namespace/$1" --timeout=120s
    fi
    kubectl create namespace "$1" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
    kubectl label --overwrite namespace "$1" pod-security.kubernetes.io/enforce=restricted > /dev/null
}

# install_chart NAMESPACE [OPTION…]: installs or upgrades; helm installs the CRD of a chart but does not change it later.
install_chart() {
    local ns=$1
    shift
    kubectl apply --server-side --force-conflicts -f "$ROOT/crds" > /dev/null
    helm upgrade --install dvm-operator "$ROOT/charts/dvm-operator" --namespace "$ns" --set image.tag=dev,metricsAccess=all \
        --set daemonImage=dvm-daemon:dev --wait --timeout 2m "$@" > /dev/null
}

# remove_namespace NAME: deletes the resources first, while an operator can end them in order.
remove_namespace() {
    # A pod that is still ending would make the namespace's controller wait for half of the pod's grace.
    if ! kubectl --namespace "$1" delete dvm --all --cascade=foreground --timeout=90s; then
        say "pods of $1 did not end in time, they are removed by force"
        kubectl --namespace "$1" delete pods --all --force --grace-period=0 || true
    fi
    helm uninstall dvm-operator --namespace "$1" --ignore-not-found --wait --timeout 1m || true
    kubectl delete namespace "$1" --ignore-not-found --timeout=120s
}

# --- the cluster under test

# cluster_yaml NAME REPLICAS: small pods, so that five members and a head fit on three small nodes.
cluster_yaml() {
    cat << YAML
apiVersion: dvm.openpmix.io/v1alpha1
kind: DvmCluster
metadata:
  name: $1
spec:
  replicas: $2
  slotsPerDaemon: 2
  image: dvm-daemon:dev
  head:
    resources:
      requests: {cpu: 10m, memory: 32Mi}
  template:
    metadata:
      labels: {e2e: $NS}
    spec:
      containers:
      - name: prted
        resources:
          requests: {cpu: 10m, memory: 48Mi}
YAML
}

# dvm PATH [NAME]: a field of the resource, by jq; "null" if it is absent.
dvm() { k get dvm "${2:-$X}" -o json | jq -r "$1"; }

# condition TYPE [FIELD [NAME]]
condition() { dvm ".status.conditions[]? | select(.type == \"$1\") | .${2:-status}" "${3:-$X}"; }

# is_settled N [NAME]: the resource has N members and needs no action.
is_settled() {
    k get dvm "${2:-$X}" -o json | jq -e --argjson n "$1" '
        def condition(t): (.status.conditions // [])[] | select(.type == t) | .status;
        .status.observedGeneration == .metadata.generation and .spec.replicas == $n and
        .status.replicas == $n and (.status.readyReplicas // 0) == $n and .status.desiredReplicas == $n and
        .status.campaign == null and (condition("Available") == "True") == ($n > 0) and condition("Ready") == "True" and condition("Resizing") == "False"' > /dev/null ||
        { k get dvm "${2:-$X}" -o json | jq -c '{generation: .metadata.generation, spec: .spec.replicas,
            status: .status | del(.conditions, .lastCampaign), conditions: [.status.conditions[]? | "\(.type)=\(.status) \(.reason): \(.message)"]}'; false; }
}
settled() { eventually "${3:-120}" "$1 members, Available, at rest" is_settled "$1" "${2:-$X}"; }

scale() { k scale "dvm/${2:-$X}" --replicas="$1"; }

# have N: brings the shared cluster to N members at rest, whatever its state.
have() {
    cluster_yaml "$X" "$1" | k apply -f - > /dev/null
    k patch dvm "$X" --type merge --patch '{"spec": {"suspend": false}}' > /dev/null
    settled "$1" "$X" "${2:-180}"
}

# shrinking PHASE: the status has a campaign in that phase.
has_phase() { equal "the campaign's phase" "$(dvm .status.campaign.phase)" "$1"; }

replicas_of() { k get statefulset "$1" -o jsonpath='{.spec.replicas}'; }
# name=uid of each member's pod, in order.
member_uids() { k get pods -l "dvm.openpmix.io/cluster=${1:-$X},dvm.openpmix.io/role=member" -o json |
    jq -r '.items[] | "\(.metadata.name)=\(.metadata.uid)"' | sort -V | xargs; }
uid_of() { k get pod "$1" -o jsonpath='{.metadata.uid}'; }
node_of() { k get pod "$1" -o jsonpath='{.spec.nodeName}'; }
operator_pod() { k get pods -l app.kubernetes.io/name=dvm-operator --field-selector=status.phase=Running -o jsonpath='{.items[0].metadata.name}'; }

# --- the DVM

in_head() { k exec "$X-head-0" -- "$@"; }
pstat() { in_head pstat --json; }
# pod_metric POD PORT NAME: one value of a plain port, through the API server.
pod_metric() {
    kubectl get --raw "/api/v1/namespaces/$NS/pods/$1:$2/proxy/metrics" | awk -v name="$3" '$1 == name {print $2}'
}
repairs_of() { pod_metric "$1" 7480 dvm_tree_repairs_total; }

# A random number for a job to compute with.
draw_seed() { od -An -N4 -tu4 /dev/urandom | tr -d ' '; }

# word SEED RANK I: the value of this rank of examples/mpi_coll.c at index I (splitmix64, wrapping 64-bit), in $word.
word() {
    local z=$(($1 + 0x9e3779b97f4a7c15 * ($2 * 64 + $3 + 1)))
    z=$(((z ^ ((z >> 30) & 0x3ffffffff)) * 0xbf58476d1ce4e5b9))
    z=$(((z ^ ((z >> 27) & 0x1fffffffff)) * 0x94d049bb133111eb))
    word=$((z ^ ((z >> 31) & 0x1ffffffff)))
}

# coll_result SEED SIZE: the number that mpi_coll must print, computed without MPI.
coll_result() {
    local seed=$1 size=$2 word result sum=0 xor=0 third=0 all=0 r
    word "$seed" $((seed % size)) 0
    result=$word
    for ((r = 0; r < size; r++)); do
        word "$seed" "$r" 0; sum=$((sum + word))
        word "$seed" "$r" 1; xor=$((xor ^ word))
        word "$seed" "$r" 2; third=$((third + word))
    done
    for ((r = 0; r < size; r++)); do all=$((all ^ (third + r * size))); done
    printf '%u' "$((((result * 31 + sum) * 31 + xor) * 31 + all))"
}

# mpi_over N [POD [NODES]]: one rank on each of N members, on as many pods, on at least so many nodes.
mpi_over() {
    local n=$1 pod=${2:-$X-head-0} atleast=${3:-1} seed out pods nodes
    seed=$(draw_seed)
    out=$(k exec "$pod" -- prun -n "$n" --map-by node mpi_coll "$seed") || fail "prun: $? $out" || return 1
    equal "the result of mpi_coll" "$out" "coll: size=$n seed=$seed result=$(coll_result "$seed" "$n") ok" || return 1
    out=$(k exec "$pod" -- prun -n "$n" --map-by node mpi_hello) || fail "prun: $? $out" || return 1
    pods=$(awk '/^hello from rank [0-9]+ of/ {print $NF}' <<< "$out" | sort -u)
    equal "the number of pods in: $out" "$(wc -w <<< "$pods")" "$n" || return 1
    nodes=$(for pod in $pods; do node_of "$pod"; echo; done | sort -u | wc -w)
    [ "$nodes" -ge "$atleast" ] || fail "only $nodes nodes for: $pods"
}

# --- processes beside a test; each ends with the process that started it, however that ends

# background NAME COMMAND…: its output is in $BATS_TEST_TMPDIR/NAME, its process id in the variable NAME_pid.
background() {
    local name=$1
    shift
    setpriv --pdeathsig TERM "$@" > "$BATS_TEST_TMPDIR/$name" 2>&1 3>&- &
    BACKGROUND+=($!)
    printf -v "${name}_pid" %d $!
}

# ended NAME SECONDS: its exit code; not 0 if it has not ended in time.
ended() {
    local pid=${1}_pid
    pid=${!pid}
    eventually "$2" "$1 ends" has_ended "$pid" || return 1
    wait "$pid"
}
has_ended() { ! kill -0 "$1" 2> /dev/null || [ "$(ps -o state= -p "$1" | tr -d ' ')" = Z ]; }
said() { cat "$BATS_TEST_TMPDIR/$1"; }

# hold NAME VPIDS: a job with one rank on each of the daemons, which `release NAME` ends.
hold() {
    local name=$1 vpids=$2 n fifo=$BATS_TEST_TMPDIR/$1.in
    n=$(tr ',' '\n' <<< "$vpids" | wc -l)
    mkfifo "$fifo"
    # shellcheck disable=SC2016  # expanded by those shells
    background "$name" sh -c 'exec kubectl --namespace "$1" exec -i "$2" -- prun -n "$3" --host "$4" --map-by node --stdin all --verbose cat < "$5"' \
        hold "$NS" "${3:-$X-head-0}" "$n" "$vpids" "$fifo"
    # Keeps the job's input open; the job ends with its input.
    # shellcheck disable=SC2016
    background "${name}_input" sh -c 'exec > "$1"; echo held; exec sleep infinity' input "$fifo"
    # Each rank has read and written, so it runs.
    eventually 60 "$name runs on $vpids" echoed "$name" "$n" || { said "$name"; return 1; }
}
echoed() { [ "$(grep -cx held "$BATS_TEST_TMPDIR/$1")" = "$2" ]; }
release() {
    local pid=${1}_input_pid
    kill -TERM "${!pid}"
}
# released NAME: ends the job and checks its exit code.
released() {
    release "$1"
    ended "$1" 60 || { said "$1"; fail "the job $1 ended badly"; }
}

# --- the audit log of the API server

control_plane() { provider nodes | awk '/control-plane/ && !n++'; }
audit_size() { on_node "$(control_plane)" stat -c %s "$AUDIT_LOG"; }
# audit OFFSET FILTER: entries since the offset, by jq.
audit() { on_node "$(control_plane)" tail -c "+$(($1 + 1))" "$AUDIT_LOG" | jq -c --arg ns "$NS" "select(.objectRef.namespace == \$ns) | $2"; }

# --- processes on the nodes

# container_pid POD PROGRAM INIT: its process id on its node; INIT: 1 for the container's first process only.
container_pid() {
    # shellcheck disable=SC2016  # expanded on the node
    on_node "$(node_of "$1")" bash -c '
        for status in /proc/[0-9]*/status; do
            pid=${status#/proc/}; pid=${pid%/status}
            grep -qE "$1|${1//-/_}" "/proc/$pid/cgroup" 2> /dev/null || continue
            [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = "$2" ] || continue
            inner=$(awk "/^NSpid:/ {print \$NF}" "$status")
            if [ "$3" = 1 ] && [ "$inner" != 1 ]; then continue; fi
            if [ "$3" = 0 ] && [ "$inner" = 1 ]; then continue; fi
            echo "$pid"
        done' find "$(uid_of "$1")" "$2" "$3" | awk 'NR == 1'
}
# kill_from_outside POD PROGRAM [INIT]: SIGKILL from the node; the first process of a container can ignore others.
kill_from_outside() {
    local pid
    pid=$(container_pid "$1" "$2" "${3:-1}")
    [ -n "$pid" ] || fail "no process $2 of $1 on its node" || return 1
    on_node "$(node_of "$1")" kill -KILL "$pid"
}
restarts_of() { k get pod "$1" -o jsonpath='{.status.containerStatuses[0].restartCount}'; }
has_restarted() { [ "$(restarts_of "$1")" -gt "$2" ] || fail "$(restarts_of "$1") restarts"; }

# --- nodes that hang

# signal_pod SIGNAL NODE UID: to all processes of the pod, from its node.
signal_pod() {
    # shellcheck disable=SC2016  # expanded on the node
    on_node "$2" bash -c '
        for dir in /proc/[0-9]*; do
            if grep -qE "$2|${2//-/_}" "$dir/cgroup" 2> /dev/null; then kill -"$1" "${dir#/proc/}"; echo "${dir#/proc/}"; fi
        done' signal "$1" "$3"
}
node_is() { equal "Ready of $1" "$(kubectl get node "$1" -o json | jq -r '.status.conditions[] | select(.type == "Ready") | .status')" "$2"; }

# leave_alone NODE POD: the operator and other pods of the DVM, of three members, are on other nodes.
leave_alone() {
    local pod
    kubectl cordon "$1" > /dev/null
    if [ "$(node_of "$(operator_pod)")" = "$1" ]; then
        k delete pod "$(operator_pod)" --timeout=60s
        k rollout status deployment/dvm-operator --timeout=60s > /dev/null
    fi
    for pod in "$X-head-0" "$X-1" "$X-2" "$X-3"; do
        if [ "$pod" != "$2" ] && [ "$(node_of "$pod")" = "$1" ]; then k delete pod "$pod" --timeout=60s; fi
    done
    settled 3
}

# hang_node NODE UID: its kubelet and the processes of that pod stop; sets hung_node and hung, the processes of the pod.
hang_node() {
    hung_node=$1
    kubelet=$(on_node "$1" pidof kubelet)
    on_node "$1" kill -STOP "$kubelet"
    mapfile -t hung < <(signal_pod STOP "$1" "$2")
    [ "${#hung[@]}" -gt 0 ] || fail "no process of the pod $2 on $1"
}
# wake_node: its kubelet goes on.
wake_node() {
    on_node "$hung_node" kill -CONT "$kubelet"
    eventually 60 "the node is back" node_is "$hung_node" True
}
# shellcheck disable=SC2016  # expanded on the node
hung_are_gone() { on_node "$hung_node" sh -c 'for pid; do [ ! -e "/proc/$pid" ] || exit 1; done' gone "${hung[@]}"; }
uncordon() { kubectl get nodes -o name | xargs timeout --kill-after=10 60 kubectl uncordon > /dev/null; }
# end_hang: for a teardown.
end_hang() {
    if [ -n "${kubelet:-}" ]; then on_node "$hung_node" kill -CONT "$kubelet" "${hung[@]}" || true; fi
    uncordon
}

# --- setup and teardown that scenarios call

remember_start() {
    TEST_AUDIT=0
    if [ "${PROVIDER:-kind}" = kind ]; then TEST_AUDIT=$(audit_size); fi
}

stop_background() {
    local pid
    for pid in "${BACKGROUND[@]}"; do kill -TERM "$pid" 2> /dev/null || true; done
    for pid in "${BACKGROUND[@]}"; do wait "$pid" 2> /dev/null || true; done
    BACKGROUND=()
}

# keep_failure: writes the files that help to understand a failed test.
keep_failure() {
    local dir
    dir=$OUT/$(basename "$BATS_TEST_FILENAME" .bats)/$BATS_TEST_NUMBER
    rm -rf "$dir"
    mkdir -p "$dir"
    printf '%s\n' "$BATS_TEST_DESCRIPTION" > "$dir/test"
    k get dvm -o yaml > "$dir/dvm.yaml" 2>&1 || true
    k describe dvm > "$dir/describe" 2>&1 || true
    k get all,secrets,pdb -o wide > "$dir/objects" 2>&1 || true
    k get pods -o yaml > "$dir/pods.yaml" 2>&1 || true
    k get events --sort-by=.lastTimestamp > "$dir/events" 2>&1 || true
    kubectl get nodes -o wide > "$dir/nodes" 2>&1 || true
    LIMIT=10 k exec "$X-head-0" -- pstat > "$dir/pstat" 2>&1 || true
    LIMIT=10 k exec "$X-head-0" -- pstat --json > "$dir/pstat.json" 2>&1 || true
    cp -r "$OUT/recorded" "$dir/" 2> /dev/null || true
    find "$BATS_TEST_TMPDIR" -maxdepth 1 -type f -exec cp -t "$dir" {} + || true
    if [ "${PROVIDER:-kind}" = kind ]; then audit "${TEST_AUDIT:-0}" . > "$dir/audit.log" 2>&1 || true; fi
    say "kept in ${dir#"$ROOT"/}"
}

setup() { remember_start; }
teardown() {
    if [ "${BATS_TEST_COMPLETED:-}" != 1 ] && [ -z "${BATS_TEST_SKIPPED:-}" ]; then keep_failure; fi
    stop_background
}
