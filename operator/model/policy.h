/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user may put into the pods of a DvmCluster: always, and by the policy "restricted". */
#ifndef OPERATOR_MODEL_POLICY_H
#define OPERATOR_MODEL_POLICY_H

#include "base/err/err.h"

#include <jansson.h>

/* Checks the template that stands at `path` ("spec.template"). Whoever may create a DvmCluster gets
 * no more than a pod of the restricted level (Pod Security Standards), and no service account, no
 * Secret and no file of a node. -1: err names the field. NULL is allowed. The chart's
 * ValidatingAdmissionPolicy is made from the same table, policy_table.h. */
int policy_check(const json_t *template, const char *path, struct err *err)
    __attribute__((warn_unused_result));
/* Refuses what would break the daemons, whatever the policy: the operator needs these fields. */
int policy_check_always(const json_t *template, const char *path, struct err *err)
    __attribute__((warn_unused_result));

#endif
