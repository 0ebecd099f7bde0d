/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection from its socket to its end.
 *
 * In: sockets of listen.c and dial.c, libevent's callbacks, timers. Out: the upcalls on_open,
 * on_frame, on_drained and on_closed.
 *
 * An outgoing connection is DIALING (dial.c). With its socket it is in the HANDSHAKE, then OPEN. An
 * incoming one may be PROVING in between that its peer holds a key (proof.c). A local connection
 * needs no handshake and is open on the next turn. A close with flush makes it FLUSHING, then
 * LINGERING (closing.c). At its end it is DEAD, and the next turn frees it.
 *
 * Invariants: upcalls come only from libevent's deferred callbacks and our timers. Only a
 * connection's own timer frees it, or net_destroy(). So it still exists when an upcall returns.
 * Complete frames that have arrived are delivered before the end of the peer is reported.
 *
 * Failures: on_closed is called once, with the reason. It is not called after net_close(), nor for
 * an incoming connection that was not reported as open. An incoming connection that is refused is
 * logged.
 *
 * Limits: the dialer's timeout for an outgoing connection, the door's time for an incoming
 * handshake (listen.c), NET_FRAME_MAX per frame, NET_PENDING_MAX bytes that wait (frame.c). */
#include "base/buf/buf.h"
#include "base/door/door.h"
#include "base/log/log.h"
#include "dvm/host/net/net_private.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_soon(void *arg);
static void on_deadline(void *arg);

struct net_conn *net_conn_create(struct net *n, bool incoming, bool tls)
{
    struct net_conn *c = xcalloc(1, sizeof(*c));

    c->net = n;
    c->id = ++n->last_id;
    c->incoming = incoming;
    c->tls = tls;
    c->soon = loop_timer_create(n->loop, on_soon, c);
    c->deadline = loop_timer_create(n->loop, on_deadline, c);
    HASH_ADD(hh, n->conns, id, sizeof(c->id), c);
    return c;
}

struct net_conn *net_conn_find(const struct net *n, uint64_t id)
{
    struct net_conn *c = NULL;

    HASH_FIND(hh, n->conns, &id, sizeof(id), c);
    return c && c->phase <= NET_OPEN ? c : NULL;
}

static char *name_server(const struct net_conn *c)
{
    return xasprintf("%s %u", c->host, c->port);
}

/* For the next connection to the same host and port. */
static void keep_session(struct net_conn *c)
{
    FREE_AUTO char *server = name_server(c);

    tls_keep(c->net->tls, bufferevent_openssl_get_ssl(c->bev), server);
}

void net_conn_free(struct net_conn *c)
{
    door_leave(c->place);
    HASH_DELETE(hh, c->net->conns, c);
    net_dial_free(c->dial);
    if (c->host && !c->told)
        net_known_doubt(c->net, c->host, c->port, &c->reached);
    else if (c->host)
        keep_session(c);
    free(c->host);
    if (c->bev)
        bufferevent_free(c->bev); /* closes the socket, frees the SSL object */
    if (c->early)
        evbuffer_free(c->early);
    loop_timer_destroy(c->soon);
    loop_timer_destroy(c->deadline);
    free(c->why);
    net_finish_check(c->net);
    free(c);
}

void net_conn_soon(struct net_conn *c)
{
    loop_timer_arm(c->soon, 0);
}

static void stop_conn(struct net_conn *c)
{
    c->phase = NET_DEAD;
    net_dial_free(c->dial);
    c->dial = NULL;
    if (c->bev)
        bufferevent_disable(c->bev, EV_READ | EV_WRITE);
    loop_timer_disarm(c->deadline);
    net_conn_soon(c);
}

void net_conn_drop(struct net_conn *c)
{
    free(c->why);
    c->why = NULL;
    stop_conn(c);
}

static void set_why(struct net_conn *c, const char *fmt, va_list ap)
{
    char text[ERR_MSG_MAX];

    if (c->why)
        return;
    vsnprintf(text, sizeof(text), fmt, ap);
    c->why = xstrdup(text);
}

