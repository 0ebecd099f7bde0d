/* SPDX-License-Identifier: BSD-3-Clause */
/* What headers before 5.0 have no names for: directives of session control. */
#ifndef DVM_PMIX_SESSION_H
#define DVM_PMIX_SESSION_H

#include <pmix.h>
#include <pmix_server.h>

#ifdef PMIX_SESSION_CTRL_ID
#define SESSION_CONTROL_IS_CALLED 1 /* the server module has an entry for it */
#else
#define PMIX_SESSION_CTRL_ID "pmix.ssnctrl.id"
#define PMIX_SESSION_APP "pmix.ssn.app"
#define PMIX_SESSION_PROVISION "pmix.ssn.pvn"
#define PMIX_SESSION_PROVISION_NODES "pmix.ssn.pvnnds"
#define PMIX_SESSION_PROVISION_IMAGE "pmix.ssn.pvnimg"
#define PMIX_SESSION_PAUSE "pmix.ssn.pause"
#define PMIX_SESSION_RESUME "pmix.ssn.resume"
#define PMIX_SESSION_TERMINATE "pmix.ssn.terminate"
#define PMIX_SESSION_PREEMPT "pmix.ssn.preempt"
#define PMIX_SESSION_RESTORE "pmix.ssn.restore"
#define PMIX_SESSION_SIGNAL "pmix.ssn.sig"
#define PMIX_SESSION_COMPLETE "pmix.ssn.complete"
#endif

#define SESSION_OURS 0u        /* the session of every job */
#define SESSION_ALL UINT32_MAX /* those under the caller's control: the same */

/* On PMIx's thread. */
pmix_status_t on_session(const pmix_proc_t *requestor, uint32_t session, const pmix_info_t info[],
                         size_t ninfo, pmix_info_cbfunc_t cb, void *cbdata);

#endif
