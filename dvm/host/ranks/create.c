/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a job's ranks for the spawner: program, environment, working directory,
 * CPUs. */
#include "dvm/host/ranks/ranks_private.h"

#include <stdlib.h>
#include <string.h>

static bool takes_stdin(const struct job_launch *l, uint32_t rank)
{
    return l->spec.stdin_rank == JOB_RANK_ALL || l->spec.stdin_rank == rank;
}

/* CPUs of the n-th rank here; NULL: the rank is not bound. */
static const char *cpuset_of(const struct job_launch *l, size_t n)
{
    return n < l->ncpus && l->cpus[n][0] ? l->cpus[n] : NULL;
}

/* The command line. A program that is a file of the job gets the path of that file. */
static const char **make_argv(const struct job_launch *l, const struct job_app *app,
                              const char *dir)
{
    const char **argv;
    size_t n = 0;

    while (app->argv[n])
        n++;
    argv = xcalloc(n + 1, sizeof(*argv));
    for (size_t i = 0; i < n; i++)
        argv[i] = app->program && i == 0 ? xasprintf("%s/%s", dir, l->spec.files[app->program - 1])
                                         : xstrdup(app->argv[i]);
    return argv;
}

static const char *const **make_argvs(const struct job_launch *l, const char *dir)
{
    const char *const **argvs = xcalloc(l->spec.napps, sizeof(*argvs));

    for (size_t a = 0; a < l->spec.napps; a++)
        argvs[a] = make_argv(l, &l->spec.apps[a], dir);
    return argvs;
}

static void free_argvs(const char *const **argvs, const struct job_launch *l)
{
    for (size_t a = 0; a < l->spec.napps; a++) {
        for (size_t i = 0; argvs[a][i]; i++)
            free((void *)argvs[a][i]);
        free((void *)argvs[a]);
    }
    free((void *)argvs);
}

/* The n-th rank here, without program, directory and environment. */
static struct odls_rank describe_rank(const struct job_launch *l, uint32_t rank, size_t n,
                                      bool waits)
{
    bool stops = job_stops(&l->spec, rank);

    return (struct odls_rank){.rank = rank,
                              .cpuset = cpuset_of(l, n),
                              .want_stdin = takes_stdin(l, rank),
                              .stop_at_exec = stops && l->spec.stop == JOB_STOP_EXEC,
                              .traceable = stops,
                              .waits = waits};
}

int ranks_create_processes(struct ranks *r, const struct job_launch *l, bool waits, struct err *err)
{
    int node = job_launch_node(l, r->env->vpid);
    struct odls_rank *list = xcalloc((size_t)l->nranks + 1, sizeof(*list));
    FREE_AUTO char *dir = ranks_own_dir(r, l);
    const char *const **argvs = make_argvs(l, dir);
    size_t n = 0;
    int rc = 0;

    for (uint32_t rank = 0; rc == 0 && rank < l->nranks; rank++) {
        const struct job_app *app = &l->spec.apps[l->rank_app[rank]];
        char **env;

        if (l->rank_node[rank] != (uint32_t)node)
            continue;
        env = pmix_srv_env(r->pmix, l->nspace, rank, app->env, err);
        if (!env) {
            rc = -1;
            break;
        }
        list[n] = describe_rank(l, rank, n, waits);
        list[n].argv = argvs[l->rank_app[rank]];
        list[n].cwd = *app->cwd ? app->cwd : dir;
        list[n++].env = (const char *const *)env;
    }
    if (rc == 0)
        rc = odls_start(r->odls, l->nspace, list, n, err);
    for (size_t i = 0; i < n; i++)
        pmix_srv_env_free((char **)list[i].env);
    free(list);
    free_argvs(argvs, l);
    return rc;
}
