/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of a daemon's neighbours.
 *
 * In: connections that the driver has accepted or that this daemon wants; frames to be sent. Out:
 * CONNECT, SEND and CLOSE actions in the outbox.
 *
 * States of a neighbour (enum link_state): connecting (outgoing only), greeting, up, cut while it
 * has no connection, then closing or refused. The core steps them (greet.c, neigh.c); this file
 * makes and removes the records. Its frames and connections are dvm/protocol/peer's.
 *
 * Invariants: the newest neighbour comes first, so a new session with a daemon is used
 * before the one that it replaces. links_up() and links_hop() give only a live member in its
 * present epoch.
 *
 * Failures: a connection beyond LINKS_MAX is closed at once. A neighbour that is lost is only
 * removed here; neigh.c and link_loss decide what follows. */
#include "dvm/protocol/link/link.h"

#include "base/log/log.h"

#include <stdlib.h>
#include <utlist.h>

struct links {
    struct out *out;
    struct link *list; /* newest first */
    size_t n;
    uint64_t last_id;
    uint64_t last_session;
    uint64_t again;       /* frames sent again to neighbours that were dropped since */
    struct peer_link *in; /* the connection whose frame is being processed */
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

uint64_t links_again(const struct links *l)
{
    uint64_t n = l->again;
    const struct link *k;

    DL_FOREACH(l->list, k)
    {
        n += peer_stats(k->peer).again;
    }
    return n;
}

struct link *links_by_id(const struct links *l, uint64_t id)
{
    struct link *k;

    DL_FOREACH(l->list, k)
    {
        if (k->id == id)
            return k;
    }
    return NULL;
}

struct link *links_by_conn(const struct links *l, uint64_t conn, struct peer_link **at)
{
    struct peer_link *found;
    struct link *k;

    DL_FOREACH(l->list, k)
    {
        found = peer_link_of(k->peer, conn);
        if (!found)
            continue;
        if (at)
            *at = found;
        return k;
    }
    return NULL;
}

bool link_is_greeted(const struct link *k)
{
    return k->state == LINK_UP || k->state == LINK_CUT;
}

struct link *links_hop(const struct links *l, const struct members *m, uint32_t vpid)
{
    struct link *k;

    if (!members_live(m, vpid))
        return NULL;
    DL_FOREACH(l->list, k)
    {
        if (k->vpid == vpid && link_is_greeted(k) &&
            epoch_eq(k->epoch, members_epoch(m, members_get(m, vpid))))
            return k;
    }
    return NULL;
}

struct link *links_session(const struct links *l, uint32_t vpid, struct epoch epoch,
                           uint64_t session)
{
    struct link *k;

    DL_FOREACH(l->list, k)
    {
        if (session && k->incoming && k->vpid == vpid && !k->joining && epoch_eq(k->epoch, epoch) &&
            peer_session(k->peer) == session)
            return k;
    }
    return NULL;
}

uint64_t links_new_session(struct links *l)
{
    return ++l->last_session;
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

static struct link *add_link(struct links *l, uint64_t conn, enum peer_link_state state)
{
    struct link *k = xcalloc(1, sizeof(*k));

    k->id = conn;
    k->vpid = VPID_NONE;
    k->opened_ms = l->out->now_ms;
    k->peer = peer_create(l->out);
    peer_link_add(k->peer, conn, state);
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
    k = add_link(l, conn, PEER_LINK_GREETING);
    k->incoming = true;
    k->state = LINK_GREETING;
    return k;
}

static void ask_connection(struct links *l, const struct link *k, uint64_t conn)
{
    struct out_act *act = out_add(l->out, OUT_CONNECT);

    act->connect = (struct out_connect){conn, xstrdup(k->host), k->port};
}

struct link *links_connect(struct links *l, uint32_t vpid, const char *host, uint16_t port)
{
    struct link *k = add_link(l, LINK_OUTGOING | ++l->last_id, PEER_LINK_DIALING);

    k->vpid = vpid;
    k->host = xstrdup(host);
    k->port = port;
    ask_connection(l, k, k->id);
    return k;
}

struct peer_link *links_dial(struct links *l, struct link *k)
{
    struct peer_link *at;

    at = peer_link_add(k->peer, LINK_OUTGOING | (l->last_id + 1), PEER_LINK_DIALING);
    if (!at)
        return NULL;
    l->last_id++;
    ask_connection(l, k, at->conn);
    return at;
}

struct peer_link *links_adopt(struct links *l, struct link *k, struct link *caller)
{
    struct peer_link *at = peer_link_move(k->peer, caller->peer);

    if (at)
        links_drop(l, caller);
    return at;
}

void links_greeted(struct links *l, struct link *k, uint64_t session)
{
    struct peer_link *at = l->in ? l->in : peer_links(k->peer);

    k->state = LINK_UP;
    peer_begin(k->peer, session);
    if (at && peer_link_greeted(k->peer, at, 0, false) < 0)
        out_log(l->out, LOG_LEVEL_ERROR, "a new session with vpid %u has frames", k->vpid);
}

struct peer_link *links_in(const struct links *l)
{
    return l->in;
}

void links_set_in(struct links *l, struct peer_link *at)
{
    l->in = at;
}

void links_drop_conn(struct links *l, struct link *k, struct peer_link *at)
{
    if (l->in == at)
        l->in = NULL;
    peer_link_drop(k->peer, at);
}

void links_close_conn(struct links *l, struct link *k, struct peer_link *at, bool flush)
{
    out_close(l->out, at->conn, flush);
    links_drop_conn(l, k, at);
}

void links_drop(struct links *l, struct link *k)
{
    struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        if (l->in == at)
            l->in = NULL;
    }
    DL_DELETE(l->list, k);
    l->n--;
    l->again += peer_stats(k->peer).again;
    peer_destroy(k->peer);
    free(k->host);
    free(k);
}

void links_close(struct links *l, struct link *k, bool flush)
{
    struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        out_close(l->out, at->conn, flush);
    }
    links_drop(l, k);
}

