/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: a kubeconfig of a server on this host. */
#ifndef OPERATOR_KUBE_TEST_LOCAL_CONFIG_H
#define OPERATOR_KUBE_TEST_LOCAL_CONFIG_H

#include "base/buf/buf.h"
#include "operator/kube/kube.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Plain HTTP, no credentials. NULL and a reason: it cannot be loaded. */
static inline struct kube_config *local_config_load(int port, struct err *err)
{
    int fd = memfd_create("config", MFD_CLOEXEC);
    FREE_AUTO char *path = xasprintf("/proc/self/fd/%d", fd);

    dprintf(fd,
            "{current-context: c, contexts: [{name: c, context: {cluster: c}}], "
            "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]}",
            port);
    struct kube_config *config = kube_config_load(path, NULL, err);
    close(fd);
    return config;
}

#endif
