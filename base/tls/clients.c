/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients of one program that talk to servers of many authorities, with one context for all.
 *
 * In: trust bundle, certificate and key as PEM texts, for each connection. Out: a connection (SSL
 * object) that shows this certificate and verifies the server against this bundle only.
 *
 * Invariant: the context has no trust bundle, certificate or key, so a connection trusts no server
 * but those of its own bundle.
 *
 * Why: a context for each authority costs 12 KB, and the decoded texts of a connection 15 KB, both
 * more than the connection itself. tls_drop_texts() frees the latter after the handshake, since
 * TLS 1.3 does not need them afterwards. The verified chain (5 KB) would stay, so it is not kept.
 *
 * Failures: a text that is malformed, or a key that does not fit its certificate, is an error that
 * names the text and the server. */
#include "base/tls/tls_private.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

struct tls_clients {
    SSL_CTX *ssl;
};

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}
#define BIO_AUTO __attribute__((cleanup(free_bio)))

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}
#define CERT_AUTO __attribute__((cleanup(free_cert)))

/* NULL: the text has no further certificate. */
static X509 *read_cert(BIO *text)
{
    return PEM_read_bio_X509(text, NULL, tls_no_password, NULL);
}

/* A text without a certificate is an error. */
static int use_bundle(SSL *ssl, const char *pem)
{
    BIO_AUTO BIO *text = BIO_new_mem_buf(pem, -1);
    X509_STORE *store = X509_STORE_new();
    X509 *cert;
    int n = 0;

    while (text && store && (cert = read_cert(text))) {
        n += X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
    }
    if (n > 0 && SSL_set0_verify_cert_store(ssl, store) == 1)
        return 0;
    X509_STORE_free(store);
    return -1;
}

/* The first certificate is ours, the others are its chain. */
static int use_cert(SSL *ssl, const char *pem)
{
    BIO_AUTO BIO *text = BIO_new_mem_buf(pem, -1);
    CERT_AUTO X509 *own = text ? read_cert(text) : NULL;
    X509 *issuer;

    if (!own || SSL_use_certificate(ssl, own) != 1)
        return -1;
    while ((issuer = read_cert(text))) {
        if (SSL_add0_chain_cert(ssl, issuer) == 1)
            continue;
        X509_free(issuer);
        return -1;
    }
    return 0;
}

static int use_key(SSL *ssl, const char *pem)
{
    BIO_AUTO BIO *text = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = text ? PEM_read_bio_PrivateKey(text, NULL, tls_no_password, NULL) : NULL;
    bool used = key && SSL_use_PrivateKey(ssl, key) == 1 && SSL_check_private_key(ssl) == 1;

    EVP_PKEY_free(key);
    return used ? 0 : -1;
}

static int set_up_client(SSL *ssl, const struct tls_texts *texts, const char *host, struct err *err)
{
    SSL_set_connect_state(ssl);
    if (use_bundle(ssl, texts->ca) < 0)
        return tls_err(err, "reading the trust bundle for %s", host);
    ERR_clear_error(); /* of the end of the text */
    if (use_cert(ssl, texts->cert) < 0)
        return tls_err(err, "reading the certificate for %s", host);
    ERR_clear_error();
    if (use_key(ssl, texts->key) < 0)
        return tls_err(err, "reading the key for %s", host);
    if (tls_expect_host(ssl, host) != 1)
        return tls_err(err, "creating a TLS connection to %s", host);
    return 0;
}

/* As without this callback, except that the connection does not keep the chain. */
static int verify_server(X509_STORE_CTX *verification, void *arg)
{
    bool trusted = X509_verify_cert(verification) == 1;

    X509_STORE_CTX_set0_verified_chain(verification, NULL);
    return trusted;
}

struct tls_clients *tls_clients_create(struct err *err)
{
    struct tls_clients *t = xcalloc(1, sizeof(*t));

    t->ssl = tls_create_empty(err);
    if (!t->ssl) {
        free(t);
        return NULL;
    }
    SSL_CTX_set_cert_verify_callback(t->ssl, verify_server, NULL);
    return t;
}

void tls_clients_destroy(struct tls_clients *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ssl);
    free(t);
}

SSL *tls_clients_connect(struct tls_clients *t, const struct tls_texts *texts, const char *host,
                         struct err *err)
{
    SSL *ssl;

    ERR_clear_error();
    ssl = SSL_new(t->ssl);
    if (!ssl) {
        tls_err(err, "creating a TLS connection to %s", host);
        return NULL;
    }
    if (set_up_client(ssl, texts, host, err) == 0)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

void tls_drop_texts(SSL *ssl)
{
    SSL_certs_clear(ssl);
    SSL_set0_verify_cert_store(ssl, NULL);
}
