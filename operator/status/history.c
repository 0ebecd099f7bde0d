/* SPDX-License-Identifier: BSD-3-Clause */
/* status.releases, status.losses and status.endedJobs: what happens to the DVM without the
 * operator.
 *
 * In: the head's view, the news, and the old status. Out: the lists of the new status; and for two
 * statuses the Events about what is new in the second.
 *
 * A release is a shrink that the operator has not recorded: a member's pod was evicted or deleted,
 * the StatefulSet was scaled by hand, or a tool or application asked. It is listed while it runs,
 * and with its end in one further status.
 *
 * Invariants: losses and ended jobs are the last STATUS_HISTORY_MAX; while the head does not answer
 * the lists stay as they are. */
#include "base/buf/buf.h"
#include "operator/status/status_private.h"

#include <stdio.h>
#include <string.h>

#define STATUS_HISTORY_MAX 16

static const json_t *find_by_id(const json_t *list, const char *id)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (strcmp(status_text(one, "id"), id) == 0)
            return one;
    }
    return NULL;
}

static bool has_text(const json_t *list, const char *text)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (strcmp(json_string_value(one), text) == 0)
            return true;
    }
    return false;
}

static bool has_phase(const json_t *release, enum api_phase p)
{
    return strcmp(status_text(release, "phase"), api_phase_name(p)) == 0;
}

static bool is_ended(const json_t *release)
{
    return has_phase(release, API_PHASE_COMPLETE) || has_phase(release, API_PHASE_CANCELLED);
}

static json_t *encode_release(const struct api_campaign *c)
{
    json_t *targets = json_array();
    json_t *o = json_pack("{s:s, s:s, s:o}", "id", c->id, "phase", api_phase_name(c->phase),
                          "targets", targets);
    json_t *waiting = cluster_jobs_encode(c->waiting, c->nwaiting);
    json_t *ended = cluster_jobs_encode(c->ended, c->nended);

    for (size_t i = 0; i < c->ntargets && i < CLUSTER_TARGETS_LISTED_MAX; i++)
        json_array_append_new(targets, json_integer(c->targets[i]));
    if (c->requester.job)
        json_object_set_new(o, "job", json_string(c->requester.job));
    if (waiting)
        json_object_set_new(o, "waitingFor", waiting);
    if (ended)
        json_object_set_new(o, "endedJobs", ended);
    return o;
}

/* True if the status shows the campaign: it runs, or its end was not shown yet. */
static bool is_shown(const struct plan_input *in, const struct api_campaign *c)
{
    const json_t *old = find_by_id(json_object_get(in->cluster->status, "releases"), c->id);

    if (c->kind != API_KIND_SHRINK || !c->ntargets || cluster_owns_campaign(in->cluster, c->id))
        return false;
    if (!api_phase_terminal(c->phase))
        return true;
    return (old && !is_ended(old)) || has_text(in->news.releases, c->id);
}

/* The ids are keys of the list: the API server would refuse a status with one of them twice. */
static json_t *list_releases(const struct plan_input *in)
{
    const struct api_dvm *v = in->head.view;
    json_t *list = json_array();

    for (size_t i = 0; v && i < v->ncampaigns && json_array_size(list) < CLUSTER_JOBS_MAX; i++) {
        if (is_shown(in, &v->campaigns[i]) && !find_by_id(list, v->campaigns[i].id))
            json_array_append_new(list, encode_release(&v->campaigns[i]));
    }
    return list;
}

/* Sets the list, or removes the field if it is empty. Takes the list. */
static void put_list(json_t *status, const char *key, json_t *list)
{
    if (json_array_size(list))
        json_object_set(status, key, list);
    json_decref(list);
}

static bool is_same_loss(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "vpid"), json_object_get(b, "vpid")) &&
           json_equal(json_object_get(a, "time"), json_object_get(b, "time"));
}

static const json_t *find_loss(const json_t *list, const json_t *loss)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (is_same_loss(one, loss))
            return one;
    }
    return NULL;
}

static bool is_same_job(const json_t *a, const json_t *b)
{
    return json_equal(a, b);
}

typedef bool same_fn(const json_t *a, const json_t *b);

/* A loss that is explained later takes the place of its earlier entry. */
static void replace_item(json_t *list, json_t *item, same_fn *is_same)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        if (is_same(json_array_get(list, i), item))
            json_array_remove(list, i);
    }
    json_array_append(list, item);
}

static void put_last(json_t *status, const char *key, const json_t *news, same_fn *is_same,
                     const json_t *old)
{
    json_t *list = json_is_array(old) ? json_copy((json_t *)old) : json_array(), *item;
    size_t i;

    json_array_foreach((json_t *)news, i, item)
    {
        replace_item(list, item, is_same);
    }
    while (json_array_size(list) > STATUS_HISTORY_MAX)
        json_array_remove(list, 0);
    put_list(status, key, list);
}