bool link_is_unnumbered(enum msg_type type)
{
    return type == MSG_HELLO || type == MSG_WELCOME || type == MSG_REFUSE || type == MSG_PING ||
           type == MSG_PONG || type == MSG_HOP_ACK;
}

static struct peer_link *choose_conn(const struct links *l, const struct link *k)
{
    struct peer_link *at, *best = peer_best(k->peer);

    DL_FOREACH(peer_links(k->peer), at)
    {
        if (at == l->in)
            return at;
    }
    return best ? best : peer_links(k->peer);
}

static void encode_frame(struct buf *b, const struct link *k, const struct frame *from,
                         const struct msg *m)
{
    struct frame f = *from;

    f.type = m->type;
    f.dst = k->vpid;
    f.seq = 0;
    buf_init(b, MSG_DATA_MAX + (1u << 20));
    frame_encode(b, &f);
    msg_encode(b, m);
}

void links_send_on(struct links *l, struct link *k, struct peer_link *at, const struct frame *from,
                   const struct msg *m)
{
    BUF_AUTO struct buf b = {0};

    encode_frame(&b, k, from, m);
    peer_send_on(k->peer, at, b.data, b.len);
}

void links_send(struct links *l, struct link *k, const struct frame *from, const struct msg *m)
{
    struct peer_link *at = choose_conn(l, k);
    BUF_AUTO struct buf b = {0};

    if (peer_session(k->peer) && !link_is_unnumbered(m->type)) {
        encode_frame(&b, k, from, m);
        peer_send(k->peer, b.data, b.len);
    } else if (at) {
        links_send_on(l, k, at, from, m);
    }
}

void links_send_op(struct links *l, struct link *k, const void *frame, size_t len)
{
    peer_send(k->peer, frame, len);
}

int links_send_raw(struct links *l, struct link *k, const void *frame, size_t len)
{
    if (peer_full(k->peer))
        return -1;
    peer_send(k->peer, frame, len);
    return 0;
}

int links_relay(struct links *l, struct link *k, const struct frame *f, const void *body,
                size_t len)
{
    BUF_AUTO struct buf b = {0};
    struct frame next = *f;

    if (peer_full(k->peer))
        return -1;
    next.hops++;
    buf_init(&b, FRAME_HEADER_BYTES + len);
    frame_encode(&b, &next);
    buf_put_raw(&b, body, len);
    peer_send(k->peer, b.data, b.len);
    return 0;
}
