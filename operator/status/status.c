/* SPDX-License-Identifier: BSD-3-Clause */
/* The status of a DvmCluster, and the Events that follow from its changes.
 *
 * Input: what was observed, the plan, and trouble with objects. Output: the whole status as JSON,
 * and for two statuses the Events that report the difference.
 *
 * Invariants: equal inputs give equal JSON, so an unchanged status is not written; messages
 * contain points in time, never durations; lastTransitionTime changes only with the status of its
 * condition; an Event is derived only from two statuses, so a restarted operator repeats none.
 *
 * A spec that cannot be decoded leaves the old status, with a reason in Progressing. */
#include "operator/status/status.h"

#include "base/buf/buf.h"
#include "operator/model/timestamp.h"
#include "operator/status/status_private.h"

#include <string.h>

static const json_t *find_condition(const json_t *conditions, const char *type)
{
    const json_t *c;
    size_t i;

    json_array_foreach((json_t *)conditions, i, c)
    {
        const char *t = json_string_value(json_object_get(c, "type"));

        if (t && strcmp(t, type) == 0)
            return c;
    }
    return NULL;
}

static const char *const VALUES[] = {"False", "True", "Unknown", "Unknown"};

/* NULL: it is not there, so it has no value. */
static bool has_value(const json_t *condition, enum status_value v)
{
    return condition && strcmp(status_text(condition, "status"), VALUES[v]) == 0;
}

/* lastTransitionTime changes only with the status. Takes v.message. */
static void put_condition(json_t *list, const struct cluster *c, const char *type, struct verdict v,
                          int64_t now_ms)
{
    const json_t *old = find_condition(c->conditions, type);
    FREE_AUTO char *message = v.message;
    FREE_AUTO char *now = timestamp_s(now_ms);

    if (v.value == STATUS_KEEP && old) {
        json_array_append_new(list, json_deep_copy(old));
        return;
    }
    const char *since = now;
    if (has_value(old, v.value)) {
        const char *t = json_string_value(json_object_get(old, "lastTransitionTime"));

        since = t ? t : now;
    }
    json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s, s:s, s:s}", "type", type, "status",
                                          VALUES[v.value], "observedGeneration",
                                          (json_int_t)c->generation, "lastTransitionTime", since,
                                          "reason", reason_word(v.reason), "message", message));
}

static uint32_t member_pods(const struct plan_input *in)
{
    uint32_t n = 0;

    for (size_t i = 0; i < in->npods; i++)
        n += in->pods[i].vpid > 0;
    return n;
}

static bool is_stopped(const struct plan_input *in)
{
    const struct plan_child_seen *s = in->child;

    return (!s[CLUSTER_HEAD_SET].exists || s[CLUSTER_HEAD_SET].replicas == 0) &&
           (!s[CLUSTER_MEMBER_SET].exists || s[CLUSTER_MEMBER_SET].replicas == 0);
}

static void put_conditions(json_t *list, const struct facts *f)
{
    const struct cluster *c = f->in->cluster;
    int64_t now_ms = f->in->now_ms;
    struct verdict available = condition_available(f), progressing = condition_progressing(f);
    struct verdict ready = status_ready(&progressing), stalled = status_stalled(&progressing);
    struct verdict degraded = status_degraded(f, &available, &progressing);

    put_condition(list, c, "Available", available, now_ms);
    put_condition(list, c, "Progressing", progressing, now_ms);
    put_condition(list, c, "Resizing", condition_resizing(f), now_ms);
    put_condition(list, c, "Suspended", condition_suspended(f), now_ms);
    put_condition(list, c, "Ready", ready, now_ms);
    put_condition(list, c, "Stalled", stalled, now_ms);
    put_condition(list, c, "Degraded", degraded, now_ms);
}

/* While the head answers, the field is absent, so that contact alone changes no status. */
static void put_contact(json_t *status, const struct plan_input *in)
{
    int64_t ms = in->head.contact_ms ? in->head.contact_ms : in->cluster->last_contact_ms;

    if (in->head.link == PLAN_LINK_UP || in->cluster->suspend || !ms)
        return;
    FREE_AUTO char *text = timestamp_s(ms);
    json_object_set_new(status, "lastHeadContact", json_string(text));
}

