/* SPDX-License-Identifier: BSD-3-Clause */
/* Draining: what a shrink waits for, what it ends; and releases that daemons ask for themselves
 * (SIGTERM). */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* A job that runs is also waited for if only its submitter hangs on a target: prun would lose it.
 */
static bool runs_on_targets(const struct job *j, const struct campaign *c)
{
    const struct target *t;

    if (!j->sent || job_state_over(j->state))
        return false;
    t = campaign_target(c, j->submit_vpid);
    if (t && epoch_eq(j->submit_epoch, t->id.epoch))
        return true;
    for (size_t i = 0; j->mapped && i < j->map.nnodes; i++) {
        if (!j->node_gone[i] && campaign_target(c, j->map.nodes[i].vpid))
            return true;
    }
    return false;
}

static struct api_job_ref ref_of(const struct job *j, const struct campaign *c)
{
    struct api_job_ref ref = {.job = xstrdup(j->map.nspace)};

    ref.ranks = xcalloc((size_t)j->map.nranks + 1, sizeof *ref.ranks);
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        if (campaign_target(c, j->map.nodes[j->map.rank_node[r]].vpid))
            ref.ranks[ref.nranks++] = r;
    }
    return ref;
}

/* How many jobs have ranks on the targets; their names and ranks, if out is not NULL. */
size_t drain_waits(const struct head *l, const struct campaign *c, struct api_job_ref **out)
{
    const struct job *j;
    size_t n = 0;

    if (out)
        *out = xcalloc(l->njobs + 1, sizeof **out);
    DL_FOREACH(l->jobs, j)
    {
        if (!runs_on_targets(j, c))
            continue;
        if (out)
            (*out)[n] = ref_of(j, c);
        n++;
    }
    return n;
}

void drain_end_jobs(struct head *l, struct campaign *c)
{
    struct job *j;

    c->told_jobs = true;
    DL_FOREACH(l->jobs, j)
    {
        if (j->failure || !runs_on_targets(j, c))
            continue;
        if (!MUTANT(ENDED_UNNAMED)) {
            c->ended = xrealloc(c->ended, (c->nended + 1) * sizeof *c->ended);
            c->ended[c->nended++] = ref_of(j, c);
        }
        job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended by the shrink %s (drain %s)", c->id,
                 c->req.drain_mode == API_DRAIN_KILL ? "mode Kill" : "deadline");
    }
}

void release_ask(struct head *l, uint32_t from, const struct msg *m)
{
    const struct member *x = members_get(l->members, from);
    struct release_request *r;

    if (!x || x->state != MEMBER_WIRED || l->ending)
        return;
    DL_FOREACH(l->releases, r)
    {
        if (r->id.vpid == from)
            return;
    }
    r = xcalloc(1, sizeof *r);
    r->id = (struct msg_target){from, members_epoch(l->members, x)};
    r->seconds = m->number;
    r->mode = m->number2 == API_DRAIN_KILL ? API_DRAIN_KILL : API_DRAIN_WAIT;
    DL_APPEND(l->releases, r);
    if (!l->release_at)
        l->release_at = l->out->now_ms + HEAD_RELEASE_WINDOW_MS;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* What those want who have asked and are there still; the nearest deadline counts. */
static void gather(const struct head *l, struct api_campaign_request *r)
{
    const struct release_request *x;

    DL_FOREACH(l->releases, x)
    {
        const struct member *m = member_now(l, x->id.vpid, x->id.epoch);

        if (m && m->state == MEMBER_WIRED)
            r->targets[r->ntargets++] = x->id.vpid;
        if (x->seconds >= 0 && (r->deadline_s < 0 || x->seconds < r->deadline_s))
            r->deadline_s = x->seconds;
        r->drain_mode = x->mode;
    }
    qsort(r->targets, r->ntargets, sizeof *r->targets, by_number);
}

static void releases_drop(struct head *l)
{
    struct release_request *r, *tmp;

    DL_FOREACH_SAFE(l->releases, r, tmp)
    {
        DL_DELETE(l->releases, r);
        free(r);
    }
}

/* Everybody who asked within the window leaves in one campaign; the size bound stays, so that they
 * may come back. When there is no room for one more campaign they wait. */
void release_steps(struct head *l)
{
    struct api_campaign_request r = {
        .kind = API_KIND_SHRINK, .deadline_s = -1, .drain_mode = API_DRAIN_WAIT};
    uint32_t *vpids FREE_AUTO = NULL;
    const char *reason;
    struct err err = {0};
    char id[64];

    if (!l->release_at || l->release_at > l->out->now_ms)
        return;
    l->release_at = 0;
    vpids = xcalloc(l->members->n + 1, sizeof *vpids);
    r.targets = vpids;
    gather(l, &r);
    snprintf(id, sizeof id, RELEASE_PREFIX "%llu", (unsigned long long)l->next_release + 1);
    if (r.ntargets && !l->ending && campaign_admit(l, id, &r, false, NULL, &reason, &err) < 0) {
        out_log(l->out, LOG_LEVEL_WARN, "%zu daemons that want to leave have to wait: %s",
                r.ntargets, err.msg);
        l->release_at = l->out->now_ms + HEAD_RELEASE_WINDOW_MS;
        return;
    }
    l->next_release += r.ntargets != 0;
    releases_drop(l);
}
