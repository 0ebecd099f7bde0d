/* SPDX-License-Identifier: BSD-3-Clause */
/* Stops for a debugger: directives of a spawn request, ranks that have stopped, and their release.
 *
 * In: PMIX_DEBUG_STOP_* of a spawn request; events of the library and of ranks that say where they
 * have stopped; PMIX_DEBUGGER_RELEASE of a debugger; and the head's order to continue. Out: the
 * job's kind of stop, reports to the head, and the release to the ranks that wait for it.
 *
 * Invariants: a release goes to the head, which sends it to the ranks that have stopped, once to
 * each. Only the named processes get it, and the library keeps it for no later one. A rank is
 * reported once.
 *
 * Failures: a release without receivers, or of more than RELEASE_MAX processes, is refused. A rank
 * that ends while it is stopped is an ordinary end. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"

#include <string.h>

/* Processes named by one PMIX_DEBUGGER_RELEASE. Each name is a message; a whole job is one name. */
#define RELEASE_MAX 4096

/* --- in a spawn request */

static const struct {
    const char *key;
    enum job_stop stop;
} stops[] = {{PMIX_DEBUG_STOP_ON_EXEC, JOB_STOP_EXEC},
             {PMIX_DEBUG_STOP_IN_INIT, JOB_STOP_INIT},
             {PMIX_DEBUG_STOP_IN_APP, JOB_STOP_APP}};

/* All ranks by a flag, or one by its number. */
static pmix_status_t rank_of(const pmix_info_t *i, uint32_t *rank)
{
    if (i->value.type == PMIX_PROC_RANK && i->value.data.rank <= PMIX_RANK_VALID)
        *rank = i->value.data.rank;
    else if (i->value.type == PMIX_BOOL || i->value.type == PMIX_UNDEF ||
             (i->value.type == PMIX_PROC_RANK && i->value.data.rank == PMIX_RANK_WILDCARD))
        *rank = JOB_RANK_ALL;
    else
        return PMIX_ERR_NOT_SUPPORTED;
    return PMIX_SUCCESS;
}

pmix_status_t hold_of(const pmix_info_t *info, size_t n, struct job_spec *spec)
{
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        const pmix_info_t *asked = info_find(info, n, stops[i].key);
        pmix_status_t rc;

        if (!asked || (asked->value.type == PMIX_BOOL && !asked->value.data.flag))
            continue;
        if (spec->stop != JOB_STOP_NONE) /* given twice */
            return PMIX_ERR_BAD_PARAM;
        spec->stop = stops[i].stop;
        rc = rank_of(asked, &spec->stop_rank);
        if (rc != PMIX_SUCCESS)
            return rc;
    }
    return PMIX_SUCCESS;
}

/* --- from local processes */

static void note_held(struct pmix_srv *p, struct job *j, uint32_t rank)
{
    if (!job_is_local(j, rank) || !j->ranks[rank].connected || j->ranks[rank].waiting)
        return;
    j->ranks[rank].waiting = true;
    if (job_stops(&j->launch->spec, rank))
        p->up.on_held(j->nspace, rank, p->arg);
    else /* a process that must not stop there (add_stop()) */
        pmix_srv_continue(p, j->nspace, rank);
}

/* Reports stopped ranks. If u names one rank, it is that one. Otherwise the library reports all
 * local ranks of a job at once: all of them stop in PMIx_Init, or one rank stops elsewhere. */
static void run_held(struct pmix_srv *p, struct upcall *u)
{
    struct job *j = job_find(p, u->nspace);
    uint32_t n = j && p->up.on_held ? j->launch->nranks : 0;

    for (uint32_t r = 0; r < n; r++) {
        bool peers = u->rank > PMIX_RANK_VALID &&
                     (j->launch->spec.stop == JOB_STOP_INIT || job_stops(&j->launch->spec, r));

        if (r == u->rank || peers)
            note_held(p, j, r);
    }
}

static void run_release(struct pmix_srv *p, struct upcall *u)
{
    for (size_t i = 0; i < u->nprocs && p->up.on_continue; i++)
        p->up.on_continue(u->procs[i].nspace, u->procs[i].rank, p->arg);
}

/* The receivers of an event: a custom range, else the affected processes; *named: the event
 * names them. */
static const pmix_proc_t *targets_of(const pmix_info_t *info, size_t ninfo, size_t *n, bool *named)
{
    static const char *const keys[] = {PMIX_EVENT_CUSTOM_RANGE, PMIX_EVENT_AFFECTED_PROCS,
                                       PMIX_EVENT_AFFECTED_PROC};
    const pmix_info_t *i = NULL;

    for (size_t k = 0; !i && k < sizeof(keys) / sizeof(keys[0]); k++)
        i = info_find(info, ninfo, keys[k]);
    *n = 0;
    *named = i != NULL;
    return i ? info_procs(i, n) : NULL;
}

