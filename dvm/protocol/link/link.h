/* SPDX-License-Identifier: BSD-3-Clause */
/* The links of one daemon: connections, who is at their other end, and whether they still live. */
#ifndef DVM_LINK_LINK_H
#define DVM_LINK_LINK_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/wire/msg/msg.h"

/* Connection ids given by this module have this bit; the driver's own (incoming ones) do not. */
#define LINK_OUTGOING (1ull << 63)
#define LINKS_MAX 65536

struct links; /* of one daemon */

enum link_state {
    LINK_CONNECTING, /* outgoing, not open yet */
    LINK_GREETING,   /* open; HELLO sent or awaited */
    LINK_UP,
    LINK_CLOSING, /* we said BYE; nothing more is sent, the peer may still speak */
    LINK_REFUSED, /* we said REFUSE; the peer's BYE shows that it is there and has read it */
};

struct link {
    uint64_t conn;
    enum link_state state;
    bool incoming;
    bool joining;     /* a new daemon that waits to be wired (head), or our own call home */
    bool peer_bye;    /* the peer said BYE */
    bool pinged;      /* silent so far since our PING */
    bool head_role;   /* its certificate is a head\'s */
    bool member_role; /* its certificate allows it to join as a member or to be the head */
    uint32_t vpid;    /* VPID_NONE until the greeting tells */
    struct epoch epoch;
    uint64_t heard_ms;
    uint64_t opened_ms;
    struct link *next, *prev;
};

/* Borrows `out`. */
struct links *links_create(struct out *out);
void links_destroy(struct links *l);
/* The newest; the others follow by its `next`. */
struct link *links_first(const struct links *l);
size_t links_count(const struct links *l);
struct link *links_by_conn(const struct links *l, uint64_t conn);
/* The link that is up to a vpid in the life that the table has, or NULL: what still stands to a
 * former life leads nowhere. Newest first, so a reconnect wins over what it replaces. */
struct link *links_up(const struct links *l, const struct members *m, uint32_t vpid);
/* An incoming connection; NULL and closed if there are too many. */
struct link *links_accept(struct links *l, uint64_t conn);
struct link *links_connect(struct links *l, uint32_t vpid, const char *host, uint16_t port);
/* Forgets the link without a word to the driver (it is closed already). */
void links_drop(struct links *l, struct link *k);
/* Closes and forgets it. */
void links_close(struct links *l, struct link *k, bool flush);
/* Sends a message on the link itself (not routed): the caller fills `f` but for type, dst and seq.
 */
void links_send(struct links *l, struct link *k, const struct frame *from, const struct msg *m);
/* Passes a routed frame on: its header with one hop more, its body as it is. */
void links_relay(struct links *l, struct link *k, const struct frame *f, const void *body,
                 size_t len);
void links_send_raw(struct links *l, struct link *k, const void *frame, size_t len);

#endif
