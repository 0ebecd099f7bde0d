/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out the core's actions for a job's ranks here: one function for each action.
 *
 * In: actions, each of which names a job; the answers of the PMIx server. Out: calls of the PMIx
 * server, of odls and of the job's file writer; reports to the core (core_ranks()). The record of a
 * job holds its launch. For each rank it holds what only the daemon knows: output streams that have
 * ended, and whether another process has ended it.
 *
 * Invariants: each action that needs an answer gets exactly one, even if the job has
 * ended meanwhile. A callback carries the job's name, not its record. */
#include "dvm/host/ranks/ranks_private.h"

#include "base/log/log.h"
#include "dvm/host/cgroup/cgroup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANK_GRACE_MS 2000

struct ranks *ranks_create(const struct host_env *env, const struct ranks_io *io)
{
    struct ranks *r = xcalloc(1, sizeof(*r));

    r->env = env;
    r->io = *io;
    return r;
}

void ranks_join(struct ranks *r, const struct ranks_parts *parts)
{
    r->core = parts->core;
    r->odls = parts->odls;
    r->pmix = parts->pmix;
    r->iof = parts->iof;
    r->files = parts->files;
}

struct ranks_job *ranks_find(const struct ranks *r, const char *nspace)
{
    struct ranks_job *j;

    HASH_FIND_STR(r->jobs, nspace, j);
    return j;
}

static void free_job(struct ranks *r, struct ranks_job *j)
{
    HASH_DEL(r->jobs, j);
    job_launch_unref(j->launch);
    free(j->ranks);
    free(j);
}

void ranks_destroy(struct ranks *r)
{
    struct ranks_job *j, *tmp;

    if (!r)
        return;
    HASH_ITER(hh, r->jobs, j, tmp)
    {
        free_job(r, j);
    }
    writer_free_all(r);
    reader_free_all(r);
    free(r);
}

char *ranks_own_dir(const struct ranks *r, const struct job_launch *l)
{
    return l->spec.nfiles ? xasprintf("%s/%s/" JOB_FILES_DIR, r->env->session_dir, l->nspace)
                          : xstrdup(r->env->session_dir);
}

/* --- callbacks of the PMIx server */

struct later {
    struct ranks *r;
    char *nspace;
};

static struct later *make_later(struct ranks *r, const char *nspace)
{
    struct later *l = xmalloc(sizeof(*l));

    l->r = r;
    l->nspace = xstrdup(nspace);
    return l;
}

static void free_later(struct later *l)
{
    free(l->nspace);
    free(l);
}

static void on_registered(int status, void *arg)
{
    struct later *l = arg;

    host_enter(l->r->env);
    core_ranks(l->r->core, l->nspace, CORE_RANKS_REGISTERED, status == 0 ? 0 : EIO,
               "the PMIx server refuses the job");
    host_drain(l->r->env);
    free_later(l);
}

static void on_cleaned(int status, void *arg)
{
    struct later *l = arg;

    host_enter(l->r->env);
    core_ranks(l->r->core, l->nspace, CORE_RANKS_CLEANED, 0, NULL);
    iof_job_gone(l->r->iof, l->nspace);
    host_drain(l->r->env);
    free_later(l);
}

/* --- actions */

static void register_ranks(struct ranks *r, const struct job_launch *l)
{
    struct ranks_job *j = xcalloc(1, sizeof(*j));

    j->launch = job_launch_ref(l);
    j->oom_kills = cgroup_oom_kills("");
    j->ranks = xcalloc((size_t)l->nranks + 1, sizeof(*j->ranks));
    HASH_ADD_KEYPTR(hh, r->jobs, j->launch->nspace, strlen(j->launch->nspace), j);
    log_info("job %s: this daemon runs %u of its %u ranks, with %zu files", l->nspace,
             job_launch_local_size(l, (uint32_t)job_launch_node(l, r->env->vpid)), l->nranks,
             l->spec.nfiles);
    pmix_srv_register(r->pmix, l, getuid(), getgid(), on_registered, make_later(r, l->nspace));
}

static void take_files(struct ranks *r, const struct ranks_job *j)
{
    struct err err = {0};

    if (writer_start(r, j->launch, &err) < 0)
        core_ranks(r->core, j->launch->nspace, CORE_RANKS_FILES, err.code ? err.code : EIO,
                   err.msg);
}

static void create_ranks(struct ranks *r, const struct ranks_job *j, bool waits)
{
    struct err err = {0};

    if (ranks_create_processes(r, j->launch, waits, &err) == 0)
        return;
    log_error("job %s: %s", j->launch->nspace, err.msg);
    core_ranks(r->core, j->launch->nspace, CORE_RANKS_NOT_CREATED, err.code ? err.code : EIO,
               "the start of its ranks");
}

/* Ranks that have stopped at their exec are continued by a signal, others by an event. */
static void continue_ranks(struct ranks *r, const struct ranks_job *j, uint32_t rank)
{
    const struct job_launch *l = j->launch;

    if (l->spec.stop == JOB_STOP_EXEC)
        odls_signal(r->odls, l->nspace, rank, SIGCONT);
    else
        pmix_srv_continue(r->pmix, l->nspace, rank == JOB_RANK_ALL ? PMIX_SRV_RANK_ALL : rank);
}

static void clean_up(struct ranks *r, struct ranks_job *j)
{
    const char *nspace = j->launch->nspace;

    files_forget(r->files, nspace);
    pmix_srv_job_gone(r->pmix, nspace, on_cleaned, make_later(r, nspace));
    free_job(r, j);
}

void ranks_act(struct ranks *r, const struct out_act *act)
{
    const char *nspace = out_nspace(act);
    struct ranks_job *j = nspace ? ranks_find(r, nspace) : NULL;

    if (act->kind == OUT_LAUNCH)
        register_ranks(r, act->launch.launch);
    if (!j)
        return;
    switch ((int)act->kind) {
    case OUT_TAKE_FILES:
        take_files(r, j);
        break;
    case OUT_DROP_FILES:
        writer_stop(r, nspace);
        break;
    case OUT_CREATE:
        create_ranks(r, j, act->create.waits);
        break;
    case OUT_START:
        odls_go(r->odls, nspace);
        break;
    case OUT_SIGNAL:
        odls_signal(r->odls, nspace, ODLS_ALL_RANKS, act->signal.signum);
        break;
    case OUT_END_RANKS:
        odls_end(r->odls, nspace, ODLS_ALL_RANKS, act->end_ranks.grace_ms);
        break;
    case OUT_CONTINUE:
        continue_ranks(r, j, act->go_on.rank);
        break;
    case OUT_CLEAN:
        clean_up(r, j);
        break;
    default:
        break;
    }
}

/* --- requests of other processes here */

void ranks_signal_one(struct ranks *r, const char *nspace, uint32_t rank, int signum)
{
    const struct ranks_job *j = ranks_find(r, nspace);

    if (j && rank < j->launch->nranks && (signum == SIGTERM || signum == SIGKILL))
        j->ranks[rank].ordered = true;
    if (signum == SIGTERM)
        odls_end(r->odls, nspace, rank, RANK_GRACE_MS);
    else
        odls_signal(r->odls, nspace, rank, signum);
}

void ranks_write(struct ranks *r, const char *nspace, uint32_t rank, int stream, const void *data,
                 size_t len)
{
    const struct ranks_job *j = ranks_find(r, nspace);

    if (j && rank < j->launch->nranks && j->launch->home_vpid != JOB_NO_VPID && len)
        iof_output(r->iof, j->launch, rank, stream, data, len);
}
