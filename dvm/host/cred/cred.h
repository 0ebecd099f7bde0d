/* SPDX-License-Identifier: BSD-3-Clause */
/* A credential: a daemon's signed statement about a process that is connected to it. */
#ifndef DVM_CRED_CRED_H
#define DVM_CRED_CRED_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRED_TYPE "dvm" /* PMIX_CRED_TYPE */
#define CRED_MAX 4096   /* bytes of a credential */
#define CRED_CERT_MAX 3072
#define CRED_SIGNATURE_MAX 512
#define CRED_NSPACE_MAX 255
#define CRED_INCARNATION_MAX 16

struct cred {
    char incarnation[CRED_INCARNATION_MAX +
                     1]; /* of the DVM's head: identifies the DVM and its incarnation */
    char nspace[CRED_NSPACE_MAX + 1];
    uint32_t rank;
    bool tool; /* the process is a tool and belongs to no job */
    uint32_t uid, gid;
    uint64_t issued_ms, ends_ms; /* ms since 1970 */
    /* Borrowed, also after decoding. */
    const uint8_t *cert, *signature;
    size_t cert_len, signature_len;
};

/* Encodes the signed part; cred_encode() begins with it. */
void cred_encode_statement(struct buf *b, const struct cred *c);
void cred_encode(struct buf *b, const struct cred *c);
/* -1 and a reason if it is malformed. *statement_len: length of the signed part at the front. A
 * credential has exactly one encoding. */
int cred_decode(const void *data, size_t len, struct cred *out, size_t *statement_len,
                struct err *err) __attribute__((warn_unused_result));

#endif
