/* SPDX-License-Identifier: BSD-3-Clause */
/* Trust bundles: PEM texts with the certificates of one authority or several.
 *
 * In: PEM texts. Out: other PEM texts, and answers about them. Certificates are compared by their
 * contents, so spaces and comments between them mean nothing.
 *
 * While an authority is replaced, the bundle has the old and the new one. OpenSSL finds the issuer
 * of a certificate by the key identifiers that ca.c writes, also among authorities of equal names.
 *
 * The steps of an authority ask for the same few certificates again and again. To decode and verify
 * them was most of the operator's work for a new cluster (docs/benchmarks.md). So the last
 * KNOWN_MAX are kept with their issuers, also those that were issued here.
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

/* Of a cluster six certificates, or seven. The operator works for 16 clusters at a time. */
#define KNOWN_MAX 128

static struct known {
    unsigned char *der;
    long len;
    X509 *cert;
    X509 *issuer; /* NULL: not verified yet */
} known[KNOWN_MAX];
static unsigned next_known;

static void forget_cert(struct known *k)
{
    OPENSSL_free(k->der);
    X509_free(k->cert);
    X509_free(k->issuer);
    *k = (struct known){0};
}

static BIO *open_text(const char *pem)
{
    return BIO_new_mem_buf(pem ? pem : "", -1);
}

/* Takes `der`, of OpenSSL's memory, and the certificate. */
static struct known *keep_cert(unsigned char *der, long len, X509 *cert)
{
    struct known *k = &known[next_known++ % KNOWN_MAX];

    forget_cert(k);
    *k = (struct known){.der = der, .len = len, .cert = cert};
    return k;
}

/* Takes `der`, of OpenSSL's memory. NULL: it is no certificate. */
static X509 *decode_cert(unsigned char *der, long len)
{
    const unsigned char *at = der;
    struct known *k = known;

    while (k < known + KNOWN_MAX && (k->len != len || memcmp(k->der, der, (size_t)len) != 0))
        k++;
    if (k < known + KNOWN_MAX) {
        OPENSSL_free(der);
    } else {
        X509 *cert = d2i_X509(NULL, &at, len);

        if (!cert) {
            OPENSSL_free(der);
            return NULL;
        }
        k = keep_cert(der, len, cert);
    }
    X509_up_ref(k->cert);
    return k->cert;
}

void tls_keep_issued(X509 *cert, X509 *issuer)
{
    unsigned char *der = NULL;
    int len = i2d_X509(cert, &der);

    if (len <= 0)
        return;
    X509_up_ref(cert);
    X509_up_ref(issuer);
    keep_cert(der, len, cert)->issuer = issuer;
}

static X509 *next_cert(BIO *bio)
{
    unsigned char *der = NULL;
    long len = 0;
    X509 *cert = NULL;

    if (bio && PEM_bytes_read_bio(&der, &len, NULL, PEM_STRING_X509, bio, NULL, NULL) == 1)
        cert = decode_cert(der, len);
    ERR_clear_error();
    return cert;
}

void tls_bundle_forget(void)
{
    for (struct known *k = known; k < known + KNOWN_MAX; k++)
        forget_cert(k);
}

X509 *tls_first_cert(const char *pem)
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
    CERT_AUTO X509 *want = tls_first_cert(cert_pem);

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

static bool is_issuer(X509 *issuer, X509 *leaf)
{
    struct known *k = known;

    while (k < known + KNOWN_MAX && k->cert != leaf)
        k++;
    if (k < known + KNOWN_MAX && k->issuer == issuer)
        return true;
    if (X509_check_issued(issuer, leaf) != X509_V_OK ||
        X509_verify(leaf, X509_get0_pubkey(issuer)) != 1)
        return false;
    if (k < known + KNOWN_MAX) {
        X509_up_ref(issuer);
        X509_free(k->issuer);
        k->issuer = issuer;
    }
    return true;
}

char *tls_bundle_issuer(const char *bundle_pem, const char *cert_pem)
{
    CERT_AUTO X509 *leaf = tls_first_cert(cert_pem);
    BIO_AUTO BIO *bio = open_text(bundle_pem);
    char *text = NULL;
    X509 *cert;

    while (leaf && !text && (cert = next_cert(bio))) {
        if (is_issuer(cert, leaf))
            text = text_of_cert(cert);
        X509_free(cert);
        ERR_clear_error();
    }
    return text;
}
