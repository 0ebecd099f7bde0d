/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of running jobs, reported by the daemons of their ranks.
 *
 * In: texts of daemons, about ranks of their own. Out: the text that is shown: the one of the
 * daemon that has waited longest. The submitter is notified when it changes. They are kept until
 * the daemon says otherwise, or has nothing of the job any more. They are not recorded: daemons
 * repeat them, so the next head has them too.
 *
 * Invariants: JOB_WAITS_MAX texts of a job at most; further daemons are not heard until one of
 * these waits no more. */
#include "base/log/log.h"
#include "dvm/protocol/head/jobs/job_private.h"

#include <stdlib.h>
#include <string.h>

static void remove_wait(struct job *j, size_t i)
{
    free(j->waits[i].text);
    memmove(&j->waits[i], &j->waits[i + 1], (--j->nwaits - i) * sizeof(*j->waits));
}

static void put_wait(struct job *j, uint32_t vpid, const char *text)
{
    size_t i = 0;

    while (i < j->nwaits && j->waits[i].vpid != vpid)
        i++;
    if (i < j->nwaits && !*text) {
        remove_wait(j, i);
    } else if (i < j->nwaits) {
        free(j->waits[i].text);
        j->waits[i].text = xstrdup(text);
    } else if (*text && i < JOB_WAITS_MAX) {
        j->waits[j->nwaits++] = (struct job_wait){vpid, xstrdup(text)};
    }
}

const char *job_waits_text(const struct job *j)
{
    return j->nwaits ? j->waits[0].text : "";
}

static void change_wait(struct jobs *js, struct job *j, uint32_t vpid, const char *text)
{
    FREE_AUTO char *before = xstrdup(job_waits_text(j));

    put_wait(j, vpid, text);
    if (strcmp(before, job_waits_text(j)) != 0)
        job_tell_waits(js, j);
}

void job_waits_report(struct jobs *js, uint32_t from, const char *nspace, const char *text)
{
    struct job *j = jobs_find(js, nspace);
    int node =
        j && job_sent(j) && !job_state_over(j->kept->state) ? job_launch_node(&j->map, from) : -1;

    if (node >= 0 && !job_node_gone(j, (size_t)node))
        change_wait(js, j, from, text);
}

void job_waits_node_gone(struct jobs *js, struct job *j, uint32_t vpid)
{
    if (j->nwaits)
        change_wait(js, j, vpid, "");
}

void job_waits_free(struct job *j)
{
    while (j->nwaits)
        remove_wait(j, j->nwaits - 1);
}
