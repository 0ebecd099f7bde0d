/* SPDX-License-Identifier: BSD-3-Clause */
/* The state that the head alone has, joined from four modules; each knows only those before it:
 *
 *   journal   records and their fold; the incarnation, its numbered events, membership operations
 *   members   admission, join back-off, liveness, slots, CPU ledger, size bound
 *   jobs      submission, queue, map, launch, reports, failure, end
 *   resize    fence, batches of joiners, grow and shrink campaigns, releases, requests
 *
 * In: messages for the head, daemons that call home, membership operations that were applied or
 * are processed by everybody, verbs of the control API, the time. Out: messages to daemons
 * (dvm/protocol/rml), operations for the core to broadcast, events.
 *
 * A handler changes records and leaves the steps that follow to head_run(), which the core calls
 * after every input: liveness, campaigns, jobs, campaigns again (a job that has ended may be what a
 * shrink waits for), joiners, the end. Nothing is called back in the middle of a decision. */
#include "dvm/protocol/head/head.h"

#include "base/log/log.h"
#include "dvm/protocol/head/head_state.h"
#include "dvm/protocol/head/members/departures.h"
#include "dvm/protocol/head/members/liveness.h"
#include "dvm/protocol/wire/exit_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
    struct head_opts opts;
    struct out *out;
    struct members *members;
    struct head_state known; /* changes by records only */
    struct liveness *liveness;
    struct departures *departures;
    /* jobs, resize */
    struct jobs *jobs;
    struct resize *resize;
    /* the end of the incarnation */
    bool end_sent, ended;
    uint64_t end_op;
    int64_t clock_ahead; /* of a former head's clock */
    bool lacking;        /* its records may lack the last ones, since they were with keepers */
};

/* The head is a member from the first record on. */
static void begin_journal(struct head *h)
{
    struct msg_member self = members_facts(h->members, VPID_HEAD);
    struct record r = {.type = RECORD_BEGIN,
                       .begin = {.cluster = (char *)h->opts.cluster,
                                 .incarnation = h->opts.incarnation,
                                 .size = h->opts.size,
                                 .now_ms = h->out->now_ms,
                                 .wall_ms = h->out->wall_ms,
                                 .head = self}};
    struct err err = {0};

    journal_note(h->known.journal, &r);
    if (cpu_ledger_put(h->known.ledger, VPID_HEAD, self.host, h->opts.cpus, &err) < 0)
        out_log(h->out, LOG_LEVEL_WARN, "%s", err.msg);
    h->opts.cluster = h->opts.cpus = NULL; /* borrowed */
    msg_member_free(&self);
}

static int take_heritage(struct head *h, struct err *err)
{
    struct cur c = cur_of(h->opts.heritage, h->opts.heritage_len);

    while (cur_left(&c)) {
        size_t len;
        const uint8_t *data = cur_bytes(&c, RECORD_SNAPSHOT_MAX, &len);

        if (c.bad)
            return err_set(err, "the records are cut");
        if (journal_replay(h->known.journal, data, len, err) < 0)
            return -1;
    }
    if (incarnation_ending(h->known.inc))
        return err_code(err, ECANCELED, "its incarnation ends");
    if (incarnation_number(h->known.inc) == 0)
        return err_set(err, "its incarnation has not begun");
    if (strcmp(incarnation_cluster(h->known.inc), h->opts.cluster) != 0)
        return err_set(err, "it is of cluster %s", incarnation_cluster(h->known.inc));
    return members_live(h->members, VPID_HEAD) ? 0 : err_set(err, "it has no head");
}

/* Times in the records are those of the first head's clock, with which this process goes on. */
static int inherit_state(struct head *h, struct err *err)
{
    if (take_heritage(h, err) < 0)
        return -1;
    h->clock_ahead = h->opts.clock_ahead
                         ? *h->opts.clock_ahead
                         : incarnation_clock_ahead(h->known.inc, h->out->now_ms, h->out->wall_ms);
    h->out->now_ms += (uint64_t)h->clock_ahead;
    return 0;
}

