#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator against a real kube-apiserver and etcd through a proxy that makes its requests fail (faultproxy.c). Each
# test asserts the end state, the number of requests, and that objects of others were not touched.

# shellcheck disable=SC2154,SC2030,SC2031,SC2034  # set by or for lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }

setup() {
    new_namespace
    start_proxy
    bystanders
}

teardown() { end_programs; }

plain() { curl --noproxy '*' -s -m 10 "http://127.0.0.1:$plain_port/$1"; }
with_plain_port() {
    plain_port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    metrics_addr=127.0.0.1:$plain_port
}
# paced: no cluster had as many passes in a second as one may have.
paced() { plain metrics | grep -qx 'dvm_operator_passes_held_total 0'; }
ready() { [[ $(plain readyz) == ok* ]]; }
not_ready() { [[ $(plain readyz) == "the API server has been silent for too long"* ]]; }

@test "quiet: each request through the proxy begins the two seconds anew" {
    local order=$dir/order proxied
    proxied=127.0.0.1:$(sed -n 's/^PROXY=//p' "$dir/proxy/ports")
    { quiet && echo quiet >> "$order"; } &
    for _ in {1..30}; do # for three seconds at least
        curl --noproxy '*' -sf -m 10 -o /dev/null "http://$proxied/version"
        echo request >> "$order"
        sleep 0.1
    done
    wait $!
    [ "$(tail -n 1 "$order")" = quiet ]
    [ "$(wc -l < "$order")" = 31 ]
}

@test "silent watch: a watch on which no byte arrives is opened anew, and a change is not missed" {
    operator_args=(--watch-silence 3)
    running 2
    quiet
    proxy silent
    proxy forget
    scale 4
    becomes '{.spec.replicas}' 4 sts/x
    becomes '{.status.readyReplicas}' 4
    # Each of the five watches was opened anew at least once, and none of them in a loop.
    [ "$(requests 'dvmclusters\?watch=1')" -ge 1 ]
    [ "$(requests 'watch=1')" -le 100 ]
    [ "$(requests '^(PUT|PATCH|POST)')" -le 12 ]
}

@test "silent API server: the plain port says so, and that it is over" {
    operator_args=(--watch-silence 2)
    with_plain_port
    running 1
    until_true 30 ready
    [[ $(plain metrics) == *'dvm_operator_watch_age_seconds{collection="pods"} '* ]]
    [[ $(plain readyz) == *"watch statefulsets: heard "*" s ago"* ]]
    proxy 'fault?kind=hang&match=watch=1'
    proxy silent
    until_true 60 not_ready
    proxy mend
    until_true 60 ready
}

@test "stale 409: after a conflict the object is read, and the next try succeeds" {
    running 2
    quiet
    proxy 'silent?on=2'
    kn annotate dvm x a=b >&2
    kn label service x-head c=d >&2
    proxy forget
    first=$(status_of '{.status.size.sequence}')
    order 'lower?n=1'
    later() { [ "$(status_of '{.status.size.sequence}')" -gt "$first" ]; }
    until_true 30 later
    [ "$(status_of '{.metadata.annotations.a}')" = b ]
    quiet
    [ "$(requests 'PUT .*/dvmclusters/x/status')" -le 5 ]
    [ "$(requests 'GET .*/dvmclusters/x ')" -eq 1 ]
}

# --- few requests

@test "a new object: each of its objects is created by one request, and none is looked for" {
    start_operator
    quiet
    proxy forget
    make_cluster 2
    until_true 60 exists sts/x
    quiet
    passed | grep -v watch=1
    [ "$(requests '^GET .*/x')" -eq 0 ]
    [ "$(requests '^POST .*/secrets')" -eq 5 ]
    [ "$(requests '^PATCH .*/(services|poddisruptionbudgets|statefulsets)/x')" -eq 6 ]
    # A dry run for head and members each, and the status: the second one of the same template has no dry run.
    [ "$(requests '^POST .*/pods')" -eq 2 ]
    [ "$(requests '^PUT .*/dvmclusters/x/status')" -eq 1 ]
    [ "$(requests .)" -eq 14 ]
    proxy forget
    kn get dvm x -o json | jq 'del(.status) | .metadata = {name: "y"}' | kn apply -f - >&2
    until_true 60 exists sts/y
    quiet
    [ "$(requests '^POST .*/pods')" -eq 0 ]
    [ "$(requests .)" -eq 12 ] # five Secrets, six other objects, one status
}

