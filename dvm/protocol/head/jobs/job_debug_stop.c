/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that stop for a debugger, as the head sees them.
 *
 * In: each daemon's report of the number of its stopped ranks; requests to continue, of a process
 * or of the control API. Out: the job's state READY_FOR_DEBUG, of which the submitter is notified;
 * CONTINUE to the job's daemons.
 *
 * A node is settled when all its ranks that are to stop have stopped or have ended. The job is
 * ready for its debugger when all nodes are settled and some rank is stopped. It runs again when
 * a request continues all ranks, or when no rank is stopped any more: a debugger has sent
 * SIGCONT. After a request for all ranks, ranks that come later do not stop. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>

void job_debug_stop_prepare(struct job *j)
{
    j->nnodes_stop = j->nnodes_settled = 0;
    j->nstopped = 0;
    if (j->map.spec.stop == JOB_STOP_NONE)
        return;
    j->stops = true;
    for (size_t i = 0; i < j->map.nnodes; i++)
        j->daemons[i].settled = true;
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        uint32_t node = j->map.rank_node[r];

        if (!job_stops(&j->map.spec, r) || !j->daemons[node].settled)
            continue;
        j->daemons[node].settled = false;
        j->nnodes_stop++;
    }
}

void job_debug_stop_check(struct jobs *js, struct job *j)
{
    bool runs = j->kept->state == JOB_RUNNING || j->kept->state == JOB_REGISTERED;

    if (!runs || j->due || j->continued || j->kept->result.failure || j->nstopped == 0 ||
        j->nnodes_settled < j->nnodes_stop)
        return;
    free(j->reason);
    j->reason = xasprintf("stopped for a debugger: pterm --job %s --continue", j->map.nspace);
    job_step(js, j, JOB_EV_HELD);
}

static void resume_job(struct jobs *js, struct job *j)
{
    if (j->kept->state != JOB_READY_FOR_DEBUG || j->kept->result.failure)
        return;
    job_news_as_reason(j);
    job_step(js, j, JOB_EV_CONTINUE);
}

static void settle_node(struct job *j, int node)
{
    if (j->daemons[node].settled)
        return;
    j->daemons[node].settled = true;
    j->nnodes_settled++;
}

/* Counts a node's stopped ranks anew. When none is left, the job has been continued by a
 * request, or by a debugger's SIGCONT. */
static void count_stopped(struct jobs *js, struct job *j, int node, uint32_t held)
{
    bool none = j->nstopped > 0;

    j->nstopped += held;
    j->nstopped -= j->daemons[node].nstopped;
    j->daemons[node].nstopped = held;
    settle_node(j, node);
    none = none && j->nstopped == 0;
    if (none && j->kept->state == JOB_READY_FOR_DEBUG) {
        j->continued = true;
        resume_job(js, j);
    }
    job_debug_stop_check(js, j);
}

void job_debug_stop_node_over(struct jobs *js, struct job *j, int node)
{
    if (j->stops)
        count_stopped(js, j, node, 0);
}

static void tell_daemon(struct jobs *js, const struct job *j, size_t node, uint32_t rank)
{
    struct msg m = {.type = MSG_CONTINUE, .go_on = {j->map.nspace, rank}};
    struct err err = {0};

    if (j->daemons[node].sent && !job_node_gone(j, node) &&
        rml_send(js->rml, j->map.nodes[node].vpid, CLASS_LAUNCH, &m, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

/* A job that was continued before its launch does not stop. Ranks that stop all the same were
 * launched by a former head, in records that this head lacks. */
void job_debug_stop_report(struct jobs *js, uint32_t from, const struct msg_held *m)
{
    struct job *j = jobs_find(js, m->nspace);
    int node = j && job_sent(j) ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || job_state_over(j->kept->state) || job_node_gone(j, node) ||
        m->nstopped > j->map.nranks)
        return;
    if (j->map.spec.stop != JOB_STOP_NONE)
        count_stopped(js, j, node, m->nstopped);
    else if (j->continued && m->nstopped)
        tell_daemon(js, j, (size_t)node, JOB_RANK_ALL);
}

/* False: the job has no rank that stops. A job that is not sent yet will not stop any more. */
static bool continue_ranks(struct jobs *js, struct job *j, uint32_t rank)
{
    if (!j || job_state_over(j->kept->state) || j->map.spec.stop == JOB_STOP_NONE)
        return false;
    if (rank == JOB_RANK_ALL) {
        j->continued = true;
        if (!job_sent(j))
            j->map.spec.stop = JOB_STOP_NONE;
    }
    for (size_t i = 0; job_sent(j) && i < j->map.nnodes; i++)
        tell_daemon(js, j, i, rank);
    if (rank == JOB_RANK_ALL)
        resume_job(js, j);
    return true;
}

void job_debug_stop_continue(struct jobs *js, const struct msg_continue *m)
{
    struct job *j = jobs_find(js, m->nspace);

    if (!continue_ranks(js, j, m->rank))
        out_log(js->out, LOG_LEVEL_INFO, "job %s does not stop for a debugger", m->nspace);
}

int job_continue_put(struct jobs *js, const char *nspace, enum api_reason *reason, struct err *err)
{
    struct job *j = jobs_find(js, nspace);

    if (!j || job_state_over(j->kept->state)) {
        *reason = API_REASON_NOT_FOUND;
        return err_code(err, 404, "no job %s waits or runs", nspace);
    }
    if (!continue_ranks(js, j, JOB_RANK_ALL)) {
        *reason = API_REASON_NOT_STOPPED;
        return err_code(err, 409, "job %s does not stop for a debugger", nspace);
    }
    return 0;
}