void status_put_history(json_t *status, const struct plan_input *in)
{
    const json_t *old = in->cluster->status;
    const json_t *releases = json_object_get(old, "releases");

    if (in->head.view)
        put_list(status, "releases", list_releases(in));
    else if (releases && !in->cluster->suspend)
        json_object_set(status, "releases", (json_t *)releases);
    put_last(status, "losses", in->news.losses, is_same_loss, json_object_get(old, "losses"));
    put_last(status, "endedJobs", in->news.jobs, is_same_job, json_object_get(old, "endedJobs"));
}

/* "daemon 3" or "daemons 3, 5"; on the heap. */
static char *release_targets_text(const json_t *release)
{
    const json_t *list = json_object_get(release, "targets"), *v;
    size_t n = json_array_size(list), i;
    BUF_AUTO struct buf b;

    buf_init(&b, 4096);
    json_array_foreach((json_t *)list, i, v)
    {
        char text[32];
        int len =
            snprintf(text, sizeof(text), "%s%lld", i ? ", " : "", (long long)json_integer_value(v));

        if (i < STATUS_PODS_NAMED)
            buf_put_raw(&b, text, (size_t)len);
    }
    buf_put_u8(&b, 0);
    return xasprintf("daemon%s %s%s", n == 1 ? "" : "s", (const char *)b.data,
                     n > STATUS_PODS_NAMED ? ", ..." : "");
}

bool status_release_runs(const struct facts *f, struct verdict *v)
{
    const struct api_dvm *view = f->in->head.view;

    for (size_t i = 0; view && i < view->ncampaigns; i++) {
        const struct api_campaign *c = &view->campaigns[i];

        if (api_phase_terminal(c->phase) || !is_shown(f->in, c))
            continue;
        json_t *release = encode_release(c);
        const json_t *waiting = json_object_get(release, "waitingFor");
        FREE_AUTO char *who = release_targets_text(release);
        FREE_AUTO char *jobs = status_jobs_text(waiting);
        const char *wait = waiting ? "; the drain waits for " : "";

        *v = status_verdict(STATUS_TRUE,
                            c->phase == API_PHASE_REMOVING ? REASON_REMOVING : REASON_DRAINING,
                            xasprintf("%s: leaving by campaign %s, which the operator has not "
                                      "begun%s%s.",
                                      who, c->id, wait, waiting ? jobs : ""));
        json_decref(release);
        return true;
    }
    return false;
}

static void report_release(const struct status_sink *n, const json_t *old, const json_t *now)
{
    FREE_AUTO char *who = release_targets_text(now);
    const char *id = status_text(now, "id");
    const json_t *ended = json_object_get(now, "endedJobs");
    FREE_AUTO char *jobs = status_jobs_text(ended);

    if (!old) {
        FREE_AUTO char *note = xasprintf("Campaign %s: %s will leave", id, who);

        n->fn(false, REASON_MEMBERS_LEAVING, note, n->arg);
    }
    if (!is_ended(now) || (old && is_ended(old)))
        return;
    bool left = has_phase(now, API_PHASE_COMPLETE);
    FREE_AUTO char *note = xasprintf(
        "Campaign %s: %s %s%s%s", id, who, left ? "left the DVM" : "stay, it was cancelled",
        ended ? "; jobs that the drain ended: " : "", ended ? jobs : "");
    n->fn(ended != NULL, left ? REASON_MEMBERS_RELEASED : REASON_RELEASE_CANCELLED, note, n->arg);
}

static bool has_equal(const json_t *list, const json_t *item)
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
    {
        if (json_equal(one, item))
            return true;
    }
    return false;
}

static void report_loss(const struct status_sink *n, const json_t *before, const json_t *loss)
{
    const char *node = status_text(loss, "node"), *cause = status_text(loss, "cause");
    FREE_AUTO char *note =
        xasprintf("Daemon %lld%s%s%s is lost%s%s",
                  (long long)json_integer_value(json_object_get(loss, "vpid")),
                  *node ? " (node " : "", node, *node ? ")" : "", *cause ? ": " : "", cause);

    n->fn(true, find_loss(before, loss) ? REASON_LOSS_EXPLAINED : REASON_MEMBER_LOST, note, n->arg);
}

static void report_job(const struct status_sink *n, const json_t *before, const json_t *job)
{
    FREE_AUTO char *note =
        xasprintf("Job %s: %s", status_text(job, "job"), status_text(job, "reason"));

    n->fn(true, REASON_JOB_ENDED, note, n->arg);
}

static void report_new(const struct status_sink *n, const json_t *before, const json_t *after,
                       void (*report)(const struct status_sink *, const json_t *, const json_t *))
{
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)after, i, one)
    {
        if (!has_equal(before, one))
            report(n, before, one);
    }
}

void status_history_events(const struct status_sink *n, const json_t *before, const json_t *after)
{
    const json_t *was = json_object_get(before, "releases"), *one;
    size_t i;

    json_array_foreach(json_object_get(after, "releases"), i, one)
    {
        report_release(n, find_by_id(was, status_text(one, "id")), one);
    }
    report_new(n, json_object_get(before, "losses"), json_object_get(after, "losses"), report_loss);
    report_new(n, json_object_get(before, "endedJobs"), json_object_get(after, "endedJobs"),
               report_job);
}
