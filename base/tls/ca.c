/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificate authority of one cluster: EC P-256, in memory, PEM in and out.
 *
 * In: the cluster's name, or certificate and key of an authority; a role, a name and host names.
 * Out: certificates with their keys.
 *
 * The authority signs certificates of the cluster only (path length 0, no further authorities).
 * Each certificate is valid for clients and servers, and its subject says cluster, role and name
 * (tls.h). Host names are for clients that connect by name; a peer is judged by cluster and role.
 *
 * A certificate begins CLOCK_SKEW_S before now. Serial numbers are random. Nothing is revoked and
 * no list is kept: a cluster's certificates end with its authority.
 *
 * Failures: a name that is neither DNS name nor address, a key that does not belong to its
 * certificate, and a certificate that may not sign others are refused with a reason. */
#include "base/buf/buf.h"
#include "base/tls/tls_private.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define X509_VERSION_3_VALUE 2L /* counted from 0 */
#define SERIAL_BITS 127         /* positive, at most 20 octets: RFC 5280, 4.1.2.2 */
#define CLOCK_SKEW_S 300 /* so that a fresh certificate is valid on hosts whose clock is behind */

#define ROLE_CA "ca"

struct tls_ca {
    X509 *cert;
    EVP_PKEY *key;
    char cluster[TLS_NAME_MAX];
};

static void free_bio(BIO **bio)
{
    BIO_free(*bio);
}

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}

static void free_names(GENERAL_NAMES **names)
{
    GENERAL_NAMES_free(*names);
}

static void free_bignum(BIGNUM **n)
{
    BN_free(*n);
}

#define BIO_AUTO __attribute__((cleanup(free_bio)))
#define KEY_AUTO __attribute__((cleanup(free_key)))
#define CERT_AUTO __attribute__((cleanup(free_cert)))
#define NAMES_AUTO __attribute__((cleanup(free_names)))
#define BIGNUM_AUTO __attribute__((cleanup(free_bignum)))

static char *text_of(BIO *bio)
{
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);
    char *text = xmalloc((size_t)len + 1);

    memcpy(text, data, (size_t)len);
    text[len] = '\0';
    return text;
}

/* NULL only when OpenSSL cannot encode. */
static char *pem_of_cert(X509 *cert)
{
    BIO_AUTO BIO *bio = BIO_new(BIO_s_mem());

    return bio && PEM_write_bio_X509(bio, cert) == 1 ? text_of(bio) : NULL;
}

static char *pem_of_key(EVP_PKEY *key)
{
    BIO_AUTO BIO *bio = BIO_new(BIO_s_mem());

    if (!bio || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        return NULL;
    return text_of(bio);
}

static int add_subject_field(X509_NAME *name, int nid, const char *value, struct err *err)
{
    if (X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, (const unsigned char *)value, -1, -1,
                                   0) != 1)
        return tls_err(err, "the subject's %s \"%s\"", OBJ_nid2sn(nid), value);
    return 0;
}

static int set_subject(X509 *cert, const char *cluster, const char *role, const char *name,
                       struct err *err)
{
    X509_NAME *subject = X509_get_subject_name(cert);

    if (add_subject_field(subject, NID_organizationName, cluster, err) < 0 ||
        add_subject_field(subject, NID_organizationalUnitName, role, err) < 0 ||
        add_subject_field(subject, NID_commonName, name, err) < 0)
        return -1;
    return 0;
}

static int set_serial(X509 *cert)
{
    BIGNUM_AUTO BIGNUM *n = BN_new();

    return n && BN_rand(n, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
           BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));
}

/* Begins a little before now; a certificate that ends in the past begins a day before its end. */
static int set_validity(X509 *cert, int days)
{
    int from_days = days <= 0 ? days - 1 : 0;

    return X509_time_adj_ex(X509_getm_notBefore(cert), from_days, -CLOCK_SKEW_S, NULL) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), days, 0, NULL);
}

static int add_ext(X509 *cert, X509 *issuer, int nid, const char *value, struct err *err)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;
    int ok;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok ? 0 : tls_err(err, "adding the extension %s", OBJ_nid2sn(nid));
}

