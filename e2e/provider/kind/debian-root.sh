#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Writes a Debian root file system as a tar archive to stdout: debian-root.sh SUITE VARIANT [PACKAGE…]
#
# VARIANT is one of mmdebstrap's. The packages come from the mirror that apt uses on this machine; a
# suite apt does not know here is looked for on the same mirror. DPKG_OPTIONS: a file with options of dpkg.
set -euo pipefail

die() { printf 'debian-root.sh: %s\n' "$*" >&2; exit 1; }

# Lines "LABEL URI SUITE" of the machine's own Debian sources.
apt_sources() {
    # shellcheck disable=SC2016  # apt fills these in, not the shell
    apt-get indextargets --format '$(LABEL) $(REPO_URI) $(RELEASE) $(ORIGIN) $(COMPONENT)' 'Created-By: Packages' |
        awk '$4 == "Debian" && $5 == "main" { print $1, $2, $3 }' | sort -u
}

# source_lines SUITE: the suite and, where the machine has a source of security updates, those too.
source_lines() {
    local suite=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg label uri
    apt_sources | awk '{ print $1, $2 }' | sort -u |
    while read -r label uri; do
        case $label in
        Debian) printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite" ;;
        Debian-Security) printf 'deb [signed-by=%s] %s %s-security main\n' "$keyring" "$uri" "$suite" ;;
        esac
    done
}

[ $# -ge 2 ] || die "usage: debian-root.sh SUITE VARIANT [PACKAGE…]"
suite=$1 variant=$2
shift 2
command -v mmdebstrap > /dev/null || die "mmdebstrap is not installed (make deps-e2e installs it)"
mapfile -t sources < <(source_lines "$suite")
[ ${#sources[@]} -gt 0 ] || die "apt has no Debian source on this machine"
include=()
if [ $# -gt 0 ]; then include=(--include="$(IFS=,; echo "$*")"); fi

options=()
if [ -n "${DPKG_OPTIONS:-}" ]; then options=(--dpkgopt="$DPKG_OPTIONS"); fi

exec mmdebstrap --quiet --variant="$variant" "${include[@]}" "${options[@]}" \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --skip=output/dev \
    "$suite" - "${sources[@]}"
