/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends of transfers over k links that fail, lose, delay and repeat frames as a test says; and
 * the checks of what always holds. */
#ifndef DVM_TRANSFER_TEST_PAIR_H
#define DVM_TRANSFER_TEST_PAIR_H

#include "dvm/protocol/transfer/transfer.h"

#define PAIR_LINKS_MAX 8
#define PAIR_MESSAGES_MAX 512
#define PAIR_FRAGS_MAX 256 /* of one message */
#define PAIR_EAGER_BYTES (4u * TRANSFER_FRAG_BYTES)
#define PAIR_LARGE (19ull * TRANSFER_FRAG_BYTES + 100)

enum pair_how { BY_ACK, BY_PUT, BY_GET, PAIR_HOWS };

enum pair_fault {
    PAIR_LOST,
    PAIR_ARRIVED_WITH_ERROR,
    PAIR_LATE, /* it arrives after its sender has seen an error */
    PAIR_DOUBLED,
    PAIR_LINK_BREAKS,
    PAIR_FAULTS
};

struct flight { /* a frame that has not been completed, or has not arrived */
    int from;   /* end 0 or 1 */
    uint32_t link;
    uint64_t id;
    struct msg m;
    bool arrived;   /* at least once */
    bool gone;      /* it will not arrive (again) */
    bool completed; /* its sender has been notified */
    struct flight *next, *prev;
};

struct message {
    struct pair *p;
    int from;
    uint64_t seq, size;
    bool regions, refused;
    int delivered, written, ended, opened; /* calls */
    bool arrived;                          /* what the source was told */
    bool there[PAIR_FRAGS_MAX];
    bool read[PAIR_FRAGS_MAX];
};

struct pair_end {
    struct pair *p;
    int index;
    struct transfer_end *e;
};

struct pair {
    struct pair_end end[2];
    uint32_t nlinks;
    bool up[PAIR_LINKS_MAX];
    int room;             /* fragments that a link has room for at each end */
    uint64_t taken_bytes; /* of ends that begin from now on */
    struct flight *flights;
    struct message messages[PAIR_MESSAGES_MAX];
    size_t nmessages;
    /* The newest dance that this end has begun, as sender and as receiver, by number. */
    uint32_t begun[2][2][PAIR_MESSAGES_MAX];
    uint64_t rng;
    uint64_t last_end;
    const char *only;   /* the one invariant that is checked; NULL: all are */
    const char *broken; /* the name of an invariant that does not hold; NULL: all hold */
    void (*note)(const struct pair *p, const struct flight *f, enum pair_fault fault);
    bool quiet; /* the log of illegal frames is not printed */
};

struct pair *pair_new(uint32_t nlinks, uint64_t seed);
void pair_free(struct pair *p);
uint64_t pair_random(struct pair *p, uint64_t below);
/* Sends a message; its index. */
size_t pair_send(struct pair *p, int from, uint64_t size, bool exposed, bool regions);
size_t pair_send_large(struct pair *p, enum pair_how how); /* PAIR_LARGE bytes from end 0 */
/* The first frame of this type that is on its way from this end, or NULL. */
struct flight *pair_find(struct pair *p, int from, enum msg_type type);
void pair_arrive(struct pair *p, struct flight *f);                   /* may be repeated */
void pair_complete(struct pair *p, struct flight *f, bool processed); /* once */
/* A frame is lost or, if it has arrived, only its completion; the sender sees an error. */
void pair_lose(struct pair *p, struct flight *f);
/* Frames arrive in order and are completed, until nothing is on its way. */
void pair_run(struct pair *p);
/* The same, until a frame of this type has been sent from this end. */
void pair_run_to(struct pair *p, int from, enum msg_type type);
void pair_break(struct pair *p, uint32_t link); /* all its frames meet an error, later */
void pair_mend(struct pair *p, uint32_t link);
void pair_forget(struct pair *p, int index);  /* this end begins anew */
bool pair_is_of_sending(const struct msg *m); /* a message of the side that sends */
/* One random step: an arrival, a completion, a repetition, a failure or the return of a link. */
void pair_step(struct pair *p, bool faults);
bool pair_idle(const struct pair *p);
/* All messages were delivered once, with their content, and their senders were notified. */
bool pair_all_there(const struct pair *p);
/* Fails the test if an invariant does not hold, a message is not there, or an end is not at rest.
 * Frees the pair. */
void pair_end_at_rest(struct pair *p);

#endif
