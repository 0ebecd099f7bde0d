/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening sockets: which connections are accepted, and how many.
 *
 * In: addresses and paths to listen on; connections that arrive; handshakes that are complete
 * (net_listen_admit()). Out: sockets for conn.c; handshakes that are dropped.
 *
 * TLS ports and local sockets have separate budgets (base/door): strangers at a port never take the
 * place of a tool at the local socket. A TLS connection is an idle stranger during its handshake,
 * then a known peer and busy. A local connection is busy at once. Only idle connections make room.
 *
 * Invariants: a local socket has mode 0600, and accepts only processes of this user or of root. A
 * socket file is replaced only if no process listens on it.
 *
 * Limits: NET_STRANGERS_MAX handshakes, NET_STRANGERS_PER_SOURCE of them from one address,
 * NET_PEERS_MAX peers, NET_LOCAL_MAX local connections; fewer if the process may have few
 * descriptors. A turn accepts at most ACCEPTS_MAX connections. A handshake has NET_HANDSHAKE_MS, or
 * NET_HANDSHAKE_HURRY_MS while there are many.
 *
 * Failures: a refused connection is closed, and at most one per second is logged. A handshake that
 * is late or makes room is closed without a log line. Without a free descriptor or memory, the
 * listener pauses for RETRY_MS. */
#include "base/buf/buf.h"
#include "base/door/door.h"
#include "base/log/log.h"
#include "base/span/span.h"
#include "dvm/host/net/net_private.h"
#include "dvm/host/net/tcp.h"

#include <errno.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#define ACCEPTS_MAX 32 /* accepted in one turn */
#define RETRY_MS 200   /* when no descriptor is free */
#define PORTS_TRIED 16 /* if any port will do, and one is free at the first address only */

struct net_listener {
    struct net *net;
    int fd;
    char *path; /* of a local socket, removed at the end; NULL: TLS */
    struct loop_fd *watch;
    struct loop_timer *retry;
    struct net_listener *prev, *next;
};

static bool is_ours(int fd)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return false;
    return cred.uid == geteuid() || cred.uid == 0;
}

/* Closes handshakes that are late or make room. They are probably port scans: not worth a log
 * line. */
static void drop_late(struct net *n)
{
    uint64_t now = loop_now_ms(n->loop);
    struct net_conn *c;
    uint64_t due;

    while ((c = door_next_out(n->door[true], now)))
        net_conn_drop(c);
    due = door_deadline(n->door[true]);
    if (due != UINT64_MAX)
        loop_timer_arm(n->late, span_ms(now, due));
}

static void on_late(void *arg)
{
    drop_late(arg);
}

bool net_listen_admit(struct net_conn *c)
{
    if (!c->place)
        return true;
    if (door_admit(c->place, loop_now_ms(c->net->loop)) < 0)
        return false;
    door_busy(c->place);
    return true;
}

static void refuse_fd(struct net *n, int fd, const char *why)
{
    net_reason_log_refusal(n, fd, why);
    close(fd);
}

static void admit_fd(struct net_listener *l, int fd, const struct sockaddr *from)
{
    struct net *n = l->net;
    bool tls = !l->path;
    struct net_conn *c;

    if (!tls && !is_ours(fd)) {
        refuse_fd(n, fd, "another user");
        return;
    }
    c = net_conn_create(n, true, tls);
    c->place =
        door_enter(n->door[tls], tls ? DOOR_STRANGER : DOOR_KNOWN, from, c, loop_now_ms(n->loop));
    if (!c->place) {
        refuse_fd(n, fd, "too many connections");
        net_conn_drop(c);
        return;
    }
    if (tls) {
        net_tcp_options(fd);
        drop_late(n);
    } else {
        door_busy(c->place);
    }
    net_conn_attach(c, fd);
}

void net_listen_init(struct net *n)
{
    const struct door_opts join = {
        .of = {[DOOR_STRANGER] = {.max = door_share(NET_STRANGERS_MAX, NET_STRANGERS_FDS_PERCENT),
                                  .per_source = NET_STRANGERS_PER_SOURCE,
                                  .idle_ms = NET_HANDSHAKE_MS,
                                  .hurry_ms = NET_HANDSHAKE_HURRY_MS},
               [DOOR_KNOWN] = {.max = door_share(NET_PEERS_MAX, NET_PEERS_FDS_PERCENT)}}};
    const struct door_opts local = {
        .of = {[DOOR_KNOWN] = {.max = door_share(NET_LOCAL_MAX, NET_LOCAL_FDS_PERCENT)}}};

    n->door[true] = door_create(&join);
    n->door[false] = door_create(&local);
    n->late = loop_timer_create(n->loop, on_late, n);
}

void net_listen_fini(struct net *n)
{
    loop_timer_destroy(n->late);
    door_destroy(n->door[true]);
    door_destroy(n->door[false]);
}

