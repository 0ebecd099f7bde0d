/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: a relay of bytes, which a client connects to instead of the head, and which can be
 * cut. */
#ifndef OPERATOR_DVM_TEST_RELAY_H
#define OPERATOR_DVM_TEST_RELAY_H

#include "base/buf/buf.h"
#include "base/loop/loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

struct pipe_end {
    struct relay *relay;
    int fd[2];
    struct loop_fd *ev[2];
    struct pipe_end *prev, *next;
};

struct relay {
    struct loop *loop;
    int fd;
    unsigned short port, to;
    struct loop_fd *ev;
    struct pipe_end *pipes;
    int accepted;
};

static inline void pipe_cut(struct pipe_end *p)
{
    DL_DELETE(p->relay->pipes, p);
    for (int i = 0; i < 2; i++) {
        loop_fd_destroy(p->ev[i]);
        close(p->fd[i]);
    }
    free(p);
}

static inline void on_pipe(int fd, int events, void *arg)
{
    struct pipe_end *p = arg;
    char data[65536];
    int other = fd == p->fd[0] ? p->fd[1] : p->fd[0];
    ssize_t n = recv(fd, data, sizeof(data), MSG_DONTWAIT);

    if (n <= 0 || send(other, data, (size_t)n, MSG_NOSIGNAL) != n)
        pipe_cut(p);
}

static inline int listen_or_connect(unsigned short port, bool do_connect)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = do_connect ? connect(fd, (struct sockaddr *)&a, sizeof(a))
                        : bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 16);

    assert_int_equal(rc, 0);
    return fd;
}

static inline void on_accept(int fd, int events, void *arg)
{
    struct relay *r = arg;
    struct pipe_end *p = xcalloc(1, sizeof(*p));

    p->relay = r;
    p->fd[0] = accept(fd, NULL, NULL);
    p->fd[1] = listen_or_connect(r->to, true);
    for (int i = 0; i < 2; i++) {
        /* Each part comes at once, so the test's own clock does not run ahead of the network. */
        assert_int_equal(setsockopt(p->fd[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)), 0);
        p->ev[i] = loop_fd_create(r->loop, p->fd[i], LOOP_READ, on_pipe, p);
    }
    DL_APPEND(r->pipes, p);
    r->accepted++;
}

static inline void relay_start(struct relay *r, struct loop *loop, unsigned short to)
{
    struct sockaddr_in a = {0};
    socklen_t len = sizeof(a);

    *r = (struct relay){.loop = loop, .to = to};
    r->fd = listen_or_connect(0, false);
    assert_int_equal(getsockname(r->fd, (struct sockaddr *)&a, &len), 0);
    r->port = ntohs(a.sin_port);
    r->ev = loop_fd_create(loop, r->fd, LOOP_READ, on_accept, r);
}

static inline void relay_cut(struct relay *r)
{
    struct pipe_end *p, *tmp;

    DL_FOREACH_SAFE(r->pipes, p, tmp)
    {
        pipe_cut(p);
    }
}

static inline void relay_stop(struct relay *r)
{
    relay_cut(r);
    loop_fd_destroy(r->ev);
    close(r->fd);
}

#endif
