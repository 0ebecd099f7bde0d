/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of a daemon's links.
 *
 * In: connections that the driver has accepted or that this daemon wants; frames to be sent. Out:
 * CONNECT, SEND and CLOSE actions in the outbox.
 *
 * States of a link (enum link_state): connecting (outgoing only), greeting, up, then closing or
 * refused. The core steps them (greet.c, neigh.c); this file makes and removes the records.
 *
 * Invariants: the newest link comes first, so a new connection to a daemon is used before
 * the one that it replaces. links_up() gives a link only to a live member in its present epoch.
 *
 * Failures: a connection beyond LINKS_MAX is closed at once. A link that is lost is only
 * removed here; neigh.c and link_loss decide what follows. */
#include "dvm/protocol/link/link.h"

#include <stdlib.h>
#include <utlist.h>

struct links {
    struct out *out;
    struct link *list; /* newest first */
    size_t n;
    uint64_t last_id;
};

struct links *links_create(struct out *out)
{
    struct links *l = xcalloc(1, sizeof(*l));

    l->out = out;
    return l;
}

void links_destroy(struct links *l)
{
    if (!l)
        return;
    while (l->list)
        links_drop(l, l->list);
    free(l);
}

struct link *links_first(const struct links *l)
{
    return l->list;
}

size_t links_count(const struct links *l)
{
    return l->n;
}

struct link *links_by_conn(const struct links *l, uint64_t conn)
{
    struct link *k;

    DL_FOREACH(l->list, k)
    {
        if (k->conn == conn)
            return k;
    }
    return NULL;
}

struct link *links_up(const struct links *l, const struct members *m, uint32_t vpid)
{
    struct link *k;

    if (!members_live(m, vpid))
        return NULL;
    DL_FOREACH(l->list, k)
    {
        if (k->vpid == vpid && k->state == LINK_UP &&
            epoch_eq(k->epoch, members_epoch(m, members_get(m, vpid))))
            return k;
    }
    return NULL;
}

static struct link *add_link(struct links *l, uint64_t conn)
{
    struct link *k = xcalloc(1, sizeof(*k));

    k->conn = conn;
    k->vpid = VPID_NONE;
    k->heard_ms = k->opened_ms = l->out->now_ms;
    DL_PREPEND(l->list, k);
    l->n++;
    return k;
}

struct link *links_accept(struct links *l, uint64_t conn)
{
    struct link *k;

    if (l->n >= LINKS_MAX) {
        out_close(l->out, conn, false);
        return NULL;
    }
    k = add_link(l, conn);
    k->incoming = true;
    k->state = LINK_GREETING;
    return k;
}

struct link *links_connect(struct links *l, uint32_t vpid, const char *host, uint16_t port)
{
    struct link *k = add_link(l, LINK_OUTGOING | ++l->last_id);
    struct out_act *act = out_add(l->out, OUT_CONNECT);

    k->vpid = vpid;
    act->connect = (struct out_connect){k->conn, xstrdup(host), port};
    return k;
}

void links_drop(struct links *l, struct link *k)
{
    DL_DELETE(l->list, k);
    l->n--;
    free(k);
}

void links_close(struct links *l, struct link *k, bool flush)
{
    out_close(l->out, k->conn, flush);
    links_drop(l, k);
}

void links_send(struct links *l, struct link *k, const struct frame *from, const struct msg *m)
{
    struct out_act *act = out_add(l->out, OUT_SEND);
    struct frame f = *from;

    act->send.conn = k->conn;
    f.type = m->type;
    f.dst = k->vpid;
    f.seq = 0;
    frame_encode(&act->send.frame, &f);
    msg_encode(&act->send.frame, m);
}

void links_send_raw(struct links *l, struct link *k, const void *frame, size_t len)
{
    struct out_act *act = out_add(l->out, OUT_SEND);

    act->send.conn = k->conn;
    buf_put_raw(&act->send.frame, frame, len);
}

void links_relay(struct links *l, struct link *k, const struct frame *f, const void *body,
                 size_t len)
{
    struct out_act *act = out_add(l->out, OUT_SEND);
    struct frame next = *f;

    next.hops++;
    act->send.conn = k->conn;
    frame_encode(&act->send.frame, &next);
    buf_put_raw(&act->send.frame, body, len);
}
