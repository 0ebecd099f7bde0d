/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that stop for a debugger, as the head sees them: when all of a job do, who asked is told,
 * and when they may go on, their daemons are. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"

#include <stdio.h>
#include <stdlib.h>

void debug_stop_prepare(struct job *j)
{
    j->nnodes_stop = j->nnodes_settled = 0;
    j->nstopped = 0;
    if (j->map.spec.stop == JOB_STOP_NONE)
        return;
    j->node_nstopped = xcalloc(j->map.nnodes + 1, sizeof *j->node_nstopped);
    j->node_settled = xcalloc(j->map.nnodes + 1, sizeof *j->node_settled);
    for (size_t i = 0; i < j->map.nnodes; i++)
        j->node_settled[i] = true;
    for (uint32_t r = 0; r < j->map.nranks; r++) {
        uint32_t node = j->map.rank_node[r];

        if (!job_stops(&j->map.spec, r) || !j->node_settled[node])
            continue;
        j->node_settled[node] = false;
        j->nnodes_stop++;
    }
}

void debug_stop_forget(struct job *j)
{
    free(j->node_nstopped);
    free(j->node_settled);
    j->node_nstopped = NULL;
    j->node_settled = NULL;
}

void debug_stop_check(struct head *l, struct job *j)
{
    bool runs = j->state == JOB_RUNNING || j->state == JOB_REGISTERED;

    if (!runs || j->due || j->continued || j->failure || j->nstopped == 0 ||
        j->nnodes_settled < j->nnodes_stop)
        return;
    free(j->reason);
    j->reason = xasprintf("stopped for a debugger: pterm --job %s --continue", j->map.nspace);
    job_event(l, j, JOB_EV_HELD);
}

static void go_on(struct head *l, struct job *j)
{
    if (j->state != JOB_READY_FOR_DEBUG || j->failure)
        return;
    free(j->reason);
    j->reason = xstrdup("");
    job_event(l, j, JOB_EV_CONTINUE);
}

static void settled(struct job *j, int node)
{
    if (j->node_settled[node])
        return;
    j->node_settled[node] = true;
    j->nnodes_settled++;
}

/* All ranks going on without our word is one too: a debugger has sent SIGCONT. */
static void count(struct head *l, struct job *j, int node, uint32_t held)
{
    bool none = j->nstopped > 0;

    j->nstopped += held;
    j->nstopped -= j->node_nstopped[node];
    j->node_nstopped[node] = held;
    settled(j, node);
    none = none && j->nstopped == 0;
    if (none && j->state == JOB_READY_FOR_DEBUG) {
        j->continued = true;
        go_on(l, j);
    }
    debug_stop_check(l, j);
}

void debug_stop_node_over(struct head *l, struct job *j, int node)
{
    if (j->node_nstopped)
        count(l, j, node, 0);
}

void debug_stop_report(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = head_job_find(l, m->nspace);
    int node = j && j->sent && j->node_nstopped ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || job_state_over(j->state) || j->node_gone[node] || m->number < 0 ||
        m->number > j->map.nranks)
        return;
    count(l, j, node, (uint32_t)m->number);
}

static void tell_daemons(struct head *l, const struct job *j, uint32_t rank)
{
    struct msg m = {.type = MSG_CONTINUE, .nspace = j->map.nspace, .rank = rank};
    struct err err = {0};

    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (j->node_sent[i] && !j->node_gone[i] &&
            rml_send(l->rml, j->map.nodes[i].vpid, CLASS_LAUNCH, &m, &err) < 0)
            out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
    }
}

/* False: there is nothing that could go on. A job that waits yet will not stop. */
static bool let_go(struct head *l, struct job *j, uint32_t rank)
{
    if (!j || job_state_over(j->state) || j->map.spec.stop == JOB_STOP_NONE)
        return false;
    if (rank == JOB_RANK_ALL) {
        j->continued = true;
        if (!j->sent)
            j->map.spec.stop = JOB_STOP_NONE;
    }
    if (j->sent)
        tell_daemons(l, j, rank);
    if (rank == JOB_RANK_ALL)
        go_on(l, j);
    return true;
}

void debug_stop_continue(struct head *l, const struct msg *m)
{
    struct job *j = head_job_find(l, m->nspace);

    if (!let_go(l, j, m->rank))
        out_log(l->out, LOG_LEVEL_INFO, "job %s does not stop for a debugger", m->nspace);
}

int head_continue_put(struct head *l, const char *nspace, const char **reason, struct err *err)
{
    struct job *j = head_job_find(l, nspace);

    if (!j || job_state_over(j->state)) {
        *reason = "NotFound";
        return err_code(err, 404, "no job %s waits or runs", nspace);
    }
    if (!let_go(l, j, JOB_RANK_ALL)) {
        *reason = "NotStopped";
        return err_code(err, 409, "job %s does not stop for a debugger", nspace);
    }
    return 0;
}
