#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the Debian packages that building, testing and linting need, if one is missing; and brings libpmix' source.
set -euo pipefail

# The sanitizers and the fuzzer of the clang that the release has; there is no package without its number.
case $(. /etc/os-release && echo "${VERSION_ID:-}") in
13) clang=19 ;;
*) clang=14 ;;
esac
packages=(
    build-essential pkg-config git ca-certificates patch xz-utils
    libpmix-dev libopenmpi-dev openmpi-bin libevent-dev libhwloc-dev libcurl4-openssl-dev
    libyaml-dev libjansson-dev libssl-dev uthash-dev libcmocka-dev
    bats jq curl openssl procps iproute2 nftables util-linux clang-format clang-tidy shellcheck
    help2man universal-ctags clang "libclang-rt-$clang-dev" llvm gcovr spin
)

missing=()
for p in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
done
if [ "${#missing[@]}" -gt 0 ]; then
    echo "installing: ${missing[*]}"
    root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
"$(dirname "${BASH_SOURCE[0]}")/../third_party/libpmix/fetch.sh" > /dev/null
