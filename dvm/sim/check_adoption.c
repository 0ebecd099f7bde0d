/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a head that began with the table of most members, after all records were lost.
 *
 * In: the head after each input, until it has decided which jobs go on. Out: failures by
 * check_fail().
 *
 * jobs-survive: a job goes on whose client waits for it at a member, and which each daemon of its
 * map has, in the epoch of the map.
 * That its epochs go on is checked by check_heir.c (one-head).
 *
 * Limit: what is decided since a member reports nothing in time is not judged. */
#include "dvm/sim/check_private.h"

#include <stdlib.h>
#include <string.h>

static bool is_member(const struct check *c, uint32_t vpid, uint64_t ctr)
{
    const struct core *head = sim_head(c->sim), *x = sim_core(c->sim, vpid);
    struct epoch e = {core_inspect_epoch(head).inc, ctr};

    return x && epoch_eq(core_inspect_epoch(x), e) &&
           members_current(core_inspect_members(head), vpid, e);
}

static const struct job_launch *find_launch(const struct check *c, const char *nspace)
{
    const struct job_launch *l = NULL;

    for (uint32_t v = 1; v < SIM_NODES_MAX && !l; v++)
        l = sim_core(c->sim, v) ? core_job(sim_core(c->sim, v), nspace) : NULL;
    return l;
}

static bool is_everywhere(const struct check *c, const struct job_launch *l)
{
    for (size_t i = 0; i < l->nnodes; i++) {
        if (!is_member(c, l->nodes[i].vpid, l->nodes[i].epoch) ||
            !core_job(sim_core(c->sim, l->nodes[i].vpid), l->nspace))
            return false;
    }
    return true;
}

static bool is_known(const struct api_dvm *d, const char *nspace)
{
    for (size_t i = 0; i < d->njobs; i++) {
        if (strcmp(d->jobs[i].id, nspace) == 0)
            return true;
    }
    return false;
}

static bool must_go_on(const struct check *c, size_t job, const struct api_dvm *d)
{
    const struct sim_job *x = sim_job(c->sim, job);
    const struct job_launch *l = x->accepted && !x->done ? find_launch(c, x->nspace) : NULL;

    if (!l || x->home == VPID_HEAD || !sim_job_waits(c->sim, job) ||
        !is_member(c, x->home, x->home_epoch.ctr) || !is_everywhere(c, l))
        return false;
    return !*l->spec.parent_nspace || is_known(d, l->spec.parent_nspace);
}

static void check_decision(struct check *c, struct core *head)
{
    enum api_reason reason;
    struct api_dvm d;

    if (core_dvm(head, &d, &reason, NULL) < 0)
        return;
    for (size_t i = 0; i < sim_njobs(c->sim); i++) {
        const char *nspace = sim_job(c->sim, i)->nspace;

        if (must_go_on(c, i, &d) && !is_known(&d, nspace))
            check_fail(c, "jobs-survive", "all daemons of job %s have it, and the head ends it",
                       nspace);
    }
    api_dvm_free(&d);
}

void check_adoption(struct check *c, struct core *head)
{
    bool waits = job_adoption_waits(head_jobs(core_inspect_head(head)));
    struct api_faults faults = sim_faults(c->sim);
    struct seen_adoption *a = &c->adoption;

    if (a->life != sim_life(c->sim, VPID_HEAD))
        *a = (struct seen_adoption){.life = sim_life(c->sim, VPID_HEAD),
                                    .since_ms = sim_now(c->sim)};
    if (a->waits && !waits && sim_now(c->sim) < a->since_ms + api_faults_lost_ms(&faults) &&
        !c->two_heads)
        check_decision(c, head);
    a->waits = waits;
}
