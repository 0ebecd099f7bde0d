/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of processes: signed by the certificate of the daemon that they are connected to,
 * checked by any other of the same DVM. */
#ifndef DVM_CRED_SIGN_H
#define DVM_CRED_SIGN_H

#include "base/tls/tls.h"
#include "dvm/host/cred/cred.h"

#define CRED_LIFE_MS (3600u * 1000)
#define CRED_SKEW_MS (300u * 1000) /* of clocks, as for certificates */

/* Appends a credential that is good from `now_ms` (since 1970) for CRED_LIFE_MS and says of its
 * holder what `who` does: incarnation, nspace, rank, tool, uid, gid. */
int cred_sign(const struct tls_ctx *t, const struct cred *who, uint64_t now_ms, struct buf *out,
              struct err *err) __attribute__((warn_unused_result));
/* Whether a daemon of this cluster has made it in this life of its DVM, and it is good now. Whether
 * its holder is still there, is another question. */
int cred_check(const struct tls_ctx *t, const char *cluster, const char *incarnation,
               uint64_t now_ms, const void *data, size_t len, struct cred *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
