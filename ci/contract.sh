#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Lists the rules of the elastic contract (C1 to C27), the tests that show each, and the deliberate mistakes under
# which the core's tests of it fail; runs them to see that they do. Refuses a rule without a test, a rule of the
# core's without such a mistake, a test in the sources that ci/contract.txt does not have, a mistake that nothing notices.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
BUILD=${BUILD:-build}
TABLE=${TABLE:-ci/contract.txt}
RULES=({1..27})
ELSEWHERE=' 16 17 19 27 ' # shown by real daemons, the operator, a cluster: tests in bats
failed=0

refuse() {
    echo "contract: $*"
    failed=1
}

# The one test of that name has to pass, or, with a mutant, to fail.
run_test() {
    local rc=0 out
    out=$(DVM_TEST=$2 DVM_MUTANT=${3-} timeout --kill-after=5 60 "$BUILD/mutant/$1" 2>&1) || rc=$?
    grep -qF 'Running 1 test(s)' <<<"$out" || { refuse "$2: $1 does not run it alone (status $rc)"; return 0; }
    if [ $# -eq 2 ]; then
        [ "$rc" -eq 0 ] || refuse "$2 fails"
    elif [ "$rc" -ne 1 ] || ! grep -qF "[  FAILED  ] $2" <<<"$out"; then
        refuse "$2 does not fail under $3 (status $rc)"
    fi
}

# The core's tests of one rule, or, with x, those of no rule.
show_core() {
    local program test mutants mutant rule_of
    while read -r program test mutants; do
        rule_of=$(sed -nE 's/^c([0-9]+)_.*/\1/p' <<<"$test")
        [ "${rule_of:-x}" = "$1" ] || continue
        tests=$((tests + 1))
        printf '  %s\n      fails under: %s\n' "$test" "${mutants:-nothing}"
        [ -n "$mutants" ] || refuse "$test has no mutant"
        run_test "$program" "$test"
        for mutant in $mutants; do
            run_test "$program" "$test" "$mutant"
            runs=$((runs + 1))
        done
    done < <(grep -v '^#' "$TABLE")
}

show_bats() {
    local line
    while IFS= read -r line; do
        tests=$((tests + 1))
        sed -E 's/^([^:]*):@test "C[0-9]+: (.*)" \{$/  \2\n      in \1/' <<<"$line"
    done < <(grep -HE "^@test \"C$1: " dvm/test/*.bats operator/test/*.bats e2e/scenarios/*.bats)
}

check_rule() {
    tests=0
    echo "C$1"
    show_core "$1"
    if [ "$tests" -eq 0 ] && [[ $ELSEWHERE != *" $1 "* ]]; then
        refuse "C$1: no test of the core shows it"
    fi
    show_bats "$1"
    [ "$tests" -gt 0 ] || refuse "C$1: no test shows it"
}

check_listed() {
    local test mutant
    while read -r test; do
        grep -qE " $test( |\$)" "$TABLE" || refuse "$test is not in $TABLE"
    done < <(find dvm operator -path "*/test/test_*.c" -exec sed -nE 's/^static void (c[0-9]+_[a-z0-9_]+)\(void \*\*[a-z]+\)$/\1/p' {} +)
    while read -r mutant; do
        grep -qE " $mutant( |\$)" "$TABLE" || grep -q "{\"$mutant\", " dvm/sim/test/mutants.c ||
            refuse "nothing is known to notice the mutant $mutant"
    done < <("$BUILD/mutant/sim" --mutants | cut -d' ' -f1)
}

runs=0
for rule in "${RULES[@]}"; do
    check_rule "$rule"
done
echo "beyond the contract"
show_core x
check_listed
[ "$failed" -ne 0 ] || echo "each of the ${#RULES[@]} rules has its tests; $runs runs with a mutant have failed as they have to"
exit "$failed"
