/* SPDX-License-Identifier: BSD-3-Clause */
/* status.grants.owners: which rank of which job has asked for members, or has released some; and
 * the Events about requests.
 *
 * In: the campaigns alloc-<number> in the head's view, and the old status. Out: one entry for each
 * request that runs, and for each complete extension of which a member is still there.
 *
 * Invariants: the size is not computed from this list, but from the record (plan_grants.c). While
 * the head does not answer the list stays as it is; a suspension empties it. */
#include "base/buf/buf.h"
#include "operator/plan/plan.h"
#include "operator/status/status_private.h"

#include <string.h>

static bool is_released(const struct api_dvm *v, const struct api_campaign *extension,
                        uint32_t vpid)
{
    for (size_t i = 0; i < v->ncampaigns; i++) {
        const struct api_campaign *c = &v->campaigns[i];

        if (c->kind != API_KIND_SHRINK || c->phase != API_PHASE_COMPLETE || c->keeps_size ||
            c->complete_ms < extension->complete_ms)
            continue;
        for (size_t k = 0; k < c->ntargets; k++) {
            if (c->targets[k] == vpid)
                return true;
        }
    }
    return false;
}

/* True if a member that the complete extension has brought is still there. */
static bool is_held(const struct api_dvm *v, const struct api_campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (c->targets[i] <= v->size_members && !is_released(v, c, c->targets[i]))
            return true;
    }
    return false;
}

static json_t *encode_owner(const struct api_campaign *c, uint64_t number)
{
    return json_pack("{s:I, s:s, s:s, s:s, s:I, s:{s:I, s:I}}", "number", (json_int_t)number,
                     "kind", c->kind == API_KIND_GROW ? "Extend" : "Release", "phase",
                     api_phase_name(c->phase), "job", c->requester.job, "rank",
                     (json_int_t)c->requester.rank, "targetRange", "first",
                     (json_int_t)c->targets[0], "last", (json_int_t)c->targets[c->ntargets - 1]);
}

static const json_t *find_number(const json_t *list, json_int_t number)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (json_integer_value(json_object_get(one, "number")) == number)
            return one;
    }
    return NULL;
}

/* The numbers are keys of the list: the API server would refuse a status with one of them twice. */
static json_t *list_owners(const struct api_dvm *v)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->ncampaigns && json_array_size(list) < STATUS_OWNERS_MAX; i++) {
        const struct api_campaign *c = &v->campaigns[i];
        uint64_t number = plan_request_number(c);
        bool runs = !api_phase_terminal(c->phase);
        bool extended = c->kind == API_KIND_GROW && c->phase == API_PHASE_COMPLETE;

        if (number && (runs || (extended && is_held(v, c))) &&
            !find_number(list, (json_int_t)number))
            json_array_append_new(list, encode_owner(c, number));
    }
    return list;
}

void status_put_owners(json_t *status, const struct plan_input *in)
{
    json_t *grants = json_object_get(status, "grants");
    json_t *old = json_object_get(json_object_get(in->cluster->status, "grants"), "owners");
    json_t *list = in->head.view ? list_owners(in->head.view) : json_incref(old);

    if (grants && !in->cluster->suspend && json_array_size(list))
        json_object_set(grants, "owners", list);
    json_decref(list);
}

/* "Rank 0 of job x@1"; on the heap. */
static char *owner_text(const json_t *owner)
{
    if (!owner)
        return xstrdup("An application");
    return xasprintf("Rank %lld of job %s",
                     (long long)json_integer_value(json_object_get(owner, "rank")),
                     status_text(owner, "job"));
}

void status_grant_events(const struct status_sink *n, const json_t *before, const json_t *after)
{
    const json_t *was = json_object_get(before, "grants"), *is = json_object_get(after, "grants");
    const json_t *known = json_object_get(was, "running"), *one;
    json_int_t old = json_integer_value(json_object_get(was, "members"));
    json_int_t now = json_integer_value(json_object_get(is, "members"));
    size_t i;

    json_array_foreach(json_object_get(is, "running"), i, one)
    {
        json_int_t number = json_integer_value(json_object_get(one, "number"));
        bool extend = strcmp(status_text(one, "kind"), "Extend") == 0;

        if (find_number(known, number))
            continue;
        FREE_AUTO char *who = owner_text(find_number(json_object_get(is, "owners"), number));
        FREE_AUTO char *note =
            xasprintf("%s %s (alloc-%lld); the size is spec.replicas%+lld when it is complete", who,
                      extend ? "extends the DVM" : "releases members", (long long)number,
                      (long long)json_integer_value(json_object_get(one, "members")));
        n->fn(false, extend ? REASON_EXTENSION_ASKED : REASON_RELEASE_ASKED, note, n->arg);
    }
    if (old == now)
        return;
    FREE_AUTO char *note =
        xasprintf("The size is now spec.replicas%+lld by requests of applications", (long long)now);
    n->fn(false, REASON_GRANTED, note, n->arg);
}