/* While the authority is being replaced, the revision of the former one stays. */
static void put_authority(json_t *status, const struct plan_input *in)
{
    json_t *before = json_object_get(in->cluster->status, "authorityRevision");

    if (in->authority_revision >= 0)
        json_object_set_new(status, "authorityRevision", json_integer(in->authority_revision));
    else if (before)
        json_object_set(status, "authorityRevision", before);
}

/* While the operator connects to a head, the members that were wired before are taken for wired: a
 * restart of the operator alone changes no status. */
static json_t *ready_members(const struct facts *f)
{
    const json_t *known = json_object_get(f->in->cluster->status, "readyReplicas");

    if (f->in->head.link == PLAN_LINK_CONNECTING && json_is_integer(known))
        return json_deep_copy(known);
    return json_integer(f->wired);
}

json_t *status_build(const struct plan_input *in, const struct plan *p,
                     const struct status_trouble *trouble)
{
    const struct cluster *c = in->cluster;
    struct facts f = {.in = in,
                      .p = p,
                      .trouble = trouble,
                      .wired = plan_wired(in->head.view),
                      .pods = member_pods(in),
                      .stopped = is_stopped(in)};
    json_t *list = json_array();

    put_conditions(list, &f);
    FREE_AUTO char *selector = cluster_selector(c);
    json_t *status = cluster_record_encode(&p->record);
    put_contact(status, in);
    put_authority(status, in);
    status_put_history(status, in);
    status_put_owners(status, in);
    json_object_set_new(status, "observedGeneration", json_integer(c->generation));
    json_object_set_new(status, "replicas", json_integer(f.pods));
    json_object_set_new(status, "readyReplicas", ready_members(&f));
    json_object_set_new(status, "updatedReplicas", json_integer(status_updated_pods(&f)));
    if (in->child[CLUSTER_MEMBER_SET].revision)
        json_object_set_new(status, "revision",
                            json_string(in->child[CLUSTER_MEMBER_SET].revision));
    json_object_set_new(status, "desiredReplicas", json_integer(p->target));
    json_object_set_new(status, "selector", json_string(selector));
    json_object_set_new(status, "conditions", list);
    return status_bound(status);
}

/* The old status with another Progressing and Stalled. Takes v.message. */
static json_t *old_with(const struct cluster *c, const json_t *old_status, struct verdict v,
                        int64_t now_ms)
{
    json_t *status = old_status ? json_deep_copy(old_status) : json_object();
    json_t *list = json_array(), *old;
    size_t i;

    json_array_foreach(c->conditions, i, old)
    {
        const char *type = json_string_value(json_object_get(old, "type"));

        if (!type || (strcmp(type, "Progressing") != 0 && strcmp(type, "Stalled") != 0))
            json_array_append_new(list, json_deep_copy(old));
    }
    struct verdict stalled = status_stalled(&v);
    put_condition(list, c, "Progressing", v, now_ms);
    put_condition(list, c, "Stalled", stalled, now_ms);
    json_object_set_new(status, "conditions", list);
    json_object_set_new(status, "observedGeneration", json_integer(c->generation));
    return status_bound(status);
}

json_t *status_invalid(const struct cluster *c, const json_t *old_status, const char *message,
                       int64_t now_ms)
{
    char *text =
        xasprintf("%s. The operator changes nothing until the spec is corrected.", message);

    return old_with(c, old_status, status_verdict(STATUS_FALSE, REASON_INVALID_SPEC, text), now_ms);
}

json_t *status_unreadable(const struct cluster *c, const json_t *old_status, const char *message,
                          int64_t now_ms)
{
    char *text = xasprintf("The status cannot be read: %s. The operator changes nothing until it "
                           "is corrected: kubectl "
                           "edit dvmcluster %s -n %s --subresource=status.",
                           message, c->name, c->ns);

    return old_with(c, old_status, status_verdict(STATUS_FALSE, REASON_STATUS_UNREADABLE, text),
                    now_ms);
}

/* The status without the parts that change all the time. */
static json_t *essential_part(const json_t *status)
{
    json_t *o = status ? json_deep_copy(status) : json_object(), *c;
    size_t i;

    json_object_del(o, "replicas");
    json_object_del(o, "readyReplicas");
    json_object_del(o, "updatedReplicas");
    json_object_del(o, "revision");
    json_object_del(json_object_get(o, "campaign"), "waitingFor");
    json_array_foreach(json_object_get(o, "releases"), i, c)
    {
        json_object_del(c, "waitingFor");
    }
    json_array_foreach(json_object_get(o, "conditions"), i, c)
    {
        json_object_del(c, "message");
    }
    return o;
}