# make_clusters N: creates c1 to cN by one request of the test for each.
make_clusters() {
    jq -n --argjson n "$1" '{apiVersion: "v1", kind: "List", items: [range($n) | {apiVersion: "dvm.openpmix.io/v1alpha1",
        kind: "DvmCluster", metadata: {name: "c\(. + 1)"}, spec: {replicas: 2, image: "example.test/daemon:1"}}]}' | kn apply -f - >&2
}
are_made() { [ "$(requests '^PUT .*/dvmclusters/c[0-9]+/status')" -ge "$1" ]; }
# most_unfinished: the largest number of clusters that had a Secret and no status, by the order of the requests.
most_unfinished() {
    passed | awk '/^POST .*\/secrets/ { posts++ } /^PUT .*\/dvmclusters\/c[0-9]+\/status/ { done[$2] = 1 }
        { n = posts / 5 - length(done); most = n > most ? n : most } END { print int(most + 0.9) }'
}

@test "breadth: new clusters are finished one after the other by 12 requests each" {
    with_plain_port
    start_operator
    quiet
    proxy forget
    proxy 'delay?min=50&max=150'
    make_clusters 30
    until_true 120 are_made 30
    proxy delay
    quiet
    echo "at most $(most_unfinished) clusters were unfinished; $(requests .) requests"
    [ "$(most_unfinished)" -le 17 ] # 16 passes run at once
    [ "$(requests .)" -le $((30 * 12 + 2)) ] # one dry run for head and members each
    paced
}

@test "a new size is one small patch of the StatefulSet: no other object is applied, and none is tried as a pod" {
    running 2
    quiet
    proxy forget
    scale 3
    becomes '{.status.readyReplicas}' 3
    quiet
    passed | grep -v watch=1
    [ "$(requests '^PATCH .*/statefulsets/x\?fieldManager=dvm-operator ')" -eq 1 ] # an apply has force=
    [ "$(requests '^PATCH .*/(services|poddisruptionbudgets|statefulsets)/')" -eq 1 ]
    [ "$(requests '^(GET|POST) ')" -eq 0 ]
    [ "$(requests '^PUT .*/dvmclusters/x/status')" -le 3 ]
    field_is sts/x '{.spec.replicas}' 3
}

# changed_unseen PATH: the StatefulSet is changed by hand and gets a new size before the operator sees the change.
changed_unseen() {
    running 2
    quiet
    proxy 'silent?on=2'
    kn patch sts x --type json -p "[{\"op\": \"replace\", \"path\": \"$1\", \"value\": \"theirs\"}]" >&2
    scale 3
    order 'lower?n=1' # the operator writes the status, which is a conflict, and reads the DvmCluster
    becomes '{.spec.replicas}' 3 sts/x
}

@test "a template that was changed by hand, unseen by the operator when it patches the size, is restored" {
    changed_unseen /spec/template/spec/containers/0/image
    until_true 30 field_is sts/x '{.spec.template.spec.containers[0].image}' example.test/daemon:1
}

@test "a label that was changed by hand, unseen by the operator when it patches the size, is restored" {
    changed_unseen /metadata/labels/app.kubernetes.io~1part-of
    until_true 30 field_is sts/x '{.metadata.labels.app\.kubernetes\.io/part-of}' dvm
}

@test "a size that the API server refuses is reported, and no longer when it is accepted" {
    running 2
    proxy 'fault?kind=403&method=PATCH&match=statefulsets/x'
    scale 3
    condition Progressing TemplateRefused
    proxy mend
    becomes '{.status.readyReplicas}' 3
    condition Progressing UpToDate
    field_is sts/x '{.spec.replicas}' 3
}

connected_twice() { [ "$(grep -c 'connected to the head' "$dir/operator.log")" -ge 2 ]; }

@test "restart: of a settled cluster one Secret is read, the others later" {
    running 2
    quiet
    end_operator TERM
    proxy forget
    start_operator
    until_true 30 connected_twice
    passed | grep -m 1 secrets | grep -q x-operator
    quiet
    [ "$(requests '^GET .*/secrets/x-operator ')" -le 2 ]
    [ "$(requests '^(PATCH|POST) .*/(secrets|services|statefulsets|poddisruptionbudgets)')" -eq 0 ]
}

