/* SPDX-License-Identifier: BSD-3-Clause */
/* The four conditions Available, Progressing, Resizing and Suspended: status, reason and message.
 *
 * In: what was observed, the plan, and trouble with objects. Out: a verdict for each condition;
 * status.c encodes it.
 *
 * Each function goes from the strongest cause to the weakest, and the first one that holds
 * decides: trouble with objects, foreign objects, pods that cannot start, a refused campaign,
 * suspension, a campaign, the connection to the head, an update, the size.
 *
 * Invariants: a verdict depends on its input alone; messages contain points in time and no
 * durations, and no text of the kubelet that changes between attempts; KEEP leaves the condition
 * as it is while the operator connects to the head.
 *
 * Failures: none: a fact that is missing is said to be unknown. */
#include "base/buf/buf.h"
#include "operator/model/timestamp.h"
#include "operator/objects/objects.h"
#include "operator/status/status_private.h"

#include <string.h>

static char *text_down(const struct facts *f, const char *consequence)
{
    const struct plan_head *h = &f->in->head;
    FREE_AUTO char *since = timestamp_s(h->down_since_ms);

    return xasprintf("The head has not answered since %s. %s Look at the pod %s-head-0; the "
                     "operator continues when the head answers.",
                     since, consequence, f->in->cluster->name);
}

static bool any_foreign(const struct facts *f, struct verdict *v)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        if (!f->in->child[i].foreign)
            continue;
        bool head = i == CLUSTER_HEAD_SET || i == CLUSTER_HEAD_SERVICE || i == CLUSTER_HEAD_PDB;
        static const char *const kinds[] = {
            [CLUSTER_SERVICE] = "Service",         [CLUSTER_HEAD_SERVICE] = "Service",
            [CLUSTER_PDB] = "PodDisruptionBudget", [CLUSTER_HEAD_PDB] = "PodDisruptionBudget",
            [CLUSTER_HEAD_SET] = "StatefulSet",    [CLUSTER_MEMBER_SET] = "StatefulSet",
        };
        if (f->in->child[i].orphaned) {
            FREE_AUTO char *advice = objects_orphan_advice(f->in->cluster);

            *v = status_verdict(STATUS_FALSE, REASON_NOT_OWNED,
                                xasprintf("%s %s%s has no owner: %s", kinds[i],
                                          f->in->cluster->name, head ? "-head" : "", advice));
            return true;
        }
        *v = status_verdict(
            STATUS_FALSE, REASON_NOT_OWNED,
            xasprintf("%s %s%s exists and this DvmCluster does not control it, so the "
                      "operator does not change it. Delete or rename one of the two.",
                      kinds[i], f->in->cluster->name, head ? "-head" : ""));
        return true;
    }
    return false;
}

static char *text_wired(const struct facts *f)
{
    if (f->wired > f->p->target)
        return xasprintf("%u members are wired, %u are required.", f->wired, f->p->target);
    return xasprintf("%u of %u members are wired.", f->wired, f->p->target);
}

/* Also says why the target differs from the spec. */
static char *text_whole(const struct facts *f)
{
    uint32_t asked = f->in->cluster->replicas;

    if (f->p->target == asked)
        return text_wired(f);
    return xasprintf(
        "%u of %u members are wired: spec.replicas is %u, and applications have %+lld.", f->wired,
        f->p->target, asked, (long long)f->p->target - asked);
}

static struct verdict available_down(const struct facts *f)
{
    struct verdict v;

    if (status_pod_stuck(f, true, &v))
        return v;
    if (!f->p->record.incarnation[0])
        return status_verdict(
            STATUS_FALSE, REASON_HEAD_NOT_READY,
            xasprintf("The head has not started yet (pod %s-head-0).", f->in->cluster->name));
    return status_verdict(STATUS_FALSE, REASON_HEAD_UNREACHABLE,
                          text_down(f, "No daemon and no pod is removed until it answers."));
}

/* While the head answers: True if a job of one rank would start. */
static struct verdict available_up(const struct facts *f)
{
    bool maps = plan_can_map(f->in->head.view);
    uint32_t target = f->p->target;

    if (target == 0 && f->wired == 0)
        return status_verdict(
            maps ? STATUS_TRUE : STATUS_FALSE, REASON_HEAD_ONLY,
            xstrdup(maps ? "Jobs run on the head, since there are no members."
                         : "The head accepts jobs and queues them, since there are "
                           "no members."));
    char *count = text_wired(f);
    if (maps)
        return status_verdict(
            STATUS_TRUE, f->wired >= target ? REASON_ALL_MEMBERS_WIRED : REASON_SOME_MEMBERS_WIRED,
            count);
    return status_verdict(STATUS_FALSE, f->wired ? REASON_MEMBERS_LEAVING : REASON_FORMING, count);
}

