/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to other daemons. The core gives an outgoing connection an id of its own, an incoming
 * one has that of dvm/host/net. */
#include "dvm/host/services/peers.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define CONNECT_TIMEOUT_MS 5000

struct outgoing {
    uint64_t core_id, net_id;
    UT_hash_handle hh, hh2;
};

struct peers {
    struct net *net;
    struct core *core;
    struct outgoing *by_core, *by_net;
};

static struct outgoing *find_by_core(const struct peers *s, uint64_t id)
{
    struct outgoing *c;

    HASH_FIND(hh, s->by_core, &id, sizeof(id), c);
    return c;
}

static struct outgoing *find_by_net(const struct peers *s, uint64_t id)
{
    struct outgoing *c;

    HASH_FIND(hh2, s->by_net, &id, sizeof(id), c);
    return c;
}

static void forget_outgoing(struct peers *s, struct outgoing *c)
{
    HASH_DELETE(hh, s->by_core, c);
    HASH_DELETE(hh2, s->by_net, c);
    free(c);
}

static uint64_t net_id_of(const struct peers *s, uint64_t core_id)
{
    const struct outgoing *c = find_by_core(s, core_id);

    return c ? c->net_id : core_id;
}

static uint64_t core_id_of(const struct peers *s, uint64_t net_id)
{
    const struct outgoing *c = find_by_net(s, net_id);

    return c ? c->core_id : net_id;
}

/* --- the core's actions */

void peers_connect(struct peers *s, uint64_t conn, const char *host, uint16_t port)
{
    struct outgoing *c = xcalloc(1, sizeof(*c));

    c->core_id = conn;
    c->net_id = net_connect_tls(s->net, host, port, CONNECT_TIMEOUT_MS);
    HASH_ADD(hh, s->by_core, core_id, sizeof(c->core_id), c);
    HASH_ADD(hh2, s->by_net, net_id, sizeof(c->net_id), c);
}

void peers_send(struct peers *s, uint64_t conn, const void *data, size_t len)
{
    net_send(s->net, net_id_of(s, conn), data, len);
}

void peers_close(struct peers *s, uint64_t conn, bool flush)
{
    struct outgoing *c = find_by_core(s, conn);

    net_close(s->net, net_id_of(s, conn), flush);
    if (c)
        forget_outgoing(s, c);
}

/* --- upcalls of the network */

bool peers_is_daemon(const struct tls_peer *peer)
{
    return peer && !api_role_is_client(api_role_of(peer->role));
}

void peers_opened(struct peers *s, uint64_t net_id, bool incoming, const struct tls_peer *peer)
{
    core_conn_open(s->core, core_id_of(s, net_id), incoming, api_role_of(peer->role),
                   peer->cluster);
}

void peers_frame(struct peers *s, uint64_t net_id, const uint8_t *data, size_t len)
{
    core_conn_frame(s->core, core_id_of(s, net_id), data, len);
}

void peers_closed(struct peers *s, uint64_t net_id, const char *why)
{
    uint64_t core_id = core_id_of(s, net_id);
    struct outgoing *c = find_by_net(s, net_id);

    if (c)
        forget_outgoing(s, c);
    core_conn_closed(s->core, core_id, why);
}

/* --- construction and destruction */

struct peers *peers_create(struct net *net, struct core *core)
{
    struct peers *s = xcalloc(1, sizeof(*s));

    s->net = net;
    s->core = core;
    return s;
}

void peers_destroy(struct peers *s)
{
    struct outgoing *c, *tmp;

    if (!s)
        return;
    HASH_CLEAR(hh2, s->by_net);
    HASH_ITER(hh, s->by_core, c, tmp)
    {
        HASH_DELETE(hh, s->by_core, c);
        free(c);
    }
    free(s);
}
