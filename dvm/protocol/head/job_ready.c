/* SPDX-License-Identifier: BSD-3-Clause */
/* Between a launch and the start of ranks, so that no hold and no new map comes between: the files
 * of a job are sent for, and each of its daemons checks what its own ranks need; they start when
 * all have done so. */
#include "base/log/log.h"
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdlib.h>
#include <string.h>

void job_ready_begin(struct head *l, struct job *j)
{
    struct msg_target *targets FREE_AUTO = xcalloc(j->map.nnodes + 1, sizeof *targets);
    struct msg m = {.type = MSG_STAGE, .targets = targets, .ntargets = j->map.nnodes};

    if (j->failure)
        return;
    free(j->reason);
    j->reason = xasprintf(j->map.spec.nfiles ? "its files go to %zu daemons"
                                             : "%zu daemons check whether it can start",
                          j->map.nnodes);
    if (!j->map.spec.nfiles)
        return;
    for (size_t i = 0; i < j->map.nnodes; i++)
        targets[i] =
            (struct msg_target){j->map.nodes[i].vpid, {l->opts.incarnation, j->map.nodes[i].epoch}};
    job_tell(l, j, &m);
}

static bool all_nodes_ready(const struct job *j)
{
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->node_ready[i] && !j->node_gone[i])
            return false;
        if (MUTANT(START_EARLY) || (MUTANT(START_UNCHECKED) && !j->map.spec.nfiles))
            return true;
    }
    return true;
}

/* Daemons that are lost are not waited for: the others go on if the job is recoverable. */
void job_ready_check(struct head *l, struct job *j)
{
    struct msg m = {.type = MSG_START, .nspace = j->map.nspace};
    struct err err = {0};

    if (j->state != JOB_STAGING || j->failure || j->started || !all_nodes_ready(j))
        return;
    j->started = true;
    free(j->reason);
    j->reason = xstrdup("");
    for (size_t i = 0; i < j->map.nnodes; i++) {
        if (!j->node_gone[i] &&
            rml_send(l->rml, j->map.nodes[i].vpid, CLASS_LAUNCH, &m, &err) < 0) {
            job_fail(l, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED, "not launched: %s", err.msg);
            return;
        }
    }
}

void job_ready_report(struct head *l, uint32_t from, const struct msg *m)
{
    struct job *j = head_job_find(l, m->nspace);
    int node = j && j->sent && !job_state_over(j->state) ? job_launch_node(&j->map, from) : -1;

    if (node < 0 || j->node_gone[node] || !job_launch_waits(&j->map))
        return;
    if (m->number) {
        job_fail(l, j, JOB_EV_FAIL_START, EXIT_CODE_NOT_LAUNCHED,
                 "not launched: its files cannot be put on %s (vpid %u): %s: %s",
                 j->map.nodes[node].host, from, m->text, strerror((int)m->number));
        return;
    }
    j->node_ready[node] = true;
    job_ready_check(l, j);
}
