/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: what a daemon makes of other daemons' application messages, without sockets, ranks and
 * the PMIx library; these are the test's. */
#ifndef DVM_TEST_ALONE_H
#define DVM_TEST_ALONE_H

#include "dvm/host/daemon_private.h"
#include "dvm/protocol/core/test/scene.h"

struct alone_sent { /* the last application message to another daemon */
    unsigned n;     /* so many there were */
    uint32_t vpid, kind;
    struct buf data;
};

struct alone_answered { /* the library's last request that has got its answer */
    unsigned n;
    pmix_req req;
    int status;
    size_t len;
};

struct alone {
    struct scene scene; /* whose core it has */
    struct daemon d;
    struct alone_sent sent;
    struct alone_answered answered;
    unsigned said; /* messages to clients */
    size_t output; /* bytes of jobs' output to tools */
    struct store *store;
    void *data; /* NULL, or what the library has of the next rank that is asked for */
    size_t len;
};

void alone_open(struct alone *a, enum scene_kind kind);
void alone_close(struct alone *a);
/* An application message has arrived. */
void alone_hear(struct alone *a, uint32_t from, uint32_t kind, const void *data, size_t len);

#endif
