/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions that are resumed: a handshake without signatures (RFC 8446, 2.2), for fast reconnects.
 *
 * In: connections that end (tls_keep()) and begin (tls_resume()). Out: for a client, a session of a
 * former connection to this server; for a server, whether a ticket is accepted.
 *
 * A server keeps nothing: the session is in the ticket, which is encrypted with a key of the
 * SSL_CTX. Each connection gets one ticket. A client keeps the session of a connection that has
 * ended, and uses it once.
 *
 * Invariants: a session is used only if the peer's certificate in it is trusted now, by the rules
 * of a full handshake: chain, validity, purpose, host name. Sessions belong to the files that were
 * in force: a refresh drops a client's sessions and changes a server's key. Each handshake has a
 * new key exchange; there is no early data.
 *
 * Limits: TLS_SESSIONS_MAX sessions of a server, TLS_SERVERS_MAX servers, TICKET_S seconds.
 *
 * Failures: a session that cannot be used costs a full handshake, which accepts or refuses. */
#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "base/tls/tls_private.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#define TICKET_S 604800 /* the most that TLS 1.3 allows */

struct tls_sessions {
    char *server; /* the key */
    SSL_SESSION *list[TLS_SESSIONS_MAX];
    size_t n;
    UT_hash_handle hh;
};

/* As in a full handshake. */
static bool is_trusted_now(SSL *ssl, X509 *cert, STACK_OF(X509) * chain)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    bool trusted = false;

    if (ctx && cert &&
        X509_STORE_CTX_init(ctx, SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)), cert, chain) == 1) {
        X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);

        X509_VERIFY_PARAM_set_auth_level(param, SSL_get_security_level(ssl));
        trusted =
            X509_STORE_CTX_set_default(ctx, SSL_is_server(ssl) ? "ssl_client" : "ssl_server") ==
                1 &&
            X509_VERIFY_PARAM_set1(param, SSL_get0_param(ssl)) == 1 && X509_verify_cert(ctx) == 1;
    }
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return trusted;
}

/* Of a server that resumes. The chain that a client has sent is not in a ticket: a client whose
 * certificate needs one does a full handshake. */
static SSL_TICKET_RETURN on_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *key_name,
                                   size_t key_name_len, SSL_TICKET_STATUS status, void *arg)
{
    if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW)
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    if (!is_trusted_now(ssl, SSL_SESSION_get0_peer(session), NULL))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    return SSL_TICKET_RETURN_USE_RENEW;
}

int tls_resume_init(SSL_CTX *ssl, struct err *err)
{
    static const unsigned char id[] = "dvm";

    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET); /* until tls_resume() */
    SSL_CTX_set_timeout(ssl, TICKET_S);
    if (SSL_CTX_set_num_tickets(ssl, 0) != 1 ||
        SSL_CTX_set_session_id_context(ssl, id, sizeof(id)) != 1 ||
        SSL_CTX_set_session_ticket_cb(ssl, NULL, on_ticket, NULL) != 1)
        return tls_err(err, "setting resumption up");
    return 0;
}

static struct tls_sessions *find_sessions(const struct tls_ctx *t, const char *server)
{
    struct tls_sessions *s = NULL;

    HASH_FIND_STR(t->sessions, server, s);
    return s;
}

static void drop_sessions(struct tls_ctx *t, struct tls_sessions *s)
{
    HASH_DELETE(hh, t->sessions, s);
    for (size_t i = 0; i < s->n; i++)
        SSL_SESSION_free(s->list[i]);
    free(s->server);
    free(s);
}

void tls_resume_drop_all(struct tls_ctx *t)
{
    while (t->sessions)
        drop_sessions(t, t->sessions);
}

size_t tls_servers(const struct tls_ctx *t)
{
    return HASH_COUNT(t->sessions);
}

/* The newest one; NULL: none. */
static SSL_SESSION *take_session(struct tls_ctx *t, const char *server)
{
    struct tls_sessions *s = find_sessions(t, server);
    SSL_SESSION *session;

    if (!s)
        return NULL;
    session = s->list[--s->n];
    if (!s->n)
        drop_sessions(t, s);
    return session;
}

static void put_session(struct tls_ctx *t, const char *server, SSL_SESSION *session)
{
    struct tls_sessions *s = find_sessions(t, server);

    if (!s) {
        if (HASH_COUNT(t->sessions) >= TLS_SERVERS_MAX)
            drop_sessions(t, t->sessions); /* uthash keeps the order of insertion */
        s = xcalloc(1, sizeof(*s));
        s->server = xstrdup(server);
        HASH_ADD_KEYPTR(hh, t->sessions, s->server, strlen(s->server), s);
    }
    if (s->n == TLS_SESSIONS_MAX) {
        SSL_SESSION_free(s->list[0]);
        memmove(&s->list[0], &s->list[1], --s->n * sizeof(*s->list));
    }
    s->list[s->n++] = session;
}

static void resume_client(struct tls_ctx *t, SSL *ssl, const char *server)
{
    SSL_SESSION *session = SSL_get_SSL_CTX(ssl) == t->ssl ? take_session(t, server) : NULL;

    if (!session)
        return;
    if (SSL_set_session(ssl, session) != 1 ||
        !is_trusted_now(ssl, SSL_SESSION_get0_peer(session), SSL_get_peer_cert_chain(ssl)))
        SSL_set_session(ssl, NULL);
    SSL_SESSION_free(session);
    ERR_clear_error();
}

void tls_resume(struct tls_ctx *t, SSL *ssl, const char *server)
{
    SSL_clear_options(ssl, SSL_OP_NO_TICKET);
    if (SSL_is_server(ssl))
        SSL_set_num_tickets(ssl, 1);
    else
        resume_client(t, ssl, server);
}

/* A copy: OpenSSL marks the session of a connection that was not shut down as not resumable. */
void tls_keep(struct tls_ctx *t, SSL *ssl, const char *server)
{
    const SSL_SESSION *last = SSL_get_session(ssl);
    SSL_SESSION *session;

    if (SSL_get_SSL_CTX(ssl) != t->ssl || !last || !SSL_SESSION_is_resumable(last))
        return;
    session = SSL_SESSION_dup(last);
    if (session)
        put_session(t, server, session);
    ERR_clear_error();
}

bool tls_resumed(const SSL *ssl)
{
    return SSL_session_reused(ssl) == 1;
}
