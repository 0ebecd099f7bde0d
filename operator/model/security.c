/* SPDX-License-Identifier: BSD-3-Clause */
/* Certificates and the user of the pods (spec.security), and evictions (spec.disruption). */
#include "base/buf/buf.h"
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <string.h>

#define UID_MAX 4294967294 /* 2^32 - 1 means none */

static int decode_user(const json_t *security, int64_t *out, struct err *err)
{
    const char *from = NULL;

    *out = CLUSTER_USER_DEFAULT;
    if (field_int(security, "spec.security.runAsUser", 1, UID_MAX, out, err) ||
        field_str(security, "spec.security.userFrom", 64, &from, err))
        return -1;
    if (!from || strcmp(from, "Spec") == 0)
        return 0;
    if (strcmp(from, "Namespace") != 0)
        return err_set(err, "spec.security.userFrom is \"%s\", it must be Spec or Namespace", from);
    if (*out != CLUSTER_USER_DEFAULT)
        return err_set(err, "spec.security.runAsUser is only possible with userFrom Spec");
    *out = CLUSTER_USER_OF_NAMESPACE;
    return 0;
}

static int decode_issuer(const json_t *security, struct cluster_issuer *out, struct err *err)
{
    const json_t *ref = NULL;
    const char *name = NULL, *kind = "Issuer", *group = "cert-manager.io";

    if (field_object(security, "spec.security.issuerRef", &ref, err))
        return -1;
    if (!ref)
        return 0;
    if (field_str(ref, "spec.security.issuerRef.name", 253, &name, err) ||
        field_str(ref, "spec.security.issuerRef.kind", 63, &kind, err) ||
        field_str(ref, "spec.security.issuerRef.group", 253, &group, err))
        return -1;
    if (!name || !*name || !*kind || !*group)
        return err_set(err, "spec.security.issuerRef needs a name");
    *out = (struct cluster_issuer){
        .name = xstrdup(name), .kind = xstrdup(kind), .group = xstrdup(group)};
    return 0;
}

int cluster_security_decode(const json_t *spec, struct cluster_security *out, struct err *err)
{
    const json_t *security = NULL;
    struct cluster_security s = {.overlap_s = CLUSTER_OVERLAP_S};

    if (field_object(spec, "spec.security", &security, err) ||
        field_int(security, "spec.security.authorityRevision", 0, INT32_MAX, &s.authority_revision,
                  err) ||
        field_int(security, "spec.security.overlapSeconds", 10, 604800, &s.overlap_s, err) ||
        decode_user(security, &s.user, err) || decode_issuer(security, &s.issuer, err))
        return -1;
    *out = s;
    return 0;
}

void cluster_security_clear(struct cluster_security *s)
{
    free_ptr(&s->issuer.name);
    free_ptr(&s->issuer.kind);
    free_ptr(&s->issuer.group);
    *s = (struct cluster_security){.overlap_s = CLUSTER_OVERLAP_S};
}

int cluster_disruption_decode(const json_t *spec, struct cluster_disruption *out, struct err *err)
{
    const json_t *disruption = NULL;
    int64_t members = 1, head = 1;

    if (field_object(spec, "spec.disruption", &disruption, err) ||
        field_int(disruption, "spec.disruption.maxUnavailable", 0, CLUSTER_MEMBERS_MAX, &members,
                  err) ||
        field_int(disruption, "spec.disruption.headMaxUnavailable", 0, 1, &head, err))
        return -1;
    *out = (struct cluster_disruption){.members = (uint32_t)members, .head = (uint32_t)head};
    return 0;
}
