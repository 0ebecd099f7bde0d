/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of one daemon: connections, the daemons at their other ends, and their states. */
#ifndef DVM_LINK_LINK_H
#define DVM_LINK_LINK_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/wire/msg/msg.h"

/* Connection ids chosen by this module have this bit; ids of incoming connections, chosen by the
 * driver, do not. */
#define LINK_OUTGOING (1ull << 63)
#define LINKS_MAX 65536

struct links; /* of one daemon */

enum link_state {
    LINK_CONNECTING, /* outgoing, not open yet */
    LINK_GREETING,   /* open; HELLO sent or awaited */
    LINK_UP,
    LINK_CLOSING, /* we have sent BYE and send nothing more; the peer may still send */
    LINK_REFUSED, /* we have sent REFUSE; the peer's BYE confirms it */
};

struct link {
    uint64_t conn;
    enum link_state state;
    bool incoming;
    bool joining;     /* a new daemon that waits to be wired (head), or our own call to the head */
    bool peer_bye;    /* the peer has sent BYE */
    bool pinged;      /* no frame has come since our PING */
    bool head_role;   /* its certificate is that of a head */
    bool member_role; /* its certificate allows it to join as a member or to be the head */
    uint32_t vpid;    /* VPID_NONE until the greeting names it */
    struct epoch epoch;
    uint64_t heard_ms;
    uint64_t opened_ms;
    struct link *next, *prev;
};

/* Borrows `out`. */
struct links *links_create(struct out *out);
void links_destroy(struct links *l);
/* The newest link; its `next` leads to the others. */
struct link *links_first(const struct links *l);
size_t links_count(const struct links *l);
struct link *links_by_conn(const struct links *l, uint64_t conn);
/* The link that is up to a vpid in the epoch of the table, or NULL. A link to an earlier epoch
 * is not used. The newest comes first, so a reconnect is preferred to the link that it replaces. */
struct link *links_up(const struct links *l, const struct members *m, uint32_t vpid);
/* An incoming connection. NULL if there are too many: it is closed then. */
struct link *links_accept(struct links *l, uint64_t conn);
struct link *links_connect(struct links *l, uint32_t vpid, const char *host, uint16_t port);
/* Forgets the link without an action for the driver (the connection is closed already). */
void links_drop(struct links *l, struct link *k);
/* Closes the connection and forgets the link. */
void links_close(struct links *l, struct link *k, bool flush);
/* Sends a message on the link itself (not routed). The caller fills `f`, except type, dst and
 * seq. */
void links_send(struct links *l, struct link *k, const struct frame *from, const struct msg *m);
/* Relays a routed frame: its header with one hop more, its body unchanged. */
void links_relay(struct links *l, struct link *k, const struct frame *f, const void *body,
                 size_t len);
void links_send_raw(struct links *l, struct link *k, const void *frame, size_t len);

#endif
