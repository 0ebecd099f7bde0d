#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# The operator against a real kube-apiserver and etcd; a program stands in for the head (fakehead.c).

# shellcheck disable=SC2154,SC2030,SC2031  # set by lib.bash; each test is a process of its own

load lib

setup_file() { start_api; }
teardown_file() { stop_api; }
setup() { new_namespace; }
teardown() { end_programs; }

# --- bad input

@test "bad resources are refused with a reason" {
    refused() { # NAME SPEC TEXT
        run kn apply -f - << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "$1"}, "spec": $2}
END
        [ "$status" -ne 0 ]
        [[ $output == *"$3"* ]] || { echo "$output"; return 1; }
    }
    refused "a$(printf 'b%.0s' {1..47})" '{}' "at most 47 characters"
    refused x-head '{}' 'may not end in "-head"'
    refused 4x '{}' "must start with a letter"
    refused a.b '{}' "must start with a letter"
    refused x '{"replicas": -1}' "greater than or equal to 0"
    refused x '{"replicas": 70000}' "less than or equal to 65535"
    refused x '{"slotsPerDaemon": 0}' "greater than or equal to 1"
    refused x '{"drain": {"mode": "Maybe"}}' 'supported values: "Wait", "Kill"'
    refused x '{"image": ""}' "at least 1 chars"
    refused x '{"replicas": 4, "applicationLimits": {"min": 5}}' "applicationLimits.min must be at most replicas"
    refused x '{"applicationLimits": {"max": 0}}' "applicationLimits.max must be at least replicas"
    refused x '{"drain": {"mode": "Kill", "deadlineSeconds": 5}}' "deadlineSeconds is only possible with mode Wait"
    refused x '{"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 2}}}' \
        "rollingUpdate is only possible with type RollingUpdate"
    refused x '{"security": {"userFrom": "Namespace", "runAsUser": 5}}' "runAsUser is only possible with userFrom Spec"
    refused x '{"security": {"issuerRef": {"name": "i"}, "authorityRevision": 1}}' \
        "authorityRevision is only possible without issuerRef"
    refused x '{"security": {"issuerRef": {"name": "i"}, "overlapSeconds": 60}}' \
        "overlapSeconds is only possible without issuerRef"
    refused x '{"update": {"maxUnavailable": 1}}' "update is called updateStrategy"
    for value in 0 '"0%"' '"101%"' '"5"'; do
        refused x "{\"updateStrategy\": {\"rollingUpdate\": {\"maxUnavailable\": $value}}}" rollingUpdate.maxUnavailable
    done
    refused x '{"minReplicas": 0}' "minReplicas is called applicationLimits.min"
    refused x '{"maxReplicas": 4}' "maxReplicas is called applicationLimits.max"
    refused x '{"faults": {"linkGraceSeconds": 0}}' "greater than or equal to 1"
    refused x '{"faults": {"linkGraceSeconds": 11}}' "linkGraceSeconds must be at most silenceSeconds"
    refused x '{"faults": {"silenceSeconds": 295}}' "headAbsenceSeconds must be at least silenceSeconds + 2 * linkGraceSeconds"
    refused x '{"replica": 4}' 'unknown field "spec.replica"'
}

@test "a wrong command line is refused" {
    run timeout --kill-after=10 60 "$operator" --namespace a --all-namespaces
    [ "$status" -eq 2 ]
    run timeout --kill-after=10 60 "$operator" --head-connect x
    [ "$status" -eq 2 ]
    run timeout --kill-after=10 60 "$operator" --kubeconfig "$dir/none"
    [ "$status" -eq 1 ]
    [[ $output == *"$dir/none"* ]]
}

# in_a_network COMMAND...: in a network of its own, which has one address besides those of the loopback device.
in_a_network() {
    unshare -rn sh -c 'ip link set lo up && ip addr add 192.0.2.1/32 dev lo && exec "$@"' - "$@"
}

