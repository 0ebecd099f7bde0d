/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on this daemon: registered with PMIx, created by the spawner, reported to the core, cleaned
 * up after. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/spawner/remove.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANK_GRACE_MS 2000

static struct djob *find(const struct daemon *d, const char *nspace)
{
    struct djob *j;

    HASH_FIND_STR(d->jobs, nspace, j);
    return j;
}

static void djob_free(struct daemon *d, struct djob *j)
{
    HASH_DEL(d->jobs, j);
    job_launch_unref(j->launch);
    free(j->nspace);
    free(j->eofs);
    free(j->ordered);
    free(j);
}

void djob_free_all(struct daemon *d)
{
    struct djob *j, *tmp;

    HASH_ITER(hh, d->jobs, j, tmp)
    {
        djob_free(d, j);
    }
}

/* A callback that may come after the job is gone: it carries the name, not the object. */
struct later {
    struct daemon *d;
    char *nspace;
};

static struct later *later(struct daemon *d, const char *nspace)
{
    struct later *l = xmalloc(sizeof *l);

    l->d = d;
    l->nspace = xstrdup(nspace);
    return l;
}

static void later_free(struct later *l)
{
    free(l->nspace);
    free(l);
}

/* --- start */

static bool is_local(const struct daemon *d, const struct job_launch *l, uint32_t rank)
{
    return l->nodes[l->rank_node[rank]].vpid == d->opts.vpid;
}

static void fail_all(struct daemon *d, struct djob *j, int errnum, const char *what)
{
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (is_local(d, j->launch, r))
            core_proc(d->core, j->nspace, r, CORE_PROC_FAILED, errnum, what);
    }
}

static bool takes_stdin(const struct job_launch *l, uint32_t rank)
{
    return l->spec.stdin_rank == JOB_RANK_ALL || l->spec.stdin_rank == rank;
}

/* CPUs of the n-th rank here; NULL: it is not bound. */
static const char *cpuset_of(const struct job_launch *l, size_t n)
{
    return n < l->ncpus && l->cpus[n][0] ? l->cpus[n] : NULL;
}

/* Where ranks run that have no working directory of their own. */
char *djob_own_dir(const struct daemon *d, const struct job_launch *l)
{
    return l->spec.nfiles ? xasprintf("%s/%s/" JOB_FILES_DIR, d->opts.session_dir, l->nspace)
                          : xstrdup(d->opts.session_dir);
}

/* Of each program; one that is a file of the job is run as that. */
static const char *const **argvs_of(const struct job_launch *l, const char *dir)
{
    const char *const **argvs = xcalloc(l->spec.napps, sizeof *argvs);

    for (size_t a = 0; a < l->spec.napps; a++) {
        const struct job_app *app = &l->spec.apps[a];
        const char **argv;
        size_t n = 0;

        while (app->argv[n])
            n++;
        argv = xcalloc(n + 1, sizeof *argv);
        for (size_t i = 0; i < n; i++)
            argv[i] = xstrdup(app->argv[i]);
        if (app->program) {
            free((void *)argv[0]);
            argv[0] = xasprintf("%s/%s", dir, l->spec.files[app->program - 1]);
        }
        argvs[a] = argv;
    }
    return argvs;
}

static void argvs_free(const char *const **argvs, const struct job_launch *l)
{
    for (size_t a = 0; a < l->spec.napps; a++) {
        for (size_t i = 0; argvs[a][i]; i++)
            free((void *)argvs[a][i]);
        free((void *)argvs[a]);
    }
    free((void *)argvs);
}

/* A single rank is checked by its exec. */
static bool checks_first(const struct daemon *d, const struct job_launch *l)
{
    int node = job_launch_node(l, d->opts.vpid);

    return job_launch_waits(l) || job_launch_local_size(l, (uint32_t)node) > 1;
}

