/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications and tools for another size of the DVM (PMIx_Allocation_request), and
 * their answers: one at once, and one at the end. */
#ifndef DVM_WIRE_ALLOC_H
#define DVM_WIRE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

enum alloc_kind {
    ALLOC_EXTEND,  /* a grow campaign: all daemons, or none */
    ALLOC_RELEASE, /* a shrink that waits for the jobs there, until the deadline if it has one */
    ALLOC_RELEASE_KILL, /* a shrink that ends the jobs there */
    ALLOC_CANCEL,       /* cancels an earlier request, while that is possible */
    ALLOC_KINDS
};

struct alloc_ask {
    enum alloc_kind kind;
    const char *nspace; /* the process that asks */
    uint32_t rank;
    const char *req_id; /* the asker's own id, "": none */
    const char *id;     /* CANCEL: the campaign; "": the asker's own id names it */
    uint32_t
        count; /* number of daemons: the next free vpids, or the highest ones; 0: the vpids below */
    size_t nvpids;
    const uint32_t *vpids; /* ascending, no duplicates */
    int64_t deadline_s;    /* -1: none */
};

enum alloc_status {
    ALLOC_OK,          /* accepted; at the end: the DVM has the requested size */
    ALLOC_BAD,         /* the request is malformed or contradictory */
    ALLOC_NOT_FOUND,   /* daemons or a campaign that are not known */
    ALLOC_NO_ROOM,     /* more than is allowed, or than can be recorded */
    ALLOC_NOT_ALLOWED, /* the head's vpid, somebody else's campaign */
    ALLOC_BUSY,        /* the asker's own daemon; targets of another grow that runs */
    ALLOC_EXISTS,      /* the asker's own id again, with another request */
    ALLOC_TOO_LATE,    /* it cannot be cancelled any more */
    ALLOC_UNREACHABLE, /* no head, or a head that ends */
    ALLOC_FAILED,      /* the same request again, which has failed */
    ALLOC_TIMEOUT,     /* other causes of an end */
    ALLOC_CANCELLED,
    ALLOC_LOST, /* the daemon of a target has departed */
    ALLOC_STATUSES
};

#endif
