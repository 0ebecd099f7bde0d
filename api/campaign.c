/* SPDX-License-Identifier: BSD-3-Clause */
/* Campaign requests and records: encode and decode side by side.
 *
 * In: a request or a record as a struct or as a JSON object. Out: the other one. A shrink has a
 * drain policy; an absent one means Wait without a deadline. A grow has no drain: it has a deadline
 * as a whole, and it cannot keep the size.
 *
 * Failures: decoding stops at the first bad field, names it, and leaves nothing allocated. Targets
 * are ascending and at most API_TARGETS_MAX. A list of jobs has at most REFS_MAX entries with
 * RANKS_MAX ranks each. Sequences and phases are not judged here: the head does that. */
#include "api/campaign.h"

#include "api/fields.h"
#include "base/buf/buf.h"

#include <stdlib.h>

/* Limits of a record: jobs, and ranks of each job. */
#define REFS_MAX 65536
#define RANKS_MAX (1u << 20)

static const char *const KINDS[] = {[API_KIND_SHRINK] = "shrink", [API_KIND_GROW] = "grow"};
static const char *const DRAIN_MODES[] = {[API_DRAIN_WAIT] = "Wait", [API_DRAIN_KILL] = "Kill"};
static const char *const PHASES[] = {
    [API_PHASE_DRAINING] = "Draining",        [API_PHASE_REMOVING] = "Removing",
    [API_PHASE_COMPLETE] = "Complete",        [API_PHASE_CANCELLED] = "Cancelled",
    [API_PHASE_GATHERING] = "Gathering",      [API_PHASE_WIRING] = "Wiring",
    [API_PHASE_ROLLING_BACK] = "RollingBack", [API_PHASE_FAILED] = "Failed",
};
_Static_assert(sizeof(PHASES) / sizeof(PHASES[0]) == API_PHASES, "each phase has a name");
static const char *const TOLDS[] = {
    [API_TOLD_NOT_YET] = "NotYet",
    [API_TOLD_ANSWER] = "ByAnswer",
    [API_TOLD_EVENT] = "ByEvent",
    [API_TOLD_GONE] = "Gone",
};
_Static_assert(sizeof(TOLDS) / sizeof(TOLDS[0]) == API_TOLDS, "each has a name");
static const char *const SIZES[] = {[false] = "Reduce", [true] = "Keep"};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *api_phase_name(enum api_phase p)
{
    return (size_t)p < COUNT(PHASES) ? PHASES[p] : "?";
}

bool api_phase_terminal(enum api_phase p)
{
    return p == API_PHASE_COMPLETE || p == API_PHASE_CANCELLED || p == API_PHASE_FAILED;
}

static void shrink_decode(struct fields *f, struct api_campaign_request *out)
{
    out->drain_mode = API_DRAIN_WAIT;
    out->deadline_s = -1;
    out->keeps_size = fields_choice_or(f, "size", SIZES, COUNT(SIZES), false);
    const json_t *drain = fields_object_or_null(f, "drain");
    if (!drain)
        return;
    struct fields d = fields_of(drain, f->err);
    fields_only(&d, (const char *const[]){"mode", "deadlineSeconds", NULL});
    out->drain_mode = (enum api_drain_mode)fields_choice_or(&d, "mode", DRAIN_MODES,
                                                            COUNT(DRAIN_MODES), API_DRAIN_WAIT);
    out->deadline_s = fields_i64_or(&d, "deadlineSeconds", 0, API_DEADLINE_MAX, -1);
    if (d.bad) {
        err_wrap(f->err, "drain");
        f->bad = true;
    }
}

/* A grow has no drain: no rank runs yet on the daemons that it adds. */
static void grow_decode(struct fields *f, struct api_campaign_request *out)
{
    if (fields_object_or_null(f, "drain"))
        fields_refuse(f, "drain", "a grow campaign cannot have a drain policy");
    if (fields_choice_or(f, "size", SIZES, COUNT(SIZES), false))
        fields_refuse(f, "size", "a grow campaign cannot keep the size");
    out->deadline_s = fields_i64_or(f, "deadlineSeconds", 0, API_DEADLINE_MAX, -1);
}

