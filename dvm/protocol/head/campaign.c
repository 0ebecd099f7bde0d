/* SPDX-License-Identifier: BSD-3-Clause */
/* Shrink campaigns: admission, draining, one broadcast for all targets, one teardown, one terminal
 * event. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

bool shrink_running(const struct head *l)
{
    const struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (c->phase == API_PHASE_REMOVING)
            return true;
    }
    return false;
}

static int by_vpid(const void *key, const void *element)
{
    uint32_t vpid = *(const uint32_t *)key;
    uint32_t other = ((const struct target *)element)->id.vpid;

    return vpid < other ? -1 : vpid > other;
}

struct target *campaign_target(const struct campaign *c, uint32_t vpid)
{
    return bsearch(&vpid, c->targets, c->ntargets, sizeof *c->targets, by_vpid);
}

bool campaign_names(const struct head *l, uint32_t vpid)
{
    const struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        bool running = !api_phase_terminal(c->phase) || MUTANT(ENDED_STILL_NAMES);
        const struct target *t = running ? campaign_target(c, vpid) : NULL;

        if (t &&
            (c->req.kind == API_KIND_SHRINK || (c->phase == API_PHASE_ROLLING_BACK && t->added)))
            return true;
    }
    return false;
}

void campaign_free(struct campaign *c)
{
    for (size_t i = 0; i < c->nended; i++) {
        free(c->ended[i].job);
        free(c->ended[i].ranks);
    }
    free(c->ended);
    free(c->targets);
    free(c->cause);
    asker_free(&c->asker);
    free(c->id);
    api_campaign_request_free(&c->req);
    free(c);
}

/* What a campaign makes of the size bound. */
static uint32_t bound_after(const struct head *l, const struct campaign *c, uint32_t bound)
{
    uint32_t first = c->ntargets ? c->targets[0].id.vpid : 0;
    uint32_t last = c->ntargets ? c->targets[c->ntargets - 1].id.vpid : 0;

    if (!c->has_requester || !first || c->size_sequence != l->size_sequence ||
        c->phase == API_PHASE_CANCELLED || c->phase == API_PHASE_FAILED ||
        c->phase == API_PHASE_ROLLING_BACK)
        return bound;
    if (c->req.kind == API_KIND_GROW)
        return last > bound ? last : bound;
    return first <= bound ? first - 1 : bound;
}

uint32_t bound_now(const struct head *l, bool settled)
{
    uint32_t bound = l->base;
    const struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (!settled || c->req.kind == API_KIND_SHRINK || api_phase_terminal(c->phase))
            bound = bound_after(l, c, bound);
    }
    return bound;
}

static struct campaign *oldest_ended(const struct head *l)
{
    struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (api_phase_terminal(c->phase))
            return c;
    }
    return NULL;
}

static void forget(struct head *l, struct campaign *c)
{
    l->base = bound_after(l, c, l->base);
    DL_DELETE(l->campaigns, c);
    campaign_free(c);
    l->ncampaigns--;
}

struct campaign *campaign_new(struct head *l, const char *id, const uint32_t *vpids, size_t n)
{
    struct campaign *c = xcalloc(1, sizeof *c);
    struct campaign *old = oldest_ended(l);

    if (l->ncampaigns >= HEAD_CAMPAIGNS_MAX && old)
        forget(l, old);
    c->id = xstrdup(id);
    c->targets = xcalloc(n + 1, sizeof *c->targets);
    c->accepted_wall = (int64_t)l->out->wall_ms;
    c->size_sequence = l->size_sequence;
    for (size_t i = 0; i < n; i++)
        c->targets[i].id.vpid = vpids[i];
    c->ntargets = n;
    DL_APPEND(l->campaigns, c);
    l->ncampaigns++;
    return c;
}

static struct campaign *shrink_new(struct head *l, const char *id, const uint32_t *vpids, size_t n)
{
    struct campaign *c = campaign_new(l, id, vpids, n);

