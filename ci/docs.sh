#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares docs/ with the source, about tests, PMIx and the operator: docs.sh [tests] [upcalls] [attributes] [reasons] [dashboard] [outer]
#
# tests: in PAGES, a name in double quotes has to be that of a bats test or a heading. A name in backticks with four
# underscores or with "…" has to be that of a cmocka test, unless it begins with dvm_, as metrics do; "…" stands for any
# text. A file in backticks has to exist.
# upcalls: each entry of the library's server module, and each that we set, is in the table of docs/pmix.md.
# attributes: each one in dvm/host/pmix is in a table of docs/pmix.md or docs/pmix/ with the columns "attribute", "since"
# and "tested by"; these columns agree with the header that the compiler finds.
# reasons: each one of operator/status/reason.h is told in docs/operator/.
# dashboard: each metric in a query of the chart's dashboard is one of operator/metrics/metrics.c.
# outer: the variables of dvm/host/jobspec/outer.c are those of docs/pmix/environment.md, in the same order.
# Exit code: 0 no error, 1 errors.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${DOCS_ROOT:-$here/..}"
shopt -s nullglob
readonly PMIX=docs/pmix.md PMIX_PAGES=(docs/pmix.md docs/pmix/*.md)
readonly PAGES=("${PMIX_PAGES[@]}" docs/{cleanup,head,promises,prun,security,seeds,simulator}.md docs/prun/*.md docs/protocol/*.md)
CC=${CC:-gcc}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# refuse: each line of its input is an error.
refuse() {
    local line rc=0
    while IFS= read -r line; do
        echo "docs: $line"
        rc=1
    done
    return "$rc"
}

# --- names in the source

# Only functions in a list of tests are tests.
cmocka_tests() {
    find . -path '*/test/*.c' -not -path './build/*' -exec awk '/struct CMUnitTest .*= \{/ { on = 1; next } /^ *\};/ { on = 0 } on' {} + | tr -d '\n' |
        { grep -oE '[A-Za-z_]+\( *[a-z0-9_]+' || true; } | sed 's/.*[( ]//'
}

bats_tests() {
    find . -name '*.bats' -not -path './build/*' -exec sed -n 's/^@test "\(.*\)" {.*/\1/p' {} + | sed 's/\\\(.\)/\1/g'
}

headings() { sed -n 's/^##* //p' docs/*.md docs/*/*.md; }

# --- names in the pages: "KIND TAB PAGE:LINE TAB NAME", KIND one of quoted, test, file. Blocks of code are left out.
said() {
    awk '
        function take(kind, name) { print kind "\t" FILENAME ":" FNR "\t" name }
        FNR == 1 { block = 0 }
        /^ *```/ { block = !block }
        block || /^    / || /^ *```/ { next }
        {
            n = split($0, part, "`")
            plain = ""
            for (i = 1; i <= n; i++) {
                if (i % 2 == 1) { plain = plain part[i]; continue }
                plain = plain " "
                word = part[i]
                if (word ~ /^[a-z0-9_\/.-]+\.(bats|c|h|sh)$/)
                    take("file", word)
                else if (word ~ /^dvm_[a-z_]*$/)
                    continue
                else if (word ~ /^[a-z0-9_]*_[a-z0-9_…]*…$/ || (word ~ /^[a-z0-9_…]+$/ && gsub(/_/, "_", word) >= 4))
                    take("test", part[i])
            }
            while (match(plain, /"[^"]*"/)) {
                take("quoted", substr(plain, RSTART + 1, RLENGTH - 2))
                plain = substr(plain, RSTART + RLENGTH)
            }
        }' "${PAGES[@]}"
}

# is_there NAME LIST: one line of the file is NAME, in which "…" stands for anything.
is_there() {
    local pattern
    # shellcheck disable=SC2016  # sed's
    pattern=$(sed 's/[][\.*^$(){}+?|/]/\\&/g; s/ *… */.*/g' <<< "$1")
    grep -qE "^$pattern\$" "$2"
}

check_tests() {
    local kind where name
    cmocka_tests > "$tmp/test"
    { bats_tests && headings; } > "$tmp/quoted"
    find . -type f -not -path './build/*' -not -path './.git/*' | sed 's|^\.||' > "$tmp/file"
    [ -s "$tmp/test" ] || { echo "docs: no tests are found"; return 1; }
    while IFS=$'\t' read -r kind where name; do
        case $kind in
        file) grep -qF "/$name" "$tmp/file" || echo "$where: there is no file $name" ;;
        test) is_there "$name" "$tmp/test" || echo "$where: there is no test $name" ;;
        quoted) is_there "$name" "$tmp/quoted" || echo "$where: there is no test or heading \"$name\"" ;;
        esac
    done < <(said) | refuse
}

# --- the server module

# "ENTRY TAB SINCE" of the table below "## Upcalls".
upcall_rows() {
    awk -F ' *[|] *' '/^## / { on = $0 == "## Upcalls" }
        on && NF > 4 { gsub(/ \([^)]*\)/, "", $2); n = split($2, name, ", "); for (i = 1; i <= n; i++) print name[i] "\t" $3 }' "$PMIX"
}

check_upcalls() {
    local entry
    upcall_rows > "$tmp/upcalls"
    {
        for entry in $(module_entries); do
            grep -q "^$entry"$'\t' "$tmp/upcalls" || echo "$PMIX: the library's upcall $entry is not in the table"
        done
        for entry in $(our_entries); do
            grep -q "^$entry"$'\t' "$tmp/upcalls" || echo "$PMIX: our upcall $entry is not in the table"
        done
    } | refuse
}

