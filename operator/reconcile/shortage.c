/* SPDX-License-Identifier: BSD-3-Clause */
/* A StatefulSet that has fewer pods than replicas, explained in the API server's own words.
 *
 * In: the observed StatefulSets and pods of a pass. Out: in the plan's input (plan_child_seen),
 * whether pods are missing (lacks_pods) and one is to be tried (short_of_pods), and the last
 * refusal.
 *
 * The controller of StatefulSets reports a pod that it cannot create (a quota, an admission
 * policy) only in Events. So the operator tries the pod itself, in a dry run (probe.c).
 *
 * Limits: the first try is SHORTAGE_PATIENCE_MS after the pods are missing and the controller has
 * seen the StatefulSet; each further pause is twice as long, up to SHORTAGE_PAUSE_MAX_MS. Nothing
 * is tried while the user leaves out dry runs.
 *
 * Failures: without an answer the words stay as they are until the next try. */
#include "base/buf/buf.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdlib.h>
#include <string.h>

#define SHORTAGE_PATIENCE_MS 4000
#define SHORTAGE_PAUSE_MAX_MS 60000
/* A success of another cluster with the same template answers the question for so long. */
#define SHORTAGE_VALID_MS 1000

static uint32_t count_pods(const struct run *run, enum cluster_child set)
{
    uint32_t n = 0;

    for (size_t i = 0; i < run->in.npods; i++)
        n += (run->in.pods[i].vpid == 0) == (set == CLUSTER_HEAD_SET);
    return n;
}

static bool is_short(const struct run *run, enum cluster_child set)
{
    const struct plan_child_seen *s = &run->in.child[set];

    return s->exists && !s->deleting && count_pods(run, set) < s->replicas;
}

void shortage_clear(struct shortage *s)
{
    free(s->words);
    *s = (struct shortage){0};
}

static void observe_set(struct run *run, enum cluster_child set)
{
    struct shortage *m = &run->e->child[set].shortage;
    struct plan_child_seen *s = &run->in.child[set];

    if (!is_short(run, set)) {
        if (s->exists) /* words that came before it existed are about its pods */
            shortage_clear(m);
        return;
    }
    s->refusal = m->words;
    s->lacks_pods = run->child[set].observed->observed;
    if (!s->lacks_pods)
        return;
    if (!m->pause_ms) {
        m->pause_ms = SHORTAGE_PATIENCE_MS;
        m->try_ms = run->now_ms + SHORTAGE_PATIENCE_MS;
    }
    s->short_of_pods = run->now_ms >= m->try_ms && !run->c.untried;
    if (!s->short_of_pods)
        queue_add_after(run->e->r->queue, run->e->key,
                        m->try_ms > run->now_ms ? m->try_ms - run->now_ms : SHORTAGE_PAUSE_MAX_MS);
}

void shortage_observe(struct run *run)
{
    observe_set(run, CLUSTER_HEAD_SET);
    observe_set(run, CLUSTER_MEMBER_SET);
}

bool shortage_is_quota(int status, const struct err *err)
{
    return status == 403 && strstr(err->msg, "exceeded quota: ");
}

void shortage_note(struct run *run, const struct err *err)
{
    struct shortage *m = &run->e->child[run->action->child].shortage;

    free(m->words);
    m->words = err ? xstrdup(err->msg) : NULL;
    run->in.child[run->action->child].refusal = m->words;
}

static void on_tried(struct run *run, int status, const struct err *err)
{
    if (status == 200)
        shortage_note(run, NULL);
    else if (status == 400 || status == 403 || status == 422)
        shortage_note(run, err);
    run->on_action_done(run);
}

void shortage_try(struct run *run)
{
    struct shortage *m = &run->e->child[run->action->child].shortage;

    if (m->pause_ms < SHORTAGE_PAUSE_MAX_MS)
        m->pause_ms *= 2;
    m->try_ms = run->now_ms + m->pause_ms;
    queue_add_after(run->e->r->queue, run->e->key, m->pause_ms);
    probe_template(run, SHORTAGE_VALID_MS, on_tried);
}
