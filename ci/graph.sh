#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The exact call graph between the files and folders of the product, from its objects (nm).
# ci/graph.sh BUILD [--list] [KNOWN]: prints the cycles between folders, and between files of different nouns, and
# counts. Exit 1 if there is a cycle that the file KNOWN does not list; --list prints all calls between folders first.
set -euo pipefail

build=${1:?graph: the build folder is missing}
shift
list=
if [ "${1-}" = --list ]; then
    list=1
    shift
fi
root=$build/release
known=${1-}
[ -z "$known" ] || [ -r "$known" ] || { echo "graph: $known is missing" >&2; exit 2; }
[ -d "$root" ] || { echo "graph: $root is missing" >&2; exit 2; }

# Objects of sources that are still there; neither tests nor programs of bench/ and ci/.
objects() {
    local o
    while IFS= read -r o; do
        [ -f "${o%.o}.c" ] || continue
        printf '%s\n' "$o"
    done < <(cd "$root" && find base api dvm operator -name '*.o' -not -path '*/test/*' 2>/dev/null | LC_ALL=C sort)
}

# file, def or use, name
symbols() {
    local o
    while IFS= read -r o; do
        nm "$root/$o" | awk -v file="${o%.o}.c" '
            $1 == "U" { print file, "use", $2 }
            NF == 3 && $2 ~ /^[TDBRVWC]$/ { print file, "def", $3 }'
    done
}

headers() { { find base api dvm operator -name '*.h' -not -path '*/test/*' 2>/dev/null || true; } | sed 's/$/ header/'; }

{ headers && objects | symbols; } | awk -v list="$list" -v known="$known" -f "$(dirname "${BASH_SOURCE[0]}")/graph.awk"
