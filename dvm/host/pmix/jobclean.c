/* SPDX-License-Identifier: BSD-3-Clause */
/* Cleanup scopes: the paths that are removed at the end of a rank or of a job.
 *
 * In: requests of clients (cleanup.c has read and checked them) and of a job's submission, ends of
 * ranks and jobs, and the spawner's answers. Out: each path goes to the spawner at once, under the
 * number of its scope; at the end of the rank or the job the spawner is told to run the scope.
 *
 * Invariants: the spawner knows every path before the request is answered, so that paths are
 * removed also if this daemon is killed; the operation that ends a rank or job waits until the
 * spawner has removed them; a job's scope runs with its last process on this daemon.
 *
 * Failures: a target that is not here, or has ended, is refused. Removals that take too long are
 * given up by the spawner, and the end is reported nevertheless. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/spawner/remove.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A scope whose paths are being removed, and the operation that waits for that. */
struct cleaning {
    uint64_t scope;
    uint64_t op;
    UT_hash_handle hh;
};

/* The session directory, or a job's own in it. */
static bool is_of_sessions(const struct pmix_srv *p, const char *path)
{
    FREE_AUTO char *dir = cleanup_normal(p->session_dir);
    size_t n = dir ? strlen(dir) : 0;

    return n && strncmp(path, dir, n) == 0 &&
           (!path[n] || (path[n] == '/' && !strchr(path + n + 1, '/')));
}

/* In Open MPI 4.1 a rank asks for the removal of its job's directory, in which other ranks still
 * have files. The daemon removes that directory with the job. */
static void on_changed(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    struct pmix_srv *p = arg;

    if ((flags & REMOVE_DIR) && is_of_sessions(p, path))
        return;
    p->up.on_clean_add(scope, flags, path, p->arg);
}

/* A process: it has to be local and alive. A job: one of its processes has to be. */
static struct cleanup_scope *scope_of(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    struct job *j = job_find(p, nspace);
    struct cleanup_scope *s;

    if (!j || (rank == PMIX_RANK_WILDCARD ? j->ngone >= job_local_size(j)
                                          : !job_is_local(j, rank) || j->ranks[rank].gone))
        return NULL;
    if (rank != PMIX_RANK_WILDCARD && !j->ranks[rank].cleanup)
        j->ranks[rank].cleanup = xcalloc(1, sizeof(*s));
    s = rank == PMIX_RANK_WILDCARD ? &j->cleanup : j->ranks[rank].cleanup;
    if (!s->id)
        s->id = ++p->last_id;
    return s;
}

pmix_status_t jobclean_register(struct pmix_srv *p, const struct upcall *u)
{
    /* No target: all processes of the caller's own job here. */
    struct pmix_srv_proc own = {.rank = PMIX_RANK_WILDCARD};
    const struct pmix_srv_proc *procs = u->nprocs ? u->procs : &own;
    size_t n = u->nprocs ? u->nprocs : 1;

    if (!p->up.on_clean_add)
        return PMIX_ERR_NOT_SUPPORTED;
    memcpy(own.nspace, u->nspace, sizeof(own.nspace) - 1);
    for (size_t i = 0; i < n; i++) {
        const struct cleanup_scope *s = scope_of(p, procs[i].nspace, procs[i].rank);
        pmix_status_t rc = s ? cleanup_check(s, &u->cleanup) : PMIX_ERR_NOT_FOUND;

        if (rc != PMIX_SUCCESS)
            return rc;
    }
    for (size_t i = 0; i < n; i++)
        cleanup_take(scope_of(p, procs[i].nspace, procs[i].rank), &u->cleanup, on_changed, p);
    return PMIX_SUCCESS;
}

