/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that no resize fails a job, ends without its targets, announces a departure twice, or
 * raises the fence by another number than that of the members it removes.
 *
 * In: the head's jobs, campaigns, shares of the fence and events, from check_head.c. Out: failures
 * by check_fail().
 *
 * resize-fails-no-job (C1): a job that fits the DVM when the head accepts it never ends unmapped
 * with NOT_LAUNCHED. A job ends with CANCELLED by a shrink only if that shrink may end jobs.
 * Exceptions: --no-wait, the job's own hosts or map policy, a spawned job, a grow that fails.
 * target-has-left: a shrink is complete only when each target has processed its removal itself, has
 * ended, has no link at its parent, was declared lost, or was silent for the stated time.
 * departed-once: one event for each epoch of a target. fence-amount: a shrink holds as many as it
 * removes.
 *
 * Limits: while the DVM has no slots, nothing is known of a job. */
#include "dvm/sim/check_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- jobs */

/* Slots of the present members, and of the missing ones up to the bound. */
static uint64_t most_slots(const struct check *c)
{
    const struct core *head = sim_head(c->sim);
    const struct members *m = core_inspect_members(head);
    uint32_t bound = head_size_bound(core_inspect_head(head));
    uint64_t present = 0;
    uint32_t here = 0, most = 0;

    for (uint32_t v = 1; v < m->n; v++) {
        const struct member *x = members_get(m, v);

        if (!x || x->state != MEMBER_WIRED)
            continue;
        present += members_slots(m, x);
        here++;
        most = members_slots(m, x) > most ? members_slots(m, x) : most;
    }
    return here && bound ? present + (uint64_t)(bound > here ? bound - here : 0) * most : 0;
}

