#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds this tree and runs its tests of PMIx and MPI with Debian 13's libraries, in a root file system of Debian's
# packages without any network but loopback: trixie.sh [COMMAND…]
#
# COMMAND is run there instead of the tests. The file system is made once and cached; a checksum of its inputs is its name.
# Built files go to build/trixie. An ordinary user needs a range in /etc/subuid.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-~/.cache}/dvm-operator
maker=$repo/e2e/provider/kind/debian-root.sh
export DPKG_OPTIONS=$repo/daemon-image/dpkg-no-gpu

# The packages of the images' Dockerfiles, and those that the tests need.
PACKAGES=(gcc libc6-dev make patch pkg-config xz-utils libpmix-dev libopenmpi-dev libevent-dev libhwloc-dev libcurl4-openssl-dev
    libyaml-dev libjansson-dev libssl-dev uthash-dev libcmocka-dev bats iproute2 jq openssl procps curl)
DEVICES=(null zero full random urandom tty)

say() { printf '%s\n' "$*" >&2; }
die() { say "trixie.sh: $*"; exit 1; }

# The user's own files are root's in there, so that files can be given to others.
as_its_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else unshare --user --map-root-user --map-auto -- "$@"; fi
}

# make_root DIRECTORY: an incomplete one is never used.
make_root() {
    say "Debian 13 for the tests: $1"
    as_its_root rm -rf "$cache/trixie.new"
    "$maker" trixie minbase "${PACKAGES[@]}" > "$cache/trixie.tar" || die "Debian 13 cannot be had from apt's mirror"
    # shellcheck disable=SC2016  # for the inner shell
    as_its_root sh -c 'mkdir -p "$1/dev" "$1/src" && tar -x -f "$2" -C "$1"' sh "$cache/trixie.new" "$cache/trixie.tar"
    rm "$cache/trixie.tar"
    as_its_root find "$cache" -maxdepth 1 -name 'trixie-*' -exec rm -rf {} +
    mv "$cache/trixie.new" "$1"
}

# In namespaces of our own, as process 1 of them: all that is mounted or started goes with it.
inside() {
    local root=$1 device
    shift
    mount --make-rprivate /
    [ -e "$root/etc/hosts" ] || echo "127.0.0.1 localhost" > "$root/etc/hosts" # packages bring none
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in "${DEVICES[@]}"; do
        : > "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount --bind "$repo" "$root/src"
    mount --bind "$repo/build/trixie" "$root/src/build"
    mount -o remount,bind,ro "$root/src"
    mount -o remount,bind,ro "$root"
    exec chroot "$root" /usr/bin/env -i HOME=/tmp XDG_CACHE_HOME=/src/build/cache PATH=/usr/sbin:/usr/bin sh -c \
        'ip link set lo up && cd /src && exec "$@"' sh "$@"
}

# What `inside` leads to, in the tree itself: cmocka's and bats' own lines.
tests() {
    local bins
    mapfile -t bins < <(printf 'build/asan/%s\n' dvm/host/pmix/test/test_*.c dvm/host/spawner/test/test_*.c)
    bins=("${bins[@]%.c}")
    make --silent -j"$(nproc)" all "${bins[@]}" \
        build/probe/{pmix,hold,former,share,event,tool,cred,ptrace,group,end,hostile,client}_probe build/probe/{still_shim.so,cut_proxy}
    say "libpmix $(pkg-config --modversion pmix), Open MPI $(dpkg-query -W -f '${Version}' libopenmpi40)"
    ci/unit.sh "${bins[@]}"
    ci/docs.sh upcalls attributes # by this header
    ci/bats.sh dvm/test/{strangers,pmix,spawn,publish,events,groups,hostile,hold,lost,still,cred,cleanup,map,local,shell,growth,files}.bats \
        dvm/test/{queue,remote,outer,ends}.bats
}

case ${1:-} in
--inside)
    shift
    inside "$@"
    ;;
--tests)
    tests
    exit
    ;;
esac

[ $# -gt 0 ] || set -- ci/trixie.sh --tests
name=$({ cat "$maker" "$DPKG_OPTIONS"; printf '%s\n' "${PACKAGES[@]}"; } | sha256sum | cut -c 1-16)
root=$cache/trixie-$name
mkdir -p "$cache" "$repo/build/trixie/cache/dvm-operator"
exec 9> "$cache/trixie.lock"
if ! [ -d "$root" ]; then
    flock 9
    [ -d "$root" ] || make_root "$root"
fi
flock --shared 9 # nobody removes it meanwhile
libpmix=$("$repo/third_party/libpmix/fetch.sh")
cp -u "$libpmix" "$repo/build/trixie/cache/dvm-operator/" # there is no network in there
as_its_root unshare --mount --net --pid --ipc --fork --kill-child -- \
    "${BASH_SOURCE[0]}" --inside "$root" "$@" 9>&-
