#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures links between daemons (bench/links.c), and the throughput of prun; one JSON line per figure.
#
# CAT_BYTES: bytes of input of prun. CAT_ROUNDS: so many times, in turn with the same way without daemons.
set -euo pipefail
CAT_BYTES=${CAT_BYTES:-1000000000}
CAT_ROUNDS=${CAT_ROUNDS:-3}
# shellcheck source=bench/lib.bash
source "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

peak() { awk '/^VmHWM:/ {print $2}' "/proc/$1/status"; }

# cat: bytes into prun, through one rank of four, and out again: rate, and the most memory of each process on the way.
through() {
    local start took before_head before_member prun
    prte start -n 4 --slots 2 > /dev/null
    before_head=$(peak "$(prted_of 0)")
    before_member=$(peak "$(prted_of 1)")
    start=$(now_us)
    prun=$(head -c "$CAT_BYTES" /dev/zero | { timeout --kill-after=10 "$LIMIT" /usr/bin/time -f %M -o "$dir/peak" "$BIN/prun" -n 4 cat; } | cksum)
    took=$(($(now_us) - start))
    [ "$prun" = "$(head -c "$CAT_BYTES" /dev/zero | cksum)" ] || { echo "bench: other bytes came out of cat" >&2; exit 1; }
    emit cat bytes "$CAT_BYTES" seconds "$(jq -n "$took / 1000000")" mb_per_s "$(jq -n "$CAT_BYTES / $took")" \
        prun_peak_kib "$(cat "$dir/peak")" \
        head_growth_kib $(($(peak "$(prted_of 0)") - before_head)) member_growth_kib $(($(peak "$(prted_of 1)") - before_member))
    prte stop > /dev/null
}

# The same bytes through as many processes, of which two are joined by TLS (bench/link_chain.c).
through_chain() {
    local start took sum
    start=$(now_us)
    sum=$(head -c "$CAT_BYTES" /dev/zero | timeout --kill-after=10 "$LIMIT" "$HELPERS/links" chain | cksum)
    took=$(($(now_us) - start))
    [ "$sum" = "$(head -c "$CAT_BYTES" /dev/zero | cksum)" ] || { echo "bench: other bytes came out of the chain" >&2; exit 1; }
    emit "cat without daemons" bytes "$CAT_BYTES" seconds "$(jq -n "$took / 1000000")" mb_per_s "$(jq -n "$CAT_BYTES / $took")"
}

"$HELPERS/links"
for ((i = 0; i < CAT_ROUNDS; i++)); do
    through_chain
    through
done
