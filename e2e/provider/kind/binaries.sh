#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the programs of a Kubernetes cluster from Go modules into the cache: binaries.sh [NAME…]
#
# A program appears in BIN_DIR when it is complete. So a run that was stopped goes on with the program that it was at,
# for which Go keeps the packages that it has compiled. One program at a time is built on this machine.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=e2e/provider/kind/versions.sh
. "$here/versions.sh"
# shellcheck source=e2e/provider/part.bash
. "$here/../part.bash"

# In the order of need: the operator's own tests wait for the first three.
ALL=(etcd kube-apiserver kubectl kind kube-controller-manager kube-scheduler kubelet kube-proxy kubeadm
     coredns local-path-provisioner helm)
# How long each usually takes on two cores, after those before it.
declare -A USUAL_S=([etcd]=40 [kube-apiserver]=300 [kubectl]=60 [kind]=20 [kube-controller-manager]=100 [kube-scheduler]=30
    [kubelet]=80 [kube-proxy]=30 [kubeadm]=60 [coredns]=150 [local-path-provisioner]=50 [helm]=100)
# The plugins of CoreDNS that kubeadm's Corefile uses.
COREDNS_PLUGINS=(cache errors forward health hosts kubernetes loadbalance log loop metrics ready reload)

export CGO_ENABLED=0 GOTOOLCHAIN=${GOTOOLCHAIN:-auto} GOFLAGS=-trimpath
unset GOBIN GOOS GOARCH
if [ -x "$GO_DIR/bin/go" ]; then PATH=$GO_DIR/bin:$PATH; fi
work='' builder='' nth=0 count=0

say() { printf '%s\n' "$*" >&2; }

usage() {
    say "usage: binaries.sh [NAME…]"
    say "  builds into $BIN_DIR what is not there yet; NAME is one of: ${ALL[*]}"
    exit 2
}

clean_up() {
    # go may still write below its directories.
    if [ -n "$builder" ]; then
        kill -- "-$builder" 2> /dev/null || true
        wait "$builder" 2> /dev/null || true
    fi
    if [ -n "$work" ]; then
        rm -rf "$work"
        rm -f "$BIN_DIR"/.*."$$"
    fi
}

# new_module NAME MODULE VERSION: a module in $work/NAME that requires one other.
new_module() {
    mkdir -p "$work/$1"
    printf 'module build/%s\ngo 1.24.0\nrequire %s v%s\n' "$1" "$2" "$3" > "$work/$1/go.mod"
}

# Kubernetes names its sibling modules at v0.0.0 and finds them in its own tree; from outside they
# are the published modules of the same release.
pin_k8s_siblings() {
    local dir sibling
    dir=$(cd "$work/$1" && go mod download -json "k8s.io/kubernetes@v$K8S_VERSION" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
    sed -n 's/^[[:space:]]*\(k8s\.io\/[a-z-]*\) v0\.0\.0$/\1/p' "$dir/go.mod" | sort -u |
    while read -r sibling; do
        printf 'replace %s => %s v0.%s\n' "$sibling" "$sibling" "${K8S_VERSION#1.}"
    done >> "$work/$1/go.mod"
}

# compile MODULE_DIR PACKAGE OUTPUT [LDFLAG…]
compile() {
    local dir=$work/$1 package=$2 output=$3
    shift 3
    (cd "$dir" && exec nice -n 10 go build -mod=mod -ldflags "-s -w $*" -o "$output" "$package")
}

build_k8s() {
    local version=k8s.io/component-base/version minor=${K8S_VERSION#1.}
    new_module "$1" k8s.io/kubernetes "$K8S_VERSION"
    pin_k8s_siblings "$1"
    compile "$1" "k8s.io/kubernetes/cmd/$1" "$2" \
        -X "$version.gitVersion=v$K8S_VERSION" -X "$version.gitMajor=1" -X "$version.gitMinor=${minor%%.*}" \
        -X "$version.gitTreeState=clean" -X "k8s.io/client-go/pkg/version.gitVersion=v$K8S_VERSION"
}

build_etcd() {
    new_module etcd go.etcd.io/etcd/server/v3 "$ETCD_VERSION"
    compile etcd go.etcd.io/etcd/server/v3 "$1"
}

build_coredns() {
    new_module coredns github.com/coredns/coredns "$COREDNS_VERSION"
    {
        printf 'package main\n\nimport "github.com/coredns/coredns/coremain"\n'
        printf 'import _ "github.com/coredns/coredns/plugin/%s"\n' "${COREDNS_PLUGINS[@]}"
        printf '\nfunc main() { coremain.Run() }\n'
    } > "$work/coredns/main.go"
    compile coredns . "$1"
}

# With the Kubernetes libraries of this release, which are compiled already.
build_local_path_provisioner() {
    new_module lpp github.com/rancher/local-path-provisioner "$LOCAL_PATH_PROVISIONER_VERSION"
    printf 'require k8s.io/kubernetes v%s\n' "$K8S_VERSION" >> "$work/lpp/go.mod"
    pin_k8s_siblings lpp
    compile lpp github.com/rancher/local-path-provisioner "$1"
}

# build_published PACKAGE VERSION OUTPUT [LDFLAG…]: a program whose own go.mod decides everything.
build_published() {
    local package=$1 version=$2 output=$3
    shift 3
    GOBIN=$work/bin nice -n 10 go install -ldflags "-s -w $*" "$package@v$version"
    mv "$work/bin/${package##*/}" "$output"
}

build_one() {
    case $1 in
    kube-* | kubelet | kubeadm | kubectl) build_k8s "$1" "$2" ;;
    etcd) build_etcd "$2" ;;
    coredns) build_coredns "$2" ;;
    local-path-provisioner) build_local_path_provisioner "$2" ;;
    kind) build_published sigs.k8s.io/kind "$KIND_VERSION" "$2" ;;
    helm) build_published helm.sh/helm/v3/cmd/helm "$HELM_VERSION" "$2" \
              -X "helm.sh/helm/v3/internal/version.version=v$HELM_VERSION" ;;
    esac
}

