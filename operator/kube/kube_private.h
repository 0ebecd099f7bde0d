/* SPDX-License-Identifier: BSD-3-Clause */
/* What config.c tells kube.c, and tests, about the access to the API server. */
#ifndef OPERATOR_KUBE_KUBE_PRIVATE_H
#define OPERATOR_KUBE_KUBE_PRIVATE_H

#include "operator/http/http.h"
#include "operator/kube/kube.h"

#include <sys/types.h>

/* Text given inline (path NULL) or read from a file, again when the file changes. */
struct kube_material {
    char *path;
    char *text; /* NULL: none */
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct kube_config {
    char *server; /* as configured, without a slash at its end */
    char *base;   /* what URLs begin with: the server, under the name that its certificate has */
    char *connect;
    char *ns;
    char *proxy;
    bool insecure;
    struct kube_material ca, cert, key, token;
    uint64_t checked_ms; /* when the files were last looked at */
};

/* The service account's files are in `dir`. */
struct kube_config *kube_config_in_cluster_from(const char *dir, struct err *err);
/* Re-reads files that have changed, at most every 10 s. -1: one is unreadable, what it held before
 * stays. */
int kube_config_refresh(struct kube_config *c, uint64_t now_ms, struct err *err)
    __attribute__((warn_unused_result));
/* The next refresh looks at once: the server did not accept what we showed. */
void kube_config_distrust(struct kube_config *c);
/* Borrows from `c` until the next refresh. */
struct http_peer kube_config_peer(const struct kube_config *c);

#endif
