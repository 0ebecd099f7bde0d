/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing connections: from a name to a connected socket.
 *
 * In: a name or a numeric address, and a port. Out: a socket for conn.c, or the reason of the
 * failure.
 *
 * The last good address of the name (known.c) is tried first, without a name server. The lookup
 * starts when that attempt has failed, or after `stagger_ms`. A name without a good address is
 * looked up at once. Each answer is used when it comes: an attempt starts at once if none is under
 * way, otherwise `stagger_ms` after the previous one. The first socket that connects is taken,
 * the others are closed. A doubted address is tried when `stagger_ms` have passed, or when the
 * lookup has failed.
 *
 * When no address is left, one that has not answered is tried anew after four times `stagger_ms`,
 * by another socket: the address of a Service may have led to a pod that has ended, and a repeated
 * request of the same socket goes to the same pod.
 *
 * If the caller wants a certain address at our end, each address is tried from there first, then,
 * if that attempt fails or after `stagger_ms`, from any: it may belong to another network.
 *
 * Limits: DIAL_TRIES_MAX attempts per dial, further addresses are ignored; the deadline of the
 * connection (conn.c). */
#include "base/buf/buf.h"
#include "dvm/host/net/net_private.h"
#include "dvm/host/net/tcp.h"

#include <errno.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIAL_TRIES_MAX 16
#define REPEAT_STAGGERS 4

/* An address, and the socket that is connecting to it. */
struct dial_try {
    struct net_conn *conn;
    struct net_addr addr;
    bool bound; /* from the caller's address */
    int fd;     /* -1: not started, or failed */
    struct loop_fd *watch;
};

struct net_dial {
    char *host;
    uint16_t port;
    struct dial_try tries[DIAL_TRIES_MAX];
    size_t ntries;
    size_t next;    /* first address that was not tried yet */
    size_t running; /* sockets that are connecting */
    struct loop_timer *stagger;
    bool asked;    /* the lookup was started */
    bool answered; /* and has given its last answer */
    bool has_spare;
    struct net_addr spare; /* the doubted address */
    struct net_addr from;  /* our own end; len 0: any */
    int errnum;            /* of the address that failed last */
    int gai_error;         /* of the first failed answer */
};

static void step_dial(struct net_conn *c);

static void close_try(struct net_dial *d, struct dial_try *t)
{
    if (t->fd < 0)
        return;
    loop_fd_destroy(t->watch);
    t->watch = NULL;
    close(t->fd);
    t->fd = -1;
    d->running--;
}

void net_dial_free(struct net_dial *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->ntries; i++)
        close_try(d, &d->tries[i]);
    loop_timer_destroy(d->stagger);
    free(d->host);
    free(d);
}

static void take_socket(struct net_conn *c, struct dial_try *t)
{
    struct net_dial *d = c->dial;
    int fd = t->fd;

    loop_fd_destroy(t->watch);
    t->watch = NULL;
    t->fd = -1;
    d->running--;
    c->dial = NULL;
    c->reached = t->addr;
    c->port = d->port;
    c->host = d->host;
    d->host = NULL;
    net_dial_free(d);
    net_tcp_options(fd);
    net_conn_attach(c, fd);
}

static void on_connect(int fd, int events, void *arg)
{
    struct dial_try *t = arg;
    struct net_conn *c = t->conn;
    int errnum = 0;
    socklen_t len = sizeof(errnum);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    if (!errnum) {
        take_socket(c, t);
        return;
    }
    c->dial->errnum = errnum;
    close_try(c->dial, t);
    step_dial(c);
}

/* False: this address failed at once. */
static bool start_try(struct net_conn *c, struct dial_try *t)
{
    struct net_dial *d = c->dial;

    t->fd = socket(t->addr.ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->fd < 0) {
        d->errnum = errno;
        return false;
    }
    d->running++;
    if (t->bound && bind(t->fd, (struct sockaddr *)&d->from.ss, d->from.len) < 0) {
        d->errnum = errno;
        close_try(d, t);
        return false;
    }
    if (connect(t->fd, (struct sockaddr *)&t->addr.ss, t->addr.len) < 0 && errno != EINPROGRESS) {
        d->errnum = errno;
        close_try(d, t);
        return false;
    }
    t->watch = loop_fd_create(c->net->loop, t->fd, LOOP_WRITE, on_connect, t);
    return true;
}

static void try_next(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    while (d->next < d->ntries && !start_try(c, &d->tries[d->next++]))
        ;
}

static void add_try(struct net_conn *c, const struct net_addr *addr, bool bound)
{
    struct net_dial *d = c->dial;

    if (d->ntries < DIAL_TRIES_MAX)
        d->tries[d->ntries++] =
            (struct dial_try){.conn = c, .addr = *addr, .bound = bound, .fd = -1};
}

