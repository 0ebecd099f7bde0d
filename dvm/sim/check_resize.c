/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of applications for another size: each is answered once, and the end of an accepted one
 * is reported once.
 *
 * In: requests that the schedule makes (check_resize()), the actions RESIZE_ANSWER and
 * RESIZE_ENDED, the head's events on campaigns. Out: failures by check_fail().
 *
 * A request is made, then answered; it runs if it was accepted and is not complete with the answer.
 * A running one is then notified of its end.
 *
 * asker-told-once: an answer comes once, at the daemon that has sent the request. The end is
 * reported once, to the requester only, unless the requester has ended before it comes. Two
 * requests with equal fields share a campaign, and its end counts for both. asker-within-limits: an
 * accepted campaign of an application names no vpid outside the size limits in force.
 *
 * Limits: at rest a request is checked only while its daemon is a member in the same epoch. Its end
 * is checked only while the head keeps the campaign. */
#include "dvm/sim/check_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seen_ask {
    uint64_t req;
    uint32_t vpid;
    struct epoch life; /* epoch of the daemon that carried it, */
    uint64_t process;  /* and which process of it */
    char nspace[64];
    uint32_t rank;
    bool tool;
    unsigned answers, ends;
    bool runs; /* accepted, and not complete with the answer */
    bool late; /* its end came when the rank had ended */
    char id[64];
    UT_hash_handle hh;
};

void check_resize(struct check *c, uint32_t vpid, const struct resize_request *a, bool tool)
{
    struct core *x = sim_core(c->sim, vpid);
    struct seen_ask *k = xcalloc(1, sizeof(*k));

    k->req = ++c->nasks;
    k->vpid = vpid;
    k->life = core_inspect_epoch(x);
    k->process = sim_life(c->sim, vpid);
    snprintf(k->nspace, sizeof(k->nspace), "%s", a->nspace);
    k->rank = a->rank;
    k->tool = tool;
    HASH_ADD(hh, c->asks, req, sizeof(k->req), k);
    sim_clock(c->sim, vpid);
    core_resize(x, k->req, a);
    sim_drain(c->sim, vpid);
}

void check_resize_answer(struct check *c, uint32_t vpid, const struct out_resize_answer *act)
{
    struct seen_ask *k;

    HASH_FIND(hh, c->asks, &act->req, sizeof(act->req), k);
    if (!k || k->vpid != vpid || k->answers) {
        check_fail(c, "asker-told-once", "vpid %u answers request %llu %s", vpid,
                   (unsigned long long)act->req, k ? "again" : "of nobody");
        return;
    }
    k->answers++;
    k->runs = act->status == RESIZE_OK && !api_phase_terminal(act->phase);
    snprintf(k->id, sizeof(k->id), "%s", act->campaign);
}

/* A head that ends before a keeper has its records may be followed by one of the same epoch. */
static bool is_its_process(const struct check *c, const struct seen_ask *k)
{
    const struct core *x = sim_core(c->sim, k->vpid);

    return x && epoch_eq(k->life, core_inspect_epoch(x)) && k->process == sim_life(c->sim, k->vpid);
}

/* The same request again, with equal fields, is the same request. */
static bool is_its_end(const struct check *c, const struct seen_ask *k, uint32_t vpid,
                       const struct msg_resize_ended *end)
{
    return k->runs && k->vpid == vpid && is_its_process(c, k) &&
           strcmp(k->nspace, end->nspace) == 0 && k->rank == end->rank &&
           strcmp(k->id, end->campaign) == 0;
}

void check_end_comes(struct check *c, uint32_t vpid, struct cur body)
{
    struct seen_ask *k, *tmp;
    struct msg m;

    if (msg_decode(&body, MSG_RESIZE_ENDED, &m, NULL) < 0)
        return;
    HASH_ITER(hh, c->asks, k, tmp)
    {
        if (is_its_end(c, k, vpid, &m.resize_ended) &&
            !sim_rank_lives(c->sim, vpid, k->nspace, k->rank))
            k->late = true;
    }
    msg_free(&m);
}

void check_resize_ended(struct check *c, uint32_t vpid, const struct msg_resize_ended *end)
{
    struct seen_ask *k, *tmp;
    unsigned n = 0, first = 0;

    HASH_ITER(hh, c->asks, k, tmp)
    {
        if (!is_its_end(c, k, vpid, end))
            continue;
        n++;
        first += !k->ends; /* it may have been repeated, and answered after an earlier end */
        k->ends = 1;
    }
    if (n && !first)
        check_fail(c, "asker-told-once", "job %s rank %u is notified again of the end of %s",
                   end->nspace, end->rank, end->campaign);
    if (n == 0)
        check_fail(c, "asker-told-once", "job %s rank %u at vpid %u is notified of the end of %s",
                   end->nspace, end->rank, vpid, end->campaign);
}

