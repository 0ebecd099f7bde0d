/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of a daemon: those that run or wait, and the numbers of each signature.
 *
 * In: what gather.c has learnt of a collective. Out: its record, or the outcome that it had.
 *
 * Invariants: a collective that has ended is not begun again.
 *
 * Failures: of one sender GATHER_TOLD_MAX signatures are remembered that have not begun here, the
 * newest. */
#include "dvm/protocol/gather/ops.h"

#include <stdlib.h>
#include <string.h>

void ops_drop(struct ops *o, struct gather_op *op)
{
    HASH_DEL(o->list, op);
    free(op->key);
    free(op->vpids);
    buf_free(&op->data);
    free(op);
}

void ops_drop_seq(struct ops *o, struct gather_seq *s)
{
    HASH_DEL(o->seqs, s);
    free(s->sig);
    buf_free(&s->ok_data);
    free(s);
}

struct gather_seq *ops_find_seq(const struct ops *o, const void *sig, size_t siglen)
{
    struct gather_seq *s;

    HASH_FIND(hh, o->seqs, sig, siglen, s);
    return s;
}

struct gather_seq *ops_seq(struct ops *o, const void *sig, size_t siglen)
{
    struct gather_seq *s = ops_find_seq(o, sig, siglen);

    if (!s) {
        s = xcalloc(1, sizeof(*s));
        s->sig = xmalloc(siglen + 1);
        memcpy(s->sig, sig, siglen);
        s->siglen = siglen;
        buf_init(&s->ok_data, MSG_ROUTED_MAX);
        HASH_ADD_KEYPTR(hh, o->seqs, s->sig, siglen, s);
    }
    return s;
}

struct gather_key *ops_key(uint64_t seq, const void *sig, size_t siglen)
{
    struct gather_key *k = xcalloc(1, sizeof(*k) + siglen);

    k->seq = seq;
    k->siglen = siglen;
    memcpy(k->sig, sig, siglen);
    return k;
}

struct gather_op *ops_find(const struct ops *o, uint64_t seq, const void *sig, size_t siglen)
{
    struct gather_key *key = ops_key(seq, sig, siglen);
    struct gather_op *op;

    HASH_FIND(hh, o->list, key, sizeof(*key) + siglen, op);
    free(key);
    return op;
}

/* NULL if it has ended. A good outcome comes by way of relays, so the next one's bad outcome,
 * which comes directly, may overtake it. A collective that is still open here has therefore not
 * ended. */
struct gather_op *ops_get(struct ops *o, uint32_t from, uint64_t seq, const void *sig,
                          size_t siglen)
{
    struct gather_op *op = ops_find(o, seq, sig, siglen);
    const struct gather_seq *s = ops_find_seq(o, sig, siglen);

    if (op || (s && seq <= s->decided))
        return op;
    op = xcalloc(1, sizeof(*op));
    op->from = from;
    op->key = ops_key(seq, sig, siglen);
    buf_init(&op->data, MSG_ROUTED_MAX);
    HASH_ADD_KEYPTR(hh, o->list, op->key, sizeof(*op->key) + siglen, op);
    return op;
}

/* The outcome of a collective that ended before it began here. It was not OK, since this daemon
 * has not contributed. Of those long ago it is taken for TIMEOUT: once a participant is lost, there
 * are no later ones. */
enum gather_outcome ops_bad_end(const struct gather_seq *s, uint64_t seq)
{
    uint64_t age = s->decided - seq;

    return age >= 64 || s->timeouts >> age & 1 ? GATHER_TIMEOUT : GATHER_LOST;
}

static void note_end(struct gather_seq *s, uint64_t seq, enum gather_outcome outcome)
{
    uint64_t ahead = seq > s->decided ? seq - s->decided : 0;

    s->timeouts = ahead < 64 ? s->timeouts << ahead : 0;
    s->decided += ahead;
    if (outcome == GATHER_TIMEOUT && s->decided - seq < 64)
        s->timeouts |= UINT64_C(1) << (s->decided - seq);
}

static bool told_by(const struct gather_seq *s, uint32_t vpid)
{
    return !s->next && s->from == vpid;
}

/* Of a signature that has not begun here. In the place of the sender's oldest one, if there are
 * many: uthash lists them in the order in which they came. */
static struct gather_seq *remember_told(struct ops *o, const struct gather_op *op)
{
    struct gather_seq *s, *tmp, *oldest = NULL;
    size_t n = 0;

    HASH_ITER(hh, o->seqs, s, tmp)
    {
        if (told_by(s, op->from) && n++ == 0)
            oldest = s;
    }
    if (n >= GATHER_TOLD_MAX)
        ops_drop_seq(o, oldest);
    s = ops_seq(o, op->key->sig, op->key->siglen);
    s->from = op->from;
    return s;
}

void ops_note_end(struct ops *o, const struct gather_op *op, enum gather_outcome outcome)
{
    struct gather_seq *s = ops_find_seq(o, op->key->sig, op->key->siglen);

    note_end(s ? s : remember_told(o, op), op->key->seq, outcome);
}

void ops_free(struct ops *o)
{
    struct gather_op *op, *otmp;
    struct gather_seq *s, *stmp;

    HASH_ITER(hh, o->list, op, otmp)
    {
        ops_drop(o, op);
    }
    HASH_ITER(hh, o->seqs, s, stmp)
    {
        ops_drop_seq(o, s);
    }
}