# answers LISTEN ACCESS [OPTION...]: the codes of /metrics from the loopback device over IPv4 and IPv6, and from 192.0.2.1,
# there without a token, with a wrong one and with that of the file "token"; of /healthz from there.
answers() {
    # shellcheck disable=SC2016  # the inner shell expands it
    in_a_network bash -c '
        "$0" --kubeconfig "$1" --namespace a --metrics-addr "$2" --metrics-access "$3" "${@:5}" > "$4" 2>&1 &
        status() { curl --noproxy "*" -s -m 10 -o /dev/null -w "%{http_code} " "http://$1" "${@:2}"; }
        limit=$((SECONDS + 30))
        until [ "$(status 127.0.0.1:8080/healthz)" = "200 " ] || [ "$SECONDS" -ge "$limit" ]; do sleep 0.1; done
        for at in 127.0.0.1:8080/metrics "[::1]:8080/metrics" 192.0.2.1:8080/metrics; do status "$at"; done
        for token in 0123456789abcdee 0123456789abcdef; do status 192.0.2.1:8080/metrics -H "Authorization: Bearer $token"; done
        status 192.0.2.1:8080/healthz
        kill -KILL $!' "$operator" "$KUBECONFIG" "$1" "$2" "$dir/alone.log" "${@:3}" || true
}

@test "--metrics-access loopback: /metrics answers callers in the pod alone, and probes answer all" {
    unshare -rn true || skip "no right to make a network"
    run timeout --kill-after=10 60 "$operator" --metrics-access some
    [ "$status" -eq 2 ]
    [[ $output == *'--metrics-access must be all or loopback, not "some"'* ]]
    [ "$(answers 0.0.0.0:8080 loopback)" = "200 000 403 403 403 200 " ]
    [ "$(answers :::8080 loopback)" = "200 200 403 403 403 200 " ]
    [ "$(answers 0.0.0.0:8080 all)" = "200 000 200 200 200 200 " ]
    echo 0123456789abcdef > "$dir/token"
    [ "$(answers 0.0.0.0:8080 loopback --metrics-token-file "$dir/token")" = "200 000 401 401 200 200 " ]
}

@test "a token of /metrics that is too short or not there ends the operator, and so does one that nobody needs" {
    run timeout --kill-after=10 60 "$operator" --metrics-token-file "$dir/token"
    [ "$status" -eq 2 ]
    [[ $output == *"--metrics-token-file needs --metrics-access loopback"* ]]
    for token in "" short; do
        echo "$token" > "$dir/token"
        run timeout --kill-after=10 60 "$operator" --kubeconfig "$KUBECONFIG" --metrics-addr 127.0.0.1:0 \
            --metrics-access loopback --metrics-token-file "$dir/token"
        [ "$status" -eq 1 ]
        [[ $output == *"a token needs 16 characters"* ]]
    done
    rm "$dir/token"
    run timeout --kill-after=10 60 "$operator" --kubeconfig "$KUBECONFIG" --metrics-addr 127.0.0.1:0 \
        --metrics-access loopback --metrics-token-file "$dir/token"
    [ "$status" -eq 1 ]
}

@test "a template that the API server refuses gives a condition, and a corrected one is applied" {
    start_operator operator --template-policy any
    make_cluster 2 '"template": {"spec": {"hostNetwork": true}}'
    condition Progressing TemplateRefused
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"violates PodSecurity"*hostNetwork* ]]
    run kn get sts
    [ "$output" = "No resources found in $ns namespace." ]
    kn patch dvm x --type json -p '[{"op": "remove", "path": "/spec/template"}]' >&2
    becomes '{.spec.replicas}' 2 sts/x
}

@test "a template that touches the daemon's command is refused with its path" {
    start_operator
    make_cluster 2 '"template": {"spec": {"containers": [{"name": "prted", "command": ["sh"]}]}}'
    condition Progressing InvalidSpec
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"containers[0].command"* ]]
}

@test "an object of another owner is not changed, and a condition names it" {
    kn create service clusterip x --tcp=80 >&2
    uid=$(kn get service x -o jsonpath='{.metadata.uid}{.metadata.resourceVersion}')
    start_operator
    make_cluster 2
    condition Progressing NotOwned
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == "Service x exists"* ]]
    [ "$(kn get service x -o jsonpath='{.metadata.uid}{.metadata.resourceVersion}')" = "$uid" ]
    # After its deletion the operator creates its own.
    kn delete service x >&2
    becomes '{.metadata.ownerReferences[0].kind}' DvmCluster service/x
}

# --- objects

