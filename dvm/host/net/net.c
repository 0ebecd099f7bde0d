/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets that carry frames: the calls. */
#include "dvm/host/net/net.h"

#include "base/buf/buf.h"
#include "base/log/log.h"
#include "dvm/host/net/net_private.h"

#include <signal.h>
#include <stdlib.h>

struct net *net_create(struct loop *loop, struct tls_ctx *tls, const struct net_upcalls *up,
                       void *arg, struct err *err)
{
    struct net *n = xcalloc(1, sizeof(*n));

    n->loop = loop;
    n->tls = tls;
    n->up = *up;
    n->arg = arg;
    n->stagger_ms = NET_STAGGER_MS;
    net_listen_init(n);
    return n;
}

void net_destroy(struct net *n)
{
    struct net_conn *c;
    struct net_conn *next;

    if (!n)
        return;
    n->on_done = NULL; /* an interrupted net_finish() makes no call */
    net_listen_free_all(n);
    HASH_ITER(hh, n->conns, c, next)
    {
        net_conn_free(c);
    }
    net_lookup_cancel_all(n);
    net_known_free_all(n);
    net_listen_fini(n);
    free(n);
}

void net_prove(struct net *n, const struct tls_held *held)
{
    n->held = held;
}

uint64_t net_connect_to(struct net *n, const struct net_target *to, uint64_t timeout_ms)
{
    struct net_conn *c = net_conn_create(n, false, true);

    c->unnamed = to->unnamed;
    if (n->tls)
        net_dial_tcp(c, to, timeout_ms);
    else
        net_conn_fail(c, "connecting to %s port %u: there is no TLS context", to->host, to->port);
    return c->id;
}

uint64_t net_connect_tls(struct net *n, const char *host, uint16_t port, uint64_t timeout_ms)
{
    struct net_target to = {.host = host, .port = port};

    return net_connect_to(n, &to, timeout_ms);
}

uint64_t net_connect_local(struct net *n, const char *path)
{
    struct net_conn *c = net_conn_create(n, false, false);

    net_dial_local(c, path);
    return c->id;
}

void net_send(struct net *n, uint64_t conn, const void *data, size_t len)
{
    struct net_conn *c = net_conn_find(n, conn);

    if (c)
        net_frame_put(c, data, len);
}

size_t net_pending(const struct net *n, uint64_t conn)
{
    const struct net_conn *c = net_conn_find(n, conn);

    return c ? net_conn_pending(c) : 0;
}

struct net_handshakes net_handshakes(const struct net *n)
{
    return n->shaken;
}

void net_close(struct net *n, uint64_t conn, bool flush)
{
    struct net_conn *c = net_conn_find(n, conn);

    if (!c)
        return;
    if (flush && c->bev && (c->phase == NET_OPEN || !c->tls))
        net_closing_start(c);
    else
        net_conn_drop(c);
}

void net_pause(struct net *n, uint64_t conn, bool paused)
{
    struct net_conn *c = net_conn_find(n, conn);

    if (!c || c->paused == paused)
        return;
    c->paused = paused;
    if (c->phase != NET_OPEN)
        return;
    if (paused)
        bufferevent_disable(c->bev, EV_READ);
    else
        net_conn_soon(c); /* reading now could move the bytes of the frame that is being handled */
}