module_entries() {
    header | awk '/struct pmix_server_module/ { on = 1 } on && match($0, /[a-z0-9_]+;/) { print substr($0, RSTART, RLENGTH - 1) }
        /^} *pmix_server_module/ { on = 0 }' | grep -v '^pmix_server_module'
}

our_entries() {
    local entries
    entries=$(sed -nE '/pmix_server_module_t module = \{/,/^\};/ s/^ *\.([a-z0-9_]+) = .*/\1/p; s/^ *module\.([a-z0-9_]+) = .*/\1/p' dvm/host/pmix/*.c)
    [ -n "$entries" ] || echo "none"
    sort -u <<< "$entries"
}

# --- attributes

# Of the library that the daemon is built with.
# shellcheck disable=SC2086  # words
header() {
    echo '#include <pmix_server.h>' | $CC -E "$@" -I"$here/../build/libpmix/release/include" -x c -
}

# Names that are texts, of headers on standard input.
attributes() { sed -nE 's/^ *# *define +(PMIX_[A-Z0-9_]+) +"pmix\.[^"]+".*/\1/p' | LC_ALL=C sort -u; }

# Comments of the source are no use of a name.
named_in_source() {
    awk -f "$here/strip.awk" dvm/host/pmix/*.[ch] | grep -oE '\bPMIX_[A-Z0-9_]+' | LC_ALL=C sort -u
}

# "NAME TAB PAGE:LINE TAB SINCE TAB TESTED BY" of each name in a column "attribute".
attribute_rows() {
    awk -F ' *[|] *' '
        !/^[|]/ { since = 0; next }
        /[|] since / && /[|] attribute / {
            for (i = 2; i < NF; i++) { if ($i == "attribute") key = i; if ($i == "since") since = i; if ($i == "tested by") by = i }
            next
        }
        since {
            cell = $key
            while (match(cell, /PMIX_[A-Z0-9_]+/)) {
                print substr(cell, RSTART, RLENGTH) "\t" FILENAME ":" FNR "\t" $since "\t" $by
                cell = substr(cell, RSTART + RLENGTH)
            }
        }' "${PMIX_PAGES[@]}"
}

check_attributes() {
    local name where since by major
    major=$(header -dM | sed -nE 's/^#define PMIX_VERSION_MAJOR +([0-9]+).*/\1/p')
    header -dM | attributes > "$tmp/theirs"
    cat dvm/host/pmix/*.[ch] | attributes | LC_ALL=C sort -u - "$tmp/theirs" > "$tmp/all"
    attribute_rows > "$tmp/rows"
    {
        named_in_source | LC_ALL=C join - "$tmp/all" | while IFS= read -r name; do
            grep -q "^$name"$'\t' "$tmp/rows" || echo "$PMIX: the attribute $name of dvm/host/pmix is in no table"
        done
        while IFS=$'\t' read -r name where since by; do
            [[ $by == *[a-z]* ]] || echo "$where: $name is tested by nothing"
            if [[ ! $since =~ ^[0-9]+\.[0-9]+$ ]]; then
                echo "$where: $name is there since no version"
            elif grep -qx "$name" "$tmp/theirs"; then
                [ "${since%.*}" -le "$major" ] || echo "$where: $name is in libpmix $major, not only since $since"
            elif [ "${since%.*}" -le "$major" ]; then
                echo "$where: libpmix $major has no $name, said to be there since $since"
            fi
        done < "$tmp/rows"
    } | refuse
}

# --- the operator

check_reasons() {
    local word words
    words=$(sed -nE 's/^ *X\([A-Z_]+, "([A-Za-z]+)".*/\1/p' operator/status/reason.h)
    {
        [ -n "$words" ] || echo "operator/status/reason.h has no reasons"
        for word in $words; do
            grep -qF "\`$word\`" docs/operator/*.md || echo "docs/operator: the reason $word is told nowhere"
        done
    } | refuse
}

# A metric of the queries is a word with an underscore that no "(" follows.
check_dashboard() {
    local name names file=charts/dvm-operator/dashboard.json
    names=$(sed -nE 's/^ *"(expr|query)": "(.*)",?$/\2/p' "$file" | { grep -oE '[a-z]+(_[a-z]+)+\b(\(?)' || true; } |
        { grep -v '($' || true; } | LC_ALL=C sort -u)
    {
        [ -n "$names" ] || echo "$file names no metric"
        for name in $names; do
            grep -qE "\"${name}[\" {%]" operator/metrics/metrics.c || echo "$file: the operator has no metric $name"
        done
    } | refuse
}

# --- variables of other launchers

check_outer() {
    local page=docs/pmix/environment.md
    sed -n '/outer_names\[\] = {/,/NULL}/p' dvm/host/jobspec/outer.c | { grep -oE '"[^"]+"' || true; } | tr -d '"' > "$tmp/outer"
    awk '/^## / { on = $0 == "## Variables that no rank gets" } on && /^    [^#]/' "$page" | tr -s ' ' '\n' | sed '/^$/d' > "$tmp/said"
    {
        [ -s "$tmp/outer" ] || echo "dvm/host/jobspec/outer.c has no variables"
        diff "$tmp/outer" "$tmp/said" | sed -n "s|^< |$page: the source has also |p; s|^> |$page: the source does not have |p"
    } | refuse
}

[ $# -gt 0 ] || set -- tests upcalls attributes reasons dashboard outer
failed=0
for check in "$@"; do
    case $check in
    tests | upcalls | attributes | reasons | dashboard | outer) "check_$check" || failed=1 ;;
    *)
        echo "docs: there is no check $check" >&2
        exit 2
        ;;
    esac
done
exit "$failed"
