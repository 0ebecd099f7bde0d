/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's whole view: encode and decode side by side.
 *
 * In: struct api_dvm, or the JSON object of a head. Out: the other one. Incarnation, members, size
 * and events must be there; fence, jobs and campaigns may be absent.
 *
 * Failures: a bad element ends the decoding; the error names it with its list and index, and
 * nothing is left allocated. Lists are limited to MEMBERS_MAX, JOBS_MAX, CAMPAIGNS_MAX and
 * HOLDS_MAX elements. The encoder checks no length of a list. */
#include "api/dvm.h"

#include "api/fields.h"
#include "base/buf/buf.h"

#include <stdlib.h>

#define JOBS_MAX 65536
#define CAMPAIGNS_MAX 65536
#define HOLDS_MAX 65536
#define STATE_MAX 31
#define MEMBERS_MAX (API_TARGETS_MAX + 1) /* and the head */

static int state_decode(struct fields *f, int (*state_of)(const char *word))
{
    char word[STATE_MAX + 1];
    int state;

    fields_word(f, "state", word, sizeof(word));
    state = f->bad ? -1 : state_of(word);
    if (state < 0)
        fields_refuse(f, "state", "\"%s\" is no state", word);
    return state < 0 ? 0 : state;
}

static void member_decode(struct fields *f, struct api_dvm_member *m)
{
    m->vpid = (uint32_t)fields_u64(f, "vpid", UINT32_MAX);
    m->epoch = fields_u64(f, "epoch", INT64_MAX);
    m->state = (enum member_state)state_decode(f, member_state_of);
    m->host = fields_str_or(f, "host", API_NAME_MAX, "");
    m->address = fields_str_or(f, "address", API_NAME_MAX, "");
    m->slots = (uint32_t)fields_u64_or(f, "slots", UINT32_MAX, 0);
    m->slots_used = (uint32_t)fields_u64_or(f, "slotsUsed", UINT32_MAX, 0);
    m->parent = fields_i64_or(f, "parent", -1, UINT32_MAX, -1);
    m->depth = (uint32_t)fields_u64_or(f, "depth", UINT32_MAX, 0);
    m->repairs = fields_u64_or(f, "repairs", INT64_MAX, 0);
}

static json_t *member_encode(const struct api_dvm_member *m)
{
    json_t *o = json_object();

    fields_put_u64(o, "vpid", m->vpid);
    fields_put_u64(o, "epoch", m->epoch);
    fields_put_str(o, "state", member_state_word(m->state), STATE_MAX);
    fields_put_str(o, "host", m->host, API_NAME_MAX);
    fields_put_str(o, "address", m->address, API_NAME_MAX);
    fields_put_u64(o, "slots", m->slots);
    fields_put_u64(o, "slotsUsed", m->slots_used);
    fields_put_i64(o, "parent", m->parent);
    fields_put_u64(o, "depth", m->depth);
    fields_put_u64(o, "repairs", m->repairs);
    return o;
}

static void job_decode(struct fields *f, struct api_dvm_job *j)
{
    j->id = fields_str(f, "id", API_NAME_MAX);
    j->state = (enum job_state)state_decode(f, job_state_of);
    j->reason = fields_str_or(f, "reason", API_TEXT_MAX, "");
    j->waits_for = fields_str_or(f, "waitsFor", API_TEXT_MAX, "");
    j->ranks = (uint32_t)fields_u64_or(f, "ranks", UINT32_MAX, 0);
    j->vpids = fields_u32s_or_none(f, "vpids", MEMBERS_MAX, &j->nvpids);
    j->exit_code = (int)fields_i64_or(f, "exitCode", INT32_MIN, INT32_MAX, 0);
}