void net_conn_fail(struct net_conn *c, const char *fmt, ...)
{
    va_list ap;

    if (c->phase == NET_DEAD)
        return;
    va_start(ap, fmt);
    set_why(c, fmt, ap);
    va_end(ap);
    stop_conn(c);
}

/* A refused connection has no id that the owner knows: it is logged, and not reported. */
static void bury_conn(struct net_conn *c)
{
    struct net *n = c->net;
    FREE_AUTO char *why = c->why;
    bool known = c->told || !c->incoming;
    uint64_t id = c->id;

    c->why = NULL;
    net_conn_free(c);
    if (why && known)
        n->up.on_closed(id, why, n->arg);
}

bool net_conn_holds_back(const struct net_conn *c)
{
    return !c->bev || (c->tls && c->phase < NET_OPEN);
}

static void set_open(struct net_conn *c, const struct tls_peer *peer)
{
    struct net *n = c->net;

    c->phase = NET_OPEN;
    if (c->early)
        bufferevent_write_buffer(c->bev, c->early);
    c->told = true;
    if (c->host)
        net_known_good(n, c->host, c->port, &c->reached);
    loop_timer_disarm(c->deadline);
    if (c->paused)
        bufferevent_disable(c->bev, EV_READ);
    n->up.on_open(c->id, c->incoming, peer, n->arg);
}

static void on_soon(void *arg)
{
    struct net_conn *c = arg;

    if (c->phase == NET_HANDSHAKE && !c->tls)
        set_open(c, NULL);
    if (c->phase == NET_OPEN) {
        if (!c->paused)
            bufferevent_enable(c->bev, EV_READ);
        net_frame_deliver(c); /* including bytes that were read before a pause */
    }
    if (c->phase == NET_FLUSHING)
        net_closing_turn(c);
    if (c->phase == NET_DEAD)
        bury_conn(c);
}

static void on_deadline(void *arg)
{
    struct net_conn *c = arg;

    if (c->phase >= NET_FLUSHING)
        net_closing_deadline(c);
    else if (c->phase == NET_DIALING)
        net_dial_timeout(c);
    else
        net_conn_fail(c, "no TLS handshake within the time given");
}

static void refuse_conn(struct net_conn *c, const char *why)
{
    if (!c->incoming) {
        net_conn_fail(c, "%s", why);
        return;
    }
    net_reason_log_refusal(c->net, bufferevent_getfd(c->bev), why);
    net_conn_drop(c);
}

/* key: that the peer holds; NULL: it has proved none. */
static void admit_peer(struct net_conn *c, const uint8_t *key)
{
    struct tls_peer peer;
    struct err err = {0};

    if (tls_peer(bufferevent_openssl_get_ssl(c->bev), &peer, &err) < 0 ||
        net_proof_send(c, &err) < 0) {
        refuse_conn(c, err.msg);
        return;
    }
    if (key)
        memcpy(peer.key, key, sizeof(peer.key));
    if (!net_listen_admit(c))
        refuse_conn(c, "too many connections");
    else
        set_open(c, &peer);
}

static void on_proof(struct net_conn *c)
{
    uint8_t key[TLS_KEY_ID_BYTES];
    struct err err = {0};
    int rc = net_proof_take(c, key, &err);

    if (rc < 0)
        refuse_conn(c, err.msg);
    if (rc <= 0)
        return;
    admit_peer(c, key);
    net_frame_deliver(c); /* they may have come with the proof */
}

static void on_handshake(struct net_conn *c)
{
    if (tls_resumed(bufferevent_openssl_get_ssl(c->bev)))
        c->net->shaken.resumed++;
    else
        c->net->shaken.full++;
    if (net_proof_awaited(c)) {
        c->phase = NET_PROVING;
        on_proof(c);
    } else {
        admit_peer(c, NULL);
    }
}

/* The peer closed, or the connection broke. Complete frames are delivered first, even after a
 * pause. */
