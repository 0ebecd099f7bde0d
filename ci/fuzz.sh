#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs every fuzz target that is named for its share of FUZZ_SECONDS, one after the other; prints which message types
# were reached and how much of the decoders was. Fails on a crash, and on a type that was not reached.
# Usage: fuzz.sh <folder of the build> <target>..., from the root of the tree
set -euo pipefail
shopt -s inherit_errexit

build=$1
shift
seconds=${FUZZ_SECONDS:-240}
share=$((seconds / $# > 0 ? seconds / $# : 1))
work=$build/run
# The report lists how many lines of each of these files the targets have reached.
decoders=(operator/http/{http,quiet}.c operator/kube/{kube,config}.c operator/cache/{cache,store}.c operator/dvm/dvm.c operator/model/{cluster,record,grants,policy,security}.c operator/reconcile/{child,pod,headlink}.c operator/lease/election.c dvm/protocol/wire/{frame,job,client,piece}.c dvm/protocol/wire/msg/*.c dvm/host/cred/cred.c dvm/protocol/member/{nidmap,facts}.c dvm/protocol/head/journal/record{,_campaign,_job_map,_job_progress,_published}.c dvm/protocol/head/published/store.c dvm/protocol/map/topo.c dvm/host/spawner/{spawn_msg,clean_journal,limits}.c dvm/host/stager/words.c dvm/host/iof/{iof,tap}.c dvm/host/pmix/jobtable.c dvm/host/app/*.c dvm/host/services/{foreign_jobs,pulled_output}.c api/{campaign,dvm,event,fields,job_state,member_state,reason,size}.c)
failed=0

llvm() {
    local name
    for name in "$1" "$1-14" "$1-19"; do
        if command -v "$name"; then
            return
        fi
    done
    echo "fuzz: $1 is needed" >&2
    return 1
}

# The seeds that the encoders have made, or the files that lie beside the target.
seeds_of() {
    local target=$1 name
    name=$(basename "$target")
    if [ -d "$work/seeds/$name" ]; then
        echo "$work/seeds/$name"
    else
        echo "$(dirname "${target#"$build/"}")/corpus/${name#fuzz_}"
    fi
}

show_crash() {
    local f
    for f in "$work/crash"/*; do
        [ -f "$f" ] || continue
        echo "input that does it, $(basename "$f"):"
        od -An -v -tx1 "$f"
    done
}

run() {
    local target=$1 name seeds log
    name=$(basename "$target")
    seeds=$(seeds_of "$target")
    log=$work/$name.log
    mkdir -p "$work/corpus/$name" "$work/crash"
    if ! LLVM_PROFILE_FILE=$work/$name.profraw timeout --kill-after=5 $((share + 60)) \
        "$target" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/crash/$name-" "$work/corpus/$name" "$seeds" >"$log" 2>&1; then
        failed=1
        grep -vE '#[0-9]+.*(NEW|REDUCE|pulse)' "$log" | tail -40
        show_crash
        return
    fi
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs," \
        "$(sed -n 's/^bytes: //p' "$log") bytes in $share s;" \
        "$(sed -n 's/^types: //p' "$log")"
    if grep '^type not reached' "$log"; then
        failed=1
    fi
}

coverage() {
    local cov prof t objects=()
    cov=$(llvm llvm-cov)
    prof=$(llvm llvm-profdata)
    "$prof" merge -sparse -o "$work/all.profdata" "$work"/*.profraw
    for t in "${@:2}"; do objects+=(-object "$t"); done
    "$cov" report -instr-profile="$work/all.profdata" "$1" "${objects[@]}" "${decoders[@]}" |
        awk 'NF > 9 && !/^-/ { printf "%-28s %8s lines %8s reached\n", $1, $8, $10 }' | sed 1d
}

rm -rf "$work" && mkdir -p "$work/seeds"
LLVM_PROFILE_FILE=/dev/null "$build/corpus" "$work/seeds"
for t in "$@"; do run "$t"; done
[ "$failed" = 0 ] || exit 1
for t in fuzz_frame fuzz_client; do
    echo "types reached by $t: $(sed -n 's/^type reached \([^ ]*\) .*/\1/p' "$work/$t.log" | xargs)"
done
coverage "$@"
