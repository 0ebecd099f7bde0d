/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Job_control and PMIx_Log: requests of local clients about running jobs.
 *
 * In: targets and directives, or texts with their channels. Out: a cleanup that is registered
 * (jobclean.c), a signal for the head to send, output of the caller's job, or a line in the
 * daemon's log.
 *
 * Invariants: a request is checked as a whole before any part is carried out; cleanups are
 * registered before a signal is sent; without a target it is for the caller's own job. Of several
 * texts the last one that can be written carries the answer, so the client gets it when all are
 * under way.
 *
 * Failures: an unsupported required directive, a target on another daemon for a cleanup, and an
 * unknown job refuse the request. A channel that is not ours gives NOT SUPPORTED. */
#include "dvm/host/pmix/pmix_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOB_MAX 4096 /* a line of the daemon's log is no longer */

/* Registers the cleanup first, then sends the signal. Without a target, the request is for the
 * caller's own job. */
static void run_control(struct pmix_srv *p, struct upcall *u)
{
    pmix_status_t rc = u->cleanup.n > 0 ? jobclean_register(p, u) : PMIX_SUCCESS;
    pmix_req req = pmix_srv_add_request(p, &u->answer);
    pmix_proc_t own;

    if (rc == PMIX_OPERATION_SUCCEEDED)
        rc = PMIX_SUCCESS;
    if (rc == PMIX_SUCCESS && u->number && !p->up.on_control)
        rc = PMIX_ERR_NOT_SUPPORTED;
    if (rc != PMIX_SUCCESS || !u->number) {
        pmix_srv_answer(p, req, rc, NULL, 0);
        return;
    }
    if (u->nprocs == 0) {
        free(u->procs);
        PMIX_LOAD_PROCID(&own, u->nspace, PMIX_RANK_WILDCARD);
        pmix_srv_upcall_procs(u, &own, 1);
    }
    p->up.on_control(req, u->nspace, u->procs, u->nprocs, u->number, p->arg);
}

/* The signal that the directives ask for; 0: none of them is for the host. */
static int signal_of(const pmix_info_t *info, size_t n)
{
    if (info_true(info, n, PMIX_JOB_CTRL_KILL))
        return SIGKILL;
    if (info_true(info, n, PMIX_JOB_CTRL_TERMINATE))
        return SIGTERM;
    if (info_true(info, n, PMIX_JOB_CTRL_PAUSE))
        return SIGSTOP;
    if (info_true(info, n, PMIX_JOB_CTRL_RESUME))
        return SIGCONT;
    return (int)info_int(info, n, PMIX_JOB_CTRL_SIGNAL, 0);
}

static bool only_cleanup(const pmix_info_t *info, size_t n)
{
    size_t i = 0;

    while (i < n && cleanup_is_key(&info[i]))
        i++;
    return i == n;
}

static bool is_known(const pmix_info_t *i)
{
    static const char *const keys[] = {PMIX_JOB_CTRL_KILL, PMIX_JOB_CTRL_TERMINATE,
                                       PMIX_JOB_CTRL_PAUSE, PMIX_JOB_CTRL_RESUME,
                                       PMIX_JOB_CTRL_SIGNAL};

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        if (PMIX_CHECK_KEY(i, keys[k]))
            return true;
    }
    return cleanup_is_key(i);
}

/* PMIX_SUCCESS if these ask for a signal, PMIX_OPERATION_SUCCEEDED if for cleanup alone; else the
 * request is refused as a whole. */
