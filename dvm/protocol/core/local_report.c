/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports about the ranks of this daemon: to the head, and at the end of their output to the daemon
 * of the job's submitter.
 *
 * In: the record of a job here (struct local_job) after a step of it or of one of its ranks; the
 * request ASK of a new head. Out: messages of CLASS_LAUNCH to the head: READY, NO_FILES, LAUNCHED,
 * EXITED, REGISTERED, HELD, LOCAL_GONE, REPORT, LOCAL_JOB. IOF_END of CLASS_BULK to the
 * submitter's daemon.
 *
 * Order: IOF_END follows the last output of the ranks here. LOCAL_GONE waits until IOF_END has
 * arrived or that daemon's epoch has ended. If the submitter is a client at the head, LOCAL_GONE
 * does not wait: the head itself waits for the output.
 *
 * Invariants: nothing is reported about the ranks of a former job, which the head has ended. After
 * ASK, local_report_all() repeats the whole state of each other job, with the end of output for
 * clients at the head. The head counts no repeated report twice.
 *
 * Failures: no report is kept here until it is acknowledged; dvm/protocol/rml does that. IOF_END is
 * not sent to a daemon that is no member any more. */
#include "dvm/protocol/core/local_private.h"

#include <stdlib.h>

void local_tell_head(struct core *c, const struct local_job *j, const struct msg *m)
{
    if (!j->former)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, m);
}

void local_tell_ready(struct core *c, const struct local_job *j)
{
    struct msg m = {.type = MSG_READY, .ready = {j->launch->nspace}};

    local_tell_head(c, j, &m);
}

void local_tell_no_files(struct core *c, const struct local_job *j, const struct local_cause *why)
{
    struct msg m = {.type = MSG_NO_FILES,
                    .no_files = {.nspace = j->launch->nspace,
                                 .errnum = why->errnum,
                                 .why = (char *)(why->what ? why->what : "")}};

    local_tell_head(c, j, &m);
}

static struct msg_rank start_of(const struct local_rank *r)
{
    bool failed = r->marks & 1u << MARK_FAILED;

    return (struct msg_rank){r->rank, failed, RANK_PLAIN, r->value, r->text};
}

void local_tell_starts(struct core *c, const struct local_job *j)
{
    FREE_AUTO struct msg_rank *ranks = xcalloc((size_t)j->nlocal + 1, sizeof(*ranks));
    struct msg m = {.type = MSG_LAUNCHED,
                    .launched = {.nspace = j->launch->nspace, .ranks = ranks}};

    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (j->ranks[i].marks & 1u << MARK_ATTEMPTED)
            ranks[m.launched.nranks++] = start_of(&j->ranks[i]);
    }
    local_tell_head(c, j, &m);
}

void local_tell_start(struct core *c, const struct local_job *j, const struct local_rank *r)
{
    struct msg_rank start = start_of(r);
    struct msg m = {.type = MSG_LAUNCHED, .launched = {j->launch->nspace, 1, &start}};

    if (j->nmarked[MARK_ATTEMPTED] < j->nlocal && r->marks & 1u << MARK_ATTEMPTED)
        local_tell_head(c, j, &m);
}

void local_tell_registered(struct core *c, const struct local_job *j)
{
    struct msg m = {.type = MSG_REGISTERED, .registered = {j->launch->nspace}};

    local_tell_head(c, j, &m);
}

static struct msg_rank end_of(const struct local_rank *r)
{
    return (struct msg_rank){r->rank, false, r->how, r->wait_status, ""};
}

void local_tell_exit(struct core *c, const struct local_job *j, const struct local_rank *r)
{
    struct msg_rank end = end_of(r);
    struct msg m = {.type = MSG_EXITED, .exited = {j->launch->nspace, 1, &end}};

    local_tell_head(c, j, &m);
}

/* The head may not know why it, or a former one, had ordered the end. */
static struct msg_rank repeated_end_of(const struct local_rank *r)
{
    struct msg_rank end = end_of(r);

