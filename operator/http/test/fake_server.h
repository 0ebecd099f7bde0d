/* SPDX-License-Identifier: BSD-3-Clause */
/* A server on raw sockets for tests of faults: the test decides what it sends and when it
 * closes. */
#ifndef OPERATOR_HTTP_TEST_FAKE_SERVER_H
#define OPERATOR_HTTP_TEST_FAKE_SERVER_H

#include "base/buf/buf.h"
#include "base/loop/loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

struct fake;
struct fake_conn {
    struct fake *fake;
    int fd;
    struct loop_fd *ev;
    struct buf in, out;
    bool closing; /* when `out` is empty */
    void *user;   /* for on_drop */
    struct fake_conn *prev, *next;
};

/* Called for each whole request; `body` is NUL-terminated. */
typedef void fake_fn(struct fake_conn *c, const char *method, const char *target, const char *head,
                     const char *body, void *arg);

struct fake {
    struct loop *loop;
    int fd;
    unsigned short port;
    struct loop_fd *ev;
    struct fake_conn *conns;
    unsigned accepted; /* connections so far */
    fake_fn *on_request;
    void (*on_drop)(struct fake_conn *c); /* before a connection is freed; may be NULL */
    void *arg;
};

static inline void fake_drop(struct fake_conn *c)
{
    if (c->fake->on_drop)
        c->fake->on_drop(c);
    DL_DELETE(c->fake->conns, c);
    loop_fd_destroy(c->ev);
    close(c->fd);
    buf_free(&c->in);
    buf_free(&c->out);
    free(c);
}

/* Closes the connection at once, with a reset if some input was not read. */
static inline void fake_flush(struct fake_conn *c)
{
    while (c->out.len > 0) {
        ssize_t n = send(c->fd, c->out.data, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n <= 0)
            break;
        buf_consume(&c->out, (size_t)n);
    }
    loop_fd_set(c->ev, LOOP_READ | (c->out.len > 0 || c->closing ? LOOP_WRITE : 0));
}

static inline void fake_send(struct fake_conn *c, const char *data, size_t len)
{
    buf_put_raw(&c->out, data, len);
    fake_flush(c);
}

static inline void fake_text(struct fake_conn *c, const char *text)
{
    fake_send(c, text, strlen(text));
}

/* Closes the connection after everything has been written. */
static inline void fake_close(struct fake_conn *c)
{
    c->closing = true;
    fake_flush(c);
}

static inline void fake_reply(struct fake_conn *c, int status, const char *body)
{
    FREE_AUTO char *text = xasprintf("HTTP/1.1 %d Word\r\nContent-Type: application/json\r\n"
                                     "Content-Length: %zu\r\n\r\n%s",
                                     status, strlen(body), body);

    fake_text(c, text);
}

static inline void fake_stream(struct fake_conn *c)
{
    fake_text(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 "Transfer-Encoding: chunked\r\n\r\n");
}

static inline void fake_chunk(struct fake_conn *c, const char *text)
{
    FREE_AUTO char *chunk = xasprintf("%zx\r\n%s\r\n", strlen(text), text);

    fake_text(c, chunk);
}

static inline void fake_stream_end(struct fake_conn *c)
{
    fake_text(c, "0\r\n\r\n");
}

/* Removes one whole request from `in`; false: there is none yet. */
static inline bool fake_take(struct fake_conn *c)
{
    char *data = (char *)c->in.data;
    char *end = c->in.len ? memmem(data, c->in.len, "\r\n\r\n", 4) : NULL;

    if (!end)
        return false;
    FREE_AUTO char *head = strndup(data, (size_t)(end - data));
    const char *length = strcasestr(head, "\r\ncontent-length:");
    size_t body_len = length ? strtoul(length + 17, NULL, 10) : 0;
    size_t head_len = (size_t)(end - data) + 4;
    if (c->in.len < head_len + body_len)
        return false;
    FREE_AUTO char *body = strndup(end + 4, body_len);
    char method[16] = "", target[1024] = "";
    if (sscanf(head, "%15s %1023s", method, target) != 2)
        abort();
    buf_consume(&c->in, head_len + body_len);
    c->fake->on_request(c, method, target, head, body, c->fake->arg);
    return true;
}

static inline void fake_on_ready(int fd, int events, void *arg)
{
    struct fake_conn *c = arg;
    char data[65536];
    ssize_t n = events & LOOP_READ ? recv(fd, data, sizeof(data), MSG_DONTWAIT) : 1;

    if (n <= 0) {
        fake_drop(c);
        return;
    }
    if (events & LOOP_WRITE)
        fake_flush(c);
    if (c->closing && c->out.len == 0) {
        fake_drop(c);
        return;
    }
    if (events & LOOP_READ) {
        buf_put_raw(&c->in, data, (size_t)n);
        while (fake_take(c))
            ;
    }
}

static inline void fake_on_accept(int fd, int events, void *arg)
{
    struct fake *f = arg;
    struct fake_conn *c = xcalloc(1, sizeof(*c));
    int on = 1;

    c->fake = f;
    c->fd = accept(fd, NULL, NULL);
    /* Each part comes at once, so a test's own clock does not run ahead of the network. */
    if (c->fd < 0 || setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
        abort();
    buf_init(&c->in, 64u << 20);
    buf_init(&c->out, 64u << 20);
    c->ev = loop_fd_create(f->loop, c->fd, LOOP_READ, fake_on_ready, c);
    DL_APPEND(f->conns, c);
    f->accepted++;
}

/* Listens on 127.0.0.1 at `port` (0: a free one). */
static inline void fake_start(struct fake *f, struct loop *loop, unsigned short port,
                              fake_fn *on_request, void *arg)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int on = 1;

    *f = (struct fake){.loop = loop, .on_request = on_request, .arg = arg};
    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(f->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(f->fd, (struct sockaddr *)&a, len) < 0 || listen(f->fd, 64) < 0 ||
        getsockname(f->fd, (struct sockaddr *)&a, &len) < 0)
        abort();
    f->port = ntohs(a.sin_port);
    f->ev = loop_fd_create(loop, f->fd, LOOP_READ, fake_on_accept, f);
}

static inline void fake_stop(struct fake *f)
{
    struct fake_conn *c, *tmp;

    DL_FOREACH_SAFE(f->conns, c, tmp)
    {
        fake_drop(c);
    }
    loop_fd_destroy(f->ev);
    if (f->fd >= 0)
        close(f->fd);
    f->ev = NULL;
    f->fd = -1;
}

#endif
