/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that are open for hours and have few bytes, by libevent's HTTP client (evhttp).
 *
 * Input: the options of a call, the addresses of its host, and the callbacks of libevent. Output:
 * status and body of the answer, and how it ended.
 *
 * States: looking up (`lookup`); asking one address after the other (`conn`, not `head`); reading
 * (`head`: the headers have arrived); ended (`end`). An address whose connection breaks before the
 * headers is followed by the next one. All but the last have an equal share of the time.
 *
 * Why: libcurl has a TLS context and 31 KB of its own for each connection (docs/benchmarks.md).
 *
 * Invariants: libevent gets numeric addresses only, since it would block in its lookup of a name.
 * Its connection is created and freed outside of its callbacks, in quiet_start() and quiet_go_on().
 * Nothing is sent before the server's certificate is verified. A stream that is read has no request
 * and no decoded certificates of ours.
 *
 * Limits: libevent's bound of the body counts the whole stream, so it moves with each chunk.
 * Nothing in libevent bounds the line with a chunk's size, so on_input() bounds all that waits.
 * libevent's timeouts are off once the headers have arrived: the caller has its own.
 *
 * Failures: a name without an address, a refused certificate, a malformed answer and a broken
 * connection end the stream with a reason. */
#include "operator/http/quiet.h"

#include "base/buf/buf.h"
#include "base/tls/tls.h"
#include "operator/http/lookup.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MAX 16384
/* A chunk may have a part of another line, and its size and end stand beside it. */
#define CHUNK_SLACK 16384
#define NEVER_S (365 * 86400)

struct quiets {
    struct loop *loop;
    struct tls_clients *tls;
    struct lookups *lookups;
};

enum quiet_end { QUIET_RUNS, QUIET_WHOLE, QUIET_BROKEN };

struct quiet {
    struct quiets *all;
    struct quiet_sink sink;
    struct tls_texts texts; /* borrowed */
    struct evhttp_uri *uri;
    bool tls;
    char *host; /* that the certificate is for */
    char *authority;
    size_t max_body;
    uint64_t timeout_ms;
    struct lookup *lookup;      /* NULL: done */
    struct addrinfo *addresses; /* NULL once the headers have arrived */
    const struct addrinfo *next;
    struct evhttp_connection *conn;
    struct bufferevent *stream; /* of conn */
    bool head;
    size_t received; /* bytes of the body */
    enum quiet_end end;
    char *why; /* broken */
};

/* --- the ends of a stream, and of an attempt */

static void set_broken(struct quiet *q, const char *why)
{
    if (q->end != QUIET_RUNS)
        return;
    q->end = QUIET_BROKEN;
    q->why = xstrdup(why);
    q->sink.on_ready(q->sink.arg);
}

/* The reason that TLS knows; NULL: none. */
static const char *find_tls_reason(const struct quiet *q)
{
    const char *reason = NULL;
    unsigned long error;

    if (!q->tls)
        return NULL;
    long verdict = SSL_get_verify_result(bufferevent_openssl_get_ssl(q->stream));
    if (verdict != X509_V_OK)
        return X509_verify_cert_error_string(verdict);
    while (!reason && (error = bufferevent_get_openssl_error(q->stream)))
        reason = ERR_reason_error_string(error);
    return reason;
}

static void fail_attempt(struct quiet *q, const char *what)
{
    const char *reason = find_tls_reason(q);
    FREE_AUTO char *why =
        xasprintf("%s %s%s%s", what, q->authority, reason ? ": " : "", reason ? reason : "");

    set_broken(q, why);
}

/* --- callbacks of libevent */

static void on_error(enum evhttp_request_error error, void *arg)
{
    static const char *const what[] = {
        [EVREQ_HTTP_TIMEOUT] = "no answer in time from",
        [EVREQ_HTTP_EOF] = "the connection has ended to",
        [EVREQ_HTTP_INVALID_HEADER] = "malformed headers from",
        [EVREQ_HTTP_BUFFER_ERROR] = "the connection is broken to",
        [EVREQ_HTTP_REQUEST_CANCEL] = "cancelled:",
        [EVREQ_HTTP_DATA_TOO_LONG] = "a malformed or too long body from",
    };

    fail_attempt(arg, what[error]);
}

/* NULL: after on_error(). Without headers: the connection was not made. */
static void on_done(struct evhttp_request *req, void *arg)
{
    struct quiet *q = arg;

    if (q->end != QUIET_RUNS)
        return;
    if (!req || !q->head) {
        fail_attempt(q, "cannot connect to");
        return;
    }
    q->end = QUIET_WHOLE;
    q->sink.on_ready(q->sink.arg);
}

static void free_addresses(struct quiet *q)
{
    if (q->addresses)
        freeaddrinfo(q->addresses);
    q->addresses = NULL;
    q->next = NULL;
}

