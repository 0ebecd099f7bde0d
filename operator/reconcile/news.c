/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the events of a head between two written statuses: lost members, jobs that the DVM has
 * ended, campaigns of others that have ended.
 *
 * In: the head's events, and its views. Out: lists that the next status takes (struct plan_news);
 * the Events follow from the difference of two statuses.
 *
 * Invariants: a loss is noted by its event, and once more when the words about its pod come later;
 * a job or campaign once, when it is in a view and was not in the one before. News are kept until
 * the status with them is written.
 *
 * Failures: the first view of an incarnation is the base of comparison, so an operator that was
 * not there reports nothing that had ended before. */
#include "base/buf/buf.h"
#include "operator/model/timestamp.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>
#include <string.h>

/* Bound of a list between two writes; older news are dropped. */
#define NEWS_MAX 64
/* For so long after a loss the words of the kubelet or another controller may still come: a node is
 * declared not ready after 50 s. */
#define NEWS_OPEN_MS 120000

static void append_news(json_t **list, json_t *item)
{
    if (!*list)
        *list = json_array();
    if (json_array_size(*list) == NEWS_MAX)
        json_array_remove(*list, 0);
    json_array_append_new(*list, item);
}

static const struct pod *find_pod(const struct entry *e, uint32_t vpid)
{
    const char *slash = strchr(e->key, '/');
    FREE_AUTO char *ns = xasprintf("%.*s", (int)(slash - e->key), e->key);
    FREE_AUTO char *name = xasprintf("%s-%u", slash + 1, vpid);
    const struct pod *p = cache_get(e->r->cache[CACHE_PODS], ns, name);

    return p && p->e == e ? p : NULL;
}

/* The cause of the pod's end in the words of the kubelet or of another controller. On the heap;
 * NULL: they give none. */
static char *pod_end_text(const struct pod *pod)
{
    const char *reason = pod_text(pod, POD_DISRUPTION);
    const char *ended = pod_container_end(pod, (int64_t)loop_wall_ms());

    if (ended)
        return xasprintf("the container ended with %s (exit code %lld)", ended,
                         (long long)pod->ended_code);
    if (pod->node_silent)
        return xstrdup("its node is not ready");
    return reason ? xasprintf("the pod ends by %s", reason) : NULL;
}

/* A loss about whose pod nothing is known yet. */
static void note_open_loss(struct entry *e, json_t *loss, const struct pod *pod)
{
    uint64_t until_ms = loop_now_ms(e->r->o.loop) + NEWS_OPEN_MS;

    if (!pod_text(pod, POD_UID))
        return;
    append_news(&e->news.open, json_pack("{s:O, s:s, s:I}", "loss", loss, "uid",
                                         pod_text(pod, POD_UID), "until", (json_int_t)until_ms));
}

/* True if the loss is not open any more: it is explained now, or nothing more can come. */
static bool explain_loss(struct entry *e, const json_t *open)
{
    const json_t *loss = json_object_get(open, "loss");
    const struct pod *pod =
        find_pod(e, (uint32_t)json_integer_value(json_object_get(loss, "vpid")));
    const char *cause = json_string_value(json_object_get(loss, "cause"));
    const char *was = json_string_value(json_object_get(open, "uid"));
    const char *uid = pod ? pod_text(pod, POD_UID) : NULL;
    int64_t until_ms = json_integer_value(json_object_get(open, "until"));

    if (!uid || strcmp(uid, was) != 0 || (int64_t)loop_now_ms(e->r->o.loop) > until_ms)
        return true;
    FREE_AUTO char *end = pod_end_text(pod);
    if (!end)
        return false;
    FREE_AUTO char *whole = xasprintf("%s%s%s", cause ? cause : "", cause ? "; " : "", end);
    json_t *item = json_copy((json_t *)loss);
    json_object_set_new(item, "cause", json_string(whole));
    append_news(&e->news.losses, item);
    return true;
}

static void explain_losses(struct entry *e)
{
    for (size_t i = json_array_size(e->news.open); i-- > 0;) {
        if (explain_loss(e, json_array_get(e->news.open, i)))
            json_array_remove(e->news.open, i);
    }
}

static void forget_views(struct news *n)
{
    json_decref(n->known_jobs);
    json_decref(n->known_campaigns);
    n->known_jobs = n->known_campaigns = NULL;
    n->loss_seen = false;
}

static void see_incarnation(struct news *n, const char *incarnation)
{
    if (strcmp(incarnation, n->incarnation) == 0)
        return;
    forget_views(n);
    snprintf(n->incarnation, sizeof(n->incarnation), "%s", incarnation);
}

