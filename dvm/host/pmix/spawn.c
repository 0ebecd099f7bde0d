/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn: the request of a local rank or tool becomes a job's specification.
 *
 * In: programs and attributes. Out: a struct job_spec, as prun makes one, with the requester as
 * its parent. Mapping, the policy for failed processes, files, cleanups, hosts and debug stops
 * have the syntax of prun's options where an attribute has none of its own.
 *
 * Invariants: names of files and hosts are passed on as given: the daemon derives the files' names
 * at the ranks, and finds out which members the hosts are. A program runs in the environment that
 * its parent was submitted with, and the request's own variables take precedence.
 *
 * Failures: an attribute that cannot be carried out and would change where or how the job runs is
 * refused with NOT SUPPORTED, a malformed one with BAD PARAM, before anything is started. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/map/policy.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void run_spawn(struct pmix_srv *p, struct upcall *u);

static char **strings_of(char *const *list)
{
    size_t n = 0;
    char **copy;

    while (list && list[n])
        n++;
    copy = xcalloc(n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(list[i]);
    return copy;
}

static const char *info_str(const pmix_info_t *info, size_t n, const char *key)
{
    const pmix_info_t *i = info_find(info, n, key);

    return i && i->value.type == PMIX_STRING ? i->value.data.string : NULL;
}

/* The names as given: the daemon derives their names at the ranks, and finds out which of them
 * is a program. */
static pmix_status_t files_of(const pmix_info_t *info, size_t n, struct job_spec *spec)
{
    const char *list = info_str(info, n, PMIX_PRELOAD_FILES);
    FREE_AUTO char *copy = xstrdup(list ? list : "");
    char *rest = copy;
    const char *path;

    while (list && (path = strsep(&rest, ","))) {
        if (!path[0] || spec->nfiles == JOB_FILES_MAX)
            return PMIX_ERR_BAD_PARAM;
        spec->files = xrealloc(spec->files, (spec->nfiles + 1) * sizeof(*spec->files));
        spec->files[spec->nfiles++] = xstrdup(path);
    }
    return PMIX_SUCCESS;
}

static void app_of(const pmix_app_t *from, struct job_app *to)
{
    char *only_cmd[] = {from->cmd, NULL};
    const char *wdir = info_str(from->info, from->ninfo, PMIX_WDIR);

    to->argv = strings_of(from->argv && from->argv[0] ? from->argv : only_cmd);
    /* `cmd` is the program; argv[0] may be another name, for which a job spec has no field. */
    if (from->cmd && to->argv[0]) {
        free(to->argv[0]);
        to->argv[0] = xstrdup(from->cmd);
    }
    to->env = strings_of(from->env);
    /* libpmix fills in `cwd` itself, with the caller's directory: the attribute takes
     * precedence. */
    if (info_true(from->info, from->ninfo, PMIX_SET_SESSION_CWD))
        wdir = SPAWN_OWN_CWD;
    else if (!wdir)
        wdir = from->cwd ? from->cwd : "";
    to->cwd = xstrdup(wdir);
    to->program = info_true(from->info, from->ninfo, PMIX_PRELOAD_BIN);
    to->nprocs = from->maxprocs > 0 ? (uint32_t)from->maxprocs : 1;
}

struct request {
    const pmix_info_t *info;
    size_t ninfo;
    const pmix_app_t *apps;
    size_t napps;
};

/* The value of an attribute that belongs to a job as a whole: the request gives it for the job, or
 * the same value for each program. False: the programs differ. NULL: the attribute is missing. */
static bool word_of(const struct request *r, const char *key, const char **word)
{
    const char *of_job = info_str(r->info, r->ninfo, key);

    for (size_t i = 0; i < r->napps; i++) {
        const char *own = info_str(r->apps[i].info, r->apps[i].ninfo, key);
        const char *said = own ? own : of_job;

        if (i > 0 && (!said != !*word || (said && strcmp(said, *word) != 0)))
            return false;
        *word = said;
    }
    return true;
}

/* The syntax of prun's options. */
static bool map_of(const struct request *r, struct job_spec *spec)
{
    const char *map_by = NULL, *rank_by = NULL, *bind_to = NULL;

    return word_of(r, PMIX_MAPBY, &map_by) && word_of(r, PMIX_RANKBY, &rank_by) &&
           word_of(r, PMIX_BINDTO, &bind_to) &&
           (!map_by || policy_map_by(map_by, spec, NULL) == 0) &&
           (!rank_by || policy_rank_by(rank_by, spec, NULL) == 0) &&
           (!bind_to || policy_bind_to(bind_to, spec, NULL) == 0) && policy_check(spec, NULL) == 0;
}

/* The policy for a failed process: in the syntax of prun's --rtos, or by attributes. Processes
 * are not started again. */
static pmix_status_t policy_of(const pmix_info_t *info, size_t n, struct job_spec *spec)
{
    const char *text = info_str(info, n, PMIX_RUNTIME_OPTIONS);
    const pmix_info_t *abort_ = info_find(info, n, PMIX_ABORT_NON_ZERO_TERM);
    long timeout_s = info_int(info, n, PMIX_JOB_TIMEOUT, 0);
    unsigned words = 0;

    if (info_true(info, n, PMIX_JOB_CONTINUOUS) || info_int(info, n, PMIX_MAX_RESTARTS, 0) > 0)
        return PMIX_ERR_NOT_SUPPORTED;
    if (text && policy_rtos(text, &words, NULL) < 0)
        return PMIX_ERR_NOT_SUPPORTED;
    if (info_true(info, n, PMIX_JOB_RECOVERABLE))
        words |= POLICY_RECOVERABLE;
    if (info_true(info, n, PMIX_ABORT_NON_ZERO_TERM))
        words |= POLICY_ABORT;
    else if (abort_ && !(words & POLICY_RECOVERABLE))
        return PMIX_ERR_NOT_SUPPORTED; /* an exit code is as much a failure as a signal */
    if (timeout_s < 0 || policy_rtos_set(words, spec, NULL) < 0)
        return PMIX_ERR_BAD_PARAM;
    spec->timeout_ms = (uint64_t)timeout_s * 1000;
    return PMIX_SUCCESS;
}

/* As in a job control request, for the end of the new job. */
static pmix_status_t cleanups_of(const pmix_info_t *info, size_t n, struct job_spec *spec)
{
    struct cleanup_req req;
    pmix_status_t rc = cleanup_req_read(info, n, &req);

    if (rc == PMIX_SUCCESS && req.n > JOB_CLEANUPS_MAX)
        rc = PMIX_ERR_OUT_OF_RESOURCE;
    if (rc == PMIX_SUCCESS && req.n > 0) {
        spec->cleanups = xcalloc(req.n, sizeof(*spec->cleanups));
        for (size_t i = 0; i < req.n; i++)
            spec->cleanups[spec->ncleanups++] =
                (struct job_cleanup){xstrdup(req.paths[i].path), req.paths[i].flags};
    }
    cleanup_req_free(&req);
    return rc;
}

/* The rank that reads the input that a tool pushes. */
static pmix_status_t stdin_of(const pmix_info_t *info, size_t n, struct job_spec *spec)
{
    const pmix_info_t *to = info_find(info, n, PMIX_STDIN_TGT);

    spec->stdin_rank = info_true(info, n, PMIX_FWD_STDIN) ? 0 : JOB_RANK_NONE;
    if (!to)
        return PMIX_SUCCESS;
    if (to->value.type == PMIX_PROC && to->value.data.proc)
        spec->stdin_rank = to->value.data.proc->rank;
    else if (to->value.type == PMIX_PROC_RANK)
        spec->stdin_rank = to->value.data.rank;
    else
        return PMIX_ERR_BAD_PARAM;
    if (spec->stdin_rank == PMIX_RANK_WILDCARD)
        spec->stdin_rank = JOB_RANK_ALL;
    else if (spec->stdin_rank == PMIX_RANK_INVALID)
        spec->stdin_rank = JOB_RANK_NONE;
    return PMIX_SUCCESS;
}

/* False if the request asks for members that the DVM does not have, which do not join with a
 * job, or names them in a file. To ignore that would start the job elsewhere. */
static bool hosts_are_ours(const pmix_info_t *info, size_t n)
{
    return !info_find(info, n, PMIX_ADD_HOST) && !info_find(info, n, PMIX_ADD_HOSTFILE) &&
           !info_find(info, n, PMIX_HOSTFILE);
}

/* A value of another type than text. */
static bool has_bad_words(const pmix_info_t *info, size_t n)
{
    static const char *const keys[] = {PMIX_HOST, PMIX_MAPBY, PMIX_RANKBY, PMIX_BINDTO};
    bool bad = false;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        bad |= info_find(info, n, keys[i]) && !info_str(info, n, keys[i]);
    return bad;
}

/* The names as given: the daemon finds out which members they are. */
static pmix_status_t hosts_of(const struct request *r, char **hosts)
{
    bool bad = has_bad_words(r->info, r->ninfo);
    bool ours = hosts_are_ours(r->info, r->ninfo);
    const char *list = NULL;

    for (size_t i = 0; i < r->napps; i++) {
        bad |= has_bad_words(r->apps[i].info, r->apps[i].ninfo);
        ours &= hosts_are_ours(r->apps[i].info, r->apps[i].ninfo);
    }
    if (bad)
        return PMIX_ERR_BAD_PARAM;
    if (!ours || !word_of(r, PMIX_HOST, &list))
        return PMIX_ERR_NOT_SUPPORTED;
    *hosts = list ? xstrdup(list) : NULL;
    return PMIX_SUCCESS;
}

static pmix_status_t spec_of(const pmix_proc_t *proc, const struct request *r,
                             struct job_spec *spec)
{
    const pmix_info_t *info = r->info;
    const pmix_app_t *apps = r->apps;
    size_t ninfo = r->ninfo, napps = r->napps;
    pmix_status_t rc;

    if (napps == 0 || napps > JOB_APPS_MAX)
        return PMIX_ERR_BAD_PARAM;
    if (!map_of(r, spec))
        return PMIX_ERR_NOT_SUPPORTED;
    rc = policy_of(info, ninfo, spec);
    if (rc == PMIX_SUCCESS)
        rc = cleanups_of(info, ninfo, spec);
    if (rc == PMIX_SUCCESS)
        rc = files_of(info, ninfo, spec);
    if (rc == PMIX_SUCCESS)
        rc = hold_of(info, ninfo, spec);
    if (rc == PMIX_SUCCESS)
        rc = stdin_of(info, ninfo, spec);
    if (rc != PMIX_SUCCESS)
        return rc;
    spec->parent_nspace = xstrdup(proc->nspace);
    spec->parent_rank = proc->rank;
    spec->apps = xcalloc(napps, sizeof(*spec->apps));
    spec->napps = napps;
    for (size_t i = 0; i < napps; i++) {
        struct job_spec of_app = {0};

        app_of(&apps[i], &spec->apps[i]);
        if (hold_of(apps[i].info, apps[i].ninfo, &of_app) != PMIX_SUCCESS || of_app.stop)
            return PMIX_ERR_NOT_SUPPORTED; /* a job stops as a whole, or one rank of it */
        rc = files_of(apps[i].info, apps[i].ninfo, spec);
        if (rc != PMIX_SUCCESS)
            return rc;
        spec->apps[i].program |= info_true(info, ninfo, PMIX_PRELOAD_BIN);
        if (!spec->apps[i].argv[0])
            return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

pmix_status_t spawn_on_request(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                               const pmix_app_t apps[], size_t napps, pmix_spawn_cbfunc_t cb,
                               void *cbdata)
{
    const struct request r = {info, ninfo, apps, napps};
    struct upcall *u = pmix_srv_upcall_new(run_spawn);
    pmix_status_t rc;

    if (!u)
        return PMIX_ERR_INIT;
    rc = spec_of(proc, &r, &u->spec);
    if (rc == PMIX_SUCCESS)
        rc = hosts_of(&r, &u->text);
    if (rc != PMIX_SUCCESS) {
        pmix_srv_upcall_free(u);
        return rc;
    }
    u->answer = (struct answer){.kind = ANSWER_SPAWN, .cb.spawn = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

static bool has_name(char *const *env, const char *pair)
{
    size_t n = strcspn(pair, "=");

    for (size_t i = 0; env[i]; i++) {
        if (strncmp(env[i], pair, n) == 0 && env[i][n] == '=')
            return true;
    }
    return false;
}

/* A spawned program runs in the environment that its parent was submitted with, plus what the
 * request says: PATH and the like are the same for both, as under mpirun. */
static void env_inherit(struct job_app *app, char *const *parent)
{
    size_t n = 0, more = 0;

    while (app->env[n])
        n++;
    while (parent[more])
        more++;
    app->env = xrealloc(app->env, (n + more + 1) * sizeof(*app->env));
    for (size_t i = 0; i < more; i++) {
        app->env[n] = NULL;
        if (!has_name(app->env, parent[i]))
            app->env[n++] = xstrdup(parent[i]);
    }
    app->env[n] = NULL;
}

static void run_spawn(struct pmix_srv *p, struct upcall *u)
{
    const struct job *parent = job_find(p, u->spec.parent_nspace);
    uint32_t rank = u->spec.parent_rank;
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (!p->up.on_spawn) {
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
        return;
    }
    if (parent) /* the submitter of the first job owns the input of its family */
        u->spec.stdin_rank = JOB_RANK_NONE;
    if (parent && rank < parent->launch->nranks) {
        const struct job_app *app = &parent->launch->spec.apps[parent->launch->rank_app[rank]];

        for (size_t i = 0; i < u->spec.napps; i++) {
            env_inherit(&u->spec.apps[i], app->env);
            if (!u->spec.apps[i].cwd[0]) {
                free(u->spec.apps[i].cwd);
                u->spec.apps[i].cwd = xstrdup(app->cwd);
            }
        }
    }
    pmix_srv_request_waits(p, req, u->spec.parent_nspace,
                           xasprintf("spawn: rank %u waits for its job", rank));
    p->up.on_spawn(req, &u->spec, u->text, p->arg);
}
