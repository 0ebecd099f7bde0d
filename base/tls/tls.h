/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutual TLS: contexts with reload, the peer's role, and a small certificate authority. */
#ifndef BASE_TLS_TLS_H
#define BASE_TLS_TLS_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ssl_st SSL;

/* TLS 1.3 only, both sides show a certificate of the cluster's CA. A certificate's subject is
 * O=<cluster>, OU=<role>, CN=<name>, each of 1 to 64 bytes (X.520's bound); roles: head, member,
 * operator, user. */
#define TLS_ROLE_HEAD "head"
#define TLS_ROLE_MEMBER "member"
#define TLS_ROLE_OPERATOR "operator"
#define TLS_ROLE_USER "user"
#define TLS_NAME_MAX 256

struct tls_files {
    const char *ca;   /* trust bundle, PEM */
    const char *cert; /* PEM chain */
    const char *key;  /* PEM */
};

struct tls_ctx;
/* Reads the files now; -> NULL and a reason that names the file. Paths are copied. */
struct tls_ctx *tls_ctx_create(const struct tls_files *files, struct err *err);
void tls_ctx_destroy(struct tls_ctx *t);
/* Re-reads the files if one of them has changed (by mtime, inode or size); new connections use the
 * new ones. 1: reloaded, 0: unchanged, -1: unreadable, the old ones stay in force. */
int tls_ctx_refresh(struct tls_ctx *t, struct err *err) __attribute__((warn_unused_result));
struct tls_peer;
/* Whose our own certificate is. */
int tls_ctx_own(const struct tls_ctx *t, struct tls_peer *out, struct err *err)
    __attribute__((warn_unused_result));
/* A new connection; the caller frees it with SSL_free() or hands it to a bufferevent. For a client,
 * `host` (may be NULL: any name of the CA) is checked against the certificate's names. */
SSL *tls_new_server(struct tls_ctx *t, struct err *err);
SSL *tls_new_client(struct tls_ctx *t, const char *host, struct err *err);

struct tls_peer {
    char cluster[TLS_NAME_MAX];
    char role[TLS_NAME_MAX];
    char name[TLS_NAME_MAX];
};
/* After the handshake. -1 if the peer showed no (verified) certificate, or one with a missing
 * field. */
int tls_peer(const SSL *ssl, struct tls_peer *out, struct err *err)
    __attribute__((warn_unused_result));

/* A statement with our own key, for all who have our trust bundle. `use` goes in front of what is
 * signed: a signature for one use is good for no other, and, as it begins with no space, for no
 * handshake (RFC 8446, 4.4.3). Appends the certificate (DER, no chain: the authority's own word is
 * needed) and the signature, which covers the certificate too. */
#define TLS_CERT_MAX 3072
#define TLS_SIGNATURE_MAX 512
int tls_sign(const struct tls_ctx *t, const char *use, const void *data, size_t len,
             struct buf *cert, struct buf *signature, struct err *err)
    __attribute__((warn_unused_result));
/* Whether the holder of this certificate has signed this, and the bundle in force trusts it now as
 * it would in a handshake; *signer says who that is. */
struct tls_signed {
    const void *cert, *signature;
    size_t cert_len, signature_len;
};
int tls_verify(const struct tls_ctx *t, const char *use, const void *data, size_t len,
               const struct tls_signed *s, struct tls_peer *signer, struct err *err)
    __attribute__((warn_unused_result));

/* A certificate authority in memory. EC P-256; serial numbers are random. PEM texts on the heap are
 * the caller's. */
struct tls_ca;
struct tls_ca *tls_ca_create(const char *cluster, int days, struct err *err);
struct tls_ca *tls_ca_load(const char *cert_pem, const char *key_pem, struct err *err);
void tls_ca_destroy(struct tls_ca *ca);
char *tls_ca_cert_pem(const struct tls_ca *ca);
char *tls_ca_key_pem(const struct tls_ca *ca);
/* `names`: DNS names or IP addresses for subjectAltName (told apart by parsing), NULL-terminated,
 * may be NULL. Usable as client and server certificate. */
int tls_ca_issue(struct tls_ca *ca, const char *role, const char *name, const char *const *names,
                 int days, char **cert_pem, char **key_pem, struct err *err)
    __attribute__((warn_unused_result));

#endif
