/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the jobs and campaigns at a head, and the members that have not come. A schedule is at
 * rest when there are none. */
#include "dvm/sim/rest.h"

#include "dvm/protocol/core/core_inspect.h"

#include <signal.h>
#include <stdio.h>
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
    const struct members *m = core_inspect_members(sim_head(s));
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
    const struct core *head = sim_head(s);
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

struct draining {
    bool spawn_waits;
    char id[API_ID_MAX + 1]; /* of a shrink that waits for jobs; "": none */
};

static void look_for_spawn(void *arg, const struct job_look *j)
{
    ((struct draining *)arg)->spawn_waits |= j->queued && *j->spec->parent_nspace;
}

static void look_for_drain(void *arg, const struct resize_campaign *c)
{
    struct draining *d = arg;

    if (c->phase == API_PHASE_DRAINING)
        snprintf(d->id, sizeof(d->id), "%s", c->id);
}

void rest_cancel_drain(struct sim *s, uint64_t from_ms)
{
    const struct head *h = core_inspect_head(sim_head(s));
    struct draining d = {false, ""};
    struct api_campaign out;
    enum api_reason reason;

    jobs_each(head_jobs(h), look_for_spawn, &d);
    resize_each_campaign(head_resize(h), look_for_drain, &d);
    if (!d.spawn_waits || !*d.id || sim_now(s) < from_ms)
        return;
    sim_clock(s, VPID_HEAD);
    if (core_campaign_cancel(sim_head(s), d.id, &out, &reason, NULL) < 0)
        return;
    api_campaign_free(&out);
    sim_drain(s, VPID_HEAD);
}

static void see_out(void *arg, const struct core_inspect_peer *p)
{
    *(size_t *)arg += p->out;
}

bool rest_has_out(struct sim *s)
{
    const struct members *m = core_inspect_members(sim_head(s));
    size_t out = 0;

    for (uint32_t v = 0; v < m->n && out == 0; v++) {
        if (sim_core(s, v))
            core_inspect_peers(sim_core(s, v), see_out, &out);
    }
    return out > 0;
}

static const char *state_at_head(struct sim *s, uint32_t v)
{
    const struct core *head = sim_head(s);
    const struct member *m = head ? members_get(core_inspect_members(head), v) : NULL;

    return m ? member_state_word(m->state) : "unknown";
}

static void print_wait(void *arg, const struct core_wait *w)
{
    printf("            job %s: %s\n", w->nspace, w->text);
}

/* Each daemon, and what its jobs wait for. */
void rest_print(struct sim *s, uint32_t nodes)
{
    for (uint32_t v = 0; v < nodes; v++) {
        const struct core *x = sim_core(s, v);

        if (!x)
            continue;
        printf("%6llu   -> vpid %u: %s, epoch %llu, version %llu, complete %llu, live %u, "
               "lifeline %d: %.80s\n",
               (unsigned long long)sim_now(s), v, state_at_head(s, v),
               (unsigned long long)core_inspect_epoch(x).ctr,
               (unsigned long long)core_stats(x).version,
               (unsigned long long)core_inspect_complete(x), core_stats(x).live,
               (int)core_inspect_lifeline(x), core_state_text(x));
        (void)core_waits(x, print_wait, NULL);
    }
}
