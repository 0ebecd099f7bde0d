/* SPDX-License-Identifier: BSD-3-Clause */
/* The record in the status of a DvmCluster: campaigns, size message, sequence number, incarnation.
 *
 * The operator keeps no state of its own: what it has asked the head to do is in this record
 * before it asks. A restarted operator reads the record and goes on with the same campaign.
 *
 * In: the object's status. Out: struct cluster_record, and the JSON that is written back.
 * cluster_campaign_merge() adds the head's report to a campaign.
 *
 * Invariants: decoding and encoding are inverse; the targets of a campaign are consecutive vpids,
 * since a StatefulSet can only be reduced from the top; a phase that the head has reported is
 * never replaced by an earlier one.
 *
 * Failures: a status that does not decode is an error with the field's path; the operator then
 * changes nothing. */
#include "base/buf/buf.h"
#include "operator/model/cluster_private.h"
#include "operator/model/field.h"
#include "operator/model/timestamp.h"

#include <stdio.h>
#include <string.h>

static const char *const PHASES[] = {
    [CLUSTER_RECORDED] = "Recorded",     [CLUSTER_DRAINING] = "Draining",
    [CLUSTER_REMOVING] = "Removing",     [CLUSTER_COMPLETE] = "Complete",
    [CLUSTER_CANCELLED] = "Cancelled",   [CLUSTER_REJECTED] = "Rejected",
    [CLUSTER_SUPERSEDED] = "Superseded",
};
#define NPHASES ((int)(sizeof(PHASES) / sizeof(*PHASES)))
static const char *const KINDS[CLUSTER_KINDS] = {
    [CLUSTER_SHRINK] = "Shrink", [CLUSTER_SHUTDOWN] = "Shutdown", [CLUSTER_UPDATE] = "Update"};

const char *cluster_phase_name(enum cluster_phase p)
{
    return (int)p >= 0 && (int)p < NPHASES ? PHASES[p] : "?";
}

const char *cluster_kind_name(enum cluster_kind k)
{
    return KINDS[k];
}

static bool is_terminal(enum cluster_phase p)
{
    return p >= CLUSTER_COMPLETE;
}

static int time_field(const json_t *o, const char *path, int64_t *out, struct err *err)
{
    const char *text = NULL;

    if (field_str(o, path, 64, &text, err))
        return -1;
    if (text && timestamp_parse(text, out))
        return err_set(err, "%s is not a time: \"%s\"", path, text);
    return 0;
}

/* status.campaign.targetRange. False in *there: an operator before this field wrote the status. */
static int decode_range(const json_t *o, struct cluster_campaign *c, bool *there, struct err *err)
{
    const json_t *range = NULL;
    int64_t first = 0, last = 0;

    if (field_object(o, "targetRange", &range, err) ||
        field_int(range, "targetRange.first", 1, API_TARGETS_MAX, &first, err) ||
        field_int(range, "targetRange.last", 1, API_TARGETS_MAX, &last, err))
        return -1;
    *there = range != NULL;
    if (range && (!first || last < first))
        return err_set(err, "targetRange is from %lld to %lld", (long long)first, (long long)last);
    c->first = (uint32_t)first;
    c->last = (uint32_t)last;
    return 0;
}

/* The targets must be consecutive vpids: a StatefulSet can only be reduced from the top. */
static int decode_list(const json_t *o, struct cluster_campaign *c, struct err *err)
{
    const json_t *list = json_object_get(o, "targets"), *v;
    size_t i;

    if (list && (!json_is_array(list) || json_array_size(list) > API_TARGETS_MAX))
        return err_set(err, "targets must be a list of at most %d vpids", API_TARGETS_MAX);
    c->first = 1;
    c->last = 0;
    json_array_foreach((json_t *)list, i, v)
    {
        json_int_t n = json_integer_value(v);

        if (!json_is_integer(v) || n < 1 || n > API_TARGETS_MAX)
            return err_set(err, "targets[%zu] is not the vpid of a member", i);
        if (i > 0 && n != (json_int_t)c->last + 1)
            return err_set(err, "targets[%zu] is %d, expected %u", i, (int)n, c->last + 1);
        if (i == 0)
            c->first = (uint32_t)n;
        c->last = (uint32_t)n;
    }
    return 0;
}

static int decode_targets(const json_t *o, struct cluster_campaign *c, struct err *err)
{
    bool there = false;

    if (decode_range(o, c, &there, err))
        return -1;
    return there ? 0 : decode_list(o, c, err);
}

