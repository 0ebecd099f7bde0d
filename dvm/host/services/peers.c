/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: those between daemons by the core's ids, and whose input is a client's. */
#include "dvm/host/daemon_private.h"

#include <stdlib.h>
#include <string.h>

/* --- between daemons */

static struct conn *by_core(const struct daemon *d, uint64_t id)
{
    struct conn *c;

    HASH_FIND(hh, d->by_core, &id, sizeof id, c);
    return c;
}

static struct conn *by_net(const struct daemon *d, uint64_t id)
{
    struct conn *c;

    HASH_FIND(hh2, d->by_net, &id, sizeof id, c);
    return c;
}

static void conn_forget(struct daemon *d, struct conn *c)
{
    HASH_DELETE(hh, d->by_core, c);
    HASH_DELETE(hh2, d->by_net, c);
    free(c);
}

/* Outgoing connections have an id of the core's own; incoming ones the net's. */
static uint64_t net_id(const struct daemon *d, uint64_t core_id)
{
    const struct conn *c = by_core(d, core_id);

    return c ? c->net_id : core_id;
}

void conn_connect(struct daemon *d, const struct out_act *act)
{
    struct conn *c = xcalloc(1, sizeof *c);

    c->core_id = act->conn;
    c->net_id = net_connect_tls(d->net, act->a, (uint16_t)act->number, 5000);
    HASH_ADD(hh, d->by_core, core_id, sizeof c->core_id, c);
    HASH_ADD(hh2, d->by_net, net_id, sizeof c->net_id, c);
}

void conn_send(struct daemon *d, const struct out_act *act)
{
    net_send(d->net, net_id(d, act->conn), act->data.data, act->data.len);
}

void conn_close(struct daemon *d, const struct out_act *act)
{
    struct conn *c = by_core(d, act->conn);

    net_close(d->net, net_id(d, act->conn), act->number == 1);
    if (c)
        conn_forget(d, c);
}

void conn_free_all(struct daemon *d)
{
    struct conn *c, *tmp;

    HASH_CLEAR(hh2, d->by_net);
    HASH_ITER(hh, d->by_core, c, tmp)
    {
        HASH_DELETE(hh, d->by_core, c);
        free(c);
    }
}

/* --- what comes in */

/* Who shows a daemon's certificate is one, for the core to judge; others are programs. */
static bool is_daemon(const struct tls_peer *peer)
{
    return peer && strcmp(peer->role, TLS_ROLE_USER) != 0 &&
           strcmp(peer->role, TLS_ROLE_OPERATOR) != 0;
}

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct daemon *d = arg;
    struct conn *c = by_net(d, conn);

    daemon_enter(d);
    if (is_daemon(peer) || !incoming)
        core_conn_open(d->core, c ? c->core_id : conn, incoming, peer->role, peer->cluster);
    else
        dclient_open(d, conn, peer);
    daemon_drain(d);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct dclient *k = dclient_by_net(d, conn);
    struct conn *c = by_net(d, conn);

    daemon_enter(d);
    if (k)
        dclient_frame(d, k, data, len);
    else
        core_conn_frame(d->core, c ? c->core_id : conn, data, len);
    daemon_drain(d);
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct daemon *d = arg;
    struct dclient *k = dclient_by_net(d, conn);
    struct conn *c = by_net(d, conn);
    uint64_t core_id = c ? c->core_id : conn;

    daemon_enter(d);
    if (c)
        conn_forget(d, c);
    if (k)
        dclient_closed(d, k, why);
    else
        core_conn_closed(d->core, core_id, why);
    daemon_drain(d);
}

static void on_drained(uint64_t conn, void *arg)
{
    struct daemon *d = arg;
    struct dclient *k = dclient_by_net(d, conn);

    daemon_enter(d);
    if (k)
        dclient_drained(d, k);
    daemon_drain(d);
}

const struct net_upcalls conn_upcalls = {
    .on_open = on_open, .on_frame = on_frame, .on_closed = on_closed, .on_drained = on_drained};
