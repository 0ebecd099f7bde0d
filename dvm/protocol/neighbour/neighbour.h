/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbours of one daemon: the daemons at the other ends of its connections, and their states.
 * A neighbour (struct link) has one connection or several (dvm/protocol/peer). */
#ifndef DVM_LINK_LINK_H
#define DVM_LINK_LINK_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/peer/peer.h"
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
    LINK_CUT,     /* was up; no connection at present. Frames to it wait, for a limited time */
    LINK_CLOSING, /* we have sent BYE and send nothing more; the peer may still send */
    LINK_REFUSED, /* we have sent REFUSE; the peer's BYE confirms it */
};

struct link {
    uint64_t id; /* the id of its first connection */
    enum link_state state;
    bool incoming;
    bool joining;     /* a new daemon that waits to be wired (head), or our own call to the head */
    bool peer_bye;    /* the peer has sent BYE */
    bool head_role;   /* its certificate is that of a head */
    bool member_role; /* its certificate allows it to join as a member or to be the head */
    uint32_t vpid;    /* VPID_NONE until the greeting names it */
    struct epoch epoch;
    uint64_t opened_ms; /* of the present state, unless it is up */
    struct peer *peer;  /* its connections, and the frames to and from it */
    char *host;         /* outgoing: its address */
    uint16_t port;
    uint64_t redial_at, redial_ms; /* when a further connection is made; 0: no wait */
    bool failed;                   /* one of its connections has been lost */
    struct link *next, *prev;
};

/* Borrows `out`. */
struct links *links_create(struct out *out);
void links_destroy(struct links *l);
/* The newest link; its `next` leads to the others. */
struct link *links_first(const struct links *l);
size_t links_count(const struct links *l);
/* Frames that were sent again after the failure of a link, to all neighbours so far. */
uint64_t links_again(const struct links *l);
struct link *links_by_id(const struct links *l, uint64_t id);
/* The neighbour that has this connection, and the connection in *at (may be NULL); NULL: none. */
struct link *links_by_conn(const struct links *l, uint64_t conn, struct peer_link **at);
/* The link that is up to a vpid in the epoch of the table, or NULL. A link to an earlier epoch
 * is not used. The newest comes first, so a reconnect is preferred to the link that it replaces. */
struct link *links_up(const struct links *l, const struct members *m, uint32_t vpid);
/* The same, also if it is cut: frames to it wait until it is back. */
struct link *links_hop(const struct links *l, const struct members *m, uint32_t vpid);
/* The incoming neighbour of this epoch with this session, in any state; NULL: none. */
struct link *links_session(const struct links *l, uint32_t vpid, struct epoch epoch,
                           uint64_t session);
uint64_t links_new_session(struct links *l);
bool link_is_greeted(const struct link *k); /* up or cut */
/* Greetings, probes and acknowledgements: outside of the sequence of frames. */
bool link_is_unnumbered(enum msg_type type);
/* An incoming connection. NULL if there are too many: it is closed then. */
struct link *links_accept(struct links *l, uint64_t conn);
struct link *links_connect(struct links *l, uint32_t vpid, const char *host, uint16_t port);
/* One connection more to the same neighbour; NULL: it has PEER_LINKS_MAX. */
struct peer_link *links_dial(struct links *l, struct link *k);
/* The connection of a caller that continues the session of `k`. The caller's record is freed. */
struct peer_link *links_adopt(struct links *l, struct link *k, struct link *caller);
/* Both sides have greeted, in a new session: the neighbour is up. */
void links_greeted(struct links *l, struct link *k, uint64_t session);
/* The connection whose frame is being processed; NULL: none. */
struct peer_link *links_in(const struct links *l);
void links_set_in(struct links *l, struct peer_link *at);
/* Forgets a connection, which is closed already, or closes it. */
void links_drop_conn(struct links *l, struct link *k, struct peer_link *at);
void links_close_conn(struct links *l, struct link *k, struct peer_link *at, bool flush);
/* Forgets the neighbour without an action for the driver (its connections are closed already). */
void links_drop(struct links *l, struct link *k);
/* Closes its connections and forgets the neighbour. */
void links_close(struct links *l, struct link *k, bool flush);
/* Sends a message to the neighbour itself (not routed). The caller fills `f`, except type, dst and
 * seq. Greetings, probes and acknowledgements are outside of the sequence: they go over the
 * connection whose frame is being processed, else over the best one. */
void links_send(struct links *l, struct link *k, const struct frame *from, const struct msg *m);
void links_send_on(struct links *l, struct link *k, struct peer_link *at, const struct frame *from,
                   const struct msg *m);
/* Relays a routed frame: its header with one hop more, its body unchanged. -1: too much waits for
 * the neighbour. */
int links_relay(struct links *l, struct link *k, const struct frame *f, const void *body,
                size_t len) __attribute__((warn_unused_result));
/* One of few: a frame of a broadcast. */
void links_send_op(struct links *l, struct link *k, const void *frame, size_t len);
int links_send_raw(struct links *l, struct link *k, const void *frame, size_t len)
    __attribute__((warn_unused_result));

#endif
