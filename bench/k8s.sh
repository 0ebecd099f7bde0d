#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures a DVM on the test cluster, in a namespace of its own that is removed afterwards; one JSON line per figure.
#
# The cluster has to be up and the images on its nodes (make e2e, or e2e/provider/provider.sh up and e2e/images.sh --load).
# SCALES: number of scalings up and down. SUSPENDED: number of resources without pods, for the operator's memory.
# RUNS: repetitions of each command.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export E2E_NAMESPACE=${E2E_NAMESPACE:-dvm-bench}
# shellcheck source=e2e/lib.bash
. "$here/../e2e/lib.bash"
# shellcheck source=bench/lines.bash
. "$here/lines.bash"
HELPERS=${HELPERS:-$ROOT/build/release/bench}
SCALES=${SCALES:-5}
SUSPENDED=${SUSPENDED:-100}
RUNS=${RUNS:-30}
X=b

dir=$(mktemp -d "${TMPDIR:-/tmp}/dvm-bench-XXXXXX")
at_end() {
    trap '' INT TERM
    stop_background
    remove_namespace "$NS" > /dev/null 2>&1 || true
    rm -rf "$dir"
}
trap at_end EXIT
trap 'exit 130' INT TERM

now_ms() { local t=${EPOCHREALTIME/[.,]/}; printf '%s' $((t / 1000)); }

# --- watches, each line with the milliseconds at which it came

stamp() {
    local line t
    while IFS= read -r line; do
        t=${EPOCHREALTIME/[.,]/}
        printf '%s %s\n' $((t / 1000)) "$line"
    done
}
# watch NAME ARGUMENT…: of kubectl, in the background, into $dir/NAME.
watch() {
    local name=$1
    shift
    setpriv --pdeathsig TERM timeout --kill-after=10 900 kubectl --namespace "$NS" "$@" > >(stamp > "$dir/$name") &
    BACKGROUND+=($!)
}
start_watches() {
    watch pods get pods -w --output-watch-events --no-headers
    watch resource get dvm "$X" -w -o \
        'jsonpath={.spec.replicas} {.status.replicas} {.status.readyReplicas} {.status.lastCampaign.id}{"\n"}'
    watch events exec "$X-head-0" -- pstat --watch-events --json
}
# since NAME T0 PATTERN: milliseconds from T0 to the first (FIRST=1) or last line since then that matches.
since() {
    awk -v t0="$2" -v pattern="$3" -v first="${FIRST:-0}" '$1 >= t0 && $0 ~ pattern && !(first && t) {t = $1}
        END {if (t) print t - t0; else print "null"}' "$dir/$1"
}

# --- scaling, seen from outside

down() {
    local t0
    t0=$(now_ms)
    scale 2 > /dev/null
    echo $(($(now_ms) - t0)) >> "$dir/down.kubectl"
    settled 2
    eventually 60 "the pods are gone" pods_are 2
    since events "$t0" CampaignAccepted >> "$dir/down.accepted"
    since events "$t0" DaemonDeparted >> "$dir/down.departed"
    since events "$t0" CampaignComplete >> "$dir/down.complete"
    FIRST=1 since resource "$t0" '^[0-9]+ 2 2 2 ' >> "$dir/down.status"
    since pods "$t0" DELETED >> "$dir/down.pods_gone"
}
up() {
    local t0
    t0=$(now_ms)
    scale 4 > /dev/null
    settled 4
    since events "$t0" DaemonWired >> "$dir/up.wired"
    FIRST=1 since resource "$t0" '^[0-9]+ 4 4 4 ' >> "$dir/up.status"
}
pods_are() { equal pods "$(member_uids "$X" | wc -w)" "$1"; }

# tell_scale FROM TO NAME…: medians of what down() and up() wrote.
tell_scale() {
    local way=$1 what
    local -a fields=(way "$1" from "$2" to "$3" runs "$SCALES")
    shift 3
    for what in "$@"; do fields+=("${what}_ms" "$(grep -v null "$dir/$way.$what" | median)"); done
    emit scale "${fields[@]}"
}

# --- memory of processes in pods

# pod_memory POD PROGRAM INIT
pod_memory() {
    local pid
    pid=$(container_pid "$1" "$2" "$3")
    on_node "$(node_of "$1")" cat "/proc/$pid/smaps_rollup" |
        awk '/^Rss:/ {rss = $2} /^Pss:/ {pss = $2} /^Private_(Clean|Dirty):/ {private += $2}
            END {printf "{\"rss_kib\": %d, \"pss_kib\": %d, \"private_kib\": %d}", rss, pss, private}'
}
tell_operator() { emit operator clusters "$1" memory "$(pod_memory "$(operator_pod)" dvm-operator 1)"; }

suspended_yaml() {
    local i
    for ((i = 0; i < SUSPENDED; i++)); do
        printf -- '---\napiVersion: dvm.openpmix.io/v1alpha1\nkind: DvmCluster\nmetadata: {name: s%d, labels: {bench: suspended}}\n' "$i"
        printf 'spec: {replicas: 4, suspend: true, image: "dvm-daemon:dev"}\n'
    done
}
all_suspended() {
    local n
    n=$(k get dvm -l bench=suspended -o json | jq '[.items[] | select(any(.status.conditions[]?; .type == "Suspended" and .status == "True"))] | length')
    equal suspended "$n" "$SUSPENDED"
}

# --- jobs: time of kubectl exec, and time of prun inside the pod

execs() {
    local key=$1
    shift
    timeout --kill-after=10 300 "$HELPERS/launcher" -n "$RUNS" -w 2 -k bench=exec -k "what=$key" -- \
        kubectl --namespace "$NS" exec "$X-head-0" -- "$@"
}
# inside NAME COMMAND…: mean of 100 runs in the head's pod, including the shell's time to start a process.
inside() {
    local key=$1 out
    shift
    # shellcheck disable=SC2016  # expanded in the pod
    out=$(in_head bash -c 'for i in {1..5}; do "$@"; done > /dev/null; t0=${EPOCHREALTIME/./}
        for i in {1..100}; do "$@"; done > /dev/null; t1=${EPOCHREALTIME/./}; echo $((t1 - t0))' inside "$@")
    emit inside what "$key" runs 100 mean_ms "$(awk "BEGIN {print $out / 100 / 1000}")"
}

eval "$(provider env)"
export PATH KUBECONFIG DOCKER_HOST
make_namespace "$NS"
install_chart "$NS"
tell_operator 0
cluster_yaml "$X" 4 | k apply -f - > /dev/null
settled 4 "$X" 180
tell_operator 1
emit daemon of head memory "$(pod_memory "$X-head-0" prted 0)" spawner "$(pod_memory "$X-head-0" dvm-spawner 1)"
emit daemon of member memory "$(pod_memory "$X-1" prted 0)" spawner "$(pod_memory "$X-1" dvm-spawner 1)"
start_watches
execs true true
execs "prun -n 1" prun -n 1 true
execs "prun -n 4 by node" prun -n 4 --map-by node true
inside true /bin/true
inside "prun -n 1" prun -n 1 true
inside "prun -n 4 by node" prun -n 4 --map-by node true
for ((i = 0; i < SCALES; i++)); do
    down
    up
done
tell_scale down 4 2 kubectl accepted complete departed status pods_gone
tell_scale up 2 4 wired status
suspended_yaml | k apply -f - > /dev/null
eventually 300 "all are suspended" all_suspended
tell_operator $((SUSPENDED + 1))