static void start(struct daemon *d, struct djob *j)
{
    const struct job_launch *l = j->launch;
    struct odls_rank *ranks = xcalloc((size_t)l->nranks + 1, sizeof *ranks);
    FREE_AUTO char *dir = djob_own_dir(d, l);
    const char *const **argvs = argvs_of(l, dir);
    struct err err = {0};
    size_t n = 0;
    bool ok = true;

    j->waits = checks_first(d, l);
    for (uint32_t r = 0; ok && r < l->nranks; r++) {
        const struct job_app *app = &l->spec.apps[l->rank_app[r]];
        char **env;

        if (!is_local(d, l, r))
            continue;
        env = pmix_srv_env(d->pmix, l->nspace, r, app->env, &err);
        ok = env != NULL;
        ranks[n] = (struct odls_rank){.rank = r,
                                      .argv = argvs[l->rank_app[r]],
                                      .env = (const char *const *)env,
                                      .cwd = *app->cwd ? app->cwd : dir,
                                      .cpuset = cpuset_of(l, n),
                                      .want_stdin = takes_stdin(l, r),
                                      .stop_at_exec =
                                          l->spec.stop == JOB_STOP_EXEC && job_stops(&l->spec, r),
                                      .traceable = job_stops(&l->spec, r),
                                      .waits = j->waits};
        n++;
    }
    if (ok)
        ok = odls_start(d->odls, l->nspace, ranks, n, &err) == 0;
    for (size_t i = 0; i < n; i++)
        pmix_srv_env_free((char **)ranks[i].env);
    free(ranks);
    argvs_free(argvs, l);
    j->started = ok;
    if (ok) {
        j->nlocal = j->alive = (uint32_t)n;
        return;
    }
    log_error("job %s: %s", j->nspace, err.msg);
    j->failed = true;
    fail_all(d, j, err.code ? err.code : EIO, "the start of its ranks");
}

static void clean_up(struct daemon *d, struct djob *j);

/* --- files */

static void no_files(struct daemon *d, struct djob *j, int errnum, const char *what)
{
    stage_forget(d->stage, j->nspace);
    j->failed = true;
    core_staged(d->core, j->nspace, errnum, what);
    fail_all(d, j, ECANCELED, "its files are not here");
}

static void take_files(struct daemon *d, struct djob *j)
{
    struct err err = {0};

    j->writing = dstage_start(d, j->launch, &err) == 0;
    if (!j->writing)
        no_files(d, j, err.code ? err.code : EIO, err.msg);
}

void djob_files(struct daemon *d, const char *nspace, int errnum, const char *what)
{
    struct djob *j = find(d, nspace);

    if (!j)
        return;
    j->writing = false;
    if (j->over) {
        clean_up(d, j);
    } else if (j->cancelled) {
        fail_all(d, j, ECANCELED, "ended before its start");
    } else if (errnum) {
        no_files(d, j, errnum, what);
    } else {
        start(d, j);
    }
}

/* All daemons of the job have said that it can start. */
void djob_start(struct daemon *d, const char *nspace)
{
    const struct djob *j = find(d, nspace);

    if (j && j->started)
        odls_go(d->odls, nspace);
}

/* A job that has no ranks yet: nothing of it will ever start. */
static void cancel(struct daemon *d, struct djob *j)
{
    j->cancelled = true;
    if (j->writing)
        dstage_stop(d, j->nspace);
}

static void on_registered(int status, void *arg)
{
    struct later *l = arg;
    struct djob *j = find(l->d, l->nspace);

    log_debug("job %s: registered", l->nspace);
    daemon_enter(l->d);
    if (j && j->over) { /* the core has given it up meanwhile */
        clean_up(l->d, j);
    } else if (j && j->cancelled) {
        fail_all(l->d, j, ECANCELED, "ended before its start");
    } else if (j && status != 0) {
        j->failed = true;
        fail_all(l->d, j, EIO, "the PMIx server refuses the job");
    } else if (j && j->launch->spec.nfiles) {
        take_files(l->d, j);
    } else if (j) {
        start(l->d, j);
    }
    daemon_drain(l->d);
    later_free(l);
}

void djob_launch(struct daemon *d, const struct job_launch *launch)
{
    struct djob *j = xcalloc(1, sizeof *j);

    j->nspace = xstrdup(launch->nspace);
    j->launch = job_launch_ref(launch);
    j->eofs = xcalloc((size_t)launch->nranks + 1, 1);
    j->ordered = xcalloc((size_t)launch->nranks + 1, sizeof *j->ordered);
    HASH_ADD_KEYPTR(hh, d->jobs, j->nspace, strlen(j->nspace), j);
    log_info("job %s: %u ranks here of %u, %zu files of it", j->nspace,
             job_launch_local_size(launch, (uint32_t)job_launch_node(launch, d->opts.vpid)),
             launch->nranks, launch->spec.nfiles);
    pmix_srv_register(d->pmix, launch, getuid(), getgid(), on_registered, later(d, j->nspace));
}

/* --- end */

void djob_signal(struct daemon *d, const char *nspace, int signum)
{
    odls_signal(d->odls, nspace, ODLS_ALL_RANKS, signum);
}

