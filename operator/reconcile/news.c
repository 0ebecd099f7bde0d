/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the events of a head between two written statuses: lost members, jobs that the DVM has
 * ended, campaigns of others that have ended.
 *
 * In: the head's events, and its views. Out: lists that the next status takes (struct plan_news);
 * the Events follow from the difference of two statuses.
 *
 * Invariants: a loss is noted once, by its event; a job or campaign once, when it is in a view and
 * was not in the one before. News are kept until the status with them is written.
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

static void append_news(json_t **list, json_t *item)
{
    if (!*list)
        *list = json_array();
    if (json_array_size(*list) == NEWS_MAX)
        json_array_remove(*list, 0);
    json_array_append_new(*list, item);
}

static const json_t *find_pod(const struct entry *e, uint32_t vpid)
{
    FREE_AUTO char *name = xasprintf("%s-%u", strchr(e->key, '/') + 1, vpid);
    const struct pod_entry *p;

    HASH_FIND_STR(e->pods, name, p);
    return p ? p->object : NULL;
}

/* The cause of the pod's end in the words of the kubelet or of another controller. On the heap;
 * NULL: they give none. */
static char *pod_end_text(const json_t *pod)
{
    const char *reason = pod_disruption(pod);
    long long code = 0;
    const char *ended = pod_container_end(pod, (int64_t)loop_wall_ms(), &code);

    if (ended)
        return xasprintf("the container ended with %s (exit code %lld)", ended, code);
    return reason ? xasprintf("the pod ends by %s", reason) : NULL;
}

void news_note_event(struct entry *e, const struct api_event *event)
{
    if (event->type != API_EVENT_DAEMON_LOST)
        return;
    e->news.loss_seen = true;
    const json_t *pod = find_pod(e, event->vpid);
    const char *node = json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName"));
    FREE_AUTO char *end = pod ? pod_end_text(pod) : NULL;
    FREE_AUTO char *now = timestamp_ms((int64_t)loop_wall_ms());
    FREE_AUTO char *cause = xasprintf("%s%s%s", event->cause ? event->cause : "",
                                      event->cause && end ? "; " : "", end ? end : "");
    json_t *item = json_pack("{s:I, s:s}", "vpid", (json_int_t)event->vpid, "time", now);

    if (node)
        json_object_set_new(item, "node", json_string(node));
    if (*cause)
        json_object_set_new(item, "cause", json_string(cause));
    append_news(&e->news.losses, item);
}

static void note_ended_job(struct news *n, const char *job, const char *reason)
{
    FREE_AUTO char *now = timestamp_ms((int64_t)loop_wall_ms());

    append_news(&n->jobs, json_pack("{s:s, s:s, s:s}", "job", job, "reason", reason, "time", now));
}

/* The jobs that the loss of a daemon has ended. A rank may exit with the same code, so without a
 * loss nothing is noted. */
static void compare_jobs(struct news *n, const struct api_dvm *v)
{
    json_t *known = json_object();

    for (size_t i = 0; i < v->njobs; i++) {
        const struct api_dvm_job *j = &v->jobs[i];

        if (j->exit_code != API_EXIT_LOST)
            continue;
        json_object_set_new(known, j->id, json_true());
        if (n->loss_seen && n->known_jobs && !json_object_get(n->known_jobs, j->id))
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

static void forget_views(struct news *n)
{
    json_decref(n->known_jobs);
    json_decref(n->known_campaigns);
    n->known_jobs = n->known_campaigns = NULL;
    n->loss_seen = false;
}

void news_observe(struct run *run)
{
    struct news *n = &run->e->news;
    const struct api_dvm *v = run->in.head.view;

    if (v && strcmp(v->incarnation, n->incarnation) != 0) {
        forget_views(n);
        snprintf(n->incarnation, sizeof(n->incarnation), "%s", v->incarnation);
    }
    if (v) {
        compare_jobs(n, v);
        compare_campaigns(n, &run->c, v);
    }
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
    memset(n, 0, sizeof(*n));
}
