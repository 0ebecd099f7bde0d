/* SPDX-License-Identifier: BSD-3-Clause */
/* Invariants of the head's records: jobs, slots, CPUs, the fence, campaigns and their events.
 *
 * In: the head's core after a step or an input (check_head()), with the memory of its last step.
 * Out: failures by check_fail().
 *
 * Order: new events, campaigns, the fence, jobs, then slots and CPUs of each vpid. The sums of the
 * later parts come from the earlier ones.
 *
 * Campaigns: one-terminal-event, all-or-nothing, resize-in-time, and one-repair (a campaign keeps
 * its broadcast).
 * The fence: fence-sum (the shares are those of the changes that run). Jobs: mapped-ready,
 * no-send-to-leaving, ready-is-true, nobody-parked-forever, nobody-starves, queue-moves. Slots and
 * CPUs: slots-balance, cpus-balance. unrelated-loss: a held job goes on only after the operation
 * that holds it has ended, and no loss ends it; a campaign ends after its broadcast.
 *
 * Limits: a step may contain several changes. So a member counts as wired if it was so when the
 * step began. A target that was lost, or named by a shrink, in the step may be absent. A held job
 * without a holder is a failure only after the whole input (settled). A job may be held for
 * CHECK_HELD_MAX_MS of virtual time.
 *
 * check_let_go() checks nothing: it continues jobs that have stopped for a debugger. */
#include "dvm/sim/check_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_head_forget(struct check *c)
{
    struct seen_job *j, *jtmp;
    struct seen_campaign *k, *ktmp;
    struct seen_launch *x, *xtmp;

    HASH_ITER(hh, c->jobs, j, jtmp)
    {
        HASH_DEL(c->jobs, j);
        free(j);
    }
    HASH_ITER(hh, c->campaigns, k, ktmp)
    {
        HASH_DEL(c->campaigns, k);
        free(k);
    }
    HASH_ITER(hh, c->launches, x, xtmp)
    {
        HASH_DEL(c->launches, x);
        free(x);
    }
    memset(c->state, 0, sizeof(c->state));
    memset(c->departed, 0, sizeof(c->departed));
    c->next_event = 1;
    c->fence = 0;
    c->batch = (struct head_batch){0, 0};
}

void check_head_succeed(struct check *c)
{
    struct seen_campaign *k, *ktmp;
    struct seen_launch *x, *xtmp;

    HASH_ITER(hh, c->campaigns, k, ktmp)
    {
        k->adopted |= k->phase == API_PHASE_REMOVING;
        k->waits_since = sim_now(c->sim);
        k->waits_ran = sim_ran_ms(c->sim, VPID_HEAD);
        k->held = false;
    }
    HASH_ITER(hh, c->launches, x, xtmp) /* its messages are numbered anew */
    {
        HASH_DEL(c->launches, x);
        free(x);
    }
    c->batch = (struct head_batch){0, 0};
}

struct seen_campaign *check_campaign_of(struct check *c, const char *id)
{
    struct seen_campaign *k;

    HASH_FIND_STR(c->campaigns, id, k);
    if (!k) {
        k = xcalloc(1, sizeof(*k));
        snprintf(k->id, sizeof(k->id), "%s", id);
        HASH_ADD_STR(c->campaigns, id, k);
    }
    return k;
}

/* --- events */

/* The epoch of the vpid that the head knows, or knew last. */
static struct epoch life_of(const struct check *c, uint32_t vpid)
{
    const struct members *m = core_inspect_members(sim_head(c->sim));
    const struct member *x = members_get(m, vpid);

    return x ? members_epoch(m, x) : (struct epoch){0, 0};
}

/* A node is offered once for each epoch that a shrink removes. */
static void check_offer(struct check *c, const struct api_campaign *x, bool unsure)
{
    for (size_t i = 0; x->kind == API_KIND_SHRINK && i < x->ntargets; i++) {
        uint32_t vpid = x->targets[i];
        struct epoch life = life_of(c, vpid);

        if (vpid >= SIM_NODES_MAX || epoch_none(life))
            continue;
        if (epoch_eq(c->offered[vpid], life) && !unsure)
            check_fail(c, "one-terminal-event", "campaign %s offers vpid %u again", x->id, vpid);
        c->offered[vpid] = life;
    }
}

