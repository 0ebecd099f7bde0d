/* SPDX-License-Identifier: BSD-3-Clause */
/* status.grants: encode and decode side by side. */
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"

#include <string.h>

static int decode_running(const json_t *o, struct cluster_grant *out, struct err *err)
{
    const char *kind = NULL;
    int64_t number = 0, members = 0;

    if (!json_is_object(o))
        return err_set(err, "it must be an object");
    if (field_int(o, "number", 1, INT64_MAX, &number, err) ||
        field_str(o, "kind", 16, &kind, err) ||
        field_int(o, "members", -CLUSTER_MEMBERS_MAX, CLUSTER_MEMBERS_MAX, &members, err))
        return -1;
    if (!number)
        return err_set(err, "number is missing");
    if (!kind || (strcmp(kind, "Extend") != 0 && strcmp(kind, "Release") != 0))
        return err_set(err, "kind \"%s\" is unknown", kind ? kind : "");
    *out = (struct cluster_grant){(uint64_t)number, kind[0] == 'E', (int32_t)members};
    return 0;
}

int cluster_grants_decode(const json_t *status, struct cluster_grants *out, struct err *err)
{
    const json_t *o = NULL, *list, *one;
    int64_t members = 0, seen = 0;
    size_t i;

    *out = (struct cluster_grants){0};
    if (field_object(status, "status.grants", &o, err) ||
        field_int(o, "status.grants.members", -CLUSTER_MEMBERS_MAX, CLUSTER_MEMBERS_MAX, &members,
                  err) ||
        field_int(o, "status.grants.seen", 0, INT64_MAX, &seen, err))
        return -1;
    list = json_object_get(o, "running");
    if (list && (!json_is_array(list) || json_array_size(list) > CLUSTER_GRANTS_MAX))
        return err_set(err, "status.grants.running must be a list of at most %d",
                       CLUSTER_GRANTS_MAX);
    json_array_foreach((json_t *)list, i, one)
    {
        if (decode_running(one, &out->running[i], err))
            return err_wrap(err, "status.grants.running[%zu]", i);
    }
    out->nrunning = json_array_size(list);
    out->members = (int32_t)members;
    out->seen = (uint64_t)seen;
    return 0;
}

json_t *cluster_grants_encode(const struct cluster_grants *g)
{
    if (!g->members && !g->seen && !g->nrunning)
        return NULL;
    json_t *o = json_pack("{s:i, s:I}", "members", (int)g->members, "seen", (json_int_t)g->seen);
    json_t *list = g->nrunning ? json_array() : NULL;
    for (size_t i = 0; i < g->nrunning; i++)
        json_array_append_new(list, json_pack("{s:I, s:s, s:i}", "number",
                                              (json_int_t)g->running[i].number, "kind",
                                              g->running[i].extend ? "Extend" : "Release",
                                              "members", (int)g->running[i].members));
    if (list)
        json_object_set_new(o, "running", list);
    return o;
}