static void add_addr(struct net_conn *c, const struct net_addr *addr)
{
    struct net_dial *d = c->dial;

    for (size_t i = 0; i < d->ntries; i++) {
        if (net_addr_eq(&d->tries[i].addr, addr))
            return;
    }
    if (d->from.len && d->from.ss.ss_family == addr->ss.ss_family)
        add_try(c, addr, true);
    add_try(c, addr, false);
}

static void add_spare(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    if (d->has_spare)
        add_addr(c, &d->spare);
    d->has_spare = false;
}

static void on_answer(struct net *n, uint64_t conn, const struct net_lookup_answer *a)
{
    struct net_conn *c = net_conn_find(n, conn);
    const struct evutil_addrinfo *ai;

    if (!c || c->phase != NET_DIALING)
        return; /* connected already */
    for (ai = a->list; ai; ai = ai->ai_next) {
        struct net_addr addr = {.len = (socklen_t)ai->ai_addrlen};

        memcpy(&addr.ss, ai->ai_addr, addr.len);
        add_addr(c, &addr);
    }
    if (a->gai_error && !c->dial->gai_error)
        c->dial->gai_error = a->gai_error;
    c->dial->answered = a->last;
    step_dial(c);
}

static void start_lookup(struct net_conn *c)
{
    c->dial->asked = true;
    net_lookup_start(c->net, c->id, c->dial->host, c->dial->port, on_answer);
}

static void fail_dial(struct net_conn *c)
{
    const struct net_dial *d = c->dial;

    if (d->ntries)
        net_conn_fail(c, "connecting to %s port %u: %s", d->host, d->port, strerror(d->errnum));
    else
        net_conn_fail(c, "resolving %s: %s", d->host, evutil_gai_strerror(d->gai_error));
}

/* Another socket to an address that has not answered. */
static void repeat_try(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    for (size_t i = d->ntries; i-- > 0;) {
        if (d->tries[i].fd >= 0) {
            add_try(c, &d->tries[i].addr, d->tries[i].bound);
            return;
        }
    }
}

/* After each change: the next attempt, or the lookup, or the end. */
static void step_dial(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    if (!d->running && d->answered)
        add_spare(c);
    if (!d->running)
        try_next(c);
    if (d->next < d->ntries || !d->asked || d->has_spare)
        loop_timer_arm(d->stagger, c->net->stagger_ms);
    else if (d->running)
        loop_timer_arm(d->stagger, REPEAT_STAGGERS * c->net->stagger_ms);
    if (d->running)
        return;
    if (!d->asked)
        start_lookup(c); /* calls this function again */
    else if (d->answered)
        fail_dial(c);
}

static void on_stagger(void *arg)
{
    struct net_conn *c = arg;

    if (!c->dial->asked) {
        start_lookup(c);
        return;
    }
    add_spare(c);
    if (c->dial->next == c->dial->ntries)
        repeat_try(c);
    try_next(c);
    step_dial(c);
}

void net_dial_timeout(struct net_conn *c)
{
    const struct net_dial *d = c->dial;

    if (d && d->asked && !d->answered && !d->ntries)
        net_conn_fail(c, "resolving %s: no name server answered within the time given", d->host);
    else if (d)
        net_conn_fail(c, "could not connect to %s port %u within the time given", d->host, d->port);
}

static struct net_addr parse_from(const char *from)
{
    struct net_addr a = {.len = sizeof(a.ss)};
    int len = (int)a.len;

    if (!from || evutil_parse_sockaddr_port(from, (struct sockaddr *)&a.ss, &len) < 0)
        return (struct net_addr){.len = 0};
    a.len = (socklen_t)len;
    return a;
}

void net_dial_tcp(struct net_conn *c, const struct net_target *to, uint64_t timeout_ms)
{
    struct net_dial *d = xcalloc(1, sizeof(*d));
    struct net_addr addr;
    bool doubted;

    d->host = xstrdup(to->host);
    d->port = to->port;
    d->from = parse_from(to->from);
    d->stagger = loop_timer_create(c->net->loop, on_stagger, c);
    c->dial = d;
    loop_timer_arm(c->deadline, timeout_ms);
    if (!net_known_find(c->net, to->host, to->port, &addr, &doubted)) {
        start_lookup(c);
        return;
    }
    if (doubted) {
        d->spare = addr;
        d->has_spare = true;
        loop_timer_arm(d->stagger, c->net->stagger_ms);
        start_lookup(c);
        return;
    }
    add_addr(c, &addr);
    step_dial(c);
}

void net_dial_local(struct net_conn *c, const char *path)
{
    struct sockaddr_storage ss;
    socklen_t len = 0;
    struct err err = {0};
    int fd;

    if (net_listen_unix_addr(path, &ss, &len, &err) < 0) {
        net_conn_fail(c, "%s", err.msg);
        return;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&ss, len) < 0) {
        net_conn_fail(c, "connecting to %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    net_conn_attach(c, fd);
}
