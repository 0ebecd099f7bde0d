/* SPDX-License-Identifier: BSD-3-Clause */
/* Outgoing connections: resolve, then try each address in turn. */
#include "base/buf/buf.h"
#include "dvm/host/net/net_private.h"
#include "dvm/host/net/tcp.h"

#include <errno.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct net_dial {
    char *host;
    uint16_t port;
    struct evutil_addrinfo *list; /* all addresses */
    struct evutil_addrinfo *next; /* addresses that were not tried yet */
    int fd;                       /* the socket that is connecting; -1: none */
    struct loop_fd *watch;
    int errnum; /* reason of the last address that failed */
};

static void try_next(struct net_conn *c);

static void close_fd(struct net_dial *d)
{
    loop_fd_destroy(d->watch);
    d->watch = NULL;
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

void net_dial_free(struct net_dial *d)
{
    if (!d)
        return;
    close_fd(d);
    if (d->list)
        evutil_freeaddrinfo(d->list);
    free(d->host);
    free(d);
}

static void on_connected(struct net_conn *c)
{
    struct net_dial *d = c->dial;
    int fd = d->fd;

    loop_fd_destroy(d->watch);
    d->watch = NULL;
    d->fd = -1;
    c->dial = NULL;
    net_tcp_options(fd);
    net_conn_attach(c, fd, d->host);
    net_dial_free(d);
}

static void on_connect(int fd, int events, void *arg)
{
    struct net_conn *c = arg;
    struct net_dial *d = c->dial;
    socklen_t len = sizeof(d->errnum);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &d->errnum, &len) < 0)
        d->errnum = errno;
    if (!d->errnum) {
        on_connected(c);
        return;
    }
    close_fd(d);
    try_next(c);
}

/* False: this address failed at once. */
static bool try_address(struct net_conn *c, const struct evutil_addrinfo *ai)
{
    struct net_dial *d = c->dial;

    d->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0 ||
        (connect(d->fd, ai->ai_addr, (socklen_t)ai->ai_addrlen) < 0 && errno != EINPROGRESS)) {
        d->errnum = errno;
        close_fd(d);
        return false;
    }
    d->watch = loop_fd_create(c->net->loop, d->fd, LOOP_WRITE, on_connect, c);
    return true;
}

static void try_next(struct net_conn *c)
{
    struct net_dial *d = c->dial;

    while (d->next) {
        const struct evutil_addrinfo *ai = d->next;

        d->next = ai->ai_next;
        if (try_address(c, ai))
            return;
    }
    net_conn_fail(c, "connecting to %s port %u: %s", d->host, d->port, strerror(d->errnum));
}

static void on_resolved(struct net *n, uint64_t conn, int gai_error, struct evutil_addrinfo *list)
{
    struct net_conn *c = net_conn_find(n, conn);

    if (!c || c->phase != NET_DIALING) {
        if (list)
            evutil_freeaddrinfo(list);
        return;
    }
    if (gai_error || !list) {
        net_conn_fail(c, "resolving %s: %s", c->dial->host, evutil_gai_strerror(gai_error));
        return;
    }
    c->dial->list = c->dial->next = list;
    try_next(c);
}

void net_dial_tcp(struct net_conn *c, const char *host, uint16_t port, uint64_t timeout_ms)
{
    struct net_dial *d = xcalloc(1, sizeof(*d));

    d->host = xstrdup(host);
    d->port = port;
    d->fd = -1;
    c->dial = d;
    loop_timer_arm(c->deadline, timeout_ms);
    net_lookup_start(c->net, c->id, host, port, on_resolved);
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
    net_conn_attach(c, fd, NULL);
}
