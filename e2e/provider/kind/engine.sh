#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Finds the container engine that runs the cluster, or starts an engine of its own: engine.sh up|down|env
#
# E2E_ENGINE=user uses the user's Docker engine, E2E_ENGINE=own starts a second one that
# shares nothing with it. Unset: the user's, when it has or can fetch the published node image.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/versions.sh"

SOCKET=$ENGINE_DIR/docker.sock
PID_FILE=$ENGINE_DIR/docker.pid
CHOICE_FILE=$ENGINE_DIR/choice
# Prefix of every interface of this engine's containers; the packet filter and the clean-up rely on it.
BRIDGE=dvm-e2e
BRIDGE_ADDRESS=10.211.0.1/24
NETWORK_POOL=base=10.211.16.0/20,size=24
CHAIN=DVM-E2E
CAP_SYS_RESOURCE=24
# Each node takes some 20 inotify instances of the one user that all nodes share.
INOTIFY=/proc/sys/fs/inotify/max_user_instances
INOTIFY_NEEDED=1024
STARTING=0

say() { printf '%s\n' "$*" >&2; }
die() { say "engine.sh: $*"; exit 1; }
own_docker() { docker -H "unix://$SOCKET" "$@"; }

# A process id is that of our engine only if the process was started with our directory. A zombie
# counts as ended.
running() {
    local pid=$1 state
    [ -n "$pid" ] && [ -r "/proc/$pid/stat" ] || return 1
    state=$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) || return 1
    [ "$state" != Z ] && tr '\0' ' ' 2>/dev/null < "/proc/$pid/cmdline" | grep -qF "$ENGINE_DIR"
}

pid_in() { cat "$1" 2>/dev/null || true; }
own_is_up() { running "$(pid_in "$PID_FILE")" && own_docker version > /dev/null 2>&1; }

# poll SECONDS WHAT COMMAND…: until COMMAND succeeds.
poll() {
    local limit=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$limit" ] || { say "engine.sh: waited in vain until $what"; return 1; }
        sleep 0.1
    done
}

user_engine_is_usable() {
    if [ "${DOCKER_HOST:-}" = "unix://$SOCKET" ]; then unset DOCKER_HOST; fi
    docker info > /dev/null 2>&1 || return 1
    docker image inspect "$NODE_IMAGE" > /dev/null 2>&1 ||
        timeout 30 docker manifest inspect "$NODE_IMAGE" > /dev/null 2>&1
}

# Prints the decision of an earlier call: to find out needs a registry and takes time.
choice() {
    case ${E2E_ENGINE:-} in
    own | user) echo "$E2E_ENGINE" ;;
    '') cat "$CHOICE_FILE" 2>/dev/null || true ;;
    *) die "E2E_ENGINE is own or user, not $E2E_ENGINE" ;;
    esac
}

# Decides once; `down` removes the decision.
decide() {
    local known
    known=$(choice)
    if [ -n "$known" ]; then
        echo "$known"
    elif user_engine_is_usable; then
        echo user
    else
        echo own
    fi
}

lacks_sys_resource() {
    local bounding
    bounding=$(awk '/^CapBnd/ { print $2 }' /proc/self/status)
    (( (0x$bounding >> CAP_SYS_RESOURCE & 1) == 0 ))
}

# A packet of a container of this engine does not leave the machine. The rules are in a chain of
# their own, because the engine does not manage the packet filter (a second engine would empty the
# chains of the first). Packets between the ports of our own bridges pass.
set_guard() {
    guard_rule "$CHAIN" -i "$BRIDGE+" -o "$BRIDGE+" -j ACCEPT
    guard_rule "$CHAIN" -i "$BRIDGE+" -m conntrack --ctstate NEW,INVALID,UNTRACKED -j REJECT
    iptables -w -C FORWARD -j "$CHAIN" 2>/dev/null || iptables -w -I FORWARD -j "$CHAIN"
}

# guard_rule CHAIN RULE…: appended once.
guard_rule() {
    iptables -w -n -L "$1" > /dev/null 2>&1 || iptables -w -N "$1"
    iptables -w -C "$@" 2>/dev/null || iptables -w -A "$@"
}

remove_guard() {
    iptables -w -D FORWARD -j "$CHAIN" 2>/dev/null || true
    iptables -w -F "$CHAIN" 2>/dev/null || true
    iptables -w -X "$CHAIN" 2>/dev/null || true
}

make_bridge() {
    ip link show "${BRIDGE}0" > /dev/null 2>&1 || ip link add "${BRIDGE}0" type bridge
    ip address replace "$BRIDGE_ADDRESS" dev "${BRIDGE}0"
    ip link set "${BRIDGE}0" up
}

remove_bridges() {
    local bridge
    for bridge in $(ip -br link show type bridge | awk -v prefix="$BRIDGE" 'index($1, prefix) == 1 { print $1 }'); do
        ip link delete "$bridge"
    done
}

# After a reboot or a kill the engine would start its old nodes, slowly and with other addresses.
# So their containers are removed before it starts; images stay.
forget_dead_containers() {
    rm -rf "$ENGINE_DIR/data/containers" "$ENGINE_DIR/data/volumes" "$ENGINE_DIR/data/network" "$PID_FILE"
}