@test "a new cluster gets all its objects in a namespace that enforces the restricted level" {
    running 4
    replicas_are 4
    [ "$(kn get sts x -o jsonpath='{.spec.ordinals.start}')" = 1 ]
    [ "$(kn get sts x-head -o jsonpath='{.spec.replicas}')" = 1 ]
    kn get service x x-head >&2
    kn get pdb x x-head >&2
    kn get secret x-ca x-head x-member x-operator x-user >&2
    kn get dvm x -o jsonpath='{.status.selector}' | grep -x 'dvm.openpmix.io/cluster=x,dvm.openpmix.io/role=member'
    condition Progressing UpToDate
    condition Resizing Stable
    [ "$(status_of '{.status.observedGeneration}')" = 1 ]
    until_true 30 says HeadUp "The head is up"
}

@test "the longest names that are accepted work" {
    ns=$(printf 'n%.0s' {1..63}) x=$(printf 'x%.0s' {1..47})
    k create namespace "$ns" >&2
    start_operator
    kn apply -f - >&2 << END
{"apiVersion": "dvm.openpmix.io/v1alpha1", "kind": "DvmCluster", "metadata": {"name": "$x"}, "spec": {"replicas": 1}}
END
    becomes '{.spec.replicas}' 1 "sts/$x"
    becomes '{.spec.replicas}' 1 "sts/$x-head"
    secret_file "$x-head" tls.crt > "$dir/head.crt"
    openssl x509 -in "$dir/head.crt" -noout -checkhost "$x-head.$ns.svc" | grep "does match"
    openssl x509 -in "$dir/head.crt" -noout -subject | grep -F "O = $(kn get dvm "$x" -o jsonpath='{.metadata.uid}'),"
}

@test "certificates verify, and a restarted operator does not replace them" {
    running 1
    for role in head member operator user; do
        secret_file "x-$role" tls.crt > "$dir/$role.crt"
        secret_file "x-$role" ca.crt > "$dir/ca.crt"
        openssl verify -CAfile "$dir/ca.crt" "$dir/$role.crt"
        openssl x509 -in "$dir/$role.crt" -noout -subject | grep "O = $ns/x, OU = $role"
    done
    before=$(kn get secret -o jsonpath='{.items[*].metadata.resourceVersion}')
    end_operator TERM
    [ "$ended" -eq 0 ]
    start_operator
    a_pass_is_done
    [ "$(kn get secret -o jsonpath='{.items[*].metadata.resourceVersion}')" = "$before" ]
}

@test "changed and deleted objects are restored" {
    running 2
    kn delete service x-head >&2
    appears service/x-head
    kn patch sts x --type merge -p '{"spec": {"template": {"spec": {"restartPolicy": "Always", "priority": null, "terminationGracePeriodSeconds": 1}}}}' >&2
    becomes '{.spec.template.spec.terminationGracePeriodSeconds}' 3600 sts/x
}

# --- campaigns

@test "C17: scaling down removes no pod before the head has reported it complete" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    a_pass_is_done
    replicas_are 4
    [ "$(status_of '{.status.campaign.targets}')" = "[3,4]" ]
    condition Resizing Draining
    order 'advance?phase=Removing'
    becomes '{.status.campaign.phase}' Removing
    a_pass_is_done
    replicas_are 4
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    [ -n "$(status_of '{.status.lastCampaign.appliedTime}')" ]
    [ -z "$(status_of '{.status.campaign}')" ]
    condition Resizing Stable
    [ "$(count 'PUT campaign')" -eq 1 ]
    until_true 30 says ShrinkRecorded "daemons 3 to 4 will leave"
    until_true 30 says ShrinkComplete ""
}

@test "C18: an operator killed while the head drains continues the same campaign" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    id=$(status_of '{.status.campaign.id}')
    end_operator KILL
    start_operator
    a_pass_is_done
    replicas_are 4
    [ "$(status_of '{.status.campaign.id}')" = "$id" ]
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.id}' "$id"
    replicas_are 2
    [ "$(count 'PUT campaign')" -eq 1 ]
}

@test "C18: a campaign that ended while the operator was down is applied by the next one" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    end_operator KILL
    order 'advance?phase=Complete'
    replicas_are 4
    start_operator
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
}

@test "C17: no pod is removed while the head does not answer, and the operator continues afterwards" {
    running 4
    order away
    condition Available HeadUnreachable
    scale 2
    becomes '{.status.campaign.phase}' Recorded
    condition Resizing HeadUnreachable
    a_pass_is_done
    replicas_are 4
    [[ $(status_of '{.status.conditions[?(@.type=="Available")].message}') == "The head has not answered since "*"pod x-head-0"* ]]
    condition Degraded HeadUnreachable
    [[ $(status_of '{.status.lastHeadContact}') == 20*Z ]]
    order back
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    condition Available AllMembersWired
}

