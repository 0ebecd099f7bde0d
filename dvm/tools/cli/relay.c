/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects to a daemon by mutual TLS, and copies bytes between it and the program that started us.
 *
 * In: a socket of that program, the host or its address, a certificate. Out: CLIENT_REACHED with
 * the address, or CLIENT_UNREACHED with a reason; then the bytes of both directions.
 *
 * Phases: (1) resolve the name; (2) try its addresses in turn: connect, handshake, check the role
 * and cluster of the daemon's certificate, wait for its first message, which shows that it accepts
 * ours; (3) copy until one side closes; (4) deliver what is left. Addresses in `away` are skipped:
 * their daemons take no jobs now.
 *
 * An address gets ADDRESS_MS while others follow it, all together CONNECT_MS. A reason that
 * concerns certificates is kept before others, since waiting does not mend it.
 *
 * Limits: BUFFER_MAX bytes per direction; a full buffer stops the reading from its source. When the
 * program has closed, the daemon gets the rest for LEAVE_MS. When the daemon has closed, the
 * program gets all, or closes. The relay does not look into messages and does not reconnect:
 * resume.c does. */
#include "dvm/tools/cli/relay.h"

#include "api/role.h"
#include "base/buf/buf.h"
#include "base/tls/tls.h"
#include "dvm/host/net/tcp.h"
#include "dvm/protocol/wire/client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS 20000 /* for all addresses */
#define ADDRESS_MS 3000  /* for one that is not the last */
#define LEAVE_MS 1000    /* for remaining bytes after the program has closed */
#define BUFFER_MAX (512u << 10)
#define CHUNK (64u << 10)

struct way { /* bytes of one direction */
    struct buf b;
    size_t sent; /* delivered, not yet dropped from the front */
};

struct relay {
    const struct relay_opts *o;
    int fd;
    struct tls_ctx *tls;
    struct tls_peer own;
    SSL *ssl; /* owns no descriptor: the socket is ours */
    int sock; /* -1: none */
    char address[NI_MAXHOST];
    int64_t until;       /* when to give up the address, or the last one */
    struct way up, down; /* bytes towards the daemon, bytes towards the program */
};

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- reports to the program */

static void send_msg(struct relay *r, const struct client_msg *m)
{
    BUF_AUTO struct buf body = {0};

    buf_init(&body, CLIENT_TEXT_MAX);
    client_msg_encode(&body, m);
    buf_put_bytes(&r->down.b, body.data, body.len);
}

static int give_up(struct relay *r, const struct err *err)
{
    struct client_msg m = {.type = CLIENT_UNREACHED,
                           .unreached = {err->code == EACCES, (char *)err->msg}};

    send_msg(r, &m);
    (void)!write(r->fd, r->down.b.data, r->down.b.len);
    return EXIT_FAILURE;
}

/* --- connecting */

/* Waits until the socket is ready. The program's end, or the time r->until, ends the wait. */
static int wait_for(const struct relay *r, short events, struct err *err)
{
    for (;;) {
        struct pollfd p[2] = {{.fd = r->sock, .events = events}, {.fd = r->fd}};
        int64_t left = r->until - now_ms();
        int n = left > 0 ? poll(p, 2, (int)left) : 0;

        if (n == 0)
            return err_code(err, ETIMEDOUT, "no answer");
        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "waiting");
        if (n > 0 && p[1].revents)
            return err_code(err, EPIPE, "nobody waits for the connection");
        if (n > 0 && p[0].revents)
            return 0;
    }
}

static int connect_tcp(struct relay *r, const struct addrinfo *ai, struct err *err)
{
    int errnum = 0;
    socklen_t len = sizeof(errnum);

    r->sock = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->sock < 0)
        return err_sys(err, errno, "making a socket");
    if (connect(r->sock, ai->ai_addr, ai->ai_addrlen) < 0) {
        if (errno != EINPROGRESS)
            return err_sys(err, errno, "connecting");
        if (wait_for(r, POLLOUT, err) < 0)
            return -1;
        if (getsockopt(r->sock, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0 || errnum)
            return err_sys(err, errnum, "connecting");
    }
    net_tcp_options(r->sock);
    return 0;
}

/* --- TLS */

/* The reason why the last call failed, as text. EACCES: certificates are the reason, so another
 * attempt is pointless. */
static int tls_reason(const struct relay *r, int ssl_error, struct err *err)
{
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    long verdict = SSL_get_verify_result(r->ssl);
    int errnum = errno;

    ERR_clear_error();
    if (verdict != X509_V_OK)
        return err_code(err, EACCES, "its certificate is not trusted by %s/ca.crt: %s",
                        r->o->tls_dir, X509_verify_cert_error_string(verdict));
    if (ssl_error == SSL_ERROR_SSL && ERR_GET_REASON(code) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return err_code(err, EACCES, "it refuses the certificate %s/tls.crt, or is no daemon: %s",
                        r->o->tls_dir, reason ? reason : "no reason given");
    if (ssl_error == SSL_ERROR_SYSCALL && errnum)
        return err_sys(err, errnum, "the connection broke");
    return err_set(err, "it closed the connection");
}

/* Calls `step` until it returns 1. */
static int until_done(struct relay *r, int (*call)(SSL *ssl), struct err *err)
{
    for (;;) {
        int rc, what;

        ERR_clear_error();
        rc = call(r->ssl);
        if (rc == 1)
            return 0;
        what = SSL_get_error(r->ssl, rc);
        if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE)
            return tls_reason(r, what, err);
        if (wait_for(r, what == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, err) < 0)
            return -1;
    }
}

