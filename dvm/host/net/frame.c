/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames in a connection's buffers: a 32-bit big-endian length and that many bytes. */
#include "base/buf/buf.h"
#include "dvm/host/net/net_private.h"

#include <arpa/inet.h>
#include <event2/bufferevent_struct.h>
#include <stdlib.h>

void net_frame_put(struct net_conn *c, const void *data, size_t len)
{
    uint32_t header = htonl((uint32_t)len);
    struct evbuffer *out;
    size_t pending;

    if (c->why) /* the connection has ended, but its reader is not notified yet */
        return;
    if (len > NET_FRAME_MAX) {
        net_conn_fail(c, "a frame of %zu bytes was to be sent, the limit is %u", len,
                      NET_FRAME_MAX);
        return;
    }
    if (net_conn_holds_back(c) && !c->early)
        c->early = evbuffer_new();
    out = net_conn_holds_back(c) ? c->early : bufferevent_get_output(c->bev);
    pending = net_conn_pending(c) + NET_HEADER + len;
    if (pending > NET_PENDING_MAX) {
        net_conn_fail(c, "%zu bytes wait to be written, the peer does not read", pending);
        return;
    }
    /* In one piece a frame is one TLS record, and wakes its reader once. */
    if (!out || (len < NET_RECORD_MAX && evbuffer_expand(out, NET_HEADER + len) < 0) ||
        evbuffer_add(out, &header, sizeof(header)) < 0 || evbuffer_add(out, data, len) < 0) {
        net_conn_fail(c, "out of memory with %zu bytes waiting", pending);
        return;
    }
    if (pending > NET_PENDING_HIGH)
        c->was_high = true;
    /* Writes in this turn, with everything that is queued until then. The socket nearly always
     * takes it; only if not, the kernel is asked when it will. */
    if (c->phase == NET_OPEN)
        event_active(&c->bev->ev_write, EV_WRITE, 0);
}

/* Sets how much must arrive before the next look, so a long frame does not wake us per packet. */
static void set_want(struct net_conn *c, size_t want)
{
    if (c->want == want)
        return;
    c->want = want;
    bufferevent_setwatermark(c->bev, EV_READ, want, want > NET_READ_MAX ? want : NET_READ_MAX);
}

/* Delivers one frame if it is complete. False: there is none. */
static bool deliver_one(struct net_conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    struct net *n = c->net;
    const uint8_t *p;
    uint32_t header;
    size_t len;

    if (evbuffer_copyout(in, &header, sizeof(header)) < NET_HEADER) {
        set_want(c, 0);
        return false;
    }
    len = ntohl(header);
    if (len > NET_FRAME_MAX) {
        net_conn_fail(c, "the peer announced a frame of %zu bytes, the limit is %u", len,
                      NET_FRAME_MAX);
        return false;
    }
    if (evbuffer_get_length(in) < NET_HEADER + len) {
        set_want(c, NET_HEADER + len);
        return false;
    }
    p = evbuffer_pullup(in, (ev_ssize_t)(NET_HEADER + len));
    if (!p) {
        net_conn_fail(c, "out of memory for a frame of %zu bytes", len);
        return false;
    }
    n->up.on_frame(c->id, p + NET_HEADER, len, n->arg);
    evbuffer_drain(in, NET_HEADER + len);
    return true;
}

void net_frame_deliver(struct net_conn *c)
{
    while (c->phase == NET_OPEN && !c->paused) {
        if (!deliver_one(c))
            break;
    }
    if (!c->peer_ended || c->paused || c->phase != NET_OPEN)
        return;
    if (evbuffer_get_length(bufferevent_get_input(c->bev))) {
        free(c->why);
        c->why = xstrdup("closed by the peer within a frame");
    }
    net_conn_fail(c, "%s", c->why);
}