@test "a Secret that is deleted while nothing else happens is created again" {
    running 2
    quiet
    end_operator TERM
    start_operator     # the other Secrets are read soon after a start, later every ten minutes
    kn delete secret x-user >&2
    until_true 60 exists secret/x-user
}

# --- owned means controlled

field_is() { [ "$(kn get "$1" -o jsonpath="$2")" = "$3" ]; }

@test "Service drift: a Service and labels that were changed by hand are restored" {
    running 2
    quiet
    proxy forget
    kn patch service x-head --type json -p '[{"op": "replace", "path": "/spec/selector", "value": {"app": "theirs"}}]' >&2
    until_true 30 field_is service/x-head '{.spec.selector.dvm\.openpmix\.io/role}' head
    field_is service/x-head '{.spec.selector.app}' ""
    kn label sts x dvm.openpmix.io/role=theirs --overwrite >&2
    until_true 30 field_is sts/x '{.metadata.labels.dvm\.openpmix\.io/role}' member
    kn label pdb x dvm.openpmix.io/cluster- >&2   # it leaves the operator's selection
    until_true 30 field_is pdb/x '{.metadata.labels.dvm\.openpmix\.io/cluster}' x
    kn label service x their=label >&2            # a label of others stays
    quiet
    field_is service/x '{.metadata.labels.their}' label
    # A PATCH for each of the three, which for the budget that was not selected is refused; so it is read and patched
    # again. A change of the test may come between, and is then answered by one PATCH more.
    [ "$(requests '^(PUT|PATCH|POST|DELETE)')" -le 6 ]
    [ "$(requests .)" -le 8 ]
}

@test "Service drift: two writers that disagree do not fight" {
    running 1
    quiet
    proxy forget
    for i in {1..15}; do
        kn patch service x-head --type json -p '[{"op": "replace", "path": "/spec/selector", "value": {"app": "theirs"}}]' > /dev/null
    done
    [ "$(requests '^PATCH .*/services/x-head')" -le 8 ]
    until_true 90 field_is service/x-head '{.spec.selector.dvm\.openpmix\.io/role}' head
}

# image_is SET IMAGE
image_is() { field_is "$1" '{.spec.template.spec.containers[0].image}' "$2"; }

has_patched() { [ "$(requests '^PATCH .*/statefulsets/x-head')" -ge "$1" ]; }

@test "two operators with different default images do not fight, and a new image is applied at once" {
    operator_args=(--daemon-image example.test/daemon:a)
    running 2
    kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/image"}]' >&2
    until_true 30 image_is sts/x example.test/daemon:a
    quiet
    proxy forget
    operator_args=(--daemon-image example.test/daemon:b)
    start_operator second
    until_true 30 has_patched 3 # a change may be undone before anybody can look
    quiet # each change by the other is undone after a longer pause
    [ "$(requests '^PATCH .*/statefulsets/x-head')" -le 16 ]
    [ "$(requests '^PATCH .*/statefulsets/x\?')" -le 16 ]
    [ "$(requests '^(PUT|PATCH|POST|DELETE)')" -le 60 ]
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    until_true 30 image_is sts/x example.test/daemon:2
    until_true 30 image_is sts/x-head example.test/daemon:2
    whole 2
}

