#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One file for lint.sh: clang-tidy, unless it has passed with the same content, headers, checks and flags.
# Usage: LINT_TIDY=<program> LINT_FLAGS=<flags> tidy.sh <file.c>, from the root of the tree.
set -euo pipefail
shopt -s inherit_errexit

file=$1
mark=build/lint/$file.passed
read -ra flags <<<"$LINT_FLAGS"
options=(--quiet)
# Tests run under the sanitizers, which see more of them than the analyzer does, and sooner.
[[ $file != */test/* ]] || options+=(--checks=-clang-analyzer-*)

# Everything that the verdict depends on; of system headers, only that of their packages' flags.
content_key() {
    local rule
    local -a deps
    rule=$(gcc -MM "${flags[@]}" "$file")
    read -ra deps <<<"$(tr -d '\\\n' <<<"${rule#*:}")"
    {
        echo "${options[*]} $LINT_FLAGS"
        "$LINT_TIDY" --version
        sha256sum .clang-tidy "${deps[@]}"
    } | sha256sum
}

key=$(content_key)
if [ -f "$mark" ] && [ "$(cat "$mark")" = "$key" ]; then
    exit 0
fi
if ! said=$("$LINT_TIDY" "${options[@]}" "$file" -- "${flags[@]}" 2>&1); then
    grep -vE '^[0-9]+ warnings? generated|^Suppressed |^Use -header-filter' <<<"$said" || true
    exit 1
fi
mkdir -p "$(dirname "$mark")"
echo "$key" >"$mark"
