/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's record as a whole: life cycle, messages, size, shutdown, view. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct head *head_create(const struct head_opts *o, struct out *out, struct members *members,
                         struct rml *rml)
{
    struct head *l = xcalloc(1, sizeof *l);
    char *host FREE_AUTO = members_host(members, VPID_HEAD);
    struct err err = {0};

    l->opts = *o;
    l->job_changes = 1;
    l->cluster = xstrdup(o->cluster);
    snprintf(l->incarnation, sizeof l->incarnation, "%016llx", (unsigned long long)o->incarnation);
    l->out = out;
    l->members = members;
    l->rml = rml;
    l->size = l->bound = l->base = o->size;
    l->next_epoch = 1; /* the head's own */
    l->next_event = 1;
    l->events = xcalloc(API_EVENTS_KEPT, sizeof *l->events);
    if (cpu_ledger_put(l, VPID_HEAD, host, o->cpus, &err) < 0)
        out_log(out, LOG_LEVEL_WARN, "%s", err.msg);
    l->opts.cpus = NULL; /* borrowed */
    return l;
}

static void history_free(struct head *l)
{
    struct history *h, *tmp;

    DL_FOREACH_SAFE(l->history, h, tmp)
    {
        free(h->job.id);
        free(h->job.reason);
        free(h->job.vpids);
        free(h);
    }
}

static void lists_free(struct head *l)
{
    struct fence_share *h, *htmp;
    struct pending_op *p, *ptmp;
    struct release_request *r, *rtmp;
    struct campaign *c, *ctmp;

    DL_FOREACH_SAFE(l->fence_shares, h, htmp)
    {
        free(h->name);
        free(h);
    }
    DL_FOREACH_SAFE(l->ops, p, ptmp)
    {
        msg_free(&p->msg);
        free(p);
    }
    DL_FOREACH_SAFE(l->releases, r, rtmp)
    {
        free(r);
    }
    DL_FOREACH_SAFE(l->campaigns, c, ctmp)
    {
        campaign_free(c);
    }
}

void head_destroy(struct head *l)
{
    struct job *j, *tmp;

    if (!l)
        return;
    HASH_CLEAR(hh, l->by_nspace);
    DL_FOREACH_SAFE(l->jobs, j, tmp)
    {
        job_free(j);
    }
    history_free(l);
    lists_free(l);
    join_backoff_free(l);
    liveness_free(l);
    cpu_ledger_free_all(l);
    for (size_t i = 0; i < API_EVENTS_KEPT; i++) {
        if (l->events[i].number)
            api_event_free(&l->events[i]);
    }
    free(l->events);
    free(l->cluster);
    free(l);
}

/* --- shutdown */

void head_shutdown(struct head *l, enum shutdown_why why, int64_t deadline_s)
{
    uint64_t at = l->out->now_ms + (deadline_s > 0 ? (uint64_t)deadline_s * 1000 : 0);

    if (l->ending) {
        l->ending_at = at < l->ending_at ? at : l->ending_at;
        return;
    }
    l->ending = true;
    l->ending_why = why;
    l->ending_at = at;
    head_event_add(l, API_EVENT_SHUTDOWN, 0, 0, NULL);
}

bool head_ending(const struct head *l)
{
    return l->ending;
}

bool head_ended(const struct head *l)
{
    return l->ended;
}

/* Daemons that do not tell the end of their ranks by then are not waited for: the broadcast ends
 * what runs there. */
static uint64_t end_by(const struct head *l)
{
    return l->ending_at + HEAD_GRACE_MS + l->opts.ack_ms;
}

static void shutdown_steps(struct head *l)
{
    struct msg m = {.type = MSG_SHUTDOWN, .number = l->ending_why, .text = "the DVM is shut down"};
    struct job *j;

    if (!l->ending || l->end_sent)
        return;
    if (l->ending_at <= l->out->now_ms) {
        DL_FOREACH(l->jobs, j)
        {
            job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended: the DVM shuts down");
        }
    }
    if (l->jobs && l->out->now_ms < end_by(l))
        return;
    DL_FOREACH(l->jobs, j)
    {
        out_log(l->out, LOG_LEVEL_WARN, "job %s has not ended in time: %u of %zu daemons done",
                j->map.nspace, j->nnodes_gone, j->map.nnodes);
    }
    l->end_sent = true;
    op_queue(l, &m, false, NULL);
}