static bool offered_before(const struct check *c, const struct api_campaign *x)
{
    for (size_t i = 0; i < x->ntargets; i++) {
        uint32_t vpid = x->targets[i];
        struct epoch life = life_of(c, vpid);

        if (vpid >= SIM_NODES_MAX || epoch_none(life) ||
            !(epoch_eq(c->offered[vpid], life) || epoch_eq(c->unseen[vpid], life)))
            return false;
    }
    return true;
}

/* Counts the offers up to this event. Nodes that a shrink or failed grow frees are offered once,
 * before its terminal event; none if other campaigns have offered all. */
static unsigned count_freed(const struct check *c, const struct seen_campaign *k,
                            const struct api_event *e)
{
    bool grow = e->campaign.kind == API_KIND_GROW;

    switch (e->type) {
    case API_EVENT_NODES_OFFERED:
        return 1;
    case API_EVENT_CAMPAIGN_COMPLETE:
        return !grow && (k->offered || !offered_before(c, &e->campaign));
    case API_EVENT_CAMPAIGN_FAILED:
    case API_EVENT_CAMPAIGN_CANCELLED:
        return grow;
    default:
        return 0;
    }
}

static void check_event(struct check *c, const struct api_event *e)
{
    struct seen_campaign *k = e->has_campaign ? check_campaign_of(c, e->campaign.id) : NULL;

    if (e->type == API_EVENT_DAEMON_LOST) {
        c->lost_now = true;
        check_loss(c, e->vpid, e->epoch, e->cause);
    }
    if (e->type == API_EVENT_DAEMON_DEPARTED)
        check_departed(c, e->vpid, e->epoch);
    if (!k)
        return;
    check_resize_event(c, e);
    for (size_t i = 0; e->type == API_EVENT_CAMPAIGN_ACCEPTED && i < e->campaign.ntargets; i++) {
        if (e->campaign.targets[i] < SIM_NODES_MAX)
            c->named_step[e->campaign.targets[i]] = true;
    }
    k->accepted += e->type == API_EVENT_CAMPAIGN_ACCEPTED;
    k->offered += e->type == API_EVENT_NODES_OFFERED;
    k->complete += e->type == API_EVENT_CAMPAIGN_COMPLETE;
    k->failed += e->type == API_EVENT_CAMPAIGN_FAILED;
    k->cancelled += e->type == API_EVENT_CAMPAIGN_CANCELLED;
    if (e->type == API_EVENT_NODES_OFFERED)
        check_offer(c, &e->campaign, k->unsure);
    if (k->unsure)
        return;
    if (k->offered != count_freed(c, k, e))
        check_fail(c, "one-terminal-event", "campaign %s: %s after %u offers", k->id,
                   api_event_type_name(e->type), k->offered);
    if (k->complete + k->failed + k->cancelled > 1)
        check_fail(c, "one-terminal-event", "campaign %s: %u ends", k->id,
                   k->complete + k->failed + k->cancelled);
}

/* The phases in which a campaign has raised the fence. */
static bool raises_fence(enum api_phase p)
{
    return p == API_PHASE_REMOVING || p == API_PHASE_WIRING || p == API_PHASE_ROLLING_BACK;
}

/* At the end of a grow, all its targets are in the tree, or none that it added. One that was lost,
 * or that a shrink has named, in the same step may have left again. */
static void check_whole(struct check *c, const struct resize_campaign *x)
{
    const struct members *m = core_inspect_members(sim_head(c->sim));

    for (size_t i = 0; i < x->ntargets && api_phase_terminal(x->phase); i++) {
        struct resize_target t = resize_target_of(x, i);
        bool live = members_current(m, t.vpid, t.epoch);

        if (x->phase == API_PHASE_COMPLETE ? !live && !c->lost_now && !c->named_step[t.vpid]
                                           : live && t.added)
            check_fail(c, "all-or-nothing", "grow %s is %s, vpid %u is %sin the tree", x->id,
                       api_phase_name(x->phase), t.vpid, live ? "" : "not ");
    }
}

/* A head that has hung waits longer: it had not heard of anybody meanwhile. */
static void check_silence(struct check *c, const struct seen_campaign *k,
                          const struct resize_campaign *x)
{
    uint64_t waits_ms = sim_now(c->sim) - k->waits_since;

    if (sim_rests(c->sim, VPID_HEAD) || sim_ran_ms(c->sim, VPID_HEAD) - k->waits_ran < waits_ms)
        return;
    for (size_t i = 0; i < x->ntargets && waits_ms > sim_faults(c->sim).silence_ms; i++) {
        struct resize_target t = resize_target_of(x, i);

        if (!t.out)
            check_fail(c, "resize-in-time", "shrink %s has waited for vpid %u for %llu ms", x->id,
                       t.vpid, (unsigned long long)waits_ms);
    }
}