static int decode_phase(const char *text, enum cluster_phase *out, struct err *err)
{
    for (int i = 0; text && i < NPHASES; i++) {
        if (strcmp(text, PHASES[i]) == 0) {
            *out = (enum cluster_phase)i;
            return 0;
        }
    }
    return err_set(err, "phase \"%s\" is unknown", text ? text : "");
}

static int decode_kind(const char *text, enum cluster_kind *out, struct err *err)
{
    for (int i = 0; text && i < CLUSTER_KINDS; i++) {
        if (strcmp(text, KINDS[i]) == 0) {
            *out = (enum cluster_kind)i;
            return 0;
        }
    }
    return err_set(err, "kind \"%s\" is unknown", text ? text : "");
}

static int decode_words(const json_t *o, struct cluster_campaign *c, struct err *err)
{
    const char *id = NULL, *kind = NULL, *phase = NULL, *result = NULL, *incarnation = NULL;

    if (field_str(o, "id", API_ID_MAX, &id, err) || field_str(o, "kind", 16, &kind, err) ||
        field_str(o, "phase", 16, &phase, err) ||
        field_str(o, "result", API_TEXT_MAX, &result, err) ||
        field_str(o, "incarnation", sizeof(c->incarnation) - 1, &incarnation, err) ||
        decode_kind(kind, &c->kind, err) || decode_phase(phase, &c->phase, err))
        return -1;
    if (!id || !*id)
        return err_set(err, "id is missing");
    snprintf(c->id, sizeof(c->id), "%s", id);
    snprintf(c->incarnation, sizeof(c->incarnation), "%s", incarnation ? incarnation : "");
    c->result = result ? xstrdup(result) : NULL;
    return 0;
}

int cluster_campaign_decode(const json_t *o, struct cluster_campaign *c, struct err *err)
{
    int64_t sequence = 0;

    if (decode_words(o, c, err) || decode_targets(o, c, err) ||
        field_int(o, "sequence", 1, INT64_MAX, &sequence, err) ||
        field_int(o, "generation", 0, INT64_MAX, &c->generation, err) ||
        cluster_drain_decode(o, "drain", &c->drain, err) ||
        time_field(o, "recordedTime", &c->recorded_ms, err) ||
        time_field(o, "acceptedTime", &c->accepted_ms, err) ||
        time_field(o, "drainedTime", &c->drained_ms, err) ||
        time_field(o, "fenceTime", &c->fence_ms, err) ||
        time_field(o, "completeTime", &c->complete_ms, err) ||
        time_field(o, "appliedTime", &c->applied_ms, err))
        return -1;
    if (sequence < 1)
        return err_set(err, "sequence is missing");
    if (c->kind != CLUSTER_SHUTDOWN && c->last < c->first)
        return err_set(err, "the %s has no targets", KINDS[c->kind]);
    c->sequence = (uint64_t)sequence;
    json_t *waiting = json_object_get(o, "waitingFor"), *ended = json_object_get(o, "endedJobs");
    c->waiting = json_array_size(waiting) ? json_deep_copy(waiting) : NULL;
    c->ended = json_array_size(ended) ? json_deep_copy(ended) : NULL;
    c->present = true;
    return 0;
}

static int decode_slot(const json_t *status, const char *path, struct cluster_campaign *c,
                       struct err *err)
{
    const json_t *o = NULL;

    if (field_object(status, path, &o, err))
        return -1;
    if (o && cluster_campaign_decode(o, c, err))
        return err_wrap(err, "%s", path);
    return 0;
}

/* The last campaign is history that nothing is decided from: if it cannot be read, there is none.
 */
static void decode_last(const json_t *status, struct cluster_campaign *c)
{
    struct err ignored = {0};

    if (decode_slot(status, "status.lastCampaign", c, &ignored))
        cluster_campaign_clear(c);
}

