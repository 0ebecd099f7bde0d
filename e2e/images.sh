#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds both images, each only when its sources have changed; --load loads them into the test cluster's nodes.
#
# One process at a time does this on the machine, until the images are loaded: all trees give them the same names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$here/.." && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/provider/kind/versions.sh"
# shellcheck source=e2e/provider/part.bash
. "$here/provider/part.bash"
BUILDER=${BUILDER:-docker}
LABEL=dvm.openpmix.io/sources # of what an image was built, so that the engine itself knows what is stale
LOGS=$ROOT/build/images

say() { printf '%s\n' "$*" >&2; }

# sources_of IMAGE: the files that its Dockerfile copies, and .dockerignore.
sources_of() {
    case $1 in
    dvm-operator) printf '%s\n' .dockerignore Dockerfile Makefile base api operator ;;
    dvm-daemon) printf '%s\n' .dockerignore Makefile base api dvm examples third_party daemon-image ;;
    esac
}

hash_of() {
    local sources
    mapfile -t sources < <(sources_of "$1")
    (cd "$ROOT" && find "${sources[@]}" -name test -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum) |
        sha256sum | cut -c1-16
}

built_of() { "$BUILDER" image inspect --format "{{index .Config.Labels \"$LABEL\"}}" "$1" 2> /dev/null || true; }

id_of() { "$BUILDER" image inspect --format '{{.Id}}' "$1" 2> /dev/null || true; }

# build IMAGE DOCKERFILE SECONDS: the seconds that it usually takes.
build() {
    local tag=$1:dev hash log=$LOGS/$1.log start=$SECONDS former
    hash=$(hash_of "$1")
    if [ "$(built_of "$tag")" = "$hash" ]; then say "image $tag: unchanged"; return; fi
    former=$(id_of "$tag")
    part "$3" "building image $tag (log: ${log#"$ROOT"/})"
    if ! "$here/provider/build-image.sh" "$ROOT/$2" "$ROOT" "$tag" --label "$LABEL=$hash" > "$log" 2>&1 9>&-; then
        tail -n 30 "$log" >&2
        say "image $tag: not built"
        return 1
    fi
    # The former image has no name any more. A prune would also remove what another build is about to name.
    if [ -n "$former" ] && [ "$former" != "$(id_of "$tag")" ]; then "$BUILDER" image rm "$former" > /dev/null 2>&1 || true; fi
    say "image $tag: built in $((SECONDS - start)) s"
}

# check IMAGE LIBRARY BYTES: it has its labels, the list of its packages with that library, and no more bytes.
check() {
    local tag=$1:dev size title list=usr/share/doc/$1/packages.txt id
    size=$("$BUILDER" image inspect --format '{{.Size}}' "$tag")
    title=$("$BUILDER" image inspect --format '{{index .Config.Labels "org.opencontainers.image.title"}}' "$tag")
    id=$("$BUILDER" create "$tag" none) # it is not started
    "$BUILDER" cp "$id:/$list" - 2> /dev/null | tar xO > "$LOGS/$1.packages" || true
    "$BUILDER" rm "$id" > /dev/null
    say "image $tag: $size bytes, $(wc -l < "$LOGS/$1.packages") packages"
    [ "$title" = "$1" ] || { say "image $tag: its title is '$title'"; return 1; }
    grep -q "^$2 " "$LOGS/$1.packages" || { say "image $tag: $list does not have $2"; return 1; }
    [ "$size" -le "$3" ] || { say "image $tag: more than $3 bytes"; return 1; }
}

load() {
    local start=$SECONDS
    part 30 "loading both images into the nodes"
    "$here/provider/provider.sh" load dvm-operator:dev dvm-daemon:dev 9>&-
    say "images: on the nodes after $((SECONDS - start)) s"
}

mkdir -p "$LOGS"
if [ "$BUILDER" = docker ]; then
    "$here/provider/kind/engine.sh" up
    eval "$("$here/provider/kind/engine.sh" env)"
fi
take_lock "$DVM_CACHE/images.lock" "builds images"
build dvm-daemon daemon-image/Dockerfile 240
build dvm-operator Dockerfile 60
if [ "$BUILDER" = docker ]; then
    check dvm-daemon libhwloc15 1000000000
    check dvm-operator libssl3t64 30000000
fi
case ${1:-} in
'') ;;
--load) load ;;
*) say "usage: images.sh [--load]"; exit 2 ;;
esac
