#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each program that a user or a rank waits for is linked with the libraries that it needs and no others: a library that
# is loaded costs every start. Reads the NEEDED entries of the programs in BUILD/release/bin.
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

failed=0
for program in "${!allowed[@]}"; do
    names=$(needed "$bin/$program") # a file that readelf cannot read ends the script
    for name in $names; do
        [[ " libc ${allowed[$program]} " == *" $name "* ]] && continue
        echo "libraries: $program needs $name, which is not on its list in ${BASH_SOURCE[0]}"
        failed=1
    done
done
[ "$failed" -ne 0 ] || echo "${#allowed[@]} programs need the libraries on their lists and no others"
exit "$failed"