void news_note_event(struct entry *e, const struct api_event *event)
{
    if (event->type != API_EVENT_DAEMON_LOST)
        return;
    see_incarnation(&e->news, event->incarnation);
    e->news.loss_seen = true;
    const struct pod *pod = find_pod(e, event->vpid);
    const char *node = pod ? pod_text(pod, POD_NODE) : NULL;
    FREE_AUTO char *end = pod ? pod_end_text(pod) : NULL;
    FREE_AUTO char *now = timestamp_ms((int64_t)loop_wall_ms());
    FREE_AUTO char *cause = xasprintf("%s%s%s", event->cause ? event->cause : "",
                                      event->cause && end ? "; " : "", end ? end : "");
    json_t *item = json_pack("{s:I, s:s}", "vpid", (json_int_t)event->vpid, "time", now);

    if (node)
        json_object_set_new(item, "node", json_string(node));
    if (*cause)
        json_object_set_new(item, "cause", json_string(cause));
    if (pod && !end)
        note_open_loss(e, item, pod);
    append_news(&e->news.losses, item);
}

static void note_ended_job(struct news *n, const char *job, const char *reason)
{
    FREE_AUTO char *now = timestamp_ms((int64_t)loop_wall_ms());

    append_news(&n->jobs, json_pack("{s:s, s:s, s:s}", "job", job, "reason", reason, "time", now));
}

/* The jobs that the loss of a daemon has ended. A rank may exit with the same code, so a job is
 * new until a loss is reported: a view may come before the event. */
static void compare_jobs(struct news *n, const struct api_dvm *v)
{
    json_t *known = json_object();

    for (size_t i = 0; i < v->njobs; i++) {
        const struct api_dvm_job *j = &v->jobs[i];

        bool is_new = n->known_jobs && !json_object_get(n->known_jobs, j->id);

        if (j->exit_code != API_EXIT_LOST || (is_new && !n->loss_seen))
            continue;
        json_object_set_new(known, j->id, json_true());
        if (is_new)
            note_ended_job(n, j->id, j->reason);
    }
    json_decref(n->known_jobs);
    n->known_jobs = known;
}

/* A campaign of others that has ended, and the jobs that its drain has ended. The jobs of the
 * operator's own campaigns are reported in the same way. */
static void compare_campaigns(struct news *n, const struct cluster *c, const struct api_dvm *v)
{
    json_t *known = json_object();

    for (size_t i = 0; i < v->ncampaigns; i++) {
        const struct api_campaign *x = &v->campaigns[i];

        if (!api_phase_terminal(x->phase))
            continue;
        json_object_set_new(known, x->id, json_true());
        if (!n->known_campaigns || json_object_get(n->known_campaigns, x->id))
            continue;
        if (x->kind == API_KIND_SHRINK && !cluster_owns_campaign(c, x->id))
            append_news(&n->releases, json_string(x->id));
        for (size_t k = 0; k < x->nended; k++) {
            FREE_AUTO char *reason = xasprintf("the drain of campaign %s has ended it", x->id);

            note_ended_job(n, x->ended[k].job, reason);
        }
    }
    json_decref(n->known_campaigns);
    n->known_campaigns = known;
}

void news_observe(struct run *run)
{
    struct news *n = &run->e->news;
    const struct api_dvm *v = run->in.head.view;

    if (v) {
        see_incarnation(n, v->incarnation);
        compare_jobs(n, v);
        compare_campaigns(n, &run->c, v);
    }
    explain_losses(run->e);
    run->in.news = (struct plan_news){.losses = json_copy(n->losses),
                                      .jobs = json_copy(n->jobs),
                                      .releases = json_copy(n->releases)};
}

void news_release(struct plan_news *given)
{
    json_decref((json_t *)given->losses);
    json_decref((json_t *)given->jobs);
    json_decref((json_t *)given->releases);
    *given = (struct plan_news){0};
}

/* Removes from the list what was given; events may have added more meanwhile. */
static void drop_given(json_t *list, const json_t *given)
{
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)given, i, item)
    {
        if (json_array_get(list, 0) == item)
            json_array_remove(list, 0);
    }
}

void news_written(struct news *n, const struct plan_news *given)
{
    drop_given(n->losses, given->losses);
    drop_given(n->jobs, given->jobs);
    drop_given(n->releases, given->releases);
}

void news_clear(struct news *n)
{
    forget_views(n);
    json_decref(n->losses);
    json_decref(n->jobs);
    json_decref(n->releases);
    json_decref(n->open);
    memset(n, 0, sizeof(*n));
}
