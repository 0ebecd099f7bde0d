/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbours of one daemon: the daemons at the other ends of its connections, and their states.
 * A neighbour has one link or several; a link is one connection (dvm/protocol/peer). */
#ifndef DVM_NEIGHBOUR_NEIGHBOUR_H
#define DVM_NEIGHBOUR_NEIGHBOUR_H

#include "dvm/protocol/member/member.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/peer/peer.h"
#include "dvm/protocol/wire/msg/msg.h"

/* Connection ids chosen by this module have this bit; ids of incoming connections, chosen by the
 * driver, do not. */
#define CONN_OUTGOING (1ull << 63)
#define NEIGHBOURS_MAX 65536

struct neighbours; /* of one daemon */

enum neighbour_state {
    NEIGHBOUR_CONNECTING, /* outgoing, not open yet */
    NEIGHBOUR_GREETING,   /* open; HELLO sent or awaited */
    NEIGHBOUR_UP,
    NEIGHBOUR_CUT,     /* was up; no connection at present. Frames to it wait, for a limited time */
    NEIGHBOUR_CLOSING, /* we have sent BYE and send nothing more; the peer may still send */
    NEIGHBOUR_REFUSED, /* we have sent REFUSE; the peer's BYE confirms it */
};

struct neighbour_way { /* an address of a daemon that is called */
    struct out_way to;
    uint64_t redial_at, redial_ms; /* when the next connection is made over it; 0: no wait */
};

struct neighbour {
    uint64_t id; /* the id of its first connection */
    enum neighbour_state state;
    bool incoming;
    bool joining;      /* a new daemon that waits to be wired (head), or our own call to the head */
    bool peer_bye;     /* the peer has sent BYE */
    bool left;         /* it has said LEFT, or BYE after our REFUSE */
    bool head_role;    /* its certificate is that of a head */
    bool member_role;  /* its certificate allows it to join as a member or to be the head */
    struct key_id key; /* of a caller: that it holds */
    uint8_t speaks;    /* the newest edition that it knows (dvm/protocol/wire/frame.h) */
    uint32_t vpid;     /* VPID_NONE until the greeting names it */
    struct epoch epoch;
    uint32_t knows_head; /* by its HELLO, or last broadcast: low bits of the epoch of the head that
                            it knows; 0: none */
    uint64_t opened_ms;  /* of the present state, unless it is up */
    uint64_t leaves_by;  /* a shrink has removed it, and LEFT is awaited so long; 0: not removed */
    struct peer *peer;   /* its connections, and the frames to and from it */
    size_t nways;        /* outgoing: its addresses */
    struct neighbour_way ways[OUT_WAYS_MAX];
    size_t good;       /* the one that is called first: it was the last good one */
    bool failed;       /* one of its connections has been lost */
    uint64_t lost;     /* connections that broke or fell silent */
    uint64_t heard_ms; /* its last frame, by any connection */
    /* Since its last frame: */
    bool silent;   /* its last connection was closed, and no other one has carried a frame lately */
    bool orphaned; /* a child of it has called the head */
    struct neighbour *next, *prev;
};

/* Borrows `out`. */
struct neighbours *neighbours_create(struct out *out);
void neighbours_destroy(struct neighbours *l);
/* The newest neighbour; its `next` leads to the others. */
struct neighbour *neighbours_first(const struct neighbours *l);
size_t neighbours_count(const struct neighbours *l);
/* Frames that were sent again after the failure of a link, to all neighbours so far. */
uint64_t neighbours_again(const struct neighbours *l);
uint64_t neighbours_dropped(const struct neighbours *l); /* so many have been forgotten so far */
struct neighbour *neighbours_by_id(const struct neighbours *l, uint64_t id);
/* The neighbour that has this connection, and the connection in *at (may be NULL); NULL: none. */
struct neighbour *neighbours_by_conn(const struct neighbours *l, uint64_t conn,
                                     struct peer_link **at);
