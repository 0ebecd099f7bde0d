/* SPDX-License-Identifier: BSD-3-Clause */
/* Between a launch and the start of its ranks: every daemon of the job gets ready.
 *
 * In: READY of a daemon: it has the job's files, and its ranks can be started; NO_FILES: it cannot
 * have the files, or the submitter has none any more. Out: FILES to the submitter, whose client
 * sends the files; START to all daemons when all are ready.
 *
 * Invariants: no rank runs before every rank can. This comes after both boundaries of the
 * fence: the job is not held and not mapped anew any more. Lost daemons are not waited for; the
 * others continue if the job is recoverable.
 *
 * Failures: a daemon that cannot get ready fails the job. */
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>

void job_ready_begin(struct jobs *js, struct job *j)
{
    FREE_AUTO struct msg_target *targets = xcalloc(j->map.nnodes + 1, sizeof(*targets));
    struct msg m = {.type = MSG_FILES,
                    .files = {.nspace = j->map.nspace,
                              .client = j->kept->accepted.submit_client,
                              .ntargets = j->map.nnodes,
                              .targets = targets}};

    if (j->kept->result.failure)
        return;
    free(j->reason);
    j->reason = xasprintf(j->map.spec.nfiles ? "its files go to %zu daemons"
                                             : "%zu daemons check whether it can start",
                          j->map.nnodes);
    if (!j->map.spec.nfiles)
        return;
    for (size_t i = 0; i < j->map.nnodes; i++)
        targets[i] = (struct msg_target){j->map.nodes[i].vpid,
                                         incarnation_epoch(js->inc, j->map.nodes[i].epoch)};
    job_tell(js, j, &m);
}

static bool all_nodes_ready(const struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->daemons[i].ready && !job_node_gone(j, i))
            return false;
    }
    return true;
}

/* A rank runs, so a former head has found all daemons ready; some may not have got their START. */
static bool is_to_start(const struct job *j)
{
    if (j->kept->result.failure || j->started || !job_launch_waits(&j->map))
        return false;
    return j->kept->state == JOB_STARTED || (j->kept->state == JOB_PREPARING && all_nodes_ready(j));
}

/* Lost daemons are not waited for: the others continue if the job is recoverable. One that is no
 * member any more was lost together with the one whose loss is handled now. */
void job_ready_check(struct jobs *js, struct job *j)
{
    struct msg m = {.type = MSG_START, .start = {j->map.nspace}};
    struct err err = {0};

    if (!is_to_start(j))
        return;
    j->started = true;
    job_waits_free(j); /* steps before the start, which daemons take back at their next look */
    job_news_as_reason(j);
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!job_node_gone(j, i) && job_node_current(js, &j->map.nodes[i]) &&
            rml_send(js->rml, j->map.nodes[i].vpid, CLASS_LAUNCH, &m, &err) < 0) {
            job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", err.msg);
            return;
        }
    }
}

/* The job's node of that daemon; -1: it has none, or the job has ended there. */
static int find_node(const struct job *j, uint32_t from)
{
    int node =
        j && job_sent(j) && !job_state_over(j->kept->state) ? job_launch_node(&j->map, from) : -1;

    return node >= 0 && !job_node_gone(j, node) ? node : -1;
}

/* The same; -1 also if the ranks of the job do not wait for START. */
static int find_waiting_node(const struct job *j, uint32_t from)
{
    int node = find_node(j, from);

    return node >= 0 && job_launch_waits(&j->map) ? node : -1;
}

void job_ready_report(struct jobs *js, uint32_t from, const struct msg_job_name *m)
{
    struct job *j = jobs_find(js, m->nspace);
    int node = find_waiting_node(j, from);

    if (node < 0)
        return;
    j->daemons[node].ready = true;
    job_ready_check(js, j);
}

static bool is_preparing_for(const struct job *j, uint32_t submitter)
{
    return j && j->kept->accepted.submit_vpid == submitter && j->kept->state == JOB_PREPARING;
}

void job_ready_no_files(struct jobs *js, uint32_t from, const struct msg_no_files *m)
{
    struct job *j = jobs_find(js, m->nspace);
    int node = find_waiting_node(j, from);

    if (m->errnum == NO_FILES_TO_SEND && is_preparing_for(j, from))
        job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_LOST, "not started: %s", m->why);
    else if (m->errnum == NO_FILES_TO_SEND && find_node(j, from) >= 0) /* it has ended there */
        job_fail(js, j, JOB_EV_KILL, EXIT_CODE_LOST,
                 "the head was lost, and its heir does not know the job's end: on vpid %u %s", from,
                 m->why);
    else if (node >= 0)
        job_fail(js, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: its files cannot be put on %s (vpid %u): %s: %s",
                 j->map.nodes[node].host, from, m->why, strerror(m->errnum));
}
