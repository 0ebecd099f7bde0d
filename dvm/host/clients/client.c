/* SPDX-License-Identifier: BSD-3-Clause */
/* One client of the table: made, found, sent a message, disconnected, refused, forgotten. */
#include "dvm/host/clients/client_private.h"

#include <stdlib.h>

struct client *client_find(const struct clients *c, uint32_t id)
{
    struct client *k;

    HASH_FIND(hh, c->by_id, &id, sizeof(id), k);
    return k;
}

struct client *client_create_as(struct clients *c, uint32_t id, uint64_t net_id)
{
    struct client *k = xcalloc(1, sizeof(*k));

    k->id = id;
    k->net_id = net_id;
    k->role = API_ROLE_OPERATOR;
    HASH_ADD(hh, c->by_id, id, sizeof(k->id), k);
    if (net_id)
        HASH_ADD(hh2, c->by_net, net_id, sizeof(k->net_id), k);
    return k;
}

struct client *client_create(struct clients *c, uint64_t net_id)
{
    return client_create_as(c, ++c->last_id, net_id);
}

void client_disconnect(struct clients *c, struct client *k, bool flush)
{
    if (!k->net_id)
        return;
    net_close(c->parts.net, k->net_id, flush);
    HASH_DELETE(hh2, c->by_net, k);
    k->net_id = 0;
}

void client_forget(struct clients *c, struct client *k)
{
    iof_client_gone(c->parts.iof, k->id);
    files_client_gone(c->parts.files, k->id);
    c->io.gone(k->id, c->io.arg);
    HASH_DELETE(hh, c->by_id, k);
    if (k->net_id)
        HASH_DELETE(hh2, c->by_net, k);
    c->hooks.release(c, k, true);
    free(k);
}

void client_hand_over(struct clients *c, struct client *from, struct client *to)
{
    uint64_t net_id = from->net_id;

    to->role = from->role;
    to->outside = from->outside;
    client_forget(c, from);
    client_disconnect(c, to, true);
    to->net_id = net_id;
    HASH_ADD(hh2, c->by_net, net_id, sizeof(to->net_id), to);
}

void client_say(struct clients *c, const struct client *k, const struct client_msg *m)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, CLIENT_BODY_MAX + 4096);
    client_msg_encode(&b, m);
    if (k->net_id)
        net_send(c->parts.net, k->net_id, b.data, b.len);
}

void client_end(struct clients *c, struct client *k)
{
    ctl_local_gone(c->parts.ctl, k->id);
    core_client_gone(c->parts.core, k->id);
    client_forget(c, k);
}

void client_refuse(struct clients *c, struct client *k, enum exit_code code, const char *why)
{
    struct client_msg m = {.type = CLIENT_ERROR, .error = {(uint32_t)code, (char *)why}};

    client_say(c, k, &m);
    client_disconnect(c, k, true);
    if (!k->session || !c->hooks.keeps(c, k, why))
        client_end(c, k);
}
