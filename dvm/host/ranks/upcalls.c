/* SPDX-License-Identifier: BSD-3-Clause */
/* Upcalls of odls and of the files protocol. Those about ranks are reported to the core; those
 * about writers and readers of files go to writer.c and reader.c.
 *
 * In: starts, failures, output, stops and ends of processes, by namespace and rank; pieces of
 * files. Out: reports to the core; output of ranks for iof; calls of writer.c and reader.c.
 *
 * The prefix of a namespace (WRITER_PREFIX, READER_PREFIX) says that the process is no rank. When a
 * rank ends, the kind of its end is determined first, then the PMIx server is notified. If paths
 * are registered for the rank, the core gets the report after their removal, otherwise at once. The
 * end of a rank's output is a report of its own, made when both streams have ended.
 *
 * A rank that exits with code 0 as a PMIx client that has not finalized fails its job. Its kind is
 * determined when the server has handled all that the rank had sent (pmix_srv_settle()).
 *
 * Invariants: each report to the core is made between host_enter() and host_drain(). Output of a
 * job without a submitter's daemon (JOB_NO_VPID) is dropped.
 *
 * Failures: when the spawner is lost, the jobs' directories are removed and this daemon ends
 * (core_fail()). A leftover process that holds a rank's output open gives one note for each job and
 * daemon. What a writer or reader prints to its standard error is logged. */
#include "dvm/host/ranks/ranks_private.h"

#include "base/log/log.h"
#include "dvm/host/cgroup/cgroup.h"
#include "dvm/host/spawner/remove.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum process { PROCESS_RANK, PROCESS_WRITER, PROCESS_READER };

static enum process kind_of(const char *nspace)
{
    if (strncmp(nspace, WRITER_PREFIX, strlen(WRITER_PREFIX)) == 0)
        return PROCESS_WRITER;
    return strncmp(nspace, READER_PREFIX, strlen(READER_PREFIX)) == 0 ? PROCESS_READER
                                                                      : PROCESS_RANK;
}

static void report_rank(struct ranks *r, const char *nspace, uint32_t rank,
                        enum core_proc_event event, int value, const char *text)
{
    host_enter(r->env);
    core_proc(r->core, nspace, rank, event, value, text);
    host_drain(r->env);
}

static void on_ready(const char *nspace, uint32_t rank, void *arg)
{
    report_rank(arg, nspace, rank, CORE_PROC_READY, 0, NULL);
}

static void on_started(const char *nspace, uint32_t rank, pid_t pid, void *arg)
{
    if (kind_of(nspace) == PROCESS_RANK)
        report_rank(arg, nspace, rank, CORE_PROC_RUNNING, pid, NULL);
}

static void on_held(const char *nspace, uint32_t rank, bool held, void *arg)
{
    report_rank(arg, nspace, rank, held ? CORE_PROC_HELD : CORE_PROC_GOES_ON, 0, NULL);
}

static void on_failed(const char *nspace, uint32_t rank, int errnum, const char *what, void *arg)
{
    struct ranks *r = arg;

    host_enter(r->env);
    switch (kind_of(nspace)) {
    case PROCESS_RANK:
        core_proc(r->core, nspace, rank, CORE_PROC_FAILED, errnum, what);
        break;
    case PROCESS_WRITER:
        writer_failed(r, nspace, errnum, what);
        break;
    case PROCESS_READER:
        reader_failed(r, nspace, what);
        break;
    }
    host_drain(r->env);
}

/* --- output */

static void take_output(struct ranks *r, const char *nspace, uint32_t rank, int stream,
                        const void *data, size_t len)
{
    const struct ranks_job *j = ranks_find(r, nspace);

    if (!j)
        return;
    if (len && j->launch->home_vpid != JOB_NO_VPID)
        iof_output(r->iof, j->launch, rank, stream, data, len);
    else if (!len && ++j->ranks[rank].nclosed == 2)
        core_proc(r->core, nspace, rank, CORE_PROC_IOF_COMPLETE, 0, NULL);
}

static void on_output(const char *nspace, uint32_t rank, int stream, const void *data, size_t len,
                      void *arg)
{
    enum process kind = kind_of(nspace);
    struct ranks *r = arg;

    host_enter(r->env);
    if (kind == PROCESS_RANK)
        take_output(r, nspace, rank, stream, data, len);
    else if (stream == ODLS_STDERR && len)
        log_warn("%s: %.*s", nspace, (int)len, (const char *)data);
    else if (stream == ODLS_STDOUT && kind == PROCESS_WRITER)
        writer_output(r, nspace, data, len);
    else if (stream == ODLS_STDOUT)
        reader_output(r, nspace, data, len);
    host_drain(r->env);
}

/* Reported once for each job and daemon, since each of its ranks may leave such a process. */
static void on_left_open(const char *nspace, uint32_t rank, int stream, void *arg)
{
    struct ranks *r = arg;
    struct ranks_job *j = ranks_find(r, nspace);
    FREE_AUTO char *text = NULL;

    if (!j || j->told_open || j->launch->home_vpid == JOB_NO_VPID)
        return;
    j->told_open = true;
    text = xasprintf("rank %u on %s (vpid %u) has ended, but a process that it left holds its "
                     "standard %s open: that is not waited for, and the process is ended",
                     rank, r->env->host_name, r->env->vpid,
                     stream == ODLS_STDOUT ? "output" : "error");
    host_enter(r->env);
    iof_note(r->iof, j->launch, text);
    host_drain(r->env);
}

