/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that ranks of other jobs have spawned, and daemons that ask about a job that is not theirs.
 *
 * In: a new job that names a parent; the end of a job; questions of daemons. Out: the relation of
 * jobs, and the daemons to be notified of a job's end.
 *
 * A child writes its output to the home of its parent, so prun shows the output of the family.
 * The parent counts its children that have not ended; its submitter is notified when the last
 * one has. The parent's end names the first child that has failed. A child whose parent fails is
 * ended (job_fail.c). A parent that is no longer known adopts no child. The processes of a family
 * may control each other, and those of other jobs not. */
#include "dvm/protocol/head/jobs/job_private.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

bool job_family_is_child(const struct job *j, const struct job *parent)
{
    const char *name = j->map.spec.parent_nspace;

    return j->kept->accepted.adopted && strcmp(name, parent->map.nspace) == 0;
}

static struct job *parent_of(const struct jobs *js, const struct job *j)
{
    const char *name = j->map.spec.parent_nspace;

    return j->kept->accepted.adopted ? jobs_find(js, name) : NULL;
}

static void add_watcher(struct job *j, uint32_t vpid)
{
    for (size_t i = 0; i < j->nwatchers; i++) {
        if (j->watchers[i] == vpid)
            return;
    }
    j->watchers = xrealloc(j->watchers, (j->nwatchers + 1) * sizeof(*j->watchers));
    j->watchers[j->nwatchers++] = vpid;
}

struct job *job_family_parent(const struct jobs *js, const struct job_spec *s)
{
    return s->parent_nspace && s->parent_nspace[0] ? jobs_find(js, s->parent_nspace) : NULL;
}

/* The parent of a new job waits for its end. */
void job_family_join(struct job *j, struct job *parent)
{
    const char *name = j->map.spec.parent_nspace;

    if (name && name[0]) /* a tool's name is not a job's */
        add_watcher(j, j->kept->accepted.submit_vpid);
    if (parent)
        parent->nchildren++;
}

static void mark_ancestors(const struct jobs *js, const struct job *j, uint64_t mark, bool *any)
{
    struct job *a = parent_of(js, j);

    for (; a && a->kin_mark != mark; a = parent_of(js, a)) {
        a->kin_mark = mark;
        *any = *any || job_slots_held(a) > 0;
    }
}

uint64_t job_family_mark(struct jobs *js, const struct job *j)
{
    uint64_t mark = ++js->kin_mark;
    bool any = false;

    mark_ancestors(js, j, mark, &any);
    return any ? mark : 0;
}

bool job_family_waits(const struct jobs *js, const struct job *j)
{
    return !j->mapped && !j->kept->result.failure && parent_of(js, j);
}

uint64_t job_family_mark_waiting(struct jobs *js, bool but_starting)
{
    uint64_t mark = ++js->kin_mark;
    bool any = false;
    const struct job *k;

    DL_FOREACH(js->list, k)
    {
        if (job_family_waits(js, k) && !(but_starting && k->starts))
            mark_ancestors(js, k, mark, &any);
    }
    return any ? mark : 0;
}

/* A job that was ended on purpose has not failed. Neither has one that was not started: the
 * answer to the spawn request says so. */
static bool has_failed(const struct job *j)
{
    return job_sent(j) && j->kept->result.exit_code != 0 &&
           j->kept->result.failure != JOB_EV_FAIL_START &&
           !(j->kept->result.failure == JOB_EV_KILL && j->kept->result.exit_code > 128);
}

/* Notes the first failed child at its parent. A parent that is recoverable and not strict shows the
 * text and keeps its own exit code. */
static void note_child_end(struct jobs *js, struct job *parent, const struct job *j)
{
    bool lenient = (parent->map.spec.flags & (JOB_RECOVERABLE | JOB_STRICT)) == JOB_RECOVERABLE;
    bool failed = has_failed(j);

    int code = failed ? j->kept->result.exit_code : j->kept->kin_code;
    FREE_AUTO char *text = NULL;

    if (parent->kept->kin_text || (!failed && !j->kept->kin_text))
        return;
    text = failed ? xasprintf("spawned job %s: %s", j->map.nspace, j->reason)
                  : xstrdup(j->kept->kin_text);
    job_table_kin_failed(js->table, parent->kept, lenient ? 0 : code, text);
}

struct job *job_family_left(struct jobs *js, const struct job *j)
{
    struct job *parent = parent_of(js, j);

    if (!parent)
        return NULL;
    note_child_end(js, parent, j);
    parent->nchildren--;
    return parent->kept->state == JOB_NOTIFY_COMPLETED ? parent : NULL;
}

static const struct job *root_of(const struct jobs *js, const struct job *j)
{
    for (const struct job *p = parent_of(js, j); p; p = parent_of(js, p))
        j = p;
    return j;
}

enum job_control job_family_control(const struct jobs *js, uint32_t from, const char *asker,
                                    const char *target)
{
    const struct job *a = jobs_find(js, asker);
    const struct job *t = jobs_find(js, target);

    if (!t)
        return JOB_CONTROL_UNKNOWN;
    if (!a)
        return jobs_has_ended(js, asker) ? JOB_CONTROL_REFUSED : JOB_CONTROL_GIVEN;
    return job_launch_node(&a->map, from) >= 0 && root_of(js, a) == root_of(js, t)
               ? JOB_CONTROL_GIVEN
               : JOB_CONTROL_REFUSED;
}

const struct job_launch *job_ranks(const struct jobs *js, const char *nspace,
                                   const struct job_rank **ranks)
{
    const struct job *j = jobs_find(js, nspace);

    if (!j || !j->mapped)
        return NULL;
    *ranks = j->ranks;
    return &j->map;
}

const struct job_launch *job_watch(struct jobs *js, const char *nspace, uint32_t vpid)
{
    struct job *j = jobs_find(js, nspace);

    if (!j || !job_sent(j) || j->ended_told)
        return NULL;
    add_watcher(j, vpid);
    return &j->map;
}

static void add_daemons(const struct jobs *js, const struct job *j, uint32_t rank,
                        hwloc_bitmap_t to)
{
    size_t first = 0, end = j->map.nnodes;

    if (rank != JOB_RANK_ALL) {
        first = rank < j->map.nranks ? j->map.rank_node[rank] : end;
        end = first < end ? first + 1 : end;
    }
    for (size_t i = first; i < end; i++) {
        const struct job_node *n = &j->map.nodes[i];

        if (!job_node_gone(j, i) &&
            members_current(js->members, n->vpid, incarnation_epoch(js->inc, n->epoch)))
            bitmap_set(to, n->vpid);
    }
}

void job_daemons_of(const struct jobs *js, const char *nspace, uint32_t rank, hwloc_bitmap_t to)
{
    const struct job *only = nspace ? jobs_find(js, nspace) : NULL;
    const struct job *j;

    if (nspace) {
        if (only && job_sent(only) && !job_state_over(only->kept->state))
            add_daemons(js, only, rank, to);
        return;
    }
    DL_FOREACH(js->list, j)
    {
        if (job_sent(j) && !job_state_over(j->kept->state))
            add_daemons(js, j, JOB_RANK_ALL, to);
    }
}
