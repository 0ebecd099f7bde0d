/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTP client: libcurl's multi interface driven by the loop; whole answers and streams of lines. */
#ifndef OPERATOR_HTTP_HTTP_H
#define OPERATOR_HTTP_HTTP_H

#include "base/err/err.h"
#include "base/loop/loop.h"

#include <stdbool.h>
#include <stddef.h>

/* Names are resolved by libcurl's own thread and are not cached, connections are kept and reused,
 * redirects are not followed, proxies come from `proxy` only (the environment is not asked).
 * Ignores SIGPIPE for the program: a write to a connection that the peer has closed is an error of
 * that call and nothing more. */
struct http;
struct http *http_create(struct loop *loop, struct err *err);
/* Running calls end without their callbacks. Allowed inside a callback. */
void http_destroy(struct http *h);

/* What a connection needs; all copied by http_start(). */
struct http_peer {
    const char *ca_pem;   /* PEM bundle, the only authorities; NULL: the system's */
    const char *cert_pem; /* NULL: none */
    const char *key_pem;
    const char *connect; /* NULL, or "address:port" to connect to whatever the URL says */
    const char *proxy;   /* NULL: none */
    bool insecure;       /* the server's certificate is not checked */
    bool tls13_only;
};

struct http_answer {
    int status; /* 0: no (whole) answer */
    const char *body;
    size_t len;      /* for a stream that was accepted: 0 */
    const char *why; /* status 0: the reason; otherwise "" */
};

struct http_call_opts {
    const char *method;
    const char *url;            /* copied */
    const char *const *headers; /* "Name: value", NULL-terminated, may be NULL; copied */
    const void *body;           /* copied; NULL: none */
    size_t body_len;
    const struct http_peer *peer;
    size_t max_body;     /* bytes of answer, or of one line; more ends the call with status 0 */
    uint64_t timeout_ms; /* for the whole answer; for a stream until its headers are there */
    uint64_t silence_ms; /* streams: ended after so long without a byte; 0: never */
    /* Not NULL makes a stream of a 2xx answer: called for each line, without its end and
     * NUL-terminated; other answers are collected as usual. */
    void (*on_line)(char *line, size_t len, void *arg);
    void (*on_open)(void *arg); /* streams: a 2xx answer has begun; may be NULL */
    /* Once, never inside http_start(). A stream that was accepted and ended in order by the server
     * has its status, one that broke has 0. */
    void (*on_end)(const struct http_answer *answer, void *arg);
    void *arg;
};
struct http_call;
/* NULL and err if the call can't even be set up. The handle is valid until on_end has been called
 * or http_cancel(). */
struct http_call *http_start(struct http *h, const struct http_call_opts *opts, struct err *err);
/* NULL is fine. No callback afterwards; allowed inside callbacks. */
void http_cancel(struct http_call *c);

/* Percent-escaped for a query or a segment of a path, on the heap. */
char *http_escape(const char *text);

#endif
