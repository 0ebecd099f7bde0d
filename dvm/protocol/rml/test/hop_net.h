/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: three daemons in a row, 0 - 1 - 3, whose links keep order and break. */
#ifndef DVM_RML_TEST_HOP_NET_H
#define DVM_RML_TEST_HOP_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log/log.h"
#include "dvm/protocol/rml/rml.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define INC 5u
#define DAEMONS 4
#define LARGE ((size_t)6 << 20)

struct wire { /* a frame on its way */
    uint32_t from, to;
    struct buf bytes;
};

struct net {
    struct out out[DAEMONS];
    struct members members[DAEMONS];
    struct neighbours *neighbours[DAEMONS];
    struct rml *rml[DAEMONS];
    struct wire way[4096];
    size_t nway;
    uint64_t conns;
    size_t large;                /* length of the long messages */
    size_t got_large, got_small; /* messages */
    size_t nwarnings;
    size_t frag_bytes;        /* that have been sent */
    size_t frag_bytes_before; /* that arrived before the first small message */
    uint8_t *content;
};

static inline void link_pair(struct net *n, uint32_t parent, uint32_t child)
{
    const uint32_t ends[2][2] = {{parent, child}, {child, parent}};

    n->conns++;
    for (int i = 0; i < 2; i++) {
        struct neighbours *all = n->neighbours[ends[i][0]];
        struct neighbour *k = neighbours_accept(all, n->conns);

        k->vpid = ends[i][1];
        neighbours_greeted(all, k, neighbours_new_session(all));
        k->incoming = i == 0;
        k->epoch = (struct epoch){INC, 10 + k->vpid};
    }
}

static inline struct net *net_new(void)
{
    struct net *n = xcalloc(1, sizeof(*n));

    n->large = LARGE;
    n->content = xmalloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        n->content[i] = (uint8_t)(i * 7 + (i >> 13));
    for (uint32_t v = 0; v < DAEMONS; v++) {
        n->out[v].now_ms = 1000;
        members_init(&n->members[v], v, 2);
        n->neighbours[v] = neighbours_create(&n->out[v]);
        n->rml[v] = rml_create(&n->out[v], &n->members[v], n->neighbours[v], 0);
        rml_set_epoch(n->rml[v], (struct epoch){INC, 10 + v});
        n->members[v].version = 7;
        for (uint32_t m = 0; m < DAEMONS; m++) {
            struct msg_member facts = {m, {INC, 10 + m}, "host", "address", 1, 1, 0, {0}, {0}};

            members_add(&n->members[v], &facts, 1);
        }
    }
    link_pair(n, 0, 1);
    link_pair(n, 1, 3);
    return n;
}

static inline void net_free(struct net *n)
{
    for (uint32_t v = 0; v < DAEMONS; v++) {
        rml_destroy(n->rml[v]);
        neighbours_destroy(n->neighbours[v]);
        members_free(&n->members[v]);
        out_free(&n->out[v]);
    }
    for (size_t i = 0; i < n->nway; i++)
        buf_free(&n->way[i].bytes);
    free(n->content);
    free(n);
}

static inline enum msg_type type_of(const struct buf *b)
{
    struct cur c = cur_of(b->data, b->len);
    struct frame f;

    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    return (enum msg_type)f.type;
}

/* The neighbours have received all frames of the hop. */
static inline void acknowledge_hops(struct net *n, uint32_t v)
{
    struct neighbour *k;

    DL_FOREACH(neighbours_first(n->neighbours[v]), k)
    {
        struct frame f = {.hop_ack = peer_stats(k->peer).sent};

        assert_int_equal(peer_take(k->peer, peer_links(k->peer), &f, NULL, 0), PEER_DELIVER);
    }
}

/* Puts the frames that the daemons have sent on their way. */
static inline void collect(struct net *n)
{
    struct out_act act;

    for (uint32_t v = 0; v < DAEMONS; v++) {
        acknowledge_hops(n, v);
        while (out_take(&n->out[v], &act)) {
            const struct neighbour *k =
                act.kind == OUT_SEND ? neighbours_by_conn(n->neighbours[v], act.send.conn, NULL)
                                     : NULL;

            n->nwarnings += act.kind == OUT_LOG && act.log.level == LOG_LEVEL_WARN;
            if (k) {
                assert_true(n->nway < sizeof(n->way) / sizeof(*n->way));
                n->way[n->nway++] = (struct wire){v, k->vpid, act.send.frame};
                if (type_of(&act.send.frame) == MSG_FRAG)
                    n->frag_bytes += act.send.frame.len;
                act.send.frame.data = NULL;
            }
            out_act_free(&act);
        }
    }
}