static void on_end(struct net_conn *c, short what)
{
    char why[256];
    bool plain = net_reason_of_end(c, what, why, sizeof(why));

    if (c->phase >= NET_FLUSHING) {
        net_conn_drop(c);
        return;
    }
    if (c->phase == NET_PROVING || (c->phase == NET_HANDSHAKE && c->tls)) {
        if (c->incoming && plain)
            net_conn_drop(c); /* the peer connected and sent nothing */
        else
            refuse_conn(c, why);
        return;
    }
    c->peer_ended = true;
    free(c->why);
    c->why = xstrdup(why);
    net_frame_deliver(c); /* a local connection that was not reported yet: after on_open */
}

static void on_bev_event(struct bufferevent *bev, short what, void *arg)
{
    struct net_conn *c = arg;

    if (c->phase == NET_DEAD)
        return;
    if (what & BEV_EVENT_CONNECTED)
        on_handshake(c);
    else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        on_end(c, what);
}

static void on_bev_read(struct bufferevent *bev, void *arg)
{
    struct net_conn *c = arg;

    if (c->phase == NET_OPEN)
        net_frame_deliver(c);
    else if (c->phase == NET_PROVING)
        on_proof(c);
    else
        net_closing_readable(c);
}

static void on_bev_write(struct bufferevent *bev, void *arg)
{
    struct net_conn *c = arg;

    if (c->phase == NET_OPEN)
        net_conn_drained(c);
    else
        net_closing_written(c);
}

size_t net_conn_pending(const struct net_conn *c)
{
    if (!net_conn_holds_back(c))
        return evbuffer_get_length(bufferevent_get_output(c->bev));
    return c->early ? evbuffer_get_length(c->early) : 0;
}

void net_conn_drained(struct net_conn *c)
{
    struct net *n = c->net;

    if (!c->was_high || net_conn_pending(c) >= NET_PENDING_LOW)
        return;
    c->was_high = false;
    n->up.on_drained(c->id, n->arg);
}

static SSL *new_ssl(struct net_conn *c, struct err *err)
{
    struct tls_ctx *tls = c->net->tls;
    FREE_AUTO char *server = c->incoming ? NULL : name_server(c);
    SSL *ssl = c->incoming ? tls_new_server(tls, err)
                           : tls_new_client(tls, c->unnamed ? NULL : c->host, err);

    if (!ssl)
        return NULL;
    tls_resume(tls, ssl, server);
    if (c->incoming || !c->net->held || tls_offer_proof(ssl, err) == 0)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

static struct bufferevent *new_tls(struct net_conn *c, int fd, struct err *err)
{
    SSL *ssl = new_ssl(c, err);
    struct bufferevent *bev;

    if (!ssl)
        return NULL;
    bev = bufferevent_openssl_socket_new(loop_base(c->net->loop), fd, ssl,
                                         c->incoming ? BUFFEREVENT_SSL_ACCEPTING
                                                     : BUFFEREVENT_SSL_CONNECTING,
                                         BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (bev) /* frames have lengths: truncation is noticed without TLS */
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

void net_conn_attach(struct net_conn *c, int fd)
{
    struct err err = {0};

    c->phase = NET_HANDSHAKE;
    if (c->tls)
        c->bev = new_tls(c, fd, &err);
    else
        c->bev = bufferevent_socket_new(loop_base(c->net->loop), fd,
                                        BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (!c->bev) {
        close(fd);
        net_conn_fail(c, "%s", err.msg[0] ? err.msg : "libevent takes no more sockets");
        return;
    }
    bufferevent_setcb(c->bev, on_bev_read, on_bev_write, on_bev_event, c);
    if (!c->tls) { /* libevent's limits are 16 KiB, each in a turn of its own */
        bufferevent_set_max_single_read(c->bev, NET_READ_MAX);
        bufferevent_set_max_single_write(c->bev, NET_READ_MAX);
    }
    bufferevent_setwatermark(c->bev, EV_READ, 0, NET_READ_MAX);
    bufferevent_setwatermark(c->bev, EV_WRITE, NET_PENDING_LOW - 1, 0);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    if (c->tls)
        return;
    if (c->early)
        bufferevent_write_buffer(c->bev, c->early);
    net_conn_soon(c);
}
