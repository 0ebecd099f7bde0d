#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The demo on Kubernetes: a cluster, the operator, a DVM, an MPI job, and kubectl scale while it runs. All stay for use.
set -euo pipefail
# shellcheck source=demo/tell.bash
. "$(dirname "${BASH_SOURCE[0]}")/tell.bash"
# shellcheck source=demo/kube.bash
. "$ROOT/demo/kube.bash"
cd "$ROOT"

IN_CLUSTER='' # set when the demo has created an object in the cluster
# A job ends with the pod of its prun: a member's, so that the head may move.
MEMBER=(kubectl exec demo-1 --)

on_exit() {
    local rc=$?
    trap '' INT TERM HUP
    end_groups
    if [ "$rc" -gt 128 ] && [ -n "$IN_CLUSTER" ]; then
        printf '\nstopped: removing the namespace %s\n' "$NS" >&2
        remove_all || true
    elif [ "$rc" != 0 ] && [ -n "$IN_CLUSTER" ]; then
        printf 'The objects are kept for inspection; make demo-down removes them.\n' >&2
    fi
    rm -f "${MINE:-}"
}
trap on_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# typed TEXT NAME COMMAND…: prints the command, then runs it as a long step.
typed() {
    local text=$1 name=$2
    shift 2
    printf '  %s$ %s%s\n' "$BOLD" "$(words "$@")" "$PLAIN"
    long "  $text" "$name" "$@"
}

# note_made: if there is no cluster yet, the one that comes is ours, and demo-down removes it.
note_made() {
    if (eval "$(provider env)" && timeout 10 kubectl get --raw /readyz) > /dev/null 2>&1; then return; fi
    mkdir -p "${MADE%/*}"
    touch "$MADE"
    say "  The first time this takes some 20 minutes on two cores. Ctrl-C stops it; the next start goes on from there."
}

# The cluster comes from Kubernetes' programs, which compile, the images mostly from packages, which are fetched.
cluster() {
    if [ "$PROVIDER" = kind ]; then
        as_seen "packages" deps "$ROOT/e2e/provider/deps.sh" --packages
        note_made
    fi
    step "the cluster is up" cluster "$ROOT/e2e/provider/provider.sh" up
    step "the images of the operator and the daemons are built" images "$ROOT/e2e/images.sh"
    finish
    eval "$(provider env)"
    long "the images are on the nodes" load "$ROOT/e2e/provider/provider.sh" load dvm-operator:dev dvm-daemon:dev
    # A kubeconfig of the demo's own has the namespace as default, so the commands below are short.
    MINE=$(mktemp "${TMPDIR:-/tmp}/dvm-demo-kubeconfig.XXXXXX")
    kubectl config view --raw --minify --flatten > "$MINE"
    export KUBECONFIG=$MINE
    kubectl config set-context --current --namespace "$NS" > /dev/null
}

# Removes the DVM of an earlier run.
fresh_namespace() {
    IN_CLUSTER=1
    if [ "$(kubectl get namespace "$NS" --ignore-not-found -o jsonpath='{.status.phase}')" = Terminating ]; then
        long "namespace $NS of an earlier run is deleted" gone kubectl wait --for=delete "namespace/$NS" --timeout=120s
    fi
    if kubectl get dvm demo > /dev/null 2>&1; then
        long "the DVM of an earlier run is deleted" gone kubectl delete dvm demo --timeout=90s
        long "its pods have ended" gone kubectl wait --for=delete pod -l dvm.openpmix.io/cluster=demo --timeout=90s
    fi
    if ! kubectl get namespace "$NS" > /dev/null 2>&1; then show kubectl create namespace "$NS"; fi
    show kubectl label --overwrite namespace "$NS" pod-security.kubernetes.io/enforce=restricted | grep -v 'not labeled'
}

# A rebuilt image has the same tag: its id in an annotation causes a new pod.
image_id() { "${BUILDER:-docker}" image inspect --format '{{.Id}}' dvm-operator:dev 2> /dev/null | cut -c8-19 || true; }

operator() {
    show kubectl apply --server-side --force-conflicts -f crds
    typed "the operator runs" helm helm upgrade --install dvm-operator charts/dvm-operator --namespace "$NS" \
        --set image.tag=dev --set daemonImage=dvm-daemon:dev --set-string "podAnnotations.image=$(image_id)" \
        --wait --timeout 2m
}