    for (size_t i = 0; i < n; i++) {
        struct member *m = members_get(l->members, vpids[i]);

        if (!m || grow_turn_away(l, vpids[i], false))
            continue;
        if (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED || m->state == MEMBER_DRAINING)
            c->targets[i].id.epoch = members_epoch(l->members, m);
        if (m->state == MEMBER_WIRED)
            member_event(l, m, MEMBER_EV_NAME);
    }
    return c;
}

/* --- the record for the control API */

void campaign_fill(const struct head *l, const struct campaign *c, struct api_campaign *out)
{
    memset(out, 0, sizeof *out);
    out->id = xstrdup(c->id);
    out->sequence = c->req.sequence;
    out->kind = c->req.kind;
    out->cause = xstrdup(c->cause ? c->cause : "");
    if (c->asker.nspace)
        out->requester = (struct api_requester){.job = xstrdup(c->asker.nspace),
                                                .rank = c->asker.rank,
                                                .vpid = c->asker.daemon.vpid,
                                                .id = xstrdup(c->asker.req_id),
                                                .told = c->asker.told};
    out->phase = c->phase;
    out->targets = xcalloc(c->ntargets + 1, sizeof *out->targets);
    out->departed = xcalloc(c->ntargets + 1, sizeof *out->departed);
    for (size_t i = 0; i < c->ntargets; i++) {
        out->targets[out->ntargets++] = c->targets[i].id.vpid;
        if (c->targets[i].departed)
            out->departed[out->ndeparted++] = c->targets[i].id.vpid;
    }
    if (c->phase == API_PHASE_DRAINING)
        out->nwaiting = drain_waits(l, c, &out->waiting);
    out->ended = xcalloc(c->nended + 1, sizeof *out->ended);
    for (size_t i = 0; i < c->nended; i++) {
        struct api_job_ref *to = &out->ended[out->nended++];

        to->job = xstrdup(c->ended[i].job);
        to->nranks = c->ended[i].nranks;
        to->ranks = xcalloc(to->nranks + 1, sizeof *to->ranks);
        memcpy(to->ranks, c->ended[i].ranks, to->nranks * sizeof *to->ranks);
    }
    out->accepted_ms = c->accepted_wall;
    out->drained_ms = c->drained_wall;
    out->fence_ms = c->fence_wall;
    out->complete_ms = c->complete_wall;
}

/* --- admission */

struct campaign *campaign_by_id(const struct head *l, const char *id)
{
    struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (strcmp(c->id, id) == 0)
            return c;
    }
    return NULL;
}

static bool same_request(const struct api_campaign_request *a, const struct api_campaign_request *b)
{
    return a->kind == b->kind && a->sequence == b->sequence && a->drain_mode == b->drain_mode &&
           a->deadline_s == b->deadline_s && a->ntargets == b->ntargets &&
           memcmp(a->targets, b->targets, a->ntargets * sizeof *a->targets) == 0;
}

static int __attribute__((format(printf, 5, 6)))
reject(const char **reason, const char *word, int status, struct err *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *reason = word;
    return err_code(err, status, "%s", text);
}

static bool named(const struct api_campaign_request *r, uint32_t vpid)
{
    for (size_t i = 0; i < r->ntargets; i++) {
        if (r->targets[i] == vpid)
            return true;
    }
    return false;
}

/* The resource manager can only take members from the top. */
static int check_trailing(const struct head *l, const struct api_campaign_request *r,
                          const char **reason, struct err *err)
{
    for (uint32_t v = r->targets[0]; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);

        if (m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED) && !named(r, v) &&
            !grow_atomic_claims(l, v)) /* a grow gives way */
            return reject(reason, "NotTrailing", 422, err,
                          "vpid %u lies above the first target and is not among the targets", v);
    }
    return 0;
}

static int check_targets(const struct head *l, const struct api_campaign_request *r, bool asked,
                         const char **reason, struct err *err)
{
    uint32_t known = l->size > l->bound ? l->size : l->bound;

    if (r->targets[0] == VPID_HEAD)
        return reject(reason, "HeadCannotLeave", 422, err, "vpid 0 is the head's own");
    for (size_t i = 0; i < r->ntargets; i++) {
        uint32_t v = r->targets[i];
        const struct member *m = members_get(l->members, v);

        if (l->size_sequence && v > known && !(m && m->state != MEMBER_ABSENT))
            return reject(reason, "UnknownVpid", 422, err, "vpid %u was never part of this DVM", v);
    }
    return asked ? check_trailing(l, r, reason, err) : 0;
}