/* Flags of a job's description are passed on unchanged. */
static_assert((int)JOB_CLEAN_DIR == (int)REMOVE_DIR &&
                  (int)JOB_CLEAN_RECURSIVE == (int)REMOVE_RECURSIVE &&
                  (int)JOB_CLEAN_LEAVE_TOPDIR == (int)REMOVE_LEAVE_TOPDIR &&
                  (int)JOB_CLEAN_ONLY_EMPTY == (int)REMOVE_ONLY_EMPTY &&
                  (int)JOB_CLEAN_IGNORE == (int)REMOVE_IGNORE,
              "two names for one set of flags");

void jobclean_spec(struct pmix_srv *p, struct job *j)
{
    const struct job_spec *s = &j->launch->spec;
    struct cleanup_req req;

    if (!p->up.on_clean_add || s->ncleanups == 0)
        return;
    j->cleanup.id = ++p->last_id;
    req = cleanup_req_of(s->cleanups, s->ncleanups);
    if (cleanup_check(&j->cleanup, &req) == PMIX_SUCCESS)
        cleanup_take(&j->cleanup, &req, on_changed, p);
    cleanup_req_free(&req);
}

static void run_scope(struct pmix_srv *p, uint64_t id, struct op *op)
{
    struct cleaning *c = xcalloc(1, sizeof(*c));

    c->scope = id;
    c->op = op->id;
    HASH_ADD(hh, p->cleanings, scope, sizeof(c->scope), c);
    op->left++;
    p->up.on_clean_run(id, p->arg);
}

static void scope_end(struct pmix_srv *p, struct cleanup_scope *s, struct op *op)
{
    if (s->known)
        run_scope(p, s->id, op);
    cleanup_scope_clear(s);
}

void pmix_srv_cleaned(struct pmix_srv *p, uint64_t scope)
{
    struct cleaning *c = NULL;

    HASH_FIND(hh, p->cleanings, &scope, sizeof(scope), c);
    if (!c)
        return;
    HASH_DEL(p->cleanings, c);
    op_part_done(c->op, PMIX_SUCCESS);
    free(c);
}

static bool is_last(const struct job *j)
{
    return j->ngone == job_local_size(j);
}

bool pmix_srv_cleans(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    const struct job *j = job_find(p, nspace);

    if (!j || !job_is_local(j, rank) || j->ranks[rank].gone)
        return false;
    return (j->ranks[rank].cleanup && j->ranks[rank].cleanup->known) ||
           (j->cleanup.known && j->ngone + 1 == job_local_size(j));
}

void jobclean_rank_gone(struct pmix_srv *p, struct job *j, uint32_t rank, struct op *op)
{
    if (!job_is_local(j, rank) || j->ranks[rank].gone)
        return;
    j->ranks[rank].gone = true;
    j->ngone++;
    if (j->ranks[rank].cleanup)
        scope_end(p, j->ranks[rank].cleanup, op);
    if (is_last(j))
        scope_end(p, &j->cleanup, op);
}

void jobclean_dir(struct pmix_srv *p, const struct job *j, struct op *op)
{
    FREE_AUTO char *dir = xasprintf("%s/%s", p->session_dir, j->nspace);
    uint64_t scope = ++p->last_id;

    p->up.on_clean_add(scope, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS, dir, p->arg);
    run_scope(p, scope, op);
}

void jobclean_sessions(struct pmix_srv *p)
{
    p->up.on_clean_add(++p->last_id, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS | REMOVE_JOBS,
                       p->session_dir, p->arg);
}

void jobclean_end(struct pmix_srv *p, struct job *j, struct op *op)
{
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (j->ranks[r].cleanup)
            scope_end(p, j->ranks[r].cleanup, op);
    }
    scope_end(p, &j->cleanup, op);
}

void jobclean_free(struct job *j)
{
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (j->ranks[r].cleanup)
            cleanup_scope_clear(j->ranks[r].cleanup);
        free(j->ranks[r].cleanup);
    }
    cleanup_scope_clear(&j->cleanup);
}

void jobclean_free_all(struct pmix_srv *p)
{
    struct cleaning *c, *next;

    HASH_ITER(hh, p->cleanings, c, next)
    {
        HASH_DEL(p->cleanings, c);
        free(c);
    }
}
