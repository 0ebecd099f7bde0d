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
/* 429: the server has not begun. Without an answer, or after 5xx, a request may have been carried
 * out: it is repeated only if that does not matter. */
bool kube_retry_passes(const struct kube_try *t, int status);
bool kube_retry_left(const struct kube_try *t);
/* `dice`: any random number. A time that the server has asked for is waited for, up to 30 s. */
uint64_t kube_retry_pause_ms(const struct kube_try *t, uint64_t retry_after_ms, uint32_t dice);

/* How fast the server answers. Zeroed: nothing is known yet. */
struct kube_pace {
    bool measured;
    uint64_t smoothed_ms;
};
/* An answer took so long. */
void kube_pace_note(struct kube_pace *p, uint64_t ms);
/* Four times the answer time, 1 to 30 s. */
uint64_t kube_pace_limit_ms(const struct kube_pace *p);
/* How long a call is waited for before the next one is sent beside it: the above, doubled from the
 * fourth try on, and twice the above for a reading between two tries (`look`); at most 30 s. */
uint64_t kube_retry_limit_ms(const struct kube_try *t, bool look, const struct kube_pace *p);

/* abandoned.c: the path of the object to read before this write, which had no answer, is repeated;
 * on the heap. NULL: it is repeated at once. */
char *kube_abandoned_path(enum kube_method method, const char *path, const char *body);
/* True if the object holds what the write sets. */
bool kube_abandoned_held(const char *path, const char *body, const json_t *object);

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