static bool nobody_there(const struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (!epoch_none(c->targets[i].id.epoch))
            return false;
    }
    return true;
}

/* Targets that another campaign removes already: this one waits for that one's end. Not for one
 * that drains still, or two that name the same daemon would wait for each other. */
static bool others_remove(const struct head *l, const struct campaign *c)
{
    const struct campaign *o;

    DL_FOREACH(l->campaigns, o)
    {
        bool removes = MUTANT(DRAINS_WAIT)
                           ? !api_phase_terminal(o->phase)
                           : o->phase == API_PHASE_REMOVING || o->phase == API_PHASE_ROLLING_BACK;

        for (size_t i = 0; o != c && removes && i < c->ntargets; i++) {
            if (campaign_target(o, c->targets[i].id.vpid))
                return true;
        }
    }
    return false;
}

void campaign_enter(struct head *l, struct campaign *c, enum campaign_event ev)
{
    int phase = (int)c->phase;
    struct err err = {0};

    if (fsm_step(&campaign_fsm, &phase, (int)ev, NULL, &err) < 0)
        out_log(l->out, LOG_LEVEL_ERROR, "campaign %s: %s", c->id, err.msg);
    c->phase = (enum api_phase)phase;
}

static void accept_targets(struct head *l, struct campaign *c)
{
    if (c->req.deadline_s >= 0)
        c->deadline_ms = l->out->now_ms + (uint64_t)c->req.deadline_s * 1000 + 1;
    l->bound = bound_now(l, false);
    if (nobody_there(c) && !others_remove(l, c) &&
        !MUTANT(EMPTY_TAKES_PART)) { /* C7: terminal by the answer, no event */
        campaign_enter(l, c, CAMPAIGN_EV_NOBODY);
        c->asker.told = API_TOLD_ANSWER;
        c->complete_wall = (int64_t)l->out->wall_ms;
        return;
    }
    head_event_add(l, API_EVENT_CAMPAIGN_ACCEPTED, 0, 0, c);
}

static void accept(struct head *l, const char *id, const struct api_campaign_request *r, bool asked,
                   struct asker *asker)
{
    bool grow = r->kind == API_KIND_GROW;
    char why[API_ID_MAX + 16];
    struct campaign *c;

    snprintf(why, sizeof why, "the shrink %s", id);
    if (!grow && asked)
        grow_atomic_give_way(l, r->targets[0] - 1, why);
    c = (grow ? campaign_new : shrink_new)(l, id, r->targets, r->ntargets);
    c->has_requester = asked;
    if (asker) {
        c->asker = *asker;
        *asker = (struct asker){0};
    }
    c->req = *r;
    c->req.targets = xcalloc(r->ntargets, sizeof *r->targets);
    memcpy(c->req.targets, r->targets, r->ntargets * sizeof *r->targets);
    if (grow)
        grow_atomic_accept(l, c);
    else
        accept_targets(l, c);
}

static bool heads_own(const char *id)
{
    return strncmp(id, RELEASE_PREFIX, sizeof RELEASE_PREFIX - 1) == 0 ||
           strncmp(id, ALLOC_PREFIX, sizeof ALLOC_PREFIX - 1) == 0;
}

static int check_sequence(const struct head *l, const char *id,
                          const struct api_campaign_request *r, const char **reason,
                          struct err *err)
{
    if (heads_own(id))
        return reject(reason, "BadRequest", 400, err,
                      "ids that begin with " RELEASE_PREFIX " or " ALLOC_PREFIX
                      " are the head's own");
    if (r->sequence < l->campaign_sequence && !l->ending)
        return reject(reason, "SequenceTooOld", 409, err,
                      "sequence %llu is older than %llu, which has been seen",
                      (unsigned long long)r->sequence, (unsigned long long)l->campaign_sequence);
    return 0;
}