/* The head waits at most silence_ms for a target that does not report. So a campaign lasts that
 * long only if daemons were silent. Without a fault it ends before, unless a LEFT was lost over a
 * slow link, or the way to the lowest daemon and back, of the removal before and of this one, may
 * take that long. */
static void check_duration(struct check *c, struct seen_campaign *k,
                           const struct resize_campaign *x)
{
    const struct api_faults f = sim_faults(c->sim);
    uint64_t now = sim_now(c->sim);
    uint64_t limit;

    if (x->kind != API_KIND_SHRINK || !x->op || k->ended)
        return;
    if (!k->removes_since) {
        k->removes_since = k->waits_since = now;
        k->waits_ran = sim_ran_ms(c->sim, VPID_HEAD);
    }
    check_silence(c, k, x);
    k->losses += c->lost_now;
    limit = c->healthy && 4 * sim_slowest_way(c->sim) < f.silence_ms
                ? f.silence_ms - 1 + (c->mapped_out ? f.silence_ms : 0)
                : f.silence_ms + (k->losses + 1) * f.head_absence_ms;
    if (now - k->waits_since > limit)
        check_fail(c, "resize-in-time", "shrink %s removes its targets for %llu ms, %u losses",
                   x->id, (unsigned long long)(now - k->waits_since), k->losses);
}

static void on_campaign(void *arg, const struct resize_campaign *x)
{
    struct check *c = arg;
    struct seen_campaign *k = check_campaign_of(c, x->id);
    unsigned ends = k->complete + k->failed + k->cancelled;
    bool effective = k->accepted > 0;
    uint64_t *op;

    if (k->ended && k->phase != x->phase)
        check_fail(c, "one-terminal-event", "campaign %s was %s and is %s", x->id,
                   api_phase_name(k->phase), api_phase_name(x->phase));
    check_duration(c, k, x);
    check_shrink(c, k, x);
    if (!k->ended && x->kind == API_KIND_GROW && effective)
        check_whole(c, x);
    if (!k->ended && !k->unsure && x->phase != API_PHASE_CANCELLED &&
        api_phase_terminal(x->phase) && x->op > c->complete)
        check_fail(c, "unrelated-loss", "campaign %s ends before its broadcast %llu has", x->id,
                   (unsigned long long)x->op);
    k->phase = x->phase;
    k->ended = api_phase_terminal(x->phase);
    op = x->phase == API_PHASE_ROLLING_BACK || x->phase == API_PHASE_FAILED ? &k->back : &k->op;
    if (*op && x->op != *op)
        check_fail(c, "one-repair", "campaign %s: its broadcast was %llu and is %llu", x->id,
                   (unsigned long long)*op, (unsigned long long)x->op);
    *op = x->op;
    c->changing += raises_fence(x->phase);
    if (k->unsure)
        return;
    if (!k->ended && ends)
        check_fail(c, "one-terminal-event", "campaign %s: its end was reported, but it runs",
                   x->id);
    if (k->ended && ends != (effective && (x->has_requester || k->cancelled) ? 1 : 0))
        check_fail(c, "one-terminal-event", "campaign %s is %s with %u terminal events", x->id,
                   api_phase_name(x->phase), ends);
}

/* --- the fence */

static void on_hold(void *arg, const char *name, uint32_t count)
{
    static const char prefix[] = "campaign ";
    struct check *c = arg;
    struct seen_campaign *k;

    c->holds_sum += count;
    if (strcmp(name, "grow") == 0) {
        c->growing_holds++;
        return;
    }
    if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
        name += sizeof(prefix) - 1;
    c->changing_holds++;
    HASH_FIND_STR(c->campaigns, name, k);
    if (!k || !raises_fence(k->phase)) {
        check_fail(c, "fence-sum", "%s holds %u and changes nothing", name, count);
        return;
    }
    check_share(c, k, count);
    k->held = true;
}

/* The fence may have gone down and up again within the event. What raised it before must then
 * have ended: a campaign is complete, or all daemons have processed a batch of joiners. The loss
 * of a joiner, or of a bystander that withheld the acknowledgement, can also end a batch. */