pmix_status_t hold_check_release(pmix_data_range_t range, const pmix_info_t *info, size_t ninfo)
{
    size_t n;
    bool named;
    const pmix_proc_t *procs = targets_of(info, ninfo, &n, &named);

    if (named)
        return procs && n > 0 && n <= RELEASE_MAX ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    /* Without names: the jobs for which the event is. */
    return range == PMIX_RANGE_NAMESPACE ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

static pmix_status_t release_ranks(const pmix_proc_t *source, pmix_data_range_t range,
                                   const pmix_info_t *info, size_t ninfo)
{
    pmix_status_t rc = hold_check_release(range, info, ninfo);
    struct upcall *u;
    size_t n;
    bool named;
    const pmix_proc_t *procs = targets_of(info, ninfo, &n, &named);
    pmix_proc_t own;

    if (rc != PMIX_SUCCESS)
        return rc;
    u = pmix_srv_upcall_new(run_release);
    if (!u)
        return PMIX_ERR_INIT;
    PMIX_LOAD_PROCID(&own, source->nspace, PMIX_RANK_WILDCARD);
    pmix_srv_upcall_procs(u, named ? procs : &own, named ? n : 1);
    pmix_srv_upcall_post(u);
    return PMIX_OPERATION_SUCCEEDED;
}

bool hold_takes(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                const pmix_info_t info[], size_t ninfo, pmix_status_t *rc)
{
    struct upcall *u;

    if (code == PMIX_DEBUGGER_RELEASE) {
        *rc = release_ranks(source, range, info, ninfo);
        return true;
    }
    if (code != PMIX_READY_FOR_DEBUG)
        return false;
    *rc = PMIX_ERR_INIT;
    u = pmix_srv_upcall_new(run_held);
    if (!u)
        return true;
    memcpy(u->nspace, source->nspace, sizeof(u->nspace) - 1);
    u->rank = source->rank;
    pmix_srv_upcall_post(u);
    *rc = PMIX_OPERATION_SUCCEEDED;
    return true;
}

/* --- to local processes */

/* Only the named processes get it, and it is not kept for later ones. */
static void send_event(struct pmix_srv *p, pmix_status_t code, const pmix_data_array_t *to,
                       const char *about, const char *where)
{
    struct op *op = op_new(p, about, PMIX_RANK_WILDCARD);
    void *list = PMIx_Info_list_start();
    pmix_proc_t source, affected;

    PMIX_LOAD_PROCID(&source, PMIX_SRV_NSPACE, p->vpid);
    PMIX_LOAD_PROCID(&affected, about, PMIX_RANK_WILDCARD);
    PMIx_Info_list_add(list, PMIX_EVENT_CUSTOM_RANGE, to, PMIX_DATA_ARRAY);
    PMIx_Info_list_add(list, PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_EVENT_DO_NOT_CACHE, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC);
    if (where)
        PMIx_Info_list_add(list, PMIX_BREAKPOINT, where, PMIX_STRING);
    PMIx_Info_list_convert(list, &op->info);
    PMIx_Info_list_release(list);
    event_tell(op, code, &source, PMIX_RANGE_CUSTOM);
}

void pmix_srv_continue(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    struct job *j = job_find(p, nspace);
    pmix_data_array_t to = {.type = PMIX_PROC};
    FREE_AUTO pmix_proc_t *procs = NULL;

    if (!j)
        return;
    procs = xcalloc(j->launch->nranks, sizeof(*procs));
    for (uint32_t r = 0; r < j->launch->nranks; r++) {
        if (!j->ranks[r].waiting || (rank != PMIX_SRV_RANK_ALL && rank != r))
            continue;
        PMIX_LOAD_PROCID(&procs[to.size], nspace, r);
        to.size++;
        j->ranks[r].waiting = false;
    }
    to.array = procs;
    if (to.size)
        send_event(p, PMIX_DEBUGGER_RELEASE, &to, nspace, NULL);
}

void pmix_srv_notify_held(struct pmix_srv *p, const struct pmix_srv_proc *to, const char *nspace,
                          enum job_stop where)
{
    static const char *const names[] = {[JOB_STOP_NONE] = "",
                                        [JOB_STOP_EXEC] = "exec",
                                        [JOB_STOP_INIT] = "pmix-init",
                                        [JOB_STOP_APP] = "application"};
    pmix_data_array_t array = {.type = PMIX_PROC, .size = 1};
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, to->nspace, to->rank);
    array.array = &proc;
    send_event(p, PMIX_READY_FOR_DEBUG, &array, nspace, names[where]);
}