int campaign_admit(struct head *l, const char *id, const struct api_campaign_request *r, bool asked,
                   struct asker *asker, const char **reason, struct err *err)
{
    if (asked && !asker && check_sequence(l, id, r, reason, err) < 0)
        return -1;
    if (l->ending)
        return reject(reason, "ShuttingDown", 503, err, "this incarnation of the DVM ends");
    if (r->ntargets == 0)
        return reject(reason, "BadRequest", 400, err, "targets: at least one vpid");
    if (l->ncampaigns >= HEAD_CAMPAIGNS_MAX && !oldest_ended(l))
        return reject(reason, "TooManyCampaigns", 503, err, "%zu campaigns are running",
                      l->ncampaigns);
    if (MUTANT(REJECTED_COUNTS))
        l->bound = r->targets[0];
    if (r->kind == API_KIND_GROW ? grow_atomic_check(l, r, reason, err) < 0
                                 : check_targets(l, r, asked, reason, err) < 0)
        return -1;
    if (asked)
        l->campaign_sequence = r->sequence;
    accept(l, id, r, asked, asker);
    return 0;
}

int head_campaign_put(struct head *l, const char *id, const struct api_campaign_request *r,
                      struct api_campaign *out, const char **reason, struct err *err)
{
    struct campaign *c = MUTANT(PUT_AGAIN_IS_NEW) ? NULL : campaign_by_id(l, id);

    if (c && !same_request(&c->req, r))
        return reject(reason, "IdReused", 409, err, "campaign id %s was used with another body",
                      id);
    if (!c && campaign_admit(l, id, r, true, NULL, reason, err) < 0)
        return -1;
    campaign_fill(l, c ? c : l->campaigns->prev, out);
    return 0;
}

int head_campaign_get(struct head *l, const char *id, struct api_campaign *out, const char **reason,
                      struct err *err)
{
    const struct campaign *c = campaign_by_id(l, id);

    if (!c || (MUTANT(FORGET_ENDED) && api_phase_terminal(c->phase))) {
        *reason = "NotFound";
        return err_code(err, 404, "no campaign %s is known to this incarnation", id);
    }
    campaign_fill(l, c, out);
    return 0;
}

int head_campaign_cancel(struct head *l, const char *id, struct api_campaign *out,
                         const char **reason, struct err *err)
{
    struct campaign *c = campaign_by_id(l, id);

    if (!c)
        return head_campaign_get(l, id, out, reason, err);
    if (c->phase == API_PHASE_GATHERING || (c->phase == API_PHASE_WIRING && MUTANT(CANCEL_LATE))) {
        grow_atomic_cancel(l, c);
    } else if (c->phase != API_PHASE_DRAINING && !api_phase_terminal(c->phase)) {
        *reason = "TooLate";
        return err_code(err, 409, "campaign %s is %s already", id, api_phase_name(c->phase));
    }
    if (c->phase == API_PHASE_DRAINING) {
        campaign_enter(l, c, CAMPAIGN_EV_CANCEL);
        c->why = ALLOC_CANCELLED;
        c->complete_wall = (int64_t)l->out->wall_ms;
        l->bound = bound_now(l, false);
        for (size_t i = 0; i < c->ntargets; i++) {
            struct member *m = member_now(l, c->targets[i].id.vpid, c->targets[i].id.epoch);

            if (m && m->state == MEMBER_DRAINING && !campaign_names(l, c->targets[i].id.vpid))
                member_event(l, m, MEMBER_EV_CANCEL);
        }
        l->kick = true;
        head_event_add(l, API_EVENT_CAMPAIGN_CANCELLED, 0, 0, c);
    }
    campaign_fill(l, c, out);
    return 0;
}

/* --- removing */

const char *campaign_fence_name(const struct campaign *c, char name[FENCE_NAME_MAX])
{
    snprintf(name, FENCE_NAME_MAX, "campaign %s", c->id);
    return name;
}

static void queue_removal(struct head *l, struct campaign *c, const struct msg *m)
{
    struct msg one = *m;

    if (!MUTANT(BROADCAST_PER_TARGET)) {
        op_queue(l, m, false, c);
        return;
    }
    for (one.ntargets = 1; one.targets < m->targets + m->ntargets; one.targets++)
        op_queue(l, &one, false, c);
}

