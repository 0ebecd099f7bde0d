/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank on this daemon: the state of its process, and the marks of its job.
 *
 * In: events of the rank from the driver (ready, running, failed, registered, held, output
 * complete, reaped). Out: steps of the process (proc_fsm), reports to the head, events of the job
 * (local.c).
 *
 * Marks are points that each rank of a job reaches once: ready, attempted, registered, failed,
 * settled, over. The job counts the ranks of each mark, and the last one moves the job on. So
 * starts and registrations are reported together, and a failed start at once.
 *
 * Order: the report that a rank runs may arrive after the rank's own calls to PMIx. Such an early
 * event is kept and applied after the start. The start of a rank is reported before its failure,
 * since the head names its process.
 *
 * Collectives (dvm/protocol/gather) ask on which daemons ranks are, and whether those here can
 * still contribute. The PMIx server may report a rank's last contribution after the end of its
 * process, so a daemon contributes for a rank only after core_rank_left(), which comes behind that
 * report.
 *
 * Failures: an event that does not fit the state is logged and changes nothing. When the start of a
 * job fails, ranks that do not exist yet fail with the same cause. A rank that has ended before its
 * PMIx_Init was never there for the ranks that wait for it, as in their MPI_Init. Their collective
 * is lost, and the job ends as if that rank had called PMIx_Abort, unless the job is recoverable.
 */
#include "dvm/protocol/core/local_private.h"

#include "base/log/log.h"

#include <stdlib.h>

struct local_rank *local_rank_find(const struct local_job *j, uint32_t rank)
{
    uint32_t low = 0, high = j->nlocal;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (j->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < j->nlocal && j->ranks[low].rank == rank ? &j->ranks[low] : NULL;
}

int local_rank_step(struct core *c, struct local_job *j, struct local_rank *r, enum proc_event ev)
{
    struct err err = {0};

    if (fsm_step(&proc_fsm, &r->state, (int)ev, NULL, &err) == 0)
        return 0;
    out_log(&c->out, LOG_LEVEL_WARN, "job %s rank %u: %s", j->launch->nspace, r->rank, err.msg);
    return -1;
}

bool local_rank_mark(struct local_job *j, struct local_rank *r, enum local_mark mark)
{
    if (r->marks & 1u << mark)
        return false;
    r->marks |= (uint8_t)(1u << mark);
    return ++j->nmarked[mark] == (mark == MARK_SETTLED ? j->stop.nstop : j->nlocal);
}

/* False: other ranks have not reached the mark, and nothing follows. */
static bool take_ready(struct core *c, struct local_job *j, struct local_rank *r)
{
    if (!local_rank_mark(j, r, MARK_READY))
        return false;
    local_event(c, j, job_launch_waits(j->launch) ? RANKS_EV_READY : RANKS_EV_READY_ALONE, NULL);
    return true;
}

/* Starts are reported together, a failure at once. The ranks that wait with the failed one
 * report nothing before the head ends them. */
static void take_attempt(struct core *c, struct local_job *j, struct local_rank *r, bool failed,
                         const struct local_cause *of)
{
    bool first_failed = failed && j->nmarked[MARK_FAILED] == 0;
    bool first = j->nmarked[MARK_ATTEMPTED] == 0;
    bool all;

    r->value = of->errnum;
    free(r->text);
    r->text = xstrdup(of->what ? of->what : "");
    if (failed)
        local_rank_mark(j, r, MARK_FAILED);
    all = local_rank_mark(j, r, MARK_ATTEMPTED);
    if (all || first_failed)
        local_tell_starts(c, j);
    if (first && !failed)
        local_event(c, j, RANKS_EV_RUN, NULL);
}

static void take_over(struct core *c, struct local_job *j, struct local_rank *r)
{
    if (local_rank_mark(j, r, MARK_OVER))
        local_event(c, j, RANKS_EV_ALL_OVER, NULL);
}

static void take_registered(struct core *c, struct local_job *j, struct local_rank *r)
{
    if (local_rank_mark(j, r, MARK_REGISTERED))
        local_tell_registered(c, j);
}

/* The head names the process of a rank that has failed, so its start is reported first. */
static void take_end(struct core *c, struct local_job *j, struct local_rank *r)
{
    if (r->wait_status != 0)
        local_tell_start(c, j, r);
    local_tell_exit(c, j, r);
    take_over(c, j, r);
}

/* `of`: pid or errno, and the step that failed; of WAITPID the wait status. */
static void take_event(struct core *c, struct local_job *j, struct local_rank *r,
                       enum core_proc_event ev, const struct local_cause *of)
{
    static const enum proc_event events[] = {
        [CORE_PROC_RUNNING] = PROC_EV_RUN,         [CORE_PROC_FAILED] = PROC_EV_FAIL,
        [CORE_PROC_REGISTERED] = PROC_EV_REGISTER, [CORE_PROC_IOF_COMPLETE] = PROC_EV_IOF,
        [CORE_PROC_WAITPID] = PROC_EV_WAITPID,     [CORE_PROC_HELD] = PROC_EV_HOLD,
        [CORE_PROC_GOES_ON] = PROC_EV_GO_ON};
    int before = r->state;

