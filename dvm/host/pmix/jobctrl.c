/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes cleanup out of the library's hands: two of its functions are replaced by ours of the same
 * name, which the dynamic linker finds first. docs/cleanup.md says why, and when this is refused.
 */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"

#include <dlfcn.h>
#include <stdio.h>

/* The library's own headers, of exactly the version that runs: library_is_known() sees to it. */
#include <src/include/pmix_config.h>

#include <src/include/pmix_globals.h>
#include <src/mca/bfrops/bfrops.h>

typedef pmix_status_t job_ctrl_fn(pmix_peer_t *peer, pmix_buffer_t *buf, pmix_info_cbfunc_t cb,
                                  void *cbdata);

/* As in src/server/pmix_server_ops.h, which cannot be included from outside. */
job_ctrl_fn pmix_server_job_ctrl;

static atomic_bool is_known; /* what library_is_known() has found */
static atomic_uint epilogs;  /* calls of the library that came to us */

/* Replaces the library's removal, at the end of a process and of a namespace: nothing is registered
 * there, and its way of removing follows links. */
void pmix_execute_epilog(pmix_epilog_t *e)
{
    atomic_fetch_add(&epilogs, 1);
}

/* A library that was linked so that it finds its own functions first would not come here. */
static bool comes_to_us(void)
{
    unsigned before = atomic_load(&epilogs);
    pmix_namespace_t *ns = PMIX_NEW(pmix_namespace_t);

    if (!ns)
        return false;
    PMIX_RELEASE(ns);
    return atomic_load(&epilogs) != before;
}

bool library_is_known(void)
{
    FREE_AUTO char *built = xasprintf("%ld.%ld.%ld", (long)PMIX_VERSION_MAJOR,
                                      (long)PMIX_VERSION_MINOR, (long)PMIX_VERSION_RELEASE);
    char running[16] = "";

    sscanf(PMIx_Get_version(), "%*[^0-9]%15[0-9.]", running);
    atomic_store(&is_known, strcmp(built, running) == 0 && comes_to_us());
    if (!atomic_load(&is_known))
        log_warn("pmix: no job control and no cleanup for applications: built with %s, running "
                 "with %s%s",
                 built, PMIx_Get_version(),
                 strcmp(built, running) == 0 ? ", which calls its own functions" : "");
    return atomic_load(&is_known);
}

static pmix_status_t unpack_all(pmix_peer_t *peer, pmix_buffer_t *buf, pmix_query_caddy_t *cd)
{
    pmix_status_t rc;
    int32_t n = 1;

    PMIX_BFROPS_UNPACK(rc, peer, buf, &cd->ntargets, &n, PMIX_SIZE);
    if (rc == PMIX_SUCCESS && cd->ntargets > 0) {
        n = (int32_t)cd->ntargets;
        PMIX_PROC_CREATE(cd->targets, cd->ntargets);
        PMIX_BFROPS_UNPACK(rc, peer, buf, cd->targets, &n, PMIX_PROC);
    }
    n = 1;
    if (rc == PMIX_SUCCESS)
        PMIX_BFROPS_UNPACK(rc, peer, buf, &cd->ninfo, &n, PMIX_SIZE);
    if (rc == PMIX_SUCCESS && cd->ninfo > 0) {
        n = (int32_t)cd->ninfo;
        PMIX_INFO_CREATE(cd->info, cd->ninfo);
        PMIX_BFROPS_UNPACK(rc, peer, buf, cd->info, &n, PMIX_INFO);
    }
    return rc;
}

/* On the loop: first what is registered, then what else the request asks for. */
static void run_request(struct pmix_srv *p, struct upcall *u)
{
    pmix_query_caddy_t *cd = u->answer.cbdata;
    pmix_status_t rc = jobclean_register(p, u);
    pmix_proc_t caller;

    if (rc == PMIX_SUCCESS && u->number) {
        PMIX_LOAD_PROCID(&caller, u->nspace, u->rank);
        rc = on_control(&caller, cd->targets, cd->ntargets, cd->info, cd->ninfo, u->answer.cb.info,
                        cd);
        if (rc == PMIX_SUCCESS)
            return; /* it answers */
    }
    if (rc == PMIX_OPERATION_SUCCEEDED)
        rc = PMIX_SUCCESS;
    pmix_srv_answer(p, req_add(p, &u->answer), rc, NULL, 0);
}

/* PMIX_OPERATION_SUCCEEDED: the request is none about cleanup. Takes what `cd` has on success. */
static pmix_status_t take(const pmix_peer_t *peer, pmix_query_caddy_t *cd, pmix_info_cbfunc_t cb)
{
    struct cleanup_req req;
    pmix_status_t rc = cleanup_req_read(cd->info, cd->ninfo, &req);
    pmix_status_t control = control_check(cd->info, cd->ninfo);
    struct upcall *u;

    if (rc == PMIX_SUCCESS && req.n == 0)
        return PMIX_OPERATION_SUCCEEDED;
    /* Nothing is registered of a request that is refused for what else it asks. */
    if (rc == PMIX_SUCCESS && control != PMIX_SUCCESS && control != PMIX_OPERATION_SUCCEEDED)
        rc = control;
    u = rc == PMIX_SUCCESS ? upcall_new(run_request) : NULL;
    if (!u) {
        cleanup_req_free(&req);
        return rc == PMIX_SUCCESS ? PMIX_ERR_INIT : rc;
    }
    u->cleanup = req;
    u->number = control == PMIX_SUCCESS;
    snprintf(u->nspace, sizeof(u->nspace), "%s", peer->info->pname.nspace);
    u->rank = peer->info->pname.rank;
    upcall_procs(u, cd->targets, cd->ntargets);
    u->answer = (struct answer){.kind = ANSWER_INFO, .cb.info = cb, .cbdata = cd};
    upcall_post(u);
    return PMIX_SUCCESS;
}

/* Replaces the library's reading of job control requests of local clients, on its thread. */
pmix_status_t pmix_server_job_ctrl(pmix_peer_t *peer, pmix_buffer_t *buf, pmix_info_cbfunc_t cbfunc,
                                   void *cbdata)
{
    job_ctrl_fn *library = (job_ctrl_fn *)dlsym(RTLD_NEXT, "pmix_server_job_ctrl");
    char *start;
    pmix_query_caddy_t *cd;
    pmix_status_t rc;

    if (!atomic_load(&is_known)) /* its objects may look otherwise than we think */
        return PMIX_ERR_NOT_SUPPORTED;
    cd = PMIX_NEW(pmix_query_caddy_t);
    if (!cd)
        return PMIX_ERR_NOMEM;
    cd->cbdata = cbdata;
    start = buf->unpack_ptr;
    rc = unpack_all(peer, buf, cd);
    if (rc == PMIX_SUCCESS)
        rc = take(peer, cd, cbfunc);
    if (rc == PMIX_SUCCESS)
        return rc;
    PMIX_RELEASE(cd);
    if (rc != PMIX_OPERATION_SUCCEEDED || !library)
        return rc;
    buf->unpack_ptr = start;
    return library(peer, buf, cbfunc, cbdata);
}