static void see_what_holds_still(struct check *c, const struct head *l)
{
    struct head_batch now = head_joiner_batch(l);
    struct seen_campaign *k, *tmp;

    *c->holding = 0;
    if (c->batch.number &&
        (c->batch.number == now.number || (c->batch.op != UINT64_MAX && c->batch.op > c->complete)))
        snprintf(c->holding, sizeof(c->holding), "a batch of joiners");
    c->batch = now;
    HASH_ITER(hh, c->campaigns, k, tmp)
    {
        if (k->held && !k->ended)
            snprintf(c->holding, sizeof(c->holding), "campaign %s", k->id);
        k->held = false; /* on_hold() records who raises the fence from now on */
    }
}

static void check_fence(struct check *c, const struct head *l)
{
    see_what_holds_still(c, l);
    c->holds_sum = c->growing_holds = c->changing_holds = 0;
    resize_each_share(head_resize(l), on_hold, c);
    c->fence = resize_fence_sum(head_resize(l));
    if (c->fence != c->holds_sum)
        check_fail(c, "fence-sum", "the fence is %u, the holds sum up to %u", c->fence,
                   c->holds_sum);
    if (c->changing_holds != c->changing)
        check_fail(c, "fence-sum", "%u campaigns change members, %u of them hold", c->changing,
                   c->changing_holds);
    if (c->growing_holds != (resize_growing(head_resize(l)) ? 1 : 0))
        check_fail(c, "fence-sum", "%u holds of grows, one is %srunning", c->growing_holds,
                   resize_growing(head_resize(l)) ? "" : "not ");
}

/* --- jobs */

static uint64_t digest_of(const struct job_look *x)
{
    uint64_t d = 7;

    for (size_t i = 0; i < x->nnodes; i++)
        d = (d * 31 + x->nodes[i].vpid) * 31 + x->nodes[i].epoch;
    return d;
}

/* Wired now, or when this step began: the head drains members after it has mapped jobs. */
static bool is_usable(const struct check *c, const struct job_node *n)
{
    const struct member *m = members_get(core_inspect_members(sim_head(c->sim)), n->vpid);

    return m && m->ctr == n->epoch &&
           (m->state == MEMBER_WIRED || c->state[n->vpid] == MEMBER_WIRED);
}

static void check_map(struct check *c, const struct seen_job *j, const struct job_look *x)
{
    bool anew = x->mapped && (!j->mapped || j->map_digest != digest_of(x));
    bool sends = x->sent && !j->sent;

    if (c->adoption.waits && anew && sends)
        return; /* it runs there already */
    for (size_t i = 0; i < x->nnodes; i++) {
        if (is_usable(c, &x->nodes[i]))
            continue;
        if (anew)
            check_fail(c, "mapped-ready", "job %s is mapped to vpid %u, which is not wired",
                       x->nspace, x->nodes[i].vpid);
        if (sends)
            check_fail(c, "no-send-to-leaving", "job %s is sent to vpid %u, which is not wired",
                       x->nspace, x->nodes[i].vpid);
    }
}

static void count_slots(struct check *c, const struct job_look *x)
{
    const struct members *m = core_inspect_members(sim_head(c->sim));

    for (uint32_t r = 0; r < x->nranks; r++) {
        const struct job_node *n = &x->nodes[x->rank_node[r]];
        const struct member *y = members_get(m, n->vpid);

        if (x->ranks[r].has_slots != (x->ranks[r].state < PROC_UNTERMINATED))
            check_fail(c, "slots-balance", "job %s: rank %u is %s and holds %s slot", x->nspace, r,
                       fsm_state_name(&proc_fsm, x->ranks[r].state),
                       x->ranks[r].has_slots ? "a" : "no");
        if (!x->ranks[r].has_slots || !y || y->ctr != n->epoch)
            continue;
        c->used[n->vpid]++;
        for (int i = -1; x->ranks[r].taken && (i = hwloc_bitmap_next(x->ranks[r].taken, i)) >= 0 &&
                         i < SIM_SLOTS_MAX;)
            c->held[n->vpid][i]++;
    }
}

