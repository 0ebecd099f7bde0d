/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a job.
 *
 * In: a job that has ended. Out: JOB_ENDED to every daemon that ran it or watches it, and to the
 * head, where its lookups wait; DONE to the submitter. Values that its ranks have published for its
 * life are removed.
 *
 * The daemons are notified at once. The submitter is notified when the job is the last of its
 * family to end, with the list of daemons whose output is still to come. From then on its end is
 * kept (job_notified.c, job_history.h). */
#include "base/bitmap/bitmap.h"
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <ctype.h>
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

static bool is_running(const char *nspace, void *jobs)
{
    const struct job *j = jobs_find(jobs, nspace);

    return j && !j->ended_told;
}

void job_end_values(struct jobs *js, const char *nspace)
{
    published_job_ended(js->published, nspace, is_running, js);
}

/* Notifies every daemon that ran the job, the daemons that watch it, and the head, where lookups of
 * its ranks may wait. */
static void tell_all_ended(struct jobs *js, struct job *j)
{
    if (j->ended_told)
        return;
    j->ended_told = true;
    job_end_values(js, j->map.nspace);
    job_news_send(js, j);
    for (size_t i = 0; job_sent(j) && i < j->map.nnodes; i++) {
        if (job_node_current(js, &j->map.nodes[i]))
            tell_ended(js, j, j->map.nodes[i].vpid);
    }
    for (size_t i = 0; i < j->nwatchers; i++) {
        if (members_live(js->members, j->watchers[i]) &&
            (!job_sent(j) || job_launch_node(&j->map, j->watchers[i]) < 0))
            tell_ended(js, j, j->watchers[i]);
    }
    if (job_sent(j) && job_launch_node(&j->map, VPID_HEAD) < 0 && !has_watcher(j, VPID_HEAD))
        tell_ended(js, j, VPID_HEAD);
}

bool jobs_has_ended(const struct jobs *js, const char *nspace)
{
    const struct job *j = jobs_find(js, nspace);
    const char *inc = incarnation_text(js->inc);
    size_t len = strlen(inc);
    unsigned long long number;
    char *end;

    if (j || job_adoption_waits(js))
        return j && j->ended_told;
    if (strncmp(nspace, inc, len) != 0 || nspace[len] != '.' || !isdigit((uint8_t)nspace[len + 1]))
        return false;
    number = strtoull(nspace + len + 1, &end, 10);
    return *end == '\0' && number <= job_table_last(js->table);
}

int job_end_code(const struct job_entry *e)
{
    return e->result.exit_code ? e->result.exit_code : e->kin_code;
}

/* The end of the job's own ranks, then that of the jobs which they have spawned. */
char *job_end_text(const struct job_entry *e, const char *own)
{
    bool kin = e->kin_text && !e->result.failure;

    return xasprintf("%s%s%s", own, kin && *own ? "; " : "", kin ? e->kin_text : "");
}

/* Notifies the submitter, with the list of daemons whose output is still to come. False:
 * children have not ended yet; the end of the last child notifies it. */
static bool notify_submitter(struct jobs *js, struct job *j)
{
    FREE_AUTO uint32_t *vpids = xcalloc(j->map.nnodes + 1, sizeof(*vpids));
    bool has_reason = j->kept->result.failure || j->kept->progress.losses.nranks;
    FREE_AUTO char *text = job_end_text(j->kept, has_reason ? j->reason : "");
    struct msg done = {.type = MSG_DONE,
                       .done = {.nspace = j->map.nspace,
                                .client = j->kept->accepted.submit_client,
                                .exit_code = job_end_code(j->kept),
                                .text = text,
                                .output_vpids = vpids}};
    bool is_home = j->kept->accepted.submit_vpid == j->map.home_vpid &&
                   j->kept->accepted.submit_client == j->map.home_client;

    tell_all_ended(js, j);
    if (j->nchildren)
        return false;
    for (size_t i = 0; is_home && job_sent(j) && i < j->map.nnodes; i++) {
        if (j->daemons[i].sent && job_node_current(js, &j->map.nodes[i]))
            vpids[done.done.noutput++] = j->map.nodes[i].vpid;
    }
    if (job_was_given_back(j->kept->result.failure, j->kept->result.exit_code))
        job_tell_given_back(js, j);
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

static enum job_state ended_state(int failure)
{
    switch (failure) {
    case 0:
        return JOB_TERMINATED;
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

void job_end_retire(struct jobs *js, struct job *j)
{
    if (j->mapped)
        job_map_drop(js, j);
    HASH_DEL(js->by_nspace, j);
    DL_DELETE(js->list, j);
    js->n--;
    js->kick = true;
    job_notified_add(js, j->kept);
    job_free(j);
}

/* Before its start: the daemons that are not ready. On the heap. */
static char *waits_for(const struct job *j)
{
    hwloc_bitmap_t set;
    FREE_AUTO char *vpids = NULL;

    if (j->kept->state != JOB_PREPARING || j->started || j->nwaits)
        return xstrdup(job_waits_text(j));
    set = bitmap_alloc();
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->daemons[i].ready && !job_node_gone(j, i))
            bitmap_set(set, j->map.nodes[i].vpid);
    }
    vpids = bitmap_list_text(set);
    hwloc_bitmap_free(set);
    return *vpids ? xasprintf("not ready: vpid %s", vpids) : xstrdup("");
}

static void view_job(const struct job *j, struct api_dvm_job *x)
{
    x->id = xstrdup(j->map.nspace);
    x->state = (enum job_state)j->kept->state;
    x->reason = xstrdup(j->reason);
    x->waits_for = waits_for(j);
    x->ranks = j->map.nranks;
    x->exit_code = j->kept->result.exit_code;
    x->vpids = xcalloc(j->map.nnodes + 1, sizeof(*x->vpids));
    for (size_t i = 0; i < j->map.nnodes; i++)
        x->vpids[x->nvpids++] = j->map.nodes[i].vpid;
}

static void view_past(const struct jobs *js, const struct job_past *past, struct api_dvm_job *x)
{
    x->id = job_name(js, past->number);
    x->state = ended_state(past->failure);
    x->reason = xstrdup(past->reason);
    x->waits_for = xstrdup("");
    x->ranks = past->nranks;
    x->exit_code = past->exit_code;
    x->vpids = xcalloc(past->nvpids + 1, sizeof(*x->vpids));
    x->nvpids = past->nvpids;
    memcpy(x->vpids, past->vpids, past->nvpids * sizeof(*x->vpids));
}

uint32_t jobs_bound(const struct jobs *js, bool kept)
{
    const struct job *j;
    uint32_t n = 0;

    DL_FOREACH(js->list, j)
    {
        bool here =
            (j->kept->accepted.submit_vpid == VPID_HEAD && !job_entry_follows_head(j->kept)) ||
            (job_sent(j) && job_launch_node(&j->map, VPID_HEAD) >= 0);

        n += job_sent(j) && (here || !kept);
    }
    return n;
}

void jobs_view(const struct jobs *js, struct api_dvm *out)
{
    const struct job_history *h = job_table_history(js->table);
    const struct job_notified *n;
    const struct job_past *past;
    const struct job *j;

    out->jobs = xcalloc(js->n + js->nnotified + h->n + 1, sizeof(*out->jobs));
    DL_FOREACH(h->list, past)
    {
        view_past(js, past, &out->jobs[out->njobs++]);
    }
    DL_FOREACH(js->notified, n)
    {
        view_past(js, n->past, &out->jobs[out->njobs++]);
    }
    DL_FOREACH(js->list, j)
    {
        view_job(j, &out->jobs[out->njobs++]);
    }
}
