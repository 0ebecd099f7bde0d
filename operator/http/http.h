/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTP client on the loop: whole answers and streams of lines by libcurl, quiet streams by
 * libevent. */
#ifndef OPERATOR_HTTP_HTTP_H
#define OPERATOR_HTTP_HTTP_H

#include "base/err/err.h"
#include "base/loop/loop.h"

#include <stdbool.h>
#include <stddef.h>

#define HTTP_USER_AGENT "dvm-operator/" DVM_VERSION

/* Names are resolved by a thread for each and are not cached. Connections are kept and used
 * again; 16 that are idle at the most. Redirects are not followed. A proxy comes from `proxy` only,
 * never from the environment. SIGPIPE is ignored in the whole program: a write to a connection that
 * the peer has closed is an error of that call. */
struct http;
struct http *http_create(struct loop *loop, struct err *err);
/* Calls that run end without their callbacks. Allowed inside a callback. */
void http_destroy(struct http *h);

/* How to connect; http_start() copies all of it, but with `borrowed` the three PEM texts are
 * borrowed until the call has ended. */
struct http_peer {
    const char
        *ca_pem; /* the only authorities that are trusted, as a PEM bundle; NULL: the system's */
    const char *cert_pem; /* NULL: none */
    const char *key_pem;
    const char *connect; /* "address:port" to connect to, in place of the URL's host; NULL: none */
    const char *proxy;   /* NULL: none */
    bool borrowed;
    bool one_of_many; /* servers: the connection is closed after a call that began while many ran */
    bool insecure;    /* the server's certificate is not checked */
    bool tls13_only;
};

/* Stands before requests that only a leader may send. It is asked when a call is started and again
 * when its connection is ready, right before the request is sent. If it is closed the call ends
 * with status 0, and nothing has been sent. */
struct http_gate {
    bool (*is_open)(void *arg);
    void *arg;
};

struct http_answer {
    int status; /* 0: no answer, or not a whole one */
    const char *body;
    size_t len;              /* 0 for an accepted stream */
    const char *why;         /* status 0: the reason; otherwise "" */
    uint64_t retry_after_ms; /* by the header Retry-After; 0: none */
};

struct http_call_opts {
    const char *method;
    const char *url;            /* copied */
    const char *const *headers; /* "Name: value", NULL-terminated, may be NULL; copied */
    const void *body;           /* copied; NULL: none */
    size_t body_len;
    const struct http_peer *peer;
    const struct http_gate *gate; /* borrowed for the life of the call; NULL: always open */
    size_t max_body;     /* bytes of the answer, or of one line of a stream; more ends the call with
                            status 0 */
    uint64_t timeout_ms; /* until the whole answer is there; for a stream until its headers are */
    uint64_t silence_ms; /* a stream without a byte for so long is ended; 0: never */
    /* Not NULL: a 2xx answer is a stream, and this is called for each line, NUL-terminated and
     * without its end. Other answers are collected as usual. */
    void (*on_line)(char *line, size_t len, void *arg);
    void (*on_open)(void *arg); /* a stream's 2xx headers have arrived; may be NULL */
    /* A stream of GET that is open for hours and has few bytes: it costs little memory. By https
     * the three texts of the peer are needed and `borrowed`, and TLS 1.3 is spoken. It has no
     * headers of the caller, no gate, no proxy, and no connection that another call has used. */
    bool quiet;
    /* Called once, never inside http_start(). A stream that the server has ended regularly has its
     * status, a broken one has 0. */
    void (*on_end)(const struct http_answer *answer, void *arg);
    void *arg;
};
struct http_call;
/* NULL and err: the call cannot be set up. The handle is valid until on_end is called or
 * http_cancel() returns. */
struct http_call *http_start(struct http *h, const struct http_call_opts *opts, struct err *err);
/* No callback is called afterwards. Allowed inside callbacks; NULL is ignored. */
void http_cancel(struct http_call *c);

/* Percent-escapes a text for a query or a segment of a path. On the heap. */
char *http_escape(const char *text);

#endif
