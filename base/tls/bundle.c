/* SPDX-License-Identifier: BSD-3-Clause */
/* Trust bundles: PEM texts with the certificates of one authority or several.
 *
 * In: PEM texts. Out: other PEM texts, and answers about them. Certificates are compared by their
 * contents, so spaces and comments between them mean nothing.
 *
 * While an authority is replaced, the bundle has the old and the new one. OpenSSL finds the issuer
 * of a certificate by the key identifiers that ca.c writes, also among authorities of equal names.
 *
 * Failures: a text that is no PEM counts as one without certificates. */
#include "base/buf/buf.h"
#include "base/tls/tls_private.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}

#define BIO_AUTO __attribute__((cleanup(free_bio)))
#define CERT_AUTO __attribute__((cleanup(free_cert)))

static BIO *open_text(const char *pem)
{
    return BIO_new_mem_buf(pem ? pem : "", -1);
}

static X509 *next_cert(BIO *bio)
{
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

    ERR_clear_error();
    return cert;
}

static X509 *first_cert(const char *pem)
{
    BIO_AUTO BIO *bio = open_text(pem);

    return next_cert(bio);
}

static char *text_of_cert(X509 *cert)
{
    BIO_AUTO BIO *bio = BIO_new(BIO_s_mem());
    char *data = NULL;

    if (!bio || PEM_write_bio_X509(bio, cert) != 1)
        return NULL;
    long len = BIO_get_mem_data(bio, &data);
    return xasprintf("%.*s", (int)len, data);
}

size_t tls_bundle_count(const char *bundle_pem)
{
    BIO_AUTO BIO *bio = open_text(bundle_pem);
    size_t n = 0;
    X509 *cert;

    while ((cert = next_cert(bio))) {
        X509_free(cert);
        n++;
    }
    return n;
}

static bool has_cert(const char *bundle_pem, const X509 *want)
{
    BIO_AUTO BIO *bio = open_text(bundle_pem);
    bool found = false;
    X509 *cert;

    while (!found && (cert = next_cert(bio))) {
        found = X509_cmp(cert, want) == 0;
        X509_free(cert);
    }
    return found;
}

bool tls_bundle_has(const char *bundle_pem, const char *cert_pem)
{
    CERT_AUTO X509 *want = first_cert(cert_pem);

    return want && has_cert(bundle_pem, want);
}

bool tls_bundle_same(const char *a_pem, const char *b_pem)
{
    BIO_AUTO BIO *bio = open_text(a_pem);
    bool same = tls_bundle_count(a_pem) == tls_bundle_count(b_pem);
    X509 *cert;

    while (same && (cert = next_cert(bio))) {
        same = has_cert(b_pem, cert);
        X509_free(cert);
    }
    return same;
}

char *tls_bundle_nth(const char *bundle_pem, size_t n)
{
    BIO_AUTO BIO *bio = open_text(bundle_pem);
    char *text = NULL;
    X509 *cert;

    for (size_t i = 0; !text && (cert = next_cert(bio)); i++) {
        if (i == n)
            text = text_of_cert(cert);
        X509_free(cert);
    }
    return text;
}

char *tls_bundle_issuer(const char *bundle_pem, const char *cert_pem)
{
    CERT_AUTO X509 *leaf = first_cert(cert_pem);
    BIO_AUTO BIO *bio = open_text(bundle_pem);
    char *text = NULL;
    X509 *cert;

    while (leaf && !text && (cert = next_cert(bio))) {
        if (X509_check_issued(cert, leaf) == X509_V_OK &&
            X509_verify(leaf, X509_get0_pubkey(cert)) == 1)
            text = text_of_cert(cert);
        X509_free(cert);
        ERR_clear_error();
    }
    return text;
}
