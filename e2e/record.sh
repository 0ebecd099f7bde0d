#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Records a namespace until it is stopped: resources, Events, pods, and the log of each container.
# usage: record.sh NAMESPACE FOLDER
set -euo pipefail
NS=$1
DIR=$2
STATUS='.status.containerStatuses[0]'
FIELDS="A:.metadata.name,B:.metadata.uid,C:$STATUS.restartCount,D:$STATUS.state.running.startedAt"
mkdir -p "$DIR/logs"

# The parent waits until the descriptors that it passed on are closed.
for fd in "/proc/$$/fd/"*; do
    fd=${fd##*/}
    if [ "$fd" -gt 2 ] && [ "$fd" != 255 ]; then exec {fd}>&-; fi
done

# Each process ends with this shell, however that ends.
beside() { setpriv --pdeathsig TERM "$@" & }

# The server ends a watch from time to time; it is started again.
watch_into() {
    local file=$1
    shift
    # shellcheck disable=SC2016  # expanded by that shell
    beside bash -c 'file=$1; shift; while :; do setpriv --pdeathsig TERM kubectl "$@" >> "$file" 2>> "$file.err" || true; read -rt 1 <> <(:) || true; done' \
        watch "$file" --namespace "$NS" get "$@"
}

pod_lines() {
    while :; do
        setpriv --pdeathsig TERM kubectl --namespace "$NS" get pods --watch --no-headers -o "custom-columns=$FIELDS" 2> /dev/null || true
        read -rt 1 <> <(:) || true
    done
}

watch_into "$DIR/dvm.yaml" dvm --watch -o yaml
watch_into "$DIR/events" events --watch
watch_into "$DIR/pods" pods --watch -o wide
watch_into "$DIR/statefulsets" statefulsets --watch

declare -A seen
while read -r pod uid restarts started; do
    if [ "${started:-<none>}" = '<none>' ] || [ -n "${seen[$uid.$restarts]:-}" ]; then continue; fi
    seen[$uid.$restarts]=1
    beside kubectl --namespace "$NS" logs --follow --timestamps "$pod" > "$DIR/logs/$pod.${uid:0:8}.$restarts" 2>&1
done < <(pod_lines)
