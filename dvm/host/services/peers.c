/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to other daemons. The core gives an outgoing connection an id of its own, an incoming
 * one has that of dvm/host/net.
 *
 * A daemon with several addresses is called by one after the other: the next attempt starts when
 * one has failed, or STAGGER_MS after it. The first whose handshake is complete is the connection;
 * the others are closed. The core learns which address it was, or, when all have failed, why the
 * last one did. */
#include "dvm/host/services/peers.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"

#include <stdlib.h>
#include <string.h>

#define CONNECT_TIMEOUT_MS 5000
#define STAGGER_MS 250

struct outgoing;

struct attempt {
    struct outgoing *of;
    uint64_t net_id; /* 0: not started, or over */
    UT_hash_handle hh;
};

struct outgoing {
    struct peers *peers;
    uint64_t core_id;
    struct out_connect to;
    struct attempt attempts[OUT_WAYS_MAX]; /* by the ways of `to` */
    size_t started, running;
    struct attempt *opened; /* NULL: none yet */
    struct loop_timer *stagger;
    UT_hash_handle hh;
};

struct peers {
    struct loop *loop;
    struct net *net;
    struct core *core;
    struct outgoing *by_core;
    struct attempt *by_net;
};

static struct outgoing *find_by_core(const struct peers *s, uint64_t id)
{
    struct outgoing *c;

    HASH_FIND(hh, s->by_core, &id, sizeof(id), c);
    return c;
}

static struct attempt *find_by_net(const struct peers *s, uint64_t id)
{
    struct attempt *a;

    HASH_FIND(hh, s->by_net, &id, sizeof(id), a);
    return a;
}

static void forget_attempt(struct peers *s, struct attempt *a)
{
    if (!a->net_id)
        return;
    HASH_DELETE(hh, s->by_net, a);
    a->net_id = 0;
    a->of->running--;
}

static void forget_outgoing(struct peers *s, struct outgoing *c)
{
    for (size_t i = 0; i < c->started; i++)
        forget_attempt(s, &c->attempts[i]);
    for (size_t i = 0; i < c->to.nways; i++) {
        free(c->to.ways[i].host);
        free(c->to.ways[i].from);
    }
    loop_timer_destroy(c->stagger);
    HASH_DELETE(hh, s->by_core, c);
    free(c);
}

static uint64_t net_id_of(const struct peers *s, uint64_t core_id)
{
    const struct outgoing *c = find_by_core(s, core_id);

    if (!c)
        return core_id;
    return c->opened ? c->opened->net_id : 0;
}

static uint64_t core_id_of(const struct peers *s, uint64_t net_id)
{
    const struct attempt *a = find_by_net(s, net_id);

    return a ? a->of->core_id : net_id;
}

/* --- attempts */

static void start_next(struct outgoing *c)
{
    struct attempt *a = &c->attempts[c->started];
    const struct out_way *w = &c->to.ways[c->started++];
    struct net_target to = {
        .host = w->host, .port = w->port, .from = w->from, .unnamed = !w->named};

    a->of = c;
    a->net_id = net_connect_to(c->peers->net, &to, CONNECT_TIMEOUT_MS);
    c->running++;
    HASH_ADD(hh, c->peers->by_net, net_id, sizeof(a->net_id), a);
    if (c->started < c->to.nways)
        loop_timer_arm(c->stagger, STAGGER_MS);
}

static void on_stagger(void *arg)
{
    struct outgoing *c = arg;

    if (!c->opened && c->started < c->to.nways)
        start_next(c);
}

/* Only this one is left. */
static void take_attempt(struct peers *s, struct attempt *a)
{
    struct outgoing *c = a->of;

    c->opened = a;
    loop_timer_disarm(c->stagger);
    for (size_t i = 0; i < c->started; i++) {
        if (&c->attempts[i] == a || !c->attempts[i].net_id)
            continue;
        net_close(s->net, c->attempts[i].net_id, false);
        forget_attempt(s, &c->attempts[i]);
    }
}

/* True if another attempt takes its place, or still runs. */
static bool go_on_without(struct peers *s, struct attempt *a)
{
    struct outgoing *c = a->of;

    if (c->opened)
        return false;
    forget_attempt(s, a);
    if (c->started < c->to.nways)
        start_next(c);
    return c->running > 0;
}

/* --- the core's actions */

static struct out_way copy_way(const struct out_way *w)
{
    struct out_way to = *w;

    to.host = xstrdup(w->host);
    to.from = w->from ? xstrdup(w->from) : NULL;
    return to;
}

void peers_connect(struct peers *s, const struct out_connect *to)
{
    struct outgoing *c = xcalloc(1, sizeof(*c));

    c->peers = s;
    c->core_id = to->conn;
    for (; c->to.nways < to->nways; c->to.nways++)
        c->to.ways[c->to.nways] = copy_way(&to->ways[c->to.nways]);
    c->stagger = loop_timer_create(s->loop, on_stagger, c);
    HASH_ADD(hh, s->by_core, core_id, sizeof(c->core_id), c);
    start_next(c);
}

void peers_send(struct peers *s, uint64_t conn, const void *data, size_t len)
{
    net_send(s->net, net_id_of(s, conn), data, len);
}

void peers_close(struct peers *s, uint64_t conn, bool flush)
{
    struct outgoing *c = find_by_core(s, conn);

    if (!c) {
        net_close(s->net, conn, flush);
        return;
    }
    for (size_t i = 0; i < c->started; i++) {
        if (c->attempts[i].net_id)
            net_close(s->net, c->attempts[i].net_id, flush);
    }
    forget_outgoing(s, c);
}

/* --- upcalls of the network */

bool peers_is_daemon(const struct tls_peer *peer)
{
    return peer && !api_role_is_client(api_role_of(peer->role));
}

static struct key_id key_id_of(const uint8_t key[TLS_KEY_ID_BYTES])
{
    struct cur c = cur_of(key, TLS_KEY_ID_BYTES);

    return msg_get_key_id(&c);
}

void peers_opened(struct peers *s, uint64_t net_id, bool incoming, const struct tls_peer *peer)
{
    struct attempt *a = find_by_net(s, net_id);
    struct net_ends ends = net_ends(s->net, net_id);
    struct core_conn as = {.incoming = incoming,
                           .role = api_role_of(peer->role),
                           .cluster = peer->cluster,
                           .key = key_id_of(peer->key),
                           .own = ends.own,
                           .other = ends.other};

    if (a) {
        as.way = a->of->to.ways[a - a->of->attempts].index;
        take_attempt(s, a);
    }
    core_conn_open(s->core, core_id_of(s, net_id), &as);
}

void peers_frame(struct peers *s, uint64_t net_id, const uint8_t *data, size_t len)
{
    core_conn_frame(s->core, core_id_of(s, net_id), data, len);
}

void peers_closed(struct peers *s, uint64_t net_id, const char *why)
{
    uint64_t core_id = core_id_of(s, net_id);
    struct attempt *a = find_by_net(s, net_id);

    if (a && go_on_without(s, a))
        return;
    if (a)
        forget_outgoing(s, a->of);
    core_conn_closed(s->core, core_id, why);
}

/* --- construction and destruction */

struct peers *peers_create(struct loop *loop, struct net *net, struct core *core)
{
    struct peers *s = xcalloc(1, sizeof(*s));

    s->loop = loop;
    s->net = net;
    s->core = core;
    return s;
}

void peers_destroy(struct peers *s)
{
    struct outgoing *c, *tmp;

    if (!s)
        return;
    HASH_ITER(hh, s->by_core, c, tmp)
    {
        forget_outgoing(s, c);
    }
    free(s);
}
