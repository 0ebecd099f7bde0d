/* SPDX-License-Identifier: BSD-3-Clause */
/* One neighbour and the links to it: frames arrive once and in order, over whatever links work.
 *
 * A link is one connection. A frame gets a number when it is sent, and is kept until the other side
 * has acknowledged it. It goes over one link. If that link is lost, or mapped out, the frames that
 * it carried and that are not acknowledged go over another one; no other frame is sent again.
 * Without any link frames wait, up to PEER_BACKLOG_MAX bytes.
 *
 * Numbers belong to a session, which both sides name by the same number. A link that greets within
 * a session continues it. A new session starts with number 1 and drops what the former one held.
 *
 * This module knows neither vpids nor epochs: dvm/protocol/link binds a peer to a daemon. */
#ifndef DVM_PEER_PEER_H
#define DVM_PEER_PEER_H

#include "base/fsm/fsm.h"
#include "dvm/protocol/out/out.h"
#include "dvm/protocol/wire/msg/hop_ack.h"

#define PEER_LINKS_MAX 8
#define PEER_LINK_WINDOW_BYTES                                                                     \
    (8u << 20)                        /* in flight on one link; one longer frame may go alone      \
                                       */
#define PEER_WINDOW_FRAMES 4096       /* sent and not acknowledged: early frames that are kept */
#define PEER_BACKLOG_MAX (256u << 20) /* bytes that wait or are in flight */
#define PEER_ACK_DELAY_MS 20
#define PEER_ACK_BYTES (256u << 10) /* an acknowledgement is due at once, */
#define PEER_ACK_FRAMES 256         /* or after so many frames */
#define HOP_RANGES_MAX 32           /* of early frames, in one acknowledgement */
/* Links that are up are compared with each other in rounds, so a limit does not depend on the load
 * of the host. A link misses a round if it shows no progress while another one answers. */
#define PEER_ROUND_MS 250
#define PEER_SLOW_ROUNDS 4          /* a link that has missed so many in a row is far slower; */
#define PEER_ROUND_BYTES (1u << 20) /* one more for so many bytes that it carries */
/* A link is slow while the delay of its probes is longer than PEER_SLOW_MS, and than the least one
 * of the others by a factor. The factor is less for one that is to be taken back. */
#define PEER_SLOW_MS 200
#define PEER_SLOW_FACTOR 8
#define PEER_BACK_FACTOR 4
#define PEER_MEASURE_MS 1000 /* between probes of all links, while there is traffic */
#define PEER_SLOW_MEASURES 4 /* so many slow answers in a row, and the link is mapped out */
#define PEER_PROOFS 3        /* prompt answers after which a mapped-out link is taken back */
/* A link that is mapped out again within PEER_FLAP_MS after it was taken back proves nothing before
 * a time that doubles: its delay may be short only while it carries nothing. */
#define PEER_FLAP_MS 60000
#define PEER_HOLD_MIN_MS 1000
#define PEER_HOLD_MAX_MS 64000
#define PEER_PROBE_MIN_MS 200
#define PEER_PROBE_MAX_MS 5000

enum peer_link_state {
    PEER_LINK_DIALING,  /* not open yet */
    PEER_LINK_GREETING, /* open; the greeting is not complete */
    PEER_LINK_UP,
    PEER_LINK_OUT, /* mapped out: it carries probes and their answers only */
};
enum peer_link_event {
    PEER_LINK_OPENED,
    PEER_LINK_GREETED,
    PEER_LINK_ON_PROBATION, /* greeted; it replaces a link that failed, and others work */
    PEER_LINK_FAILED,       /* far slower than others, or mapped out by the other side */
    PEER_LINK_PROVED,
    PEER_LINK_NEEDED, /* no other link is up */
};
extern const struct fsm peer_link_fsm;

#define PEER_ADDRESS_MAX 46 /* text of an address, with its end */

struct peer_link {
    uint64_t conn;
    size_t way; /* by which of the addresses it was made; 0 if the other side has made it */
    char own[PEER_ADDRESS_MAX], other[PEER_ADDRESS_MAX]; /* its two ends; "": not known */
    uint32_t number; /* names it to the other side; 0: not known yet */
    int state;       /* enum peer_link_state */
    bool pinged;     /* no frame has come since our PING */
    uint64_t opened_ms, heard_ms;
    bool progress;       /* in this round a frame that it carried, or a probe, was answered */
    bool answered;       /* in this round: a probe */
    size_t missed;       /* rounds in a row */
    uint64_t delay_ms;   /* of the last probe, there and back; 0 until one was answered */
    bool measured;       /* one was */
    uint64_t asked_ms;   /* of the oldest probe without an answer; 0: none */
    size_t in_flight;    /* bytes */
    unsigned slow;       /* answers in a row that were; one counts in PEER_MEASURE_MS */
    uint64_t slow_until; /* until then no further one counts */
    uint64_t probe_at, probe_ms;
    unsigned proofs;
    uint64_t back_ms;             /* when it was taken back; 0: never */
    uint64_t hold_until, hold_ms; /* mapped out: it proves nothing until then */
    struct peer_link *next, *prev;
};

