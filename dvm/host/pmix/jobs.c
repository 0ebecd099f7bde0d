/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of this daemon in the PMIx library: registered, described, and deregistered.
 *
 * pmix_srv_register() makes the namespace and the local ranks known. The description (jobinfo.c)
 * waits for the first rank that connects, since to describe every rank costs a hundred times as
 * much as to admit a client. pmix_srv_rank_gone() deregisters a rank, pmix_srv_job_gone() the job;
 * then its directory is removed.
 *
 * Invariants: the library processes its requests in order, so none has to wait for the one before.
 * A job that a rank has spawned, or whose ranks are all elsewhere, is described at once, since
 * others may ask sooner. A directory is removed when no rank can make it again.
 *
 * A client library waits for the answer to PMIx_Finalize for two seconds only, so a process may end
 * before a busy server has read the request. pmix_srv_settle() waits until the library has found
 * the rank's connections closed: everything that was sent has been read then, and is handled before
 * the next call that the library's thread is given.
 *
 * Failures: a job whose description or directories cannot be made ends, with the reason, as if its
 * rank had called PMIx_Abort. A process that a rank has left may hold its connection open. The
 * looks end after LOOKS_MAX, when all that the rank has sent was read long ago. */
#include "base/log/log.h"
#include "dvm/host/jobspec/outer.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/sessiondir.h"

#include <errno.h>
#include <pmix_extend.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_MS 1
#define LOOKS_MAX 1000

struct job *job_find(struct pmix_srv *p, const char *nspace)
{
    struct job *j;

    HASH_FIND_STR(p->jobs, nspace, j);
    return j;
}

/* One pass over the ranks for all of them: jobs are large. */
static void count_ranks(struct job *j)
{
    const struct job_launch *l = j->launch;
    FREE_AUTO uint32_t *app_size = xcalloc(l->spec.napps, sizeof(*app_size));

    j->ranks = xcalloc(l->nranks, sizeof(*j->ranks));
    j->node_size = xcalloc(l->nnodes, sizeof(*j->node_size));
    for (uint32_t r = 0; r < l->nranks; r++) {
        j->ranks[r].local_rank = j->node_size[l->rank_node[r]]++;
        j->ranks[r].app_rank = app_size[l->rank_app[r]]++;
    }
}

struct job *job_add(struct pmix_srv *p, const struct job_launch *l)
{
    struct job *j = xcalloc(1, sizeof(*j));
    int node = job_launch_node(l, p->vpid);

    j->srv = p;
    j->launch = job_launch_ref(l);
    j->nspace = l->nspace;
    j->node = node < 0 ? JOB_NO_VPID : (uint32_t)node;
    count_ranks(j);
    HASH_ADD_KEYPTR(hh, p->jobs, j->nspace, strlen(j->nspace), j);
    return j;
}

void job_connected(struct pmix_srv *p, const char *nspace, uint32_t rank, bool now)
{
    struct job *j = job_find(p, nspace);

    if (!j || rank >= j->launch->nranks || j->ranks[rank].connected == now)
        return;
    j->ranks[rank].connected = now;
    if (now)
        p->nclients++;
    else
        p->nclients--;
}

bool pmix_srv_in_session(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    const struct job *j = job_find(p, nspace);

    return j && rank < j->launch->nranks && atomic_load(&j->ranks[rank].in_session);
}

void job_remove(struct pmix_srv *p, struct job *j)
{
    for (uint32_t r = 0; r < j->launch->nranks; r++)
        job_connected(p, j->nspace, r, false);
    HASH_DEL(p->jobs, j);
    jobclean_free(j);
    free(j->ranks);
    free(j->node_size);
    job_launch_unref(j->launch);
    free(j);
}

bool job_is_local(const struct job *j, uint32_t rank)
{
    return rank < j->launch->nranks && j->launch->rank_node[rank] == j->node;
}

uint32_t job_local_size(const struct job *j)
{
    return j->node == JOB_NO_VPID ? 0 : j->node_size[j->node];
}

/* To describe every rank costs a hundred times as much as to admit a client, and a program
 * without PMIx never asks. So the description waits for the first rank that connects
 * (job_prepare()). Two kinds of jobs are described at once, since others may ask sooner: jobs
 * that a rank has spawned, and jobs whose ranks are all elsewhere. */
