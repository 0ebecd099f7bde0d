/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts for mutual TLS 1.3, their reload, and the subject of a peer's certificate.
 *
 * Input: the files with trust bundle, certificate and key. Output: connections (SSL objects) that
 * verify the peer against the bundle, and the peer's cluster, role and name.
 *
 * Invariants: both sides show a certificate; a connection uses the files that were there when it
 * was created, and keeps them; every connection is verified, also one that resumes a session
 * (resume.c).
 *
 * Failures: a file that is unreadable, or a key that does not fit its certificate, is an error that
 * names the file; a refresh then keeps the old contents in force. */
#include "base/tls/tls.h"

#include "base/buf/buf.h"
#include "base/tls/tls_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tls_err(struct err *err, const char *fmt, ...)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());
    char text[ERR_MSG_MAX];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    err_set(err, "%s: %s", text, reason ? reason : "no reason given");
    ERR_clear_error();
    return -1;
}

int tls_no_password(char *buf, int size, int writing, void *arg)
{
    return -1;
}

static int load_files(const struct tls_ctx *t, SSL_CTX *ssl, struct err *err)
{
    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(ssl, tls_no_password);
    if (SSL_CTX_load_verify_locations(ssl, t->ca, NULL) != 1)
        return tls_err(err, "reading the trust bundle %s", t->ca);
    if (SSL_CTX_use_certificate_chain_file(ssl, t->cert) != 1)
        return tls_err(err, "reading the certificate %s", t->cert);
    if (SSL_CTX_use_PrivateKey_file(ssl, t->key, SSL_FILETYPE_PEM) != 1)
        return tls_err(err, "reading the key %s for the certificate %s", t->key, t->cert);
    if (SSL_CTX_check_private_key(ssl) != 1)
        return tls_err(err, "the key %s does not fit the certificate %s", t->key, t->cert);
    return 0;
}

SSL_CTX *tls_create_empty(struct err *err)
{
    SSL_CTX *ssl = SSL_CTX_new(TLS_method());

    if (!ssl) {
        tls_err(err, "creating a TLS context");
        return NULL;
    }
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    /* The certificate's file says which chain is sent. OpenSSL would build one of the trust bundle
     * in each handshake and send the authority's certificate too, which every peer has: a third of
     * the time of a handshake on both sides. */
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    if (SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1) {
        tls_err(err, "setting a TLS context up");
        goto error;
    }
    tls_proof_init(ssl);
    if (tls_resume_init(ssl, err) < 0)
        goto error;
    return ssl;
error:
    SSL_CTX_free(ssl);
    return NULL;
}

static SSL_CTX *create_ssl_ctx(const struct tls_ctx *t, struct err *err)
{
    SSL_CTX *ssl = tls_create_empty(err);

    if (!ssl || load_files(t, ssl, err) == 0)
        return ssl;
    SSL_CTX_free(ssl);
    return NULL;
}

