/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers without an end, in chunks; the backlog of a slow client is bounded. */
#include "base/httpd/httpd_private.h"

#include "base/buf/buf.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>

#define PENDING_MAX (1u << 20)

struct httpd_stream {
    struct httpd_req *req;
    struct loop_timer
        *closed_timer; /* armed for a stream that is begun after its peer has closed */
    void (*on_closed)(void *arg);
    void *arg;
};

static void destroy_stream(struct httpd_stream *s)
{
    loop_timer_destroy(s->closed_timer);
    httpd_req_destroy(s->req);
    free(s);
}

static void on_peer_closed(void *arg)
{
    struct httpd_stream *s = arg;
    void (*on_closed)(void *arg) = s->on_closed;
    void *closed_arg = s->arg;

    destroy_stream(s);
    on_closed(closed_arg);
}

struct httpd_stream *httpd_stream_begin(struct httpd_req *req, const char *type,
                                        void (*on_closed)(void *arg), void *arg)
{
    struct httpd_stream *s = xcalloc(1, sizeof(*s));

    s->req = req;
    s->on_closed = on_closed;
    s->arg = arg;
    req->on_peer_closed = on_peer_closed;
    req->peer_closed_arg = s;
    if (!req->ev) {
        /* By a timer: the caller does not have the stream yet. */
        s->closed_timer = loop_timer_create(req->loop, on_peer_closed, s);
        loop_timer_arm(s->closed_timer, 0);
        return s;
    }
    evhttp_add_header(evhttp_request_get_output_headers(req->ev), "Content-Type", type);
    evhttp_add_header(evhttp_request_get_output_headers(req->ev), "Cache-Control", "no-store");
    evhttp_send_reply_start(req->ev, HTTP_OK, NULL);
    return s;
}

static size_t pending_bytes(const struct httpd_req *req)
{
    struct evhttp_connection *conn = evhttp_request_get_connection(req->ev);

    return evbuffer_get_length(bufferevent_get_output(evhttp_connection_get_bufferevent(conn)));
}

int httpd_stream_send(struct httpd_stream *s, const void *data, size_t len)
{
    struct evbuffer *chunk;
    int rc;

    if (!s->req->ev)
        return 0; /* the peer has closed; on_closed will be called */
    if (len > PENDING_MAX || pending_bytes(s->req) > PENDING_MAX - len)
        return -1;
    chunk = evbuffer_new();
    rc = chunk && evbuffer_add(chunk, data, len) == 0 ? 0 : -1;
    if (rc == 0)
        evhttp_send_reply_chunk(s->req->ev, chunk);
    if (chunk)
        evbuffer_free(chunk);
    return rc;
}

void httpd_stream_end(struct httpd_stream *s)
{
    struct evhttp_request *ev = s->req->ev;

    if (ev)
        s->req->on_answered(s->req->conn);
    destroy_stream(s);
    if (ev)
        evhttp_send_reply_end(ev);
}
