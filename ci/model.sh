#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the models of protocols with spin: model.sh BUILD. The model as it stands must have no error; with each of its
# deliberate mistakes it must have one.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
model=$PWD/dvm/protocol/transfer/model/transfer.pml
dir=${1:-build}/model
mkdir -p "$dir"
cd "$dir"
failed=0

# check NAME EXPECTED DEFINE...: errors that spin finds, 0 or 1; it stops at the first.
check() {
    local name=$1 expected=$2 found
    shift 2
    spin -a "$@" "$model" >"$name.log"
    gcc -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=2500 -o "pan-$name" pan.c
    timeout --kill-after=5 300 "./pan-$name" -m1000000 >>"$name.log" 2>&1
    if grep -q 'max search depth too small\|Search not completed' "$name.log" && [ "$expected" = 0 ]; then
        echo "model: $name: the search did not end:"
        tail -n 30 "$name.log"
        failed=1
        return
    fi
    found=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$name.log")
    if [ "$found" != "$expected" ]; then
        echo "model: $name: ${found:-no number of} errors, $expected expected; see $dir/$name.log"
        failed=1
        return
    fi
    echo "$name: $found errors, $(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$name.log") states$(sed -n 's/^pan:1: \(.*\) (at depth.*/, found: \1/p' "$name.log")"
}

check transfer 0 -DERRORS=3
check transfer-frags 0 -DERRORS=2 -DFRAGS=3
for mistake in NO_WAIT NO_NACK NO_RECVERR FIN_LOST_IS_DONE; do
    check "transfer-$mistake" 1 -DERRORS=3 "-D$mistake"
done
exit "$failed"