static inline void take_in(struct net *n, uint32_t v)
{
    struct buf b;

    while (rml_next(n->rml[v], &b)) {
        struct cur c = cur_of(b.data, b.len);
        struct frame f;
        struct msg m;

        assert_int_equal(frame_decode(&c, &f, NULL), 0);
        assert_int_equal(msg_decode(&c, f.type, &m, NULL), 0);
        if (m.type == MSG_APP && m.app.len == n->large) {
            n->got_large++;
            assert_memory_equal(m.app.data, n->content, n->large);
        } else {
            n->got_small++;
        }
        msg_free(&m);
        buf_free(&b);
    }
}

static inline struct neighbour *link_to(const struct net *n, uint32_t at, uint32_t vpid)
{
    struct neighbour *k = neighbours_first(n->neighbours[at]);

    while (k && k->vpid != vpid)
        k = k->next;
    return k;
}

static inline void take_transferred(struct net *n, uint32_t v)
{
    struct buf b;

    while (rml_transferred(n->rml[v], &b)) {
        struct cur c = cur_of(b.data, b.len);
        struct frame f;

        assert_int_equal(frame_decode(&c, &f, NULL), 0);
        rml_input(n->rml[v], &f, b.data, b.len);
        buf_free(&b);
    }
}

static inline void arrive(struct net *n)
{
    struct wire w = n->way[0];
    struct cur c = cur_of(w.bytes.data, w.bytes.len);
    struct frame f;
    struct msg m;

    memmove(&n->way[0], &n->way[1], (n->nway - 1) * sizeof(*n->way));
    n->nway--;
    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    if (msg_is_routed(f.type)) {
        rml_input(n->rml[w.to], &f, w.bytes.data, w.bytes.len);
    } else {
        assert_int_equal(msg_decode(&c, f.type, &m, NULL), 0);
        rml_transfer(n->rml[w.to], link_to(n, w.to, w.from), &m);
        take_transferred(n, w.to);
        n->frag_bytes_before += f.type == MSG_FRAG && n->got_small == 0 ? w.bytes.len : 0;
        msg_free(&m);
    }
    take_in(n, w.to);
    buf_free(&w.bytes);
    collect(n);
}

static inline void run(struct net *n)
{
    collect(n);
    while (n->nway)
        arrive(n);
}

static inline void send_bytes(struct net *n, uint32_t from, uint32_t to, enum out_class traffic,
                              size_t len)
{
    struct msg m = {.type = MSG_APP, .app = {.data = n->content, .len = len}};
    struct err err = {0};

    if (rml_send(n->rml[from], to, traffic, &m, &err) < 0)
        fail_msg("%s", err.msg);
    collect(n);
}

/* Both sides see it at once; what was on its way is lost. */
static inline void break_link(struct net *n, uint32_t a, uint32_t b)
{
    size_t kept = 0;

    neighbours_drop(n->neighbours[a], link_to(n, a, b));
    neighbours_drop(n->neighbours[b], link_to(n, b, a));
    for (size_t i = 0; i < n->nway; i++) {
        struct wire w = n->way[i];

        if ((w.from == a && w.to == b) || (w.from == b && w.to == a))
            buf_free(&w.bytes);
        else
            n->way[kept++] = w;
    }
    n->nway = kept;
    rml_tick(n->rml[a]);
    rml_tick(n->rml[b]);
    collect(n);
}

static inline void mend_link(struct net *n, uint32_t parent, uint32_t child)
{
    link_pair(n, parent, child);
    rml_routes_changed(n->rml[parent]);
    rml_routes_changed(n->rml[child]);
    collect(n);
}

static inline size_t count_fragments(const struct net *n)
{
    size_t frags = 0;

    for (size_t i = 0; i < n->nway; i++)
        frags += type_of(&n->way[i].bytes) == MSG_FRAG;
    return frags;
}

#endif
