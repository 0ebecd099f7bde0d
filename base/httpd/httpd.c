/* SPDX-License-Identifier: BSD-3-Clause */
/* The HTTP server: it listens, limits connections and dispatches requests.
 *
 * Input: connections on one port, by TLS or plain; requests that libevent has parsed. Output: calls
 * of the handlers that the owner has registered by httpd_route().
 *
 * A connection is new (no place yet), it is idle, a handler has its request (req is set), or
 * libevent has closed it (is_released()). Idle is a connection in its TLS handshake, before its
 * request is complete, or while it reads an answer. base/door decides which idle connections are
 * closed when time has passed or room is needed.
 *
 * Invariants: each open connection has one struct httpd_conn in h->conns; at most one request of a
 * connection is handled at a time; the sweep timer is armed while any connection is idle. A turn of
 * the loop accepts ACCEPTS_MAX connections at most, so that those that came before are read in
 * between.
 *
 * Failures: a connection for which there is no place is closed by the sweep. A failed accept()
 * disables the listener until the next sweep. A failed allocation of a connection ends the
 * program. */
#include "base/httpd/httpd_private.h"

#include "base/buf/buf.h"
#include "base/door/door.h"
#include "base/log/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#define HEADERS_MAX (16 * 1024)
#define ACCEPTS_MAX 32 /* accepted in one turn */
#define SWEEP_MS 1000
#define LOG_MS 10000
#define HURRY 5 /* a full port waits for a fifth of the time */
#define METHODS                                                                                    \
    (EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |     \
     EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH)

/* libevent reports nothing about a connection before its first request. So the server holds a
 * reference to each bufferevent. It stays readable after libevent has released it, which shows by
 * its removed callbacks; the sweep then drops the reference. Connections are counted in this way,
 * and those that never complete a request are closed. */
struct httpd_conn {
    struct httpd_conn *next;
    struct httpd *h;
    struct bufferevent *bev;
    struct httpd_req *req;    /* the request that a handler has; NULL: none */
    struct door_place *place; /* NULL: the next sweep decides, or closes it */
    bool refused;             /* there is no place: the next sweep closes it */
};

struct httpd {
    struct httpd *next; /* in `servers` */
    struct loop *loop;
    struct evhttp *http;
    struct evconnlistener *listener; /* owned by http once bound */
    struct httpd_routes *routes;
    struct tls_ctx *tls;
    struct event *sweep;
    struct httpd_conn *conns;
    struct door *door;
    int accepted;         /* since the last sweep */
    unsigned closed;      /* to make room, or refused, and not logged yet */
    uint64_t next_log_ms; /* not before */
    size_t max_body;
    int idle_timeout_ms;
    uint16_t port;
};

/* All servers of the process: libevent calls a listener's error callback with an argument of its
 * own. */
static struct httpd *servers;

static bool is_released(struct bufferevent *bev)
{
    bufferevent_event_cb on_event = NULL;

    bufferevent_getcb(bev, NULL, NULL, &on_event, NULL);
    return !on_event;
}

/* Makes libevent close the connection, as it does after a read timeout. */
static void hang_up(struct httpd_conn *conn)
{
    bufferevent_trigger_event(conn->bev, BEV_EVENT_TIMEOUT | BEV_EVENT_READING, 0);
}

static void sweep_later(struct httpd *h, uint64_t delay_ms)
{
    const struct timeval after = {.tv_sec = (time_t)(delay_ms / 1000),
                                  .tv_usec = (suseconds_t)(delay_ms % 1000 * 1000)};

    if (evtimer_add(h->sweep, &after) < 0)
        alloc_fail(0);
}

static void sweep_in_time(struct httpd *h)
{
    if (!evtimer_pending(h->sweep, NULL))
        sweep_later(h, SWEEP_MS);
}

