#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the node image of the cluster in the engine at DOCKER_HOST, unless it is there: node-image.sh
#
# The way is kind's own (a base with systemd and containerd, the cluster's images imported into that
# containerd, the container committed), the material is Debian packages and our binaries. A run that was stopped goes on
# with the images that it has completed: they have the label of the same inputs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/versions.sh"
# shellcheck source=e2e/provider/part.bash
. "$here/../part.bash"

NODE_PACKAGES=(systemd systemd-sysv dbus containerd runc containernetworking-plugins iptables nftables ebtables
    conntrack iproute2 ethtool socat kmod mount util-linux hostname procps ca-certificates jq login passwd)
AGENT_PACKAGES=(iptables iproute2)
AGENT_SHARED=(kube-proxy kubectl)
CONTROL_PLANE=(etcd kube-apiserver kube-controller-manager kube-scheduler coredns local-path-provisioner)
LABEL=dvm-e2e.inputs
PATH_LINE='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
work='' container='' hash=''

say() { printf '%s\n' "$*" >&2; }
die() { say "node-image.sh: $*"; exit 1; }

clean_up() {
    if [ -n "$container" ]; then docker rm --force --volumes "$container" > /dev/null 2>&1 || true; fi
    if [ -n "$work" ]; then rm -rf "$work"; fi
}

inputs_hash() {
    {
        echo "$K8S_VERSION $KIND_VERSION $ETCD_VERSION $COREDNS_VERSION $LOCAL_PATH_PROVISIONER_VERSION $NODE_SUITE"
        cat "$here"/{node-image.sh,debian-root.sh} "$here"/node/*
    } | sha256sum | cut -c1-16
}

# is_current IMAGE: it was made from the present inputs.
is_current() { [ "$(docker image inspect -f "{{index .Config.Labels \"$LABEL\"}}" "$1" 2> /dev/null)" = "$hash" ]; }

# import_root NAME PACKAGE…: the image gets its name when the packages are complete; an archive that ends early is one too.
import_root() {
    local name=$1
    shift
    if is_current "dvm-e2e/$name"; then return; fi
    part 25 "node image: Debian packages for $name"
    "$here/debian-root.sh" "$NODE_SUITE" essential "$@" |
        docker import --change "$PATH_LINE" --change "LABEL $LABEL=$hash" - "dvm-e2e/$name:partial" > /dev/null
    docker tag "dvm-e2e/$name:partial" "dvm-e2e/$name"
    docker rmi "dvm-e2e/$name:partial" > /dev/null
}

kind_source() {
    (cd "$work" && GOFLAGS=-mod=mod go mod download -json "sigs.k8s.io/kind@v$KIND_VERSION") | jq -r .Dir
}

# go_constant FILE NAME: the text of a one-line string constant in kind's source.
go_constant() { sed -n "s/^const $2 = \"\(.*\)\"\$/\1/p" "$1"; }

# kind's storage manifest stands in its source as a Go string with two names spliced in.
# shellcheck disable=SC2016  # the backquotes are Go's
write_storage_manifest() {
    sed -n '/^const defaultStorageManifest = `/,/^`/p' "$1" | sed '1d; $d' |
        sed "s|\` + storageProvisionerImage + \`|$provisioner_image|; s|\` + storageHelperImage + \`|$helper_image|"
}

# Everything the Dockerfile copies, in $work.
gather() {
    local kind storage program
    kind=$(kind_source)
    storage=$kind/pkg/build/nodeimage/const_storage.go
    provisioner_image=$(go_constant "$storage" storageProvisionerImage)
    helper_image=$(go_constant "$storage" storageHelperImage)
    pause_image=$(sed -n 's/.*sandbox_image = "\(.*\)"/\1/p' "$kind/images/base/files/etc/containerd/config.toml")
    mkdir -p "$work/bin" "$work/manifests"
    cp -r --no-preserve=mode,ownership "$kind/images/base/files" "$work/kind-files"
    write_storage_manifest "$storage" > "$work/manifests/default-storage.yaml"
    cp "$here/node/default-cni.yaml" "$work/manifests/"
    cp "$here"/node/{Dockerfile,crictl,kindnetd} "$work/"
    printf 'v%s' "$K8S_VERSION" > "$work/version"
    for program in kubelet kubeadm "${AGENT_SHARED[@]}" "${CONTROL_PLANE[@]}"; do
        ln "$BIN_DIR/$program" "$work/bin/" 2>/dev/null || cp "$BIN_DIR/$program" "$work/bin/"
    done
    gcc -static -Os -s -o "$work/pause" "$here/node/pause.c"
}

build_stage() {
    part 5 "node image: stage $1"
    docker build --label "$LABEL=$hash" --target "$1" --tag "dvm-e2e/$1" "$work" > "$work/build.log" 2>&1 || { cat "$work/build.log" >&2; return 1; }
}

# Gives the stages the names under which kubeadm and the manifests look for them.
name_images() {
    local program wanted
    names=("$pause_image" "$provisioner_image" "$helper_image" docker.io/dvm-e2e/kindnet:local)
    docker tag dvm-e2e/pause "$pause_image"
    docker tag dvm-e2e/control-plane "$provisioner_image"
    docker tag dvm-e2e/agent "$helper_image"
    docker tag dvm-e2e/agent docker.io/dvm-e2e/kindnet:local
    for wanted in $("$BIN_DIR/kubeadm" config images list --kubernetes-version "v$K8S_VERSION"); do
        program=${wanted##*/}
        program=${program%:*}
        case $program in
        pause) continue ;;
        kube-proxy) docker tag dvm-e2e/agent "$wanted" ;;
        coredns) docker tag dvm-e2e/coredns "$wanted" ;;
        *) docker tag dvm-e2e/control-plane "$wanted" ;;
        esac
        names+=("$wanted")
    done
}

