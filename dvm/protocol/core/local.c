/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a job on this daemon, from the launch message to their end.
 *
 * In: messages of the head (LAUNCH, START, KILL, CONTINUE, JOB_ENDED), and the owner's reports
 * (core_ranks(), core_proc()). Out: actions for the owner (register, take files, create, start,
 * end, clean up) and reports to the head.
 *
 * The ranks go through the states of ranks_fsm (dvm/protocol/state) together: registering, files,
 * checking, ready, running, ending, cleaning, flushing, gone. Each event is looked up in that
 * table, which names the next state and the action. An event without a row in the present state is
 * logged and changes nothing. The owner keeps no state: it carries out an action and reports the
 * result.
 *
 * Invariants: a rank is created after the PMIx server knows it and its job's files are here.
 * If the job has other daemons or files, no rank runs its program before START. The owner cleans up
 * once, when all ranks have ended. The head gets LOCAL_GONE after the output has arrived.
 *
 * When something fails, each rank that does not run fails with the same cause. When the head
 * ends the job, or this daemon's epoch ends, ranks are ended; an outstanding answer
 * (registration, files) is waited for first. Docs: docs/protocol/launch.md, docs/states.md. */
#include "dvm/protocol/core/local_private.h"

#include "base/log/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct local_job *local_find_any(const struct core *c, const char *nspace)
{
    struct local_job *j;

    HASH_FIND_STR(c->jobs, nspace, j);
    return j;
}

struct local_job *local_find(const struct core *c, const char *nspace)
{
    struct local_job *j = local_find_any(c, nspace);

    return j && !j->former ? j : NULL;
}

static void drop_job(struct core *c, struct local_job *j)
{
    HASH_DEL(c->jobs, j);
    for (uint32_t i = 0; i < j->nlocal; i++)
        free(j->ranks[i].text);
    free(j->ranks);
    local_forget_abort(j);
    job_launch_unref(j->launch);
    free(j);
}

void local_free(struct core *c)
{
    local_losses_free(c);
    while (c->jobs)
        drop_job(c, c->jobs);
    for (size_t i = 0; i < CORE_ENDED_MAX; i++)
        free(c->ended[i]);
}

/* --- actions */

static char *name_of(const struct local_job *j)
{
    return xstrdup(j->launch->nspace);
}

/* A single rank of a job on one daemon does not wait before its exec: the exec is its check. */
static void create_ranks(struct core *c, const struct local_job *j)
{
    out_add(&c->out, OUT_CREATE)->create =
        (struct out_create){name_of(j), job_launch_waits(j->launch) || j->nlocal > 1};
}

static void take_action(struct core *c, struct local_job *j, enum ranks_action action,
                        const struct local_cause *cause)
{
    static const struct local_cause cancelled = {ECANCELED, "ended before its start", 0};
    static const struct local_cause no_files = {ECANCELED, "its files are not here", 0};

    switch (action) {
    case RANKS_NOTHING:
        break;
    case RANKS_TAKE_FILES:
        out_add(&c->out, OUT_TAKE_FILES)->take_files.nspace = name_of(j);
        break;
    case RANKS_DROP_FILES:
        out_add(&c->out, OUT_DROP_FILES)->drop_files.nspace = name_of(j);
        break;
    case RANKS_CREATE:
        create_ranks(c, j);
        break;
    case RANKS_TELL_READY:
        local_tell_ready(c, j);
        break;
    case RANKS_TELL_NO_FILES:
        local_tell_no_files(c, j, cause);
        local_rank_fail_all(c, j, &no_files);
        break;
    case RANKS_START:
        out_add(&c->out, OUT_START)->start.nspace = name_of(j);
        break;
    case RANKS_FAIL_ALL:
        local_rank_fail_all(c, j, cause);
        break;
    case RANKS_CANCEL:
        local_rank_fail_all(c, j, &cancelled);
        break;
    case RANKS_END:
        out_add(&c->out, OUT_END_RANKS)->end_ranks =
            (struct out_end_ranks){name_of(j), (uint64_t)cause->grace_ms};
        break;
    case RANKS_CLEAN:
        out_add(&c->out, OUT_CLEAN)->clean.nspace = name_of(j);
        break;
    case RANKS_END_OUTPUT:
        local_end_output(c, j);
        break;
    case RANKS_TELL_GONE:
        local_tell_gone(c, j);
        break;
    }
}

