/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of all connections: each is flushed and closed; then the owner is notified. */
#include "dvm/host/net/net_private.h"

void net_finish(struct net *n, void (*on_done)(void *arg), void *arg)
{
    struct net_conn *c, *next;

    n->on_done = on_done;
    n->done_arg = arg;
    net_listen_free_all(n);
    HASH_ITER(hh, n->conns, c, next)
    {
        if (net_conn_find(n, c->id))
            net_close(n, c->id, true);
    }
    net_finish_check(n);
}

void net_finish_check(struct net *n)
{
    void (*on_done)(void *arg) = n->on_done;

    if (!on_done || HASH_COUNT(n->conns))
        return;
    n->on_done = NULL;
    loop_post(n->loop, on_done, n->done_arg);
}
