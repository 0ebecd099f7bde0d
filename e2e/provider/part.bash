# SPDX-License-Identifier: BSD-3-Clause
# For scripts that take minutes: part() says which part begins, take_lock() lets one process at a time do a part. Sourced.
# shellcheck shell=bash

# part SECONDS TEXT…: the part that begins, and how long it usually takes on two cores. The demo shows lines "part: …".
part() { printf 'part: %s, %s\n' "${*:2}" "$(usually "$1")" >&2; }

# usually SECONDS: in words.
usually() {
    if [ "$1" -lt 100 ]; then printf 'usually %d s' "$1"; else printf 'usually %d min' $((($1 + 30) / 60)); fi
}

# take_lock FILE WORK: on descriptor 9, until that is closed. If another process has it, says so and waits.
take_lock() {
    mkdir -p "${1%/*}"
    exec 9> "$1"
    if flock --nonblock 9; then return; fi
    printf 'part: waiting, another process %s\n' "$2" >&2
    flock 9
}