    if (local_rank_step(c, j, r, events[ev]) < 0)
        return;
    if (ev == CORE_PROC_WAITPID) {
        r->wait_status = of->errnum;
        r->ordered = j->state == RANKS_ENDING;
    }
    if (ev == CORE_PROC_RUNNING || ev == CORE_PROC_FAILED)
        take_attempt(c, j, r, ev == CORE_PROC_FAILED, of);
    if (ev == CORE_PROC_REGISTERED && before == PROC_RUNNING)
        take_registered(c, j, r);
    local_hold_changed(c, j, r, before);
    if (r->state == PROC_TERMINATED)
        take_end(c, j, r);
    else if (ev == CORE_PROC_FAILED)
        take_over(c, j, r);
}

void local_rank_fail_all(struct core *c, struct local_job *j, const struct local_cause *cause)
{
    for (uint32_t i = 0; i < j->nlocal; i++) {
        if (j->ranks[i].state == PROC_INIT)
            take_event(c, j, &j->ranks[i], CORE_PROC_FAILED, cause);
    }
}

/* The spawner's report that a rank runs may come after the rank's own calls to PMIx. */
static void catch_up(struct core *c, struct local_job *j, struct local_rank *r)
{
    static const struct local_cause none = {0};
    uint8_t early = r->early;

    r->early = 0;
    if (early & 1u << CORE_PROC_REGISTERED)
        take_event(c, j, r, CORE_PROC_REGISTERED, &none);
    if (early & 1u << CORE_PROC_HELD)
        take_event(c, j, r, CORE_PROC_HELD, &none);
}

void core_proc(struct core *c, const char *nspace, uint32_t rank, enum core_proc_event ev,
               int value, const char *text)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;
    struct local_cause of = {.errnum = value, .what = text};

    if (!r || (ev == CORE_PROC_HELD && !j->stop.nstop)) /* no request has asked for it */
        return;
    if (ev == CORE_PROC_READY) {
        if (!take_ready(c, j, r))
            return;
    } else if (r->state == PROC_INIT && (ev == CORE_PROC_REGISTERED || ev == CORE_PROC_HELD)) {
        r->early |= (uint8_t)(1u << ev);
    } else {
        take_event(c, j, r, ev, &of);
        if (ev == CORE_PROC_RUNNING)
            catch_up(c, j, r);
    }
    core_settle(c);
}

void core_proc_ended(struct core *c, const char *nspace, uint32_t rank, int wait_status,
                     enum rank_how how)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (r)
        r->how = (uint8_t)how;
    core_proc(c, nspace, rank, CORE_PROC_WAITPID, wait_status, NULL);
}

void local_rank_note_orders(const struct core *c, struct msg_ranks *ends)
{
    const struct local_job *j = local_find(c, ends->nspace);

    for (size_t i = 0; j && i < ends->nranks; i++) {
        const struct local_rank *r = local_rank_find(j, ends->ranks[i].rank);

        if (r && r->ordered)
            ends->ranks[i].how = RANK_ORDERED;
    }
}