/* What a target's node is offered for is its last life: another campaign may have done so. */
static bool offered_already(const struct head *l, const struct campaign *c,
                            const struct target *own)
{
    const struct campaign *o;

    if (epoch_none(own->life) || MUTANT(OFFER_AGAIN))
        return false;
    DL_FOREACH(l->campaigns, o)
    {
        bool over = o->req.kind == API_KIND_SHRINK && o->phase == API_PHASE_COMPLETE;
        const struct target *t = over ? campaign_target(o, own->id.vpid) : NULL;

        if (t && o != c && epoch_eq(t->life, own->life))
            return true;
    }
    return false;
}

static void note_life(const struct head *l, const struct campaign *c, struct target *t)
{
    const struct member *m = members_get(l->members, t->id.vpid);

    if (m)
        t->life = members_epoch(l->members, m);
    t->offered = offered_already(l, c, t);
}

static void start_removing(struct head *l, struct campaign *c)
{
    char name[FENCE_NAME_MAX];
    struct msg m = {.type = MSG_REMOVE, .number = REMOVE_SHRINK, .text = c->id};
    uint32_t count = 0;

    m.targets = xcalloc(c->ntargets + 1, sizeof *m.targets);
    for (size_t i = 0; i < c->ntargets; i++) {
        struct target *t = &c->targets[i];
        struct member *x = member_now(l, t->id.vpid, t->id.epoch);

        join_backoff_forget(l, t->id.vpid);
        note_life(l, c, t);
        if (x && members_current(l->members, t->id.vpid, t->id.epoch)) {
            member_event(l, x, MEMBER_EV_REMOVE);
            m.targets[m.ntargets++] = t->id;
            count++;
        } else {
            campaign_target_out(c, t);
            t->departed = true;
        }
    }
    campaign_enter(l, c, CAMPAIGN_EV_DRAINED);
    c->drained_wall = c->fence_wall = (int64_t)l->out->wall_ms;
    if (!MUTANT(NO_HOLD))
        fence_raise(l, campaign_fence_name(c, name), count);
    head_event_add(l, API_EVENT_CAMPAIGN_CHANGED, 0, 0, c);
    if (count)
        queue_removal(l, c, &m);
    free(m.targets);
}

void campaign_op_started(struct head *l, struct campaign *c, uint64_t op)
{
    c->op = op;
    c->ack_by_ms = l->out->now_ms + l->opts.ack_ms;
    if (MUTANT(RELEASE_BEFORE_TEARDOWN))
        fence_lower(l, campaign_fence_name(c, (char[FENCE_NAME_MAX]){0}));
}

/* Each node once for each life: not again by a shrink that was accepted while another removed it.
 */
static void offer(struct head *l, struct campaign *c)
{
    for (size_t i = 0; i < c->ntargets; i++) {
        if (!c->targets[i].offered) {
            head_event_add(l, API_EVENT_NODES_OFFERED, 0, 0, c);
            return;
        }
    }
}

/* Teardown for all targets, then the offer, then the event, then the fence: in this order. */
static void finish(struct head *l, struct campaign *c)
{
    char name[FENCE_NAME_MAX];

    for (size_t i = 0; i < c->ntargets; i++) {
        struct member *m = member_now(l, c->targets[i].id.vpid, c->targets[i].id.epoch);

        if (m && m->state == MEMBER_LEAVING)
            member_event(l, m, MEMBER_EV_LEFT);
    }
    op_drop(l, c);
    campaign_enter(l, c, CAMPAIGN_EV_LEFT);
    c->complete_wall = (int64_t)l->out->wall_ms;
    if (!MUTANT(OFFER_LATE))
        offer(l, c);
    if ((c->has_requester && !MUTANT(NO_EVENT)) || MUTANT(EVENT_FOR_NOBODY))
        head_event_add(l, API_EVENT_CAMPAIGN_COMPLETE, 0, 0, c);
    if (MUTANT(SECOND_EVENT))
        head_event_add(l, API_EVENT_CAMPAIGN_COMPLETE, 0, 0, c);
    if (MUTANT(OFFER_LATE))
        offer(l, c);
    out_log(l->out, LOG_LEVEL_INFO, "campaign %s: complete, %zu daemons have left", c->id,
            c->ntargets);
    fence_lower(l, campaign_fence_name(c, name));
}