static int shake_hands(struct relay *r, struct err *err)
{
    r->ssl = tls_new_client(r->tls, NULL, err);
    if (!r->ssl)
        return -1;
    if (SSL_set_fd(r->ssl, r->sock) != 1)
        return err_set(err, "TLS takes no socket");
    return until_done(r, SSL_do_handshake, err);
}

/* The authority belongs to the cluster: a daemon with its certificate is one of the DVM,
 * whatever name was used to reach it. Another user's certificate is refused. */
static int check_peer(const struct relay *r, struct err *err)
{
    struct tls_peer peer;

    if (tls_peer(r->ssl, &peer, err) < 0) {
        if (err)
            err->code = EACCES;
        return -1;
    }
    if (!api_role_is_daemon(api_role_of(peer.role)))
        return err_code(err, EACCES, "it shows a certificate of role %s, which is no daemon's",
                        peer.role);
    if (strcmp(peer.cluster, r->own.cluster) != 0)
        return err_code(err, EACCES,
                        "it is a daemon of %s, the certificate %s/tls.crt is one of %s",
                        peer.cluster, r->o->tls_dir, r->own.cluster);
    return 0;
}

static int peek_peer(SSL *ssl)
{
    uint8_t byte;

    return SSL_peek(ssl, &byte, 1);
}

/* The daemon has accepted our certificate only after its first message. */
static int hear_first(struct relay *r, struct err *err)
{
    return until_done(r, peek_peer, err);
}

static int load_credentials(struct relay *r, struct err *err)
{
    FREE_AUTO char *ca = xasprintf("%s/ca.crt", r->o->tls_dir);
    FREE_AUTO char *cert = xasprintf("%s/tls.crt", r->o->tls_dir);
    FREE_AUTO char *key = xasprintf("%s/tls.key", r->o->tls_dir);
    struct tls_files files = {ca, cert, key};

    r->tls = tls_ctx_create(&files, err);
    if (!r->tls || tls_ctx_own(r->tls, &r->own, err) < 0)
        return -1;
    if (!api_role_is_client(api_role_of(r->own.role)))
        return err_set(err, "%s is of role %s; programs need one of role user", cert, r->own.role);
    return 0;
}

/* --- the addresses of the host */

static bool is_away(const struct relay *r, const char *address)
{
    size_t n = strlen(address);

    for (const char *a = r->o->away; a && *a; a += strcspn(a, ",") + 1) {
        if (strncmp(a, address, n) == 0 && a[n] == ',')
            return true;
    }
    return false;
}

static int try_address(struct relay *r, const struct addrinfo *ai, struct err *err)
{
    if (connect_tcp(r, ai, err) == 0 && shake_hands(r, err) == 0 && check_peer(r, err) == 0 &&
        hear_first(r, err) == 0)
        return 0;
    SSL_free(r->ssl);
    r->ssl = NULL;
    if (r->sock >= 0)
        close(r->sock);
    r->sock = -1;
    return -1;
}

/* The reason of the last one is kept, unless an earlier one concerns certificates: that is not
 * mended by waiting. */
static int try_addresses(struct relay *r, const struct addrinfo *list, struct err *err)
{
    int64_t end = now_ms() + CONNECT_MS;

    err_set(err, "each of its addresses takes no jobs now");
    for (; list && err->code != EPIPE; list = list->ai_next) {
        struct err why = {0};

        if (getnameinfo(list->ai_addr, list->ai_addrlen, r->address, sizeof(r->address), NULL, 0,
                        NI_NUMERICHOST) != 0)
            r->address[0] = '\0';
        if (is_away(r, r->address))
            continue;
        r->until = list->ai_next && now_ms() + ADDRESS_MS < end ? now_ms() + ADDRESS_MS : end;
        if (try_address(r, list, &why) == 0)
            return 0;
        if (err->code != EACCES)
            *err = why;
    }
    return -1;
}

static int reach_daemon(struct relay *r, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    bool known = r->o->address && r->o->address[0];
    struct addrinfo *list = NULL;
    int rc;

    if (load_credentials(r, err) < 0) {
        err->code = EACCES;
        return -1;
    }
    rc = getaddrinfo(known ? r->o->address : r->o->host, r->o->port, &hints, &list);
    if (rc != 0)
        err_set(err, "its name is not resolved: %s", gai_strerror(rc));
    else
        rc = try_addresses(r, list, err);
    freeaddrinfo(list);
    return rc ? err_wrap(err, "no DVM at %s port %s", r->o->host, r->o->port) : 0;
}

/* --- copying */