static uint64_t read_retry_after(struct evhttp_request *req)
{
    const char *text = evhttp_find_header(evhttp_request_get_input_headers(req), "Retry-After");
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : 0;

    return text && *text && !*end && seconds > 0 && seconds < NEVER_S ? (uint64_t)seconds * 1000
                                                                      : 0;
}

static int on_header(struct evhttp_request *req, void *arg)
{
    struct quiet *q = arg;
    int status = evhttp_request_get_response_code(req);

    if (status < 200 || q->end != QUIET_RUNS) /* an interim answer */
        return 0;
    q->head = true;
    bufferevent_set_timeouts(q->stream, NULL, NULL);
    if (q->tls)
        tls_drop_texts(bufferevent_openssl_get_ssl(q->stream));
    free_addresses(q);
    evhttp_clear_headers(evhttp_request_get_output_headers(req));
    q->sink.on_head(status, read_retry_after(req), q->sink.arg);
    return 0;
}

static void bound_chunk(const struct quiet *q)
{
    evhttp_connection_set_max_body_size(q->conn,
                                        (ev_ssize_t)(q->received + q->max_body + CHUNK_SLACK));
}

static void on_chunk(struct evhttp_request *req, void *arg)
{
    struct quiet *q = arg;
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    size_t len = evbuffer_get_length(body);

    if (q->end != QUIET_RUNS)
        return;
    q->received += len;
    bound_chunk(q);
    q->sink.on_data(evbuffer_pullup(body, -1), len, q->sink.arg);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
    struct quiet *q = arg;

    if (!info->n_added || q->end != QUIET_RUNS)
        return;
    q->sink.on_input(q->sink.arg);
    if (evbuffer_get_length(input) > q->max_body + 2 * CHUNK_SLACK)
        fail_attempt(q, "a malformed or too long body from");
}

/* --- an attempt */

static void end_attempt(struct quiet *q)
{
    if (!q->conn)
        return;
    evbuffer_remove_cb(bufferevent_get_input(q->stream), on_input, q);
    evhttp_connection_free(q->conn);
    q->conn = NULL;
    q->stream = NULL;
}

static int open_stream(struct quiet *q, struct err *err)
{
    struct event_base *base = loop_base(q->all->loop);
    SSL *ssl = NULL;

    if (q->tls) {
        ssl = tls_clients_connect(q->all->tls, &q->texts, q->host, err);
        if (!ssl)
            return -1;
    }
    q->stream = ssl ? bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                                     BEV_OPT_CLOSE_ON_FREE)
                    : bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!q->stream)
        alloc_fail(0);
    evbuffer_add_cb(bufferevent_get_input(q->stream), on_input, q);
    return 0;
}

/* The last address has the rest of the caller's time. */
static void bound_attempt(const struct quiet *q)
{
    unsigned n = 1;

    for (const struct addrinfo *a = q->addresses; a->ai_next; a = a->ai_next)
        n++;
    uint64_t ms = q->next ? q->timeout_ms / n : NEVER_S * 1000ull;
    struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    evhttp_connection_set_timeout_tv(q->conn, &tv);
}

static struct evhttp_request *create_request(struct quiet *q)
{
    struct evhttp_request *req = evhttp_request_new(on_done, q);

    if (!req)
        alloc_fail(0);
    evhttp_request_set_header_cb(req, on_header);
    evhttp_request_set_chunked_cb(req, on_chunk);
    evhttp_request_set_error_cb(req, on_error);
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    evhttp_add_header(headers, "Host", q->authority);
    evhttp_add_header(headers, "User-Agent", HTTP_USER_AGENT);
    evhttp_add_header(headers, "Accept", "*/*");
    return req;
}

/* The request is not delayed until the server has acknowledged the handshake. A peer that vanishes
 * without closing its connection is detected within two minutes. */
static void set_socket_options(int fd)
{
    const int on = 1, idle_s = 30, interval_s = 10;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
}

static int ask_next(struct quiet *q, struct err *err)
{
    const struct addrinfo *a = q->next;
    const char *path = evhttp_uri_get_path(q->uri), *query = evhttp_uri_get_query(q->uri);
    FREE_AUTO char *target =
        xasprintf("%s%s%s", *path ? path : "/", query ? "?" : "", query ? query : "");
    char address[NI_MAXHOST], port[NI_MAXSERV];
    int error = getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address), port, sizeof(port),
                            NI_NUMERICHOST | NI_NUMERICSERV);

    q->next = a->ai_next;
    if (error)
        return err_set(err, "cannot read an address of %s: %s", q->authority, gai_strerror(error));
    if (open_stream(q, err) < 0)
        return -1;
    q->conn = evhttp_connection_base_bufferevent_new(loop_base(q->all->loop), NULL, q->stream,
                                                     address, (uint16_t)strtoul(port, NULL, 10));
    if (!q->conn)
        alloc_fail(0);
    evhttp_connection_set_family(q->conn, a->ai_family); /* otherwise it asks for the interfaces */
    evhttp_connection_set_max_headers_size(q->conn, HEADERS_MAX);
    bound_chunk(q);
    bound_attempt(q);
    if (evhttp_make_request(q->conn, create_request(q), EVHTTP_REQ_GET, target) != 0)
        return err_set(err, "cannot connect to %s", q->authority);
    set_socket_options(bufferevent_getfd(q->stream));
    return 0;
}

