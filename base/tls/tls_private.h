/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of base/tls: the context, errors of OpenSSL, fields of a subject, and kept
 * sessions. */
#ifndef BASE_TLS_TLS_PRIVATE_H
#define BASE_TLS_TLS_PRIVATE_H

#include "base/tls/tls.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#define TLS_FILES 3

struct tls_ctx {
    char *ca;
    char *cert;
    char *key;
    struct stat seen[TLS_FILES];
    SSL_CTX *ssl;
    struct tls_sessions *sessions; /* of clients, by server */
};

/* Like err_set(); appends the oldest error of OpenSSL's queue and empties the queue. */
int tls_err(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads the one field `nid` of the subject as UTF-8. -1: missing, repeated, empty, longer than
 * TLS_NAME_MAX - 1 bytes, or with an embedded NUL. */
int tls_subject_field(const X509 *cert, int nid, char out[TLS_NAME_MAX], struct err *err)
    __attribute__((warn_unused_result));

/* Reads all three fields. */
int tls_subject(const X509 *cert, struct tls_peer *out, struct err *err)
    __attribute__((warn_unused_result));

/* bundle.c: the first certificate of a PEM text, with a reference of the caller's; one of the last
 * few is not decoded again. For one thread. NULL: there is none. */
X509 *tls_first_cert(const char *pem);

/* bundle.c: `cert` is not decoded, and its issuer not verified, while it is one of the last few.
 * For one thread. */
void tls_keep_issued(X509 *cert, X509 *issuer);

/* A context of a signature, freed at the end of its scope. */
static inline void tls_free_md(EVP_MD_CTX **md)
{
    EVP_MD_CTX_free(*md);
}
#define MD_AUTO __attribute__((cleanup(tls_free_md)))

/* Refuses an encrypted key: without a callback OpenSSL would ask on the terminal. */
int tls_no_password(char *buf, int size, int writing, void *arg);

/* A context with everything but trust bundle, certificate and key. */
SSL_CTX *tls_create_empty(struct err *err);

/* The server's certificate must be valid for `host`. A name is also sent to the server (SNI). The
 * dot at the end of an absolute name is in neither. 1: done, as OpenSSL's functions have it. */
int tls_expect_host(SSL *ssl, const char *host);

/* proof.c: a server chooses the protocol of proofs if the client offers it. */
void tls_proof_init(SSL_CTX *ssl);

/* resume.c */
int tls_resume_init(SSL_CTX *ssl, struct err *err) __attribute__((warn_unused_result));
void tls_resume_drop_all(struct tls_ctx *t);

#endif