static void create_parts(struct head *h, struct rml *rml)
{
    struct liveness_opts late = {h->opts.silent_ms, h->opts.ack_ms / 2};
    struct out *out = h->out;
    struct members *members = h->members;

    h->liveness = liveness_create(&late, out, members, h->known.ops);
    h->departures = departures_create(members);
    h->jobs = jobs_create(&(struct jobs_uses){.out = out,
                                              .members = members,
                                              .rml = rml,
                                              .inc = h->known.inc,
                                              .bound = h->known.bound,
                                              .roster = h->known.roster,
                                              .ledger = h->known.ledger,
                                              .table = h->known.jobs,
                                              .published = h->known.published,
                                              .report_ms = h->opts.silent_ms});
    h->resize = resize_create(&(struct resize_uses){.out = out,
                                                    .members = members,
                                                    .rml = rml,
                                                    .inc = h->known.inc,
                                                    .bound = h->known.bound,
                                                    .roster = h->known.roster,
                                                    .ledger = h->known.ledger,
                                                    .jobs = h->jobs,
                                                    .events = h->known.events,
                                                    .ops = h->known.ops,
                                                    .journal = h->known.journal,
                                                    .campaigns = h->known.campaigns,
                                                    .releases = h->known.releases,
                                                    .ack_ms = h->opts.ack_ms});
}

struct head *head_create(const struct head_opts *o, struct out *out, struct members *members,
                         struct rml *rml, struct err *err)
{
    struct head *h = xcalloc(1, sizeof(*h));

    h->opts = *o;
    h->out = out;
    h->members = members;
    head_state_init(&h->known, out, members);
    if (o->heritage && inherit_state(h, err) < 0) {
        head_state_free(&h->known);
        free(h);
        return NULL;
    }
    if (o->on_record)
        journal_stream_to(h->known.journal, o->on_record, o->arg);
    if (!o->heritage)
        begin_journal(h);
    create_parts(h, rml);
    return h;
}

void head_succeed(struct head *h, const struct head_skips *skips, struct msg_member *self,
                  struct msg *op)
{
    struct op start = {.urgent = true, .msg = {.type = MSG_ADD, .add = {.nmembers = 1}}};
    struct msg_member *head = xcalloc(1, sizeof(*head));

    h->lacking = skips->names > 0;
    self->epoch = roster_succeed(h->known.roster, self, skips->epochs, skips->names);
    msg_member_copy(head, self);
    start.msg.add.members = head;
    op_queue_start(h->known.ops, &start);
    *op = start.msg;
}

void head_resume(struct head *h, struct epoch former, uint64_t op)
{
    FREE_AUTO char *host = members_host(h->members, VPID_HEAD);
    struct err err = {0};

    liveness_succeed(h->liveness, op);
    departures_succeed(h->departures);
    jobs_succeed(h->jobs);
    resize_succeed(h->resize, op);
    jobs_resume(h->jobs, h->lacking);
    job_home_gone(h->jobs, VPID_HEAD, former, true);
    job_daemon_lost(h->jobs, VPID_HEAD, former, "the head was replaced");
    if (cpu_ledger_put(h->known.ledger, VPID_HEAD, host, h->opts.cpus, &err) < 0)
        out_log(h->out, LOG_LEVEL_WARN, "%s", err.msg);
    h->opts.cluster = h->opts.cpus = NULL; /* borrowed */
    h->opts.heritage = NULL;
    h->opts.clock_ahead = NULL;
}

void head_each_client(const struct head *h, void (*on)(void *arg, const struct job_client *k),
                      void *arg)
{
    jobs_each_client(h->jobs, on, arg);
}

const struct heads *head_heads(const struct head *h)
{
    return roster_heads(h->known.roster);
}

int64_t head_clock_ahead(const struct head *h)
{
    return h->clock_ahead;
}

void head_note_clock(struct head *h, bool has_records)
{
    incarnation_note_clock(h->known.inc, h->out->now_ms, h->out->wall_ms, has_records);
}

uint64_t head_last_epoch(const struct head *h)
{
    return roster_last_epoch(h->known.roster);
}

uint64_t head_incarnation(const struct head *h)
{
    return incarnation_number(h->known.inc);
}

void head_destroy(struct head *h)
{
    if (!h)
        return;
    resize_destroy(h->resize);
    jobs_destroy(h->jobs);
    departures_destroy(h->departures);
    liveness_destroy(h->liveness);
    head_state_free(&h->known);
    free(h);
}

/* --- shutdown */

void head_shutdown(struct head *h, enum shutdown_why why, int64_t deadline_s)
{
    uint64_t wait_ms = deadline_s > 0 ? (uint64_t)deadline_s * 1000 : 0;

    if (incarnation_end(h->known.inc, why, h->out->now_ms + wait_ms))
        event_log_add(h->known.events, API_EVENT_SHUTDOWN, 0, 0, NULL);
}