static void on_acceptable(int fd, int events, void *arg)
{
    struct net_listener *l = arg;

    for (int i = 0; i < ACCEPTS_MAX; i++) {
        struct sockaddr_storage from = {0};
        socklen_t len = sizeof(from);
        int conn = accept4(fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (conn >= 0) {
            admit_fd(l, conn, (struct sockaddr *)&from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_error("connections cannot be accepted for now errno=%d", errno);
            loop_fd_set(l->watch, 0);
            loop_timer_arm(l->retry, RETRY_MS);
            return;
        }
        if (errno == EAGAIN)
            return;
    }
}

static void on_retry(void *arg)
{
    struct net_listener *l = arg;

    loop_fd_set(l->watch, LOOP_READ);
}

static void start_listener(struct net *n, int fd, const char *path)
{
    struct net_listener *l = xcalloc(1, sizeof(*l));

    l->net = n;
    l->fd = fd;
    l->path = path ? xstrdup(path) : NULL;
    l->retry = loop_timer_create(n->loop, on_retry, l);
    l->watch = loop_fd_create(n->loop, fd, LOOP_READ, on_acceptable, l);
    DL_APPEND(n->listeners, l);
}

void net_listen_free_all(struct net *n)
{
    while (n->listeners) {
        struct net_listener *l = n->listeners;

        DL_DELETE(n->listeners, l);
        loop_fd_destroy(l->watch);
        loop_timer_destroy(l->retry);
        close(l->fd);
        if (l->path)
            unlink(l->path);
        free(l->path);
        free(l);
    }
}

static int bind_tcp(const struct evutil_addrinfo *ai, struct err *err)
{
    int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int one = 1;
    const int zero = 0;

    if (fd < 0)
        return err_sys(err, errno, "creating a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (ai->ai_family == AF_INET6) /* "::" listens for IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (bind(fd, ai->ai_addr, (socklen_t)ai->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
        err_sys(err, errno, "binding");
        close(fd);
        return -1;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } addr = {.v6 = {0}};
    socklen_t len = sizeof(addr);

    getsockname(fd, &addr.any, &len);
    return ntohs(addr.any.sa_family == AF_INET6 ? addr.v6.sin6_port : addr.v4.sin_port);
}

/* A socket that listens, or -1. *port returns its port. */
static int open_tcp(const char *addr, uint16_t *port, struct err *err)
{
    struct evutil_addrinfo hints = {.ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_PASSIVE};
    struct evutil_addrinfo *list = NULL;
    FREE_AUTO char *service = xasprintf("%u", *port);
    int fd;

    if (evutil_getaddrinfo(addr, service, &hints, &list) != 0)
        return err_set(err, "listening on %s: no numeric address", addr);
    fd = bind_tcp(list, err);
    evutil_freeaddrinfo(list);
    if (fd < 0)
        return err_wrap(err, "listening on %s port %s", addr, service);
    *port = port_of(fd);
    return fd;
}

/* How many are open. */
static size_t open_each(const char *const *addrs, size_t count, uint16_t *port, int *fds,
                        struct err *err)
{
    size_t n = 0;

    while (n < count && (fds[n] = open_tcp(addrs[n], port, err)) >= 0)
        n++;
    return n;
}

int net_listen_all(struct net *n, const char *const *addrs, size_t count, uint16_t *port,
                   struct err *err)
{
    size_t done = 0;
    int fds[NET_LISTEN_MAX];

    if (!n->tls)
        return err_set(err, "listening on %s: there is no TLS context", addrs[0]);
    for (int i = 0; i < PORTS_TRIED && count <= NET_LISTEN_MAX; i++) {
        uint16_t at = *port;

        done = open_each(addrs, count, &at, fds, err);
        if (done == count) {
            *port = at;
            break;
        }
        for (size_t k = 0; k < done; k++)
            close(fds[k]);
        if (*port || done == 0)
            return -1;
    }
    for (size_t k = 0; done == count && k < count; k++)
        start_listener(n, fds[k], NULL);
    return done == count ? 0 : -1;
}

int net_listen_tls(struct net *n, const char *addr, uint16_t *port, struct err *err)
{
    return net_listen_all(n, &addr, 1, port, err);
}

int net_listen_unix_addr(const char *path, struct sockaddr_storage *ss, socklen_t *len,
                         struct err *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)ss;

    memset(ss, 0, sizeof(*ss));
    if (!path[0] || strlen(path) >= sizeof(un->sun_path))
        return err_set(err, "the socket's path %s has not 1 to %zu bytes", path,
                       sizeof(un->sun_path) - 1);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strlen(path) + 1);
    *len = sizeof(*un);
    return 0;
}

/* Removes a socket file on which no process listens. Anything else stays, and bind() reports it. */
static void remove_stale(const char *path, const struct sockaddr_storage *ss, socklen_t len)
{
    struct stat st;
    int fd;

    if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)ss, len) < 0 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}

int net_listen_local(struct net *n, const char *path, struct err *err)
{
    struct sockaddr_storage ss;
    socklen_t len = 0;
    int fd;

    if (net_listen_unix_addr(path, &ss, &len, err) < 0)
        return -1;
    remove_stale(path, &ss, len);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_sys(err, errno, "listening on %s: creating a socket", path);
    /* Before bind(): the file gets the socket's mode, so it is never open to other users. */
    if (fchmod(fd, S_IRUSR | S_IWUSR) < 0 || bind(fd, (struct sockaddr *)&ss, len) < 0) {
        err_sys(err, errno, "listening on %s", path);
        close(fd);
        return -1;
    }
    if (listen(fd, SOMAXCONN) < 0) {
        err_sys(err, errno, "listening on %s", path);
        close(fd);
        unlink(path);
        return -1;
    }
    start_listener(n, fd, path);
    return 0;
}