containerd_answers() { docker exec "$container" ctr version > /dev/null 2>&1; }

# Runs the node's containerd alone, imports the images and makes an image of the result.
commit_with_images() {
    local limit=$((SECONDS + 60))
    container=$(docker run --detach --label dvm-e2e --privileged --network none --entrypoint containerd dvm-e2e/node)
    until containerd_answers; do
        [ "$SECONDS" -lt "$limit" ] || { docker logs --tail 20 "$container" >&2; die "the node's containerd does not start"; }
        sleep 0.2
    done
    docker save "${names[@]}" | docker exec --interactive "$container" \
        ctr --namespace k8s.io images import --label=io.cri-containerd.pinned=pinned --no-unpack --digests - > /dev/null
    docker kill --signal TERM "$container" > /dev/null
    timeout 30 docker wait "$container" > /dev/null
    docker commit --change 'ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init"]' \
        --change "LABEL $LABEL=$hash" "$container" "$NODE_IMAGE" > /dev/null
}

# Remains of the build, and node images of earlier inputs that no container uses.
remove_leftovers() {
    docker rm --force --volumes "$container" > /dev/null
    container=''
    docker rmi "${names[@]}" dvm-e2e/{node,agent,pause,control-plane,coredns,node-root,agent-root} > /dev/null 2>&1 || true
    docker image prune --force --filter "label=$LABEL" > /dev/null
}

main() {
    local stage start=$SECONDS
    hash=$(inputs_hash)
    if is_current "$NODE_IMAGE"; then return; fi
    command -v gcc > /dev/null || die "gcc is not installed"
    take_lock "$DVM_CACHE/node-image.lock" "makes the node image"
    if is_current "$NODE_IMAGE"; then return; fi
    work=$(mktemp -d "$DVM_CACHE/node-image.XXXXXX")
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    import_root node-root "${NODE_PACKAGES[@]}"
    import_root agent-root "${AGENT_PACKAGES[@]}"
    gather
    for stage in node agent pause control-plane coredns; do build_stage "$stage"; done
    name_images
    part 20 "node image: importing ${#names[@]} images"
    commit_with_images
    remove_leftovers
    say "  node image: $NODE_IMAGE built in $((SECONDS - start)) s"
}

main "$@"