bool head_ending(const struct head *h)
{
    return incarnation_ending(h->known.inc);
}

bool head_ended(const struct head *h)
{
    return h->ended;
}

/* Until then the head waits for reports that all ranks have ended. Afterwards the broadcast ends
 * the ranks. */
static uint64_t end_by(const struct head *h)
{
    return incarnation_ends_at(h->known.inc) + JOB_GRACE_MS + h->opts.ack_ms;
}

static void end_jobs(struct head *h)
{
    for (struct job *j = jobs_first(h->jobs); j; j = job_next(j))
        job_fail(h->jobs, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended: the DVM shuts down");
}

static void log_late_job(struct head *h, const struct job *j)
{
    const struct job_launch *map = job_map(j);
    size_t done = 0;

    for (size_t i = 0; i < map->nnodes; i++)
        done += !job_on_node(j, i);
    out_log(h->out, LOG_LEVEL_WARN, "job %s has not ended in time: %zu of %zu daemons done",
            map->nspace, done, map->nnodes);
}

static void end_steps(struct head *h)
{
    struct msg m = {
        .type = MSG_SHUTDOWN,
        .shutdown = {.why = incarnation_why(h->known.inc), .text = "the DVM is shut down"}};

    if (!incarnation_ending(h->known.inc) || h->end_sent)
        return;
    if (incarnation_ends_at(h->known.inc) <= h->out->now_ms)
        end_jobs(h);
    if ((jobs_first(h->jobs) || job_adoption_waits(h->jobs)) && h->out->now_ms < end_by(h))
        return;
    for (const struct job *j = jobs_first(h->jobs); j; j = job_next(j))
        log_late_job(h, j);
    h->end_sent = true;
    op_queue_add(h->known.ops, &m, false, NULL);
}

static uint64_t end_next_deadline(const struct head *h)
{
    if (!incarnation_ending(h->known.inc) || h->end_sent)
        return UINT64_MAX;
    return incarnation_ends_at(h->known.inc) > h->out->now_ms ? incarnation_ends_at(h->known.inc)
                                                              : end_by(h);
}

/* --- the turn */

void head_turn(struct head *h)
{
    jobs_turn(h->jobs);
}

static void take_deferred(struct head *h)
{
    struct msg m;
    uint32_t from;

    while (job_adoption_overflows(h->jobs, &from))
        head_lost(h, from, members_epoch(h->members, members_get(h->members, from)),
                  "it has sent more about its jobs than the head can keep");
    job_adoption_steps(h->jobs);
    while (job_adoption_next(h->jobs, &from, &m)) {
        head_msg(h, from, &m);
        msg_free(&m);
    }
}

void head_run(struct head *h)
{
    liveness_steps(h->liveness);
    take_deferred(h);
    resize_steps_before_jobs(h->resize);
    jobs_steps(h->jobs);
    resize_steps_after_jobs(h->resize);
    end_steps(h);
}

uint64_t head_deadline(const struct head *h)
{
    uint64_t at[] = {jobs_next_deadline(h->jobs), resize_next_deadline(h->resize),
                     liveness_next_deadline(h->liveness), end_next_deadline(h)};
    uint64_t due = UINT64_MAX;

    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        due = at[i] < due ? at[i] : due;
    return due;
}

/* --- membership */

/* After the broadcast that ends the DVM only losses are broadcast: its acknowledgements need them.
 */
bool head_next_op(struct head *h, struct msg *out)
{
    struct op op;

    while (op_queue_take(h->known.ops, h->end_op != 0, &op)) {
        if (!resize_op_due(h->resize, &op)) {
            msg_free(&op.msg);
            continue;
        }
        op_queue_start(h->known.ops, &op);
        resize_op_started(h->resize, &op);
        departures_note(h->departures, &op.msg);
        if (op.msg.type == MSG_SHUTDOWN)
            h->end_op = op.msg.shutdown.op;
        *out = op.msg;
        return true;
    }
    return false;
}

bool head_completed(struct head *h, uint64_t version)
{
    if (!op_queue_complete(h->known.ops, version))
        return false;
    liveness_completed(h->liveness);
    if (h->end_op && h->end_op <= version)
        h->ended = true;
    resize_completed(h->resize, version);
    return true;
}

static void apply_loss(struct head *h, const struct msg_remove *op, const struct msg_target *t)
{
    FREE_AUTO char *joint = op->ntargets > 1
                                ? xasprintf("lost together with %zu others, of which the first: %s",
                                            op->ntargets - 1, op->text)
                                : NULL;

    event_log_add_loss(h->known.events, t->vpid, t->epoch.ctr, joint ? joint : op->text);
    job_daemon_lost(h->jobs, t->vpid, t->epoch, op->ntargets == 1 ? op->text : NULL);
    resize_left(h->resize, t->vpid, t->epoch);
}

void head_apply(struct head *h, const struct msg *op)
{
    roster_apply(h->known.roster, op);
}

void head_applied(struct head *h, const struct msg *op)
{
    const struct msg_remove *m = &op->remove;

    liveness_applied(h->liveness, op);
    for (size_t i = 0; op->type == MSG_REMOVE && i < m->ntargets; i++) {
        job_home_gone(h->jobs, m->targets[i].vpid, m->targets[i].epoch, m->why == REMOVE_LOST);
        if (m->why == REMOVE_LOST)
            apply_loss(h, m, &m->targets[i]);
    }
}

int head_admit(struct head *h, const struct msg_member *facts, const char *cpus,
               struct epoch *epoch, struct err *err)
{
    return roster_admit(h->known.roster, facts, cpus, resize_names(h->resize, facts->vpid), epoch,
                        err);
}

bool head_joining(const struct head *h, uint32_t vpid, struct epoch epoch)
{
    return roster_joining(h->known.roster, vpid, epoch);
}

void head_joiner_gone(struct head *h, uint32_t vpid, struct epoch epoch)
{
    roster_joiner_gone(h->known.roster, vpid, epoch);
}

bool head_turned_away(struct head *h)
{
    return roster_turned_away(h->known.roster);
}

void head_lost(struct head *h, uint32_t vpid, struct epoch epoch, const char *why)
{
    liveness_lost(h->liveness, vpid, epoch, why);
}

/* --- messages */

/* A loss counts if the daemon's present parent reports it: a former parent has handed the child
 * over. A daemon that cannot go on reports its own loss. */
static bool is_parent(const struct head *h, uint32_t from, uint32_t vpid)
{
    struct tree t = members_tree(h->members);

    return vpid != VPID_HEAD && members_live(h->members, vpid) && tree_parent(&t, vpid) == from;
}

static void take_lost(struct head *h, uint32_t from, struct msg *m)
{
    struct msg_target who = m->lost.who;

    if (from == who.vpid || is_parent(h, from, who.vpid))
        head_lost(h, who.vpid, who.epoch, m->lost.why);
    else
        out_log(h->out, LOG_LEVEL_INFO, "vpid %u reports the loss of vpid %u, which has left it",
                from, who.vpid);
}

static void take_gone(struct head *h, uint32_t from, struct msg *m)
{
    struct msg_target who = m->gone.who;

    if (!departures_may_report(h->departures, from, who))
        out_log(h->out, LOG_LEVEL_WARN,
                "vpid %u reports that vpid %u has left, which was not its child", from, who.vpid);
    else if (m->gone.link_closed)
        resize_gone(h->resize, who.vpid, who.epoch);
    else
        resize_left(h->resize, who.vpid, who.epoch);
}

/* Records that were lost had them, since each daemon reports its CPUs when it joins. */
static void note_cpus(struct head *h, uint32_t from, const char *cpus)
{
    FREE_AUTO char *host = members_host(h->members, from);
    struct err err = {0};

    if (!cpu_ledger_topo(h->known.ledger, from) && *cpus &&
        cpu_ledger_put(h->known.ledger, from, host, cpus, &err) < 0)
        out_log(h->out, LOG_LEVEL_WARN, "%s", err.msg);
}

static void take_report(struct head *h, uint32_t from, struct msg *m)
{
    if (!members_get(h->members, from))
        return;
    roster_repairs(h->known.roster, from, m->report.repairs);
    liveness_reported(h->liveness, from, m->report.version);
    if (!m->report.all)
        return;
    note_cpus(h, from, m->report.cpus);
    job_adoption_reported_all(h->jobs, from);
}

static void take_local_job(struct head *h, uint32_t from, struct msg *m)
{
    job_reported(h->jobs, from, &m->local_job.map);
}

static void take_job_ask(struct head *h, uint32_t from, struct msg *m)
{
    job_asked(h->jobs, from, &m->job_ask);
}

static void take_submit(struct head *h, uint32_t from, struct msg *m)
{
    job_submit(h->jobs, from, &m->submit);
}

static void take_signal(struct head *h, uint32_t from, struct msg *m)
{
    job_signal(h->jobs, &m->signal);
}

static void take_launched(struct head *h, uint32_t from, struct msg *m)
{
    job_launched(h->jobs, from, &m->launched);
}

static void take_registered(struct head *h, uint32_t from, struct msg *m)
{
    job_registered(h->jobs, from, &m->registered);
}

static void take_exited(struct head *h, uint32_t from, struct msg *m)
{
    job_exited(h->jobs, from, &m->exited);
}

static void take_local_gone(struct head *h, uint32_t from, struct msg *m)
{
    job_local_gone(h->jobs, from, &m->local_gone);
}

static void take_abort(struct head *h, uint32_t from, struct msg *m)
{
    job_aborted(h->jobs, from, &m->abort);
}

static void take_ready(struct head *h, uint32_t from, struct msg *m)
{
    job_ready_report(h->jobs, from, &m->ready);
}

static void take_no_files(struct head *h, uint32_t from, struct msg *m)
{
    job_ready_no_files(h->jobs, from, &m->no_files);
}

static void take_held(struct head *h, uint32_t from, struct msg *m)
{
    job_debug_stop_report(h->jobs, from, &m->held);
}

static void take_continue(struct head *h, uint32_t from, struct msg *m)
{
    job_debug_stop_continue(h->jobs, &m->continue_ask);
}

static void take_release(struct head *h, uint32_t from, struct msg *m)
{
    resize_release_ask(h->resize, from, &m->release_me);
}

static void take_resize_ask(struct head *h, uint32_t from, struct msg *m)
{
    resize_request(h->resize, from, &m->resize_ask);
}

/* The messages to the head. Any member may send them; the handler checks whether the sender is
 * responsible for the job or the member in the message. */
static const struct {
    enum msg_type type;
    void (*take)(struct head *h, uint32_t from, struct msg *m);
} handlers[] = {
    {MSG_SUBMIT, take_submit},
    {MSG_SIGNAL, take_signal},
    {MSG_LAUNCHED, take_launched},
    {MSG_REGISTERED, take_registered},
    {MSG_EXITED, take_exited},
    {MSG_LOCAL_GONE, take_local_gone},
    {MSG_ABORT, take_abort},
    {MSG_LOST, take_lost},
    {MSG_GONE, take_gone},
    {MSG_RELEASE_ME, take_release},
    {MSG_REPORT, take_report},
    {MSG_LOCAL_JOB, take_local_job},
    {MSG_READY, take_ready},
    {MSG_NO_FILES, take_no_files},
    {MSG_HELD, take_held},
    {MSG_CONTINUE_ASK, take_continue},
    {MSG_RESIZE_ASK, take_resize_ask},
    {MSG_JOB_ASK, take_job_ask},
};

void head_msg(struct head *h, uint32_t from, struct msg *m)
{
    if (job_adoption_defers(h->jobs, from, m))
        return;
    for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++) {
        if (handlers[i].type == m->type) {
            handlers[i].take(h, from, m);
            return;
        }
    }
    out_log(h->out, LOG_LEVEL_WARN, "vpid %u sent %s to the head", from, msg_name(m->type));
}