/* An accepted request is within the limits in force. */
static void check_limits(struct check *c, const struct api_campaign *a)
{
    struct api_dvm d;
    enum api_reason reason;

    if (core_dvm(sim_head(c->sim), &d, &reason, NULL) < 0)
        return;
    if (d.size_limits.set &&
        (a->kind == API_KIND_GROW ? a->targets[a->ntargets - 1] > d.size_limits.max
                                  : a->targets[0] <= d.size_limits.min))
        check_fail(c, "asker-within-limits", "campaign %s names vpids %u..%u, limits are %u..%u",
                   a->id, a->targets[0], a->targets[a->ntargets - 1], d.size_limits.min,
                   d.size_limits.max);
    api_dvm_free(&d);
}

/* By what the head knows when it sends the end, the rank runs. A tool has no job. An heir may get
 * the request of a rank anew that has ended meanwhile. */
static void check_told_in_time(struct check *c, const struct api_event *e)
{
    const struct jobs *js = head_jobs(core_inspect_head(sim_head(c->sim)));
    const struct api_requester *r = &e->campaign.requester;
    const struct job *j;

    if (!e->has_campaign || !r->job || r->told != API_TOLD_EVENT ||
        core_inherited(sim_head(c->sim)))
        return;
    j = jobs_find(js, r->job);
    if (j ? !job_rank_running(j, r->rank) : jobs_has_ended(js, r->job))
        check_fail(c, "asker-told-once", "campaign %s: job %s rank %u has ended, and is notified",
                   e->campaign.id, r->job, r->rank);
}

/* No present requester is left out. */
void check_resize_event(struct check *c, const struct api_event *e)
{
    const struct api_requester *r = &e->campaign.requester;
    const struct core *x;

    if (e->has_campaign && r->job && e->type == API_EVENT_CAMPAIGN_ACCEPTED)
        check_limits(c, &e->campaign);
    check_told_in_time(c, e);
    if (!e->has_campaign || !r->job || r->told != API_TOLD_GONE || r->vpid >= SIM_NODES_MAX)
        return;
    if (c->older && !jobs_find(head_jobs(core_inspect_head(sim_head(c->sim))), r->job))
        return; /* the job is in lost records, and ends */
    x = sim_core(c->sim, r->vpid);
    if (x && sim_rank_lives(c->sim, r->vpid, r->job, r->rank) &&
        members_current(core_inspect_members(sim_head(c->sim)), r->vpid, core_inspect_epoch(x)))
        check_fail(c, "asker-told-once", "campaign %s: job %s rank %u runs and is not notified",
                   e->campaign.id, r->job, r->rank);
}

/* The end came after that of the rank, or it was lost with the head that sent it and the rank ended
 * before the next head could. */
static bool was_too_late(const struct check *c, const struct core *head, const struct seen_ask *k)
{
    return (k->late || core_inherited(head)) && !k->tool && !k->ends &&
           !sim_rank_lives(c->sim, k->vpid, k->nspace, k->rank);
}

/* A former head has notified the rank, the records of the present one lack that, and the rank had
 * ended before this one could repeat it. */
static bool was_notified_before(const struct check *c, const struct seen_ask *k)
{
    return c->older && k->ends == 1 && !k->tool &&
           !sim_rank_lives(c->sim, k->vpid, k->nspace, k->rank);
}

static void rest_ask(struct check *c, const struct seen_ask *k)
{
    struct core *head = sim_head(c->sim);
    struct api_campaign record;
    enum api_reason reason;

    if (!is_its_process(c, k) || !members_current(core_inspect_members(head), k->vpid, k->life))
        return;
    if (k->answers != 1)
        check_fail(c, "asker-told-once", "request %llu of job %s at vpid %u has no answer",
                   (unsigned long long)k->req, k->nspace, k->vpid);
    if (!k->runs || core_campaign_get(head, k->id, &record, &reason, NULL) < 0)
        return;
    if (!was_too_late(c, head, k) && !was_notified_before(c, k) &&
        (k->ends != (record.requester.told == API_TOLD_EVENT) || (k->tool && !k->ends)))
        check_fail(c, "asker-told-once",
                   "job %s rank %u was notified of %u ends of %s, which is %s", k->nspace, k->rank,
                   k->ends, k->id, api_phase_name(record.phase));
    api_campaign_free(&record);
}

void check_resize_rest(struct check *c)
{
    struct seen_ask *k, *tmp;

    HASH_ITER(hh, c->asks, k, tmp)
    {
        rest_ask(c, k);
    }
}

void check_resize_free(struct check *c)
{
    struct seen_ask *k, *tmp;

    HASH_ITER(hh, c->asks, k, tmp)
    {
        HASH_DEL(c->asks, k);
        free(k);
    }
}
