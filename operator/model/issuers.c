/* SPDX-License-Identifier: BSD-3-Clause */
/* The issuers of cert-manager that a DvmCluster may name.
 *
 * The operator asks an issuer in the user's place, with rights on Certificates that the user need
 * not have. So the administrator lists the issuers: KIND/NAME, or KIND.GROUP/NAME for those of
 * another group than cert-manager.io. */
#include "operator/model/issuers.h"

#include "base/buf/buf.h"

#include <string.h>

#define CERT_MANAGER "cert-manager.io"

int issuers_add(struct issuers *list, const char *text, struct err *err)
{
    const char *slash = strchr(text, '/');

    if (!slash || slash == text || !slash[1] || strchr(slash + 1, '/') || strpbrk(text, " \t"))
        return err_set(err, "an issuer must be KIND/NAME or KIND.GROUP/NAME, not \"%s\"", text);
    if (list->n == ISSUERS_MAX)
        return err_set(err, "at most %d issuers are possible", ISSUERS_MAX);
    list->entry[list->n++] = text;
    return 0;
}

static bool has_entry(const struct issuers *list, const char *kind, const char *name)
{
    FREE_AUTO char *entry = xasprintf("%s/%s", kind, name);

    if (list->n == 0)
        return strcmp(entry, ISSUERS_DEFAULT) == 0;
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->entry[i], entry) == 0)
            return true;
    }
    return false;
}

int issuers_check(const struct issuers *list, const struct cluster_issuer *issuer, struct err *err)
{
    if (!issuer->name)
        return 0;
    FREE_AUTO char *kind = strcmp(issuer->group, CERT_MANAGER) == 0
                               ? xstrdup(issuer->kind)
                               : xasprintf("%s.%s", issuer->kind, issuer->group);

    if (has_entry(list, kind, issuer->name) || has_entry(list, kind, "*"))
        return 0;
    return err_set(err, "spec.security.issuerRef is %s/%s, which the operator may not ask", kind,
                   issuer->name);
}