static int stat_files(const struct tls_ctx *t, struct stat st[TLS_FILES], struct err *err)
{
    const char *const paths[TLS_FILES] = {t->ca, t->cert, t->key};

    for (int i = 0; i < TLS_FILES; i++) {
        if (stat(paths[i], &st[i]) < 0)
            return err_sys(err, errno, "reading %s", paths[i]);
    }
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

struct tls_ctx *tls_ctx_create(const struct tls_files *files, struct err *err)
{
    struct tls_ctx *t = xcalloc(1, sizeof(*t));

    t->ca = xstrdup(files->ca);
    t->cert = xstrdup(files->cert);
    t->key = xstrdup(files->key);
    /* The times are read before the files: a change in between is seen by the next refresh. */
    if (stat_files(t, t->seen, err) < 0)
        goto error;
    t->ssl = create_ssl_ctx(t, err);
    if (!t->ssl)
        goto error;
    return t;
error:
    tls_ctx_destroy(t);
    return NULL;
}

void tls_ctx_destroy(struct tls_ctx *t)
{
    if (!t)
        return;
    tls_resume_drop_all(t);
    SSL_CTX_free(t->ssl);
    free(t->ca);
    free(t->cert);
    free(t->key);
    free(t);
}

int tls_ctx_refresh(struct tls_ctx *t, struct err *err)
{
    struct stat now[TLS_FILES];
    SSL_CTX *ssl;
    bool same = true;

    if (stat_files(t, now, err) < 0)
        return -1;
    for (int i = 0; i < TLS_FILES; i++)
        same = same && same_file(&t->seen[i], &now[i]);
    if (same)
        return 0;
    ssl = create_ssl_ctx(t, err);
    if (!ssl)
        return -1;
    tls_resume_drop_all(t);
    SSL_CTX_free(t->ssl);
    t->ssl = ssl;
    memcpy(t->seen, now, sizeof(now));
    return 1;
}

/* With the files of now. If they cannot be read, with those in force: the refresh of the context's
 * owner reports why. */
static SSL *new_connection(struct tls_ctx *t, struct err *err)
{
    struct err unread = {0};
    SSL *ssl;

    if (tls_ctx_refresh(t, &unread) < 0)
        ERR_clear_error();
    ssl = SSL_new(t->ssl);
    if (!ssl)
        tls_err(err, "creating a TLS connection");
    return ssl;
}

SSL *tls_new_server(struct tls_ctx *t, struct err *err)
{
    SSL *ssl = new_connection(t, err);

    if (!ssl)
        return NULL;
    SSL_set_accept_state(ssl);
    return ssl;
}

int tls_expect_host(SSL *ssl, const char *host)
{
    unsigned char addr[sizeof(struct in6_addr)];
    size_t len = strlen(host);
    FREE_AUTO char *name = xstrndup(host, len && host[len - 1] == '.' ? len - 1 : len);

    if (inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    /* Only subjectAltName counts: a CN is a name within the cluster and no host. */
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

SSL *tls_new_client(struct tls_ctx *t, const char *host, struct err *err)
{
    SSL *ssl = new_connection(t, err);

    if (!ssl)
        return NULL;
    SSL_set_connect_state(ssl);
    if (host && tls_expect_host(ssl, host) != 1) {
        tls_err(err, "creating a TLS connection to %s", host);
        SSL_free(ssl);
        return NULL;
    }
    return ssl;
}

int tls_subject_field(const X509 *cert, int nid, char out[TLS_NAME_MAX], struct err *err)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, nid, -1);
    unsigned char *text = NULL;
    int len;

    if (at < 0)
        return err_set(err, "the certificate's subject has no %s", OBJ_nid2sn(nid));
    if (X509_NAME_get_index_by_NID(subject, nid, at) >= 0)
        return err_set(err, "the certificate's subject has more than one %s", OBJ_nid2sn(nid));
    len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (len <= 0 || len >= TLS_NAME_MAX || memchr(text, '\0', (size_t)len)) {
        OPENSSL_free(text);
        ERR_clear_error();
        return err_set(err, "the certificate's subject has a malformed %s", OBJ_nid2sn(nid));
    }
    memcpy(out, text, (size_t)len);
    out[len] = '\0';
    OPENSSL_free(text);
    return 0;
}

int tls_subject(const X509 *cert, struct tls_peer *out, struct err *err)
{
    memset(out, 0, sizeof(*out));
    if (tls_subject_field(cert, NID_organizationName, out->cluster, err) == 0 &&
        tls_subject_field(cert, NID_organizationalUnitName, out->role, err) == 0 &&
        tls_subject_field(cert, NID_commonName, out->name, err) == 0)
        return 0;
    memset(out, 0, sizeof(*out));
    return -1;
}

int tls_ctx_own(const struct tls_ctx *t, struct tls_peer *out, struct err *err)
{
    if (tls_subject(SSL_CTX_get0_certificate(t->ssl), out, err) < 0)
        return err_wrap(err, "%s", t->cert);
    return 0;
}

int tls_peer(const SSL *ssl, struct tls_peer *out, struct err *err)
{
    const X509 *cert = SSL_get0_peer_certificate(ssl);
    long verdict = SSL_get_verify_result(ssl);

    memset(out, 0, sizeof(*out));
    if (!cert)
        return err_set(err, "the peer showed no certificate");
    if (verdict != X509_V_OK)
        return err_set(err, "the peer's certificate is not trusted: %s",
                       X509_verify_cert_error_string(verdict));
    return tls_subject(cert, out, err);
}