start_daemon() {
    local runtime=()
    forget_dead_containers
    if lacks_sys_resource; then
        install -m 755 "$here/runc-no-sys-resource" "$ENGINE_DIR/runc"
        runtime=(--add-runtime "bounded=$ENGINE_DIR/runc" --default-runtime bounded)
    fi
    # The engine belongs to no step of CI (ci/steps.bash): a step that is ended must not end it.
    setsid env -u CI_STEP dockerd --host "unix://$SOCKET" --pidfile "$PID_FILE" --config-file "$ENGINE_DIR/daemon.json" \
        --data-root "$ENGINE_DIR/data" --exec-root "$ENGINE_DIR/exec" \
        --containerd-namespace dvm-e2e --containerd-plugins-namespace dvm-e2e-plugins \
        --bridge "${BRIDGE}0" --default-address-pool "$NETWORK_POOL" \
        --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false "${runtime[@]}" \
        > "$ENGINE_DIR/dockerd.log" 2>&1 < /dev/null 9>&- &
}

# kind uses an existing network of this name.
make_kind_network() {
    own_docker network inspect kind > /dev/null 2>&1 ||
        own_docker network create --opt "com.docker.network.bridge.name=${BRIDGE}1" kind > /dev/null
}

# On a machine that does not forward, a packet to another machine would vanish before the filter, and its
# sender would wait. So forwarding is enabled for our bridges, and the filter refuses the packet at once.
lead_to_guard() {
    local bridge
    for bridge in "${BRIDGE}0" "${BRIDGE}1"; do echo 1 > "/proc/sys/net/ipv4/conf/$bridge/forwarding"; done
}

raise_inotify_limit() {
    local limit
    limit=$(cat "$INOTIFY")
    if [ "$limit" -ge "$INOTIFY_NEEDED" ]; then return; fi
    echo "$limit" > "$ENGINE_DIR/inotify-limit"
    echo "$INOTIFY_NEEDED" > "$INOTIFY"
}

restore_inotify_limit() {
    if [ ! -s "$ENGINE_DIR/inotify-limit" ]; then return; fi
    cat "$ENGINE_DIR/inotify-limit" > "$INOTIFY"
    rm "$ENGINE_DIR/inotify-limit"
}

start_own() {
    [ "$(id -u)" = 0 ] || die "an engine of our own needs root; set E2E_ENGINE=user to use yours"
    local program
    for program in dockerd docker iptables ip; do
        command -v "$program" > /dev/null || die "$program is not installed (make deps-e2e installs it)"
    done
    STARTING=1
    set_guard
    raise_inotify_limit
    make_bridge
    printf '{}\n' > "$ENGINE_DIR/daemon.json" # so that the user's own settings are not read
    start_daemon
    poll 60 "the engine answers (see $ENGINE_DIR/dockerd.log)" own_is_up
    make_kind_network
    lead_to_guard
    STARTING=0
    say "engine: our own, $(own_docker version -f '{{.Server.Version}}') at $SOCKET"
}

# stop_process PID_FILE SECONDS
stop_process() {
    local pid
    pid=$(pid_in "$1")
    if ! running "$pid"; then return; fi
    kill "$pid"
    poll "$2" "process $pid has ended" not_running "$pid"
}
not_running() { ! running "$1"; }

# Network namespaces that the engine leaves mounted below its directory.
unmount_leftovers() {
    local path
    awk -v prefix="$ENGINE_DIR/" 'index($2, prefix) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r path; do umount "$path" || say "engine.sh: $path stays mounted"; done
}

stop_own() {
    stop_process "$PID_FILE" 60
    stop_process "$ENGINE_DIR/exec/containerd/containerd.pid" 20
    unmount_leftovers
    remove_bridges
    remove_guard
    restore_inotify_limit
    rm -f "$SOCKET" "$PID_FILE"
}

up() {
    local chosen
    mkdir -p "$ENGINE_DIR"
    exec 9> "$ENGINE_DIR/lock"
    flock 9
    chosen=$(decide)
    if [ "$chosen" = user ]; then
        docker info > /dev/null 2>&1 || die "the engine does not answer"
        [ "$(cat "$INOTIFY")" -ge "$INOTIFY_NEEDED" ] ||
            say "engine: if nodes do not become Ready, raise fs.inotify.max_user_instances to $INOTIFY_NEEDED"
    elif own_is_up; then
        set_guard
        raise_inotify_limit
    else
        trap 'if [ "$STARTING" = 1 ]; then stop_own; fi' EXIT
        trap 'exit 130' INT TERM
        start_own
    fi
    printf '%s\n' "$chosen" > "$CHOICE_FILE"
}

# The user's engine is not stopped.
down() {
    [ -d "$ENGINE_DIR" ] || return 0
    exec 9> "$ENGINE_DIR/lock"
    flock 9
    if [ -e "$PID_FILE" ]; then stop_own; fi
    rm -f "$CHOICE_FILE"
}

env_lines() {
    if [ "$(choice)" = own ]; then printf 'export DOCKER_HOST=%q\n' "unix://$SOCKET"; fi
}

case ${1:-} in
up) up ;;
down) down ;;
env) env_lines ;;
choice) choice ;;
*) die "usage: engine.sh up|down|env|choice" ;;
esac