static size_t bytes_left(const struct way *w)
{
    return w->b.len - w->sent;
}

static bool has_room(const struct way *w)
{
    return w->b.len + CHUNK <= BUFFER_MAX;
}

/* Bytes are dropped in large steps, since each drop moves the rest. */
static void was_sent(struct way *w, size_t n)
{
    w->sent += n;
    if (bytes_left(w) && w->sent < BUFFER_MAX / 2)
        return;
    buf_consume(&w->b, w->sent);
    w->sent = 0;
}

/* 1: progress; 0: nothing is possible now; -1: the end. */
static int ssl_result(const struct relay *r, int rc)
{
    int what = SSL_get_error(r->ssl, rc);

    ERR_clear_error();
    return what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static int from_daemon(struct relay *r)
{
    uint8_t chunk[CHUNK];
    int rc;

    if (!has_room(&r->down))
        return 0;
    rc = SSL_read(r->ssl, chunk, sizeof(chunk));
    if (rc <= 0)
        return ssl_result(r, rc);
    buf_put_raw(&r->down.b, chunk, (size_t)rc);
    return 1;
}

static int to_daemon(struct relay *r)
{
    int rc;

    if (!bytes_left(&r->up))
        return 0;
    rc = SSL_write(r->ssl, r->up.b.data + r->up.sent, (int)bytes_left(&r->up));
    if (rc <= 0)
        return ssl_result(r, rc);
    was_sent(&r->up, (size_t)rc);
    return 1;
}

static int io_result(ssize_t n)
{
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    return n ? 1 : -1;
}

static int from_program(struct relay *r)
{
    uint8_t chunk[CHUNK];
    ssize_t n;

    if (!has_room(&r->up))
        return 0;
    n = recv(r->fd, chunk, sizeof(chunk), 0);
    if (n > 0)
        buf_put_raw(&r->up.b, chunk, (size_t)n);
    return io_result(n);
}

static int to_program(struct relay *r)
{
    ssize_t n;

    if (!bytes_left(&r->down))
        return 0;
    n = send(r->fd, r->down.b.data + r->down.sent, bytes_left(&r->down), MSG_NOSIGNAL);
    if (n > 0)
        was_sent(&r->down, (size_t)n);
    return io_result(n);
}

static void wait_both(const struct relay *r)
{
    short up = (short)((has_room(&r->down) ? POLLIN : 0) | (bytes_left(&r->up) ? POLLOUT : 0));
    short down = (short)((has_room(&r->up) ? POLLIN : 0) | (bytes_left(&r->down) ? POLLOUT : 0));
    /* An end that is reported again and again would make the loop spin. */
    struct pollfd p[2] = {{.fd = up ? r->sock : -1, .events = up},
                          {.fd = down ? r->fd : -1, .events = down}};

    poll(p, 2, -1);
}

/* Copies until one side has closed. 1: the program; 2: the daemon. */
static int pass_on(struct relay *r)
{
    for (;;) {
        int done[] = {to_program(r), from_program(r), from_daemon(r), to_daemon(r)};

        if (done[0] < 0 || done[1] < 0)
            return 1;
        if (done[2] < 0 || done[3] < 0)
            return 2;
        if (!done[0] && !done[1] && !done[2] && !done[3])
            wait_both(r);
    }
}

static void wait_to_write(int fd, int64_t until)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    int64_t most = until < 0 ? -1 : until - now_ms();

    if (until < 0 || most > 0) /* a negative time would mean no limit */
        poll(&p, 1, (int)most);
}

/* After the end of one side its remaining bytes are delivered; the program reads them, or
 * closes. */
static void finish_relay(struct relay *r, int ended)
{
    int64_t until = now_ms() + LEAVE_MS;
    int done = 0;

    while (ended == 1 && done >= 0 && bytes_left(&r->up) && now_ms() < until) {
        done = to_daemon(r);
        if (done == 0)
            wait_to_write(r->sock, until);
    }
    while (ended == 2 && done >= 0 && bytes_left(&r->down)) {
        done = to_program(r);
        if (done == 0)
            wait_to_write(r->fd, -1);
    }
    SSL_shutdown(r->ssl);
}

static void release_relay(struct relay *r)
{
    SSL_free(r->ssl);
    if (r->sock >= 0)
        close(r->sock);
    tls_ctx_destroy(r->tls);
    buf_free(&r->up.b);
    buf_free(&r->down.b);
}

int relay_run(const struct relay_opts *o, int fd)
{
    struct relay r = {.o = o, .fd = fd, .sock = -1};
    struct client_msg m = {.type = CLIENT_REACHED, .reached = {r.address}};
    struct err err = {0};
    int code = EXIT_SUCCESS;

    signal(SIGPIPE, SIG_IGN);
    buf_init(&r.up.b, BUFFER_MAX);
    buf_init(&r.down.b, BUFFER_MAX);
    if (reach_daemon(&r, &err) < 0) {
        code = give_up(&r, &err);
    } else {
        send_msg(&r, &m);
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        finish_relay(&r, pass_on(&r));
    }
    release_relay(&r);
    return code;
}
