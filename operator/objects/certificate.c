/* SPDX-License-Identifier: BSD-3-Clause */
/* The Certificate of a role, for cert-manager: it asks the issuer of spec.security.issuerRef for a
 * certificate like those that the operator issues itself, in a Secret of the same name. */
#include "base/buf/buf.h"
#include "operator/objects/objects_private.h"

#include <inttypes.h>

/* As long as those of the operator, and renewed as early. */
#define DURATION "2160h"
#define RENEW_BEFORE "720h"

static json_t *names_list(const struct cluster *c, enum api_role role)
{
    char **names = objects_cert_names(c, role);
    json_t *list = json_array();

    for (size_t i = 0; names[i]; i++)
        json_array_append_new(list, json_string(names[i]));
    objects_names_free(names);
    return list;
}

json_t *objects_certificate(const struct cluster *c, enum api_role role)
{
    const struct cluster_issuer *issuer = &c->security.issuer;
    const char *word = api_role_word(role);
    FREE_AUTO char *name = xasprintf("%s-%s", c->name, word);
    FREE_AUTO char *id = cluster_identity(c);
    json_t *names = names_list(c, role);
    json_t *spec = json_pack(
        "{s:s, s:s, s:s, s:s, s:{s:[s], s:[s]}, s:[s, s, s], s:{s:s, s:i, s:s}, s:{s:s, s:s, s:s}}",
        "secretName", name, "commonName", name, "duration", DURATION, "renewBefore", RENEW_BEFORE,
        "subject", "organizations", id, "organizationalUnits", word, "usages", "digital signature",
        "server auth", "client auth", "privateKey", "algorithm", "ECDSA", "size", 256,
        "rotationPolicy", "Always", "issuerRef", "name", issuer->name, "kind", issuer->kind,
        "group", issuer->group);

    if (json_array_size(names))
        json_object_set(spec, "dnsNames", names);
    json_decref(names);
    json_t *o = json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", "cert-manager.io/v1", "kind",
                          "Certificate", "metadata", objects_metadata(c, name, role), "spec", spec);
    FREE_AUTO char *print = xasprintf("%016" PRIx64, objects_fingerprint(o));
    json_object_set_new(json_object_get(o, "metadata"), "annotations",
                        json_pack("{s:s}", OBJECTS_APPLIED, print));
    return o;
}