void campaign_target_out(struct campaign *c, struct target *t)
{
    c->nout += !t->out;
    t->out = true;
}

static bool all_out(const struct campaign *c)
{
    return c->nout == c->ntargets;
}

bool campaign_all_out(struct head *l, struct campaign *c)
{
    bool late = c->op && c->ack_by_ms <= l->out->now_ms && !all_out(c);

    for (size_t i = 0; late && i < c->ntargets; i++) {
        if (c->targets[i].out)
            continue;
        out_log(l->out, LOG_LEVEL_WARN, "campaign %s: vpid %u is silent, taken as lost", c->id,
                c->targets[i].id.vpid);
        campaign_target_out(c, &c->targets[i]);
    }
    return all_out(c);
}

/* Jobs are many, and few inputs change any. */
static bool drained(struct head *l, struct campaign *c)
{
    bool ends =
        c->req.drain_mode == API_DRAIN_KILL || (c->deadline_ms && c->deadline_ms <= l->out->now_ms);

    if (c->drain_looked == l->job_changes && (!ends || c->told_jobs))
        return c->drain_waits == 0;
    if (ends)
        drain_end_jobs(l, c);
    c->drain_looked = l->job_changes;
    c->drain_waits = drain_waits(l, c, NULL);
    return c->drain_waits == 0;
}

static void step(struct head *l, struct campaign *c)
{
    if (c->phase == API_PHASE_DRAINING && drained(l, c) && !others_remove(l, c) && !fence_defers(l))
        start_removing(l, c);
    if (c->phase != API_PHASE_REMOVING)
        return;
    if (campaign_all_out(l, c) && (!c->op || c->op <= l->complete))
        finish(l, c);
}

void campaign_steps(struct head *l)
{
    struct campaign *c, *tmp;

    DL_FOREACH_SAFE(l->campaigns, c, tmp)
    {
        if (c->req.kind == API_KIND_SHRINK)
            step(l, c);
        else if (!api_phase_terminal(c->phase))
            grow_atomic_step(l, c);
    }
}

uint64_t campaign_next_deadline(const struct head *l)
{
    uint64_t due = UINT64_MAX;
    const struct campaign *c;

    DL_FOREACH(l->campaigns, c)
    {
        if (c->phase == API_PHASE_DRAINING && c->deadline_ms && !c->told_jobs &&
            c->deadline_ms < due)
            due = c->deadline_ms;
        if ((c->phase == API_PHASE_GATHERING || c->phase == API_PHASE_WIRING) && c->deadline_ms &&
            c->deadline_ms < due)
            due = c->deadline_ms;
        if ((c->phase == API_PHASE_REMOVING || c->phase == API_PHASE_ROLLING_BACK) && c->op &&
            !all_out(c) && c->ack_by_ms < due)
            due = c->ack_by_ms;
    }
    return due;
}

/* True if its departure is news. */
static bool mark(struct head *l, uint32_t vpid, struct epoch epoch, bool departed)
{
    struct campaign *c;
    bool news = false;

    DL_FOREACH(l->campaigns, c)
    {
        struct target *t = campaign_target(c, vpid);

        if (!t || !epoch_eq(t->id.epoch, epoch))
            continue;
        campaign_target_out(c, t);
        news |= departed && !t->departed;
        t->departed |= departed;
    }
    return news;
}

void head_left(struct head *l, uint32_t vpid, struct epoch epoch)
{
    (void)mark(l, vpid, epoch, false);
}

void head_gone(struct head *l, uint32_t vpid, struct epoch epoch)
{
    if (mark(l, vpid, epoch, true))
        head_event_add(l, API_EVENT_DAEMON_DEPARTED, vpid, epoch.ctr, NULL);
}
