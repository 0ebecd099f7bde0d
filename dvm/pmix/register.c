/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of this daemon: registration with the library, environments of ranks, their end. */
#include "base/log/log.h"
#include "dvm/pmix/pmix_private.h"
#include "dvm/pmix/sessiondir.h"

#include <stdlib.h>
#include <string.h>

struct job *job_find(struct pmix_srv *p, const char *nspace)
{
    struct job *j;

    HASH_FIND_STR(p->jobs, nspace, j);
    return j;
}

static void launch_copy(struct job_launch *to, const struct job_launch *from)
{
    size_t ranks_bytes = from->nranks * sizeof(uint32_t);

    *to = *from;
    to->nspace = xstrdup(from->nspace);
    job_spec_copy(&to->spec, &from->spec);
    to->nodes = xcalloc(from->nnodes, sizeof(*to->nodes));
    for (size_t i = 0; i < from->nnodes; i++) {
        to->nodes[i] = from->nodes[i];
        to->nodes[i].host = xstrdup(from->nodes[i].host);
    }
    to->rank_node = xmalloc(ranks_bytes);
    to->rank_app = xmalloc(ranks_bytes);
    if (ranks_bytes) {
        memcpy(to->rank_node, from->rank_node, ranks_bytes);
        memcpy(to->rank_app, from->rank_app, ranks_bytes);
    }
}

/* One pass over the ranks for all of them: jobs are large. */
static void count_ranks(struct job *j)
{
    const struct job_launch *l = &j->launch;
    FREE_AUTO uint32_t *app_size = xcalloc(l->spec.napps, sizeof(*app_size));

    j->local_rank = xcalloc(l->nranks, sizeof(*j->local_rank));
    j->app_rank = xcalloc(l->nranks, sizeof(*j->app_rank));
    j->node_size = xcalloc(l->nnodes, sizeof(*j->node_size));
    j->gone = xcalloc(l->nranks, sizeof(*j->gone));
    for (uint32_t r = 0; r < l->nranks; r++) {
        j->local_rank[r] = j->node_size[l->rank_node[r]]++;
        j->app_rank[r] = app_size[l->rank_app[r]]++;
    }
}

struct job *job_add(struct pmix_srv *p, const struct job_launch *l)
{
    struct job *j = xcalloc(1, sizeof(*j));
    int node = job_launch_node(l, p->vpid);

    launch_copy(&j->launch, l);
    j->nspace = j->launch.nspace;
    j->node = node < 0 ? JOB_NO_VPID : (uint32_t)node;
    count_ranks(j);
    HASH_ADD_KEYPTR(hh, p->jobs, j->nspace, strlen(j->nspace), j);
    return j;
}

void job_remove(struct pmix_srv *p, struct job *j)
{
    HASH_DEL(p->jobs, j);
    job_launch_free(&j->launch);
    free(j->local_rank);
    free(j->app_rank);
    free(j->node_size);
    free(j->gone);
    free(j);
}

static bool is_local(const struct job *j, uint32_t rank)
{
    return rank < j->launch.nranks && j->launch.rank_node[rank] == j->node;
}

static int make_dirs(const struct pmix_srv *p, const struct job *j, uid_t uid, gid_t gid,
                     struct err *err)
{
    FREE_AUTO char *nsdir = xasprintf("%s/%s", p->session_dir, j->nspace);

    if (j->node == JOB_NO_VPID)
        return 0;
    if (sessiondir_make(p->session_dir, j->nspace, uid, gid, err) < 0)
        return -1;
    for (uint32_t r = 0; r < j->launch.nranks; r++) {
        FREE_AUTO char *name = xasprintf("%u", r);

        if (is_local(j, r) && sessiondir_make(nsdir, name, uid, gid, err) < 0)
            return -1;
    }
    return 0;
}

