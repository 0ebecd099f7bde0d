/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of a daemon's neighbours.
 *
 * In: connections that the driver has accepted or that this daemon wants; frames to be sent. Out:
 * CONNECT, SEND and CLOSE actions in the outbox.
 *
 * States of a neighbour (enum neighbour_state): connecting (outgoing only), greeting, up, cut while
 * it has no connection, then closing or refused. The core steps them (greet.c, neigh.c); this file
 * makes and removes the records. Its frames and connections are dvm/protocol/peer's.
 *
 * Invariants: the newest neighbour comes first, so a new session with a daemon is used
 * before the one that it replaces. neighbours_up() and neighbours_hop() give only a live member in
 * its present epoch.
 *
 * Failures: a connection beyond NEIGHBOURS_MAX is closed at once. A neighbour that is lost is only
 * removed here; neigh.c and link_loss decide what follows. */
#include "dvm/protocol/neighbour/neighbour.h"

#include "base/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct neighbours {
    struct out *out;
    struct neighbour *list; /* newest first */
    size_t n;
    uint64_t last_id;
    uint64_t last_session;
    uint64_t ndropped;
    uint64_t again;       /* frames sent again to neighbours that were dropped since */
    struct peer_link *in; /* the connection whose frame is being processed */
};

struct neighbours *neighbours_create(struct out *out)
{
    struct neighbours *l = xcalloc(1, sizeof(*l));

    l->out = out;
    return l;
}

void neighbours_destroy(struct neighbours *l)
{
    if (!l)
        return;
    while (l->list)
        neighbours_drop(l, l->list);
    free(l);
}

struct neighbour *neighbours_first(const struct neighbours *l)
{
    return l->list;
}

uint64_t neighbours_dropped(const struct neighbours *l)
{
    return l->ndropped;
}

size_t neighbours_count(const struct neighbours *l)
{
    return l->n;
}

uint64_t neighbours_again(const struct neighbours *l)
{
    uint64_t n = l->again;
    const struct neighbour *k;

    DL_FOREACH(l->list, k)
    {
        n += peer_stats(k->peer).again;
    }
    return n;
}

struct neighbour *neighbours_by_id(const struct neighbours *l, uint64_t id)
{
    struct neighbour *k;

    DL_FOREACH(l->list, k)
    {
        if (k->id == id)
            return k;
    }
    return NULL;
}

struct neighbour *neighbours_by_conn(const struct neighbours *l, uint64_t conn,
                                     struct peer_link **at)
{
    struct peer_link *found;
    struct neighbour *k;

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

bool neighbour_is_greeted(const struct neighbour *k)
{
    return k->state == NEIGHBOUR_UP || k->state == NEIGHBOUR_CUT;
}

struct neighbour *neighbours_hop(const struct neighbours *l, const struct members *m, uint32_t vpid)
{
    struct neighbour *k;

    if (!members_live(m, vpid))
        return NULL;
    DL_FOREACH(l->list, k)
    {
        if (k->vpid == vpid && neighbour_is_greeted(k) &&
            epoch_eq(k->epoch, members_epoch(m, members_get(m, vpid))))
            return k;
    }
    return NULL;
}

struct neighbour *neighbours_session(const struct neighbours *l, uint32_t vpid, struct epoch epoch,
                                     uint64_t session)
{
    struct neighbour *k;

    DL_FOREACH(l->list, k)
    {
        if (session && k->incoming && k->vpid == vpid && !k->joining && epoch_eq(k->epoch, epoch) &&
            peer_session(k->peer) == session)
            return k;
    }
    return NULL;
}

void neighbours_begin_sessions(struct neighbours *l, uint64_t after)
{
    l->last_session = after;
}

uint64_t neighbours_new_session(struct neighbours *l)
{
    return ++l->last_session;
}

struct neighbour *neighbours_up(const struct neighbours *l, const struct members *m, uint32_t vpid)
{
    struct neighbour *k;

