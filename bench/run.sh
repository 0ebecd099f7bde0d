#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs the benchmarks named (default: memory repair xcast links local head mpi heap) and prints JSON lines. Times are printed and never checked.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$here/.." && pwd)
export HELPERS=${HELPERS:-$ROOT/build/release/bench}

# machine: the host of the measurement.
machine() {
    jq -cn --arg kernel "$(uname -r)" --arg cpu "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
        --argjson cpus "$(nproc)" --arg load "$(cut -d' ' -f1-3 /proc/loadavg)" --argjson nice "$(nice)" \
        --arg session_fs "$(stat -f -c %T "${TMPDIR:-/tmp}")" --arg memory "$(awk '/^MemTotal:/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo)" \
        --arg commit "$(git -C "$ROOT" rev-parse --short HEAD 2> /dev/null || echo unknown)" \
        '{bench: "machine", cpu: $cpu, cpus: $cpus, memory: $memory, kernel: $kernel, session_fs: $session_fs, load: $load, nice: $nice, commit: $commit}'
}

machine
[ $# -gt 0 ] || set -- memory repair xcast links local head mpi heap
for name in "$@"; do
    case $name in
    memory | repair | xcast | floor | follow) "$HELPERS/$name" ;;
    links | local | head | mpi | heap | k8s) "$here/$name.sh" ;;
    operator) "$HELPERS/plan" && "$here/operator.sh" ;;
    *) printf 'bench: %s is none of memory, repair, xcast, floor, follow, links, local, head, mpi, heap, k8s, operator\n' "$name" >&2; exit 2 ;;
    esac
done
