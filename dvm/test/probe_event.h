/* SPDX-License-Identifier: BSD-3-Clause */
/* The events that pmix_probe and hold_probe wait for, and what they keep of them. */
#ifndef DVM_TEST_PROBE_EVENT_H
#define DVM_TEST_PROBE_EVENT_H

#include "dvm/test/probe.h"

static struct {
    int seen, ready, released;
    pmix_status_t status, term;
    pmix_proc_t affected;
    char where[64];
    int code;
} event;

static void on_event(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t info[],
                     size_t ninfo, pmix_info_t results[], size_t nresults,
                     pmix_event_notification_cbfunc_fn_t cb, void *cbdata)
{
    (void)id, (void)source, (void)results, (void)nresults;
    pthread_mutex_lock(&lock);
    event.seen += status == PMIX_EVENT_JOB_END;
    event.ready += status == PMIX_READY_FOR_DEBUG;
    event.released += status == PMIX_DEBUGGER_RELEASE;
    event.status = status;
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC))
            event.affected = *info[i].value.data.proc;
        if (PMIX_CHECK_KEY(&info[i], PMIX_EXIT_CODE))
            event.code = info[i].value.data.integer;
        if (PMIX_CHECK_KEY(&info[i], PMIX_JOB_TERM_STATUS))
            event.term = info[i].value.data.status;
        if (PMIX_CHECK_KEY(&info[i], PMIX_BREAKPOINT))
            snprintf(event.where, sizeof(event.where), "%s", info[i].value.data.string);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (cb)
        cb(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static inline void listen_to(pmix_status_t code)
{
    pmix_status_t rc = PMIx_Register_event_handler(&code, 1, NULL, 0, on_event, NULL, NULL);

    if (rc < 0)
        must(rc, "registering for an event");
}

static inline void await_event(void)
{
    await(&event.seen);
}

static inline int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

#endif