struct verdict condition_available(const struct facts *f)
{
    if (f->in->cluster->suspend)
        return status_verdict(STATUS_FALSE, REASON_SUSPENDED, xstrdup("spec.suspend is true."));
    if (f->in->head.link == PLAN_LINK_CONNECTING)
        return status_verdict(STATUS_KEEP, REASON_CONNECTING,
                              xstrdup("The operator is connecting to the head."));
    return f->in->head.link == PLAN_LINK_DOWN ? available_down(f) : available_up(f);
}

static char *text_updated(const struct facts *f)
{
    return xasprintf("%u of %u members have the present template", status_updated_pods(f),
                     f->p->target);
}

static struct verdict update_verdict(const struct facts *f)
{
    const struct cluster_campaign *c = &f->p->record.campaign;
    bool waits = c->phase == CLUSTER_DRAINING && c->waiting;
    FREE_AUTO char *who = status_targets_text(c);
    FREE_AUTO char *jobs = status_jobs_text(c->waiting);
    FREE_AUTO char *updated = text_updated(f);

    if (f->in->head.link == PLAN_LINK_DOWN)
        return status_verdict(STATUS_TRUE, REASON_HEAD_UNREACHABLE,
                              text_down(f, "No pod is replaced until it answers."));
    return status_verdict(STATUS_TRUE, REASON_UPDATING,
                          xasprintf("%s: being replaced%s%s; %s.", who,
                                    waits ? "; the drain waits for " : "", waits ? jobs : "",
                                    updated));
}

/* Between two campaigns of an update. */
static bool update_goes_on(const struct facts *f, struct verdict *v)
{
    for (size_t i = 0; i < f->in->npods; i++) {
        if (!plan_awaits_update(f->in, &f->in->pods[i]))
            continue;
        FREE_AUTO char *updated = text_updated(f);
        *v = status_verdict(
            STATUS_TRUE, REASON_UPDATING,
            xasprintf("%s, %u are wired. The next is replaced when at most "
                      "spec.updateStrategy.rollingUpdate.maxUnavailable are missing.",
                      updated, f->wired));
        return true;
    }
    return false;
}

/* All members are updated. */
static bool head_awaits_update(const struct facts *f, struct verdict *v)
{
    for (size_t i = 0; i < f->in->npods; i++) {
        const struct plan_pod *pod = &f->in->pods[i];

        if (pod->vpid || !pod->changed || pod->deleting ||
            !plan_head_may_be_updated(f->in->cluster) || f->p->target == 0)
            continue;
        *v = status_verdict(STATUS_TRUE, REASON_UPDATING,
                            xasprintf("%s is replaced when no job has run for 10 s that its end "
                                      "would end: jobs of clients at the head, jobs with ranks "
                                      "there.",
                                      pod->name));
        return true;
    }
    return false;
}

/* The kind is a shrink, and it runs. */
static enum reason campaign_reason(const struct cluster_campaign *c)
{
    if (c->phase == CLUSTER_RECORDED)
        return REASON_RECORDED;
    return c->phase == CLUSTER_DRAINING ? REASON_DRAINING : REASON_REMOVING;
}

static struct verdict campaign_verdict(const struct facts *f)
{
    const struct cluster_campaign *c = &f->p->record.campaign;
    FREE_AUTO char *who = status_targets_text(c);

    if (c->kind == CLUSTER_UPDATE)
        return update_verdict(f);
    if (f->p->blocked == PLAN_BLOCK_HEAD && f->in->head.link == PLAN_LINK_DOWN)
        return status_verdict(
            STATUS_TRUE, REASON_HEAD_UNREACHABLE,
            text_down(f, "Members have to leave. No member is removed until the head "
                         "answers or spec.drain.deadlineSeconds, if given, has "
                         "passed."));
    if (c->kind == CLUSTER_SHUTDOWN)
        return status_verdict(STATUS_TRUE, REASON_SHUTTING_DOWN,
                              xstrdup("The DVM is shutting down."));
    if (c->phase == CLUSTER_DRAINING && c->waiting) {
        FREE_AUTO char *jobs = status_jobs_text(c->waiting);

        return status_verdict(STATUS_TRUE, REASON_DRAINING,
                              xasprintf("%s: leaving; the drain waits for %s.", who, jobs));
    }
    if (c->phase == CLUSTER_COMPLETE)
        return status_verdict(STATUS_TRUE, REASON_REMOVING_PODS,
                              xasprintf("%s: left the DVM; their pods are being removed.", who));
    return status_verdict(STATUS_TRUE, campaign_reason(c), xasprintf("%s: leaving the DVM.", who));
}

/* A wired daemon is not enough: a pod that somebody has taken from its StatefulSet, by removing a
 * label, runs on, and nobody replaces it. */
static bool lacks_members(const struct facts *f)
{
    return f->wired < f->p->target || f->in->child[CLUSTER_MEMBER_SET].lacks_pods;
}

static struct verdict progressing_growth(const struct facts *f)
{
    return status_verdict(
        STATUS_TRUE, REASON_GROWING,
        xasprintf("%u of %u members are wired, %u pods exist.", f->wired, f->p->target, f->pods));
}