static bool dns_name_ok(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*";
    size_t len = strlen(name);

    return len > 0 && len < TLS_NAME_MAX && strspn(name, allowed) == len;
}

static int add_name(GENERAL_NAMES *names, const char *text, struct err *err)
{
    unsigned char addr[sizeof(struct in6_addr)];
    int len = inet_pton(AF_INET, text, addr) == 1    ? 4
              : inet_pton(AF_INET6, text, addr) == 1 ? 16
                                                     : 0;
    const void *data = len ? (const void *)addr : text;
    GENERAL_NAME *name;
    ASN1_STRING *value;

    if (!len && !dns_name_ok(text))
        return err_set(err, "\"%s\" is neither a DNS name nor an address", text);
    name = GENERAL_NAME_new();
    value = ASN1_STRING_type_new(len ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    if (!name || !value || ASN1_STRING_set(value, data, len ? len : -1) != 1) {
        ASN1_STRING_free(value);
        GENERAL_NAME_free(name);
        return tls_err(err, "encoding the name \"%s\"", text);
    }
    GENERAL_NAME_set0_value(name, len ? GEN_IPADD : GEN_DNS, value);
    if (sk_GENERAL_NAME_push(names, name) <= 0) {
        GENERAL_NAME_free(name);
        return tls_err(err, "adding the name \"%s\"", text);
    }
    return 0;
}

static int add_names(X509 *cert, const char *const *texts, struct err *err)
{
    NAMES_AUTO GENERAL_NAMES *names = NULL;

    if (!texts || !texts[0])
        return 0;
    names = sk_GENERAL_NAME_new_null();
    if (!names)
        return tls_err(err, "creating subjectAltName");
    for (size_t i = 0; texts[i]; i++) {
        if (add_name(names, texts[i], err) < 0)
            return -1;
    }
    if (X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT) != 1)
        return tls_err(err, "adding subjectAltName");
    return 0;
}

/* A certificate without subject, extensions and signature. */
static X509 *draft_certificate(EVP_PKEY *key, int days, struct err *err)
{
    X509 *cert = X509_new();

    if (!cert || X509_set_version(cert, X509_VERSION_3_VALUE) != 1 || !set_serial(cert) ||
        !set_validity(cert, days) || X509_set_pubkey(cert, key) != 1) {
        tls_err(err, "creating a certificate");
        X509_free(cert);
        return NULL;
    }
    return cert;
}