static json_t *job_encode(const struct api_dvm_job *j)
{
    json_t *o = json_object();

    fields_put_str(o, "id", j->id, API_NAME_MAX);
    fields_put_str(o, "state", job_state_word(j->state), STATE_MAX);
    fields_put_str(o, "reason", j->reason, API_TEXT_MAX);
    fields_put_str(o, "waitsFor", j->waits_for, API_TEXT_MAX);
    fields_put_u64(o, "ranks", j->ranks);
    fields_put_u32s(o, "vpids", j->vpids, j->nvpids);
    fields_put_i64(o, "exitCode", j->exit_code);
    return o;
}

static void hold_decode(struct fields *f, struct api_dvm_hold *h)
{
    h->name = fields_str(f, "name", API_NAME_MAX);
    h->count = (uint32_t)fields_u64(f, "count", UINT32_MAX);
}

/* Remembers in f that element i of its list `name` is bad; the reason is in err already. */
static void element_bad(struct fields *f, const char *name, size_t i)
{
    err_wrap(f->err, "%s[%zu]", name, i);
    f->bad = true;
}

static void members_decode(struct fields *f, struct api_dvm *out)
{
    const json_t *list = fields_array(f, "members", MEMBERS_MAX);
    size_t n = json_array_size(list);

    out->members = n ? xcalloc(n, sizeof(*out->members)) : NULL;
    out->nmembers = n;
    for (size_t i = 0; i < n && !f->bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), f->err);

        member_decode(&e, &out->members[i]);
        if (e.bad)
            element_bad(f, "members", i);
    }
}

static void jobs_decode(struct fields *f, struct api_dvm *out)
{
    const json_t *list = fields_array_or_null(f, "jobs", JOBS_MAX);
    size_t n = json_array_size(list);

    out->jobs = n ? xcalloc(n, sizeof(*out->jobs)) : NULL;
    out->njobs = n;
    for (size_t i = 0; i < n && !f->bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), f->err);

        job_decode(&e, &out->jobs[i]);
        if (e.bad)
            element_bad(f, "jobs", i);
    }
}

static void campaigns_decode(struct fields *f, struct api_dvm *out)
{
    const json_t *list = fields_array_or_null(f, "campaigns", CAMPAIGNS_MAX);
    size_t n = json_array_size(list);

    out->campaigns = n ? xcalloc(n, sizeof(*out->campaigns)) : NULL;
    out->ncampaigns = n;
    for (size_t i = 0; i < n && !f->bad; i++) {
        if (api_campaign_decode(json_array_get(list, i), &out->campaigns[i], f->err) < 0)
            element_bad(f, "campaigns", i);
    }
}

static void fence_decode(struct fields *f, struct api_dvm *out)
{
    const json_t *fence = fields_object_or_null(f, "fence");

    if (!fence)
        return;
    struct fields g = fields_of(fence, f->err);
    out->fence_total = (uint32_t)fields_u64(&g, "total", UINT32_MAX);
    const json_t *list = fields_array_or_null(&g, "holds", HOLDS_MAX);
    size_t n = json_array_size(list);
    out->holds = n ? xcalloc(n, sizeof(*out->holds)) : NULL;
    out->nholds = n;
    for (size_t i = 0; i < n && !g.bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), f->err);

        hold_decode(&e, &out->holds[i]);
        if (e.bad)
            element_bad(&g, "holds", i);
    }
    if (g.bad) {
        err_wrap(f->err, "fence");
        f->bad = true;
    }
}

/* Reads the numbers inside the small objects "size" and "events". */
static void numbers_decode(struct fields *f, struct api_dvm *out)
{
    const json_t *size = fields_object_or_null(f, "size");
    const json_t *events = fields_object_or_null(f, "events");

    if (size && !f->bad) {
        struct fields s = fields_of(size, f->err);

        out->size_sequence = fields_u64(&s, "sequence", INT64_MAX);
        out->size_members = (uint32_t)fields_u64(&s, "members", API_TARGETS_MAX);
        api_size_limits_decode(&s, &out->size_limits);
        if (s.bad) {
            err_wrap(f->err, "size");
            f->bad = true;
        }
    }
    if (events && !f->bad) {
        struct fields s = fields_of(events, f->err);

        out->next_event = fields_u64(&s, "next", INT64_MAX);
        if (s.bad) {
            err_wrap(f->err, "events");
            f->bad = true;
        }
    }
    if (!size)
        fields_refuse(f, "size", "missing");
    if (!events)
        fields_refuse(f, "events", "missing");
}