static struct verdict progressing_suspended(const struct facts *f)
{
    if (f->stopped && f->in->npods == 0)
        return status_verdict(STATUS_FALSE, REASON_SUSPENDED, xstrdup("Nothing runs."));
    if (f->stopped)
        return status_verdict(STATUS_TRUE, REASON_SUSPENDING,
                              xasprintf("%zu pods are being removed.", f->in->npods));
    if (f->p->record.campaign.present)
        return campaign_verdict(f);
    return status_verdict(STATUS_TRUE, REASON_SUSPENDING, xstrdup("The DVM is shutting down."));
}

struct verdict condition_progressing(const struct facts *f)
{
    const struct plan *p = f->p;
    const struct plan_child_seen *set = &f->in->child[CLUSTER_MEMBER_SET];
    struct verdict v;

    if (f->trouble && f->trouble->reason && !reason_is(f->trouble->reason, REASON_ASIDE))
        return status_verdict(STATUS_FALSE, f->trouble->reason, xstrdup(f->trouble->message));
    if (any_foreign(f, &v) || status_pod_stuck(f, false, &v))
        return v;
    if (p->blocked == PLAN_BLOCK_REJECTED)
        return status_verdict(STATUS_FALSE, REASON_CAMPAIGN_REJECTED,
                              xasprintf("The head refused the last campaign: %s",
                                        p->record.last.result ? p->record.last.result : "?"));
    if (f->in->cluster->suspend)
        return progressing_suspended(f);
    if (p->record.campaign.present)
        return campaign_verdict(f);
    if (f->in->head.link == PLAN_LINK_CONNECTING)
        return status_verdict(STATUS_KEEP, REASON_CONNECTING,
                              xstrdup("The operator is connecting to the head."));
    if (f->in->head.link == PLAN_LINK_DOWN && p->record.incarnation[0])
        return status_verdict(STATUS_TRUE, REASON_HEAD_UNREACHABLE,
                              text_down(f, "Nothing is removed until it answers."));
    if (!set->exists || f->in->head.link != PLAN_LINK_UP)
        return status_verdict(STATUS_TRUE, REASON_STARTING, xstrdup("The head is starting."));
    if (status_release_runs(f, &v))
        return v;
    if (set->replicas == p->target && update_goes_on(f, &v))
        return v;
    if (set->replicas != p->target || lacks_members(f))
        return progressing_growth(f);
    if (head_awaits_update(f, &v))
        return v;
    FREE_AUTO char *outdated = status_outdated_text(f);
    if (outdated)
        return status_verdict(
            STATUS_FALSE, REASON_OUTDATED_PODS,
            xasprintf("These pods have an older image or template: %s. The operator does not "
                      "replace them: "
                      "delete them one by one, or suspend and resume the DvmCluster.",
                      outdated));
    return status_verdict(STATUS_FALSE, REASON_UP_TO_DATE, text_whole(f));
}

struct verdict condition_resizing(const struct facts *f)
{
    const struct plan *p = f->p;
    const struct plan_child_seen *set = &f->in->child[CLUSTER_MEMBER_SET];
    struct verdict v;

    if (p->record.campaign.present && p->record.campaign.kind != CLUSTER_SHUTDOWN)
        return campaign_verdict(f);
    if (f->in->cluster->suspend)
        return status_verdict(STATUS_FALSE, REASON_SUSPENDED, xstrdup("spec.suspend is true."));
    if (f->in->head.link == PLAN_LINK_CONNECTING)
        return status_verdict(STATUS_KEEP, REASON_CONNECTING,
                              xstrdup("The operator is connecting to the head."));
    if (f->in->head.link == PLAN_LINK_UP && status_release_runs(f, &v))
        return v;
    if (set->exists && set->replicas != p->target)
        return progressing_growth(f);
    if (f->in->head.link == PLAN_LINK_DOWN)
        return status_verdict(
            p->record.incarnation[0] ? STATUS_UNKNOWN : STATUS_TRUE,
            p->record.incarnation[0] ? REASON_HEAD_UNREACHABLE : REASON_STARTING,
            xstrdup("The number of wired members is unknown, since the head does not answer."));
    if (lacks_members(f))
        return progressing_growth(f);
    return status_verdict(STATUS_FALSE, REASON_STABLE, xstrdup("No member is joining or leaving."));
}

struct verdict condition_suspended(const struct facts *f)
{
    if (!f->in->cluster->suspend)
        return status_verdict(STATUS_FALSE, REASON_NOT_REQUESTED,
                              xstrdup("spec.suspend is false."));
    if (f->stopped && f->in->npods == 0)
        return status_verdict(STATUS_TRUE, REASON_SUSPENDED, xstrdup("Nothing runs."));
    struct verdict v = progressing_suspended(f);
    v.value = STATUS_FALSE;
    return v;
}