available_events() { kn get events -o jsonpath='{range .items[?(@.reason=="Available")]}{.count} {.message}{"\n"}{end}'; }
available_is_counted() { [ "$(available_events)" = "2 2 of 2 members are wired." ]; }

@test "an Event that comes again counts the first one up" {
    running 2
    until_true 30 says Available "2 of 2 members are wired."
    order away
    condition Available HeadUnreachable
    order back
    condition Available AllMembersWired
    until_true 30 available_is_counted
}

@test "C17: the user's deadline ends the wait for a head that does not answer" {
    running 4 '"drain": {"deadlineSeconds": 1}'
    order away
    condition Available HeadUnreachable
    scale 2
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    [[ $(status_of '{.status.lastCampaign.result}') == *deadlineSeconds* ]]
}

@test "scaling up again while the head drains cancels the campaign" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    scale 4
    becomes '{.status.lastCampaign.phase}' Cancelled
    condition Resizing Stable
    replicas_are 4
    [ "$(status_of '{.status.size.members}')" = 4 ]
}

@test "scaling up again when it is too late completes the campaign, then grows" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    order 'advance?phase=Removing'
    becomes '{.status.campaign.phase}' Removing
    scale 4
    becomes '{.status.desiredReplicas}' 4
    [ "$(status_of '{.status.campaign.phase}')" = Removing ]
    kn get sts x -w -o jsonpath='{.spec.replicas}{"\n"}' > "$dir/sizes" 2> /dev/null 3>&- &
    echo $! > "$dir/watch.pid"
    until_true 30 test -s "$dir/sizes"
    order 'advance?phase=Complete'
    becomes '{.status.lastCampaign.phase}' Complete
    becomes '{.spec.replicas}' 4 sts/x
    condition Resizing Stable
    sizes_were() { [ "$(uniq "$dir/sizes" | tr '\n' ' ')" = "$1" ]; }
    until_true 30 sizes_were "4 2 4 "
}

@test "a restarted head gets the size again" {
    running 3
    first=$(status_of '{.status.incarnation}')
    order restart
    kn wait --for=jsonpath='{.status.readyReplicas}'=3 dvm/x --timeout=60s >&2
    lives_anew() { [ "$(status_of '{.status.incarnation}')" != "$first" ]; }
    until_true 30 lives_anew
    condition Available AllMembersWired
    [ "$(count 'PUT size')" -eq 2 ]
    replicas_are 3
}

@test "a size that a tool has lowered is put again with a higher sequence" {
    running 3
    first=$(status_of '{.status.size.sequence}')
    order 'lower?n=2'
    later() { [ "$(status_of '{.status.size.sequence}')" -gt "$first" ]; }
    until_true 30 later
    condition Available AllMembersWired
    replicas_are 3
}

@test "a campaign that the head refuses gives a condition with the reason and removes no pod" {
    running 4
    order 'refuse?status=422&reason=NotTrailing'
    scale 2
    becomes '{.status.lastCampaign.phase}' Rejected
    condition Progressing CampaignRejected
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == *"refused on order"* ]]
    replicas_are 4
    scale 3 # another spec is another question
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 3
}

@test "a campaign with an old sequence is put again with a new one" {
    running 4
    order 'refuse?status=409&reason=SequenceTooOld'
    scale 2
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    [ "$(count 'PUT campaign')" -eq 2 ]
}

@test "two operators at once make one campaign" {
    running 4
    start_operator second
    until_true 30 grep -q "connected to the head" "$dir/second.log"
    scale 2
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    a_pass_is_done
    [ "$(asked | grep -o 'shrink-[0-9]*-[0-9a-f]*' | sort -u | wc -l)" -eq 1 ]
    [ "$(status_of '{.status.lastCampaign.sequence}')" = 2 ]
}