void djob_continue(struct daemon *d, const char *nspace, uint32_t rank)
{
    const struct djob *j = find(d, nspace);

    if (!j)
        return;
    if (j->launch->spec.stop == JOB_STOP_EXEC)
        odls_signal(d->odls, nspace, rank, SIGCONT);
    else
        pmix_srv_continue(d->pmix, nspace, rank == JOB_RANK_ALL ? PMIX_SRV_RANK_ALL : rank);
}

/* SIGTERM with a grace: the rank is to end, whatever it does about it. */
void djob_signal_rank(struct daemon *d, const char *nspace, uint32_t rank, int signum)
{
    struct djob *j = find(d, nspace);

    if (j && rank < j->launch->nranks && (signum == SIGTERM || signum == SIGKILL))
        j->ordered[rank] = true;
    if (signum == SIGTERM)
        odls_end(d->odls, nspace, rank, RANK_GRACE_MS);
    else
        odls_signal(d->odls, nspace, rank, signum);
}

/* As if the rank had written it. */
void djob_write(struct daemon *d, const char *nspace, uint32_t rank, int stream, const void *data,
                size_t len)
{
    const struct djob *j = find(d, nspace);

    if (j && rank < j->launch->nranks && j->launch->home_vpid != JOB_NO_VPID && len)
        iof_output(d->iof, j->launch, rank, stream, data, len);
}

void djob_end(struct daemon *d, const char *nspace, uint64_t grace_ms)
{
    struct djob *j = find(d, nspace);

    if (!j)
        return;
    if (!j->started)
        cancel(d, j);
    else
        odls_end(d->odls, nspace, ODLS_ALL_RANKS, grace_ms);
}

static void on_cleaned(int status, void *arg)
{
    struct later *l = arg;

    log_debug("job %s: cleaned up", l->nspace);
    daemon_enter(l->d);
    core_local_gone(l->d->core, l->nspace);
    iof_job_gone(l->d->iof, l->nspace);
    daemon_drain(l->d);
    later_free(l);
}

static void clean_up(struct daemon *d, struct djob *j)
{
    stage_forget(d->stage, j->nspace);
    pmix_srv_job_gone(d->pmix, j->nspace, on_cleaned, later(d, j->nspace));
    djob_free(d, j);
}

void djob_gone(struct daemon *d, const char *nspace)
{
    struct djob *j = find(d, nspace);

    if (!j)
        return;
    j->over = true;
    if (!j->started && (j->writing || !(j->cancelled || j->failed)))
        cancel(d, j);
    else if (j->alive == 0)
        clean_up(d, j);
}

/* --- odls */

static void on_ready(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;
    struct djob *j = find(d, nspace);

    if (!j || ++j->nready < j->nlocal)
        return;
    log_debug("job %s: its %u ranks here can start", nspace, j->nready);
    daemon_enter(d);
    if (job_launch_waits(j->launch))
        core_staged(d->core, nspace, 0, NULL);
    else
        odls_go(d->odls, nspace);
    daemon_drain(d);
}

static void on_started(const char *nspace, uint32_t rank, pid_t pid, void *arg)
{
    struct daemon *d = arg;

    if (dstage_is(nspace))
        return;
    log_debug("job %s: rank %u runs", nspace, rank);
    daemon_enter(d);
    core_proc(d->core, nspace, rank, CORE_PROC_RUNNING, pid, NULL);
    daemon_drain(d);
}

/* `over` comes with the drain after that of the last one, or has come before. */
static void one_less(struct daemon *d, struct djob *j)
{
    if (j && --j->alive == 0 && j->over)
        clean_up(d, j);
}

static void on_failed(const char *nspace, uint32_t rank, int errnum, const char *what, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    if (dstage_is(nspace))
        dstage_failed(d, nspace, errnum, what);
    else
        core_proc(d->core, nspace, rank, CORE_PROC_FAILED, errnum, what);
    one_less(d, find(d, nspace));
    daemon_drain(d);
}

static void output_of(struct daemon *d, struct djob *j, uint32_t rank, int stream, const void *data,
                      size_t len)
{
    if (len && j->launch->home_vpid != JOB_NO_VPID)
        iof_output(d->iof, j->launch, rank, stream, data, len);
    else if (!len && ++j->eofs[rank] == 2)
        core_proc(d->core, j->nspace, rank, CORE_PROC_IOF_COMPLETE, 0, NULL);
}

static void on_output(const char *nspace, uint32_t rank, int stream, const void *data, size_t len,
                      void *arg)
{
    struct daemon *d = arg;
    struct djob *j = find(d, nspace);

    daemon_enter(d);
    if (dstage_is(nspace))
        dstage_output(d, nspace, stream, data, len);
    if (j)
        output_of(d, j, rank, stream, data, len);
    daemon_drain(d);
}

