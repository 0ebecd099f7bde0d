/* SPDX-License-Identifier: BSD-3-Clause */
/* The template policy "restricted" as data: what a pod template may have. policy_check() and the
 * chart's ValidatingAdmissionPolicy, which make policy writes, are two readings of it. */
#ifndef OPERATOR_MODEL_POLICY_TABLE_H
#define OPERATOR_MODEL_POLICY_TABLE_H

#include <stdbool.h>

enum policy_rule {
    POLICY_ANY,        /* whatever it holds */
    POLICY_FIELDS,     /* null, or an object of the listed fields */
    POLICY_KEPT,       /* such an object; null would remove what the operator sets */
    POLICY_ITEMS,      /* null, or a list of such objects */
    POLICY_PLAIN,      /* null, or a map whose keys are listed, or have neither '.' nor '/' */
    POLICY_NO_TRUE,    /* false or null */
    POLICY_ONLY_FALSE, /* false */
    POLICY_NO_FALSE,   /* true or null */
    POLICY_ONLY_TRUE,  /* true */
    POLICY_NOT_ROOT,   /* null, or a whole number above 0 */
    POLICY_NO_PORT,    /* null or 0 */
    POLICY_CONFINED,   /* RuntimeDefault or Localhost */
    POLICY_ALWAYS,     /* null or Always */
    POLICY_NO_SYSTEM,  /* null, or a text that does not begin with system- */
    POLICY_NOT_TLS,    /* a text other than tls, the volume of the daemon's key */
    POLICY_DROP_ALL,   /* a list that has ALL */
    POLICY_GRACE,      /* null */
    POLICY_FQDN,       /* false or null */
    POLICY_NET_BIND,   /* null, or a list of nothing but NET_BIND_SERVICE */
    POLICY_NRULES,
};

struct policy_field {
    const char *key;                   /* NULL: end of the list */
    const struct policy_field *fields; /* POLICY_FIELDS, KEPT, ITEMS, PLAIN */
    /* POLICY_ITEMS: further rules for containers that have nothing from the operator. They are
     * open: a key that is not listed is none of their business. */
    const struct policy_field *own;
    const char *merged; /* name of the one item that `own` does not apply to; NULL: none */
    enum policy_rule rule;
    bool required; /* it must be there */
};

/* Container that the operator merges its own into. */
#define POLICY_DAEMON "prted"

/* The fields of a pod template: metadata and spec. */
extern const struct policy_field POLICY_TEMPLATE[];
/* Fields that no template may have, whatever the policy; open. */
extern const struct policy_field POLICY_ALWAYS_TEMPLATE[];
/* Of each rule, the end of a refusal: how the value has to be. */
extern const char *const POLICY_WORDS[POLICY_NRULES];
/* The same for a key that is not listed. */
extern const char POLICY_UNLISTED[];

#endif