/* --- verbs and view */

int head_campaign_put(struct head *h, const char *id, const struct api_campaign_request *r,
                      struct api_campaign *out, enum api_reason *reason, struct err *err)
{
    return resize_campaign_put(h->resize, id, r, out, reason, err);
}

int head_campaign_cancel(struct head *h, const char *id, struct api_campaign *out,
                         enum api_reason *reason, struct err *err)
{
    return resize_campaign_cancel(h->resize, id, out, reason, err);
}

int head_campaign_get(struct head *h, const char *id, struct api_campaign *out,
                      enum api_reason *reason, struct err *err)
{
    return resize_campaign_get(h->resize, id, out, reason, err);
}

int head_signal_put(struct head *h, const char *nspace, int signum, enum api_reason *reason,
                    struct err *err)
{
    return job_signal_put(h->jobs, nspace, signum, reason, err);
}

int head_continue_put(struct head *h, const char *nspace, enum api_reason *reason, struct err *err)
{
    return job_continue_put(h->jobs, nspace, reason, err);
}

int head_size_put(struct head *h, const struct api_size *s, struct api_size *out,
                  enum api_reason *reason, struct err *err)
{
    int rc = size_bound_put(h->known.bound, s, reason, err);

    if (rc < 0)
        return -1;
    if (rc > 0) {
        resize_bound_changed(h->resize);
        event_log_add(h->known.events, API_EVENT_SIZE, 0, 0, NULL);
        jobs_kick(h->jobs);
    }
    *out = size_bound_record(h->known.bound);
    return 0;
}