/* Once for each job and daemon: all its ranks may do so. */
static void on_left_open(const char *nspace, uint32_t rank, int stream, void *arg)
{
    struct daemon *d = arg;
    struct djob *j = find(d, nspace);
    char *text FREE_AUTO = NULL;

    if (!j || j->told_open || j->launch->home_vpid == JOB_NO_VPID)
        return;
    j->told_open = true;
    text = xasprintf("rank %u on %s (vpid %u) has ended, but a process that it left holds its "
                     "standard %s open: that is not waited for, and the process is ended",
                     rank, d->opts.host_name, d->opts.vpid,
                     stream == ODLS_STDOUT ? "output" : "error");
    daemon_enter(d);
    iof_note(d->iof, j->launch, text);
    daemon_drain(d);
}

static void on_held(const char *nspace, uint32_t rank, bool held, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_proc(d->core, nspace, rank, held ? CORE_PROC_HELD : CORE_PROC_GOES_ON, 0, NULL);
    daemon_drain(d);
}

static void no_matter(int status, void *arg)
{
}

/* A rank's end is told when what it has registered is removed. */
struct ended {
    struct daemon *d;
    char *nspace;
    uint32_t rank;
    int wait_status;
    enum rank_how how;
};

static void on_rank_cleaned(int status, void *arg)
{
    struct ended *e = arg;

    daemon_enter(e->d);
    core_proc_ended(e->d->core, e->nspace, e->rank, e->wait_status, e->how);
    daemon_drain(e->d);
    free(e->nspace);
    free(e);
}

static enum rank_how how_ended(const struct daemon *d, const char *nspace, uint32_t rank,
                               int wait_status)
{
    const struct djob *j = find(d, nspace);

    if (j && j->ordered[rank] && WIFSIGNALED(wait_status))
        return RANK_BY_CMD;
    return pmix_srv_in_session(d->pmix, nspace, rank) ? RANK_WO_SYNC : RANK_PLAIN;
}

static void tell_end(struct daemon *d, const char *nspace, uint32_t rank, int wait_status)
{
    enum rank_how how = how_ended(d, nspace, rank, wait_status);
    struct ended *e;

    if (!pmix_srv_cleans(d->pmix, nspace, rank)) {
        pmix_srv_rank_gone(d->pmix, nspace, rank, no_matter, NULL);
        core_proc_ended(d->core, nspace, rank, wait_status, how);
        return;
    }
    e = xmalloc(sizeof *e);
    *e = (struct ended){d, xstrdup(nspace), rank, wait_status, how};
    pmix_srv_rank_gone(d->pmix, nspace, rank, on_rank_cleaned, e);
}

static void on_exited(const char *nspace, uint32_t rank, int wait_status, void *arg)
{
    struct daemon *d = arg;
    struct djob *j = find(d, nspace);

    daemon_enter(d);
    if (dstage_is(nspace)) {
        dstage_exited(d, nspace, wait_status);
        daemon_drain(d);
        return;
    }
    log_debug("job %s: rank %u has exited", nspace, rank);
    tell_end(d, nspace, rank, wait_status);
    one_less(d, j);
    daemon_drain(d);
}

static void on_stdin_room(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    if (dstage_is(nspace))
        return;
    daemon_enter(d);
    iof_stdin_room(d->iof, nspace, rank);
    daemon_drain(d);
}

static void on_removed(uint64_t scope, int errnum, void *arg)
{
    struct daemon *d = arg;

    pmix_srv_cleaned(d->pmix, scope);
}

static void on_spawner_lost(const char *why, void *arg)
{
    struct daemon *d = arg;

    FREE_AUTO char *text = xasprintf("its spawner is gone: %s", why);

    log_error("the spawner is gone, and with it all ranks here: %s", why);
    remove_path(d->opts.session_dir, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS | REMOVE_JOBS,
                &(struct remove_rules){0});
    daemon_enter(d);
    core_fail(d->core, text);
    daemon_drain(d);
}

const struct odls_upcalls djob_odls_upcalls = {.on_started = on_started,
                                               .on_failed = on_failed,
                                               .on_output = on_output,
                                               .on_held = on_held,
                                               .on_exited = on_exited,
                                               .on_stdin_room = on_stdin_room,
                                               .on_cleaned = on_removed,
                                               .on_spawner_lost = on_spawner_lost,
                                               .on_left_open = on_left_open,
                                               .on_ready = on_ready};