static int decode_size(const json_t *status, struct cluster_record *r, struct err *err)
{
    const json_t *size = NULL;
    int64_t sequence = 0, members = 0, min = -1, max = -1;

    if (field_object(status, "status.size", &size, err) ||
        field_int(size, "status.size.sequence", 1, INT64_MAX, &sequence, err) ||
        field_int(size, "status.size.members", 0, CLUSTER_MEMBERS_MAX, &members, err) ||
        field_int(size, "status.size.min", 0, CLUSTER_MEMBERS_MAX, &min, err) ||
        field_int(size, "status.size.max", 0, CLUSTER_MEMBERS_MAX, &max, err))
        return -1;
    r->size_sequence = (uint64_t)sequence;
    r->size_members = (uint32_t)members;
    r->size_limits = (struct api_size_limits){0};
    if (min >= 0 && max >= min) /* an older operator has recorded none */
        r->size_limits = (struct api_size_limits){true, (uint32_t)min, (uint32_t)max};
    return 0;
}

int cluster_record_decode(const json_t *object, struct cluster *out, struct err *err)
{
    struct cluster_record *r = &out->record;
    const json_t *status = NULL;
    const char *incarnation = NULL;
    int64_t sequence = 0;

    if (field_object(object, "status", &status, err) ||
        field_int(status, "status.sequence", 0, INT64_MAX, &sequence, err) ||
        field_str(status, "status.incarnation", sizeof(r->incarnation) - 1, &incarnation, err) ||
        decode_size(status, r, err) || cluster_grants_decode(status, &r->grants, err) ||
        decode_slot(status, "status.campaign", &r->campaign, err))
        return -1;
    decode_last(status, &r->last);
    r->sequence = (uint64_t)sequence;
    snprintf(r->incarnation, sizeof(r->incarnation), "%s", incarnation ? incarnation : "");
    return 0;
}

static void set_time(json_t *o, const char *key, int64_t wall_ms)
{
    if (!wall_ms)
        return;
    FREE_AUTO char *text = timestamp_ms(wall_ms);
    json_object_set_new(o, key, json_string(text));
}

static void set_text(json_t *o, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(o, key, json_string(text));
}

/* The list is for readers; the range alone bounds the size of a status of thousands of targets. */
static void encode_targets(json_t *o, const struct cluster_campaign *c)
{
    json_t *list = json_array();

    if (c->last >= c->first)
        json_object_set_new(
            o, "targetRange",
            json_pack("{s:I, s:I}", "first", (json_int_t)c->first, "last", (json_int_t)c->last));
    if (c->last >= c->first && c->last - c->first >= CLUSTER_TARGETS_LISTED_MAX) {
        json_decref(list);
        return;
    }
    for (uint32_t v = c->first; v <= c->last; v++)
        json_array_append_new(list, json_integer(v));
    json_object_set_new(o, "targets", list);
}

static json_t *encode_campaign(const struct cluster_campaign *c)
{
    json_t *drain = json_pack("{s:s}", "mode", cluster_drain_mode_name(c->drain.mode));

    if (c->drain.deadline_s >= 0)
        json_object_set_new(drain, "deadlineSeconds", json_integer(c->drain.deadline_s));
    json_t *o =
        json_pack("{s:s, s:I, s:s, s:I, s:o, s:s}", "id", c->id, "sequence",
                  (json_int_t)c->sequence, "kind", cluster_kind_name(c->kind), "generation",
                  (json_int_t)c->generation, "drain", drain, "phase", cluster_phase_name(c->phase));
    encode_targets(o, c);
    set_text(o, "incarnation", c->incarnation);
    set_text(o, "result", c->result);
    if (c->waiting)
        json_object_set(o, "waitingFor", c->waiting);
    if (c->ended)
        json_object_set(o, "endedJobs", c->ended);
    set_time(o, "recordedTime", c->recorded_ms);
    set_time(o, "acceptedTime", c->accepted_ms);
    set_time(o, "drainedTime", c->drained_ms);
    set_time(o, "fenceTime", c->fence_ms);
    set_time(o, "completeTime", c->complete_ms);
    set_time(o, "appliedTime", c->applied_ms);
    return o;
}

static json_t *encode_size(const struct cluster_record *r)
{
    json_t *o = json_pack("{s:I, s:i}", "sequence", (json_int_t)r->size_sequence, "members",
                          (int)r->size_members);

    api_size_limits_encode(o, &r->size_limits);
    return o;
}

json_t *cluster_record_encode(const struct cluster_record *r)
{
    json_t *o = json_object(), *grants = cluster_grants_encode(&r->grants);

    if (r->sequence)
        json_object_set_new(o, "sequence", json_integer((json_int_t)r->sequence));
    if (r->size_sequence)
        json_object_set_new(o, "size", encode_size(r));
    if (grants)
        json_object_set_new(o, "grants", grants);
    set_text(o, "incarnation", r->incarnation);
    if (r->campaign.present)
        json_object_set_new(o, "campaign", encode_campaign(&r->campaign));
    if (r->last.present)
        json_object_set_new(o, "lastCampaign", encode_campaign(&r->last));
    return o;
}