void local_event(struct core *c, struct local_job *j, enum ranks_event ev,
                 const struct local_cause *cause)
{
    static const struct local_cause none = {0};
    struct err err = {0};
    int before = j->state;
    int action;

    if (fsm_step(&ranks_fsm, &j->state, (int)ev, &action, &err) < 0) {
        out_log(&c->out, LOG_LEVEL_WARN, "job %s: %s", j->launch->nspace, err.msg);
        return;
    }
    if (j->state != before)
        out_log(&c->out, LOG_LEVEL_DEBUG, "job %s: its %u ranks here: %s -> %s on %s",
                j->launch->nspace, j->nlocal, fsm_state_name(&ranks_fsm, before),
                fsm_state_name(&ranks_fsm, j->state), fsm_event_name(&ranks_fsm, (int)ev));
    take_action(c, j, (enum ranks_action)action, cause ? cause : &none);
}

/* --- the head's messages */

/* Nothing of the job is here, now and later. */
static void refuse_launch(struct core *c, const struct job_launch *l, uint32_t node, char *why)
{
    FREE_AUTO struct msg_rank *ranks = xcalloc((size_t)l->nranks + 1, sizeof(*ranks));
    struct msg failed = {.type = MSG_LAUNCHED, .launched = {.nspace = l->nspace, .ranks = ranks}};
    struct msg gone = {.type = MSG_LOCAL_GONE, .local_gone = {.nspace = l->nspace}};
    struct msg end = {.type = MSG_IOF_END, .iof_end = {l->nspace, l->home_client}};

    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->rank_node[r] == node)
            ranks[failed.launched.nranks++] =
                (struct msg_rank){r, true, RANK_PLAIN, ECANCELED, why};
    }
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &failed);
    if (members_live(&c->members, l->home_vpid))
        core_send(c, l->home_vpid, CLASS_BULK, &end);
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &gone);
}

static void add_ranks(struct local_job *j, uint32_t node)
{
    const struct job_launch *l = j->launch;
    uint32_t n = 0;

    j->nlocal = job_launch_local_size(l, node);
    j->ranks = xcalloc((size_t)j->nlocal + 1, sizeof(*j->ranks));
    for (uint32_t r = 0; r < l->nranks; r++) {
        if (l->rank_node[r] != node)
            continue;
        j->ranks[n++] = (struct local_rank){
            .rank = r, .state = PROC_INIT, .stops = job_stops(&l->spec, r), .text = xstrdup("")};
        j->stop.nstop += job_stops(&l->spec, r);
    }
}

bool local_has_ended(const struct core *c, const char *nspace)
{
    for (size_t i = 0; i < CORE_ENDED_MAX && c->ended[i]; i++) {
        if (strcmp(c->ended[i], nspace) == 0)
            return true;
    }
    return false;
}

static void note_end(struct core *c, const char *nspace)
{
    char **slot;

    if (local_has_ended(c, nspace))
        return;
    slot = &c->ended[c->nended++ % CORE_ENDED_MAX];
    free(*slot);
    *slot = xstrdup(nspace);
}

