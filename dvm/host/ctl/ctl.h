/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's control API and every daemon's health, as described in docs/control-api.md. */
#ifndef DVM_CTL_CTL_H
#define DVM_CTL_CTL_H

#include "api/role.h"
#include "base/err/err.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"
#include "dvm/host/net/net.h"
#include "dvm/host/records/records.h"
#include "dvm/protocol/core/core.h"

#include <stdint.h>

#define CTL_STREAMS_MAX 256   /* open event streams; a further one gets 503 TooManyStreams */
#define CTL_KEEPALIVE_MS 4000 /* interval of an empty line on streams over HTTPS */

struct ctl_opts {
    struct tls_ctx *tls;      /* NULL: no HTTPS server (members); borrowed */
    const char *control_addr; /* numeric; used with tls only */
    uint16_t control_port;    /* 0: any */
    const char *plain_addr;   /* NULL: no health server */
    uint16_t plain_port;      /* 0: any */
    const struct net *net;    /* whose handshakes /metrics counts; NULL: none; borrowed */
    bool has_file;            /* the head's records are to be in a file, which /metrics tells; */
    const struct records *records; /* NULL: it could not be opened; borrowed */
    /* Before an answer to an input: keeps the records of what it says. NULL: they are not kept. */
    void (*keep)(void *arg);
    /* Called after each input to the core: the owner then carries out the core's actions. The
     * answer to the caller is already under way. */
    void (*drain)(void *arg);
    void *drain_arg;
};

struct ctl;
/* loop and core are borrowed and outlive this object. */
struct ctl *ctl_create(struct loop *loop, struct core *core, const struct ctl_opts *opts,
                       struct err *err);
void ctl_destroy(struct ctl *ctl);
uint16_t ctl_control_port(const struct ctl *ctl); /* 0: no such server */
uint16_t ctl_plain_port(const struct ctl *ctl);

/* OUT_ANSWER of the core: an answer that has waited for the records is sent. */
void ctl_on_answer(struct ctl *ctl, uint64_t number);

/* OUT_EVENT of the core: event `number` was appended and is now sent to the open streams. */
void ctl_on_event(struct ctl *ctl, uint64_t number);

/* How a local client gets its answers: exactly one `reply` with the JSON body, during the call, or
 * later (ctl_on_answer()) if there is a `line`.
 * If it opened an event stream (status 200 of GET /v1/events), one `line` per event follows,
 * during the call and from ctl_on_event(). -1 from `line` ends the stream (the reader is too
 * slow). Without `line` (a call forwarded by another daemon) a stream is refused: 503 NotHead. */
struct ctl_local {
    enum api_role role; /* a program of our own uid is an operator */
    void (*reply)(uint64_t conn, int status, const char *body, void *arg);
    int (*line)(uint64_t conn, const char *event, void *arg);
    /* After -1: its stream has ended. May call ctl_local_gone(). */
    void (*slow)(uint64_t conn, void *arg);
    void *arg;
};

/* A call about the daemon that is asked; a member passes the others on to the head. */
bool ctl_is_everywhere(const char *method, const char *path);
/* A CLIENT_CALL of a local connection. `path` may have a query. */
void ctl_local_call(struct ctl *ctl, uint64_t conn, const char *method, const char *path,
                    const char *body, const struct ctl_local *answer);
/* The connection has ended: its streams end. */
void ctl_local_gone(struct ctl *ctl, uint64_t conn);

#endif
