#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# We define no symbol of another library: none of libc, libevent, hwloc and the others that the daemon and the operator
# are linked with, and none of libpmix outside its own archive. And libpmix is in prted alone, which exports none of it.
# BUILD names another build folder.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
BUILD=${BUILD:-build}
PMIX=$BUILD/libpmix/release/lib/libpmix.a
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

refuse() {
    echo "symbols: $*"
    failed=1
}

# "SYMBOL FILE" for each symbol that our objects define for others.
ours() {
    local objects=()
    mapfile -t objects < <(find "$BUILD/release" -maxdepth 1 -name 'lib*.a'; find "$BUILD/release/dvm/bin" "$BUILD/release/operator/main.o" -name '*.o' 2> /dev/null || true)
    [ "${#objects[@]}" -gt 0 ] || return 0
    nm -A --defined-only --extern-only "${objects[@]}" 2> /dev/null |
        awk 'NF == 3 { file = $1; sub(/:[0-9a-f]*$/, "", file); if ($3 != "main") print $3, file }' | LC_ALL=C sort -u -k 1,1
}

# "SYMBOL LIBRARY" for each symbol of the libraries that the programs are linked with.
theirs() {
    local lib
    for lib in $(ldd "$BUILD/release/bin/prted" "$BUILD/release/bin/dvm-operator" 2> /dev/null | awk '$3 ~ /^\// { print $3 }' | sort -u); do
        nm -D --defined-only "$lib" | awk -v lib="${lib##*/}" '{ sub(/@.*/, "", $3); print $3, lib }'
    done
    nm --defined-only --extern-only "$PMIX" 2> /dev/null | awk 'NF == 3 { print $3, "libpmix" }'
}

check_ours() {
    local symbol file lib
    ours > "$tmp/ours"
    theirs | LC_ALL=C sort -u -k 1,1 > "$tmp/theirs"
    [ -s "$tmp/ours" ] || refuse "$BUILD/release holds no objects of ours"
    for lib in 'close libc' 'event_add libevent' 'hwloc_topology_load libhwloc' 'PMIx_server_init libpmix'; do
        grep -q "^$lib" "$tmp/theirs" || refuse "no symbol $lib: this check sees nothing"
    done
    while read -r symbol file lib; do
        refuse "$file defines $symbol, which is a function or an object of $lib"
    done < <(LC_ALL=C join "$tmp/ours" "$tmp/theirs")
}

check_programs() {
    local program exported
    for program in "$BUILD"/release/bin/*; do
        [ "${program##*/}" != prted ] || continue
        if [ "$(nm "$program" 2> /dev/null | grep -ci ' t PMIx_server_init$')" -gt 0 ]; then
            refuse "$program is linked with libpmix"
        fi
    done
    exported=$(nm -D --defined-only "$BUILD/release/bin/prted" | awk '{ print $3 }' | grep -i -m 3 '^_*pmix' | tr '\n' ' ') || true
    [ -z "$exported" ] || refuse "prted exports $exported"
    if ldd "$BUILD/release/bin/prted" | grep -q libpmix; then refuse "prted loads libpmix"; fi
}

check_ours
check_programs
[ "$failed" -ne 0 ] || echo "$(wc -l < "$tmp/ours") symbols of ours, none of another library; libpmix is in prted alone"
exit "$failed"
