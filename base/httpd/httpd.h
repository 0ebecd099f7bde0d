/* SPDX-License-Identifier: BSD-3-Clause */
/* A small HTTP server over libevent's evhttp: routes, JSON bodies, streams, by TLS (base/tls) or
 * plain. */
#ifndef BASE_HTTPD_HTTPD_H
#define BASE_HTTPD_HTTPD_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct httpd;
struct httpd_req;
struct httpd_stream;

struct httpd_opts {
    const char *addr;    /* numeric address to bind */
    uint16_t port;       /* 0: any; see httpd_port() */
    struct tls_ctx *tls; /* NULL: plain; borrowed for the server's life */
    size_t max_body;     /* bytes; a longer body is answered 413 */
    /* At a bound, the oldest connection that waits makes room for a newcomer (base/door); a
     * newcomer is closed only if handlers have the requests of all. */
    int max_conns;          /* with a verified certificate */
    int max_strangers;      /* without one; 0: max_conns */
    int source_percent;     /* of both, for one source address; 0: 100 */
    int request_timeout_ms; /* bound for a TLS handshake and, on a plain port, for a request to
                              arrive whole; a fifth of it when the port is nearly full. 0:
                              idle_timeout_ms */
    int idle_timeout_ms;    /* bound for a request to arrive whole, and for a client to read some of
                              an answer */
};

struct httpd *httpd_create(struct loop *loop, const struct httpd_opts *opts, struct err *err);
/* Calls on_closed of every stream. Requests without an answer may still be answered; the answer is
 * discarded. Must not be called from a handler or from on_closed. */
void httpd_destroy(struct httpd *h);
uint16_t httpd_port(const struct httpd *h);

/* `pattern` is a path whose segments in braces are parameters: "/v1/campaigns/{id}"; it has at most
 * 8. Of two patterns that match, the one that was added first is taken.
 * A handler answers exactly once, at once or later. After the peer has closed the connection the
 * body is empty and the answer is discarded.
 * Answered by the server itself: an unknown path with 404, a known path with another method with
 * 405 and Allow, a certificate without one of its fields with 403, more than 16 KiB of request line
 * and headers with 400. */
typedef void httpd_fn(struct httpd_req *req, void *arg);
void httpd_route(struct httpd *h, const char *method, const char *pattern, httpd_fn *fn, void *arg);

const char *httpd_param(const struct httpd_req *req,
                        const char *name); /* decoded; NULL if absent */
const char *httpd_query(const struct httpd_req *req,
                        const char *name); /* decoded; NULL if absent */
/* The whole body; not NUL-terminated. */
const void *httpd_body(const struct httpd_req *req, size_t *len);
/* The body as a JSON object, a new reference; NULL and err if the body is not one. */
json_t *httpd_body_json(const struct httpd_req *req, struct err *err);
/* The peer's certificate; NULL on a plain server. */
const struct tls_peer *httpd_peer(const struct httpd_req *req);
/* The token of the header "Authorization: Bearer TOKEN" (RFC 6750); NULL: there is none. */
const char *httpd_bearer(const struct httpd_req *req);
/* True if the request comes over the loopback device of this host or container. */
bool httpd_from_loopback(const struct httpd_req *req);

/* Takes the reference `body`. */
void httpd_reply_json(struct httpd_req *req, int status, json_t *body);
void httpd_reply_text(struct httpd_req *req, int status, const char *type, const char *text);
/* Answers {"error": {"status": 409, "reason": "<code>", "message": "<fmt>"}}; `reason` is a
 * CamelCase word. */
void httpd_refuse(struct httpd_req *req, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Begins an answer in chunks without an end. `on_closed` is called once when the peer closes, and
 * never after httpd_stream_end(). Both free the stream. */
struct httpd_stream *httpd_stream_begin(struct httpd_req *req, const char *type,
                                        void (*on_closed)(void *arg), void *arg);
/* -1: more than 1 MiB would wait for a slow client. Nothing is sent, and the caller ends the
 * stream. */
int httpd_stream_send(struct httpd_stream *s, const void *data, size_t len)
    __attribute__((warn_unused_result));
void httpd_stream_end(struct httpd_stream *s);

#endif
