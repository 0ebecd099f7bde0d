#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the packages and tools of the end-to-end tests on a Debian machine: packages, Go, then kind, kubectl and helm
# (not these with --packages).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/kind/versions.sh"

PACKAGES=(bats ca-certificates curl debian-archive-keyring gcc iproute2 iptables jq libc6-dev mmdebstrap procps)
# From this version on the go command fetches the toolchain a module asks for.
GO_SELF_UPDATING=1.21

say() { printf '%s\n' "$*" >&2; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

missing_packages() {
    local package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || printf '%s\n' "$package"
    done
}

install_packages() {
    local wanted=("${PACKAGES[@]}") missing
    if ! docker info > /dev/null 2>&1 && ! command -v dockerd > /dev/null; then wanted+=(docker.io); fi
    command -v go > /dev/null || wanted+=(golang-go)
    mapfile -t missing < <(missing_packages "${wanted[@]}")
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    say "installing ${missing[*]}"
    as_root apt-get update --quiet --quiet
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --quiet --yes --no-install-recommends "${missing[@]}"
}

at_least() { [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The toolchain is published as a module too; the old go fetches and verifies it, then we give the
# files the modes and names that a module cannot carry.
install_go() {
    local go module source version
    go=${GO:-$(command -v go)}
    version=$("$go" env GOVERSION)
    if [ -x "$GO_DIR/bin/go" ] || at_least "$GO_SELF_UPDATING" "${version#go}"; then return; fi
    say "installing Go $GO_VERSION in $GO_DIR, since ${version} is too old"
    module=golang.org/toolchain@v0.0.1-go$GO_VERSION.$("$go" env GOOS)-$("$go" env GOARCH)
    source=$(cd / && GOFLAGS=-mod=mod "$go" mod download -json "$module" | jq -r .Dir)
    rm -rf "$GO_DIR.new"
    mkdir -p "$DVM_CACHE"
    cp -r --no-preserve=mode "$source" "$GO_DIR.new"
    chmod -R u+x "$GO_DIR.new/bin" "$GO_DIR.new/pkg/tool"
    find "$GO_DIR.new/src" -name _go.mod -execdir mv {} go.mod \;
    mv "$GO_DIR.new" "$GO_DIR"
}

install_packages
install_go
if [ "${1:-}" = --packages ]; then exit 0; fi
"$here/kind/binaries.sh" kind kubectl helm
say "ready: $BIN_DIR (see $here/provider.sh env)"