static bool describe_now(const struct job *j)
{
    const char *parent = j->launch->spec.parent_nspace;

    return job_local_size(j) == 0 || (parent && parent[0]);
}

struct description {
    pmix_data_array_t info;
    char *nspace;
};

static void on_described(pmix_status_t status, void *cbdata)
{
    struct description *d = cbdata;

    if (status != PMIX_SUCCESS)
        log_error("pmix: job info of %s: %s", d->nspace, PMIx_Error_string(status));
    PMIX_DATA_ARRAY_DESTRUCT(&d->info);
    free(d->nspace);
    free(d);
}

static pmix_status_t describe_job(struct job *j)
{
    struct description *d = xcalloc(1, sizeof(*d));
    struct err err = {0};
    pmix_nspace_t name;
    pmix_status_t rc = PMIX_ERR_OUT_OF_RESOURCE;

    d->nspace = xstrdup(j->nspace);
    PMIX_LOAD_NSPACE(name, j->nspace);
    if (jobinfo_build(j->srv, j, &d->info, &err) == 0)
        rc = PMIx_server_register_nspace(name, (int)job_local_size(j), d->info.array, d->info.size,
                                         on_described, d);
    if (rc != PMIX_SUCCESS)
        on_described(rc, d);
    return rc;
}

/* PMIX_NSDIR and PMIX_PROCDIR. A rank learns their names from its job info only, so they are not
 * made for a program without PMIx. */
static pmix_status_t make_dirs(struct job *j, uint32_t rank)
{
    FREE_AUTO char *nsdir = xasprintf("%s/%s", j->srv->session_dir, j->nspace);
    FREE_AUTO char *name = xasprintf("%u", rank);
    struct err err = {0};

    j->made_dir = true;
    if (sessiondir_make(j->srv->session_dir, j->nspace, j->uid, j->gid, &err) == 0 &&
        sessiondir_make(nsdir, name, j->uid, j->gid, &err) == 0)
        return PMIX_SUCCESS;
    log_error("pmix: rank %u of job %s connects: %s", rank, j->nspace, err.msg);
    upcall_abort_unlaunched(j->nspace, rank, err.msg);
    return PMIX_ERR_OUT_OF_RESOURCE;
}

pmix_status_t job_prepare(struct job *j, uint32_t rank)
{
    pmix_status_t rc = PMIX_SUCCESS;

    if (!j || rank >= j->launch->nranks)
        return PMIX_SUCCESS;
    topology_share(j->srv);
    if (!j->described)
        rc = describe_job(j);
    j->described |= rc == PMIX_SUCCESS;
    /* Once: programs that a rank runs in sequence share it. */
    if (rc == PMIX_SUCCESS && !j->ranks[rank].has_dir)
        rc = make_dirs(j, rank);
    j->ranks[rank].has_dir |= rc == PMIX_SUCCESS;
    return rc;
}

/* The library processes its requests in order, so none has to wait for the one before. */
static void register_all(struct op *op, struct job *j)
{
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, j->nspace, PMIX_RANK_WILDCARD);
    op_returned(op, PMIx_server_register_nspace(proc.nspace, (int)job_local_size(j), op->info.array,
                                                op->info.size, op_on_status, op_cbdata(op)));
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (!job_is_local(j, r))
            continue;
        proc.rank = r;
        op_returned(
            op, PMIx_server_register_client(&proc, j->uid, j->gid, j, op_on_status, op_cbdata(op)));
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
    j->uid = uid;
    j->gid = gid;
    j->described = describe_now(j);
    if (j->node != JOB_NO_VPID)
        jobclean_spec(p, j);
    if (!j->described || jobinfo_build(p, j, &op->info, &err) == 0) {
        register_all(op, j);
        return;
    }
    log_error("pmix: registering job %s: %s", l->nspace, err.msg);
    jobclean_end(p, j, op);
    job_remove(p, j);
    op_returned(op, PMIX_ERROR);
}

int pmix_srv_make_dir(struct pmix_srv *p, const char *nspace, struct err *err)
{
    struct job *j = job_find(p, nspace);

    if (!j)
        return err_code(err, ENOENT, "job %s is not registered", nspace);
    j->made_dir = true;
    return sessiondir_make(p->session_dir, j->nspace, j->uid, j->gid, err);
}