/* The neighbour that is up with this vpid and the epoch of the table, or NULL. A record of an
 * earlier epoch is not used. The newest is found first: a reconnect before what it replaces. */
struct neighbour *neighbours_up(const struct neighbours *l, const struct members *m, uint32_t vpid);
/* The same, also if it is cut: frames to it wait until it is back. */
struct neighbour *neighbours_hop(const struct neighbours *l, const struct members *m,
                                 uint32_t vpid);
/* The incoming neighbour of this epoch with this session, in any state; NULL: none. */
struct neighbour *neighbours_session(const struct neighbours *l, uint32_t vpid, struct epoch epoch,
                                     uint64_t session);
uint64_t neighbours_new_session(struct neighbours *l);
void neighbours_begin_sessions(struct neighbours *l, uint64_t after); /* before the first one */
bool neighbour_is_greeted(const struct neighbour *k);                 /* up or cut */
/* An incoming connection. NULL if there are too many: it is closed then. */
struct neighbour *neighbours_accept(struct neighbours *l, uint64_t conn);
/* One connection, by the first of the addresses that can be reached. The ways are copied. */
struct neighbour *neighbours_connect(struct neighbours *l, uint32_t vpid,
                                     const struct out_way *ways, size_t n);
/* One connection more to the same neighbour, by one of its addresses. NULL: it has PEER_LINKS_MAX.
 */
struct peer_link *neighbours_dial(struct neighbours *l, struct neighbour *k, size_t way);
/* A neighbour without a connection is called by all its addresses, the last good one first. */
void neighbours_call(struct neighbours *l, struct neighbour *k);
/* It has these addresses now. Nothing is closed. */
void neighbour_set_ways(struct neighbour *k, const struct out_way *ways, size_t n);
/* Of its connections, those by this address, in any state. */
size_t neighbour_count_way(const struct neighbour *k, size_t way);
/* The connection of a caller that continues the session of `k`. The caller's record is freed. */
struct peer_link *neighbours_adopt(struct neighbours *l, struct neighbour *k,
                                   struct neighbour *caller);
/* Both sides have greeted, in a new session: the neighbour is up. */
void neighbours_greeted(struct neighbours *l, struct neighbour *k, uint64_t session);
/* The connection whose frame is being processed; NULL: none. */
struct peer_link *neighbours_in(const struct neighbours *l);
void neighbours_set_in(struct neighbours *l, struct peer_link *at);
/* Forgets a connection, which is closed already, or closes it. */
void neighbours_drop_conn(struct neighbours *l, struct neighbour *k, struct peer_link *at);
void neighbours_close_conn(struct neighbours *l, struct neighbour *k, struct peer_link *at,
                           bool flush);
/* Forgets the neighbour without an action for the driver (its connections are closed already). */
void neighbours_drop(struct neighbours *l, struct neighbour *k);
/* Closes its connections and forgets the neighbour. */
void neighbours_close(struct neighbours *l, struct neighbour *k, bool flush);
/* Sends a message to the neighbour itself (not routed). The caller fills `f`, except type, dst and
 * seq. Greetings, probes and acknowledgements are outside of the sequence: they go over the
 * connection whose frame is being processed, else over the best one. */
void neighbours_send(struct neighbours *l, struct neighbour *k, const struct frame *from,
                     const struct msg *m);
void neighbours_send_on(struct neighbours *l, struct neighbour *k, struct peer_link *at,
                        const struct frame *from, const struct msg *m);
/* Relays a routed frame: its header with one hop more, its body unchanged. -1: too much waits for
 * the neighbour. */
int neighbours_relay(struct neighbours *l, struct neighbour *k, const struct frame *f,
                     const void *body, size_t len) __attribute__((warn_unused_result));
/* One of few: a frame of a broadcast. */
void neighbours_send_op(struct neighbours *l, struct neighbour *k, const void *frame, size_t len);
int neighbours_send_raw(struct neighbours *l, struct neighbour *k, const void *frame, size_t len)
    __attribute__((warn_unused_result));

#endif
