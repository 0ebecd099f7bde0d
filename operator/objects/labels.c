/* SPDX-License-Identifier: BSD-3-Clause */
/* The labels of the objects of a cluster, and the selectors over them. */
#include "operator/objects/objects_private.h"

json_t *objects_match(const struct cluster *c, enum api_role role)
{
    json_t *o = json_pack("{s:s}", CLUSTER_LABEL_NAME, c->name);

    if (role != API_ROLE_NONE)
        json_object_set_new(o, CLUSTER_LABEL_ROLE, json_string(api_role_word(role)));
    return o;
}

json_t *objects_labels(const struct cluster *c, enum api_role role)
{
    json_t *o = objects_match(c, role);

    json_object_set_new(o, "app.kubernetes.io/name", json_string("dvm"));
    json_object_set_new(o, "app.kubernetes.io/instance", json_string(c->name));
    json_object_set_new(o, "app.kubernetes.io/component",
                        json_string(role != API_ROLE_NONE ? api_role_word(role) : "daemons"));
    json_object_set_new(o, "app.kubernetes.io/part-of", json_string("dvm"));
    json_object_set_new(o, CLUSTER_LABEL_MANAGER, json_string(CLUSTER_MANAGER));
    return o;
}
