/* SPDX-License-Identifier: BSD-3-Clause */
/* The drain policy: how running work leaves members that are removed. In spec.drain, and copied
 * into the record of a campaign. */
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <string.h>

const char *cluster_drain_mode_name(enum api_drain_mode m)
{
    return m == API_DRAIN_KILL ? "Kill" : "Wait";
}

int cluster_drain_decode(const json_t *parent, const char *path, struct cluster_drain *out,
                         struct err *err)
{
    const json_t *drain = NULL;
    const char *mode = NULL;
    struct cluster_drain d = {.mode = API_DRAIN_WAIT, .deadline_s = -1};

    if (field_object(parent, path, &drain, err))
        return -1;
    if (field_str(drain, "drain.mode", 16, &mode, err) ||
        field_int(drain, "drain.deadlineSeconds", 0, CLUSTER_DEADLINE_MAX_S, &d.deadline_s, err))
        return -1;
    if (mode && strcmp(mode, "Kill") == 0)
        d.mode = API_DRAIN_KILL;
    else if (mode && strcmp(mode, "Wait") != 0)
        return err_set(err, "drain.mode is \"%s\", it must be Wait or Kill", mode);
    *out = d;
    return 0;
}
