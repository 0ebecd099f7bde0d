/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives by (signature, sequence): contributions wait for each other, also for one that is not
 * known here yet. */
#include "dvm/gather/gather.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct gather_key {
    uint64_t seq;
    size_t siglen;
    uint8_t sig[];
};

struct gather_op {
    struct gather_key *key;
    bool started; /* our own contribution is in */
    uint64_t req;
    size_t n;
    uint32_t *vpids;
    size_t need; /* contributions of children still to come; known once the participants are */
    size_t have;
    struct buf data;
    UT_hash_handle hh;
};

struct gather_seq {
    size_t siglen;
    uint8_t *sig;
    uint64_t next;
    UT_hash_handle hh;
};

void gather_init(struct gather *g, struct out *out, struct rml *rml, struct members *members)
{
    *g = (struct gather){.out = out, .rml = rml, .members = members};
}

static void op_free(struct gather *g, struct gather_op *op)
{
    HASH_DEL(g->ops, op);
    free(op->key);
    free(op->vpids);
    buf_free(&op->data);
    free(op);
}

void gather_free(struct gather *g)
{
    struct gather_op *op, *otmp;
    struct gather_seq *s, *stmp;

    HASH_ITER(hh, g->ops, op, otmp)
    {
        op_free(g, op);
    }
    HASH_ITER(hh, g->seqs, s, stmp)
    {
        HASH_DEL(g->seqs, s);
        free(s->sig);
        free(s);
    }
}

static uint64_t next_seq(struct gather *g, const void *sig, size_t siglen)
{
    struct gather_seq *s;

    HASH_FIND(hh, g->seqs, sig, siglen, s);
    if (!s) {
        s = xcalloc(1, sizeof *s);
        s->sig = xmalloc(siglen + 1);
        memcpy(s->sig, sig, siglen);
        s->siglen = siglen;
        HASH_ADD_KEYPTR(hh, g->seqs, s->sig, siglen, s);
    }
    return ++s->next;
}

static struct gather_key *key_new(uint64_t seq, const void *sig, size_t siglen)
{
    struct gather_key *k = xcalloc(1, sizeof *k + siglen);

    k->seq = seq;
    k->siglen = siglen;
    memcpy(k->sig, sig, siglen);
    return k;
}

static struct gather_op *get(struct gather *g, uint64_t seq, const void *sig, size_t siglen)
{
    struct gather_key *key = key_new(seq, sig, siglen);
    struct gather_op *op;

    HASH_FIND(hh, g->ops, key, sizeof *key + siglen, op);
    if (op) {
        free(key);
        return op;
    }
    op = xcalloc(1, sizeof *op);
    op->key = key;
    buf_init(&op->data, MSG_DATA_MAX);
    HASH_ADD_KEYPTR(hh, g->ops, op->key, sizeof *key + siglen, op);
    return op;
}

static size_t index_of(const struct gather_op *op, uint32_t vpid)
{
    size_t i = 0;

    while (i < op->n && op->vpids[i] != vpid)
        i++;
    return i;
}

static void know_participants(struct gather *g, struct gather_op *op, const uint32_t *vpids,
                              size_t n)
{
    size_t first;
    size_t self;

    if (op->vpids)
        return;
    op->vpids = xmalloc((n + 1) * sizeof *vpids);
    memcpy(op->vpids, vpids, n * sizeof *vpids);
    op->n = n;
    self = index_of(op, g->members->self);
    first = self * GATHER_RADIX + 1;
    op->need = first >= n ? 0 : (n - first < GATHER_RADIX ? n - first : GATHER_RADIX);
}

static int send(struct gather *g, struct gather_op *op, uint32_t to, enum msg_type type,
                int64_t status)
{
    struct msg m = {.type = type,
                    .op = op->key->seq,
                    .data2 = op->key->sig,
                    .len2 = op->key->siglen,
                    .nvpids = op->n,
                    .vpids = op->vpids,
                    .number = status,
                    .data = status == 0 ? op->data.data : NULL,
                    .len = status == 0 ? op->data.len : 0};
    struct err err = {0};

    if (rml_send(g->rml, to, CLASS_MODEX, &m, &err) == 0)
        return 0;
    out_log(g->out, 1, "collective: %s", err.msg);
    return -1;
}