# their_pod NAME ROLE: a pod with the labels of the cluster that its StatefulSet does not control.
their_pod() {
    kn apply -f - >&2 << END
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1", "labels": {"dvm.openpmix.io/cluster": "x", "dvm.openpmix.io/role": "$2",
  "app.kubernetes.io/managed-by": "dvm-operator", "controller-revision-hash": "old"}},
 "spec": {"securityContext": {"runAsNonRoot": true, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
  "containers": [{"name": "prted", "image": "i", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}}
END
}

@test "foreign pod: pods with the labels of the cluster are neither counted nor deleted, and block no growth" {
    running 2
    their_pod x-7 member
    their_pod copy-of-x-head-0 head
    pods=$(kn get pod x-7 copy-of-x-head-0 -o jsonpath='{.items[*].metadata.uid}')
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2  # their template is outdated
    scale 4
    becomes '{.spec.replicas}' 4 sts/x
    becomes '{.status.readyReplicas}' 4
    quiet
    [ "$(status_of '{.status.replicas}')" = 0 ]
    [ "$(kn get pod x-7 copy-of-x-head-0 -o jsonpath='{.items[*].metadata.uid}')" = "$pods" ]
    [ "$(requests '^DELETE')" -eq 0 ]
}

@test "foreign object: one that exists before the cluster is created is not changed, and does not stop the others" {
    kn apply -f - >&2 << 'END'
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x-head"}, "spec": {"ports": [{"port": 80}]}}
END
    version=$(kn get service/x-head -o jsonpath='{.metadata.resourceVersion}')
    start_operator
    make_cluster 2
    condition Progressing NotOwned
    until_true 60 exists sts/x
    quiet
    [ "$(kn get service/x-head -o jsonpath='{.metadata.resourceVersion}')" = "$version" ]
    [ "$(requests '^PATCH .*/services/x-head')" -le 2 ]
}

@test "broken status: a status that cannot be read is a condition, and a corrected one goes on" {
    running 2
    quiet
    proxy forget
    kn patch dvm x --subresource=status --type merge -p '{"status": {"campaign": {"id": "a", "kind": "Shrink", "sequence": 9,
        "generation": 1, "phase": "Recorded", "targets": [5, 7]}}}' >&2
    condition Progressing StatusUnreadable
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"targets[1] is 7, expected 6"*--subresource=status* ]]
    scale 4
    quiet
    replicas_are 2
    [ "$(status_of '{.status.campaign.id}')" = a ]
    [ "$(requests '^(PUT|PATCH)')" -le 4 ]
    [ "$(count 'PUT campaign')" -eq 0 ]
    kn patch dvm x --subresource=status --type json -p '[{"op": "remove", "path": "/status/campaign"}]' >&2
    becomes '{.spec.replicas}' 4 sts/x
    condition Progressing UpToDate
}

@test "broken status: a last campaign that cannot be read stops nothing" {
    running 2
    kn patch dvm x --subresource=status --type merge -p '{"status": {"lastCampaign": {"id": "a", "kind": "Shrink", "sequence": 1,
        "generation": 1, "phase": "Complete", "targets": [5, 7]}}}' >&2
    scale 3
    becomes '{.spec.replicas}' 3 sts/x
    condition Progressing UpToDate
}

@test "clock: a wall clock that is set back a day stops no retry" {
    set_clock 0
    running 3
    order 'refuse?status=422&reason=NotTrailing'
    scale 2
    becomes '{.status.lastCampaign.phase}' Rejected
    condition Progressing CampaignRejected
    set_clock -86400
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    [ "$(count 'PUT campaign')" -eq 2 ]
    [ "$(requests '^PUT')" -le 30 ]
}

# --- manners towards a server that fails

# Those of the operator: other controllers may warn too, of a budget whose pods have no owner yet for example.
warnings() {
    kn get events -o json \
        | jq -r '.items[] | select(.type == "Warning" and .reportingComponent == "dvm-operator") | .reason'
}
warned() { [ -n "$(warnings)" ]; }

# delete_children: what the garbage collector would delete.
delete_children() {
    kn delete sts/x sts/x-head service/x service/x-head pdb/x pdb/x-head secret/x-ca secret/x-head secret/x-member secret/x-operator secret/x-user >&2
}

# made: the status is written, which is the last step of a new cluster.
made() { exists sts/x && [ -n "$(status_of '{.status.conditions}')" ]; }

# whole REPLICAS: all objects exist, and the cluster is as it was asked for.
whole() {
    becomes '{.status.readyReplicas}' "$1"
    condition Progressing UpToDate
    replicas_are "$1"
    kn get service/x service/x-head pdb/x pdb/x-head sts/x-head secret/x-ca secret/x-head secret/x-member secret/x-operator secret/x-user >&2
}

@test "429: the time that the server asks for is waited for, and nothing is reported" {
    proxy 'fault?kind=429&retry=2&times=1&method=PATCH&match=services/x-head'
    running 2
    whole 2
    quiet
    [ "$(requests ' 429$')" -eq 1 ]
    [ "$(requests '^PATCH .*/services/x-head')" -eq 2 ]
    [ "$(warnings)" = "" ]
}

@test "hang: a server that does not answer is asked again, and nothing is reported" {
    proxy 'fault?kind=hang&times=3&match=statefulsets'
    running 2
    whole 2
    quiet
    [ "$(requests ' hang$')" -eq 3 ]
    [ "$(warnings)" = "" ]
}

@test "truncated: half an answer is none, and nothing is made twice" {
    proxy 'fault?kind=truncated&times=6&match=/x'
    running 2
    whole 2
    quiet
    [ "$(requests ' truncated$')" -eq 6 ]
    [ "$(requests '^POST .*/secrets')" -le 11 ]
    [ "$(warnings)" = "" ]
}

