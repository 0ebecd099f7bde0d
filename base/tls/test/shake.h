/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: two ends of a TLS connection in one process, driven in turns. */
#ifndef BASE_TLS_TEST_SHAKE_H
#define BASE_TLS_TEST_SHAKE_H

#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Both ends of a connection. */
struct pair {
    SSL *server;
    SSL *client;
    int server_rc; /* 1 when its handshake is complete */
    int client_rc;
};

static inline void pair_free(struct pair *p)
{
    SSL_free(p->server);
    SSL_free(p->client);
}

#define PAIR_AUTO __attribute__((cleanup(pair_free)))

static inline bool pair_wants_more(const SSL *ssl, int rc)
{
    int why = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl, rc);

    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

/* Takes both SSL. */
static inline struct pair pair_shake(SSL *server, SSL *client)
{
    struct pair p = {.server = server, .client = client};
    BIO *a;
    BIO *b;

    assert_non_null(server);
    assert_non_null(client);
    assert_int_equal(BIO_new_bio_pair(&a, 0, &b, 0), 1);
    SSL_set_bio(server, a, a);
    SSL_set_bio(client, b, b);
    for (int i = 0; i < 20; i++) {
        p.client_rc = SSL_do_handshake(client);
        p.server_rc = SSL_do_handshake(server);
        if (!pair_wants_more(client, p.client_rc) && !pair_wants_more(server, p.server_rc))
            break;
    }
    return p;
}

#endif
