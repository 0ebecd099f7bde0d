/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutual TLS: contexts with reload, the peer's role, and a small certificate authority. */
#ifndef BASE_TLS_TLS_H
#define BASE_TLS_TLS_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ssl_st SSL;

/* TLS 1.3 only; both sides show a certificate of the cluster's authority. Its subject is
 * O=<cluster>, OU=<role>, CN=<name>, each of 1 to 64 bytes (bound of X.520). Any text is a role
 * here; the roles in use are those of api/role.h. */
#define TLS_NAME_MAX 256

struct tls_files {
    const char *ca;   /* trust bundle, PEM */
    const char *cert; /* PEM chain */
    const char *key;  /* PEM */
};

struct tls_ctx;
/* Reads the files at once; NULL and err name the file that is refused. Paths are copied. */
struct tls_ctx *tls_ctx_create(const struct tls_files *files, struct err *err);
void tls_ctx_destroy(struct tls_ctx *t);
/* Reads the files again if the mtime, inode or size of one has changed; new connections use the new
 * contents. 1: reloaded; 0: unchanged; -1: unreadable, and the old contents stay in force. */
int tls_ctx_refresh(struct tls_ctx *t, struct err *err) __attribute__((warn_unused_result));
struct tls_peer;
/* The subject of our own certificate. */
int tls_ctx_own(const struct tls_ctx *t, struct tls_peer *out, struct err *err)
    __attribute__((warn_unused_result));
/* A new connection, after a refresh whose failure keeps the old contents; the caller frees it by
 * SSL_free() or gives it to a bufferevent. A client checks that the certificate is valid for
 * `host`; NULL: any certificate of the authority. */
SSL *tls_new_server(struct tls_ctx *t, struct err *err);
SSL *tls_new_client(struct tls_ctx *t, const char *host, struct err *err);

/* Clients of one program that talk to servers of many authorities: one context for all, and each
 * connection brings the texts (PEM) of its authority, which are read at once. */
struct tls_texts {
    const char *ca;   /* trust bundle */
    const char *cert; /* chain */
    const char *key;
};
struct tls_clients;
struct tls_clients *tls_clients_create(struct err *err);
void tls_clients_destroy(struct tls_clients *t);
/* The caller frees it by SSL_free() or gives it to a bufferevent. The server's certificate must be
 * valid for `host` and be trusted by texts->ca. */
SSL *tls_clients_connect(struct tls_clients *t, const struct tls_texts *texts, const char *host,
                         struct err *err);
/* After the handshake of such a connection: frees what was decoded of the texts. */
void tls_drop_texts(SSL *ssl);

#define TLS_KEY_ID_BYTES 16 /* the first ones of the public key's SHA-256 */

struct tls_peer {
    char cluster[TLS_NAME_MAX];
    char role[TLS_NAME_MAX];
    char name[TLS_NAME_MAX];
    uint8_t key[TLS_KEY_ID_BYTES]; /* that the peer has proved to hold; zeroes: none */
};
/* Without the key. Called after the handshake. -1: the peer has shown no verified certificate, or
 * one without one of the fields. */
int tls_peer(const SSL *ssl, struct tls_peer *out, struct err *err)
    __attribute__((warn_unused_result));

/* Resumption: a handshake without signatures, if both sides ask for it before their handshakes. The
 * certificate of the peer is verified as in a full one. `server` names the server to a client, for
 * example by host and port; NULL for a server. A session that cannot be resumed costs a full
 * handshake. */
#define TLS_SESSIONS_MAX 4 /* kept for a server; each is used once */
#define TLS_SERVERS_MAX 64 /* for which sessions are kept; the oldest is dropped */
void tls_resume(struct tls_ctx *t, SSL *ssl, const char *server);
/* Of a client whose handshake was complete, before the connection is freed: keeps its session. */
void tls_keep(struct tls_ctx *t, SSL *ssl, const char *server);
bool tls_resumed(const SSL *ssl); /* after the handshake */
size_t tls_servers(const struct tls_ctx *t);

/* A key that a program holds beside its certificate, which it may share with others. The seed is
 * the key: who has it makes the same key again. */
