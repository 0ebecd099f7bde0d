/* SPDX-License-Identifier: BSD-3-Clause */
/* Upcalls about control of jobs and about what there is: job control, query, log. */
#include "base/log/log.h"
#include "dvm/pmix/pmix_private.h"

#include <signal.h>
#include <string.h>

static void run_control(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_control)
        p->up.on_control(req, u->procs, u->nprocs, u->number, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* The signal that the directives ask for; 0: none of them is the host's business. */
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

/* Cleanup registrations are carried out inside the library and reach us only beside other
 * directives: they are not ours to refuse. */
static bool is_cleanup(const pmix_info_t *i)
{
    return PMIX_CHECK_KEY(i, PMIX_REGISTER_CLEANUP) ||
           PMIX_CHECK_KEY(i, PMIX_REGISTER_CLEANUP_DIR) ||
           PMIX_CHECK_KEY(i, PMIX_CLEANUP_RECURSIVE) || PMIX_CHECK_KEY(i, PMIX_CLEANUP_EMPTY) ||
           PMIX_CHECK_KEY(i, PMIX_CLEANUP_IGNORE) || PMIX_CHECK_KEY(i, PMIX_CLEANUP_LEAVE_TOPDIR);
}

static bool only_cleanup(const pmix_info_t *info, size_t n)
{
    size_t i = 0;

    while (i < n && is_cleanup(&info[i]))
        i++;
    return i == n;
}

pmix_status_t on_control(const pmix_proc_t *requestor, const pmix_proc_t targets[], size_t ntargets,
                         const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cb,
                         void *cbdata)
{
    int signum = signal_of(info, ninfo);
    pmix_proc_t own;
    struct upcall *u;

    if (only_cleanup(info, ninfo))
        return PMIX_OPERATION_SUCCEEDED;
    if (signum == 0)
        return PMIX_ERR_NOT_SUPPORTED;
    if (signum < 0 || signum >= NSIG)
        return PMIX_ERR_BAD_PARAM;
    u = upcall_new(run_control);
    if (!u)
        return PMIX_ERR_INIT;
    /* No target: the caller's own job. */
    PMIX_LOAD_PROCID(&own, requestor->nspace, PMIX_RANK_WILDCARD);
    upcall_procs(u, ntargets ? targets : &own, ntargets ? ntargets : 1);
    u->number = signum;
    u->answer = (struct answer){.kind = ANSWER_INFO, .cb.info = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}

/* What the library can answer from the job info it has is answered there; nothing more is known
 * here yet. */
pmix_status_t on_query(pmix_proc_t *proc, pmix_query_t *queries, size_t nqueries,
                       pmix_info_cbfunc_t cb, void *cbdata)
{
    return PMIX_ERR_NOT_SUPPORTED;
}

void on_log(const pmix_proc_t *client, const pmix_info_t data[], size_t ndata,
            const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cb, void *cbdata)
{
    size_t logged = 0;

    for (size_t i = 0; i < ndata; i++) {
        if (data[i].value.type != PMIX_STRING || !data[i].value.data.string)
            continue;
        log_info("pmix: %s nspace=%s rank=%u", data[i].value.data.string,
                 client ? client->nspace : "", client ? client->rank : PMIX_RANK_INVALID);
        logged++;
    }
    cb(logged ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED, cbdata);
}
