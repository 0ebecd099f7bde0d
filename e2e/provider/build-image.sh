#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds an image for the test cluster: build-image.sh DOCKERFILE CONTEXT TAG [OPTION…]
#
# BUILDER is docker (the default), podman or buildah; OPTIONs are handed to its build command. Base
# images named debian:SUITE-slim are made from packages where they cannot be pulled.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILDER=${BUILDER:-docker}

die() { printf 'build-image.sh: %s\n' "$*" >&2; exit 1; }

base_images() { sed -n '/^\(FROM\|ARG\) /s/.*\(debian:[a-z]*-slim\).*/\1/p' "$1" | sort -u; }

ensure_base() {
    local tag=$1 suite=${1#debian:}
    if [ "$engine" = user ] && timeout 300 "$BUILDER" pull "$tag" > /dev/null 2>&1; then return; fi
    "$here/kind/base-image.sh" "${suite%-slim}" "$tag"
}

proxy_options() {
    local name
    for name in http_proxy https_proxy no_proxy; do
        if [ -n "${!name:-}" ]; then printf -- '--build-arg=%s\n' "$name"; fi
    done
}

# kind takes images only from the engine that runs the cluster.
hand_to_engine() {
    command -v docker > /dev/null || return 0
    eval "$("$here/kind/engine.sh" env)"
    docker version > /dev/null 2>&1 || return 0
    case $BUILDER in
    podman)
        podman save "$1" | docker load --quiet
        docker tag "localhost/$1" "$1" 2> /dev/null || true # podman's name for what has no registry
        ;;
    buildah) buildah push --quiet "$1" "docker-archive:/dev/stdout:$1" | docker load --quiet ;;
    esac
}

[ $# -ge 3 ] || die "usage: build-image.sh DOCKERFILE CONTEXT TAG [OPTION…]"
file=$1 context=$2 tag=$3
shift 3
engine=user
mapfile -t options < <(proxy_options)
case $BUILDER in
docker)
    "$here/kind/engine.sh" up
    engine=$("$here/kind/engine.sh" choice)
    eval "$("$here/kind/engine.sh" env)"
    # Containers of the provider's engine cannot reach other machines; only a build may, for the package mirror.
    if [ "$engine" = own ]; then export DOCKER_BUILDKIT=0; options+=(--network host); fi
    ;;
podman | buildah) ;;
*) die "BUILDER is docker, podman or buildah, not $BUILDER" ;;
esac
mapfile -t bases < <(base_images "$file")
for base in "${bases[@]}"; do ensure_base "$base"; done
"$BUILDER" build "${options[@]}" --file "$file" --tag "$tag" "$@" "$context"
if [ "$BUILDER" != docker ]; then hand_to_engine "$tag"; fi
