/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard input goes through the processes that input of a rank goes through, and comes back:
 *
 *     this process (as prun) - local socket - head - TLS over loopback - member - pipes - cat
 *
 * Each of the first three copies bytes in both directions, in pieces of PIECE bytes, as they come.
 * There are no frames, acknowledgements, jobs or limits. So the rate is what TLS and the kernel
 * give on this way. An end of a direction is passed on when its bytes have been written. */
#include "bench/link_chain.h"

#include "base/buf/buf.h"
#include "bench/link_node.h"
#include "bench/link_raw.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE (256u << 10)

struct side {
    int in, out; /* the same for a socket */
    SSL *ssl;    /* NULL: plain */
};

struct flow { /* one direction */
    struct side *from, *to;
    char *data;
    size_t at, end; /* bytes that wait to be written */
    bool ended, closed;
};

static void set_nonblocking(const struct side *s)
{
    fcntl(s->in, F_SETFL, fcntl(s->in, F_GETFL) | O_NONBLOCK);
    fcntl(s->out, F_SETFL, fcntl(s->out, F_GETFL) | O_NONBLOCK);
    if (s->ssl)
        SSL_set_mode(s->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

/* More than 0: so many bytes; 0: the end; -1: nothing now. */
static ssize_t read_side(const struct side *s, char *data, size_t len)
{
    size_t n = 0;

    if (!s->ssl)
        return read(s->in, data, len);
    ERR_clear_error();
    while (n < len) { /* a record at a time */
        int got = SSL_read(s->ssl, data + n, (int)(len - n));

        if (got > 0)
            n += (size_t)got;
        else if (n || SSL_get_error(s->ssl, got) == SSL_ERROR_WANT_READ)
            return n ? (ssize_t)n : -1;
        else
            return 0;
    }
    return (ssize_t)n;
}

static ssize_t write_side(const struct side *s, const char *data, size_t len)
{
    if (!s->ssl)
        return write(s->out, data, len);
    ERR_clear_error();
    return SSL_write(s->ssl, data, (int)len);
}

static void end_side(const struct side *s)
{
    if (s->ssl)
        SSL_shutdown(s->ssl);
    if (s->in == s->out)
        shutdown(s->out, SHUT_WR);
    else
        close(s->out);
}

static bool move_bytes(struct flow *f)
{
    ssize_t n;

    if (f->closed)
        return false;
    if (f->at == f->end && !f->ended) {
        n = read_side(f->from, f->data, PIECE);
        if (n < 0)
            return false;
        f->at = 0;
        f->end = (size_t)n;
        f->ended = n == 0;
    }
    if (f->ended) {
        end_side(f->to);
        f->closed = true;
        return true;
    }
    n = write_side(f->to, f->data + f->at, f->end - f->at);
    if (n <= 0)
        return false;
    f->at += (size_t)n;
    return true;
}

static void wait_for(const struct flow *f, size_t n)
{
    struct pollfd p[4];
    nfds_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (f[i].closed)
            continue;
        if (f[i].at == f[i].end)
            p[count++] = (struct pollfd){f[i].from->in, POLLIN, 0};
        else
            p[count++] = (struct pollfd){f[i].to->out, POLLOUT, 0};
    }
    poll(p, count, -1);
}

/* Until both directions have ended. */
static void copy_both(struct side *a, struct side *b)
{
    struct flow f[2] = {{.from = a, .to = b, .data = xmalloc(PIECE)},
                        {.from = b, .to = a, .data = xmalloc(PIECE)}};

    set_nonblocking(a);
    set_nonblocking(b);
    while (!f[0].closed || !f[1].closed) {
        bool moved = move_bytes(&f[0]);

        moved |= move_bytes(&f[1]);
        if (!moved)
            wait_for(f, 2);
    }
    free(f[0].data);
    free(f[1].data);
}

static struct side start_cat(void)
{
    int to[2], from[2];

    if (pipe(to) < 0 || pipe(from) < 0)
        bench_die("no pipe");
    if (fork() == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execlp("cat", "cat", (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    return (struct side){.in = from[0], .out = to[1]};
}

static void run_member(const char *pki, const struct sockaddr_in *head)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct side link = {.in = fd, .out = fd};
    struct side cat = start_cat();

    if (connect(fd, (const struct sockaddr *)head, sizeof(*head)) < 0)
        bench_die("no connection over the loopback interface");
    link.ssl = raw_tls(fd, pki, false);
    copy_both(&link, &cat);
    _exit(0);
}

static void run_head(const char *pki, int listener, int prun)
{
    int fd = accept(listener, NULL, NULL);
    struct side client = {.in = prun, .out = prun};
    struct side link = {.in = fd, .out = fd};

    link.ssl = raw_tls(fd, pki, true);
    copy_both(&client, &link);
    _exit(0);
}

void chain_run(const char *pki)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct side own = {.in = STDIN_FILENO, .out = STDOUT_FILENO};
    struct side head = {0};
    socklen_t len = sizeof(in);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int local[2];

    if (bind(listener, (struct sockaddr *)&in, len) < 0 || listen(listener, 1) < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, local) < 0)
        bench_die("no sockets");
    getsockname(listener, (struct sockaddr *)&in, &len);
    if (fork() == 0) {
        close(local[0]);
        run_head(pki, listener, local[1]);
    }
    close(local[1]);
    if (fork() == 0) {
        close(local[0]);
        close(listener);
        run_member(pki, &in);
    }
    close(listener);
    head.in = head.out = local[0];
    copy_both(&own, &head);
    while (wait(NULL) > 0)
        ;
}
