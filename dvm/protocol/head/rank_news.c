/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that have ended badly: what the end of their job says of them, and who is told meanwhile.
 */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <utlist.h>

#define NAMED_MAX 8 /* in a job's final text; the others are counted */
/* From one message about a job to the next: what is lost meanwhile goes into one, so that a job
 * that falls apart costs each daemon no more than so many. */
#define TELL_EVERY_MS 20

static bool goes_on(const struct job *j)
{
    return (j->map.spec.flags & JOB_RECOVERABLE) && !j->failure;
}

void rank_news_add(struct head *l, struct job *j, uint32_t rank, int status, enum rank_how how)
{
    if (job_state_over(j->state) || j->failure)
        return;
    j->news = xrealloc(j->news, (j->nnews + 1) * sizeof *j->news);
    j->news[j->nnews++] = (struct msg_rank){.rank = rank, .how = (uint8_t)how, .value = status};
    l->news = true;
}

/* Of those that exited by themselves the first that failed decides; with --strict, and if nobody
 * is left to decide, the first of all. */
static int exit_code(const struct job *j)
{
    bool any = (j->map.spec.flags & JOB_STRICT) || j->nlost == j->map.nranks;

    return any ? j->first_code : j->own_code;
}

void rank_news_outlived(struct job *j, uint32_t nranks, int code, bool lost, const char *text)
{
    char *named = j->losses;

    j->nbad += nranks;
    j->nlost += lost ? nranks : 0;
    j->first_code = j->first_code ? j->first_code : code;
    j->own_code = j->own_code || lost ? j->own_code : code;
    if (++j->nlosses <= NAMED_MAX) {
        j->losses = named ? xasprintf("%s; %s", named, text) : xstrdup(text);
        free(named);
    }
    free(j->reason);
    j->reason = xasprintf("%u of %u ranks failed or were lost: %s%s", j->nbad, j->map.nranks,
                          j->losses, j->nlosses > NAMED_MAX ? "; and others" : "");
    j->exit_code = exit_code(j);
}

static void tell(struct head *l, const struct job *j, uint32_t vpid, const struct msg *m)
{
    struct err err = {0};

    if (rml_send(l->rml, vpid, CLASS_LAUNCH, m, &err) < 0)
        out_log(l->out, LOG_LEVEL_INFO, "job %s: %s", j->map.nspace, err.msg);
}

void rank_news_tell(struct head *l, struct job *j)
{
    struct msg m = {.type = MSG_RANKS_LOST,
                    .nspace = j->map.nspace,
                    .number = goes_on(j),
                    .text = j->map.spec.parent_nspace,
                    .rank = j->map.spec.parent_rank,
                    .nranks = j->nnews,
                    .ranks = j->news};

    for (size_t i = 0; j->nnews && i < j->map.nnodes; i++) {
        const struct job_node *n = &j->map.nodes[i];

        if (members_current(l->members, n->vpid, (struct epoch){l->opts.incarnation, n->epoch}))
            tell(l, j, n->vpid, &m);
    }
    for (size_t i = 0; j->nnews && i < j->nwatchers; i++) {
        if (members_live(l->members, j->watchers[i]) &&
            job_launch_node(&j->map, j->watchers[i]) < 0)
            tell(l, j, j->watchers[i], &m);
    }
    if (!MUTANT(LOSS_TOLD_AGAIN))
        j->nnews = 0;
    j->told_ms = l->out->now_ms;
}

static bool is_due(const struct head *l, const struct job *j)
{
    return j->told_ms == 0 || j->told_ms + TELL_EVERY_MS <= l->out->now_ms;
}

void rank_news_steps(struct head *l)
{
    struct job *j;

    if (!l->news)
        return;
    l->news = false;
    DL_FOREACH(l->jobs, j)
    {
        if (j->nnews && is_due(l, j))
            rank_news_tell(l, j);
        l->news |= j->nnews > 0;
    }
}

uint64_t rank_news_next_deadline(const struct head *l)
{
    uint64_t due = UINT64_MAX;
    const struct job *j;

    if (!l->news)
        return due;
    DL_FOREACH(l->jobs, j)
    {
        if (j->nnews && j->told_ms + TELL_EVERY_MS < due)
            due = j->told_ms + TELL_EVERY_MS;
    }
    return due;
}
