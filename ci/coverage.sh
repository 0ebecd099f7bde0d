#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs random schedules and then the core's unit tests in the build with counters. Prints the coverage of each module
# by the schedules alone, and by both. Fails if both reach less than 90 % of the lines or 80 % of the branches, or if a
# test or a schedule fails.
# Usage: coverage.sh <folder of the build> <schedules> "<modules>" <test>..., from the root of the tree
set -euo pipefail
shopt -s inherit_errexit

readonly LINES_MIN=90 BRANCHES_MIN=80
build=$1
schedules=$2
modules=$3
shift 3
log=$build/coverage.log

find "$build" -name '*.gcda' -delete
: >"$log"
run_schedules() {
    timeout --kill-after=5 900 "$build/sim" --seed 1 --seeds "$schedules" >>"$log" 2>&1 || {
        tail -5 "$log"
        echo "coverage: a schedule failed"
        exit 1
    }
}

run_tests() {
    local t
    for t in "$@"; do
        timeout --kill-after=5 300 "$t" >>"$log" 2>&1 || {
            tail -30 "$log"
            echo "coverage: $t failed"
            exit 1
        }
    done
}

# The branches inside uthash's macros are those of its hash function and of keys of other lengths, not ours.
measure() { # NAME: of the files that it writes
    gcovr --root . --object-directory "$build" --filter "dvm/(${modules// /|})/[^/]+\.c\$" --exclude-unreachable-branches \
        --exclude-branches-by-pattern '.*\bHASH_(ADD|ADD_KEYPTR|FIND|DEL)\b.*' \
        --json-summary "$build/$1.json" --txt "$build/$1.txt" "$build" >>"$log" 2>&1
}

# Name, lines reached and all, branches reached and all; a line per module, the sum last.
table() { # NAME LINES_MIN BRANCHES_MIN
    jq -r '.files[] | [(.filename | split("/")[1:-1] | join("/")), .line_covered, .line_total, .branch_covered, .branch_total] | @tsv' \
        "$build/$1.json" |
        awk -v order="$modules" -v lines_min="$2" -v branches_min="$3" '
            function percent(n, of) { return of ? 100 * n / of : 100 }
            function row(name, l, ln, b, bn) {
                printf "%-25s %6d of %6d lines %6.1f %%  %6d of %6d branches %6.1f %%\n", name, l, ln, percent(l, ln),
                    b, bn, percent(b, bn)
            }
            { l[$1] += $2; ln[$1] += $3; b[$1] += $4; bn[$1] += $5; L += $2; LN += $3; B += $4; BN += $5 }
            END {
                n = split(order, name, " ")
                for (i = 1; i <= n; i++)
                    if (ln[name[i]])
                        row(name[i], l[name[i]], ln[name[i]], b[name[i]], bn[name[i]])
                row("total", L, LN, B, BN)
                if (percent(L, LN) >= lines_min && percent(B, BN) >= branches_min)
                    exit 0
                printf "coverage: at least %d %% of lines and %d %% of branches are asked for\n", lines_min, branches_min
                exit 1
            }'
}

run_schedules
measure schedules
echo "reached by $schedules schedules alone:"
table schedules 0 0
run_tests "$@"
measure coverage
echo "reached by schedules and unit tests:"
table coverage $LINES_MIN $BRANCHES_MIN
