/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the daemon that every service gets: the core's turns, messages to other daemons,
 * and the identity of this daemon. Tests give their own functions. */
#ifndef DVM_HOST_ENV_H
#define DVM_HOST_ENV_H

#include "base/buf/buf.h"
#include "base/loop/loop.h"
#include "dvm/protocol/out/out.h"

#include <stdint.h>

/* Lives as long as the services, which borrow it. All strings are borrowed by it. */
struct host_env {
    struct loop *loop;
    uint32_t vpid;           /* of this daemon; 0: the head */
    const char *cluster;     /* of the DVM, as in each daemon's certificate */
    const char *host_name;   /* of this node */
    const char *session_dir; /* absolute path; ours alone */
    /* An upcall from outside the core begins with enter(), before it gives the core input, and ends
     * with drain(), which carries out what the core wants. Both may be nested: the outermost
     * drain() carries out. */
    void (*enter)(void *arg);
    void (*drain)(void *arg);
    /* An application message (`kind` of enum app_kind) to the daemon `vpid`: 0, or -1 (logged) if
     * it is too long or cannot be queued. Enters and drains. */
    int (*send)(uint32_t vpid, enum out_class traffic, uint32_t kind, const struct buf *b,
                void *arg);
    void *arg;
};

static inline void host_enter(const struct host_env *e)
{
    e->enter(e->arg);
}

static inline void host_drain(const struct host_env *e)
{
    e->drain(e->arg);
}

static inline int host_send(const struct host_env *e, uint32_t vpid, enum out_class traffic,
                            uint32_t kind, const struct buf *b)
{
    return e->send(vpid, traffic, kind, b, e->arg);
}

#endif
