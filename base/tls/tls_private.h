/* SPDX-License-Identifier: BSD-3-Clause */
/* What tls.c and ca.c share: OpenSSL's reasons and subject fields. */
#ifndef BASE_TLS_TLS_PRIVATE_H
#define BASE_TLS_TLS_PRIVATE_H

#include "base/tls/tls.h"

#include <openssl/x509.h>

/* Like err_set(), and appends the oldest reason of OpenSSL's queue, which is then empty. */
int tls_err(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The one field `nid` of the certificate's subject as UTF-8. -1: missing, repeated, empty, longer
 * than TLS_NAME_MAX - 1 or with an embedded NUL. */
int tls_subject_field(const X509 *cert, int nid, char out[TLS_NAME_MAX], struct err *err)
    __attribute__((warn_unused_result));

#endif
