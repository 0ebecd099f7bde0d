/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the state that outlasts the head's process if the next one has its records.
 *
 * In: the first step of an heir, with the memory of the last step of the process before it; frames
 * of a former head; messages to submitters. Out: failures by check_fail().
 *
 * accepted-is-kept: the heir has all jobs and campaigns of the former head, and no earlier size. A
 * submitter whose job was accepted gets one end, and is never notified that the job is not known.
 * one-head: an heir has a new epoch. A member that knows the heir never returns to the former head,
 * has no link to it, and does nothing that it says.
 * volume-is-last: the records of a volume are taken if they are intact and no keeper has all. They
 * are not taken if a member that has called is ahead of them, or most are of another incarnation.
 * jobs-survive is judged by work.c: at rest each job has ended with a code of its own.
 *
 * Limits: the record of a campaign is dropped after CAMPAIGNS_KEPT others, which no schedule has.
 * Jobs of submitters at the head end with it. */
#include "dvm/sim/check_private.h"

#include "dvm/protocol/wire/client.h"

#include <stdlib.h>
#include <string.h>

#define CAMPAIGNS_KEPT 256

/* --- an heir begins */

/* The removal of one that is not known yet began in the last input of the former head. */
static void find_campaign(void *arg, const struct resize_campaign *x)
{
    struct check *c = arg;
    struct seen_campaign *k = check_campaign_of(c, x->id);

    k->found = true;
    k->adopted |= x->phase == API_PHASE_REMOVING && !k->removing;
}

static void find_campaigns(struct check *c, const struct head *h)
{
    struct seen_campaign *k, *tmp;

    HASH_ITER(hh, c->campaigns, k, tmp)
    {
        k->found = false;
    }
    resize_each_campaign(head_resize(h), find_campaign, c);
}

static void check_campaigns(struct check *c, const struct head *h)
{
    struct seen_campaign *k, *tmp;

    find_campaigns(c, h);
    HASH_ITER(hh, c->campaigns, k, tmp)
    {
        if (!k->found && HASH_COUNT(c->campaigns) < CAMPAIGNS_KEPT)
            check_fail(c, "accepted-is-kept", "the heir does not know campaign %s, which was %s",
                       k->id, api_phase_name(k->phase));
    }
}

/* It runs, waits, or has ended within this step, and can be asked for. */
static void find_jobs(struct check *c, struct core *head)
{
    enum api_reason reason;
    struct seen_job *j, *tmp;
    struct api_dvm d;

    HASH_ITER(hh, c->jobs, j, tmp)
    {
        j->seen = false;
    }
    if (core_dvm(head, &d, &reason, NULL) < 0)
        return;
    for (size_t i = 0; i < d.njobs; i++) {
        HASH_FIND_STR(c->jobs, d.jobs[i].id, j);
        if (j)
            j->seen = true;
    }
    api_dvm_free(&d);
}

static void check_jobs(struct check *c, struct core *head)
{
    struct seen_job *j, *tmp;

    find_jobs(c, head);
    HASH_ITER(hh, c->jobs, j, tmp)
    {
        if (!j->seen && !job_state_over((enum job_state)j->state))
            check_fail(c, "accepted-is-kept", "the heir does not know job %s", j->nspace);
    }
}

static bool was_epoch(struct epoch e, struct epoch now)
{
    return e.inc == now.inc && e.ctr >= now.ctr;
}

static void check_epoch(struct check *c, struct epoch now)
{
    for (uint32_t v = 1; v < SIM_NODES_MAX; v++) {
        if (was_epoch(c->nodes[v].epoch, now) || was_epoch(c->nodes[v].head, now))
            check_fail(c, "one-head", "the heir has epoch %llu, which vpid %u has had, or knows",
                       (unsigned long long)now.ctr, v);
    }
    if (now.ctr <= c->head.ctr && !sim_has_keepers(c->sim))
        check_fail(c, "one-head", "the heir has epoch %llu again", (unsigned long long)now.ctr);
}

void check_ran_on(struct check *c)
{
    struct seen_job *j;

    c->ran_on = c->two_heads = true;
    for (size_t i = 0; i < sim_njobs(c->sim); i++) {
        HASH_FIND_STR(c->jobs, sim_job(c->sim, i)->nspace, j);
        if (j)
            j->shown = sim_job(c->sim, i)->accepted;
    }
}