bool status_differs_slightly(const json_t *before, const json_t *after)
{
    json_t *a = essential_part(before), *b = essential_part(after);
    bool same = json_equal(a, b);

    json_decref(a);
    json_decref(b);
    return same;
}

/* A campaign of a status object; not present: there is none, or nobody can read it. */
static struct cluster_campaign campaign_of(const json_t *o)
{
    struct cluster_campaign c = {0};
    struct err ignored = {0};

    if (!o || cluster_campaign_decode(o, &c, &ignored))
        cluster_campaign_clear(&c);
    return c;
}

static void event_of_running(const struct status_sink *n, const struct cluster_campaign *before,
                             const struct cluster_campaign *now)
{
    static const enum reason recorded[CLUSTER_KINDS] = {
        REASON_SHRINK_RECORDED, REASON_SHUTDOWN_RECORDED, REASON_UPDATE_RECORDED};
    /* An update has one campaign for each few members: its acceptance is no Event. */
    static const enum reason accepted[CLUSTER_KINDS] = {REASON_SHRINK_ACCEPTED,
                                                        REASON_SHUTDOWN_ACCEPTED, REASON_NONE};
    bool is_new = strcmp(before->id, now->id) != 0;
    enum reason reason = is_new ? recorded[now->kind] : accepted[now->kind];

    if (!now->present || !reason || (!is_new && before->phase == now->phase) ||
        (!is_new && now->phase != CLUSTER_DRAINING))
        return;
    FREE_AUTO char *who = status_targets_text(now);
    FREE_AUTO char *note = NULL;
    if (now->kind == CLUSTER_SHUTDOWN)
        note = xasprintf("Campaign %s: the DVM is shutting down", now->id);
    else if (is_new)
        note = xasprintf("Campaign %s: %s will %s", now->id, who,
                         now->kind == CLUSTER_UPDATE ? "be replaced" : "leave");
    else
        note = xasprintf("Campaign %s: %s, phase %s", now->id, who, cluster_phase_name(now->phase));
    n->fn(false, reason, note, n->arg);
}

static void event_of_ended(const struct status_sink *n, const struct cluster_campaign *before,
                           const struct cluster_campaign *now)
{
    static const enum reason reasons[][CLUSTER_SUPERSEDED + 1] = {
        [CLUSTER_SHRINK] = {[CLUSTER_COMPLETE] = REASON_SHRINK_COMPLETE,
                            [CLUSTER_CANCELLED] = REASON_SHRINK_CANCELLED,
                            [CLUSTER_REJECTED] = REASON_SHRINK_REJECTED,
                            [CLUSTER_SUPERSEDED] = REASON_SHRINK_SUPERSEDED},
        [CLUSTER_SHUTDOWN] = {[CLUSTER_COMPLETE] = REASON_SHUTDOWN_COMPLETE,
                              [CLUSTER_CANCELLED] = REASON_SHUTDOWN_CANCELLED,
                              [CLUSTER_REJECTED] = REASON_SHUTDOWN_REJECTED,
                              [CLUSTER_SUPERSEDED] = REASON_SHUTDOWN_SUPERSEDED},
        [CLUSTER_UPDATE] = {[CLUSTER_COMPLETE] = REASON_UPDATE_COMPLETE,
                            [CLUSTER_CANCELLED] = REASON_UPDATE_CANCELLED,
                            [CLUSTER_REJECTED] = REASON_UPDATE_REJECTED,
                            [CLUSTER_SUPERSEDED] = REASON_UPDATE_SUPERSEDED},
    };

    if (!now->present || strcmp(before->id, now->id) == 0)
        return;
    const char *phase = cluster_phase_name(now->phase), *result = now->result ? now->result : "";
    FREE_AUTO char *who = status_targets_text(now);
    FREE_AUTO char *jobs = status_jobs_text(now->ended);
    FREE_AUTO char *note = NULL;
    if (now->kind != CLUSTER_SHUTDOWN && now->phase == CLUSTER_COMPLETE)
        note = xasprintf("Campaign %s: %s left the DVM and %s %s%s%s%s%s", now->id, who,
                         now->first == now->last ? "its pod is" : "their pods are",
                         now->kind == CLUSTER_UPDATE ? "replaced" : "removed",
                         now->ended ? "; jobs that the drain ended: " : "", now->ended ? jobs : "",
                         *result ? "; " : "", result);
    else
        note = xasprintf("Campaign %s: %s%s%s", now->id, phase, *result ? ": " : "", result);
    n->fn(now->ended || now->phase == CLUSTER_REJECTED, reasons[now->kind][now->phase], note,
          n->arg);
}

