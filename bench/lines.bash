# SPDX-License-Identifier: BSD-3-Clause
# Prints the figures of a bench as JSON lines, and computes medians.
# shellcheck shell=bash

# emit BENCH KEY VALUE…: one line; values that are JSON stay so, others become texts.
emit() {
    local bench=$1
    shift
    jq -cn --arg bench "$bench" --args '[range(0; $ARGS.positional | length; 2) as $i |
        {key: $ARGS.positional[$i], value: ($ARGS.positional[$i + 1] as $v | try ($v | fromjson) catch $v)}] |
        {bench: $bench} + from_entries' "$@"
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
