#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each program that a user or a rank waits for is linked with the libraries that it needs and no others: a library that
# is loaded costs every start. Reads the NEEDED entries of the programs in BUILD/release/bin.
# A program with a library that has a hook for its allocator sets it (base/heap/heap.h): its symbols show that it calls the
# function.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${BUILD:-build}/release/bin

# Libraries beside libc that each program may need.
declare -A allowed=(
    [prun]=''
    [pstat]='libjansson'
    [pterm]='libjansson'
    [prte]='libhwloc libjansson libssl libcrypto'
    [dvm-connect]='libssl libcrypto'
    [dvm-stage]='libcrypto'
    [dvm-spawner]='' # static
    [dvm-operator]='libevent_core libevent_extra libevent_openssl libcurl libyaml libjansson libssl libcrypto'
)

# Names without versions: libevent-2.1.so.7 is libevent.
needed() {
    readelf -dW "$1" | sed -nE 's/.*\(NEEDED\).*\[([^]]*)\]/\1/p' | sed -E 's/(-[0-9.]+)?\.so(\..*)?$//'
}

# "LIBRARY FUNCTION"
guards='libjansson heap_guard_json
libevent heap_guard_events
libevent_core heap_guard_events
libcrypto heap_guard_crypto'

check_guards() {
    local program=$1 names=$2 library guard
    while read -r library guard; do
        grep -qx "$library" <<< "$names" || continue
        [ "$(nm "$bin/$program" | grep -c " T $guard\$")" -eq 0 ] || continue
        echo "libraries: $program needs $library and does not call $guard()"
        failed=1
    done <<< "$guards"
}

failed=0
for program in "${!allowed[@]}"; do
    names=$(needed "$bin/$program") # a file that readelf cannot read ends the script
    for name in $names; do
        [[ " libc ${allowed[$program]} " == *" $name "* ]] && continue
        echo "libraries: $program needs $name, which is not on its list in ${BASH_SOURCE[0]}"
        failed=1
    done
    check_guards "$program" "$names"
done
check_guards prted "$(needed "$bin/prted")"
[ "$failed" -ne 0 ] || echo "${#allowed[@]} programs need the libraries on their lists and no others; those with an allocator that can be set have set it"
exit "$failed"