/* KEY: of the campaign in both statuses. */
static void events_of_campaign(const struct status_sink *n, const json_t *before,
                               const json_t *after, const char *key,
                               void (*tell)(const struct status_sink *,
                                            const struct cluster_campaign *,
                                            const struct cluster_campaign *))
{
    struct cluster_campaign old = campaign_of(json_object_get(before, key));
    struct cluster_campaign now = campaign_of(json_object_get(after, key));

    tell(n, &old, &now);
    cluster_campaign_clear(&old);
    cluster_campaign_clear(&now);
}

static enum reason reason_in(const json_t *condition)
{
    return reason_of(status_text(condition, "reason"));
}

static void events_of_conditions(const struct status_sink *n, const json_t *before,
                                 const json_t *after)
{
    const json_t *old = find_condition(json_object_get(before, "conditions"), "Available");
    const json_t *now = find_condition(json_object_get(after, "conditions"), "Available");
    bool yes = has_value(now, STATUS_TRUE);
    bool changed = strcmp(status_text(old, "status"), status_text(now, "status")) != 0;

    if (changed && (yes || old) && reason_in(now) != REASON_SUSPENDED)
        n->fn(!yes && !reason_is(reason_in(now), REASON_CALM),
              yes ? REASON_AVAILABLE : reason_in(now), status_text(now, "message"), n->arg);
    old = find_condition(json_object_get(before, "conditions"), "Progressing");
    now = find_condition(json_object_get(after, "conditions"), "Progressing");
    if (reason_in(old) != reason_in(now) && has_value(now, STATUS_FALSE) &&
        !reason_is(reason_in(now), REASON_CALM))
        n->fn(true, reason_in(now), status_text(now, "message"), n->arg);
    old = find_condition(json_object_get(before, "conditions"), "Degraded");
    now = find_condition(json_object_get(after, "conditions"), "Degraded");
    if (reason_in(old) != reason_in(now) && has_value(now, STATUS_TRUE) &&
        reason_is(reason_in(now), REASON_ASIDE)) /* Progressing does not show it */
        n->fn(true, reason_in(now), status_text(now, "message"), n->arg);
    old = find_condition(json_object_get(before, "conditions"), "Suspended");
    now = find_condition(json_object_get(after, "conditions"), "Suspended");
    if (old && strcmp(status_text(old, "status"), status_text(now, "status")) != 0) {
        yes = has_value(now, STATUS_TRUE);
        n->fn(false, yes ? REASON_SUSPENDED : REASON_RESUMED, status_text(now, "message"), n->arg);
    }
}

static void events_of_size(const struct status_sink *n, const json_t *before, const json_t *after)
{
    json_int_t was = json_integer_value(json_object_get(before, "desiredReplicas"));
    json_int_t is = json_integer_value(json_object_get(after, "desiredReplicas"));

    if (!json_object_get(before, "desiredReplicas") || is <= was)
        return;
    FREE_AUTO char *note = xasprintf("From %lld to %lld members", (long long)was, (long long)is);
    n->fn(false, REASON_GROWING, note, n->arg);
}

void status_events(const json_t *before, const json_t *after, status_event_fn *fn, void *arg)
{
    struct status_sink n = {.fn = fn, .arg = arg};
    const char *life = status_text(after, "incarnation");

    if (*life && strcmp(status_text(before, "incarnation"), life) != 0) {
        FREE_AUTO char *note = xasprintf("The head is up (incarnation %s)", life);

        fn(false, REASON_HEAD_UP, note, arg);
    }
    status_grant_events(&n, before, after);
    events_of_size(&n, before, after);
    events_of_campaign(&n, before, after, "lastCampaign", event_of_ended);
    events_of_campaign(&n, before, after, "campaign", event_of_running);
    status_history_events(&n, before, after);
    events_of_conditions(&n, before, after);
}
