/* SPDX-License-Identifier: BSD-3-Clause */
/* The orderly end of a connection: write everything, shut our side down, read and drop until the
 * peer has closed too. */
#include "dvm/host/net/net_private.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

static void drop_input(struct net_conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);

    evbuffer_drain(in, evbuffer_get_length(in));
}

static void shut_our_side(struct net_conn *c)
{
    c->phase = NET_LINGERING;
    if (c->tls) {
        /* The alert fits the socket's buffer; if not, the peer sees a plain end, which frames
         * with lengths allow. */
        SSL_shutdown(bufferevent_openssl_get_ssl(c->bev));
        ERR_clear_error();
    }
    shutdown(bufferevent_getfd(c->bev), SHUT_WR);
}

static void set_deadline(struct net_conn *c)
{
    c->unwritten = net_conn_pending(c);
    loop_timer_arm(c->deadline, NET_LINGER_MS);
}

/* This may run within on_frame: the input is not touched before the next turn. */
void net_closing_start(struct net_conn *c)
{
    if (c->peer_ended) {
        net_conn_drop(c);
        return;
    }
    c->phase = NET_FLUSHING;
    set_deadline(c);
    net_conn_soon(c);
}

void net_closing_turn(struct net_conn *c)
{
    drop_input(c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, NET_READ_MAX);
    bufferevent_enable(c->bev, EV_READ);
    net_closing_written(c);
}

void net_closing_written(struct net_conn *c)
{
    if (c->phase != NET_FLUSHING || net_conn_pending(c))
        return;
    set_deadline(c);
    shut_our_side(c);
}

/* The limit is on silence: a slow reader gets everything as long as it reads. */
void net_closing_deadline(struct net_conn *c)
{
    if (c->phase == NET_FLUSHING && net_conn_pending(c) < c->unwritten)
        set_deadline(c);
    else
        net_conn_drop(c);
}

void net_closing_readable(struct net_conn *c)
{
    if (c->phase == NET_FLUSHING || c->phase == NET_LINGERING)
        drop_input(c);
}