static void on_stdin_room(const char *nspace, uint32_t rank, void *arg)
{
    struct ranks *r = arg;

    if (kind_of(nspace) != PROCESS_RANK)
        return;
    host_enter(r->env);
    iof_stdin_room(r->iof, nspace, rank);
    host_drain(r->env);
}

/* --- ends */

struct ended { /* a rank of which something is still reported */
    struct ranks *r;
    char *nspace;
    uint32_t rank;
    int wait_status;
    enum rank_how how;
    bool cleans; /* its end is reported after its registered paths are removed */
};

static struct ended *make_ended(struct ranks *r, const char *nspace, uint32_t rank, int wait_status)
{
    struct ended *e = xcalloc(1, sizeof(*e));

    e->r = r;
    e->nspace = xstrdup(nspace);
    e->rank = rank;
    e->wait_status = wait_status;
    return e;
}

static void free_ended(struct ended *e)
{
    free(e->nspace);
    free(e);
}

/* The PMIx server reports nothing more of the rank. */
static void on_rank_gone(int status, void *arg)
{
    struct ended *e = arg;

    host_enter(e->r->env);
    if (e->cleans)
        core_proc_ended(e->r->core, e->nspace, e->rank, e->wait_status, e->how);
    core_rank_left(e->r->core, e->nspace, e->rank);
    host_drain(e->r->env);
    free_ended(e);
}

/* One kill that the kernel has counted explains the end of one rank. */
static bool takes_oom_kill(struct ranks_job *j, int wait_status)
{
    if (!WIFSIGNALED(wait_status) || WTERMSIG(wait_status) != SIGKILL ||
        cgroup_oom_kills("") <= j->oom_kills)
        return false;
    j->oom_kills++;
    return true;
}

static enum rank_how how_ended(const struct ranks *r, const char *nspace, uint32_t rank,
                               int wait_status)
{
    struct ranks_job *j = ranks_find(r, nspace);

    bool in_session = pmix_srv_in_session(r->pmix, nspace, rank);

    if (j && j->ranks[rank].ordered && (WIFSIGNALED(wait_status) || in_session))
        return RANK_BY_CMD;
    if (j && takes_oom_kill(j, wait_status))
        return RANK_NO_MEMORY;
    return in_session ? RANK_WO_SYNC : RANK_PLAIN;
}

static void report_end(struct ranks *r, const char *nspace, uint32_t rank, int wait_status)
{
    enum rank_how how = how_ended(r, nspace, rank, wait_status);
    bool cleans = pmix_srv_cleans(r->pmix, nspace, rank);
    struct ended *e = make_ended(r, nspace, rank, wait_status);

    e->how = how;
    e->cleans = cleans;
    core_rank_ended(r->core, nspace, rank);
    pmix_srv_rank_gone(r->pmix, nspace, rank, on_rank_gone, e);
    if (!cleans)
        core_proc_ended(r->core, nspace, rank, wait_status, how);
}

static void on_rank_settled(int status, void *arg)
{
    struct ended *e = arg;

    host_enter(e->r->env);
    report_end(e->r, e->nspace, e->rank, e->wait_status);
    host_drain(e->r->env);
    free_ended(e);
}

static void take_end(struct ranks *r, const char *nspace, uint32_t rank, int wait_status)
{
    if (wait_status == 0 && pmix_srv_in_session(r->pmix, nspace, rank))
        pmix_srv_settle(r->pmix, nspace, rank, on_rank_settled,
                        make_ended(r, nspace, rank, wait_status));
    else
        report_end(r, nspace, rank, wait_status);
}

static void on_exited(const char *nspace, uint32_t rank, int wait_status, void *arg)
{
    struct ranks *r = arg;

    host_enter(r->env);
    switch (kind_of(nspace)) {
    case PROCESS_RANK:
        take_end(r, nspace, rank, wait_status);
        break;
    case PROCESS_WRITER:
        writer_exited(r, nspace, wait_status);
        break;
    case PROCESS_READER:
        reader_exited(r, nspace);
        break;
    }
    host_drain(r->env);
}

static void on_removed(uint64_t scope, int errnum, void *arg)
{
    const struct ranks *r = arg;

    pmix_srv_cleaned(r->pmix, scope);
}

static void on_spawner_lost(const char *why, void *arg)
{
    struct ranks *r = arg;
    FREE_AUTO char *text = xasprintf("its spawner has ended: %s", why);

    log_error("the spawner has ended, and with it all ranks here: %s", why);
    remove_path(r->env->session_dir, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS | REMOVE_JOBS,
                &(struct remove_rules){0});
    host_enter(r->env);
    core_fail(r->core, text);
    host_drain(r->env);
}

const struct odls_upcalls ranks_odls_upcalls = {.on_started = on_started,
                                                .on_failed = on_failed,
                                                .on_output = on_output,
                                                .on_held = on_held,
                                                .on_exited = on_exited,
                                                .on_stdin_room = on_stdin_room,
                                                .on_cleaned = on_removed,
                                                .on_spawner_lost = on_spawner_lost,
                                                .on_left_open = on_left_open,
                                                .on_ready = on_ready};

/* --- upcalls of dvm/protocol/files */

static void on_room(uint32_t client, uint64_t total, void *arg)
{
    struct ranks *r = arg;

    if (!reader_room(r, client, total))
        r->io.files_room(client, total, r->io.arg);
}

static void on_write(const char *nspace, const void *piece, size_t len, void *arg)
{
    writer_feed(arg, nspace, piece, len);
}

const struct files_io ranks_files_io = {.room = on_room, .write = on_write};