const struct job_launch *head_job_watch(struct head *h, const char *nspace, uint32_t vpid)
{
    return job_watch(h->jobs, nspace, vpid);
}

enum job_control head_job_control(const struct head *h, uint32_t from, const char *asker,
                                  const char *target)
{
    return job_family_control(h->jobs, from, asker, target);
}

void head_job_waits(struct head *h, uint32_t from, const char *nspace, const char *text)
{
    job_waits_report(h->jobs, from, nspace, text);
}

enum store_result head_published_serve(struct head *h, const struct published_ask *a,
                                       struct buf *answer)
{
    struct cur c = cur_of(a->blob, a->len);
    struct store_who who;

    if ((a->op == 'p' || a->op == 'l') && store_get_who(&c, &who) &&
        jobs_has_ended(h->jobs, who.nspace))
        return STORE_NONE;
    return published_serve(h->known.published, a, answer);
}

const struct job_launch *head_job_ranks(const struct head *h, const char *nspace,
                                        const struct job_rank **ranks)
{
    return job_ranks(h->jobs, nspace, ranks);
}

void head_daemons_of(const struct head *h, const char *nspace, uint32_t rank, hwloc_bitmap_t to)
{
    job_daemons_of(h->jobs, nspace, rank, to);
}

const struct api_event *head_event(const struct head *h, uint64_t number)
{
    return event_log_get(h->known.events, number);
}