    if (!members_live(m, vpid))
        return NULL;
    DL_FOREACH(l->list, k)
    {
        if (k->vpid == vpid && k->state == NEIGHBOUR_UP &&
            epoch_eq(k->epoch, members_epoch(m, members_get(m, vpid))))
            return k;
    }
    return NULL;
}

static struct neighbour *add_neighbour(struct neighbours *l, uint64_t conn,
                                       enum peer_link_state state)
{
    struct neighbour *k = xcalloc(1, sizeof(*k));

    k->id = conn;
    k->vpid = VPID_NONE;
    k->opened_ms = l->out->now_ms;
    k->peer = peer_create(l->out);
    peer_link_add(k->peer, conn, state);
    DL_PREPEND(l->list, k);
    l->n++;
    return k;
}

struct neighbour *neighbours_accept(struct neighbours *l, uint64_t conn)
{
    struct neighbour *k;

    if (l->n >= NEIGHBOURS_MAX) {
        out_close(l->out, conn, false);
        return NULL;
    }
    k = add_neighbour(l, conn, PEER_LINK_GREETING);
    k->incoming = true;
    k->state = NEIGHBOUR_GREETING;
    return k;
}

static struct out_way copy_way(const struct out_way *w, size_t index)
{
    return (struct out_way){.index = index,
                            .host = xstrdup(w->host),
                            .port = w->port,
                            .from = w->from ? xstrdup(w->from) : NULL,
                            .named = w->named};
}

static void free_ways(struct neighbour *k)
{
    while (k->nways) {
        struct out_way *w = &k->ways[--k->nways].to;

        free(w->host);
        free(w->from);
    }
}

static bool is_way(const struct neighbour_way *w, const struct out_way *to)
{
    return strcmp(w->to.host, to->host) == 0 && w->to.port == to->port;
}

void neighbour_set_ways(struct neighbour *k, const struct out_way *ways, size_t n)
{
    bool same = n == k->nways;

    for (size_t i = 0; same && i < n; i++)
        same = is_way(&k->ways[i], &ways[i]);
    if (same)
        return;
    free_ways(k);
    for (; k->nways < n; k->nways++)
        k->ways[k->nways] = (struct neighbour_way){.to = copy_way(&ways[k->nways], k->nways)};
    k->good = k->good < n ? k->good : 0;
}

size_t neighbour_count_way(const struct neighbour *k, size_t way)
{
    const struct peer_link *at;
    size_t n = 0;

    DL_FOREACH(peer_links(k->peer), at)
    {
        n += at->way == way;
    }
    return n;
}

/* `n` ways, from `first` on. */
static void ask_connection(struct neighbours *l, const struct neighbour *k, uint64_t conn,
                           size_t first, size_t n)
{
    struct out_act *act = out_add(l->out, OUT_CONNECT);
    struct out_connect *to = &act->connect;

    to->conn = conn;
    for (to->nways = 0; to->nways < n; to->nways++) {
        size_t i = (first + to->nways) % k->nways;

        to->ways[to->nways] = copy_way(&k->ways[i].to, i);
    }
}

struct neighbour *neighbours_connect(struct neighbours *l, uint32_t vpid,
                                     const struct out_way *ways, size_t n)
{
    struct neighbour *k = add_neighbour(l, CONN_OUTGOING | ++l->last_id, PEER_LINK_DIALING);

    k->vpid = vpid;
    neighbour_set_ways(k, ways, n);
    ask_connection(l, k, k->id, 0, n);
    return k;
}

static struct peer_link *add_link(struct neighbours *l, struct neighbour *k, size_t way)
{
    struct peer_link *at;

    at = peer_link_add(k->peer, CONN_OUTGOING | (l->last_id + 1), PEER_LINK_DIALING);
    if (!at)
        return NULL;
    l->last_id++;
    at->way = way;
    return at;
}

struct peer_link *neighbours_dial(struct neighbours *l, struct neighbour *k, size_t way)
{
    struct peer_link *at = add_link(l, k, way);