struct peer;
/* Borrows `out`. No session. */
struct peer *peer_create(struct out *out);
void peer_destroy(struct peer *p); /* closes no connection */

/* A new session. Frames of the former one are dropped; its links should be gone. */
void peer_begin(struct peer *p, uint64_t session);
uint64_t peer_session(const struct peer *p);  /* 0: none */
uint64_t peer_received(const struct peer *p); /* all frames up to this number have arrived */

/* --- links */
struct peer_link *peer_links(const struct peer *p); /* the list */
struct peer_link *peer_link_add(struct peer *p, uint64_t conn, enum peer_link_state state);
struct peer_link *peer_link_of(const struct peer *p, uint64_t conn);
struct peer_link *peer_link_numbered(const struct peer *p, uint32_t number);
size_t peer_links_greeted(const struct peer *p); /* up or mapped out */
uint32_t peer_next_number(struct peer *p);
/* The link of a peer that has no other one becomes a link of another peer. */
struct peer_link *peer_link_move(struct peer *to, struct peer *from);
void peer_link_opened(struct peer *p, struct peer_link *k);
/* The greeting is complete: the other side has received all frames up to `received`. A link on
 * probation has to prove itself first, if another one is up. -1 if the number cannot be right. */
int peer_link_greeted(struct peer *p, struct peer_link *k, uint64_t received, bool probation);
/* The connection is lost or closed: what it carried goes over another link. */
void peer_link_drop(struct peer *p, struct peer_link *k);
/* Maps the link out. False if it is the only one that is up. */
bool peer_link_fail(struct peer *p, struct peer_link *k);
/* A probe is sent over it. */
void peer_link_asked(struct peer *p, struct peer_link *k);
/* A probe was answered after `delay_ms`. True if the link is taken back. */
bool peer_link_answered(struct peer *p, struct peer_link *k, uint64_t delay_ms);
/* Ends a round of comparing when it is due. A link that is far slower than another one, once; NULL:
 * none. */
struct peer_link *peer_link_slow(struct peer *p);
/* The next link that is to be probed now; NULL: none. Sets the time of the next probe. */
struct peer_link *peer_link_probe(struct peer *p);

/* --- frames */
/* Copies an encoded frame. The caller asks peer_full() before, unless the frame is one of few. */
void peer_send(struct peer *p, const void *frame, size_t len);
/* Outside of the sequence, over this link; lost with it. */
void peer_send_on(struct peer *p, struct peer_link *k, const void *frame, size_t len);
/* The link for a short message: the one with the least delay; NULL: none is up. */
struct peer_link *peer_best(const struct peer *p);
enum peer_taken {
    PEER_DELIVER, /* now */
    PEER_KEPT,    /* early, or repeated */
    PEER_WRONG,   /* a number that the other side cannot have sent, or acknowledged */
};
/* A frame has come over a greeted link. Early frames are copied. */
enum peer_taken peer_take(struct peer *p, struct peer_link *k, const struct frame *f,
                          const uint8_t *data, size_t len);
/* The next early frame whose turn has come; the caller frees it. */
bool peer_next(struct peer *p, struct buf *frame);
/* The other side has these frames too. */
void peer_acked(struct peer *p, const struct hop_range *list, size_t n);
bool peer_full(const struct peer *p); /* as much waits as may */

/* --- acknowledgements */
bool peer_ack_due(const struct peer *p); /* one has to be sent now */
/* The early frames, for an acknowledgement that is about to be sent; at most HOP_RANGES_MAX. */
size_t peer_ranges(struct peer *p, struct hop_range *list);
/* The link for it: the one that has carried the last frame, if it is up. */
struct peer_link *peer_ack_link(const struct peer *p);
uint64_t peer_deadline(const struct peer *p);

struct peer_stats {
    uint64_t sent;      /* number of the last frame sent */
    uint64_t acked;     /* all up to this one are acknowledged */
    uint64_t delivered; /* frames handed up */
    uint64_t received;  /* all up to this one have arrived */
    uint64_t again;     /* frames sent again after the failure of a link */
    size_t bytes;       /* that wait or are in flight */
    size_t early;       /* frames kept */
};
struct peer_stats peer_stats(const struct peer *p);

#endif
