/* SPDX-License-Identifier: BSD-3-Clause */
/* Credentials of processes: signed with the certificate of their own daemon, checked by any
 * other daemon of the same DVM. */
#ifndef DVM_CRED_SIGN_H
#define DVM_CRED_SIGN_H

#include "base/tls/tls.h"
#include "dvm/host/cred/cred.h"

#define CRED_LIFE_MS (3600u * 1000)
#define CRED_SKEW_MS (300u * 1000) /* tolerated difference of clocks, as for certificates */

/* Appends a credential that is valid from `now_ms` (since 1970) for CRED_LIFE_MS. It states what
 * `who` says about its holder: incarnation, nspace, rank, tool, uid, gid. */
int cred_sign(const struct tls_ctx *t, const struct cred *who, uint64_t now_ms, struct buf *out,
              struct err *err) __attribute__((warn_unused_result));
/* Checks that a daemon of this cluster made it in this incarnation, and that it is valid now. It
 * does not check whether its holder still runs. */
int cred_check(const struct tls_ctx *t, const char *cluster, const char *incarnation,
               uint64_t now_ms, const void *data, size_t len, struct cred *out, struct err *err)
    __attribute__((warn_unused_result));

#endif
