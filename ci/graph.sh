#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The exact call graph between the files and folders of the product, from its objects (nm).
# ci/graph.sh BUILD [--list] [FOLDER...]: prints the cycles between folders, and between files of different nouns, and
# counts. Exit 1 if a cycle has a file of a folder that is not named; --list prints all calls between folders first.
set -euo pipefail

build=${1:?graph: the build folder is missing}
shift
list=
if [ "${1-}" = --list ]; then
    list=1
    shift
fi
root=$build/release
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

objects | symbols | awk -v list="$list" -v known="$*" -f "$(dirname "${BASH_SOURCE[0]}")/graph.awk"
