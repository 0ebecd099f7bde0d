/* SPDX-License-Identifier: BSD-3-Clause */
/* What an application or a tool may ask of the DVM's size (PMIx_Allocation_request), and how that
 * is answered: at once, and by one word at its end. */
#ifndef DVM_WIRE_ALLOC_H
#define DVM_WIRE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

enum alloc_kind {
    ALLOC_EXTEND,  /* a grow campaign: all of them, or none */
    ALLOC_RELEASE, /* a shrink that waits for the jobs there; until the deadline, if it has one */
    ALLOC_RELEASE_KILL, /* one that ends them */
    ALLOC_CANCEL,       /* of an earlier one, as long as that can be turned back */
    ALLOC_KINDS
};

struct alloc_ask {
    enum alloc_kind kind;
    const char *nspace; /* who asks */
    uint32_t rank;
    const char *req_id; /* the asker's own id, "": none */
    const char *id;     /* CANCEL: the campaign; "": the asker's own id says which */
    uint32_t count;     /* so many daemons: the next free vpids, or the highest ones; 0: these: */
    size_t nvpids;
    const uint32_t *vpids; /* ascending, no duplicates */
    int64_t deadline_s;    /* -1: none */
};

enum alloc_status {
    ALLOC_OK,          /* accepted; at the end: the DVM is as it was asked for */
    ALLOC_BAD,         /* makes no sense */
    ALLOC_NOT_FOUND,   /* daemons or a campaign that are not known */
    ALLOC_NO_ROOM,     /* more than may be, or than can be kept track of */
    ALLOC_NOT_ALLOWED, /* the head's vpid, somebody else's campaign */
    ALLOC_BUSY,        /* the asker's own daemon; targets of another grow that runs */
    ALLOC_EXISTS,      /* the asker's own id again, with another request */
    ALLOC_TOO_LATE,    /* cannot be turned back any more */
    ALLOC_UNREACHABLE, /* no head, or one that ends */
    ALLOC_FAILED,      /* the same request again, which has come to nothing */
    ALLOC_TIMEOUT,     /* causes of an end that is none of the above */
    ALLOC_CANCELLED,
    ALLOC_LOST, /* a daemon that was to come is gone */
    ALLOC_STATUSES
};

#endif