    if (at)
        ask_connection(l, k, at->conn, way, 1);
    return at;
}

void neighbours_call(struct neighbours *l, struct neighbour *k)
{
    struct peer_link *at = add_link(l, k, k->good);

    if (at)
        ask_connection(l, k, at->conn, k->good, k->nways);
}

struct peer_link *neighbours_adopt(struct neighbours *l, struct neighbour *k,
                                   struct neighbour *caller)
{
    struct peer_link *at = peer_link_move(k->peer, caller->peer);

    if (at)
        neighbours_drop(l, caller);
    return at;
}

void neighbours_greeted(struct neighbours *l, struct neighbour *k, uint64_t session)
{
    struct peer_link *at = l->in ? l->in : peer_links(k->peer);

    k->state = NEIGHBOUR_UP;
    peer_begin(k->peer, session);
    if (at && peer_link_greeted(k->peer, at, 0, false) < 0)
        out_log(l->out, LOG_LEVEL_ERROR, "a new session with vpid %u has frames", k->vpid);
}

struct peer_link *neighbours_in(const struct neighbours *l)
{
    return l->in;
}

void neighbours_set_in(struct neighbours *l, struct peer_link *at)
{
    l->in = at;
}

void neighbours_drop_conn(struct neighbours *l, struct neighbour *k, struct peer_link *at)
{
    if (l->in == at)
        l->in = NULL;
    peer_link_drop(k->peer, at);
}

void neighbours_close_conn(struct neighbours *l, struct neighbour *k, struct peer_link *at,
                           bool flush)
{
    out_close(l->out, at->conn, flush);
    neighbours_drop_conn(l, k, at);
}

void neighbours_drop(struct neighbours *l, struct neighbour *k)
{
    struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        if (l->in == at)
            l->in = NULL;
    }
    DL_DELETE(l->list, k);
    l->n--;
    l->ndropped++;
    l->again += peer_stats(k->peer).again;
    peer_destroy(k->peer);
    free_ways(k);
    free(k);
}

void neighbours_close(struct neighbours *l, struct neighbour *k, bool flush)
{
    struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        out_close(l->out, at->conn, flush);
    }
    neighbours_drop(l, k);
}

static struct peer_link *choose_conn(const struct neighbours *l, const struct neighbour *k)
{
    struct peer_link *at, *best = peer_best(k->peer);

    DL_FOREACH(peer_links(k->peer), at)
    {
        if (at == l->in)
            return at;
    }
    return best ? best : peer_links(k->peer);
}

static void encode_frame(struct buf *b, const struct neighbour *k, const struct frame *from,
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

void neighbours_send_on(struct neighbours *l, struct neighbour *k, struct peer_link *at,
                        const struct frame *from, const struct msg *m)
{
    BUF_AUTO struct buf b = {0};

    encode_frame(&b, k, from, m);
    peer_send_on(k->peer, at, b.data, b.len);
}

void neighbours_send(struct neighbours *l, struct neighbour *k, const struct frame *from,
                     const struct msg *m)
{
    struct peer_link *at = choose_conn(l, k);
    BUF_AUTO struct buf b = {0};

    if (peer_session(k->peer) && msg_way(m->type) == MSG_WAY_NUMBERED) {
        encode_frame(&b, k, from, m);
        peer_send(k->peer, b.data, b.len);
    } else if (at) {
        neighbours_send_on(l, k, at, from, m);
    }
}

void neighbours_send_op(struct neighbours *l, struct neighbour *k, const void *frame, size_t len)
{
    peer_send(k->peer, frame, len);
}

int neighbours_send_raw(struct neighbours *l, struct neighbour *k, const void *frame, size_t len)
{
    if (peer_full(k->peer))
        return -1;
    peer_send(k->peer, frame, len);
    return 0;
}

int neighbours_relay(struct neighbours *l, struct neighbour *k, const struct frame *f,
                     const void *body, size_t len)
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