/* Without the identity that another launcher, or the DVM itself, gave to the process that submitted
 * or spawned the job. */
static char **copy_parameters(char *const *env)
{
    char **copy;
    size_t n = 0;

    while (env[n])
        n++;
    copy = xcalloc(n + 1, sizeof(*copy));
    for (n = 0; *env; env++) {
        if (!outer_is_identity(*env))
            copy[n++] = xstrdup(*env);
    }
    return copy;
}

char **pmix_srv_env(struct pmix_srv *p, const char *nspace, uint32_t rank, char *const *env,
                    struct err *err)
{
    const struct job *j = job_find(p, nspace);
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    pmix_proc_t proc;
    char **copy = copy_parameters(env);

    PMIX_LOAD_PROCID(&proc, nspace, rank);
    if (j && job_is_local(j, rank))
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

    job_connected(p, nspace, rank, false);
    if (j && rank < j->launch->nranks)
        j->ranks[rank].waiting = false;
    if (j && rank < j->launch->nranks && j->ranks[rank].tells_end)
        data_rank_gone(p, nspace, rank);
    op->done = done;
    op->arg = arg;
    op->left = 1;
    if (j)
        jobclean_rank_gone(p, j, rank, op);
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    /* Requests that still wait for data of this rank fail. */
    op_finish_all_of(p, nspace, rank, PMIX_ERR_NOT_FOUND);
    watch_asked(p);
    PMIx_server_deregister_client(&proc, op_on_status, op_cbdata(op));
}

/* --- the last messages of a rank whose process has ended */

struct settling {
    const struct pmix_srv *srv;
    uint64_t op;
    pmix_proc_t rank;
    unsigned looks;
};

static void report_settled(void *arg)
{
    struct settling *s = arg;

    op_part_done(s->op, PMIX_SUCCESS);
    free(s);
}

static void look_at_rank(void *arg)
{
    struct settling *s = arg;
    bool again = ++s->looks < LOOKS_MAX && pmix_extend_is_connected(&s->rank);

    handback_after(s->srv, again ? LOOK_MS : 0, again ? look_at_rank : report_settled, free, s);
}

void pmix_srv_settle(struct pmix_srv *p, const char *nspace, uint32_t rank,
                     void (*done)(int status, void *arg), void *arg)
{
    struct settling *s = xcalloc(1, sizeof(*s));
    struct op *op = op_new(p, nspace, rank);

    op->done = done;
    op->arg = arg;
    op->left = 1;
    s->srv = p;
    s->op = op->id;
    PMIX_LOAD_PROCID(&s->rank, nspace, rank);
    handback_post(p, look_at_rank, free, s);
}

/* --- the end of a job */

static void remove_job(struct pmix_srv *p, struct op *op)
{
    struct job *j = job_find(p, op->nspace);

    if (j)
        job_remove(p, j);
}

/* No rank can connect any more, so nothing makes the job's directory again. */
static void remove_dir(struct pmix_srv *p, struct op *op)
{
    const struct job *j = job_find(p, op->nspace);
    struct op *next;

    if (!j || !j->made_dir || !p->up.on_clean_add || p->closed) {
        remove_job(p, op);
        return;
    }
    next = op_new(p, op->nspace, PMIX_RANK_WILDCARD);
    next->status = op->status;
    next->done = op->done;
    next->arg = op->arg;
    next->then = remove_job;
    op->done = NULL;
    jobclean_dir(p, j, next);
}

void pmix_srv_job_gone(struct pmix_srv *p, const char *nspace, void (*done)(int status, void *arg),
                       void *arg)
{
    struct op *op = op_new(p, nspace, PMIX_RANK_WILDCARD);
    struct job *j = job_find(p, nspace);
    pmix_nspace_t name;

    op->done = done;
    op->arg = arg;
    op->then = remove_dir;
    op->left = 1;
    if (j)
        jobclean_end(p, j, op);
    PMIX_LOAD_NSPACE(name, nspace);
    op_finish_all_of(p, nspace, PMIX_RANK_WILDCARD, PMIX_ERR_NOT_FOUND);
    watch_asked(p);
    PMIx_server_deregister_nspace(name, op_on_status, op_cbdata(op));
}
