/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of config.c that kube.c and tests use. */
#ifndef OPERATOR_KUBE_KUBE_PRIVATE_H
#define OPERATOR_KUBE_KUBE_PRIVATE_H

#include "operator/http/http.h"
#include "operator/kube/kube.h"

#include <sys/types.h>

/* A text that is given inline (path NULL), or read from a file and read again when the file
 * changes. */
struct kube_material {
    char *path;
    char *text; /* NULL: none */
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct kube_config {
    char *server; /* as configured, without a slash at the end */
    char *base;   /* beginning of all URLs: the server, under the name that its certificate has */
    char *connect;
    char *ns;
    char *proxy;
    bool insecure;
    struct kube_material ca, cert, key, token;
    uint64_t checked_ms; /* when the files were last looked at */
    bool unreadable;     /* one of them could not be read then */
};

/* retry.c: one of the tries of a request. */
struct kube_try {
    unsigned number; /* from 1 */
    bool repeatable; /* a second execution has no effect, or is detected by the caller */
};
bool kube_retry_wanted(const struct kube_try *t, int status);
/* `dice`: any random number. A time that the server has asked for is waited for, up to 30 s. */
uint64_t kube_retry_pause_ms(const struct kube_try *t, uint64_t retry_after_ms, uint32_t dice);
uint64_t kube_retry_timeout_ms(const struct kube_try *t, uint64_t timeout_ms);

/* As kube_config_in_cluster(), with the files of the service account in `dir`. */
struct kube_config *kube_config_in_cluster_from(const char *dir, struct err *err);
/* Reads changed files again, at most every 10 s. -1, once until all are readable: a file is
 * unreadable, and its old text stays in force. */
int kube_config_refresh(struct kube_config *c, uint64_t now_ms, struct err *err)
    __attribute__((warn_unused_result));
/* The next refresh looks at the files at once: the server has not accepted the credentials. */
void kube_config_distrust(struct kube_config *c);
/* Borrows from `c` until the next refresh. */
struct http_peer kube_config_peer(const struct kube_config *c);

#endif
