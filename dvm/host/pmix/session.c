/* SPDX-License-Identifier: BSD-3-Clause */
/* Session control: a signal for all jobs, or the end of the DVM, which is the session. */
#include "dvm/host/pmix/session.h"

#include "dvm/host/pmix/pmix_private.h"

#include <signal.h>
#include <string.h>

/* What is another's to do, and why: docs/pmix.md. */
static const char *const not_ours[] = {PMIX_SESSION_APP,
                                       PMIX_SESSION_PROVISION,
                                       PMIX_SESSION_PROVISION_NODES,
                                       PMIX_SESSION_PROVISION_IMAGE,
                                       PMIX_SESSION_PREEMPT,
                                       PMIX_SESSION_RESTORE,
                                       PMIX_SESSION_COMPLETE};

static const struct {
    const char *key;
    int signum; /* -1: the value says which */
} actions[] = {{PMIX_SESSION_TERMINATE, 0},
               {PMIX_SESSION_PAUSE, SIGSTOP},
               {PMIX_SESSION_RESUME, SIGCONT},
               {PMIX_SESSION_SIGNAL, -1}};

static bool is_known(const pmix_info_t *i)
{
    for (size_t k = 0; k < sizeof(actions) / sizeof(*actions); k++) {
        if (PMIX_CHECK_KEY(i, actions[k].key))
            return true;
    }
    return PMIX_CHECK_KEY(i, PMIX_SESSION_CTRL_ID);
}

static pmix_status_t check_keys(const pmix_info_t *info, size_t n)
{
    for (size_t k = 0; k < sizeof(not_ours) / sizeof(*not_ours); k++) {
        if (info_true(info, n, not_ours[k]))
            return PMIX_ERR_NOT_SUPPORTED;
    }
    return info_understood(info, n, is_known) ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
}

/* One action; 0 in *signum is the end of the session. */
static pmix_status_t read_action(const pmix_info_t *info, size_t n, int *signum)
{
    size_t found = 0;
    long asked;

    for (size_t k = 0; k < sizeof(actions) / sizeof(*actions); k++) {
        if (!info_true(info, n, actions[k].key))
            continue;
        found++;
        *signum = actions[k].signum;
    }
    if (found != 1)
        return PMIX_ERR_BAD_PARAM;
    if (*signum >= 0)
        return PMIX_SUCCESS;
    asked = info_int(info, n, PMIX_SESSION_SIGNAL, 0);
    *signum = asked > 0 && asked < NSIG ? (int)asked : 0;
    return *signum ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

static void run_session(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);
    bool tool = p->tools && !nspace_is_taken(u->nspace);

    if (u->number == 0 && !tool)
        pmix_srv_answer(p, req, PMIX_ERR_NO_PERMISSIONS, NULL, 0);
    else if (p->up.on_session)
        p->up.on_session(req, u->number, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

pmix_status_t on_session(const pmix_proc_t *requestor, uint32_t session, const pmix_info_t info[],
                         size_t ninfo, pmix_info_cbfunc_t cb, void *cbdata)
{
    pmix_status_t rc = check_keys(info, ninfo);
    struct upcall *u;
    int signum = 0;

    if (session != SESSION_OURS && session != SESSION_ALL)
        return PMIX_ERR_NOT_FOUND;
    if (rc == PMIX_SUCCESS)
        rc = read_action(info, ninfo, &signum);
    if (rc != PMIX_SUCCESS)
        return rc;
    u = upcall_new(run_session);
    if (!u)
        return PMIX_ERR_INIT;
    memcpy(u->nspace, requestor->nspace, sizeof(u->nspace) - 1);
    u->number = signum;
    u->answer = (struct answer){.kind = ANSWER_INFO, .cb.info = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}