/* The address is not known before libevent has given the bufferevent its descriptor. */
static void find_place(struct httpd_conn *conn)
{
    struct httpd *h = conn->h;
    struct sockaddr_storage from = {0};
    socklen_t len = sizeof(from);
    struct httpd_conn *out;

    if (conn->place || conn->refused)
        return;
    if (getpeername(bufferevent_getfd(conn->bev), (struct sockaddr *)&from, &len) < 0)
        from.ss_family = AF_UNSPEC; /* the peer has closed it already */
    conn->place =
        door_enter(h->door, DOOR_STRANGER, (struct sockaddr *)&from, conn, loop_now_ms(h->loop));
    conn->refused = !conn->place;
    h->closed += conn->refused;
    while ((out = door_next_out(h->door, loop_now_ms(h->loop)))) {
        h->closed++;
        hang_up(out);
    }
}

static void log_closed(struct httpd *h)
{
    uint64_t now = loop_now_ms(h->loop);

    if (!h->closed || now < h->next_log_ms)
        return;
    log_warn("http: too many connections at port %u, %u are closed to make room", h->port,
             h->closed);
    h->closed = 0;
    h->next_log_ms = now + LOG_MS;
}

static void drop_released(struct httpd *h)
{
    struct httpd_conn **link = &h->conns;

    while (*link) {
        struct httpd_conn *conn = *link;

        if (!is_released(conn->bev)) {
            link = &conn->next;
            continue;
        }
        *link = conn->next;
        door_leave(conn->place);
        bufferevent_decref(conn->bev);
        free(conn);
    }
}

/* The timer is armed again only while some connection is idle: a server without connections causes
 * no wakeups. */
static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct httpd *h = arg;
    uint64_t now = loop_now_ms(h->loop);
    struct httpd_conn *conn;
    uint64_t due;

    LL_FOREACH(h->conns, conn)
    {
        if (!is_released(conn->bev))
            find_place(conn);
        if (conn->refused && !is_released(conn->bev))
            hang_up(conn);
    }
    while ((conn = door_next_out(h->door, now)))
        hang_up(conn);
    drop_released(h);
    log_closed(h);
    due = door_deadline(h->door);
    if (due != UINT64_MAX)
        sweep_later(h, due <= now ? 0 : due - now < SWEEP_MS ? due - now : SWEEP_MS);
    /* It was disabled after ACCEPTS_MAX connections, or when the process ran out of
     * descriptors. */
    h->accepted = 0;
    if (h->listener)
        evconnlistener_enable(h->listener);
}

/* The sweep runs in this turn of the loop, before any descriptor is polled again. */
static void sweep_soon(struct httpd *h)
{
    event_active(h->sweep, EV_TIMEOUT, 0);
}

static void on_conn_closed(struct evhttp_connection *evcon, void *arg)
{
    struct httpd_conn *conn = arg;
    struct httpd_req *req = conn->req;

    conn->req = NULL;
    sweep_soon(conn->h);
    if (req)
        httpd_req_on_closed(req);
}

/* The peer has read the answer: its time for the next request begins. */
static void on_reply_sent(struct evhttp_request *ev, void *arg)
{
    struct httpd_conn *conn = arg;

    door_busy(conn->place);
    door_idle(conn->place, loop_now_ms(conn->h->loop));
    sweep_in_time(conn->h);
}

/* Reading the answer is the peer's business: it may have to make room meanwhile. */
static void on_answered(struct httpd_conn *conn)
{
    conn->req = NULL;
    door_idle(conn->place, loop_now_ms(conn->h->loop));
    sweep_in_time(conn->h);
}

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct httpd *h;

    log_error("http: accepting connections failed, trying again soon errno=%d",
              EVUTIL_SOCKET_ERROR());
    evconnlistener_disable(listener);
    LL_FOREACH(servers, h)
    {
        if (h->listener == listener)
            sweep_later(h, SWEEP_MS);
    }
}