void local_forget_abort(struct local_job *j)
{
    if (j->abort)
        free(j->abort->text);
    free(j->abort);
}

/* A new head may have no record of it. */
static void keep_abort(struct local_job *j, const struct msg_abort *m)
{
    if (j->abort)
        return;
    j->abort = xcalloc(1, sizeof(*j->abort));
    *j->abort = *m;
    j->abort->nspace = j->launch->nspace;
    j->abort->text = xstrdup(m->text);
}

void local_abort(struct core *c, const char *nspace, uint32_t rank, int code, const char *text)
{
    struct msg m = {.type = MSG_ABORT,
                    .abort = {.nspace = (char *)nspace,
                              .rank = rank,
                              .code = code,
                              .text = (char *)(text ? text : "")}};
    struct local_job *j = local_find(c, nspace);
    const struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (r) {
        local_tell_start(c, j, r);
        keep_abort(j, &m.abort);
    }
    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
}

void core_abort(struct core *c, const char *nspace, uint32_t rank, int code, const char *text)
{
    local_abort(c, nspace, rank, code, text);
    core_settle(c);
}

void core_job_signal(struct core *c, const char *nspace, int signum)
{
    struct msg m = {.type = MSG_SIGNAL, .signal = {(char *)nspace, signum}};

    core_send(c, VPID_HEAD, CLASS_LAUNCH, &m);
    core_settle(c);
}

/* --- the ranks here as participants of collectives */

/* The epoch does not matter: a collective with ranks of an ended epoch is lost in any case. */
static bool has_rank(const struct job_launch *l, uint32_t rank, uint32_t vpid)
{
    if (rank == GATHER_RANK_ALL)
        return job_launch_node(l, vpid) >= 0;
    return rank < l->nranks && l->nodes[l->rank_node[rank]].vpid == vpid;
}

enum gather_part local_rank_part_of(void *core, const char *nspace, uint32_t rank, uint32_t vpid)
{
    const struct local_job *j = local_find_any(core, nspace);

    if (!j)
        return GATHER_JOB_UNKNOWN;
    return has_rank(j->launch, rank, vpid) ? GATHER_TAKES_PART : GATHER_OUTSIDE;
}

static bool is_absent(const struct local_rank *r)
{
    return r->ends != RANK_RUNS && !(r->marks & 1u << MARK_REGISTERED);
}

static unsigned state_of(const struct local_rank *r)
{
    return (r->ends == RANK_LEFT ? GATHER_RANKS_LEFT : GATHER_RANKS_LIVE) |
           (is_absent(r) ? GATHER_RANKS_ABSENT : 0);
}

static void end_without(struct core *c, struct local_job *j, const struct local_rank *r)
{
    if (j->former || j->absent || j->launch->spec.flags & JOB_RECOVERABLE)
        return;
    j->absent = true;
    local_abort(c, j->launch->nspace, r->rank, 1,
                "it has ended before PMIx_Init, and other ranks wait for it");
}

unsigned local_rank_awaited(void *core, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(core, nspace);
    unsigned all = 0;

    for (uint32_t i = 0; j && i < j->nlocal; i++) {
        const struct local_rank *r = &j->ranks[i];

        if (rank != GATHER_RANK_ALL && r->rank != rank)
            continue;
        all |= state_of(r);
        if (is_absent(r))
            end_without(core, j, r);
        if (!j->nended) /* the others are as this one */
            break;
    }
    return all;
}

void core_rank_ended(struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (!r || r->ends != RANK_RUNS)
        return;
    r->ends = RANK_ENDED;
    j->nended++;
}

void core_rank_left(struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    if (!r)
        return;
    core_rank_ended(c, nspace, rank);
    r->ends = RANK_LEFT;
    gather_rank_left(c->gather, nspace);
    core_settle(c);
}

bool core_has_left(const struct core *c, const char *nspace, uint32_t rank)
{
    struct local_job *j = local_find_any(c, nspace);
    const struct local_rank *r = j ? local_rank_find(j, rank) : NULL;

    return r ? r->ends == RANK_LEFT : !j && local_has_ended(c, nspace);
}
