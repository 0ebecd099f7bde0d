/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications and tools for another size of the DVM (PMIx_Allocation_request), and
 * their answers: one at once, and one at the end. */
#ifndef DVM_WIRE_RESIZE_REQUEST_H
#define DVM_WIRE_RESIZE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resize_kind {
    RESIZE_EXTEND,  /* a grow campaign: all daemons, or none */
    RESIZE_RELEASE, /* a shrink that waits for the jobs there, until the deadline if it has one */
    RESIZE_RELEASE_KILL, /* a shrink that ends the jobs there */
    RESIZE_CANCEL,       /* cancels an earlier request, while that is possible */
    RESIZE_KINDS
};

struct resize_request {
    enum resize_kind kind;
    const char *nspace; /* the process that asks */
    uint32_t rank;
    const char *req_id; /* the asker's own id, "": none */
    const char *id;     /* CANCEL: the campaign; "": the asker's own id names it */
    uint32_t
        count; /* number of daemons: the next free vpids, or the highest ones; 0: the vpids below */
    size_t nvpids;
    const uint32_t *vpids; /* ascending, no duplicates */
    int64_t deadline_s;    /* -1: none */
    bool keep;             /* EXTEND: the daemons stay when the job of the asker ends */
};

enum resize_status {
    RESIZE_OK,          /* accepted; at the end: the DVM has the requested size */
    RESIZE_BAD,         /* the request is malformed or contradictory */
    RESIZE_NOT_FOUND,   /* daemons or a campaign that are not known */
    RESIZE_NO_ROOM,     /* more than is allowed, or than can be recorded */
    RESIZE_NOT_ALLOWED, /* the head's vpid, another requester's campaign */
    RESIZE_BUSY,        /* the asker's own daemon; targets of another grow that runs */
    RESIZE_EXISTS,      /* the asker's own id again, with another request */
    RESIZE_TOO_LATE,    /* it cannot be cancelled any more */
    RESIZE_UNREACHABLE, /* no head, or a head that ends */
    RESIZE_FAILED,      /* the same request again, which has failed */
    RESIZE_TIMEOUT,     /* other causes of an end */
    RESIZE_CANCELLED,
    RESIZE_LOST, /* the daemon of a target has departed */
    RESIZE_STATUSES
};

#endif
