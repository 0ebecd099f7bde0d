/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives that run or wait on a daemon, and what it remembers of their signatures; shared
 * by gather.c and ops.c only. */
#ifndef DVM_GATHER_OPS_H
#define DVM_GATHER_OPS_H

#include "base/heap/hash.h"
#include "dvm/protocol/gather/gather.h"

struct gather_key {
    uint64_t seq;
    size_t siglen;
    uint8_t sig[];
};

struct gather_op {
    struct gather_key *key;
    bool started;  /* our own contribution is in */
    bool stood_in; /* it was made for ranks that have ended: nobody here is answered */
    bool ended;    /* ranks had ended before they contributed, here or below */
    uint32_t from; /* until then: who has told of it first */
    uint64_t req;
    uint64_t deadline_ms; /* 0: none */
    uint64_t ask_ms;      /* when the missing children are asked; 0: not, or not again */
    size_t n;
    uint32_t *vpids;
    size_t need; /* contributions of children that are missing; known once the participants are */
    size_t have;
    struct buf data;
    UT_hash_handle hh;
};

struct gather_seq { /* of a signature */
    size_t siglen;
    uint8_t *sig;
    uint64_t next;     /* the highest that was started here */
    uint32_t from;     /* none was: who has told of one first */
    uint64_t decided;  /* the highest whose outcome is known */
    uint64_t timeouts; /* of the last 64: bit i: number decided - i was TIMEOUT */
    uint64_t ok; /* the decider: the last that ended well, kept for a participant that has lost its
                    relay */
    enum gather_outcome ok_outcome;
    struct buf ok_data;
    UT_hash_handle hh;
};

struct ops {                 /* zeroed: empty */
    struct gather_op *list;  /* by (signature, sequence) */
    struct gather_seq *seqs; /* the numbers that each signature has reached here */
};

void ops_free(struct ops *o);
void ops_drop(struct ops *o, struct gather_op *op);
void ops_drop_seq(struct ops *o, struct gather_seq *s);
/* NULL: none. */
struct gather_seq *ops_find_seq(const struct ops *o, const void *sig, size_t siglen);
struct gather_seq *ops_seq(struct ops *o, const void *sig, size_t siglen);
struct gather_key *ops_key(uint64_t seq, const void *sig, size_t siglen);
struct gather_op *ops_find(const struct ops *o, uint64_t seq, const void *sig, size_t siglen);
/* Also a new one; NULL if it has ended. */
struct gather_op *ops_get(struct ops *o, uint32_t from, uint64_t seq, const void *sig,
                          size_t siglen);
/* The outcome of one that ended before it began here. */
enum gather_outcome ops_bad_end(const struct gather_seq *s, uint64_t seq);
/* The outcome is remembered, also of a signature that has not begun here. */
void ops_note_end(struct ops *o, const struct gather_op *op, enum gather_outcome outcome);

#endif