@test "lost answer: a write that has succeeded is not taken for a failure" {
    proxy 'fault?kind=lost&times=2&method=POST&match=secrets'
    running 2
    proxy 'fault?kind=lost&times=1&method=PUT&match=status'
    scale 1
    becomes '{.status.lastCampaign.phase}' Complete
    whole 1
    quiet
    [ "$(requests ' lost$')" -ge 3 ]
    [ "$(requests '^POST .*/secrets')" -le 7 ]
    [ "$(count 'PUT campaign')" -eq 1 ]
    [ "$(kn get events -o jsonpath='{range .items[?(@.reason=="ShrinkRecorded")]}x{end}')" = x ]
    [ "$(warnings)" = "" ]
}

@test "403 once: a refusal that does not last is not reported, and one that lasts is" {
    proxy 'fault?kind=403&times=2&method=PATCH&match=statefulsets'
    running 2
    whole 2
    [ "$(warnings)" = "" ]
    proxy 'fault?kind=403&method=PATCH&match=statefulsets/x-head'
    kn patch dvm x --type merge -p '{"spec": {"image": "example.test/daemon:2"}}' >&2
    condition Progressing TemplateRefused
    until_true 30 warned
}

not_written() { grep -c "warn .*an Event could not be written cluster=$ns/x" "$dir/operator.log"; }
events_refused() { [ "$(requests '^PATCH .*/events/.* 403$')" -ge "$1" ]; }

@test "a warning that comes again and again is logged once in 30 s" {
    local since=$SECONDS
    running 2
    proxy 'fault?kind=403&method=PATCH&match=/events/'
    for _ in 1 2; do
        order away
        condition Available HeadUnreachable
        order back
        condition Available AllMembersWired
    done
    until_true 30 events_refused 4
    quiet
    echo "$(not_written) warnings in $((SECONDS - since)) s"
    [ "$(not_written)" -ge 1 ]
    [ "$(not_written)" -le $((1 + (SECONDS - since) / 30)) ]
}

# DELAY_MIN, DELAY_MAX: of each request, in ms.
@test "slow: a server that becomes slow gets few requests more, and each object is made once" {
    local calm since
    with_plain_port
    start_operator
    quiet
    proxy forget
    make_cluster 2
    until_true 60 made
    quiet
    calm=$(requests .)
    kn delete dvm x >&2
    delete_children
    quiet
    proxy forget
    proxy "delay?min=${DELAY_MIN:-600}&max=${DELAY_MAX:-1800}&seed=${FAULT_SEED:-42}"
    since=${EPOCHREALTIME/[.,]/}
    make_cluster 2 '"slotsPerDaemon": 3, "head": {"slots": 2}' # another template, which is tried in dry runs
    until_true 200 made
    echo "# seed ${FAULT_SEED:-42}: all is made $(((${EPOCHREALTIME/[.,]/} - since) / 1000)) ms after the DvmCluster, $(requests .) requests, $calm without delay" >&3
    passed
    [ "$(requests .)" -le $((calm * 12 / 10)) ]
    proxy delay
    quiet
    paced
    [ "$(warnings)" = "" ]
}

# FAULT_SEED: the faults are drawn from it. FAULT_KIND: of one kind only, "hang" for example.
@test "40 of 100 requests fail in any way: the end state is right, with at most three times the requests" {
    local since
    running 2
    scale 4
    whole 4
    quiet
    calm=$(requests .)
    kn delete dvm x --cascade=background >&2
    delete_children
    kill -KILL "$(cat "$dir/operator.pid")" "$(cat "$dir/head.pid")"
    proxy forget
    proxy "fault?kind=${FAULT_KIND:-mix}&percent=40&seed=${FAULT_SEED:-42}"
    running 2
    scale 4
    since=${EPOCHREALTIME/[.,]/}
    whole 4
    echo "# seed ${FAULT_SEED:-42}: all is as it has to be $(((${EPOCHREALTIME/[.,]/} - since) / 1000)) ms after the last change" >&3
    quiet
    echo "$calm requests without faults, $(requests .) with $(requests ' [^-]+$') faults"
    [ "$(requests ' [^-]+$')" -ge 10 ]
    [ "$(requests .)" -le $((3 * calm)) ]
}