scale_down() {
    local from
    say "  A job starts on all four; each rank works for three seconds, then all communicate by MPI:"
    printf '  %s$ %s%s\n' "$BOLD" "${MEMBER[*]} prun -n 4 --map-by node --verbose sh -c 'sleep 3; exec mpi_coll 42' &" "$PLAIN"
    group job timeout --kill-after=10 120 "${MEMBER[@]}" prun -n 4 --map-by node --verbose sh -c 'sleep 3; exec mpi_coll 42'
    local job=$GROUP
    job_runs
    from=$EPOCHREALTIME
    show kubectl scale dvm/demo --replicas=2
    kubectl wait --for=jsonpath='{.status.campaign.phase}'=Draining dvm/demo --timeout=20s > /dev/null 2>&1 || true
    say "  The DVM waits for the job, and the operator waits for the DVM: no pod is removed yet."
    show kubectl get dvm demo
    show kubectl get dvm demo -o jsonpath='{.status.conditions[?(@.type=="Resizing")].message}{"\n"}'
    show kubectl get pods
    joined "$job" || fail "the job failed during the resize: $(cat "$LOGS/job.log")"
    say "  The job ended with its result:"
    show grep coll: "${LOGS#"$ROOT"/}/job.log"
    typed "the campaign has ended" campaign kubectl wait --for='jsonpath={.status.lastCampaign.phase}=Complete' dvm/demo --timeout=60s
    typed "both pods are removed" pods kubectl wait --for=delete pod/demo-3 pod/demo-4 --timeout=90s
    say "  From kubectl scale to the end of the last pod: $(since "$from") s; most of it is the wait for the job."
}

# The campaign in the status, in milliseconds since it was recorded.
time_line() {
    printf '  %s$ %s%s\n' "$BOLD" "kubectl get dvm demo -o jsonpath='{.status.lastCampaign}'" "$PLAIN"
    kubectl get dvm demo -o json | jq -r '
        def ms: capture("(?<s>[^.]*)([.](?<f>[0-9]+))?Z") | ((.s + "Z" | fromdate) * 1000 + (((.f // "0") + "000")[0:3] | tonumber));
        .status.lastCampaign as $c | ($c.recordedTime | ms) as $zero |
        "    campaign \($c.id): \($c.kind) of vpids \($c.targets | map(tostring) | join(", ")), \($c.phase)",
        ([["recordedTime", "recorded in the status, before any action"], ["acceptedTime", "accepted by the head"],
          ["drainedTime", "no rank runs on the leaving daemons"], ["fenceTime", "launches are held, and one broadcast is sent"],
          ["completeTime", "removed from routes, membership and mapping"], ["appliedTime", "the StatefulSet is reduced"]][] |
         select($c[.[0]]) | "    \("        \(($c[.[0]] | ms) - $zero)"[-8:]) ms  \(.[1])")'
}

how_to_go_on() {
    say
    say "Done in $(since "$STARTED") s. The DVM runs, and you can use it:"
    say "$(provider env | head -n 1 | sed 's/^/  /')"
    say "  kubectl -n $NS exec demo-1 -- prun mpi_hello"
    say "  kubectl -n $NS scale dvm/demo --replicas=3"
    say "  kubectl -n $NS describe dvm demo"
    say "  kubectl -n $NS exec demo-1 -- pstat"
    say "To remove it: make demo-down"
}

chapter "1. A Kubernetes cluster ($PROVIDER), and two images"
cluster

chapter "2. The operator, in a namespace that accepts only pods of the restricted level"
fresh_namespace
operator

chapter "3. A DVM: a head and four members"
say "  (From here on $NS is kubectl's default namespace.)"
show kubectl apply -f demo/dvm.yaml
typed "all four members are wired" ready kubectl wait --for=condition=Ready dvm/demo --timeout=120s
show kubectl get pods -o 'custom-columns=POD:.metadata.name,READY:.status.containerStatuses[0].ready,NODE:.spec.nodeName'
show "${MEMBER[@]}" pstat tree

chapter "4. A real MPI program, one rank on each member"
show "${MEMBER[@]}" prun -n 4 --map-by node mpi_hello
show "${MEMBER[@]}" prun -n 4 --map-by node mpi_coll 4711

chapter "5. Four members become two, while a job runs on all four"
scale_down
say "  One shrink campaign, as the status shows it:"
time_line
show kubectl events --for dvmcluster/demo
show "${MEMBER[@]}" pstat tree

chapter "6. Two become four again"
show kubectl scale dvm/demo --replicas=4
typed "four members are wired" grown kubectl wait --for='jsonpath={.status.readyReplicas}=4' dvm/demo --timeout=60s
show "${MEMBER[@]}" prun -n 4 --map-by node mpi_coll 4711
how_to_go_on
