/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the jobs and campaigns at a head, and the members that have not come. A schedule is at
 * rest when there are none. */
#include "dvm/sim/rest.h"

#include "dvm/protocol/core/core_inspect.h"

#include <signal.h>
#include <string.h>

static void rest_job(void *arg, const struct job_look *j)
{
    ((struct rest *)arg)->jobs++;
}

static void rest_campaign(void *arg, const struct resize_campaign *c)
{
    ((struct rest *)arg)->campaigns += !api_phase_terminal(c->phase);
}

struct rest rest_look(const struct core *head)
{
    struct rest r = {0, 0};

    jobs_each(head_jobs(core_inspect_head(head)), rest_job, &r);
    resize_each_campaign(head_resize(core_inspect_head(head)), rest_campaign, &r);
    return r;
}

uint32_t rest_missing(struct sim *s, uint32_t replicas)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));
    uint32_t n = 0;

    for (uint32_t v = 1; v <= replicas; v++) {
        const struct core *x = sim_core(s, v);

        n += !x || core_state(x) != CORE_WIRED || !members_current(m, v, core_inspect_epoch(x)) ||
             members_get(m, v)->state != MEMBER_WIRED;
    }
    return n;
}

struct too_large {
    struct sim *sim;
    uint64_t slots; /* of all members */
    int job;
};

static void look_for_too_large(void *arg, const struct job_look *j)
{
    struct too_large *t = arg;

    for (size_t i = 0; j->queued && j->wants > t->slots && i < sim_njobs(t->sim); i++) {
        if (strcmp(sim_job(t->sim, i)->nspace, j->nspace) == 0)
            t->job = (int)i;
    }
}

int rest_end_too_large(struct sim *s)
{
    const struct core *head = sim_core(s, 0);
    const struct members *m = core_inspect_members(head);
    struct too_large t = {.sim = s, .job = -1};

    for (uint32_t v = 0; v < m->n; v++)
        t.slots += members_get(m, v) ? members_slots(m, members_get(m, v)) : 0;
    jobs_each(head_jobs(core_inspect_head(head)), look_for_too_large, &t);
    if (t.job < 0)
        return -1;
    core_client_signal(sim_core(s, sim_job(s, (size_t)t.job)->home), (uint32_t)t.job, SIGKILL);
    sim_drain(s, sim_job(s, (size_t)t.job)->home);
    return t.job;
}
