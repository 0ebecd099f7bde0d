/* SPDX-License-Identifier: BSD-3-Clause */
/* Signs and checks credentials. */
#include "dvm/host/cred/sign.h"

#include "api/role.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define USE "dvm credential"

static_assert(CRED_CERT_MAX == TLS_CERT_MAX && CRED_SIGNATURE_MAX == TLS_SIGNATURE_MAX,
              "what is signed fits into a credential");

int cred_sign(const struct tls_ctx *t, const struct cred *who, uint64_t now_ms, struct buf *out,
              struct err *err)
{
    BUF_AUTO struct buf statement = {0};
    BUF_AUTO struct buf cert = {0};
    BUF_AUTO struct buf signature = {0};
    struct cred k = *who;

    k.issued_ms = now_ms;
    k.ends_ms = now_ms + CRED_LIFE_MS;
    buf_init(&statement, CRED_MAX);
    buf_init(&cert, CRED_CERT_MAX);
    buf_init(&signature, CRED_SIGNATURE_MAX);
    cred_encode_statement(&statement, &k);
    if (statement.failed)
        return err_set(err, "a credential: its statement is too long");
    if (tls_sign(t, USE, statement.data, statement.len, &cert, &signature, err) < 0)
        return err_wrap(err, "a credential");
    k.cert = cert.data;
    k.cert_len = cert.len;
    k.signature = signature.data;
    k.signature_len = signature.len;
    cred_encode(out, &k);
    return out->failed ? err_set(err, "a credential of more than %d bytes", CRED_MAX) : 0;
}

static int check_time(const struct cred *k, uint64_t now_ms, struct err *err)
{
    if (now_ms >= k->ends_ms)
        return err_set(err, "it ended %" PRIu64 " s ago", (now_ms - k->ends_ms) / 1000);
    if (k->issued_ms > now_ms + CRED_SKEW_MS)
        return err_set(err, "it begins in %" PRIu64 " s", (k->issued_ms - now_ms) / 1000);
    return 0;
}

static int check_signer(const struct tls_peer *p, const char *cluster, struct err *err)
{
    if (strcmp(p->cluster, cluster) != 0)
        return err_set(err, "it was signed in the cluster %s", p->cluster);
    if (!api_role_is_daemon(api_role_of(p->role)))
        return err_set(err, "it was signed by a %s, not a daemon", p->role);
    return 0;
}

/* Cheap checks come first. */
int cred_check(const struct tls_ctx *t, const char *cluster, const char *incarnation,
               uint64_t now_ms, const void *data, size_t len, struct cred *out, struct err *err)
{
    struct tls_signed s;
    struct tls_peer signer;
    size_t statement;
    struct cred k;

    if (cred_decode(data, len, &k, &statement, err) < 0)
        return -1;
    if (strcmp(k.incarnation, incarnation) != 0)
        return err_set(err, "it is of another DVM, or of an earlier incarnation of this one");
    if (check_time(&k, now_ms, err) < 0)
        return -1;
    s = (struct tls_signed){.cert = k.cert,
                            .cert_len = k.cert_len,
                            .signature = k.signature,
                            .signature_len = k.signature_len};
    if (tls_verify(t, USE, data, statement, &s, &signer, err) < 0 ||
        check_signer(&signer, cluster, err) < 0)
        return -1;
    *out = k;
    return 0;
}
