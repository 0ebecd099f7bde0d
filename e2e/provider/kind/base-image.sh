#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the base image of a Dockerfile from Debian packages, unless it is there: base-image.sh SUITE TAG
#
# The image gets its name when its packages are complete. One process at a time makes one.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/versions.sh"
# shellcheck source=e2e/provider/part.bash
. "$here/../part.bash"
BUILDER=${BUILDER:-docker}
PATH_LINE='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

is_present() {
    case $BUILDER in
    docker | podman) "$BUILDER" image inspect "$1" > /dev/null 2>&1 ;;
    buildah) buildah inspect --type image "$1" > /dev/null 2>&1 ;;
    esac
}

# import TAG: the tar archive on stdin becomes an image of one layer.
import() {
    local tag=$1 container
    case $BUILDER in
    docker | podman) "$BUILDER" import --change "$PATH_LINE" --change 'CMD ["bash"]' - "$tag" > /dev/null ;;
    buildah)
        container=$(buildah from scratch)
        tar -x -C "$(buildah mount "$container")"
        buildah config --env "${PATH_LINE#ENV }" --cmd bash "$container"
        buildah commit --quiet --rm "$container" "$tag" > /dev/null
        ;;
    esac
}

[ $# -eq 2 ] || { echo "usage: base-image.sh SUITE TAG" >&2; exit 2; }
if is_present "$2"; then exit 0; fi
if [ "$BUILDER" = docker ]; then eval "$("$here/engine.sh" env)"; fi
take_lock "$DVM_CACHE/base-image.lock" "makes a base image"
if is_present "$2"; then exit 0; fi
part 40 "base image $2 from the packages of $1"
# An archive that ends early is an image too.
partial=dvm-partial:$1
"$BUILDER" rmi "$partial" > /dev/null 2>&1 || true
"$here/debian-root.sh" "$1" minbase ca-certificates | import "$partial"
"$BUILDER" tag "$partial" "$2"
"$BUILDER" rmi "$partial" > /dev/null
