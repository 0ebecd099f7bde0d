/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes and decodes a credential. */
#include "dvm/host/cred/cred.h"

#include <string.h>

#define MAGIC 0x44564d43u /* "DVMC" */
#define FORMAT 1

enum holder { HOLDER_RANK, HOLDER_TOOL, HOLDERS };

void cred_encode_statement(struct buf *b, const struct cred *c)
{
    buf_put_u32(b, MAGIC);
    buf_put_u8(b, FORMAT);
    buf_put_u8(b, c->tool ? HOLDER_TOOL : HOLDER_RANK);
    buf_put_str(b, c->incarnation);
    buf_put_str(b, c->nspace);
    buf_put_u32(b, c->rank);
    buf_put_u32(b, c->uid);
    buf_put_u32(b, c->gid);
    buf_put_u64(b, c->issued_ms);
    buf_put_u64(b, c->ends_ms);
}

void cred_encode(struct buf *b, const struct cred *c)
{
    cred_encode_statement(b, c);
    buf_put_bytes(b, c->cert, c->cert_len);
    buf_put_bytes(b, c->signature, c->signature_len);
}

/* Reads into an array of max + 1 bytes; an empty text is not a name. */
static void read_text(struct cur *c, char *out, size_t max)
{
    FREE_AUTO char *text = cur_str(c, max);

    memcpy(out, text, strlen(text) + 1);
    c->bad |= !*out;
}

static void read_statement(struct cur *c, struct cred *k)
{
    uint8_t holder = cur_u8(c);

    k->tool = holder == HOLDER_TOOL;
    c->bad |= holder >= HOLDERS;
    read_text(c, k->incarnation, CRED_INCARNATION_MAX);
    read_text(c, k->nspace, CRED_NSPACE_MAX);
    k->rank = cur_u32(c);
    k->uid = cur_u32(c);
    k->gid = cur_u32(c);
    k->issued_ms = cur_u64(c);
    k->ends_ms = cur_u64(c);
    c->bad |= k->ends_ms < k->issued_ms;
}

int cred_decode(const void *data, size_t len, struct cred *out, size_t *statement_len,
                struct err *err)
{
    struct cur c = cur_of(data, len);
    struct cred k = {0};

    if (len > CRED_MAX)
        return err_set(err, "%zu bytes are more than a credential has", len);
    if (cur_u32(&c) != MAGIC || cur_u8(&c) != FORMAT)
        return err_set(err, "it is no credential of a DVM");
    read_statement(&c, &k);
    *statement_len = len - cur_left(&c);
    k.cert = cur_bytes(&c, CRED_CERT_MAX, &k.cert_len);
    k.signature = cur_bytes(&c, CRED_SIGNATURE_MAX, &k.signature_len);
    if (!cur_done(&c))
        return err_set(err, "the credential is malformed");
    *out = k;
    return 0;
}
