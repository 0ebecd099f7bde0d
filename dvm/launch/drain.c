/* SPDX-License-Identifier: BSD-3-Clause */
/* Draining: what a shrink waits for, what it ends; and releases that daemons ask for themselves
 * (SIGTERM). */
#include "base/log/log.h"
#include "dvm/launch/launch_private.h"
#include "dvm/wire/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

/* A job that runs is also waited for if only its submitter hangs on a target: prun would lose it.
 */
static bool runs_on_targets(const struct job *j, const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        const struct msg_target *t = &c->targets[i].id;

        if (job_uses(j, t->vpid))
            return true;
        if (j->sent && !job_state_over(j->state) && j->submit_vpid == t->vpid &&
            epoch_eq(j->submit_epoch, t->epoch))
            return true;
    }
    return false;
}

static struct api_job_ref ref_of(const struct job *j, const struct campaign *c)
{
    struct api_job_ref ref = {.job = xstrdup(j->map.nspace)};

    ref.ranks = xcalloc((size_t)j->map.nranks + 1, sizeof *ref.ranks);
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        for (size_t i = 0; i < c->ntargets; i++) {
            if (j->map.nodes[j->map.rank_node[r]].vpid == c->targets[i].id.vpid)
                ref.ranks[ref.nranks++] = r;
        }
    }
    return ref;
}

/* How many jobs have ranks on the targets; their names and ranks, if out is not NULL. */
size_t drain_waits(const struct launch *l, const struct campaign *c, struct api_job_ref **out)
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

void drain_end_jobs(struct launch *l, struct campaign *c)
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
        job_fail(l, j, JOB_EV_KILL, 122, "ended by the shrink %s (drain %s)", c->id,
                 c->req.drain_mode == API_DRAIN_KILL ? "mode Kill" : "deadline");
    }
}

void release_ask(struct launch *l, uint32_t from, const struct msg *m)
{
    const struct member *x = members_get(l->members, from);
    struct release *r;

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
        l->release_at = l->out->now_ms + LAUNCH_RELEASE_WINDOW_MS;
}

/* Everybody who asked within the window leaves in one campaign; the size bound stays, so that they
 * may come back. */
void release_steps(struct launch *l)
{
    struct release *r, *tmp;
    uint32_t *vpids;
    size_t n = 0;
    int64_t seconds = -1;
    enum api_drain_mode mode = API_DRAIN_WAIT;
    char id[64];
    struct campaign *c;

    if (!l->release_at || l->release_at > l->out->now_ms)
        return;
    l->release_at = 0;
    vpids = xcalloc(l->members->n + 1, sizeof *vpids);
    DL_FOREACH_SAFE(l->releases, r, tmp)
    {
        const struct member *x = member_now(l, r->id.vpid, r->id.epoch);

        if (x && x->state == MEMBER_WIRED)
            vpids[n++] = r->id.vpid;
        if (r->seconds >= 0 && (seconds < 0 || r->seconds < seconds))
            seconds = r->seconds;
        mode = r->mode;
        DL_DELETE(l->releases, r);
        free(r);
    }
    if (n) {
        snprintf(id, sizeof id, RELEASE_PREFIX "%llu", (unsigned long long)++l->next_release);
        c = campaign_shrink(l, id, vpids, n);
        c->req.drain_mode = mode;
        c->req.deadline_s = seconds;
        if (seconds >= 0)
            c->deadline_ms = l->out->now_ms + (uint64_t)seconds * 1000 + 1;
        launch_event_add(l, API_EVENT_CAMPAIGN_ACCEPTED, 0, 0, c);
    }
    free(vpids);
}