#define TLS_SEED_BYTES 32
struct tls_held;
int tls_held_new_seed(uint8_t seed[TLS_SEED_BYTES], struct err *err)
    __attribute__((warn_unused_result));
struct tls_held *tls_held_create(const uint8_t seed[TLS_SEED_BYTES], struct err *err);
void tls_held_destroy(struct tls_held *h);
/* Of a client, before its handshake. */
int tls_offer_proof(SSL *ssl, struct err *err) __attribute__((warn_unused_result));
/* After the handshake: the client sends a proof, and the server waits for it. */
bool tls_has_proof(const SSL *ssl);
/* The proof that the client of this connection holds the key: valid on no other one. */
#define TLS_PROOF_BYTES 96
int tls_prove(const struct tls_held *h, SSL *ssl, uint8_t proof[TLS_PROOF_BYTES], struct err *err)
    __attribute__((warn_unused_result));
int tls_check_proof(SSL *ssl, const void *proof, size_t len, uint8_t id[TLS_KEY_ID_BYTES],
                    struct err *err) __attribute__((warn_unused_result));

/* Signs `data` with our own key, for every holder of the trust bundle. `use` is put before the
 * signed bytes, so a signature for one use is valid for no other. It does not begin with a space,
 * so it is valid for no handshake either (RFC 8446, 4.4.3).
 * Appends the certificate (DER, without a chain, so it must be issued by the authority itself) and
 * the signature, which covers the certificate too. */
#define TLS_CERT_MAX 3072
#define TLS_SIGNATURE_MAX 512
int tls_sign(const struct tls_ctx *t, const char *use, const void *data, size_t len,
             struct buf *cert, struct buf *signature, struct err *err)
    __attribute__((warn_unused_result));
/* Verifies that the holder of the certificate has signed the data, and that the trust bundle in
 * force trusts the certificate as in a handshake. *signer is its subject. */
struct tls_signed {
    const void *cert, *signature;
    size_t cert_len, signature_len;
};
int tls_verify(const struct tls_ctx *t, const char *use, const void *data, size_t len,
               const struct tls_signed *s, struct tls_peer *signer, struct err *err)
    __attribute__((warn_unused_result));

/* A certificate authority in memory: EC P-256, random serial numbers. The caller frees the PEM
 * texts. */
struct tls_ca;
struct tls_ca *tls_ca_create(const char *cluster, int days, struct err *err);
struct tls_ca *tls_ca_load(const char *cert_pem, const char *key_pem, struct err *err);
void tls_ca_destroy(struct tls_ca *ca);
char *tls_ca_cert_pem(const struct tls_ca *ca);
char *tls_ca_key_pem(const struct tls_ca *ca);
/* `names`: DNS names or IP addresses for subjectAltName, NULL-terminated; NULL: none. The
 * certificate is valid for clients and servers. */
int tls_ca_issue(struct tls_ca *ca, const char *role, const char *name, const char *const *names,
                 int days, char **cert_pem, char **key_pem, struct err *err)
    __attribute__((warn_unused_result));

/* The time in which a certificate is valid, in milliseconds since 1970. */
struct tls_life {
    int64_t begin_ms;
    int64_t end_ms;
};
/* Of the first certificate in a PEM text; it is not verified. For the thread of tls_bundle_*(). */
int tls_cert_life(const char *cert_pem, struct tls_life *out, struct err *err)
    __attribute__((warn_unused_result));

/* Trust bundles, as PEM texts; NULL and a text that is no PEM have no certificate. Of `cert_pem`
 * the first certificate counts. For one thread: the last certificates are kept decoded. */
size_t tls_bundle_count(const char *bundle_pem);
bool tls_bundle_has(const char *bundle_pem, const char *cert_pem);
/* True if both have the same certificates, in any order. */
bool tls_bundle_same(const char *a_pem, const char *b_pem);
/* The n-th certificate of the bundle, counted from 0, on the heap; NULL: there is none. */
char *tls_bundle_nth(const char *bundle_pem, size_t n);
/* The certificate of the bundle whose key has signed this one, on the heap; NULL: there is none. */
char *tls_bundle_issuer(const char *bundle_pem, const char *cert_pem);
void tls_bundle_forget(void); /* frees the certificates that are kept */

#endif
