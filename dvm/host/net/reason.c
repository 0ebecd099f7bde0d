/* SPDX-License-Identifier: BSD-3-Clause */
/* The reason, as a text, why a connection ended or was refused. */
#include "base/log/log.h"
#include "dvm/host/net/net_private.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#define REFUSALS_MS 1000

/* The first error is the cause; the others are dropped. */
static unsigned long take_tls_error(struct net_conn *c)
{
    unsigned long code = c->tls ? bufferevent_get_openssl_error(c->bev) : 0;

    while (c->tls && bufferevent_get_openssl_error(c->bev))
        ;
    return code;
}

/* With TLS, libevent reports it like any other end. */
static bool is_silence(int errnum)
{
    return errnum == ETIMEDOUT || errnum == EHOSTUNREACH || errnum == ENETUNREACH;
}

bool net_reason_of_end(struct net_conn *c, short what, char *text, size_t size)
{
    int errnum = errno;
    unsigned long code = take_tls_error(c);
    const char *reason = code ? ERR_reason_error_string(code) : NULL;
    long verdict = c->tls ? SSL_get_verify_result(bufferevent_openssl_get_ssl(c->bev)) : X509_V_OK;

    /* A missing TLS close alert is still an end: frames have lengths. */
    if (((what & BEV_EVENT_EOF) && !(c->tls && is_silence(errnum))) ||
        ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        snprintf(text, size, "%s", "closed by the peer");
        return true;
    }
    if (verdict != X509_V_OK)
        snprintf(text, size, "the peer's certificate is refused: %s",
                 X509_verify_cert_error_string(verdict));
    else if (reason)
        snprintf(text, size, "TLS: %s", reason);
    else
        snprintf(text, size, "the connection broke: %s",
                 errnum ? strerror(errnum) : "no reason given");
    return false;
}

void net_reason_peer_name(int fd, char *text, size_t size)
{
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];

    if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0 || ss.ss_family == AF_UNIX ||
        getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, size, "%s", "a local peer");
    else
        snprintf(text, size, "%s port %s", host, port);
}

/* An IPv4 address at a socket for both families is written like any other. */
static void put_address(const struct sockaddr_storage *ss, socklen_t len, char *text)
{
    static const char mapped[] = "::ffff:";
    char host[NI_MAXHOST];
    size_t skip;

    if (ss->ss_family == AF_UNIX || getnameinfo((const struct sockaddr *)ss, len, host,
                                                sizeof(host), NULL, 0, NI_NUMERICHOST) != 0)
        return;
    skip = strncmp(host, mapped, sizeof(mapped) - 1) == 0 && strchr(host, '.') ? sizeof(mapped) - 1
                                                                               : 0;
    snprintf(text, NET_ADDRESS_MAX, "%.*s", NET_ADDRESS_MAX - 1, host + skip);
}

struct net_ends net_ends(const struct net *n, uint64_t conn)
{
    const struct net_conn *c = net_conn_find(n, conn);
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);
    struct net_ends ends = {0};
    int fd = c && c->bev ? bufferevent_getfd(c->bev) : -1;

    if (fd < 0)
        return ends;
    if (getsockname(fd, (struct sockaddr *)&ss, &len) == 0)
        put_address(&ss, len, ends.own);
    len = sizeof(ss);
    if (getpeername(fd, (struct sockaddr *)&ss, &len) == 0)
        put_address(&ss, len, ends.other);
    return ends;
}

void net_reason_log_refusal(struct net *n, int fd, const char *why)
{
    uint64_t now_ms = loop_now_ms(n->loop);
    char peer[NI_MAXHOST + NI_MAXSERV + 8];

    if (n->refused_ms && now_ms < n->refused_ms + REFUSALS_MS) {
        n->refused_unsaid++;
        return;
    }
    net_reason_peer_name(fd, peer, sizeof(peer));
    log_warn("a connection is refused peer=\"%s\" reason=\"%s\" refused_meanwhile=%u", peer, why,
             n->refused_unsaid);
    n->refused_ms = now_ms;
    n->refused_unsaid = 0;
}