/* A handshake is complete when the peer's certificate is verified: it is no stranger any more. */
static void on_tls_event(const SSL *ssl, int where, int ret)
{
    struct httpd_conn *conn = SSL_get_app_data(ssl);

    if (!(where & SSL_CB_HANDSHAKE_DONE))
        return;
    find_place(conn);
    if (conn->place && door_admit(conn->place, loop_now_ms(conn->h->loop)) < 0) {
        conn->refused = true;
        conn->h->closed++;
    }
    sweep_soon(conn->h);
}

static struct bufferevent *create_bufferevent(struct httpd_conn *conn, struct event_base *base)
{
    struct bufferevent *bev;
    struct err err = {0};
    SSL *ssl;

    if (!conn->h->tls)
        return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    ssl = tls_new_server(conn->h->tls, &err);
    if (!ssl) {
        log_error("http: %s", err.msg);
        return NULL;
    }
    SSL_set_app_data(ssl, conn);
    SSL_set_info_callback(ssl, on_tls_event);
    bev = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                         BEV_OPT_CLOSE_ON_FREE);
    /* A peer that closes without a TLS close_notify ends its request normally. */
    if (bev)
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    return bev;
}

static struct bufferevent *on_new_conn(struct event_base *base, void *arg)
{
    struct httpd *h = arg;
    const struct timeval write_timeout = {.tv_sec = h->idle_timeout_ms / 1000,
                                          .tv_usec =
                                              (suseconds_t)(h->idle_timeout_ms % 1000) * 1000};
    struct httpd_conn *conn = xcalloc(1, sizeof(*conn));

    conn->h = h;
    conn->bev = create_bufferevent(conn, base);
    if (!conn->bev) /* NULL would make libevent create a connection without TLS */
        alloc_fail(0);
    bufferevent_incref(conn->bev);
    /* The input buffer holds one whole body; libevent reads no further ahead. */
    bufferevent_setwatermark(conn->bev, EV_READ, 0, h->max_body + HEADERS_MAX);
    bufferevent_set_timeouts(conn->bev, NULL, &write_timeout);
    LL_PREPEND(h->conns, conn);
    if (++h->accepted == ACCEPTS_MAX)
        evconnlistener_disable(h->listener);
    sweep_soon(h);
    return conn->bev;
}

static struct httpd_conn *find_conn(const struct httpd *h, const struct bufferevent *bev)
{
    struct httpd_conn *conn = h->conns;

    while (conn && conn->bev != bev)
        conn = conn->next;
    return conn;
}

static const char *method_name(enum evhttp_cmd_type type)
{
    static const struct {
        enum evhttp_cmd_type type;
        const char *name;
    } names[] = {
        {EVHTTP_REQ_GET, "GET"},     {EVHTTP_REQ_POST, "POST"},     {EVHTTP_REQ_HEAD, "HEAD"},
        {EVHTTP_REQ_PUT, "PUT"},     {EVHTTP_REQ_DELETE, "DELETE"}, {EVHTTP_REQ_OPTIONS, "OPTIONS"},
        {EVHTTP_REQ_PATCH, "PATCH"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].type == type)
            return names[i].name;
    }
    return "?";
}

/* 0; or -1, and the request has been answered. */
static int identify_client(const struct httpd_conn *conn, struct httpd_req *req)
{
    struct err err = {0};

    if (!conn->h->tls)
        return 0;
    if (tls_peer(bufferevent_openssl_get_ssl(conn->bev), &req->peer, &err) < 0) {
        httpd_refuse(req, 403, "BadCertificate", "%s", err.msg);
        return -1;
    }
    req->has_peer = true;
    return 0;
}

/* A second length says that the body ends elsewhere: a proxy before this server may have seen
 * another request (RFC 9112, section 6.3). libevent refuses two in one header, and a length beside
 * chunks. */