static void check_held(struct check *c, struct seen_job *j, const struct job_look *x)
{
    bool was = j->state == JOB_WAITING_FOR_DAEMONS;
    bool is = x->state == JOB_WAITING_FOR_DAEMONS;
    uint64_t now = sim_now(c->sim);

    if (is && c->fence == 0 && c->settled)
        check_fail(c, "nobody-parked-forever", "job %s is held, nothing holds it", x->nspace);
    if (was && !is && c->lost_now && job_state_over(x->state) && x->exit_code == EXIT_CODE_LOST &&
        !strstr(x->reason, "its submitter was lost with its daemon"))
        check_fail(c, "unrelated-loss", "job %s was held and is ended by a loss: %s", x->nspace,
                   x->reason);
    if (was && !is && !job_state_over(x->state) && *c->holding)
        check_fail(c, "unrelated-loss", "job %s was held and goes on, %s has not ended", x->nspace,
                   c->holding);
    if (is && !j->held_since)
        j->held_since = now;
    if (x->sent || x->queued || job_state_over(x->state))
        j->held_since = 0;
    if (j->held_since && now - j->held_since > CHECK_HELD_MAX_MS)
        check_fail(c, "nobody-starves", "job %s has been held for %llu ms", x->nspace,
                   (unsigned long long)(now - j->held_since));
}

/* The head's report that a job is ready for its debugger. */
static void check_ready(struct check *c, const struct seen_job *j, const struct job_look *x)
{
    size_t n = x->state == JOB_READY_FOR_DEBUG ? sim_unheld(c->sim, x->nspace) : 0;

    if (n && !j->unsure)
        check_fail(c, "ready-is-true", "job %s is ready for a debugger, %zu ranks are not",
                   x->nspace, n);
}

static struct seen_job *find_job(struct check *c, const char *nspace)
{
    struct seen_job *j;

    HASH_FIND_STR(c->jobs, nspace, j);
    if (!j) {
        j = xcalloc(1, sizeof(*j));
        snprintf(j->nspace, sizeof(j->nspace), "%s", nspace);
        HASH_ADD_STR(c->jobs, nspace, j);
    }
    return j;
}

static void note_job(struct seen_job *j, const struct job_look *x)
{
    j->home = x->home_vpid;
    j->state = x->state;
    j->mapped = x->mapped;
    j->sent = x->sent;
    j->map_digest = digest_of(x);
}

static void on_job(void *arg, const struct job_look *x)
{
    struct check *c = arg;
    struct seen_job *j = find_job(c, x->nspace);

    check_map(c, j, x);
    check_held(c, j, x);
    check_ready(c, j, x);
    check_harm(c, j, x);
    count_slots(c, x);
    j->seen = true;
    note_job(j, x);
}

/* No job oversubscribes in a simulation: a CPU has one owner at most, which the head knows. */
static void check_cpus(struct check *c, const struct head *l, uint32_t vpid)
{
    uint32_t n;
    const uint16_t *load = head_cpu_load(l, vpid, &n);

    for (uint32_t i = 0; i < n && i < SIM_SLOTS_MAX; i++) {
        uint32_t now = load ? load[i] : 0;

        if (now != c->held[vpid][i] || now > 1)
            check_fail(c, "cpus-balance", "vpid %u: CPU %u is taken %u times, ranks hold it %u",
                       vpid, i, now, c->held[vpid][i]);
    }
}

static void check_slots(struct check *c, const struct members *m)
{
    for (uint32_t v = 0; v < m->n && v < SIM_NODES_MAX; v++) {
        const struct member *x = members_get(m, v);

        if (x && x->slots_used != c->used[v])
            check_fail(c, "slots-balance", "vpid %u: %d slots in use, the jobs have %llu there", v,
                       (int)x->slots_used, (unsigned long long)c->used[v]);
        if (x && x->state == MEMBER_WIRED && sim_core(c->sim, v) &&
            epoch_eq(core_inspect_epoch(sim_core(c->sim, v)), members_epoch(m, x)) &&
            sim_ranks(c->sim, v) > c->used[v] && !c->older)
            check_fail(c, "slots-balance", "vpid %u runs %zu ranks, the jobs have %llu there", v,
                       sim_ranks(c->sim, v), (unsigned long long)c->used[v]);
        if (x && x->slots_used > members_slots(m, x))
            check_fail(c, "slots-balance", "vpid %u: %d of %u slots in use", v, (int)x->slots_used,
                       members_slots(m, x));
        c->state[v] = x ? (uint8_t)x->state : MEMBER_ABSENT;
    }
}

/* Slots that are free are no job's that waits for them, from the end of the head's turn on. */
static void check_queue(struct check *c, const struct head *l)
{
    const char *nspace = jobs_overlooked(head_jobs(l));

    if (nspace)
        check_fail(c, "queue-moves", "job %s waits for slots, fits, and is not tried", nspace);
}