void cluster_campaign_clear(struct cluster_campaign *c)
{
    free_ptr(&c->result);
    json_decref(c->waiting);
    json_decref(c->ended);
    memset(c, 0, sizeof(*c));
}

static void copy_campaign(struct cluster_campaign *to, const struct cluster_campaign *from)
{
    cluster_campaign_clear(to);
    *to = *from;
    to->result = from->result ? xstrdup(from->result) : NULL;
    to->waiting = json_incref(from->waiting);
    to->ended = json_incref(from->ended);
}

void cluster_record_copy(struct cluster_record *to, const struct cluster_record *from)
{
    cluster_record_free(to);
    to->sequence = from->sequence;
    to->size_sequence = from->size_sequence;
    to->size_members = from->size_members;
    to->size_limits = from->size_limits;
    to->grants = from->grants;
    memcpy(to->incarnation, from->incarnation, sizeof(to->incarnation));
    copy_campaign(&to->campaign, &from->campaign);
    copy_campaign(&to->last, &from->last);
}

void cluster_record_free(struct cluster_record *r)
{
    cluster_campaign_clear(&r->campaign);
    cluster_campaign_clear(&r->last);
    memset(r, 0, sizeof(*r));
}

json_t *cluster_jobs_encode(const struct api_job_ref *jobs, size_t n)
{
    json_t *list = n ? json_array() : NULL;

    for (size_t i = 0; i < n && i < CLUSTER_JOBS_MAX; i++) {
        json_t *ranks = json_array();

        for (size_t k = 0; k < jobs[i].nranks && k < CLUSTER_RANKS_MAX; k++)
            json_array_append_new(ranks, json_integer(jobs[i].ranks[k]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "job", jobs[i].job, "ranks", ranks));
    }
    return list;
}

void cluster_campaign_merge(struct cluster_campaign *c, const struct api_campaign *reported)
{
    static const enum cluster_phase phases[] = {
        [API_PHASE_DRAINING] = CLUSTER_DRAINING,
        [API_PHASE_REMOVING] = CLUSTER_REMOVING,
        [API_PHASE_COMPLETE] = CLUSTER_COMPLETE,
        [API_PHASE_CANCELLED] = CLUSTER_CANCELLED,
    };

    if (reported->kind != API_KIND_SHRINK) /* a campaign of another owner with the same id */
        return;
    if (is_terminal(c->phase) || phases[reported->phase] < c->phase)
        return; /* an answer that was overtaken by a newer one */
    c->phase = phases[reported->phase];
    c->accepted_ms = reported->accepted_ms;
    c->drained_ms = reported->drained_ms;
    c->fence_ms = reported->fence_ms;
    c->complete_ms = reported->complete_ms;
    json_decref(c->waiting);
    json_decref(c->ended);
    c->waiting = cluster_jobs_encode(reported->waiting, reported->nwaiting);
    c->ended = cluster_jobs_encode(reported->ended, reported->nended);
}

bool cluster_owns_campaign(const struct cluster *c, const char *id)
{
    FREE_AUTO char *end = xasprintf("-%.8s", c->uid);
    const char *dash = strrchr(id, '-');
    bool kind = strncmp(id, "shrink-", 7) == 0 || strncmp(id, "shutdown-", 9) == 0 ||
                strncmp(id, "update-", 7) == 0;

    return kind && strcmp(dash, end) == 0;
}

void cluster_campaign_request(const struct cluster_campaign *c, struct api_campaign_request *out)
{
    memset(out, 0, sizeof(*out));
    out->sequence = c->sequence;
    out->keeps_size = c->kind == CLUSTER_UPDATE;
    out->drain_mode = c->drain.mode;
    out->deadline_s = c->drain.mode == API_DRAIN_KILL ? -1 : c->drain.deadline_s;
    out->ntargets = c->last >= c->first ? c->last - c->first + 1 : 0;
    out->targets = xcalloc(out->ntargets ? out->ntargets : 1, sizeof(*out->targets));
    for (size_t i = 0; i < out->ntargets; i++)
        out->targets[i] = c->first + (uint32_t)i;
}