int api_dvm_decode(const json_t *o, struct api_dvm *out, struct err *err)
{
    *out = (struct api_dvm){0};
    struct fields f = fields_of(o, err);
    fields_word(&f, "incarnation", out->incarnation, sizeof(out->incarnation));
    out->cluster = fields_str_or(&f, "cluster", API_NAME_MAX, "");
    out->version = fields_u64_or(&f, "version", INT64_MAX, 0);
    out->radix = (uint32_t)fields_u64_or(&f, "radix", UINT32_MAX, 0);
    out->repairs = fields_u64_or(&f, "repairs", INT64_MAX, 0);
    numbers_decode(&f, out);
    fence_decode(&f, out);
    members_decode(&f, out);
    jobs_decode(&f, out);
    campaigns_decode(&f, out);
    if (!f.bad)
        return 0;
    api_dvm_free(out);
    return -1;
}

static json_t *fence_encode(const struct api_dvm *d)
{
    json_t *fence = json_object(), *holds = json_array();

    fields_put_u64(fence, "total", d->fence_total);
    for (size_t i = 0; i < d->nholds; i++) {
        json_t *h = json_object();

        fields_put_str(h, "name", d->holds[i].name, API_NAME_MAX);
        fields_put_u64(h, "count", d->holds[i].count);
        json_array_append_new(holds, h);
    }
    json_object_set_new(fence, "holds", holds);
    return fence;
}

json_t *api_dvm_encode(const struct api_dvm *d)
{
    json_t *o = json_object(), *size = json_object(), *events = json_object();
    json_t *members = json_array(), *jobs = json_array(), *campaigns = json_array();

    fields_put_str(o, "incarnation", d->incarnation, sizeof(d->incarnation) - 1);
    fields_put_str(o, "cluster", d->cluster, API_NAME_MAX);
    fields_put_u64(o, "version", d->version);
    fields_put_u64(o, "radix", d->radix);
    fields_put_u64(o, "repairs", d->repairs);
    fields_put_u64(size, "sequence", d->size_sequence);
    fields_put_u64(size, "members", d->size_members);
    api_size_limits_encode(size, &d->size_limits);
    json_object_set_new(o, "size", size);
    fields_put_u64(events, "next", d->next_event);
    json_object_set_new(o, "events", events);
    json_object_set_new(o, "fence", fence_encode(d));
    for (size_t i = 0; i < d->nmembers; i++)
        json_array_append_new(members, member_encode(&d->members[i]));
    json_object_set_new(o, "members", members);
    for (size_t i = 0; i < d->njobs; i++)
        json_array_append_new(jobs, job_encode(&d->jobs[i]));
    json_object_set_new(o, "jobs", jobs);
    for (size_t i = 0; i < d->ncampaigns; i++)
        json_array_append_new(campaigns, api_campaign_encode(&d->campaigns[i]));
    json_object_set_new(o, "campaigns", campaigns);
    return o;
}

void api_dvm_free(struct api_dvm *d)
{
    free(d->cluster);
    for (size_t i = 0; i < d->nholds; i++)
        free(d->holds[i].name);
    free(d->holds);
    for (size_t i = 0; i < d->nmembers; i++) {
        free(d->members[i].host);
        free(d->members[i].address);
    }
    free(d->members);
    for (size_t i = 0; i < d->njobs; i++) {
        free(d->jobs[i].id);
        free(d->jobs[i].reason);
        free(d->jobs[i].waits_for);
        free(d->jobs[i].vpids);
    }
    free(d->jobs);
    for (size_t i = 0; i < d->ncampaigns; i++)
        api_campaign_free(&d->campaigns[i]);
    free(d->campaigns);
    *d = (struct api_dvm){0};
}