static pmix_status_t check_request(const pmix_info_t *info, size_t n)
{
    int signum = signal_of(info, n);

    if (only_cleanup(info, n))
        return PMIX_OPERATION_SUCCEEDED;
    if (signum == 0 || !info_understood(info, n, is_known))
        return PMIX_ERR_NOT_SUPPORTED;
    return signum > 0 && signum < NSIG ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

pmix_status_t control_on_request(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                                 size_t ntargets, const pmix_info_t info[], size_t ninfo,
                                 pmix_info_cbfunc_t cb, void *cbdata)
{
    pmix_status_t control = check_request(info, ninfo);
    struct cleanup_req cleanup;
    pmix_status_t rc = cleanup_req_read(info, ninfo, &cleanup);
    struct upcall *u;

    if (rc != PMIX_SUCCESS)
        return rc;
    if (control != PMIX_SUCCESS && (control != PMIX_OPERATION_SUCCEEDED || cleanup.n == 0)) {
        cleanup_req_free(&cleanup);
        return control;
    }
    u = pmix_srv_upcall_new(run_control);
    if (!u) {
        cleanup_req_free(&cleanup);
        return PMIX_ERR_INIT;
    }
    u->cleanup = cleanup;
    snprintf(u->nspace, sizeof(u->nspace), "%s", requestor->nspace);
    u->rank = requestor->rank;
    pmix_srv_upcall_procs(u, targets, ntargets);
    u->number = control == PMIX_SUCCESS ? signal_of(info, ninfo) : 0;
    u->answer = (struct answer){.kind = ANSWER_INFO, .cb.info = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

static void run_log(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_log && u->number >= 0)
        p->up.on_log(req, u->nspace, u->rank, u->number, u->text, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* A copy, freed by the caller; NULL: no text. A message may be a blob, which is text all the same.
 */
static char *log_text(const pmix_info_t *i)
{
    const pmix_value_t *v = &i->value;

    if (v->type == PMIX_STRING && v->data.string)
        return xstrdup(v->data.string);
    if (v->type == PMIX_BYTE_OBJECT && v->data.bo.bytes && PMIX_CHECK_KEY(i, PMIX_LOG_MSG))
        return xasprintf("%.*s", (int)(v->data.bo.size < BLOB_MAX ? v->data.bo.size : BLOB_MAX),
                         v->data.bo.bytes);
    return NULL;
}

/* 1, 2: the job's output; 0: the daemon's log; -1: not ours to write to. */
static int stream_of(const pmix_info_t *i)
{
    static const char *const logs[] = {PMIX_LOG_SYSLOG, PMIX_LOG_LOCAL_SYSLOG,
                                       PMIX_LOG_GLOBAL_SYSLOG, PMIX_LOG_MSG};

    if (PMIX_CHECK_KEY(i, PMIX_LOG_STDOUT))
        return 1;
    if (PMIX_CHECK_KEY(i, PMIX_LOG_STDERR))
        return 2;
    for (size_t k = 0; k < sizeof(logs) / sizeof(logs[0]); k++) {
        if (PMIX_CHECK_KEY(i, logs[k]))
            return 0;
    }
    return -1;
}

static bool can_log(const pmix_info_t *i)
{
    FREE_AUTO char *text = log_text(i);

    return text && stream_of(i) >= 0;
}

/* NULL: nothing that we can write. */
static void log_one(const pmix_proc_t *client, const pmix_info_t *i, struct answer answer)
{
    struct upcall *u = pmix_srv_upcall_new(run_log);

    if (!u)
        return;
    if (client) {
        memcpy(u->nspace, client->nspace, sizeof(u->nspace) - 1);
        u->rank = client->rank;
    }
    u->number = i ? stream_of(i) : -1;
    u->text = i ? log_text(i) : NULL;
    u->answer = answer;
    pmix_srv_upcall_post(u);
}

/* The last text that can be written carries the answer, so that the client gets it when all
 * texts are under way. The answer is never given in here: 4.2.2 holds a lock that its callback
 * takes. */
void control_on_log(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
                    const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cb, void *cbdata)
{
    size_t last = ndata;

    for (size_t i = 0; i < ndata; i++) {
        if (can_log(&data[i]))
            last = i;
    }
    for (size_t i = 0; i < last && last < ndata; i++) {
        if (can_log(&data[i]))
            log_one(client, &data[i], (struct answer){.kind = ANSWER_NONE});
    }
    log_one(client, last < ndata ? &data[last] : NULL,
            (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata});
}
