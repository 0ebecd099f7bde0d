/* SPDX-License-Identifier: BSD-3-Clause */
/* A key that one program holds beside its certificate, and the proof of it on a connection.
 *
 * In: a connection after its handshake. Out: at the client, bytes for the server; at the server,
 * the name of the client's key.
 *
 * Programs of one role may share a certificate. So that they can be told apart, each holds an
 * Ed25519 key (RFC 8032). The proof is the public key and a signature of the connection's channel
 * binding (RFC 9266), which no other connection has: a proof that is seen cannot be used again.
 *
 * The client offers the protocol PROTOCOL by ALPN (RFC 7301). A server that does not know it
 * chooses none, and gets no proof. A server's proof is not asked for.
 *
 * Failures: a proof of another length, or of another connection, is refused. */
#include "base/tls/tls_private.h"

#include <assert.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#define PROTOCOL "dvm-proof/1"
#define PROTOCOL_LEN (sizeof(PROTOCOL) - 1)
#define PUBLIC_BYTES 32
#define SIGNATURE_BYTES 64
#define BINDING_LABEL "EXPORTER-Channel-Binding"
#define BINDING_BYTES 32
#define USE "dvm: proof of a held key" /* with its NUL before the signed bytes */
#define CONTENT_BYTES (sizeof(USE) + PUBLIC_BYTES + BINDING_BYTES)

static_assert(TLS_PROOF_BYTES == PUBLIC_BYTES + SIGNATURE_BYTES, "the parts of a proof");

struct tls_held {
    EVP_PKEY *key;
    uint8_t public[PUBLIC_BYTES];
};

int tls_held_new_seed(uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    ERR_clear_error();
    return RAND_priv_bytes(seed, TLS_SEED_BYTES) == 1 ? 0 : tls_err(err, "making a key");
}

struct tls_held *tls_held_create(const uint8_t seed[TLS_SEED_BYTES], struct err *err)
{
    struct tls_held *h = xcalloc(1, sizeof(*h));
    size_t len = sizeof(h->public);

    ERR_clear_error();
    h->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, TLS_SEED_BYTES);
    if (h->key && EVP_PKEY_get_raw_public_key(h->key, h->public, &len) == 1)
        return h;
    tls_err(err, "making a key");
    tls_held_destroy(h);
    return NULL;
}

void tls_held_destroy(struct tls_held *h)
{
    if (!h)
        return;
    EVP_PKEY_free(h->key);
    free(h);
}

/* --- which connections have a proof */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    for (unsigned at = 0; at < in_len && in[at] < in_len - at; at += 1u + in[at]) {
        if (in[at] != PROTOCOL_LEN || memcmp(in + at + 1, PROTOCOL, PROTOCOL_LEN) != 0)
            continue;
        *out = in + at + 1;
        *out_len = PROTOCOL_LEN;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

void tls_proof_init(SSL_CTX *ssl)
{
    SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
}

int tls_offer_proof(SSL *ssl, struct err *err)
{
    uint8_t list[1 + PROTOCOL_LEN] = {PROTOCOL_LEN};

    memcpy(list + 1, PROTOCOL, PROTOCOL_LEN);
    ERR_clear_error();
    return SSL_set_alpn_protos(ssl, list, sizeof(list)) == 0 ? 0 : tls_err(err, "offering a proof");
}

bool tls_has_proof(const SSL *ssl)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    SSL_get0_alpn_selected(ssl, &name, &len);
    return len == PROTOCOL_LEN && memcmp(name, PROTOCOL, PROTOCOL_LEN) == 0;
}

/* --- the proof */

static int put_content(uint8_t content[CONTENT_BYTES], SSL *ssl, const uint8_t *public,
                       struct err *err)
{
    uint8_t *binding = content + sizeof(USE) + PUBLIC_BYTES;

    memcpy(content, USE, sizeof(USE));
    memcpy(content + sizeof(USE), public, PUBLIC_BYTES);
    ERR_clear_error();
    if (SSL_export_keying_material(ssl, binding, BINDING_BYTES, BINDING_LABEL,
                                   strlen(BINDING_LABEL), NULL, 0, 0) != 1)
        return tls_err(err, "the channel binding of a connection");
    return 0;
}

int tls_prove(const struct tls_held *h, SSL *ssl, uint8_t proof[TLS_PROOF_BYTES], struct err *err)
{
    MD_AUTO EVP_MD_CTX *md = EVP_MD_CTX_new();
    uint8_t content[CONTENT_BYTES];
    size_t len = SIGNATURE_BYTES;

    if (put_content(content, ssl, h->public, err) < 0)
        return -1;
    memcpy(proof, h->public, PUBLIC_BYTES);
    if (!md || EVP_DigestSignInit(md, NULL, NULL, NULL, h->key) != 1 ||
        EVP_DigestSign(md, proof + PUBLIC_BYTES, &len, content, sizeof(content)) != 1)
        return tls_err(err, "signing the proof of a key");
    return 0;
}

static bool is_signed(const uint8_t *proof, const uint8_t content[CONTENT_BYTES])
{
    MD_AUTO EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, proof, PUBLIC_BYTES);
    bool ok =
        md && key && EVP_DigestVerifyInit(md, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestVerify(md, proof + PUBLIC_BYTES, SIGNATURE_BYTES, content, CONTENT_BYTES) == 1;

    EVP_PKEY_free(key);
    ERR_clear_error();
    return ok;
}

int tls_check_proof(SSL *ssl, const void *proof, size_t len, uint8_t id[TLS_KEY_ID_BYTES],
                    struct err *err)
{
    uint8_t content[CONTENT_BYTES], digest[EVP_MAX_MD_SIZE];

    if (len != TLS_PROOF_BYTES)
        return err_set(err, "a proof of a key has %d bytes, not %zu", TLS_PROOF_BYTES, len);
    if (put_content(content, ssl, proof, err) < 0)
        return -1;
    if (!is_signed(proof, content))
        return err_set(err, "the proof of a key is not one of this connection");
    if (EVP_Digest(proof, PUBLIC_BYTES, digest, NULL, EVP_sha256(), NULL) != 1)
        return tls_err(err, "the name of a key");
    memcpy(id, digest, TLS_KEY_ID_BYTES);
    return 0;
}
