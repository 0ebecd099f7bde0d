/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs with ranks on this daemon: states of the local processes, reports to the head. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"
#include "dvm/protocol/wire/mutant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static struct local_job *find(const struct core *c, const char *nspace)
{
    struct local_job *j;

    DL_FOREACH(c->jobs, j)
    {
        if (strcmp(j->launch->nspace, nspace) == 0)
            return j;
    }
    return NULL;
}

static void drop(struct core *c, struct local_job *j)
{
    DL_DELETE(c->jobs, j);
    for (uint32_t i = 0; i < j->nlocal; i++)
        free(j->attempts[i].text);
    free(j->attempts);
    free(j->stopped);
    free(j->state);
    free(j->status);
    free(j->how);
    free(j->early);
    job_launch_unref(j->launch);
    free(j);
}

void local_free(struct core *c)
{
    while (c->jobs)
        drop(c, c->jobs);
}

/* This life ends: nothing of its jobs may stay. */
void local_drop_all(struct core *c)
{
    struct local_job *j;

    DL_FOREACH(c->jobs, j)
    {
        if (!j->gone) {
            struct out_act *end = out_add(&c->out, OUT_END_RANKS);
            struct out_act *gone;

            end->a = xstrdup(j->launch->nspace);
            gone = out_add(&c->out, OUT_JOB_GONE);
            gone->a = xstrdup(j->launch->nspace);
        }
    }
    local_free(c);
}

/* A daemon on its way out starts nothing more: the job fails at once. */
static void refuse_launch(struct core *c, const struct job_launch *l, uint32_t node)
{
    struct msg_rank *ranks FREE_AUTO = xcalloc((size_t)l->nranks + 1, sizeof *ranks);
    struct msg failed = {.type = MSG_LAUNCHED, .nspace = l->nspace, .ranks = ranks};
    struct msg gone = {.type = MSG_LOCAL_GONE, .nspace = l->nspace};
    struct msg end = {.type = MSG_IOF_END, .nspace = l->nspace, .client = l->home_client};

    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->rank_node[r] == node)
            ranks[failed.nranks++] =
                (struct msg_rank){r, true, RANK_PLAIN, ECANCELED, "the daemon is on its way out"};
    }
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &failed);
    if (members_live(&c->members, l->home_vpid))
        core_send(c, l->home_vpid, CLASS_BULK, &end);
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &gone);
}

void local_launch(struct core *c, struct msg *m)
{
    int node = job_launch_node(&m->launch, c->opts.vpid);
    struct local_job *j;

    if (node < 0 || find(c, m->launch.nspace))
        return;
    if (c->finishing) {
        refuse_launch(c, &m->launch, (uint32_t)node);
        return;
    }
    j = xcalloc(1, sizeof *j);
    j->launch = job_launch_share(&m->launch);
    j->node = node;
    j->nlocal = job_launch_local_size(j->launch, (uint32_t)node);
    j->state = xcalloc((size_t)j->launch->nranks + 1, sizeof *j->state);
    j->status = xcalloc((size_t)j->launch->nranks + 1, sizeof *j->status);
    j->how = xcalloc((size_t)j->launch->nranks + 1, sizeof *j->how);
    j->early = xcalloc((size_t)j->launch->nranks + 1, 1);
    j->attempts = xcalloc((size_t)j->nlocal + 1, sizeof *j->attempts);
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (j->launch->rank_node[r] != (uint32_t)node)
            continue;
        j->state[r] = PROC_INIT;
        j->nstop += job_stops(&j->launch->spec, r);
    }
    if (j->nstop)
        j->stopped = xcalloc(j->launch->nranks, sizeof *j->stopped);
    DL_APPEND(c->jobs, j);
    out_add(&c->out, OUT_LAUNCH)->launch = job_launch_ref(j->launch);
    if (MUTANT(START_UNSTAGED) && j->launch->spec.nfiles)
        out_add(&c->out, OUT_START)->a = xstrdup(j->launch->nspace);
}

void core_staged(struct core *c, const char *nspace, int errnum, const char *what)
{
    struct local_job *j = find(c, nspace);
    struct msg m = {.type = MSG_STAGED,
                    .nspace = (char *)nspace,
                    .number = errnum,
                    .text = (char *)(what ? what : "")};

    if (!j || j->staged)
        return;
    j->staged = errnum == 0;
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}

