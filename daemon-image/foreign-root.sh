#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the root file system of another processor from packages: foreign-root.sh ARCH QEMU DIRECTORY PACKAGE…
#
# Release, mirror and options of dpkg are those of the root file system that this runs in, which is changed too: it must
# be one to throw away. Its own programs run the packages' scripts, by dpkg's DPKG_ROOT. QEMU runs only ldconfig, which
# knows no libraries of another processor.
set -euo pipefail

# Groups that the packages' scripts have made here, where addgroup does not know of DPKG_ROOT.
add_groups() {
    local file added
    for file in group gshadow; do
        added=$(awk -F: 'NR == FNR { known[$1]; next } !($1 in known)' "$1/etc/$file" "/etc/$file")
        if [ -n "$added" ]; then printf '%s\n' "$added" >> "$1/etc/$file"; fi
    done
}

[ $# -ge 4 ] || { echo "usage: foreign-root.sh ARCH QEMU DIRECTORY PACKAGE…" >&2; exit 2; }
arch=$1 qemu=$2 root=$3
shift 3
mapfile -t sources < <(find /etc/apt/sources.list /etc/apt/sources.list.d -type f -size +0)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

mmdebstrap --quiet --mode=chrootless --skip=check/chrootless --architectures="$arch" --variant=minbase --include="$*" \
    --aptopt='APT::Install-Recommends "false"' "$suite" "$root" "${sources[@]}"
cp /etc/dpkg/dpkg.cfg.d/* "$root/etc/dpkg/dpkg.cfg.d/"
add_groups "$root"
"$qemu" "$root/usr/sbin/ldconfig" -r "$root"
# A container gets these from its engine.
rm -rf "${root:?}"/dev/* "$root"/etc/{resolv.conf,hostname} "$root"/var/cache/ldconfig/*
