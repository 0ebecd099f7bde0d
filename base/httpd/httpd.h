/* SPDX-License-Identifier: BSD-3-Clause */
/* A small HTTP server over libevent's evhttp: routes, JSON bodies, streams; TLS by base/tls or
 * plain. */
#ifndef BASE_HTTPD_HTTPD_H
#define BASE_HTTPD_HTTPD_H

#include "base/err/err.h"
#include "base/loop/loop.h"
#include "base/tls/tls.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct httpd;
struct httpd_req;
struct httpd_stream;

struct httpd_opts {
    const char *addr;    /* numeric address to bind */
    uint16_t port;       /* 0: any; see httpd_port() */
    struct tls_ctx *tls; /* NULL: plain; borrowed for the server's life */
    size_t max_body;     /* bytes; more -> 413 */
    int max_conns;       /* more -> closed at once */
    int idle_timeout_s;  /* for a whole request to arrive, and for a reader to take something */
};

struct httpd *httpd_create(struct loop *loop, const struct httpd_opts *opts, struct err *err);
/* Calls on_closed of every stream. Requests that are not answered yet may still be, to nobody. Not
 * from inside a handler or on_closed. */
void httpd_destroy(struct httpd *h);
uint16_t httpd_port(const struct httpd *h);

/* `pattern`: a path whose segments in braces are parameters: "/v1/campaigns/{id}". An unknown path
 * gives 404, a known path with another method 405 with Allow. A handler answers exactly once, now
 * or later; once its peer has gone, header and body are absent and the answer goes nowhere. Of two
 * patterns that match, the one added first wins; a pattern has at most 8 parameters. A peer whose
 * certificate lacks a field gets 403. Request line and headers may have 16 KiB (more -> 400). */
typedef void httpd_fn(struct httpd_req *req, void *arg);
void httpd_route(struct httpd *h, const char *method, const char *pattern, httpd_fn *fn, void *arg);

const char *httpd_param(const struct httpd_req *req,
                        const char *name); /* decoded; NULL if absent */
const char *httpd_query(const struct httpd_req *req,
                        const char *name); /* decoded; NULL if absent */
/* The whole body; not NUL-terminated. */
const void *httpd_body(const struct httpd_req *req, size_t *len);
/* The body as a JSON object, a new reference; NULL and the reason if it is none. */
json_t *httpd_body_json(const struct httpd_req *req, struct err *err);
/* The peer's certificate; NULL on a plain server. */
const struct tls_peer *httpd_peer(const struct httpd_req *req);

/* Takes the reference `body`. */
void httpd_reply_json(struct httpd_req *req, int status, json_t *body);
void httpd_reply_text(struct httpd_req *req, int status, const char *type, const char *text);
/* {"error": {"status": 409, "reason": "<code>", "message": "<fmt>"}}; `reason` is a CamelCase word.
 */
void httpd_refuse(struct httpd_req *req, int status, const char *reason, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Chunked answer that stays open. `on_closed` is called once when the peer goes, never after
 * httpd_stream_end(). The stream dies with either. */
struct httpd_stream *httpd_stream_begin(struct httpd_req *req, const char *type,
                                        void (*on_closed)(void *arg), void *arg);
/* -1 if more than 1 MiB would be waiting for a slow reader: nothing is sent; the caller ends the
 * stream. */
int httpd_stream_send(struct httpd_stream *s, const void *data, size_t len)
    __attribute__((warn_unused_result));
void httpd_stream_end(struct httpd_stream *s);

#endif
