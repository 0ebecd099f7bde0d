/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into daemons: stands for what libpmix 5.0 lacks between a client's PMIx_Session_control
 * and the host's upcall. The request comes as job control whose first directive is "test.session".
 */
#include <dlfcn.h>
#include <pmix_server.h>
#include <stddef.h>

static pmix_server_module_t host;

static pmix_status_t job_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                                 size_t ntargets, const pmix_info_t info[], size_t ninfo,
                                 pmix_info_cbfunc_t cb, void *cbdata)
{
    if (ninfo == 0 || !PMIX_CHECK_KEY(&info[0], "test.session"))
        return host.job_control(requestor, targets, ntargets, info, ninfo, cb, cbdata);
#ifdef PMIX_SESSION_CTRL_ID
    return host.session_control(requestor, info[0].value.data.uint32, info + 1, ninfo - 1, cb,
                                cbdata);
#else
    return PMIX_ERR_NOT_SUPPORTED;
#endif
}

pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t ninfo)
{
    pmix_status_t (*library)(pmix_server_module_t *, pmix_info_t *, size_t);
    pmix_server_module_t ours = *module;

    *(void **)&library = dlsym(RTLD_NEXT, "PMIx_server_init");
    host = *module;
    ours.job_control = job_control;
    return library(&ours, info, ninfo);
}
