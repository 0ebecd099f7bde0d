# SPDX-License-Identifier: BSD-3-Clause
# The versions of everything the cluster is made of, and where the results are cached; sourced, not run.
# shellcheck shell=bash disable=SC2034  # the variables are used by those who source this file

K8S_VERSION=1.34.2
KIND_VERSION=0.30.0
HELM_VERSION=3.19.0
ETCD_VERSION=3.6.5    # what kubeadm $K8S_VERSION asks for
COREDNS_VERSION=1.12.1 # likewise
LOCAL_PATH_PROVISIONER_VERSION=0.0.30

# The Go that builds them where the installed one is too old to fetch a newer one by itself.
GO_VERSION=1.24.9

# The node image, by the name under which it is also published.
NODE_IMAGE=kindest/node:v$K8S_VERSION
# Debian release of the locally built node image: the last one whose systemd runs on cgroup v1 too.
NODE_SUITE=bookworm

export HOME=${HOME-~} # go, kubectl and helm need one; without it ~ is that of the user database
DVM_CACHE=${XDG_CACHE_HOME:-~/.cache}/dvm-operator
BIN_DIR=$DVM_CACHE/k8s-$K8S_VERSION/bin
GO_DIR=$DVM_CACHE/go-$GO_VERSION
ENGINE_DIR=$DVM_CACHE/engine
CLUSTER_DIR=$DVM_CACHE/cluster
