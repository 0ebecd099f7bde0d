/* SPDX-License-Identifier: BSD-3-Clause */
/* The certificates of a local DVM. */
#ifndef DVM_LDVM_CERTS_H
#define DVM_LDVM_CERTS_H

#include "dvm/tools/ldvm/dir.h"

/* Creates an authority and one certificate per role under DIR/tls, valid for a year. The
 * authority's key is not kept, so no further certificate can be made. */
int ldvm_certs(const struct ldvm *l, struct err *err) __attribute__((warn_unused_result));

#endif