uint64_t head_event_next(const struct head *h)
{
    return event_log_next(h->known.events);
}

uint32_t head_jobs_bound(const struct head *h, bool kept)
{
    return jobs_bound(h->jobs, kept);
}

struct jobs_stats head_job_stats(const struct head *h)
{
    return jobs_stats(h->jobs);
}

static void view_members(const struct head *h, struct api_dvm *out)
{
    struct tree t = members_tree(h->members);

    out->members = xcalloc(h->members->n + 1, sizeof(*out->members));
    for (uint32_t v = 0; v < h->members->n; v++) {
        const struct member *m = members_get(h->members, v);
        struct api_dvm_member *x = &out->members[out->nmembers];
        bool live = members_live(h->members, v);
        struct msg_member facts;

        if (!m || m->state == MEMBER_ABSENT)
            continue;
        x->vpid = v;
        x->epoch = m->ctr;
        x->state = (enum member_state)m->state;
        facts = members_facts(h->members, v);
        x->host = facts.host;
        x->address = facts.address;
        x->slots = facts.slots;
        facts.host = facts.address = NULL; /* taken */
        msg_member_free(&facts);
        x->slots_used = m->slots_used;
        x->parent = live && v ? (int64_t)tree_parent(&t, v) : -1;
        x->depth = live ? tree_depth(&t, v) : 0;
        x->repairs = v ? m->repairs : h->members->repairs;
        out->nmembers++;
    }
}

void head_view(const struct head *h, struct api_dvm *out)
{
    struct api_size size = size_bound_record(h->known.bound);

    memset(out, 0, sizeof(*out));
    snprintf(out->incarnation, sizeof(out->incarnation), "%s", incarnation_text(h->known.inc));
    out->cluster = xstrdup(incarnation_cluster(h->known.inc));
    out->version = h->members->version;
    out->radix = h->members->radix;
    out->repairs = h->members->repairs;
    out->size_sequence = size.sequence;
    out->size_members = size.members;
    out->size_limits = size.limits;
    out->next_event = event_log_next(h->known.events);
    view_members(h, out);
    jobs_view(h->jobs, out);
    resize_view(h->resize, out);
}

struct journal *head_journal(const struct head *h)
{
    return h->known.journal;
}

struct jobs *head_jobs(const struct head *h)
{
    return h->jobs;
}

const struct resize *head_resize(const struct head *h)
{
    return h->resize;
}

struct head_batch head_joiner_batch(const struct head *h)
{
    struct head_batch b;

    b.number = resize_batch(h->resize, &b.op);
    return b;
}

uint32_t head_size_bound(const struct head *h)
{
    return size_bound_now(h->known.bound);
}

const uint16_t *head_cpu_load(const struct head *h, uint32_t vpid, uint32_t *n)
{
    const struct topo *t = cpu_ledger_topo(h->known.ledger, vpid);

    *n = t ? t->npus : 0;
    return cpu_ledger_load(h->known.ledger, vpid);
}