# watch_build NAME: waits for $builder and prints every minute that it still runs. It waits in the background, so that
# the shell handles a signal at once.
watch_build() {
    local start=$SECONDS
    while kill -0 "$builder" 2> /dev/null; do
        timeout 60 tail -s 0.2 --pid="$builder" -f /dev/null 9>&- &
        wait $! || say "  $1: building, $((SECONDS - start)) s"
    done
    if wait "$builder"; then
        builder=''
        say "  $1: built in $((SECONDS - start)) s"
    else
        builder=''
        say "binaries.sh: building $1 failed, see above"
        return 1
    fi
}

# ensure NAME: the lock is released after each program, so that a second caller gets its turn. The build has a process
# group of its own, which can be ended as a whole, and holds the lock too, in case it outlives this script.
ensure() {
    local name=$1 temporary=$BIN_DIR/.$1.$$
    if [ -x "$BIN_DIR/$name" ]; then return; fi
    take_lock "$BIN_DIR/../lock" "builds Kubernetes programs"
    find "$BIN_DIR" -name '.*.[0-9]*' -delete # of a script that was killed
    if [ ! -x "$BIN_DIR/$name" ]; then
        part "${USUAL_S[$name]}" "building $name ($((++nth)) of $count)"
        set -m
        build_one "$name" "$temporary" < /dev/null &
        builder=$!
        set +m
        watch_build "$name"
        mv "$temporary" "$BIN_DIR/$name"
    fi
    exec 9>&-
}

# announce NAME…: how many are missing, and how long they take in all.
announce() {
    local name seconds=0
    for name in "$@"; do
        if [ -x "$BIN_DIR/$name" ]; then continue; fi
        count=$((count + 1))
        seconds=$((seconds + USUAL_S[$name]))
    done
    part "$seconds" "$count Kubernetes programs are to be built"
}

all_present() {
    local name
    for name in "$@"; do [ -x "$BIN_DIR/$name" ] || return 1; done
}

main() {
    local name names=("$@")
    if [ $# -eq 0 ]; then names=("${ALL[@]}"); fi
    for name in "${names[@]}"; do
        case " ${ALL[*]} " in *" $name "*) ;; *) usage ;; esac
    done
    mkdir -p "$BIN_DIR"
    if all_present "${names[@]}"; then return; fi
    command -v go > /dev/null || { say "binaries.sh: go is not installed (make deps-e2e installs it)"; exit 1; }
    work=$(mktemp -d)
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    announce "${names[@]}"
    for name in "${names[@]}"; do ensure "$name"; done
}

main "$@"