static void answer(struct gather *g, struct gather_op *op, int64_t status)
{
    size_t self = index_of(op, g->members->self);

    for (size_t i = self * GATHER_RADIX + 1; i <= (self + 1) * GATHER_RADIX && i < op->n; i++)
        send(g, op, op->vpids[i], MSG_GATHER_DOWN, status);
    if (op->started) {
        struct out_act *act = out_add(g->out, OUT_GATHER);

        act->req = op->req;
        act->number = status;
        if (status == 0)
            buf_put_raw(&act->data, op->data.data, op->data.len);
    }
    op_free(g, op);
}

static void check(struct gather *g, struct gather_op *op)
{
    size_t self;

    if (!op->started || op->have < op->need)
        return;
    self = index_of(op, g->members->self);
    if (self == 0)
        answer(g, op, op->data.failed ? GATHER_LOST : 0);
    else if (send(g, op, op->vpids[(self - 1) / GATHER_RADIX], MSG_GATHER_UP,
                  op->data.failed ? GATHER_LOST : 0) < 0)
        answer(g, op, GATHER_LOST);
}

void gather_start(struct gather *g, uint64_t req, const void *sig, size_t siglen,
                  const uint32_t *vpids, size_t n, const void *data, size_t len)
{
    struct gather_op *op = get(g, next_seq(g, sig, siglen), sig, siglen);

    op->started = true;
    op->req = req;
    know_participants(g, op, vpids, n);
    buf_put_raw(&op->data, data, len);
    for (size_t i = 0; i < n; i++) {
        if (!members_live(g->members, vpids[i])) {
            answer(g, op, GATHER_LOST);
            return;
        }
    }
    check(g, op);
}

void gather_up(struct gather *g, uint32_t from, const struct msg *m)
{
    struct gather_op *op;

    if (HASH_COUNT(g->ops) >= GATHER_RUNNING_MAX) {
        out_log(g->out, 0, "collective from vpid %u dropped: %d are running", from,
                GATHER_RUNNING_MAX);
        return;
    }
    op = get(g, m->op, m->data2, m->len2);
    know_participants(g, op, m->vpids, m->nvpids);
    if (index_of(op, from) == op->n)
        return;
    buf_put_raw(&op->data, m->data, m->len);
    if (m->number != 0)
        op->data.failed = true; /* somebody below has more than can be told */
    op->have++;
    check(g, op);
}

void gather_down(struct gather *g, const struct msg *m)
{
    struct gather_op *op = get(g, m->op, m->data2, m->len2);

    if (!op->vpids) { /* ended here already, by a loss */
        op_free(g, op);
        return;
    }
    buf_reset(&op->data);
    buf_put_raw(&op->data, m->data, m->len);
    answer(g, op, m->number);
}

void gather_lost(struct gather *g, uint32_t vpid)
{
    struct gather_op *op, *tmp;

    HASH_ITER(hh, g->ops, op, tmp)
    {
        if (op->vpids && index_of(op, vpid) < op->n)
            answer(g, op, GATHER_LOST);
    }
}

/* A signature is a kind and then names, each ended by NUL and 4 bytes of rank: a name begins at 1
 * or behind such an end. */
static bool names(const uint8_t *sig, size_t siglen, const char *nspace)
{
    size_t len = strlen(nspace) + 1;

    for (size_t at = 1; at + len <= siglen;) {
        size_t name = strnlen((const char *)sig + at, siglen - at);

        if (name + 1 == len && memcmp(sig + at, nspace, len) == 0)
            return true;
        at += name + 5;
    }
    return false;
}

void gather_forget(struct gather *g, const char *nspace)
{
    struct gather_seq *s, *tmp;
    struct gather_op *op, *otmp;

    HASH_ITER(hh, g->ops, op, otmp)
    {
        if (names(op->key->sig, op->key->siglen, nspace))
            answer(g, op, GATHER_LOST);
    }
    HASH_ITER(hh, g->seqs, s, tmp)
    {
        if (!names(s->sig, s->siglen, nspace))
            continue;
        HASH_DEL(g->seqs, s);
        free(s->sig);
        free(s);
    }
}
