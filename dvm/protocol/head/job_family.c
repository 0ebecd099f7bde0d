/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that ranks of other jobs have spawned: they share the submitter's output, end with a parent
 * that fails, and keep the submitter waiting; and daemons that ask about a job that is not theirs.
 */
#include "dvm/protocol/head/head_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static bool is_child(const struct job *j, const struct job *parent)
{
    const char *name = j->map.spec.parent_nspace;

    return j->adopted && strcmp(name, parent->map.nspace) == 0;
}

static struct job *job_family_parent(const struct head *l, const struct job *j)
{
    const char *name = j->map.spec.parent_nspace;

    return j->adopted ? head_job_find(l, name) : NULL;
}

static void watch(struct job *j, uint32_t vpid)
{
    for (size_t i = 0; i < j->nwatchers; i++) {
        if (j->watchers[i] == vpid)
            return;
    }
    j->watchers = xrealloc(j->watchers, (j->nwatchers + 1) * sizeof *j->watchers);
    j->watchers[j->nwatchers++] = vpid;
}

/* A new job: whose output goes where its parent's does, and who keeps its parent waiting. */
void job_family_join(struct head *l, struct job *j)
{
    const char *name = j->map.spec.parent_nspace;
    struct job *parent = name && name[0] ? head_job_find(l, name) : NULL;

    if (parent == j) /* names can be foretold */
        parent = NULL;
    j->adopted = parent != NULL;
    j->map.home_vpid = parent ? parent->map.home_vpid : j->submit_vpid;
    j->map.home_client = parent ? parent->map.home_client : j->submit_client;
    if (name && name[0]) /* a tool's is no job's */
        watch(j, j->submit_vpid);
    if (!parent)
        return;
    parent->nchildren++;
    if (parent->failure)
        job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED, "ended with job %s, which has spawned it",
                 parent->map.nspace);
}

void job_family_end_children(struct head *l, const struct job *parent)
{
    struct job *j;

    if (parent->nchildren == 0)
        return;
    DL_FOREACH(l->jobs, j)
    {
        if (!is_child(j, parent))
            continue;
        if (job_state_over(j->state))
            job_family_end_children(l, j);
        else
            job_fail(l, j, JOB_EV_KILL, EXIT_CODE_CANCELLED,
                     "ended with job %s, which has spawned it", parent->map.nspace);
    }
}

/* A job that is over has no exit code of its own for this. */
void job_family_end(struct head *l, struct job *parent, int code, const char *why)
{
    if (parent->nchildren && !parent->kin_text) {
        parent->kin_code = code;
        parent->kin_text = xasprintf("spawned jobs were ended: %s", why);
    }
    job_family_end_children(l, parent);
}

/* Not one that was ended on purpose, nor one that was not started: the request for it is answered
 * with that. */
static bool has_failed(const struct job *j)
{
    return j->sent && j->exit_code != 0 && j->failure != JOB_EV_FAIL_START &&
           !(j->failure == JOB_EV_KILL && j->exit_code > 128);
}

/* A parent whose own lost ranks would not count is told the same of others. */
static void remember(struct job *parent, const struct job *j)
{
    bool lenient = (parent->map.spec.flags & (JOB_RECOVERABLE | JOB_STRICT)) == JOB_RECOVERABLE;
    bool failed = has_failed(j);

    if (parent->kin_text || (!failed && !j->kin_text))
        return;
    parent->kin_text =
        failed ? xasprintf("spawned job %s: %s", j->map.nspace, j->reason) : xstrdup(j->kin_text);
    parent->kin_code = lenient ? 0 : failed ? j->exit_code : j->kin_code;
}

/* A parent that is over itself waited for this one. */
void job_family_left(struct head *l, const struct job *j)
{
    struct job *parent = job_family_parent(l, j);

    if (!parent)
        return;
    remember(parent, j);
    parent->nchildren--;
    if (parent->state == JOB_NOTIFY_COMPLETED)
        job_notify(l, parent);
}

const struct job_launch *head_job_ranks(const struct head *l, const char *nspace, const int **state,
                                        const struct rank_facts **facts)
{
    const struct job *j = head_job_find(l, nspace);

    if (!j || !j->mapped)
        return NULL;
    *state = j->rank_state;
    *facts = j->rank_facts;
    return &j->map;
}

const struct job_launch *head_job_watch(struct head *l, const char *nspace, uint32_t vpid)
{
    struct job *j = head_job_find(l, nspace);

    if (!j || !j->sent || j->ended_told)
        return NULL;
    watch(j, vpid);
    return &j->map;
}

static void add_daemons(const struct head *l, const struct job *j, uint32_t rank, hwloc_bitmap_t to)
{
    size_t first = 0, end = j->map.nnodes;

    if (rank != JOB_RANK_ALL) {
        first = rank < j->map.nranks ? j->map.rank_node[rank] : end;
        end = first < end ? first + 1 : end;
    }
    for (size_t i = first; i < end; i++) {
        const struct job_node *n = &j->map.nodes[i];

        if (!j->node_gone[i] &&
            members_current(l->members, n->vpid, (struct epoch){l->opts.incarnation, n->epoch}))
            hwloc_bitmap_set(to, n->vpid);
    }
}

void head_daemons_of(const struct head *l, const char *nspace, uint32_t rank, hwloc_bitmap_t to)
{
    const struct job *only = nspace ? head_job_find(l, nspace) : NULL;
    const struct job *j;

    if (nspace) {
        if (only && only->sent && !job_state_over(only->state))
            add_daemons(l, only, rank, to);
        return;
    }
    DL_FOREACH(l->jobs, j)
    {
        if (j->sent && !job_state_over(j->state))
            add_daemons(l, j, JOB_RANK_ALL, to);
    }
}