    if (r->ordered)
        end.how = RANK_ORDERED;
    return end;
}

static void tell_exits(struct core *c, const struct local_job *j)
{
    FREE_AUTO struct msg_rank *ranks = xcalloc((size_t)j->nlocal + 1, sizeof(*ranks));
    struct msg m = {.type = MSG_EXITED, .exited = {.nspace = j->launch->nspace, .ranks = ranks}};

    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (j->ranks[i].state == PROC_TERMINATED)
            ranks[m.exited.nranks++] = repeated_end_of(&j->ranks[i]);
    }
    if (m.exited.nranks)
        local_tell_head(c, j, &m);
}

void local_tell_held(struct core *c, struct local_job *j)
{
    struct msg m = {.type = MSG_HELD, .held = {j->launch->nspace, j->stop.nheld}};

    j->stop.told = true;
    local_tell_head(c, j, &m);
}

/* Output for a client at the head itself: the head knows when that output has ended, so the
 * report of the job's end may overtake it. */
static bool head_orders(const struct local_job *j)
{
    return j->launch->home_vpid == VPID_HEAD && j->launch->spec.parent_nspace[0] == '\0';
}

void local_end_output(struct core *c, struct local_job *j)
{
    const struct job_launch *l = j->launch;
    struct msg end = {.type = MSG_IOF_END, .iof_end = {l->nspace, l->home_client}};

    if (j->former)
        return;
    if (members_live(&c->members, l->home_vpid))
        core_send(c, l->home_vpid, CLASS_BULK, &end);
    j->output_end = rml_sent(c->rml, l->home_vpid, CLASS_BULK);
}

bool local_output_arrived(struct core *c, const struct local_job *j)
{
    return head_orders(j) || rml_arrived(c->rml, j->launch->home_vpid, CLASS_BULK, j->output_end);
}

void local_tell_gone(struct core *c, const struct local_job *j)
{
    struct msg m = {.type = MSG_LOCAL_GONE,
                    .local_gone = {.nspace = j->launch->nspace,
                                   .client = j->launch->home_client,
                                   .after_output = head_orders(j)}};

    local_tell_head(c, j, &m);
}

void local_tell_abort(struct core *c, const struct local_job *j)
{
    struct msg m = {.type = MSG_ABORT};

    if (!j->abort)
        return;
    m.abort = *j->abort;
    local_tell_head(c, j, &m);
}

static void tell_job(struct core *c, struct local_job *j)
{
    struct msg job = {.type = MSG_LOCAL_JOB, .local_job = {*j->launch}};

    local_tell_head(c, j, &job);
    if (j->nmarked[MARK_READY] == j->nlocal && job_launch_waits(j->launch))
        local_tell_ready(c, j);
    if (j->nmarked[MARK_ATTEMPTED])
        local_tell_starts(c, j);
    local_tell_abort(c, j);
    tell_exits(c, j);
    if (j->nmarked[MARK_REGISTERED] == j->nlocal)
        local_tell_registered(c, j);
    if (j->stop.told)
        local_tell_held(c, j);
    if (j->state >= RANKS_FLUSHING && j->launch->home_vpid == VPID_HEAD)
        local_end_output(c, j);
    if (j->state == RANKS_GONE)
        local_tell_gone(c, j);
}

/* Everything that a new head needs from this daemon. A head that has had these reports before
 * counts nothing twice. */
void local_report_all(struct core *c)
{
    struct msg report = {
        .type = MSG_REPORT,
        .report = {.version = c->members.version, .repairs = (uint32_t)c->members.repairs}};
    struct local_job *j, *tmp;

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &report);
    HASH_ITER(hh, c->jobs, j, tmp)
    {
        if (!j->former)
            tell_job(c, j);
    }
}

void local_report_end(struct core *c)
{
    struct msg m = {.type = MSG_REPORT,
                    .report = {.version = c->members.version,
                               .repairs = (uint32_t)c->members.repairs,
                               .all = true,
                               .cpus = (char *)c->opts.cpus}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}
