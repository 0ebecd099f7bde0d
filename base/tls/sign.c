/* SPDX-License-Identifier: BSD-3-Clause */
/* Signs statements with our own certificate's key, and verifies them against the trust bundle. */
#include "base/tls/tls_private.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <string.h>

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}

static void free_store_ctx(X509_STORE_CTX **ctx)
{
    X509_STORE_CTX_free(*ctx);
}

#define CERT_AUTO __attribute__((cleanup(free_cert)))
#define STORE_CTX_AUTO __attribute__((cleanup(free_store_ctx)))

/* The signed bytes: the use with its NUL, the certificate with its length, the data. */
static void put_content(struct buf *b, const char *use, const void *cert, size_t cert_len,
                        const void *data, size_t len)
{
    buf_init(b, strlen(use) + 1 + 4 + cert_len + len);
    buf_put_raw(b, use, strlen(use) + 1);
    buf_put_bytes(b, cert, cert_len);
    buf_put_raw(b, data, len);
}

static int put_cert(const X509 *cert, struct buf *out, struct err *err)
{
    unsigned char *der = NULL;
    int len = i2d_X509(cert, &der);

    if (len > 0 && len <= TLS_CERT_MAX)
        buf_put_raw(out, der, (size_t)len);
    OPENSSL_free(der);
    if (len <= 0)
        return tls_err(err, "encoding our certificate");
    return len <= TLS_CERT_MAX && !out->failed ? 0 : err_set(err, "our certificate is too long");
}

int tls_sign(const struct tls_ctx *t, const char *use, const void *data, size_t len,
             struct buf *cert, struct buf *signature, struct err *err)
{
    MD_AUTO EVP_MD_CTX *md = EVP_MD_CTX_new();
    BUF_AUTO struct buf all = {0};
    unsigned char sig[TLS_SIGNATURE_MAX];
    size_t sig_len = sizeof(sig);
    size_t at = cert->len;

    ERR_clear_error();
    if (put_cert(SSL_CTX_get0_certificate(t->ssl), cert, err) < 0)
        return -1;
    put_content(&all, use, cert->data + at, cert->len - at, data, len);
    /* NULL digest: each kind of key has a default of its own. */
    if (!md || EVP_DigestSignInit(md, NULL, NULL, NULL, SSL_CTX_get0_privatekey(t->ssl)) != 1 ||
        EVP_DigestSign(md, sig, &sig_len, all.data, all.len) != 1)
        return tls_err(err, "signing");
    buf_put_raw(signature, sig, sig_len);
    return signature->failed ? err_set(err, "signing: the signature is too long") : 0;
}

/* Verifies as in a handshake, for a client's or a server's certificate. */
static int verify_peer(const struct tls_ctx *t, X509 *cert, struct err *err)
{
    STORE_CTX_AUTO X509_STORE_CTX *ctx = X509_STORE_CTX_new();

    if (!ctx || X509_STORE_CTX_init(ctx, SSL_CTX_get_cert_store(t->ssl), cert, NULL) != 1 ||
        X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT) != 1)
        return tls_err(err, "checking a certificate");
    if (X509_verify_cert(ctx) == 1)
        return 0;
    ERR_clear_error();
    return err_set(err, "the certificate is not trusted: %s",
                   X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
}

static X509 *cert_of(const struct tls_signed *s, struct err *err)
{
    const unsigned char *p = s->cert;
    X509 *cert = NULL;

    if (s->cert_len <= TLS_CERT_MAX)
        cert = d2i_X509(NULL, &p, (long)s->cert_len);
    if (cert && p == (const unsigned char *)s->cert + s->cert_len)
        return cert;
    X509_free(cert);
    ERR_clear_error();
    err_set(err, "the certificate is malformed");
    return NULL;
}

int tls_verify(const struct tls_ctx *t, const char *use, const void *data, size_t len,
               const struct tls_signed *s, struct tls_peer *signer, struct err *err)
{
    MD_AUTO EVP_MD_CTX *md = EVP_MD_CTX_new();
    CERT_AUTO X509 *cert = NULL;
    BUF_AUTO struct buf all = {0};

    ERR_clear_error();
    memset(signer, 0, sizeof(*signer));
    cert = cert_of(s, err);
    if (!cert || verify_peer(t, cert, err) < 0)
        return -1;
    put_content(&all, use, s->cert, s->cert_len, data, len);
    if (!md || EVP_DigestVerifyInit(md, NULL, NULL, NULL, X509_get0_pubkey(cert)) != 1)
        return tls_err(err, "checking a signature");
    if (EVP_DigestVerify(md, s->signature, s->signature_len, all.data, all.len) != 1) {
        ERR_clear_error();
        return err_set(err, "the signature is not that of the certificate's holder");
    }
    return tls_subject(cert, signer, err);
}
