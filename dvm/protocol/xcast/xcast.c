/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwarding, replay and acknowledgement of broadcasts.
 *
 * In: a broadcast to be processed, acknowledgements of children, changes of the tree. Out: frames
 * to children, XACK to the parent; at the head the number up to which all daemons have processed.
 *
 * The last XCAST_RING broadcasts are kept encoded. A child that comes back names the last one that
 * it has processed, and gets the later ones from the ring.
 *
 * Invariants: a daemon acknowledges a version after it has processed it, and all its
 * children in the tree of this version have acknowledged it. At the head, this completes all
 * operations up to the version.
 *
 * Failures: a child without a link is not sent to, and asks when it is back. A child that
 * has missed more than the ring holds gets a snapshot. */
#include "dvm/protocol/xcast/xcast.h"

#include <stdlib.h>
#include <utlist.h>

struct xcast_op {
    uint64_t op;
    struct buf body; /* encoded message, type first */
};

struct xcast_child {
    uint32_t vpid;
    struct epoch epoch;
    uint64_t acked;
    struct xcast_child *next, *prev;
};

struct xcast {
    struct out *out;
    struct members *members;
    struct neighbours *neighbours;
    struct xcast_op ring[XCAST_RING];
    uint64_t last;     /* head: number of the last operation started */
    uint64_t complete; /* head: all daemons are known to have processed all up to this one */
    uint64_t acked_up; /* last version acknowledged to the present parent */
    struct xcast_child *children;
};

struct xcast *xcast_create(struct out *out, struct members *members, struct neighbours *neighbours)
{
    struct xcast *x = xcalloc(1, sizeof(*x));

    x->out = out;
    x->members = members;
    x->neighbours = neighbours;
    return x;
}

void xcast_destroy(struct xcast *x)
{
    struct xcast_child *c, *tmp;

    if (!x)
        return;
    for (size_t i = 0; i < XCAST_RING; i++)
        buf_free(&x->ring[i].body);
    DL_FOREACH_SAFE(x->children, c, tmp)
    {
        DL_DELETE(x->children, c);
        free(c);
    }
    free(x);
}

uint64_t xcast_completed(const struct xcast *x)
{
    return x->complete;
}

static void keep_op(struct xcast *x, const struct msg *m)
{
    struct xcast_op *slot = &x->ring[msg_op(m) % XCAST_RING];

    buf_free(&slot->body);
    buf_init(&slot->body, MSG_DATA_MAX);
    buf_put_u16(&slot->body, (uint16_t)m->type);
    msg_encode(&slot->body, m);
    slot->op = msg_op(m);
}

static void send_kept(struct xcast *x, struct neighbour *k, const struct frame *from, uint64_t op)
{
    const struct xcast_op *slot = &x->ring[op % XCAST_RING];
    struct cur c = cur_of(slot->body.data, slot->body.len);
    BUF_AUTO struct buf b = {0};
    struct frame f = *from;

    f.type = cur_u16(&c);
    f.dst = k->vpid;
    f.dst_ctr = k->speaks < 1 ? 0 : members_head(x->members);
    buf_init(&b, MSG_DATA_MAX);
    frame_encode(&b, &f);
    buf_put_raw(&b, slot->body.data + 2, slot->body.len - 2);
    neighbours_send_op(x->neighbours, k, b.data, b.len);
}

static size_t children_of(const struct xcast *x, uint32_t **list)
{
    struct tree t = members_tree(x->members);
    size_t n;

    *list = NULL;
    if (!members_live(x->members, x->members->self))
        return 0;
    n = tree_children(&t, x->members->self, NULL, 0);
    *list = xmalloc((n + 1) * sizeof(**list));
    return tree_children(&t, x->members->self, *list, n);
}

void xcast_forward(struct xcast *x, const struct frame *from, const struct msg *m)
{
    FREE_AUTO uint32_t *list = NULL;
    size_t n = children_of(x, &list);
    struct neighbour *k;

    keep_op(x, m);
    for (size_t i = 0; i < n; i++) {
        k = neighbours_hop(x->neighbours, x->members, list[i]);
        if (k) /* a child without a session asks when it is back */
            send_kept(x, k, from, msg_op(m));
    }
    /* daemons linked to us outside the tree, before they reach their place in it */
    DL_FOREACH(neighbours_first(x->neighbours), k)
    {
        bool child = false;

        for (size_t i = 0; i < n; i++)
            child |= list[i] == k->vpid;
        if (neighbour_is_greeted(k) && k->incoming && !k->joining && !child)
            send_kept(x, k, from, msg_op(m));
    }
}

bool xcast_replay(struct xcast *x, struct neighbour *k, const struct frame *from, uint64_t have)
{
    for (uint64_t op = have + 1; op <= x->members->version; op++) {
        if (x->ring[op % XCAST_RING].op != op)
            return false;
    }
    for (uint64_t op = have + 1; op <= x->members->version; op++)
        send_kept(x, k, from, op);
    return true;
}

static struct xcast_child *child_entry(const struct xcast *x, uint32_t vpid)
{
    struct xcast_child *c;

    DL_FOREACH(x->children, c)
    {
        if (c->vpid == vpid)
            return c;
    }
    return NULL;
}

void xcast_ack(struct xcast *x, uint32_t vpid, struct epoch epoch, uint64_t version)
{
    struct xcast_child *c = child_entry(x, vpid);

    if (!c) {
        c = xcalloc(1, sizeof(*c));
        c->vpid = vpid;
        DL_APPEND(x->children, c);
    }
    if (epoch.inc == c->epoch.inc && epoch.ctr < c->epoch.ctr)
        return; /* late, by a link of an epoch that has ended */
    if (!epoch_eq(c->epoch, epoch))
        c->acked = 0;
    c->epoch = epoch;
    if (version > c->acked)
        c->acked = version;
}

bool xcast_waits_for(const struct xcast *x, uint32_t child)
{
    const struct xcast_child *c = child_entry(x, child);
    const struct member *m = members_get(x->members, child);

    return !c || !m || !epoch_eq(c->epoch, members_epoch(x->members, m)) ||
           c->acked != x->members->version;
}

static void prune_children(struct xcast *x, const uint32_t *list, size_t n)
{
    struct xcast_child *c, *tmp;

    DL_FOREACH_SAFE(x->children, c, tmp)
    {
        bool keep_it =
            c->acked > x->members->version; /* the next parent, which has a later version */

        for (size_t i = 0; i < n; i++)
            keep_it |= list[i] == c->vpid;
        if (!keep_it) {
            DL_DELETE(x->children, c);
            free(c);
        }
    }
}

void xcast_check(struct xcast *x, const struct frame *from)
{
    FREE_AUTO uint32_t *list = NULL;
    uint32_t parent = members_parent(x->members);
    size_t n = children_of(x, &list);
    struct neighbour *k;

    prune_children(x, list, n);
    for (size_t i = 0; i < n; i++) {
        if (xcast_waits_for(x, list[i]))
            return;
    }
    if (x->members->self == VPID_HEAD) {
        x->complete = x->members->version;
        return;
    }
    k = parent == TREE_NONE ? NULL : neighbours_hop(x->neighbours, x->members, parent);
    if (k && x->acked_up < x->members->version) {
        struct msg m = {.type = MSG_XACK, .xack = {x->members->version}};

        x->acked_up = x->members->version;
        neighbours_send(x->neighbours, k, from, &m);
    }
}

void xcast_parent_changed(struct xcast *x)
{
    x->acked_up = 0;
}