/* The library works its requests off in order, so none waits for the one before. */
static void register_all(struct op *op, const struct job *j, uid_t uid, gid_t gid)
{
    uint32_t nlocal = j->node == JOB_NO_VPID ? 0 : j->node_size[j->node];
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, j->nspace, PMIX_RANK_WILDCARD);
    op_returned(op, PMIx_server_register_nspace(proc.nspace, (int)nlocal, op->info.array,
                                                op->info.size, op_on_status, op_cbdata(op)));
    for (uint32_t r = 0; r < j->launch.nranks; r++) {
        if (!is_local(j, r))
            continue;
        proc.rank = r;
        op_returned(
            op, PMIx_server_register_client(&proc, uid, gid, NULL, op_on_status, op_cbdata(op)));
    }
}

void pmix_srv_register(struct pmix_srv *p, const struct job_launch *l, uid_t uid, gid_t gid,
                       void (*done)(int status, void *arg), void *arg)
{
    struct op *op = op_new(p, l->nspace, PMIX_RANK_WILDCARD);
    struct err err = {0};
    struct job *j;

    op->done = done;
    op->arg = arg;
    if (job_find(p, l->nspace)) {
        op_returned(op, PMIX_ERR_EXISTS);
        return;
    }
    j = job_add(p, l);
    if (make_dirs(p, j, uid, gid, &err) == 0 && jobinfo_build(p, j, &op->info, &err) == 0) {
        register_all(op, j, uid, gid);
        return;
    }
    log_error("pmix: registering job %s: %s", l->nspace, err.msg);
    job_remove(p, j);
    op_returned(op, PMIX_ERROR);
}

char **pmix_srv_env(struct pmix_srv *p, const char *nspace, uint32_t rank, char *const *env,
                    struct err *err)
{
    const struct job *j = job_find(p, nspace);
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    pmix_proc_t proc;
    char **copy;
    size_t n = 0;

    while (env[n])
        n++;
    copy = xcalloc(n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(env[i]);
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    if (j && is_local(j, rank))
        rc = PMIx_server_setup_fork(&proc, &copy);
    if (rc != PMIX_SUCCESS) {
        pmix_srv_env_free(copy);
        err_set(err, "environment of rank %u of job %s: %s", rank, nspace, PMIx_Error_string(rc));
        return NULL;
    }
    envdefault_add(&copy, p, j, rank);
    return copy;
}

void pmix_srv_env_free(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        free(env[i]);
    free(env);
}

void pmix_srv_rank_gone(struct pmix_srv *p, const char *nspace, uint32_t rank,
                        void (*done)(int status, void *arg), void *arg)
{
    struct op *op = op_new(p, nspace, rank);
    struct job *j = job_find(p, nspace);
    pmix_proc_t proc;

    if (j && rank < j->launch.nranks)
        j->gone[rank] = true;
    op->done = done;
    op->arg = arg;
    op->left = 1;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    /* Whoever still waits for what this rank has not published will not get it. */
    op_finish_all_of(p, nspace, rank, PMIX_ERR_NOT_FOUND);
    PMIx_server_deregister_client(&proc, op_on_status, op_cbdata(op));
}

static void remove_job(struct pmix_srv *p, struct op *op)
{
    struct job *j = job_find(p, op->nspace);
    struct err err = {0};

    if (!j)
        return;
    if (sessiondir_remove(p->session_dir, op->nspace, &err) < 0)
        log_warn("pmix: end of job %s: %s", op->nspace, err.msg);
    job_remove(p, j);
}

void pmix_srv_job_gone(struct pmix_srv *p, const char *nspace, void (*done)(int status, void *arg),
                       void *arg)
{
    struct op *op = op_new(p, nspace, PMIX_RANK_WILDCARD);
    pmix_nspace_t name;

    op->done = done;
    op->arg = arg;
    op->then = remove_job;
    op->left = 1;
    PMIX_LOAD_NSPACE(name, nspace);
    op_finish_all_of(p, nspace, PMIX_RANK_WILDCARD, PMIX_ERR_NOT_FOUND);
    PMIx_server_deregister_nspace(name, op_on_status, op_cbdata(op));
}
