/* SPDX-License-Identifier: BSD-3-Clause */
/* How pods with an older template are replaced: spec.updateStrategy. */
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <stdlib.h>
#include <string.h>

/* "1%" to "100%", without a sign or zeros in front. */
static int decode_percent(const char *text, const char *path, int64_t *out, struct err *err)
{
    size_t digits = strspn(text, "0123456789");

    *out = digits >= 1 && digits <= 3 && text[0] != '0' ? strtol(text, NULL, 10) : 0;
    if (*out < 1 || *out > 100 || strcmp(text + digits, "%") != 0)
        return err_set(err, "%s is \"%s\", it must be a number or 1%% to 100%%", path, text);
    return 0;
}

static int decode_unavailable(const json_t *rolling, struct cluster_update *u, struct err *err)
{
    const char *path = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    const char *text = json_string_value(json_object_get(rolling, "maxUnavailable"));
    int64_t max = 1;

    u->percent = text != NULL;
    if (text ? decode_percent(text, path, &max, err)
             : field_int(rolling, path, 1, CLUSTER_MEMBERS_MAX, &max, err))
        return -1;
    u->max_unavailable = (uint32_t)max;
    return 0;
}

int cluster_update_decode(const json_t *spec, struct cluster_update *out, struct err *err)
{
    const json_t *update = NULL, *rolling = NULL;
    const char *type = NULL;
    struct cluster_update u = {0};

    if (field_object(spec, "spec.updateStrategy", &update, err) ||
        field_str(update, "spec.updateStrategy.type", 32, &type, err) ||
        field_object(update, "spec.updateStrategy.rollingUpdate", &rolling, err) ||
        decode_unavailable(rolling, &u, err))
        return -1;
    u.on_delete = type && strcmp(type, "OnDelete") == 0;
    if (type && !u.on_delete && strcmp(type, "RollingUpdate") != 0)
        return err_set(
            err, "spec.updateStrategy.type is \"%s\", it must be RollingUpdate or OnDelete", type);
    *out = u;
    return 0;
}

uint32_t cluster_update_bound(const struct cluster_update *u, uint32_t members)
{
    uint32_t n =
        u->percent ? (uint32_t)((uint64_t)members * u->max_unavailable / 100) : u->max_unavailable;

    return n > 0 ? n : 1;
}