/* --- the turn */

void head_turn(struct head *l)
{
    l->turn++;
}

void head_run(struct head *l)
{
    liveness_steps(l);
    release_steps(l);
    campaign_steps(l);
    job_deadlines(l);
    job_steps(l);
    rank_news_steps(l);
    campaign_steps(l); /* a job that has ended may be what a drain waited for */
    grow_steps(l);
    shutdown_steps(l);
}

uint64_t head_deadline(const struct head *l)
{
    uint64_t due = job_next_deadline(l);
    uint64_t campaigns = campaign_next_deadline(l);
    uint64_t losses = rank_news_next_deadline(l);
    uint64_t silent = liveness_next_deadline(l);

    due = campaigns < due ? campaigns : due;
    due = losses < due ? losses : due;
    due = silent < due ? silent : due;
    if (l->release_at && l->release_at < due)
        due = l->release_at;
    if (l->ending && !l->end_sent) {
        uint64_t at = l->ending_at > l->out->now_ms ? l->ending_at : end_by(l);

        due = at < due ? at : due;
    }
    return due;
}

void head_applied(struct head *l, const struct msg *op)
{
    liveness_applied(l, op);
    for (size_t i = 0; i < op->ntargets; i++) {
        const struct msg_target *t = &op->targets[i];

        if (op->type == MSG_REMOVE)
            job_home_gone(l, t->vpid, t->epoch);
        if (op->type != MSG_REMOVE || op->number != REMOVE_LOST)
            continue;
        head_event_add(l, API_EVENT_DAEMON_LOST, t->vpid, t->epoch.ctr, NULL);
        if (MUTANT(LOSS_RELEASES_HELD) && l->fence_shares)
            fence_lower(l, l->fence_shares->name);
        if (MUTANT(LOSS_ENDS_BATCH) && l->grow_op && l->grow_op != UINT64_MAX)
            grow_completed(l);
        if (MUTANT(LOSS_FAILS_GROW))
            grow_atomic_give_way(l, 0, "a loss");
        job_daemon_lost(l, t->vpid, t->epoch, op->ntargets == 1 ? op->text : NULL);
        head_left(l, t->vpid, t->epoch);
    }
}

void head_lost(struct head *l, uint32_t vpid, struct epoch epoch, const char *why)
{
    struct msg_target t = {vpid, epoch};
    struct msg m = {.type = MSG_REMOVE, .number = REMOVE_LOST, .ntargets = 1, .targets = &t};
    struct pending_op *p;

    if (vpid == VPID_HEAD || (!members_current(l->members, vpid, epoch) && !MUTANT(LOSS_AGAIN)))
        return;
    DL_FOREACH(l->ops, p)
    {
        if (p->msg.type != MSG_REMOVE || p->msg.number != REMOVE_LOST)
            continue;
        for (size_t i = 0; i < p->msg.ntargets; i++) {
            if (p->msg.targets[i].vpid == vpid)
                return;
        }
        p->msg.targets = xrealloc(p->msg.targets, (p->msg.ntargets + 1) * sizeof *p->msg.targets);
        p->msg.targets[p->msg.ntargets++] = t;
        return;
    }
    m.text = (char *)why;
    out_log(l->out, LOG_LEVEL_WARN, "vpid %u (epoch %llu) is lost: %s", vpid,
            (unsigned long long)epoch.ctr, why);
    op_queue(l, &m, true, NULL);
}

/* A parent's word counts while it is the parent: later the child has another, who waits for it. A
 * daemon that cannot go on says so itself. */