@test "C18: a release that the operator has not begun is shown like a campaign, and ends with an Event" {
    metrics_addr=127.0.0.1:$((head_port + 1))
    running 3
    order 'release?vpid=2'
    condition Resizing Draining
    condition Progressing Draining
    [ "$(status_of '{.status.conditions[?(@.type=="Resizing")].message}')" = \
        "daemon 2: leaving by campaign release-1, which the operator has not begun; the drain waits for 1 job: held (1 rank)." ]
    [ "$(status_of '{.status.releases[*].id}:{.status.releases[*].targets}')" = "release-1:[2]" ]
    until_true 30 says MembersLeaving "Campaign release-1: daemon 2 will leave"
    # A restarted operator reports neither the beginning again nor misses the end.
    end_operator KILL
    order 'advance?phase=Complete'
    start_operator
    until_true 30 says MembersReleased "Campaign release-1: daemon 2 left the DVM"
    order 'join?vpid=2' # its pod is started again
    condition Resizing Stable
    becomes '{.status.readyReplicas}' 3
    gone() { [ -z "$(status_of '{.status.releases}')" ]; }
    until_true 30 gone
    [ "$(kn get events -o name --field-selector reason=MembersLeaving | wc -l)" = 1 ]
    [ "$(kn get events -o name --field-selector reason=MembersReleased | wc -l)" = 1 ]
    [[ $(curl --noproxy '*' -s -m 10 "http://$metrics_addr/metrics") == *$'\ndvm_operator_releases_total 1\n'* ]]
}

@test "a release that begins and ends between two looks at the head is reported" {
    running 2
    order 'release?vpid=2'
    order 'advance?phase=Complete'
    until_true 30 says MembersReleased "Campaign release-1: daemon 2 left the DVM"
}

@test "a lost member and the job that it ends are Events, counters and history, and the cluster is degraded" {
    metrics_addr=127.0.0.1:$((head_port + 1))
    running 3
    order 'lose?vpid=3&cause=silent'
    condition Degraded MembersLost
    condition Available SomeMembersWired
    until_true 30 says MemberLost "Daemon 3 is lost: silent"
    until_true 30 says JobEnded "Job killed-1: 1 rank was lost"
    [ "$(status_of '{.status.losses[*].vpid}:{.status.endedJobs[*].job}')" = 3:killed-1 ]
    order cap
    condition Degraded AsExpected
    text=$(curl --noproxy '*' -s -m 10 "http://$metrics_addr/metrics")
    [[ $text == *$'\ndvm_operator_members_lost_total 1\n'* ]]
    [[ $text == *$'\ndvm_operator_jobs_ended_total 1\n'* ]]
    end_operator KILL
    start_operator
    a_pass_is_done
    [ "$(kn get events -o name --field-selector reason=MemberLost | wc -l)" = 1 ]
    [ "$(kn get events -o name --field-selector reason=JobEnded | wc -l)" = 1 ]
}

budget_is() { [ "$(kn get pdb x-head -o jsonpath='{.spec.maxUnavailable}')" = "$1" ]; }
calm() { order 'busy?n=0' && budget_is 1; }

@test "the head's budget allows no eviction while jobs run, and one otherwise, also across a restart of the operator" {
    running 1
    until_true 30 budget_is 1
    order 'busy?n=2'
    until_true 30 budget_is 0
    end_operator KILL
    start_operator
    condition Available AllMembersWired
    a_pass_is_done # the new operator has not heard of jobs yet
    budget_is 0
    until_true 60 calm
}

@test "a budget whose spec was changed by hand is restored, although only its metadata is watched" {
    members_budget_is() { [ "$(kn get pdb x -o jsonpath='{.spec.maxUnavailable}')" = "$1" ]; }
    running 1
    kn patch pdb x --type merge -p '{"spec": {"maxUnavailable": 7}}' >&2
    until_true 30 members_budget_is 1
}

@test "C16: a StatefulSet that was scaled by hand is reduced by a campaign" {
    running 3
    kn scale sts x --replicas=5 >&2
    becomes '{.status.lastCampaign.phase}' Complete
    [ "$(status_of '{.status.lastCampaign.targets}')" = "[4,5]" ]
    becomes '{.spec.replicas}' 3 sts/x
    kn scale sts x --replicas=1 >&2
    becomes '{.spec.replicas}' 3 sts/x
}

# --- requests of applications to the head

@test "C16: by default the size message lets no application resize" {
    running 4
    asked | grep -E '"members": ?4, ?"min": ?4, ?"max": ?4' >&2
    scale 3
    becomes '{.status.size.max}' 3
    [ "$(status_of '{.status.size.min}')" = 3 ]
}