/* The end of the job is in records that the present head lacks. */
static void refuse_ended(struct core *c, const struct job_launch *l, uint32_t node)
{
    char why[] = "it has ended already under the former head";
    struct msg m = {.type = MSG_NO_FILES, .no_files = {l->nspace, NO_FILES_TO_SEND, why}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    refuse_launch(c, l, node, why);
}

static void take_launch(struct core *c, const struct frame *f, struct msg *m)
{
    struct job_launch *l = &m->launch.map;
    int node = job_launch_node(l, c->opts.vpid);
    struct local_job *j;

    if (node < 0)
        return;
    if (local_has_ended(c, l->nspace)) { /* its remains may still be here */
        refuse_ended(c, l, (uint32_t)node);
        return;
    }
    if (local_find_any(c, l->nspace))
        return;
    if (c->finishing) { /* a departing daemon starts nothing more: the job fails at once */
        refuse_launch(c, l, (uint32_t)node, "the daemon is leaving");
        return;
    }
    j = xcalloc(1, sizeof(*j));
    j->launch = job_launch_share(l);
    j->state = RANKS_REGISTERING;
    add_ranks(j, (uint32_t)node);
    HASH_ADD_KEYPTR(hh, c->jobs, j->launch->nspace, strlen(j->launch->nspace), j);
    out_add(&c->out, OUT_LAUNCH)->launch.launch = job_launch_ref(j->launch);
    gather_launched(c->gather, j->launch->nspace);
}

static void take_start(struct core *c, const struct frame *f, struct msg *m)
{
    struct local_job *j = local_find(c, m->start.nspace);

    if (j)
        local_event(c, j, RANKS_EV_START, NULL);
}

static void take_kill(struct core *c, const struct frame *f, struct msg *m)
{
    struct local_job *j = local_find(c, m->kill.nspace);
    struct local_cause cause = {.grace_ms = m->kill.grace_ms};

    if (!j)
        return;
    if (m->kill.grace_ms >= 0) {
        local_event(c, j, RANKS_EV_END, &cause);
        return;
    }
    out_add(&c->out, OUT_SIGNAL)->signal = (struct out_signal){name_of(j), m->kill.signum};
}

/* The head no longer knows this job. Its remains here are ended at once. */
static void forget_job(struct core *c, struct local_job *j)
{
    static const struct local_cause now = {.grace_ms = 0};

    j->former = true;
    if (j->state < RANKS_FLUSHING)
        local_event(c, j, RANKS_EV_END, &now);
    else
        drop_job(c, j);
}

/* This daemon's epoch has ended: nothing of its jobs may remain. */
void local_drop_all(struct core *c)
{
    struct local_job *j, *tmp;

    local_losses_free(c);
    HASH_ITER(hh, c->jobs, j, tmp)
    {
        if (!j->former)
            forget_job(c, j);
    }
}

static void take_ended(struct core *c, const struct frame *f, struct msg *m)
{
    struct local_job *j = local_find(c, m->job_ended.nspace);

    out_add(&c->out, OUT_JOB_ENDED)->job_ended =
        (struct out_job_ended){xstrdup(m->job_ended.nspace), m->job_ended.exit_code};
    note_end(c, m->job_ended.nspace);
    gather_forget(c->gather, m->job_ended.nspace);
    local_losses_job_ended(c, m->job_ended.nspace);
    local_resize_over(c, m->job_ended.nspace);
    if (j)
        forget_job(c, j);
}

static void take_ask(struct core *c, const struct frame *f, struct msg *m)
{
    local_report_all(c);
}

const struct routed_handler local_handlers[] = {
    {MSG_LAUNCH, take_launch},   {MSG_START, take_start},
    {MSG_KILL, take_kill},       {MSG_CONTINUE, local_hold_continue},
    {MSG_JOB_ENDED, take_ended}, {MSG_RANKS_LOST, local_losses_take},
    {MSG_ASK, take_ask},         {0},
};

/* The head gets LOCAL_GONE when all output of the job has arrived, so that no campaign can
 * overtake the output. */
void local_reports(struct core *c)
{
    struct local_job *j, *tmp;

    HASH_ITER(hh, c->jobs, j, tmp)
    {
        if (j->state == RANKS_FLUSHING && local_output_arrived(c, j))
            local_event(c, j, RANKS_EV_ARRIVED, NULL);
    }
}

/* --- the owner's reports */

static enum ranks_event event_of(const struct local_job *j, enum core_ranks_step step, bool failed)
{
    bool files = j->launch->spec.nfiles;

    switch (step) {
    case CORE_RANKS_REGISTERED:
        return failed ? RANKS_EV_NOT_REGISTERED : files ? RANKS_EV_HAS_FILES : RANKS_EV_REGISTERED;
    case CORE_RANKS_FILES:
        return failed ? RANKS_EV_NO_FILES : RANKS_EV_FILES_HERE;
    case CORE_RANKS_NOT_CREATED:
        return RANKS_EV_NOT_CREATED;
    case CORE_RANKS_CLEANED:
        break;
    }
    return RANKS_EV_CLEANED;
}

void core_ranks(struct core *c, const char *nspace, enum core_ranks_step step, int errnum,
                const char *what)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_cause cause = {.errnum = errnum, .what = what};

    if (!j)
        return;
    local_event(c, j, event_of(j, step, errnum != 0), &cause);
    if (j->former && j->state >= RANKS_FLUSHING)
        drop_job(c, j);
    core_settle(c);
}

const struct job_launch *core_job(const struct core *c, const char *nspace)
{
    const struct local_job *j = local_find(c, nspace);

    return j ? j->launch : NULL;
}
