# SPDX-License-Identifier: BSD-3-Clause
# For tests of the network between daemons: a DVM in a network namespace of its own, and connections that are reset.
# Loaded after lib.bash.
# shellcheck shell=bash disable=SC2154,SC2034

# Skips the test if this user cannot make a network namespace.
can_isolate() { unshare --net true 2> /dev/null || skip "no right to make a network namespace"; }

# start_in_net MEMBERS [OPTION...]: start_dvm in a new network namespace, in which only the loopback interface is.
start_in_net() {
    timeout --kill-after=10 "$limit" unshare --net sh -c 'ip link set lo up && exec "$@"' sh \
        "$bin/prte" start -n "$@" > "$BATS_TEST_TMPDIR/start"
    net=/proc/$(daemon_of 0)/ns/net
    join=$(port 0 join)
    in_net nft add table inet fault
    in_net nft add chain inet fault in '{ type filter hook input priority 0; }'
}

# in_net COMMAND...: in the network of the DVM.
in_net() {
    if [ -n "${net:-}" ]; then
        nsenter --net="$net" "$@"
    else
        "$@"
    fi
}

port() { jq ".$2" "$DVM_SESSION_DIR/$1/ports.json"; }

# metric VPID NAME: of the daemon's own figures.
metric() {
    in_net curl -fsS -m "$limit" "http://127.0.0.1:$(port "$1" plain)/metrics" | awk -v name="$2" '$1 == name {print $2}'
}
links_are() { [ "$(metric 0 'dvm_links{state="up"}')" = "$1" ]; }

# callers PORT...: local ports of the connections to these ports.
callers() { in_net ss -Htn state established "$(dport_in "$@")" | awk '{ sub(/.*:/, "", $3); print $3 }'; }
dport_in() { printf '( %s )' "$(printf ' or dport = :%s' "$@" | cut -c 5-)"; }

# reset_from CALLER PORT...: the kernel resets this connection to one of these ports.
reset_from() { in_net ss -HKtn state established sport = ":$1" "$(dport_in "${@:2}")" > /dev/null; }

# reset_one PORT: the kernel resets one of the connections to this port.
reset_one() {
    local from
    from=$(callers "$1" | sort -n | head -n 1)
    [ -n "$from" ] && reset_from "$from" "$1"
}
