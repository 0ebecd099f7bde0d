/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a job.
 *
 * In: a job that has ended. Out: JOB_ENDED to every daemon that ran it or watches it, and to the
 * head, which keeps the data that its ranks have published; DONE to the submitter; a line of the
 * history.
 *
 * The daemons are notified at once. The submitter is notified when the job is the last of its
 * family to end, with the list of daemons whose output is still to come. The history keeps the
 * last JOB_HISTORY_MAX jobs. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void tell_ended(struct jobs *js, const struct job *j, uint32_t vpid)
{
    struct msg ended = {.type = MSG_JOB_ENDED,
                        .job_ended = {j->map.nspace, j->kept->result.exit_code}};
    struct err err = {0};

    if (rml_send(js->rml, vpid, CLASS_LAUNCH, &ended, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

static bool has_watcher(const struct job *j, uint32_t vpid)
{
    size_t i = 0;

    while (i < j->nwatchers && j->watchers[i] != vpid)
        i++;
    return i < j->nwatchers;
}

/* Notifies every daemon that ran the job, the daemons that watch it, and the head, which keeps the
 * data that its ranks have published. */
static void tell_all_ended(struct jobs *js, struct job *j)
{
    if (j->ended_told)
        return;
    j->ended_told = true;
    job_news_send(js, j);
    for (size_t i = 0; j->sent && i < j->map.nnodes; i++) {
        if (job_node_current(js, &j->map.nodes[i]))
            tell_ended(js, j, j->map.nodes[i].vpid);
    }
    for (size_t i = 0; i < j->nwatchers; i++) {
        if (members_live(js->members, j->watchers[i]) &&
            (!j->sent || job_launch_node(&j->map, j->watchers[i]) < 0))
            tell_ended(js, j, j->watchers[i]);
    }
    if (j->sent && job_launch_node(&j->map, VPID_HEAD) < 0 && !has_watcher(j, VPID_HEAD))
        tell_ended(js, j, VPID_HEAD);
}

/* The end of the job's own ranks, then that of the jobs which they have spawned. */
static char *final_text(const struct job *j)
{
    const char *own = j->kept->result.failure || j->nbad ? j->reason : "";
    bool kin = j->kin_text && !j->kept->result.failure;

    return xasprintf("%s%s%s", own, kin && *own ? "; " : "", kin ? j->kin_text : "");
}

/* Notifies the submitter, with the list of daemons whose output is still to come. False:
 * children have not ended yet; the end of the last child notifies it. */
static bool notify_submitter(struct jobs *js, struct job *j)
{
    FREE_AUTO uint32_t *vpids = xcalloc(j->map.nnodes + 1, sizeof(*vpids));
    FREE_AUTO char *text = final_text(j);
    struct msg done = {
        .type = MSG_DONE,
        .done = {.nspace = j->map.nspace,
                 .client = j->kept->accepted.submit_client,
                 .exit_code = j->kept->result.exit_code ? j->kept->result.exit_code : j->kin_code,
                 .text = text,
                 .output_vpids = vpids}};
    bool is_home = j->kept->accepted.submit_vpid == j->map.home_vpid &&
                   j->kept->accepted.submit_client == j->map.home_client;

    tell_all_ended(js, j);
    if (j->nchildren)
        return false;
    for (size_t i = 0; is_home && j->sent && i < j->map.nnodes; i++) {
        if (j->daemons[i].sent && job_node_current(js, &j->map.nodes[i]))
            vpids[done.done.noutput++] = j->map.nodes[i].vpid;
    }
    job_tell(js, j, &done);
    js->stats.ended++;
    job_step(js, j, JOB_EV_DONE);
    return true;
}

void job_end_notify(struct jobs *js, struct job *j)
{
    if (j && !j->kept->result.failure)
        job_news_as_reason(j); /* it may have ended while it was stopped for a debugger */
    while (j && notify_submitter(js, j))
        j = job_family_left(js, j);
}

static void free_history(struct jobs *js, struct job_history *h)
{
    DL_DELETE(js->history, h);
    free(h->job.id);
    free(h->job.reason);
    free(h->job.vpids);
    free(h);
    js->nhistory--;
}

static enum job_state failed_state(const struct job *j)
{
    switch (j->kept->result.failure) {
    case JOB_EV_ABORT:
        return JOB_ABORTED;
    case JOB_EV_KILL:
        return JOB_KILLED_BY_CMD;
    case JOB_EV_FAIL_START:
        return JOB_FAILED_TO_START;
    case JOB_EV_NO_MAP:
        return JOB_MAP_FAILED;
    default:
        return JOB_NEVER_LAUNCHED;
    }
}

static void add_history(struct jobs *js, const struct job *j)
{
    struct job_history *h = xcalloc(1, sizeof(*h));

    h->job.id = xstrdup(j->map.nspace);
    h->job.state = j->kept->result.failure ? failed_state(j) : JOB_TERMINATED;
    h->job.reason = xstrdup(j->reason);
    h->job.ranks = j->map.nranks;
    h->job.exit_code = j->kept->result.exit_code;
    h->job.vpids = xcalloc(j->map.nnodes + 1, sizeof(*h->job.vpids));
    for (size_t i = 0; i < j->map.nnodes; i++)
        h->job.vpids[h->job.nvpids++] = j->map.nodes[i].vpid;
    DL_APPEND(js->history, h);
    if (++js->nhistory > JOB_HISTORY_MAX)
        free_history(js, js->history);
}

void job_end_retire(struct jobs *js, struct job *j)
{
    add_history(js, j);
    if (j->mapped)
        job_map_drop(js, j);
    HASH_DEL(js->by_nspace, j);
    DL_DELETE(js->list, j);
    js->n--;
    js->kick = true;
    job_table_forget(js->table, j->kept);
    job_free(j);
}

void job_end_free_history(struct jobs *js)
{
    struct job_history *h, *tmp;

    DL_FOREACH_SAFE(js->history, h, tmp)
    {
        free_history(js, h);
    }
}

static void view_job(const struct job *j, struct api_dvm_job *x)
{
    x->id = xstrdup(j->map.nspace);
    x->state = (enum job_state)j->kept->state;
    x->reason = xstrdup(j->reason);
    x->ranks = j->map.nranks;
    x->exit_code = j->kept->result.exit_code;
    x->vpids = xcalloc(j->map.nnodes + 1, sizeof(*x->vpids));
    for (size_t i = 0; i < j->map.nnodes; i++)
        x->vpids[x->nvpids++] = j->map.nodes[i].vpid;
}

void jobs_view(const struct jobs *js, struct api_dvm *out)
{
    const struct job_history *h;
    const struct job *j;

    out->jobs = xcalloc(js->n + js->nhistory + 1, sizeof(*out->jobs));
    DL_FOREACH(js->history, h)
    {
        struct api_dvm_job *x = &out->jobs[out->njobs++];

        *x = h->job;
        x->id = xstrdup(h->job.id);
        x->reason = xstrdup(h->job.reason);
        x->vpids = xcalloc(h->job.nvpids + 1, sizeof(*x->vpids));
        memcpy(x->vpids, h->job.vpids, h->job.nvpids * sizeof(*x->vpids));
    }
    DL_FOREACH(js->list, j)
    {
        view_job(j, &out->jobs[out->njobs++]);
    }
}