static bool has_two_lengths(struct evhttp_request *ev)
{
    const struct evkeyval *h;
    int lengths = 0;

    TAILQ_FOREACH(h, evhttp_request_get_input_headers(ev), next)
    {
        lengths += strcasecmp(h->key, "Content-Length") == 0;
    }
    return lengths > 1;
}

static void route_request(const struct httpd *h, struct httpd_req *req)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req->ev);
    const char *path = evhttp_uri_get_path(uri);
    const char *query = evhttp_uri_get_query(uri);
    const char *method = method_name(evhttp_request_get_command(req->ev));
    FREE_AUTO char *allow = NULL;
    httpd_fn *fn = NULL;
    void *arg = NULL;
    int status;

    if (has_two_lengths(req->ev)) {
        evhttp_add_header(evhttp_request_get_output_headers(req->ev), "Connection", "close");
        httpd_refuse(req, HTTP_BADREQUEST, "BadRequest", "the body's length is given twice");
        return;
    }
    if (query && evhttp_parse_query_str(query, &req->query) < 0) {
        httpd_refuse(req, HTTP_BADREQUEST, "BadQuery", "the query cannot be parsed");
        return;
    }
    status =
        httpd_routes_find(h->routes, method, path ? path : "", &req->params, &fn, &arg, &allow);
    if (status == HTTP_OK) {
        fn(req, arg);
    } else if (status == HTTP_BADMETHOD) {
        evhttp_add_header(evhttp_request_get_output_headers(req->ev), "Allow", allow);
        httpd_refuse(req, status, "MethodNotAllowed", "%s is not allowed here, only %s", method,
                     allow);
    } else {
        httpd_refuse(req, status, "NotFound", "there is nothing at this path");
    }
}

static void on_request(struct evhttp_request *ev, void *arg)
{
    struct httpd *h = arg;
    struct evhttp_connection *evcon = evhttp_request_get_connection(ev);
    struct httpd_conn *conn = find_conn(h, evhttp_connection_get_bufferevent(evcon));
    struct httpd_req *req;

    if (!conn) {
        log_error("http: a request on an unknown connection");
        evhttp_send_error(ev, HTTP_INTERNAL, NULL);
        return;
    }
    req = xcalloc(1, sizeof(*req));
    req->on_answered = on_answered;
    TAILQ_INIT(&req->query);
    req->loop = h->loop;
    req->conn = conn;
    req->ev = ev;
    conn->req = req;
    find_place(conn);
    door_busy(conn->place);
    evhttp_connection_set_closecb(evcon, on_conn_closed, conn);
    evhttp_request_set_on_complete_cb(ev, on_reply_sent, conn);
    if (identify_client(conn, req) == 0)
        route_request(h, req);
}

/* Converts a numeric address and port for the kernel; gives the length, 0: not an address. */
static socklen_t parse_addr(const char *addr, uint16_t port, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)out;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, addr, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        return sizeof(*v4);
    }
    if (inet_pton(AF_INET6, addr, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        return sizeof(*v6);
    }
    return 0;
}

static int bound_port(int fd, uint16_t *port, struct err *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof(at);

    if (getsockname(fd, &at.any, &len) < 0)
        return err_sys(err, errno, "asking for the bound port");
    *port = ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
    return 0;
}

