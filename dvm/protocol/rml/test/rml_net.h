/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: three daemons in a row, 0 - 1 - 3, over wires that lose, repeat and reorder. */
#ifndef DVM_RML_TEST_RML_NET_H
#define DVM_RML_TEST_RML_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/rml/rml.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define INC 5u
#define DAEMONS 4

struct daemon {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct buf got[16]; /* texts that were delivered, per sender and class in order */
};

struct wire { /* a frame on its way */
    uint32_t from, to;
    struct buf bytes;
};

struct net {
    struct daemon d[DAEMONS];
    struct wire way[4096];
    size_t nway;
    uint64_t sent; /* frames */
};

static inline uint64_t conn_of(uint32_t peer)
{
    return peer + 1;
}

static inline struct msg_member facts_of(uint32_t vpid, uint64_t ctr)
{
    return (struct msg_member){vpid, {INC, ctr}, "host", "address", 1, 1, 0, {0}, {0}};
}

static inline void neighbour_up(struct daemon *d, uint32_t peer)
{
    struct neighbour *k = neighbours_accept(d->neighbours, conn_of(peer));

    k->vpid = peer;
    neighbours_greeted(d->neighbours, k, neighbours_new_session(d->neighbours));
    k->epoch = (struct epoch){INC, 10 + peer};
}

static inline struct net *net_new(void)
{
    struct net *n = xcalloc(1, sizeof(*n));

    for (uint32_t v = 0; v < DAEMONS; v++) {
        struct daemon *d = &n->d[v];

        d->out.now_ms = 1000;
        members_init(&d->members, v, 2);
        d->neighbours = neighbours_create(&d->out);
        d->rml = rml_create(&d->out, &d->members, d->neighbours, 0);
        /* Large frames go as they are; test_hop.c has the others. */
        rml_set_hop_limits(d->rml, &(struct hop_limits){.direct_bytes = SIZE_MAX});
        rml_set_epoch(d->rml, (struct epoch){INC, 10 + v});
        d->members.version = 7;
        for (uint32_t m = 0; m < DAEMONS; m++) {
            struct msg_member facts = facts_of(m, 10 + m);

            members_add(&d->members, &facts, 1);
        }
        for (int i = 0; i < 16; i++)
            buf_init(&d->got[i], 1u << 20);
    }
    neighbour_up(&n->d[0], 1);
    neighbour_up(&n->d[1], 0);
    neighbour_up(&n->d[1], 3);
    neighbour_up(&n->d[3], 1);
    return n;
}

static inline void net_free(struct net *n)
{
    for (uint32_t v = 0; v < DAEMONS; v++) {
        struct daemon *d = &n->d[v];

        rml_destroy(d->rml);
        neighbours_destroy(d->neighbours);
        members_free(&d->members);
        out_free(&d->out);
        for (int i = 0; i < 16; i++)
            buf_free(&d->got[i]);
    }
    for (size_t i = 0; i < n->nway; i++)
        buf_free(&n->way[i].bytes);
    free(n);
}

/* The neighbours have received all frames of the hop: what is lost here is lost at a relay. */
static inline void acknowledge_hops(struct daemon *d)
{
    struct neighbour *k;

    DL_FOREACH(neighbours_first(d->neighbours), k)
    {
        struct frame f = {.hop_ack = peer_stats(k->peer).sent};

        assert_int_equal(peer_take(k->peer, peer_links(k->peer), &f, NULL, 0), PEER_DELIVER);
    }
}

/* Frames that the daemons want to send are now under way. */
static inline void collect(struct net *n)
{
    struct out_act act;

    for (uint32_t v = 0; v < DAEMONS; v++) {
        acknowledge_hops(&n->d[v]);
        while (out_take(&n->d[v].out, &act)) {
            if (act.kind == OUT_SEND) {
                assert_true(n->nway < sizeof(n->way) / sizeof(*n->way));
                n->way[n->nway++] = (struct wire){v, (uint32_t)act.send.conn - 1, act.send.frame};
                act.send.frame.data = NULL;
                n->sent++;
            }
            out_act_free(&act);
        }
    }
}

static inline void take_in(struct daemon *d)
{
    struct buf b;

    while (rml_next(d->rml, &b)) {
        struct cur c = cur_of(b.data, b.len);
        struct frame f;
        struct msg m;

        assert_int_equal(frame_decode(&c, &f, NULL), 0);
        assert_int_equal(msg_decode(&c, f.type, &m, NULL), 0);
        if (m.type == MSG_APP)
            buf_put_raw(&d->got[4 * f.src + f.traffic], m.app.data, m.app.len < 8 ? m.app.len : 1);
        msg_free(&m);
        buf_free(&b);
    }
}

/* Frame i arrives, or is lost. */
static inline void arrive(struct net *n, size_t i, bool lost)
{
    struct wire w = n->way[i];
    struct cur c = cur_of(w.bytes.data, w.bytes.len);
    struct frame f;

    memmove(&n->way[i], &n->way[i + 1], (n->nway - i - 1) * sizeof(*n->way));
    n->nway--;
    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    if (!lost)
        rml_input(n->d[w.to].rml, &f, w.bytes.data, w.bytes.len);
    take_in(&n->d[w.to]);
    buf_free(&w.bytes);
    collect(n);
}

static inline void run(struct net *n)
{
    collect(n);
    while (n->nway)
        arrive(n, 0, false);
}

static inline void lose_all(struct net *n)
{
    collect(n);
    while (n->nway)
        arrive(n, 0, true);
}

static inline void tick(struct net *n, uint64_t ms)
{
    for (uint32_t v = 0; v < DAEMONS; v++) {
        n->d[v].out.now_ms += ms;
        rml_tick(n->d[v].rml);
    }
    collect(n);
}

static inline void say(struct net *n, uint32_t from, uint32_t to, enum out_class traffic,
                       const char *text, size_t len)
{
    struct msg m = {.type = MSG_APP, .app = {.data = (const uint8_t *)text, .len = len}};
    struct err err = {0};

    if (rml_send(n->d[from].rml, to, traffic, &m, &err) != 0)
        fail_msg("%s", err.msg);
}

static inline void assert_got(struct net *n, uint32_t at, uint32_t from, enum out_class traffic,
                              const char *text)
{
    struct buf *b = &n->d[at].got[4 * from + traffic];

    assert_int_equal(b->len, strlen(text));
    if (b->len)
        assert_memory_equal(b->data, text, b->len);
}

/* A frame as vpid 0 would send it to vpid 1, with changes by the test. */
static inline void forge_msg(struct net *n, struct frame f, const struct msg *m)
{
    BUF_AUTO struct buf b = {0};

    f.type = m->type;
    buf_init(&b, HOP_FRAME_BYTES);
    frame_encode(&b, &f);
    msg_encode(&b, m);
    rml_input(n->d[1].rml, &f, b.data, b.len);
    take_in(&n->d[1]);
}

static inline void forge(struct net *n, struct frame f)
{
    struct msg m = {.type = MSG_APP, .app = {.data = (const uint8_t *)"x", .len = 1}};

    forge_msg(n, f, &m);
}

#endif
