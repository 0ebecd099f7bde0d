/* SPDX-License-Identifier: BSD-3-Clause */
/* How pods with an older template are replaced: spec.update. */
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <string.h>

int cluster_update_decode(const json_t *spec, struct cluster_update *out, struct err *err)
{
    const json_t *update = NULL;
    const char *type = NULL;
    int64_t max = 1;

    if (field_object(spec, "spec.update", &update, err) ||
        field_str(update, "spec.update.type", 32, &type, err) ||
        field_int(update, "spec.update.maxUnavailable", 1, CLUSTER_MEMBERS_MAX, &max, err))
        return -1;
    if (type && strcmp(type, "RollingUpdate") != 0 && strcmp(type, "OnDelete") != 0)
        return err_set(err, "spec.update.type is \"%s\", it must be RollingUpdate or OnDelete",
                       type);
    *out = (struct cluster_update){.on_delete = type && strcmp(type, "OnDelete") == 0,
                                   .max_unavailable = (uint32_t)max};
    return 0;
}
