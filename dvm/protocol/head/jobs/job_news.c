/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports about ranks that have ended badly while their job continues.
 *
 * In: the end of a rank by a signal, a code, an abort or the loss of its daemon. Out: RANKS_LOST to
 * the daemons of the job and to those that watch it; exit code and text of a job that continues
 * without some ranks (JOB_RECOVERABLE).
 *
 * Reports are collected: at most one message about a job is sent in SEND_EVERY_MS, so a job that
 * falls apart costs each daemon no more than that. A daemon gets all reports before it is notified
 * of the job's end. After a job has failed, nothing further is reported.
 */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <utlist.h>

/* From one message about a job to the next. */
#define SEND_EVERY_MS 20

bool job_news_goes_on(const struct job *j)
{
    return (j->map.spec.flags & JOB_RECOVERABLE) && !j->kept->result.failure;
}

void job_news_add(struct jobs *js, struct job *j, uint32_t rank, int status, enum rank_how how)
{
    if (job_state_over(j->kept->state) || j->kept->result.failure)
        return;
    j->news = xrealloc(j->news, (j->nnews + 1) * sizeof(*j->news));
    j->news[j->nnews++] = (struct msg_rank){.rank = rank, .how = (uint8_t)how, .value = status};
    js->news = true;
}

void job_news_as_reason(struct job *j)
{
    char *losses = job_progress_losses_text(&j->kept->progress, j->map.nranks);

    free(j->reason);
    j->reason = losses ? losses : xstrdup("");
}

static void send_news(struct jobs *js, const struct job *j, uint32_t vpid, const struct msg *m)
{
    struct err err = {0};

    if (rml_send(js->rml, vpid, CLASS_LAUNCH, m, &err) < 0)
        out_log(js->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

void job_news_send(struct jobs *js, struct job *j)
{
    struct msg m = {.type = MSG_RANKS_LOST,
                    .ranks_lost = {.nspace = j->map.nspace,
                                   .others_go_on = job_news_goes_on(j),
                                   .parent_nspace = j->map.spec.parent_nspace,
                                   .parent_rank = j->map.spec.parent_rank,
                                   .nranks = j->nnews,
                                   .ranks = j->news}};

    for (size_t i = 0; j->nnews && i < j->map.nnodes; i++) {
        const struct job_node *n = &j->map.nodes[i];

        if (members_current(js->members, n->vpid, incarnation_epoch(js->inc, n->epoch)))
            send_news(js, j, n->vpid, &m);
    }
    for (size_t i = 0; j->nnews && i < j->nwatchers; i++) {
        if (members_live(js->members, j->watchers[i]) &&
            job_launch_node(&j->map, j->watchers[i]) < 0)
            send_news(js, j, j->watchers[i], &m);
    }
    j->nnews = 0;
    j->told_ms = js->out->now_ms;
}

static bool is_due(const struct jobs *js, const struct job *j)
{
    return j->told_ms + SEND_EVERY_MS <= js->out->now_ms;
}

void job_news_steps(struct jobs *js)
{
    struct job *j;

    if (!js->news)
        return;
    js->news = false;
    DL_FOREACH(js->list, j)
    {
        if (j->nnews && is_due(js, j))
            job_news_send(js, j);
        js->news |= j->nnews > 0;
    }
}

uint64_t job_news_next_deadline(const struct jobs *js)
{
    uint64_t due = UINT64_MAX;
    const struct job *j;

    if (!js->news)
        return due;
    DL_FOREACH(js->list, j)
    {
        if (j->nnews && j->told_ms + SEND_EVERY_MS < due)
            due = j->told_ms + SEND_EVERY_MS;
    }
    return due;
}