void local_start(struct core *c, const struct msg *m)
{
    const struct local_job *j = find(c, m->nspace);

    if (j && j->staged)
        out_add(&c->out, OUT_START)->a = xstrdup(m->nspace);
}

void local_kill(struct core *c, const struct msg *m)
{
    struct out_act *act;

    if (!find(c, m->nspace))
        return;
    act = out_add(&c->out, m->number2 < 0 ? OUT_SIGNAL : OUT_END_RANKS);
    act->a = xstrdup(m->nspace);
    act->rank = JOB_RANK_ALL;
    act->number = m->number2 < 0 ? m->number : m->number2;
}

void local_ended(struct core *c, const struct msg *m)
{
    struct local_job *j = find(c, m->nspace);
    struct out_act *act = out_add(&c->out, OUT_JOB_ENDED);

    act->a = xstrdup(m->nspace);
    act->number = m->number;
    gather_forget(&c->gather, m->nspace);
    if (j)
        drop(c, j);
}

void local_ranks_lost(struct core *c, const struct msg *m)
{
    struct out_act *act = out_add(&c->out, OUT_RANKS_LOST);

    act->data.max = MSG_DATA_MAX;
    msg_encode(&act->data, m);
}

static void report_launch(struct core *c, struct local_job *j)
{
    struct msg m = {.type = MSG_LAUNCHED,
                    .nspace = j->launch->nspace,
                    .nranks = j->nattempted,
                    .ranks = j->attempts};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

static void attempted(struct core *c, struct local_job *j, uint32_t rank, bool failed, int value,
                      const char *text)
{
    if (j->nattempted >= j->nlocal)
        return;
    j->attempts[j->nattempted++] =
        (struct msg_rank){rank, failed, RANK_PLAIN, value, xstrdup(text ? text : "")};
    /* Of others that wait with it nothing comes before the head ends them. */
    if (j->nattempted == j->nlocal || (failed && !j->failed))
        report_launch(c, j);
    j->failed |= failed;
}

static void over(struct core *c, struct local_job *j)
{
    if (++j->nover < j->nlocal)
        return;
    out_add(&c->out, OUT_JOB_GONE)->a = xstrdup(j->launch->nspace);
}

static void registered(struct core *c, struct local_job *j)
{
    struct msg m = {.type = MSG_REGISTERED, .nspace = j->launch->nspace};

    if (++j->nregistered == j->nlocal)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

/* Starts are told together. Of a rank that fails before its neighbours have started it is told
 * first, since the head names its process. */
static void tell_start(struct core *c, struct local_job *j, uint32_t rank)
{
    struct msg m = {.type = MSG_LAUNCHED, .nspace = j->launch->nspace, .nranks = 1};

    for (uint32_t i = 0; j->nattempted < j->nlocal && i < j->nattempted; i++) {
        if (j->attempts[i].rank != rank)
            continue;
        m.ranks = &j->attempts[i];
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
        return;
    }
}

static void terminated(struct core *c, struct local_job *j, uint32_t rank)
{
    struct msg_rank r = {rank, false, j->how[rank], j->status[rank], ""};
    struct msg m = {.type = MSG_EXITED, .nspace = j->launch->nspace, .nranks = 1, .ranks = &r};

    if (r.value != 0)
        tell_start(c, j, rank);
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    over(c, j);
}

static int step(struct core *c, struct local_job *j, uint32_t rank, enum proc_event ev)
{
    struct err err = {0};

    if (fsm_step(&proc_fsm, &j->state[rank], (int)ev, NULL, &err) == 0)
        return 0;
    out_log(&c->out, LOG_LEVEL_WARN, "job %s rank %u: %s", j->launch->nspace, rank, err.msg);
    return -1;
}

/* --- debugger hold */

static void tell_held(struct core *c, struct local_job *j)
{
    struct msg m = {.type = MSG_HELD, .nspace = j->launch->nspace, .number = j->nheld};

    j->held_told = true;
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

/* A rank that is over before it has stopped is not waited for. */
static void settle_stop(struct core *c, struct local_job *j, uint32_t rank)
{
    if (!j->stopped || !job_stops(&j->launch->spec, rank) || j->stopped[rank])
        return;
    j->stopped[rank] = true;
    if (++j->nsettled == j->nstop)
        tell_held(c, j);
}

static void let_go(struct core *c, const struct local_job *j, uint32_t rank)
{
    struct out_act *act = out_add(&c->out, OUT_CONTINUE);

    act->a = xstrdup(j->launch->nspace);
    act->rank = rank;
}

static void goes_on(struct core *c, struct local_job *j)
{
    if (--j->nheld == 0 && j->held_told)
        tell_held(c, j);
}

/* What a rank that stops, or stood still until now, changes for its job. */
static void hold_changed(struct core *c, struct local_job *j, uint32_t rank, int before)
{
    int now = j->state[rank];

    if (now == PROC_READY_FOR_DEBUG && before != now) {
        j->nheld++;
        settle_stop(c, j, rank);
        if (j->let_go)
            let_go(c, j, rank);
    } else if (before == PROC_READY_FOR_DEBUG && now != before) {
        goes_on(c, j);
    }
    if (now >= PROC_TERMINATED)
        settle_stop(c, j, rank);
}

/* Of a rank that has stopped at its exec the spawner tells when it goes on; the others wait for an
 * event that they now get, inside PMIx. */
static void go_on(struct core *c, struct local_job *j, uint32_t rank)
{
    int before = j->state[rank];

    if (before != PROC_READY_FOR_DEBUG || j->launch->spec.stop == JOB_STOP_EXEC)
        return;
    if (step(c, j, rank, PROC_EV_GO_ON) == 0 && step(c, j, rank, PROC_EV_REGISTER) == 0)
        hold_changed(c, j, rank, before);
}

void local_continue(struct core *c, const struct msg *m)
{
    struct local_job *j = find(c, m->nspace);

    if (!j || !j->stopped || (m->rank != JOB_RANK_ALL && m->rank >= j->launch->nranks))
        return;
    let_go(c, j, m->rank);
    j->let_go |= m->rank == JOB_RANK_ALL;
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (m->rank == JOB_RANK_ALL || m->rank == r)
            go_on(c, j, r);
    }
}

void core_job_continue(struct core *c, const char *nspace, uint32_t rank)
{
    struct msg m = {.type = MSG_CONTINUE_ASK, .nspace = (char *)nspace, .rank = rank};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}

static void proc_event(struct core *c, struct local_job *j, uint32_t rank, enum core_proc_event ev,
                       int value, const char *text)
{
    static const enum proc_event events[] = {PROC_EV_RUN,  PROC_EV_FAIL,    PROC_EV_REGISTER,
                                             PROC_EV_IOF,  PROC_EV_WAITPID, PROC_EV_HOLD,
                                             PROC_EV_GO_ON};
    int before = j->state[rank];

    if (step(c, j, rank, events[ev]) < 0)
        return;
    if (ev == CORE_PROC_WAITPID)
        j->status[rank] = value;
    if (ev == CORE_PROC_RUNNING || ev == CORE_PROC_FAILED)
        attempted(c, j, rank, ev == CORE_PROC_FAILED, value, text);
    if (ev == CORE_PROC_REGISTERED && before == PROC_RUNNING)
        registered(c, j);
    if (j->stopped)
        hold_changed(c, j, rank, before);
    if (j->state[rank] == PROC_TERMINATED)
        terminated(c, j, rank);
    else if (ev == CORE_PROC_FAILED)
        over(c, j);
}

/* The spawner's word that a rank runs may come after the rank's own. */
static void catch_up(struct core *c, struct local_job *j, uint32_t rank)
{
    if (j->early[rank] & 1u << CORE_PROC_REGISTERED)
        proc_event(c, j, rank, CORE_PROC_REGISTERED, 0, NULL);
    if (j->early[rank] & 1u << CORE_PROC_HELD)
        proc_event(c, j, rank, CORE_PROC_HELD, 0, NULL);
    j->early[rank] = 0;
}

void core_proc(struct core *c, const char *nspace, uint32_t rank, enum core_proc_event ev,
               int value, const char *text)
{
    struct local_job *j = find(c, nspace);

    if (!j || rank >= j->launch->nranks || j->state[rank] == 0)
        return;
    if (ev == CORE_PROC_HELD && !j->stopped) /* nobody has asked for it */
        return;
    if (j->state[rank] == PROC_INIT && (ev == CORE_PROC_REGISTERED || ev == CORE_PROC_HELD)) {
        j->early[rank] |= (uint8_t)(1u << ev);
        return;
    }
    proc_event(c, j, rank, ev, value, text);
    if (ev == CORE_PROC_RUNNING)
        catch_up(c, j, rank);
    core_settle(c);
}

void core_proc_ended(struct core *c, const char *nspace, uint32_t rank, int wait_status,
                     enum rank_how how)
{
    struct local_job *j = find(c, nspace);

    if (j && rank < j->launch->nranks)
        j->how[rank] = (uint8_t)how;
    core_proc(c, nspace, rank, CORE_PROC_WAITPID, wait_status, NULL);
}

void core_local_gone(struct core *c, const char *nspace)
{
    struct local_job *j = find(c, nspace);
    struct msg end = {.type = MSG_IOF_END, .nspace = (char *)nspace};

    if (!j || j->gone)
        return;
    j->gone = true;
    end.client = j->launch->home_client;
    if (members_live(&c->members, j->launch->home_vpid))
        core_send(c, j->launch->home_vpid, CLASS_BULK, &end);
    j->iof_end = rml_sent(&c->rml, j->launch->home_vpid, CLASS_BULK);
    core_settle(c);
}

/* Output that goes to the head itself for a client of this very job: there the end of the output is
 * known to have come, and word of the job's end may overtake it. */
static bool head_orders(const struct local_job *j)
{
    return j->launch->home_vpid == VPID_HEAD && j->launch->spec.parent_nspace[0] == '\0';
}

static void tell_gone(struct core *c, const struct local_job *j)
{
    struct msg m = {.type = MSG_LOCAL_GONE,
                    .nspace = j->launch->nspace,
                    .number = head_orders(j),
                    .client = j->launch->home_client};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

/* The head hears that a job is gone here when all its output has arrived, so that no campaign can
 * overtake it. */
void local_reports(struct core *c)
{
    struct local_job *j;

    DL_FOREACH(c->jobs, j)
    {
        if (!j->gone || j->told ||
            (!head_orders(j) &&
             !rml_arrived(&c->rml, j->launch->home_vpid, CLASS_BULK, j->iof_end)))
            continue;
        j->told = true;
        tell_gone(c, j);
    }
}

static void tell_exited(struct core *c, const struct local_job *j)
{
    struct msg_rank *ranks FREE_AUTO = xcalloc((size_t)j->nlocal + 1, sizeof *ranks);
    struct msg m = {.type = MSG_EXITED, .nspace = j->launch->nspace, .ranks = ranks};

    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (j->state[r] == PROC_TERMINATED)
            ranks[m.nranks++] = (struct msg_rank){r, false, j->how[r], j->status[r], ""};
    }
    if (m.nranks)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

static void tell_job(struct core *c, struct local_job *j)
{
    struct msg job = {.type = MSG_LOCAL_JOB, .launch = *j->launch};
    struct msg registered = {.type = MSG_REGISTERED, .nspace = j->launch->nspace};
    struct msg staged = {.type = MSG_STAGED, .nspace = j->launch->nspace};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &job);
    if (j->staged)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &staged);
    if (j->nattempted)
        report_launch(c, j);
    tell_exited(c, j);
    if (j->nregistered == j->nlocal)
        core_send(c, VPID_HEAD, CLASS_LAUNCH, &registered);
    if (j->held_told)
        tell_held(c, j);
    if (j->told)
        tell_gone(c, j);
}

/* All that a head would need of this daemon that knows nothing yet. A head that has had it before
 * counts nothing twice. */
void local_tell_all(struct core *c)
{
    struct msg report = {
        .type = MSG_REPORT, .op = c->members.version, .number = (int64_t)c->members.repairs};
    struct local_job *j;

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &report);
    DL_FOREACH(c->jobs, j)
    {
        tell_job(c, j);
    }
}

void core_abort(struct core *c, const char *nspace, uint32_t rank, int code, const char *text)
{
    struct msg m = {.type = MSG_ABORT,
                    .nspace = (char *)nspace,
                    .rank = rank,
                    .number = code,
                    .text = (char *)(text ? text : "")};
    struct local_job *j = find(c, nspace);

    if (j)
        tell_start(c, j, rank);
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}

void core_job_signal(struct core *c, const char *nspace, int signum)
{
    struct msg m = {.type = MSG_SIGNAL, .nspace = (char *)nspace, .number = signum};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}

const struct job_launch *core_job(const struct core *c, const char *nspace)
{
    const struct local_job *j = find(c, nspace);

    return j ? j->launch : NULL;
}