int api_campaign_request_decode(const json_t *body, struct api_campaign_request *out,
                                struct err *err)
{
    *out = (struct api_campaign_request){0};
    static const char *const shrink[] = {"kind", "sequence", "targets", "size", "drain", NULL};
    static const char *const grow[] = {"kind",  "sequence",        "targets", "size",
                                       "drain", "deadlineSeconds", NULL};
    struct fields f = fields_of(body, err);
    out->kind = (enum api_kind)fields_choice(&f, "kind", KINDS, COUNT(KINDS));
    out->sequence = fields_u64(&f, "sequence", INT64_MAX);
    out->targets = fields_u32s(&f, "targets", API_TARGETS_MAX, true, &out->ntargets);
    if (out->kind == API_KIND_SHRINK)
        shrink_decode(&f, out);
    else
        grow_decode(&f, out);
    fields_only(&f, out->kind == API_KIND_SHRINK ? shrink : grow);
    if (!f.bad)
        return 0;
    api_campaign_request_free(out);
    return -1;
}

json_t *api_campaign_request_encode(const struct api_campaign_request *r)
{
    json_t *o = json_object(), *drain;

    fields_put_u64(o, "sequence", r->sequence);
    json_object_set_new(o, "kind", json_string(KINDS[r->kind]));
    fields_put_u32s(o, "targets", r->targets, r->ntargets);
    if (r->kind == API_KIND_GROW) {
        if (r->deadline_s >= 0)
            fields_put_i64(o, "deadlineSeconds", r->deadline_s);
        return o;
    }
    if (r->keeps_size)
        json_object_set_new(o, "size", json_string(SIZES[true]));
    drain = json_object();
    json_object_set_new(drain, "mode", json_string(DRAIN_MODES[r->drain_mode]));
    if (r->deadline_s >= 0)
        fields_put_i64(drain, "deadlineSeconds", r->deadline_s);
    json_object_set_new(o, "drain", drain);
    return o;
}

void api_campaign_request_free(struct api_campaign_request *r)
{
    free(r->targets);
    *r = (struct api_campaign_request){0};
}

static void refs_free(struct api_job_ref *refs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(refs[i].job);
        free(refs[i].ranks);
    }
    free(refs);
}

static struct api_job_ref *refs_decode(struct fields *f, const char *name, size_t *n)
{
    const json_t *list = fields_array_or_null(f, name, REFS_MAX);
    size_t count = json_array_size(list);

    *n = 0;
    if (count == 0)
        return NULL;
    struct api_job_ref *refs = xcalloc(count, sizeof(*refs));
    for (size_t i = 0; i < count && !f->bad; i++) {
        struct fields e = fields_of(json_array_get(list, i), f->err);

        refs[i].job = fields_str(&e, "job", API_NAME_MAX);
        refs[i].ranks = fields_u32s(&e, "ranks", RANKS_MAX, false, &refs[i].nranks);
        if (e.bad) {
            err_wrap(f->err, "%s[%zu]", name, i);
            f->bad = true;
        }
    }
    *n = count;
    return refs;
}

static json_t *refs_encode(const struct api_job_ref *refs, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();

        fields_put_str(o, "job", refs[i].job, API_NAME_MAX);
        fields_put_u32s(o, "ranks", refs[i].ranks, refs[i].nranks);
        json_array_append_new(list, o);
    }
    return list;
}

static void requester_decode(struct fields *f, struct api_requester *out)
{
    const json_t *o = fields_object_or_null(f, "requester");

    if (!o)
        return;
    struct fields d = fields_of(o, f->err);
    out->job = fields_str(&d, "job", API_NAME_MAX);
    out->rank = (uint32_t)fields_u64(&d, "rank", UINT32_MAX);
    out->vpid = (uint32_t)fields_u64(&d, "vpid", UINT32_MAX);
    out->id = fields_str_or(&d, "id", API_TEXT_MAX, "");
    out->told = (enum api_told)fields_choice(&d, "told", TOLDS, COUNT(TOLDS));
    if (d.bad) {
        err_wrap(f->err, "requester");
        f->bad = true;
    }
}

