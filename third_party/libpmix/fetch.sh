#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Puts libpmix' source into the cache, from the mirror that apt uses on this machine: fetch.sh
#
# Prints the tarball's path. A file of the cache is taken if its checksum is right; apt checks what it downloads.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=third_party/libpmix/source.sh
. "$here/source.sh"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/dvm-operator
tarball=$cache/$TARBALL

die() { printf 'libpmix: %s\n' "$*" >&2; exit 1; }

is_whole() { [ -f "$1" ] && echo "$SHA256  $1" | sha256sum --check --status; }

mirrors() {
    # shellcheck disable=SC2016  # apt fills these in, not the shell
    apt-get indextargets --format '$(REPO_URI) $(LABEL) $(ORIGIN)' 'Created-By: Packages' |
        awk '$2 == "Debian" && $3 == "Debian" { print $1 }' | sort -u
}

download() {
    local mirror
    command -v apt-get > /dev/null || die "there is no apt here to download $TARBALL with; put it into $cache"
    mkdir -p "$cache"
    for mirror in $(mirrors); do
        if /usr/lib/apt/apt-helper -qq download-file "${mirror%/}/$POOL/$TARBALL" "$tarball.new" "SHA256:$SHA256" >&2; then
            mv "$tarball.new" "$tarball"
            return
        fi
        rm -f "$tarball.new"
    done
    die "$TARBALL cannot be had from apt's mirror; put a file with SHA-256 $SHA256 into $cache"
}

is_whole "$tarball" || download
is_whole "$tarball" || die "$tarball is not what was asked for"
printf '%s\n' "$tarball"