static int sign_ca(struct tls_ca *ca, struct err *err)
{
    X509 *cert = ca->cert;

    if (set_subject(cert, ca->cluster, ROLE_CA, "certificate authority", err) < 0)
        return -1;
    if (X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1)
        return tls_err(err, "setting the issuer");
    if (add_ext(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0", err) < 0 ||
        add_ext(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign", err) < 0 ||
        add_ext(cert, cert, NID_subject_key_identifier, "hash", err) < 0)
        return -1;
    if (X509_sign(cert, ca->key, EVP_sha256()) <= 0)
        return tls_err(err, "signing");
    return 0;
}

struct tls_ca *tls_ca_create(const char *cluster, int days, struct err *err)
{
    struct tls_ca *ca = xcalloc(1, sizeof(*ca));

    ERR_clear_error();
    if (strlen(cluster) >= sizeof(ca->cluster)) {
        err_set(err, "creating a certificate authority: the cluster's name is too long");
        goto error;
    }
    memcpy(ca->cluster, cluster, strlen(cluster) + 1);
    ca->key = EVP_EC_gen("P-256");
    if (!ca->key) {
        tls_err(err, "creating the key of a certificate authority");
        goto error;
    }
    ca->cert = draft_certificate(ca->key, days, err);
    if (!ca->cert || sign_ca(ca, err) < 0) {
        err_wrap(err, "creating a certificate authority for %s", cluster);
        goto error;
    }
    tls_keep_issued(ca->cert, ca->cert);
    return ca;
error:
    tls_ca_destroy(ca);
    return NULL;
}

static int no_password(char *buf, int size, int writing, void *arg)
{
    return -1;
}

static X509 *cert_of_pem(const char *pem)
{
    BIO_AUTO BIO *bio = BIO_new_mem_buf(pem, -1);

    return bio ? PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
}

static EVP_PKEY *key_of_pem(const char *pem)
{
    BIO_AUTO BIO *bio = BIO_new_mem_buf(pem, -1);

    return bio ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL) : NULL;
}

struct tls_ca *tls_ca_load(const char *cert_pem, const char *key_pem, struct err *err)
{
    struct tls_ca *ca = xcalloc(1, sizeof(*ca));

    ERR_clear_error();
    ca->cert = cert_of_pem(cert_pem);
    if (!ca->cert) {
        tls_err(err, "reading the certificate of a certificate authority");
        goto error;
    }
    ca->key = key_of_pem(key_pem);
    if (!ca->key || X509_check_private_key(ca->cert, ca->key) != 1) {
        tls_err(err, "reading the key of a certificate authority");
        goto error;
    }
    if (X509_check_ca(ca->cert) != 1) {
        err_set(err, "reading a certificate authority: the certificate may not sign others");
        goto error;
    }
    if (tls_subject_field(ca->cert, NID_organizationName, ca->cluster, err) < 0) {
        err_wrap(err, "reading a certificate authority");
        goto error;
    }
    return ca;
error:
    tls_ca_destroy(ca);
    return NULL;
}

void tls_ca_destroy(struct tls_ca *ca)
{
    if (!ca)
        return;
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    free(ca);
}

char *tls_ca_cert_pem(const struct tls_ca *ca)
{
    return pem_of_cert(ca->cert);
}

char *tls_ca_key_pem(const struct tls_ca *ca)
{
    return pem_of_key(ca->key);
}

static int sign_leaf(const struct tls_ca *ca, X509 *cert, const char *const *names, struct err *err)
{
    if (X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) != 1)
        return tls_err(err, "setting the issuer");
    if (add_ext(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE", err) < 0 ||
        add_ext(cert, ca->cert, NID_key_usage, "critical,digitalSignature", err) < 0 ||
        add_ext(cert, ca->cert, NID_ext_key_usage, "serverAuth,clientAuth", err) < 0 ||
        add_ext(cert, ca->cert, NID_authority_key_identifier, "keyid", err) < 0 ||
        add_names(cert, names, err) < 0)
        return -1;
    if (X509_sign(cert, ca->key, EVP_sha256()) <= 0)
        return tls_err(err, "signing");
    return 0;
}

int tls_ca_issue(struct tls_ca *ca, const char *role, const char *name, const char *const *names,
                 int days, char **cert_pem, char **key_pem, struct err *err)
{
    KEY_AUTO EVP_PKEY *key = NULL;
    CERT_AUTO X509 *cert = NULL;
    FREE_AUTO char *cert_text = NULL;
    FREE_AUTO char *key_text = NULL;

    ERR_clear_error();
    key = EVP_EC_gen("P-256");
    if (!key)
        return tls_err(err, "creating a key for %s", name);
    cert = draft_certificate(key, days, err);
    if (!cert || set_subject(cert, ca->cluster, role, name, err) < 0 ||
        sign_leaf(ca, cert, names, err) < 0)
        return err_wrap(err, "issuing a certificate for %s %s", role, name);
    cert_text = pem_of_cert(cert);
    key_text = pem_of_key(key);
    if (!cert_text || !key_text)
        return tls_err(err, "encoding the certificate for %s %s", role, name);
    tls_keep_issued(cert, ca->cert);
    *cert_pem = cert_text;
    *key_pem = key_text;
    cert_text = NULL;
    key_text = NULL;
    return 0;
}

static int time_ms(const ASN1_TIME *t, int64_t *out, struct err *err)
{
    struct tm tm;

    if (ASN1_TIME_to_tm(t, &tm) != 1)
        return tls_err(err, "reading a time of a certificate");
    *out = (int64_t)timegm(&tm) * 1000;
    return 0;
}

int tls_cert_life(const char *cert_pem, struct tls_life *out, struct err *err)
{
    CERT_AUTO X509 *cert = NULL;

    ERR_clear_error();
    cert = tls_first_cert(cert_pem);
    if (!cert)
        return tls_err(err, "reading a certificate");
    if (time_ms(X509_get0_notBefore(cert), &out->begin_ms, err) < 0)
        return -1;
    return time_ms(X509_get0_notAfter(cert), &out->end_ms, err);
}