static int listen_on(struct httpd *h, const char *addr, uint16_t port, struct err *err)
{
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
    struct sockaddr_storage ss;
    socklen_t len = parse_addr(addr, port, &ss);
    struct evconnlistener *listener;
    const int on = 1;

    if (!len)
        return err_code(err, EINVAL, "\"%s\" is no numeric address", addr);
    listener = evconnlistener_new_bind(loop_base(h->loop), NULL, NULL, flags, SOMAXCONN,
                                       (struct sockaddr *)&ss, (int)len);
    if (!listener)
        return err_sys(err, errno, "binding %s port %u", addr, port);
    evconnlistener_set_error_cb(listener, on_accept_error);
    /* Connections inherit it: an event of a stream must not wait for the acknowledgement of the one
     * before. */
    if (setsockopt(evconnlistener_get_fd(listener), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        log_warn("http: TCP_NODELAY cannot be set errno=%d", errno);
    if (!evhttp_bind_listener(h->http, listener)) {
        evconnlistener_free(listener);
        return err_set(err, "binding %s port %u: libevent refused", addr, port);
    }
    h->listener = listener;
    return bound_port(evconnlistener_get_fd(listener), &h->port, err);
}

static struct door_budget make_budget(int max, int percent, uint64_t idle_ms, uint64_t hurry_ms)
{
    int per_source = max * percent / 100;

    return (struct door_budget){.max = (unsigned)max,
                                .per_source = (unsigned)(per_source > 0 ? per_source : 1),
                                .idle_ms = idle_ms,
                                .hurry_ms = hurry_ms};
}

static struct door *create_door(const struct httpd_opts *o)
{
    int percent = o->source_percent ? o->source_percent : 100;
    int strangers = o->max_strangers ? o->max_strangers : o->max_conns;
    uint64_t idle_ms = (uint64_t)o->idle_timeout_ms;
    uint64_t request_ms = o->request_timeout_ms ? (uint64_t)o->request_timeout_ms : idle_ms;
    struct door_opts d;

    d.of[DOOR_STRANGER] = make_budget(strangers, percent, request_ms, request_ms / HURRY);
    d.of[DOOR_KNOWN] = make_budget(o->max_conns, percent, idle_ms, idle_ms);
    return door_create(&d);
}

struct httpd *httpd_create(struct loop *loop, const struct httpd_opts *opts, struct err *err)
{
    struct httpd *h = xcalloc(1, sizeof(*h));

    LL_PREPEND(servers, h);
    h->loop = loop;
    h->tls = opts->tls;
    h->door = create_door(opts);
    h->max_body = opts->max_body;
    h->idle_timeout_ms = opts->idle_timeout_ms;
    h->routes = httpd_routes_create();
    h->http = evhttp_new(loop_base(loop));
    h->sweep = evtimer_new(loop_base(loop), on_sweep, h);
    if (!h->http || !h->sweep) {
        err_set(err, "libevent has no HTTP server");
        goto error;
    }
    evhttp_set_allowed_methods(h->http, METHODS);
    evhttp_set_max_headers_size(h->http, HEADERS_MAX);
    evhttp_set_max_body_size(h->http, (ev_ssize_t)h->max_body);
    /* Reads the rest of a body that is too long, so that the client receives the 413. */
    evhttp_set_flags(h->http, EVHTTP_SERVER_LINGERING_CLOSE);
    evhttp_set_default_content_type(h->http, NULL);
    evhttp_set_bevcb(h->http, on_new_conn, h);
    evhttp_set_gencb(h->http, on_request, h);
    if (listen_on(h, opts->addr, opts->port, err) < 0)
        goto error;
    return h;
error:
    err_wrap(err, "starting the HTTP server");
    httpd_destroy(h);
    return NULL;
}

void httpd_destroy(struct httpd *h)
{
    if (!h)
        return;
    /* Pending requests and streams are notified by on_conn_closed(). */
    if (h->http)
        evhttp_free(h->http);
    while (h->conns) {
        struct httpd_conn *conn = h->conns;

        h->conns = conn->next;
        door_leave(conn->place);
        bufferevent_decref(conn->bev);
        free(conn);
    }
    if (h->sweep)
        event_free(h->sweep);
    LL_DELETE(servers, h);
    door_destroy(h->door);
    httpd_routes_destroy(h->routes);
    free(h);
}

uint16_t httpd_port(const struct httpd *h)
{
    return h->port;
}

void httpd_route(struct httpd *h, const char *method, const char *pattern, httpd_fn *fn, void *arg)
{
    httpd_routes_add(h->routes, method, pattern, fn, arg);
}