static json_t *requester_encode(const struct api_requester *r)
{
    json_t *o = json_object();

    fields_put_str(o, "job", r->job, API_NAME_MAX);
    fields_put_u64(o, "rank", r->rank);
    fields_put_u64(o, "vpid", r->vpid);
    fields_put_str(o, "id", r->id ? r->id : "", API_TEXT_MAX);
    json_object_set_new(o, "told", json_string(TOLDS[r->told]));
    return o;
}

int api_campaign_decode(const json_t *body, struct api_campaign *out, struct err *err)
{
    *out = (struct api_campaign){0};
    struct fields f = fields_of(body, err);
    out->id = fields_str(&f, "id", API_ID_MAX);
    out->sequence = fields_u64(&f, "sequence", INT64_MAX);
    out->kind = (enum api_kind)fields_choice_or(&f, "kind", KINDS, COUNT(KINDS), API_KIND_SHRINK);
    out->keeps_size = fields_choice_or(&f, "size", SIZES, COUNT(SIZES), false);
    out->cause = fields_str_or(&f, "cause", API_TEXT_MAX, "");
    out->phase = (enum api_phase)fields_choice(&f, "phase", PHASES, COUNT(PHASES));
    requester_decode(&f, &out->requester);
    out->targets = fields_u32s(&f, "targets", API_TARGETS_MAX, true, &out->ntargets);
    out->waiting = refs_decode(&f, "waiting", &out->nwaiting);
    out->ended = refs_decode(&f, "ended", &out->nended);
    out->departed = fields_u32s_or_none(&f, "departed", API_TARGETS_MAX, &out->ndeparted);
    out->accepted_ms = fields_i64_or(&f, "acceptedMs", 0, INT64_MAX, 0);
    out->drained_ms = fields_i64_or(&f, "drainedMs", 0, INT64_MAX, 0);
    out->fence_ms = fields_i64_or(&f, "fenceMs", 0, INT64_MAX, 0);
    out->complete_ms = fields_i64_or(&f, "completeMs", 0, INT64_MAX, 0);
    if (!f.bad)
        return 0;
    api_campaign_free(out);
    return -1;
}

json_t *api_campaign_encode(const struct api_campaign *c)
{
    json_t *o = json_object();

    fields_put_str(o, "id", c->id, API_ID_MAX);
    fields_put_u64(o, "sequence", c->sequence);
    json_object_set_new(o, "kind", json_string(KINDS[c->kind]));
    if (c->keeps_size)
        json_object_set_new(o, "size", json_string(SIZES[true]));
    if (c->cause && *c->cause)
        fields_put_str(o, "cause", c->cause, API_TEXT_MAX);
    json_object_set_new(o, "phase", json_string(api_phase_name(c->phase)));
    if (c->requester.job)
        json_object_set_new(o, "requester", requester_encode(&c->requester));
    fields_put_u32s(o, "targets", c->targets, c->ntargets);
    json_object_set_new(o, "waiting", refs_encode(c->waiting, c->nwaiting));
    json_object_set_new(o, "ended", refs_encode(c->ended, c->nended));
    fields_put_u32s(o, "departed", c->departed, c->ndeparted);
    fields_put_i64(o, "acceptedMs", c->accepted_ms);
    fields_put_i64(o, "drainedMs", c->drained_ms);
    fields_put_i64(o, "fenceMs", c->fence_ms);
    fields_put_i64(o, "completeMs", c->complete_ms);
    return o;
}

void api_campaign_free(struct api_campaign *c)
{
    free(c->id);
    free(c->cause);
    free(c->requester.job);
    free(c->requester.id);
    free(c->targets);
    refs_free(c->waiting, c->nwaiting);
    refs_free(c->ended, c->nended);
    free(c->departed);
    *c = (struct api_campaign){0};
}