static bool is_parent(const struct head *l, uint32_t from, uint32_t vpid)
{
    struct tree t = members_tree(l->members);

    return vpid != VPID_HEAD && members_live(l->members, vpid) && tree_parent(&t, vpid) == from;
}

static void lost_or_gone(struct head *l, uint32_t from, const struct msg *m)
{
    for (size_t i = 0; i < m->ntargets; i++) {
        if (m->type == MSG_LOST && from != m->targets[i].vpid &&
            !is_parent(l, from, m->targets[i].vpid))
            out_log(l->out, LOG_LEVEL_INFO,
                    "vpid %u reports the loss of vpid %u, which has left it", from,
                    m->targets[i].vpid);
        else if (m->type == MSG_LOST)
            head_lost(l, m->targets[i].vpid, m->targets[i].epoch, m->text);
        else if (m->number == 0)
            head_left(l, m->targets[i].vpid, m->targets[i].epoch);
        else
            head_gone(l, m->targets[i].vpid, m->targets[i].epoch);
    }
}

void head_msg(struct head *l, uint32_t from, struct msg *m)
{
    struct member *x = members_get(l->members, from);

    switch (m->type) {
    case MSG_SUBMIT:
        job_submit(l, from, m);
        break;
    case MSG_SIGNAL:
        job_signal(l, m);
        break;
    case MSG_LAUNCHED:
        job_launched(l, from, m);
        break;
    case MSG_REGISTERED:
        job_registered(l, from, m);
        break;
    case MSG_EXITED:
        job_exited(l, from, m);
        break;
    case MSG_LOCAL_GONE:
        job_local_gone(l, from, m);
        break;
    case MSG_STAGED:
        job_ready_report(l, from, m);
        break;
    case MSG_ABORT:
        job_aborted(l, from, m);
        break;
    case MSG_HELD:
        debug_stop_report(l, from, m);
        break;
    case MSG_CONTINUE_ASK:
        debug_stop_continue(l, m);
        break;
    case MSG_LOST:
    case MSG_GONE:
        lost_or_gone(l, from, m);
        break;
    case MSG_RELEASE_ME:
        release_ask(l, from, m);
        break;
    case MSG_ALLOC:
        resize_request_take(l, from, m);
        break;
    case MSG_LOCAL_JOB:
        if (!head_job_find(l, m->launch.nspace))
            out_log(l->out, LOG_LEVEL_WARN, "vpid %u has ranks of job %s, which is not known", from,
                    m->launch.nspace);
        break;
    case MSG_REPORT:
        if (x) {
            x->repairs = (uint32_t)m->number;
            liveness_reported(l, from, m->op);
        }
        break;
    default:
        out_log(l->out, LOG_LEVEL_WARN, "vpid %u sent %s to the head", from, msg_name(m->type));
    }
}

/* --- size and view */

int head_size_put(struct head *l, const struct api_size *s, struct api_size *out,
                  const char **reason, struct err *err)
{
    if (s->sequence < l->size_sequence) {
        *reason = "SequenceTooOld";
        return err_code(err, 409, "size sequence %llu is older than %llu, which is in force",
                        (unsigned long long)s->sequence, (unsigned long long)l->size_sequence);
    }
    if (s->sequence == l->size_sequence && s->sequence) {
        if (s->members == l->size && api_size_limits_equal(&s->limits, &l->limits)) {
            *out = (struct api_size){l->size_sequence, l->bound, l->limits};
            return 0;
        }
        *reason = "SequenceTooOld";
        return err_code(err, 409, "size sequence %llu has been used for %u members%s",
                        (unsigned long long)s->sequence, l->size,
                        s->members == l->size ? ", within other limits" : "");
    }
    if (s->members > VPID_MAX) {
        *reason = "BadRequest";
        return err_code(err, 400, "members: %u is over the limit %u", s->members, VPID_MAX);
    }
    l->size_sequence = s->sequence;
    l->size = s->members;
    l->base = s->members;
    l->limits = s->limits;
    if (l->bound != s->members) {
        l->bound = s->members;
        grow_atomic_give_way(l, s->members, "the size in force");
        head_event_add(l, API_EVENT_SIZE, 0, 0, NULL);
        l->kick = true;
    }
    *out = (struct api_size){l->size_sequence, l->bound, l->limits};
    return 0;
}