/* Ended and forgotten within one event. If the operation that held it has ended, the job went on
 * and found no place. */
static void check_gone(struct check *c, const struct members *m, const struct seen_job *j)
{
    if (j->state == JOB_WAITING_FOR_DAEMONS && c->lost_now && *c->holding &&
        j->home < SIM_NODES_MAX && members_live(m, j->home) &&
        c->live[j->home] == m->tab[j->home].ctr)
        check_fail(c, "unrelated-loss", "job %s was held and is ended by a loss", j->nspace);
}

void check_head(struct check *c, const struct core *core, bool settled)
{
    const struct head *l = core_inspect_head(core);
    const struct members *m = core_inspect_members(core);
    struct seen_job *j, *tmp;

    c->settled = settled;
    c->lost_now = false;
    memset(c->named_step, 0, sizeof(c->named_step));
    for (; c->next_event < core_event_next(core); c->next_event++) {
        const struct api_event *e = core_event(core, c->next_event);

        if (e)
            check_event(c, e);
    }
    c->changing = 0;
    resize_each_campaign(head_resize(l), on_campaign, c);
    check_fence(c, l);
    memset(c->held, 0, (m->n < SIM_NODES_MAX ? m->n : SIM_NODES_MAX) * sizeof(*c->held));
    memset(c->used, 0, (m->n < SIM_NODES_MAX ? m->n : SIM_NODES_MAX) * sizeof(*c->used));
    HASH_ITER(hh, c->jobs, j, tmp)
    {
        j->seen = false;
    }
    jobs_each(head_jobs(l), on_job, c);
    HASH_ITER(hh, c->jobs, j, tmp)
    {
        if (j->seen)
            continue;
        check_gone(c, m, j);
        HASH_DEL(c->jobs, j);
        free(j);
    }
    check_slots(c, m);
    if (settled)
        check_queue(c, l);
    for (uint32_t v = 0; v < m->n && v < SIM_NODES_MAX; v++)
        check_cpus(c, l, v);
}

/* --- a head with older records */

static void adopt_campaign(void *arg, const struct resize_campaign *x)
{
    struct seen_campaign *k = check_campaign_of(arg, x->id);

    k->unsure = k->adopted = true;
    k->phase = x->phase;
    k->ended = api_phase_terminal(x->phase);
}

static void adopt_job(void *arg, const struct job_look *x)
{
    struct seen_job *j = find_job(arg, x->nspace);

    j->known = true;
    j->unsure = x->state == JOB_READY_FOR_DEBUG;
    j->harmed = x->failure != 0;
    note_job(j, x);
}

/* The records may lack the campaign that has offered a node: the next one offers it again, and a
 * reader of the events gets the same vpid and epoch twice. The operator goes by the campaigns. Or
 * the head has offered it with its first input. */
static void forget_offers(struct check *c, const struct members *m)
{
    for (uint32_t v = 0; v < m->n && v < SIM_NODES_MAX; v++) {
        c->offered[v] = (struct epoch){0, 0};
        c->unseen[v] = members_live(m, v) ? (struct epoch){0, 0} : life_of(c, v);
    }
}

void check_head_again(struct check *c, const struct core *head)
{
    forget_offers(c, core_inspect_members(head));
    check_ranks_again(c);
    check_harm_again(c);
    check_head_forget(c);
    memset(c->live, 0, sizeof(c->live));
    memset(c->member, 0, sizeof(c->member));
    c->next_event = core_event_next(head);
    resize_each_campaign(head_resize(core_inspect_head(head)), adopt_campaign, c);
    jobs_each(head_jobs(core_inspect_head(head)), adopt_job, c);
}

struct letting {
    struct check *check;
    bool all;
};

static void let_go(void *arg, const struct job_look *j)
{
    const struct letting *x = arg;
    enum api_reason no;

    if (x->all || sim_random(x->check->sim, 3))
        (void)!core_continue_put(sim_core(x->check->sim, 0), j->nspace, &no, NULL);
}

void check_let_go(struct check *c, bool all)
{
    struct core *head = sim_head(c->sim);
    struct letting x = {c, all};

    if (!head || sim_stopped(c->sim, 0))
        return;
    sim_clock(c->sim, VPID_HEAD);
    jobs_each(head_jobs(core_inspect_head(head)), let_go, &x);
    sim_drain(c->sim, 0);
}