static void on_lookup(struct addrinfo *list, const char *why, void *arg)
{
    struct quiet *q = arg;

    q->lookup = NULL;
    q->addresses = list;
    q->next = list;
    if (list) {
        q->sink.on_ready(q->sink.arg);
        return;
    }
    FREE_AUTO char *text = xasprintf("cannot find %s: %s", q->authority, why);
    set_broken(q, text);
}

int quiet_go_on(struct quiet *q, struct err *err)
{
    bool again = q->end == QUIET_BROKEN && !q->head && q->next;

    if (q->end == QUIET_WHOLE)
        return 1;
    if (q->end == QUIET_BROKEN && !again)
        return err_set(err, "%s", q->why);
    if (again) {
        end_attempt(q);
        q->end = QUIET_RUNS;
        free_ptr(&q->why);
    }
    return !q->conn && q->next ? ask_next(q, err) : 0;
}

/* --- creation and destruction */

static int read_url(struct quiet *q, const struct http_call_opts *o, uint16_t *port,
                    struct err *err)
{
    q->uri = evhttp_uri_parse(o->url);
    const char *host = q->uri ? evhttp_uri_get_host(q->uri) : NULL;
    const char *scheme = q->uri ? evhttp_uri_get_scheme(q->uri) : NULL;

    if (!host || !*host || !scheme)
        return err_set(err, "cannot set up GET %s: the URL is malformed", o->url);
    bool tls = strcmp(scheme, "https") == 0;
    int given = evhttp_uri_get_port(q->uri);
    *port = (uint16_t)(given > 0 ? given : tls ? 443 : 80);
    q->authority = xasprintf("%s:%u", host, (unsigned)*port);
    q->tls = tls;
    q->host = *host == '[' ? xstrndup(host + 1, strlen(host) - 2) : xstrdup(host);
    return 0;
}

/* Splits "address:port"; an IPv6 address is in brackets. The result is on the heap. */
static char *split_address(const char *text, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    bool brackets = *text == '[';

    if (!colon)
        return xstrdup(text);
    *port = (uint16_t)strtoul(colon + 1, NULL, 10);
    return xstrndup(text + brackets, (size_t)(colon - text) - 2 * brackets);
}

static int start_lookup(struct quiet *q, const struct http_call_opts *o, struct err *err)
{
    uint16_t port = 0;

    if (read_url(q, o, &port, err) < 0)
        return -1;
    FREE_AUTO char *host =
        o->peer->connect ? split_address(o->peer->connect, &port) : xstrdup(q->host);
    q->lookup = lookup_start(q->all->lookups, host, port, on_lookup, q, err);
    return q->lookup ? 0 : -1;
}

struct quiet *quiet_start(struct quiets *all, const struct http_call_opts *opts,
                          const struct quiet_sink *sink, struct err *err)
{
    const struct http_peer *peer = opts->peer;
    struct quiet *q = xcalloc(1, sizeof(*q));

    q->all = all;
    q->sink = *sink;
    q->texts = (struct tls_texts){peer->ca_pem, peer->cert_pem, peer->key_pem};
    q->max_body = opts->max_body;
    q->timeout_ms = opts->timeout_ms;
    if (start_lookup(q, opts, err) == 0)
        return q;
    quiet_destroy(q);
    return NULL;
}

void quiet_destroy(struct quiet *q)
{
    if (!q)
        return;
    lookup_cancel(q->lookup);
    end_attempt(q);
    free_addresses(q);
    if (q->uri)
        evhttp_uri_free(q->uri);
    free(q->host);
    free(q->authority);
    free(q->why);
    free(q);
}

struct quiets *quiets_create(struct loop *loop, struct err *err)
{
    struct quiets *all = xcalloc(1, sizeof(*all));

    all->loop = loop;
    all->tls = tls_clients_create(err);
    if (!all->tls) {
        free(all);
        return NULL;
    }
    all->lookups = lookups_create(loop);
    return all;
}

void quiets_destroy(struct quiets *all)
{
    if (!all)
        return;
    lookups_destroy(all->lookups);
    tls_clients_destroy(all->tls);
    free(all);
}