/* The former head knew more than its keepers, which nobody has seen; or no keeper is left that had
 * all; or it has run on. */
static void check_older(struct check *c, struct core *head)
{
    struct seen_campaign *k, *tmp;
    struct seen_job *j;

    find_campaigns(c, core_inspect_head(head));
    HASH_ITER(hh, c->campaigns, k, tmp)
    {
        if (k->shown && !k->found && !c->older)
            check_fail(c, "accepted-is-kept", "the heir does not know campaign %s", k->id);
    }
    find_jobs(c, head);
    for (size_t i = 0; i < sim_njobs(c->sim); i++) {
        const struct sim_job *x = sim_job(c->sim, i);

        HASH_FIND_STR(c->jobs, x->nspace, j);
        if (x->accepted && !x->done && j && !j->seen && sim_job_waits(c->sim, i) && !c->older &&
            (j->shown || !c->ran_on))
            check_fail(c, "accepted-is-kept", "the heir does not know job %s", x->nspace);
    }
    check_head_again(c, head);
}

/* The records may lack what has happened until now. */
static void note_older(struct check *c)
{
    c->older = true;
    c->unsure_jobs = sim_njobs(c->sim);
    check_gather_unsure(c);
}

static void check_inherited(struct check *c, struct core *head)
{
    const struct head *h = core_inspect_head(head);

    if (sim_has_keepers(c->sim) && !sim_is_kept(c->sim))
        note_older(c);
    /* Members may have seen what a head that ran on has decided, and no keeper has: then their
     * table is taken. */
    if (c->ran_on && job_adoption_waits(head_jobs(h)))
        note_older(c);
    if (!c->older || job_adoption_waits(head_jobs(h)))
        check_epoch(c, core_inspect_epoch(head));
    if (sim_has_keepers(c->sim) && (sim_knew_more(c->sim) || c->older || c->ran_on)) {
        check_older(c, head);
        return;
    }
    check_campaigns(c, h);
    check_jobs(c, head);
    check_head_succeed(c);
}

/* It has what its predecessor had decided when it was replaced. It may lack what that one has
 * decided since then. */
void check_heir(struct check *c, struct core *head)
{
    check_inherited(c, head);
    if (c->ran_on)
        note_older(c);
    c->ran_on = false;
}

void check_revived(struct check *c, struct core *head)
{
    note_older(c);
    check_head_again(c, head);
}

/* --- the volume */

/* The heir's own ADD is the first operation that its records lacked. */
static uint64_t inherited_version(const struct core *head)
{
    const struct members *m = core_inspect_members(head);

    return m->version - members_current(m, VPID_HEAD, core_inspect_epoch(head));
}

static void check_taken(struct check *c, const struct core *head)
{
    struct epoch now = core_inspect_epoch(head);
    size_t others, callers = sim_callers(c->sim, now.inc, &others);
    uint32_t vpid;

    if (sim_keeper_has_all(c->sim))
        check_fail(c, "volume-is-last", "the records of the volume are taken, a keeper has all");
    if (sim_caller_ahead(c->sim, now, inherited_version(head), &vpid))
        check_fail(c, "volume-is-last",
                   "the records of the volume are taken, vpid %u is ahead of them", vpid);
    if (2 * others > callers)
        check_fail(c, "volume-is-last",
                   "the records of the volume are taken, %zu of %zu members are of another "
                   "incarnation",
                   others, callers);
}

/* A head that went on with older records may have left members behind that are ahead of it. */
void check_volume(struct check *c, const struct core *head)
{
    size_t others;

    (void)sim_callers(c->sim, c->head.inc, &others);
    if (sim_volume_taken(c->sim))
        check_taken(c, head);
    else if (!core_inherited(head) && sim_volume_has_all(c->sim) && others == 0 && !c->older &&
             !c->ran_on)
        check_fail(c, "volume-is-last", "a new incarnation begins, the volume has all records");
}

/* --- two heads */

struct at {
    struct check *check;
    uint32_t vpid;
    struct epoch head;
};

