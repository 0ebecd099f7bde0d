/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: a server on loopback, and clients in threads of their own. */
#ifndef BASE_HTTPD_TEST_CLIENT_H
#define BASE_HTTPD_TEST_CLIENT_H

#include "base/buf/buf.h"
#include "base/httpd/httpd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define CLIENT_ANSWER_MAX (8u << 20)

/* A blocking connection, for use in a client's thread. */
struct link {
    int fd;
    SSL *ssl; /* NULL: plain, or the handshake failed */
};

static inline struct link link_open(uint16_t port, struct tls_ctx *tls)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 60};
    struct link l = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

    setsockopt(l.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(l.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        abort();
    if (tls) {
        l.ssl = tls_new_client(tls, NULL, NULL);
        SSL_set_fd(l.ssl, l.fd);
        if (SSL_connect(l.ssl) != 1) {
            SSL_free(l.ssl);
            l.ssl = NULL;
            shutdown(l.fd, SHUT_RDWR);
        }
    }
    return l;
}

static inline void link_close(struct link *l)
{
    SSL_free(l->ssl);
    close(l->fd);
}

static inline void link_send(struct link *l, const char *text)
{
    size_t len = strlen(text);

    if (l->ssl)
        SSL_write(l->ssl, text, (int)len);
    else if (send(l->fd, text, len, MSG_NOSIGNAL) < 0)
        return;
}

/* Appends the bytes of the next read; false at the end. */
static inline bool link_read(struct link *l, struct buf *into)
{
    char chunk[16384];
    ssize_t n =
        l->ssl ? SSL_read(l->ssl, chunk, sizeof(chunk)) : recv(l->fd, chunk, sizeof(chunk), 0);

    if (n > 0)
        buf_put_raw(into, chunk, (size_t)n);
    return n > 0 && !into->failed;
}

/* Reads until `text` has arrived (true) or the connection has ended (false). The buffer stays a
 * string. */
static inline bool link_read_until(struct link *l, struct buf *into, const char *text)
{
    do {
        buf_put_u8(into, 0);
        into->len--;
        if (text && strstr((const char *)into->data, text))
            return true;
    } while (link_read(l, into));
    buf_put_u8(into, 0);
    into->len--;
    return text && strstr((const char *)into->data, text);
}

/* One request in a thread; the answer up to the end of the connection. */
struct client {
    struct loop *loop;
    uint16_t port;
    struct tls_ctx *tls;
    const char *request;
    void (*talk)(struct client *c, struct link *l); /* NULL: send the request, read to the end */
    void *arg;
    struct buf answer;
    bool connected;
    pthread_t thread;
};

static inline void client_stop_loop(void *loop)
{
    loop_stop(loop);
}

static inline void *client_main(void *arg)
{
    struct client *c = arg;
    struct link l = link_open(c->port, c->tls);

    c->connected = !c->tls || l.ssl;
    if (c->talk) {
        c->talk(c, &l);
    } else {
        link_send(&l, c->request);
        link_read_until(&l, &c->answer, NULL);
    }
    link_close(&l);
    loop_post(c->loop, client_stop_loop, c->loop);
    return NULL;
}

/* The caller frees c->answer. */
static inline void client_start(struct client *c)
{
    buf_init(&c->answer, CLIENT_ANSWER_MAX);
    if (pthread_create(&c->thread, NULL, client_main, c) != 0)
        abort();
}

static inline void client_join(struct client *c)
{
    pthread_join(c->thread, NULL);
}

/* Runs the loop until the client is done, or until another callback stops the loop. */
static inline void client_run(struct client *c)
{
    client_start(c);
    if (loop_run(c->loop, NULL) < 0)
        abort();
    client_join(c);
}

#endif
