/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes over TCP and TLS, without any daemon. */
#include "bench/link_raw.h"

#include "base/buf/buf.h"
#include "bench/figures.h"
#include "bench/link_node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
    int fd;
    SSL *ssl; /* NULL: without TLS */
};

struct pair {
    struct end near;
    pid_t far; /* runs the other end */
};

SSL *raw_tls(int fd, const char *pki, bool server)
{
    struct tls_ctx *t = node_tls(pki, server ? "head" : "member");
    SSL *ssl = server ? tls_new_server(t, NULL) : tls_new_client(t, NULL, NULL);

    if (!ssl || SSL_set_fd(ssl, fd) != 1 || SSL_do_handshake(ssl) != 1)
        bench_die("a TLS connection cannot be made");
    tls_ctx_destroy(t);
    return ssl;
}

static struct end end_of(int fd, const char *pki, bool server)
{
    struct end e = {.fd = fd};
    const int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (pki)
        e.ssl = raw_tls(fd, pki, server);
    return e;
}

static void put_all(const struct end *e, const char *data, size_t len)
{
    while (len) {
        ssize_t n = e->ssl ? SSL_write(e->ssl, data, (int)len) : write(e->fd, data, len);

        if (n <= 0)
            bench_die("a write failed");
        data += n;
        len -= (size_t)n;
    }
}

static size_t get_some(const struct end *e, char *data, size_t len)
{
    ssize_t n = e->ssl ? SSL_read(e->ssl, data, (int)len) : read(e->fd, data, len);

    return n > 0 ? (size_t)n : 0;
}

/* False: the other end has closed. */
static bool get_all(const struct end *e, char *data, size_t len)
{
    while (len) {
        size_t n = get_some(e, data, len);

        if (!n)
            return false;
        data += n;
        len -= n;
    }
    return true;
}

/* far() runs in a process of its own. */
static struct pair connect_pair(const char *pki, size_t arg, void (*far)(struct end *e, size_t arg))
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct pair p;
    int fd;

    if (bind(listener, (struct sockaddr *)&in, len) < 0 || listen(listener, 1) < 0)
        bench_die("a port cannot be listened at");
    getsockname(listener, (struct sockaddr *)&in, &len);
    p.far = fork();
    if (p.far == 0) {
        struct end e;

        use_cpu(1);
        e = end_of(accept(listener, NULL, NULL), pki, true);

        far(&e, arg);
        _exit(0);
    }
    close(listener);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&in, len) < 0)
        bench_die("no connection over the loopback interface");
    p.near = end_of(fd, pki, false);
    return p;
}

static void end_pair(struct pair *p)
{
    SSL_free(p->near.ssl);
    close(p->near.fd);
    waitpid(p->far, NULL, 0);
}

static void swallow_bytes(struct end *e, size_t bytes)
{
    char *data = xmalloc(RAW_PIECE);

    while (bytes) {
        size_t n = get_some(e, data, RAW_PIECE);

        if (!n)
            bench_die("a stream ended early");
        bytes -= n;
    }
    put_all(e, "d", 1);
}

double raw_stream_mb_s(const char *pki, size_t bytes)
{
    struct pair p = connect_pair(pki, bytes, swallow_bytes);
    char *data = xcalloc(1, RAW_PIECE);
    double start = now_ms();
    char done;

    for (size_t left = bytes; left;) {
        size_t n = left < RAW_PIECE ? left : RAW_PIECE;

        put_all(&p.near, data, n);
        left -= n;
    }
    if (!get_all(&p.near, &done, 1))
        bench_die("a stream was not read");
    start = now_ms() - start;
    end_pair(&p);
    free(data);
    return (double)bytes / 1e3 / start;
}

static void echo_messages(struct end *e, size_t len)
{
    char *data = xmalloc(len);

    while (get_all(e, data, len))
        put_all(e, data, len);
}

void raw_ping(const char *pki, size_t len, double *ms, size_t n)
{
    struct pair p = connect_pair(pki, len, echo_messages);
    char *data = xcalloc(1, len);

    for (size_t i = 0; i < n; i++) {
        double start = now_ms();

        put_all(&p.near, data, len);
        if (!get_all(&p.near, data, len))
            bench_die("an answer is missing");
        ms[i] = now_ms() - start;
    }
    end_pair(&p);
    free(data);
}