static void see_neighbour(void *arg, const struct core_inspect_peer *p)
{
    struct at *a = arg;

    if (p->vpid == VPID_HEAD && p->epoch.inc == a->head.inc && p->epoch.ctr < a->head.ctr)
        check_fail(a->check, "one-head",
                   "vpid %u knows epoch %llu of the head, and has a link to epoch %llu", a->vpid,
                   (unsigned long long)a->head.ctr, (unsigned long long)p->epoch.ctr);
}

static struct epoch head_of(const struct core *core)
{
    const struct members *m = core_inspect_members(core);
    const struct member *head = members_get(m, VPID_HEAD);

    return head ? members_epoch(m, head) : (struct epoch){0, 0};
}

bool check_is_heir(const struct members *m, const struct frame *f)
{
    const struct member *head = members_get(m, VPID_HEAD);
    struct epoch known = head ? members_epoch(m, head) : (struct epoch){0, 0};

    return f->src == VPID_HEAD && f->src_epoch.inc == known.inc && f->src_epoch.ctr > known.ctr;
}

void check_one_head(struct check *c, uint32_t vpid)
{
    const struct core *core = sim_core(c->sim, vpid);
    struct seen_node *n = &c->nodes[vpid];
    struct at a = {c, vpid, head_of(core)};

    if (a.head.inc == n->head.inc && a.head.ctr < n->head.ctr && n->settled_life == n->life &&
        !c->older)
        check_fail(c, "one-head", "vpid %u goes back from epoch %llu of the head to %llu", vpid,
                   (unsigned long long)n->head.ctr, (unsigned long long)a.head.ctr);
    if (!epoch_none(a.head))
        n->head = a.head;
    if (vpid && !epoch_none(a.head))
        core_inspect_peers(core, see_neighbour, &a);
}

/* While a former head runs beside its heir, members that do not know the heir may follow it, also
 * later, when they go on. Then the heir lacks what this head has decided. */
static bool has_two_heads(const struct check *c, const struct core *former)
{
    return former && sim_has_keepers(c->sim) && !sim_stopped(c->sim, SIM_FORMER) &&
           core_inspect_epoch(former).inc == c->head.inc &&
           core_inspect_epoch(former).ctr < c->head.ctr;
}

void check_former_frame(struct check *c, uint32_t vpid, uint64_t conn)
{
    const struct core *former = sim_core(c->sim, SIM_FORMER), *x = sim_core(c->sim, vpid);
    bool from_former = former && sim_from_former(c->sim, vpid, conn);
    struct epoch known = head_of(x);

    c->from_former = from_former && core_inspect_epoch(former).inc == known.inc &&
                     core_inspect_epoch(former).ctr < known.ctr;
    c->left_before = core_state(x) == CORE_LEAVING;
    if (has_two_heads(c, former)) {
        c->two_heads = true;
        note_older(c);
    }
}

void check_obedience(struct check *c, uint32_t vpid, const struct out_act *act)
{
    static const enum out_kind orders[] = {OUT_LAUNCH,    OUT_START,     OUT_CREATE, OUT_CONTINUE,
                                           OUT_END_RANKS, OUT_JOB_ENDED, OUT_PARK};

    for (size_t i = 0; c->from_former && i < sizeof(orders) / sizeof(*orders); i++) {
        if (act->kind == orders[i] && !(act->kind == OUT_PARK && c->left_before))
            check_fail(c, "one-head", "vpid %u obeys a former head, and knows its heir (%d)", vpid,
                       (int)act->kind);
    }
}

/* --- submitters */

void check_client(struct check *c, const struct out_client *act)
{
    const struct sim_job *j = sim_job(c->sim, act->client);
    const struct client_end *end;
    struct client_msg m;

    if (client_msg_decode(act->msg.data, act->msg.len, &m, NULL) < 0)
        return;
    end = client_msg_end(&m);
    if (end && j->done)
        check_fail(c, "accepted-is-kept", "the submitter of job %s is notified of two ends",
                   j->nspace);
    if (end && j->accepted && !check_is_unsure(c, j) && strstr(end->text, "does not know the job"))
        check_fail(c, "accepted-is-kept", "job %s was accepted: %s", j->nspace, end->text);
    client_msg_free(&m);
}