static bool has_own_policy(const struct job_spec *s)
{
    return (s->flags & (JOB_NO_WAIT | JOB_NOLOCAL)) || s->nhosts || s->ppr ||
           s->map_by != JOB_MAP_BY_SLOT || (s->parent_nspace && *s->parent_nspace);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Of "ended by the shrink ID (drain ...)"; NULL: no shrink has ended the job. */
static const struct seen_campaign *ender_of(const struct check *c, const char *reason)
{
    static const char by[] = "ended by the shrink ";
    struct seen_campaign *k = NULL;
    char id[64];

    if (begins_with(reason, by)) {
        snprintf(id, sizeof(id), "%.*s", (int)strcspn(reason + strlen(by), " "),
                 reason + strlen(by));
        HASH_FIND_STR(c->campaigns, id, k);
    }
    return k;
}

static void note_fit(struct check *c, const char *nspace)
{
    struct seen_fit *f = xcalloc(1, sizeof(*f));

    snprintf(f->nspace, sizeof(f->nspace), "%s", nspace);
    HASH_ADD_STR(c->fits, nspace, f);
}

bool check_fitted(const struct check *c, const char *nspace)
{
    struct seen_fit *f;

    HASH_FIND_STR(c->fits, nspace, f);
    return f != NULL;
}

void check_harm_free(struct check *c)
{
    struct seen_fit *f, *tmp;

    HASH_ITER(hh, c->fits, f, tmp)
    {
        HASH_DEL(c->fits, f);
        free(f);
    }
}

void check_harm_again(struct check *c)
{
    struct seen_fit *f, *tmp;
    struct seen_job *j;

    HASH_ITER(hh, c->fits, f, tmp)
    {
        HASH_FIND_STR(c->jobs, f->nspace, j);
        if (!j)
            continue;
        HASH_DEL(c->fits, f);
        free(f);
    }
}

void check_harm(struct check *c, struct seen_job *j, const struct job_look *x)
{
    const struct seen_campaign *k;

    if (!j->known) {
        j->known = true;
        j->fits = !has_own_policy(x->spec) && x->wants <= most_slots(c);
        if (j->fits)
            note_fit(c, x->nspace);
    }
    if (j->harmed || !x->failure)
        return;
    j->harmed = true; /* once */
    if (x->failure == JOB_EV_NO_MAP && x->exit_code == EXIT_CODE_NOT_LAUNCHED && j->fits)
        check_fail(c, "resize-fails-no-job", "job %s fitted when it came, and ends: %s", x->nspace,
                   x->reason);
    k = x->exit_code == EXIT_CODE_CANCELLED ? ender_of(c, x->reason) : NULL;
    if (k && !k->may_end_jobs)
        check_fail(c, "resize-fails-no-job", "campaign %s waits for jobs, and job %s ends: %s",
                   k->id, x->nspace, x->reason);
}

/* --- shrinks */

static void begin_removal(const struct check *c, struct seen_campaign *k,
                          const struct resize_campaign *x)
{
    const struct members *m = core_inspect_members(sim_head(c->sim));

    k->removing = true;
    for (size_t i = 0; i < x->ntargets; i++) {
        struct resize_target t = resize_target_of(x, i);

        if (t.vpid >= SIM_NODES_MAX || !members_current(m, t.vpid, t.epoch))
            continue;
        k->removes++;
        k->own[t.vpid / 64] |= 1ull << t.vpid % 64;
    }
}

struct linked {
    struct msg_target who;
    bool found;
};

static void on_link(void *arg, uint32_t vpid, struct epoch e)
{
    struct linked *x = arg;

    x->found |= vpid == x->who.vpid && epoch_eq(e, x->who.epoch);
}

/* As its parent sees it, which reports it else. */
static bool is_linked(const struct check *c, const struct msg_target *who)
{
    uint32_t parent = core_inspect_lifeline(sim_core(c->sim, who->vpid));
    const struct core *up = parent == VPID_NONE ? NULL : sim_core(c->sim, parent);
    struct linked x = {*who, false};

    if (up)
        core_inspect_links(up, on_link, &x);
    return x.found;
}

/* It runs in the epoch that the shrink removes, is linked, and has not processed that. */
static bool is_unheard(const struct check *c, const struct seen_campaign *k,
                       const struct resize_target *t)
{
    const struct core *x = t->vpid < SIM_NODES_MAX ? sim_core(c->sim, t->vpid) : NULL;
    struct msg_target id = {t->vpid, t->epoch};

    return x && k->own[t->vpid / 64] >> t->vpid % 64 & 1 &&
           epoch_eq(core_inspect_epoch(x), t->epoch) && core_state(x) == CORE_WIRED &&
           !check_was_lost(c, &id) && is_linked(c, &id);
}

void check_shrink(struct check *c, struct seen_campaign *k, const struct resize_campaign *x)
{
    uint64_t now = sim_now(c->sim);

    if (x->kind != API_KIND_SHRINK)
        return;
    k->may_end_jobs = x->may_end_jobs;
    if (x->phase == API_PHASE_REMOVING && !k->removing)
        begin_removal(c, k, x);
    if (x->phase != API_PHASE_COMPLETE || k->ended || !k->removes_since ||
        now - k->removes_since >= sim_faults(c->sim).silence_ms)
        return;
    for (size_t i = 0; i < x->ntargets; i++) {
        struct resize_target t = resize_target_of(x, i);

        if (is_unheard(c, k, &t))
            check_fail(c, "target-has-left", "shrink %s is complete, vpid %u has not left", x->id,
                       t.vpid);
    }
}

void check_share(struct check *c, const struct seen_campaign *k, uint32_t count)
{
    if (!k->adopted && k->removing && k->phase == API_PHASE_REMOVING && count != k->removes)
        check_fail(c, "fence-amount", "shrink %s removes %u members, and holds %u", k->id,
                   k->removes, count);
}

/* --- events */

void check_departed(struct check *c, uint32_t vpid, uint64_t ctr)
{
    if (vpid >= SIM_NODES_MAX)
        return;
    if (c->departed[vpid] == ctr)
        check_fail(c, "departed-once", "vpid %u has departed twice in epoch %llu", vpid,
                   (unsigned long long)ctr);
    c->departed[vpid] = ctr;
}