@test "C16: an extension enlarges the StatefulSet and stays a grant, and the spec is not rewritten" {
    local sizes
    running 4 '"applicationLimits": {"max": 8}'
    sizes=$(count "PUT size")
    order "ask?n=2"
    becomes '{.spec.replicas}' 6 sts/x
    [ "$(status_of '{.status.grants.running[0].members}')" = 2 ]
    owners() { status_of '{range .status.grants.owners[*]}{.number} {.kind} {.phase} {.job} {.rank} {.targetRange.first}-{.targetRange.last}{"\n"}{end}'; }
    [ "$(owners)" = "1 Extend Gathering job 0 5-6" ]
    until_true 30 says ExtensionAsked "Rank 0 of job job extends the DVM (alloc-1)"
    order "advance?phase=Complete"
    becomes '{.status.grants.members}' 2
    becomes '{.status.readyReplicas}' 6
    [ "$(owners)" = "1 Extend Complete job 0 5-6" ]
    [ "$(count "PUT size")" = "$sizes" ]             # the head has raised the size by itself
    [ "$(status_of '{.spec.replicas}')" = 4 ]
    scale 5
    becomes '{.spec.replicas}' 7 sts/x
    scale 8
    becomes '{.spec.replicas}' 8 sts/x
    run kn scale dvm x --replicas=9
    [ "$status" -ne 0 ]
    [[ $output == *"applicationLimits.max must be at least replicas"* ]]
}

@test "an extension that fails leaves the size as it was" {
    running 4 '"applicationLimits": {"max": 8}'
    order "ask?n=2"
    becomes '{.spec.replicas}' 6 sts/x
    order "advance?phase=Failed"
    becomes '{.spec.replicas}' 4 sts/x
    becomes '{.status.lastCampaign.phase}' Complete
    becomes '{.status.desiredReplicas}' 4
    [ "$(status_of '{.status.grants.members}')" = 0 ]
    [ "$(count "PUT campaign")" -eq 1 ]               # not refused as one that comes too early
}

@test "C17: a release by an application keeps its pods until it is complete, and they do not come back" {
    local sizes
    running 4 '"applicationLimits": {"min": 1}'
    sizes=$(count "PUT size")
    order "ask?n=-1"
    becomes '{.status.grants.running[0].kind}' Release
    a_pass_is_done
    replicas_are 4
    [ "$(count "PUT size")" = "$sizes" ]
    order "advance?phase=Complete"
    becomes '{.spec.replicas}' 3 sts/x
    becomes '{.status.grants.members}' -1
    a_pass_is_done
    replicas_are 3
    [ "$(status_of '{.spec.replicas}')" = 4 ]
}

@test "C18: an operator killed during an extension counts the extension once" {
    running 4 '"applicationLimits": {"max": 8}'
    order "ask?n=2"
    becomes '{.status.grants.running[0].number}' 1
    end_operator KILL
    order "advance?phase=Complete"
    start_operator again
    cp "$dir/again.pid" "$dir/operator.pid"
    becomes '{.status.grants.members}' 2
    becomes '{.status.readyReplicas}' 6
    replicas_are 6
    [ "$(status_of '{.status.grants.seen}')" = 1 ]
    order restart                                    # the head: requests of this life begin at 1 again
    becomes '{.status.grants.seen}' 0
    becomes '{.status.readyReplicas}' 6
    order "ask?n=1"
    order "advance?phase=Complete"
    becomes '{.status.grants.members}' 3
}

@test "no replicas and suspension end all grants" {
    running 2 '"applicationLimits": {"max": 8}'
    order "ask?n=1"
    order "advance?phase=Complete"
    becomes '{.status.grants.members}' 1
    scale 0
    becomes '{.spec.replicas}' 0 sts/x
    becomes '{.status.grants.members}' 0
    scale 2
    becomes '{.spec.replicas}' 2 sts/x
    [ "$(status_of '{.status.desiredReplicas}')" = 2 ]
}

@test "a DVM that never formed is scaled down at once" {
    start_operator
    make_cluster 4
    becomes '{.spec.replicas}' 4 sts/x
    scale 1
    becomes '{.spec.replicas}' 1 sts/x
    [ -z "$(status_of '{.status.lastCampaign}')" ]
}

@test "with no replicas only the head runs" {
    start_operator
    make_cluster 0
    start_head
    condition Available HeadOnly
    becomes '{.status.conditions[?(@.type=="Available")].status}' False
    becomes '{.status.conditions[?(@.type=="Ready")].status}' True
    replicas_are 0
    [ "$(kn get sts x-head -o jsonpath='{.spec.replicas}')" = 1 ]
}