static void view_members(const struct head *l, struct api_dvm *out)
{
    struct tree t = members_tree(l->members);

    out->members = xcalloc(l->members->n + 1, sizeof *out->members);
    for (uint32_t v = 0; v < l->members->n; v++) {
        const struct member *m = members_get(l->members, v);
        struct api_dvm_member *x = &out->members[out->nmembers];
        bool live = members_live(l->members, v);
        struct msg_member facts;

        if (!m || m->state == MEMBER_ABSENT)
            continue;
        x->vpid = v;
        x->epoch = m->ctr;
        snprintf(x->state, sizeof x->state, "%s", member_state_name(m->state));
        facts = members_facts(l->members, v);
        x->host = facts.host;
        x->address = facts.address;
        x->slots = facts.slots;
        x->slots_used = m->slots_used;
        x->parent = live && v ? (int64_t)tree_parent(&t, v) : -1;
        x->depth = live ? tree_depth(&t, v) : 0;
        x->repairs = v ? m->repairs : l->members->repairs;
        out->nmembers++;
    }
}

static void view_job(const struct job *j, struct api_dvm_job *x)
{
    x->id = xstrdup(j->map.nspace);
    snprintf(x->state, sizeof x->state, "%s", fsm_state_name(&job_fsm, j->state));
    x->reason = xstrdup(j->reason);
    x->ranks = j->map.nranks;
    x->exit_code = j->exit_code;
    x->vpids = xcalloc(j->map.nnodes + 1, sizeof *x->vpids);
    for (size_t i = 0; i < j->map.nnodes; i++)
        x->vpids[x->nvpids++] = j->map.nodes[i].vpid;
}

static void view_jobs(const struct head *l, struct api_dvm *out)
{
    const struct history *h;
    const struct job *j;

    out->jobs = xcalloc(l->njobs + l->nhistory + 1, sizeof *out->jobs);
    DL_FOREACH(l->history, h)
    {
        struct api_dvm_job *x = &out->jobs[out->njobs++];

        *x = h->job;
        x->id = xstrdup(h->job.id);
        x->reason = xstrdup(h->job.reason);
        x->vpids = xcalloc(h->job.nvpids + 1, sizeof *x->vpids);
        memcpy(x->vpids, h->job.vpids, h->job.nvpids * sizeof *x->vpids);
    }
    DL_FOREACH(l->jobs, j)
    {
        view_job(j, &out->jobs[out->njobs++]);
    }
}

static void view_campaigns(const struct head *l, struct api_dvm *out)
{
    const struct campaign *c;
    const struct fence_share *h;
    size_t n = 0;

    DL_COUNT(l->fence_shares, h, n);
    out->holds = xcalloc(n + 1, sizeof *out->holds);
    DL_FOREACH(l->fence_shares, h)
    {
        out->holds[out->nholds++] = (struct api_dvm_hold){xstrdup(h->name), h->count};
    }
    out->fence_total = l->fence;
    out->campaigns = xcalloc(l->ncampaigns + 1, sizeof *out->campaigns);
    DL_FOREACH(l->campaigns, c)
    {
        campaign_fill(l, c, &out->campaigns[out->ncampaigns++]);
    }
}

void head_view(const struct head *l, struct api_dvm *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->incarnation, l->incarnation, sizeof out->incarnation);
    out->cluster = xstrdup(l->cluster);
    out->version = l->members->version;
    out->radix = l->members->radix;
    out->repairs = l->members->repairs;
    out->size_sequence = l->size_sequence;
    out->size_members = l->bound;
    out->size_limits = l->limits;
    out->next_event = l->next_event;
    view_members(l, out);
    view_jobs(l, out);
    view_campaigns(l, out);
}

struct head_stats head_stats(const struct head *l)
{
    return l->stats;
}