@test "suspend ends the head before the members, and resume starts all again" {
    running 3
    secrets=$(kn get secret -o jsonpath='{.items[*].metadata.resourceVersion}')
    kn patch dvm x --type merge -p '{"spec": {"suspend": true}}' >&2
    becomes '{.status.campaign.phase}' Draining
    [ "$(status_of '{.status.campaign.kind}')" = Shutdown ]
    replicas_are 3
    [ "$(count 'PUT shutdown')" -eq 1 ]
    order away
    condition Suspended Suspended
    becomes '{.status.conditions[?(@.type=="Suspended")].status}' True
    replicas_are 0
    [ "$(kn get sts x-head -o jsonpath='{.spec.replicas}')" = 0 ]
    order restart
    order back
    kn patch dvm x --type merge -p '{"spec": {"suspend": false}}' >&2
    becomes '{.status.conditions[?(@.type=="Available")].status}' True
    replicas_are 3
    [ "$(kn get secret -o jsonpath='{.items[*].metadata.resourceVersion}')" = "$secrets" ]
}

@test "after a restart of the API server the operator continues and repeats no action" {
    running 4
    order 'hold?on=1'
    scale 2
    becomes '{.status.campaign.phase}' Draining
    "$api" server-kill "$API_DIR" 0
    order 'advance?phase=Complete'
    "$api" server-start "$API_DIR" 0 >&2
    becomes '{.status.lastCampaign.phase}' Complete
    replicas_are 2
    [ "$(count 'PUT campaign')" -eq 1 ]
}

@test "a missing certificate is issued again by the same authority" {
    running 2
    end_operator TERM
    kn delete secret x-member >&2
    start_operator
    appears secret/x-member
    secret_file x-member tls.crt > "$dir/new.crt"
    openssl verify -CAfile "$dir/head/ca.crt" "$dir/new.crt"
}

# --- the chart

@test "an idle operator has at most 8 MiB of resident memory" {
    operator=$repo/build/release/bin/dvm-operator # the sanitizers need more
    start_operator
    until_true 30 grep -qw ready "$dir/operator.log"
    awk '/^Rss:/ {print; exit $2 > 8192}' "/proc/$(cat "$dir/operator.pid")/smaps_rollup"
}

@test "the rights of the chart are sufficient for all actions" {
    as_chart_says
    running 4
    scale 2
    becomes '{.status.lastCampaign.phase}' Complete
    kn patch dvm x --type merge -p '{"spec": {"suspend": true}}' >&2
    becomes '{.status.campaign.phase}' Draining
    order away
    becomes '{.status.conditions[?(@.type=="Suspended")].status}' True
    until_true 30 says ShrinkComplete ""
    run grep -i forbidden "$dir/operator.log"
    [ "$status" -eq 1 ]
}

@test "the rights of the chart exclude lists of Secrets, other namespaces and other kinds" {
    as_chart_says
    may() { k --kubeconfig "$OPERATOR_KUBECONFIG" auth can-i "$@" > /dev/null 2>&1; }
    may_not() { if may "$@"; then echo "may $*"; return 1; fi; }
    may get secrets/x-ca -n "$ns"
    may patch secrets/x-head -n "$ns"
    may_not list secrets -n "$ns"
    may_not watch secrets -n "$ns"
    may_not update secrets -n "$ns"
    may_not delete secrets -n "$ns"
    may_not get secrets -n default
    may_not create statefulsets.apps -n default
    may_not update dvmclusters.dvm.openpmix.io -n "$ns"
    may_not create pods --subresource=exec -n "$ns"
    may_not get nodes
}

@test "an object that repeatedly cannot be applied gives a condition with the server's message" {
    # The range of service addresses of the test's server is small: 10.0.0.0/24.
    for n in {0..260}; do
        printf '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "fill-%d"}, "spec": {"ports": [{"port": 80}]}}\n' "$n"
    done | kn create -f - > /dev/null 2> "$dir/full" || true
    grep -q "range is full" "$dir/full"
    start_operator
    make_cluster 1
    condition Progressing ObjectNotApplied
    [[ $(status_of '{.status.conditions[?(@.type=="Progressing")].message}') == "Service x-head cannot be applied: "*"range is full"* ]]
    kn delete service fill-0 fill-1 >&2
    appears service/x-head
    condition Progressing Starting
    kn delete services --all >&2
}
