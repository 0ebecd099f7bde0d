/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx events between local clients, other daemons and the DVM.
 *
 * Out: the event of a local rank is packed, and a service sends it to the daemons that have
 * receivers; the library itself delivers it to its own clients. In: packed events of other
 * daemons, and the DVM's own: start and end of a job, lost ranks, an offline node, dropped output.
 *
 * Invariants: the library asks the host before any client gets an event, so that a refused event
 * reaches none. Every event reaches every daemon that has ranks for it, so no registration is
 * passed on. Only handlers for their codes get the DVM's events: an MPI library's default handler
 * aborts at any event, and here the job has to go on.
 *
 * Failures: events beyond EVENTS_OUT_MAX or EVENTS_OUT_BYTES_MAX under way are refused, and the
 * sender gets the status. A malformed event of another daemon is logged and dropped. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The limits on events under way from this daemon, each until all its receivers have it. An
 * event beyond them is refused, and its sender gets the status. Each client may have one more
 * under way to this daemon. */
#define EVENTS_OUT_MAX 1024
#define EVENTS_OUT_BYTES_MAX (4u << 20)

static void run_notify(struct pmix_srv *p, struct upcall *u)
{
    struct pmix_srv_reach to = {u->number, u->procs, u->nprocs};
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_notify)
        p->up.on_notify(req, u->nspace, &to, u->data.data, u->data.len, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_SUCCESS, NULL, 0);
}

/* -1: the event does not leave this daemon, whose library has sent it to its clients already. */
static int reach_of(pmix_data_range_t range)
{
    switch (range) {
    case PMIX_RANGE_NAMESPACE:
        return PMIX_SRV_REACH_JOB;
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
        return PMIX_SRV_REACH_ALL;
    case PMIX_RANGE_CUSTOM:
        return PMIX_SRV_REACH_LIST;
    default:
        return -1;
    }
}

/* The processes of a custom range. */
static const pmix_proc_t *list_of(const pmix_info_t *info, size_t ninfo, size_t *n)
{
    const pmix_info_t *i = info_find(info, ninfo, PMIX_EVENT_CUSTOM_RANGE);

    *n = 0;
    return i ? info_procs(i, n) : NULL;
}

static bool put_infos(struct buf *b, pmix_info_t *info, size_t ninfo)
{
    pmix_data_buffer_t packed;
    pmix_status_t rc = PMIX_SUCCESS;

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    if (ninfo)
        rc = PMIx_Data_pack(NULL, &packed, info, (int32_t)ninfo, PMIX_INFO);
    buf_put_u32(b, (uint32_t)ninfo);
    buf_put_bytes(b, packed.base_ptr, packed.bytes_used);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc == PMIX_SUCCESS && !b->failed;
}

void event_out_done(struct pmix_srv *p, size_t len)
{
    atomic_fetch_sub(&p->events_out, 1);
    atomic_fetch_sub(&p->events_out_bytes, len);
}

static pmix_status_t pack_event(struct upcall *u, pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t *info, size_t ninfo)
{
    size_t n;
    const pmix_proc_t *list = list_of(info, ninfo, &n);

    memcpy(u->nspace, source->nspace, sizeof(u->nspace) - 1);
    u->number = reach_of(range);
    if (range == PMIX_RANGE_CUSTOM)
        pmix_srv_upcall_procs(u, list, n);
    buf_put_u32(&u->data, (uint32_t)code);
    buf_put_str(&u->data, source->nspace);
    buf_put_u32(&u->data, source->rank);
    buf_put_u8(&u->data, range);
    if (!put_infos(&u->data, info, ninfo) || u->data.len > PMIX_SRV_EVENT_MAX)
        return PMIX_ERR_PACK_FAILURE;
    u->answer =
        (struct answer){.kind = ANSWER_EVENT, .len = u->data.len + u->nprocs * sizeof(*u->procs)};
    atomic_fetch_add(&u->srv->events_out, 1);
    atomic_fetch_add(&u->srv->events_out_bytes, u->answer.len);
    return PMIX_SUCCESS;
}

/* The library asks the host before it sends an event to any client: a refused event reaches
 * none. */
static pmix_status_t check_client(pmix_status_t code, pmix_data_range_t range,
                                  const pmix_info_t *info, size_t ninfo)
{
    struct pmix_srv *p = reach_of(range) < 0 ? NULL : pmix_srv_current();
    bool full = p && (atomic_load(&p->events_out) >= EVENTS_OUT_MAX ||
                      atomic_load(&p->events_out_bytes) >= EVENTS_OUT_BYTES_MAX);
    size_t n;

    if (range == PMIX_RANGE_CUSTOM && (!list_of(info, ninfo, &n) || n > PMIX_SRV_REACH_MAX))
        return PMIX_ERR_BAD_PARAM;
    return full ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
}

/* Answered at once: the library then sends the event to its own clients. Events of the DVM come
 * here too and need nothing more. A release goes to the head, which sends it to the ranks that
 * have stopped, once to each. */
pmix_status_t event_on_notify(pmix_status_t code, const pmix_proc_t *source,
                              pmix_data_range_t range, pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cb, void *cbdata)
{
    struct upcall *u;
    pmix_status_t rc;

    if (strcmp(source->nspace, PMIX_SRV_NSPACE) == 0)
        return PMIX_OPERATION_SUCCEEDED;
    if (hold_takes(code, source, range, info, ninfo, &rc))
        return rc == PMIX_OPERATION_SUCCEEDED && code == PMIX_DEBUGGER_RELEASE
                   ? PMIX_EVENT_ACTION_COMPLETE
                   : rc;
    rc = check_client(code, range, info, ninfo);
    if (rc != PMIX_SUCCESS)
        return rc;
    if (range == PMIX_RANGE_RM) {
        log_info("pmix: %s.%u sent an event for the resource manager: %s", source->nspace,
                 source->rank, PMIx_Error_string(code));
        return PMIX_EVENT_ACTION_COMPLETE;
    }
    if (reach_of(range) < 0)
        return PMIX_OPERATION_SUCCEEDED;
    u = pmix_srv_upcall_new(run_notify);
    if (!u)
        return PMIX_ERR_INIT;
    rc = pack_event(u, code, source, range, info, ninfo);
    if (rc != PMIX_SUCCESS) {
        pmix_srv_upcall_free(u);
        return rc;
    }
    pmix_srv_upcall_post(u);
    return PMIX_OPERATION_SUCCEEDED;
}

/* Every event reaches every daemon that has ranks for it, so no registration is passed on. */
pmix_status_t event_on_register(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t event_on_deregister(pmix_status_t *codes, size_t ncodes, pmix_op_cbfunc_t cb,
                                  void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

/* --- events of other daemons */

static bool get_infos(struct cur *c, pmix_data_array_t *out)
{
    uint32_t n = cur_count(c, PMIX_SRV_KEYS_MAX, 0);
    size_t len;
    const uint8_t *bytes = cur_bytes(c, PMIX_SRV_BLOB_MAX, &len);
    pmix_data_buffer_t packed;
    pmix_byte_object_t bo;
    pmix_status_t rc;
    int32_t got = (int32_t)n;

    /* An info is packed in more than two bytes: a peer's count allocates no more than its
     * message justifies. */
    if (!cur_done(c) || n > len / 2)
        return false;
    if (n == 0)
        return true;
    *out =
        (pmix_data_array_t){.type = PMIX_INFO, .size = n, .array = xcalloc(n, sizeof(pmix_info_t))};
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bo = (pmix_byte_object_t){.bytes = memcpy(xmalloc(len), bytes, len), .size = len};
    rc = PMIx_Data_load(&packed, &bo);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Data_unpack(NULL, &packed, out->array, &got, PMIX_INFO);
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return rc == PMIX_SUCCESS && got == (int32_t)n;
}

void event_tell(struct op *op, pmix_status_t code, const pmix_proc_t *source,
                pmix_data_range_t range)
{
    op_returned(op, PMIx_Notify_event(code, source, range, op->info.array, op->info.size,
                                      op_on_status, op_cbdata(op)));
}

void pmix_srv_notify(struct pmix_srv *p, const void *blob, size_t len,
                     void (*done)(int status, void *arg), void *arg)
{
    struct cur c = cur_of(blob, len);
    pmix_status_t code = (pmix_status_t)cur_u32(&c);
    FREE_AUTO char *nspace = cur_str(&c, PMIX_MAX_NSLEN);
    uint32_t rank = cur_u32(&c);
    uint8_t range = cur_u8(&c);
    struct op *op = op_new(p, nspace, rank);
    pmix_proc_t source;

    op->done = done;
    op->arg = arg;
    if (c.bad || !get_infos(&c, &op->info)) {
        log_warn("pmix: a peer's event is malformed and dropped");
        op_returned(op, PMIX_ERR_UNPACK_FAILURE);
        return;
    }
    PMIX_LOAD_PROCID(&source, nspace, rank);
    event_tell(op, code, &source, range);
}

/* --- events of the DVM. Only handlers for their codes get them: an MPI library's default
 * handler aborts at any event, and here the job has to go on. */

static void *own_start(const char *nspace, uint32_t rank)
{
    void *list = PMIx_Info_list_start();
    pmix_proc_t affected;

    PMIX_LOAD_PROCID(&affected, nspace, rank);
    PMIx_Info_list_add(list, PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC);
    return list;
}

/* Takes ownership of the list. */
static void own_tell(struct pmix_srv *p, pmix_status_t code, const char *nspace, void *list,
                     pmix_data_range_t range)
{
    struct op *op = op_new(p, nspace, PMIX_RANK_WILDCARD);
    pmix_proc_t source;

    PMIX_LOAD_PROCID(&source, PMIX_SRV_NSPACE, p->vpid);
    PMIx_Info_list_convert(list, &op->info);
    PMIx_Info_list_release(list);
    event_tell(op, code, &source, range);
}

static void own_range(void *list, const struct pmix_srv_proc *to, size_t n)
{
    pmix_data_array_t a = {.type = PMIX_PROC, .size = n, .array = xcalloc(n, sizeof(pmix_proc_t))};
    pmix_proc_t *procs = a.array;

    for (size_t i = 0; i < n; i++)
        PMIX_LOAD_PROCID(&procs[i], to[i].nspace, to[i].rank);
    PMIx_Info_list_add(list, PMIX_EVENT_CUSTOM_RANGE, &a, PMIX_DATA_ARRAY);
    free(a.array);
}

static bool has_receivers(const struct pmix_srv *p)
{
    return p->nclients > 0 || p->tools;
}

void pmix_srv_job_over(struct pmix_srv *p, const char *nspace)
{
    dataserve_end_waiters(p, nspace, UINT32_MAX, PMIX_ERR_NOT_FOUND);
}

void pmix_srv_notify_job_end(struct pmix_srv *p, const char *nspace, int exit_code)
{
    pmix_status_t status = exit_code == 0 ? PMIX_SUCCESS : PMIX_ERR_JOB_NON_ZERO_TERM;
    void *list;

    if (!has_receivers(p))
        return;
    list = own_start(nspace, PMIX_RANK_WILDCARD);
    PMIx_Info_list_add(list, PMIX_NSPACE, nspace, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_JOB_TERM_STATUS, &status, PMIX_STATUS);
    PMIx_Info_list_add(list, PMIX_EXIT_CODE, &exit_code, PMIX_INT);
    own_tell(p, PMIX_EVENT_JOB_END, nspace, list, PMIX_RANGE_SESSION);
}

void pmix_srv_notify_job_start(struct pmix_srv *p, const char *nspace,
                               const struct pmix_srv_proc *to)
{
    void *list = own_start(nspace, PMIX_RANK_WILDCARD);

    own_range(list, to, 1);
    own_tell(p, PMIX_EVENT_JOB_START, nspace, list, PMIX_RANGE_CUSTOM);
}

/* A node's loss affects no process by itself: lost ranks are reported one by one. */
void pmix_srv_notify_offline(struct pmix_srv *p, uint32_t vpid, const char *host)
{
    void *list;

    if (!has_receivers(p))
        return;
    list = PMIx_Info_list_start();
    PMIx_Info_list_add(list, PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_NODEID, &vpid, PMIX_UINT32);
    if (host)
        PMIx_Info_list_add(list, PMIX_HOSTNAME, host, PMIX_STRING);
    own_tell(p, PMIX_EVENT_NODE_OFFLINE, PMIX_SRV_NSPACE, list, PMIX_RANGE_SESSION);
}

void event_output_dropped(struct pmix_srv *p, const struct pmix_srv_proc *to, const char *nspace,
                          uint64_t len)
{
    void *list = own_start(nspace, PMIX_RANK_WILDCARD);
    FREE_AUTO char *text =
        xasprintf("%llu bytes of output of job %s were dropped: nobody read them",
                  (unsigned long long)len, nspace);

    PMIx_Info_list_add(list, PMIX_EVENT_TEXT_MESSAGE, text, PMIX_STRING);
    own_range(list, to, 1);
    own_tell(p, PMIX_ERR_IOF_FAILURE, nspace, list, PMIX_RANGE_CUSTOM);
}

/* The loss of a daemon is reported as the loss of each of its ranks: fault-tolerant libraries
 * handle that. */
static pmix_status_t code_of(const struct msg_rank *r)
{
    if (r->how == RANK_BY_CMD)
        return PMIX_ERR_PROC_KILLED_BY_CMD;
    if (r->how == RANK_ABORTED)
        return PMIX_ERR_PROC_REQUESTED_ABORT;
    if (r->how == RANK_LOST)
        return PMIX_ERR_PROC_TERM_WO_SYNC;
    if (WIFSIGNALED(r->value))
        return PMIX_ERR_PROC_ABORTED_BY_SIG;
    return r->how == RANK_WO_SYNC ? PMIX_ERR_PROC_TERM_WO_SYNC : PMIX_ERR_EXIT_NONZERO_TERM;
}

static int exit_code_of(const struct msg_rank *r)
{
    if (r->how == RANK_ABORTED)
        return r->value;
    return WIFSIGNALED(r->value) ? exit_code_of_signal(WTERMSIG(r->value)) : WEXITSTATUS(r->value);
}

void pmix_srv_notify_lost(struct pmix_srv *p, const char *nspace, const struct msg_rank *r,
                          const struct pmix_srv_proc *to, size_t nto)
{
    int code = exit_code_of(r);
    void *list;

    if (!has_receivers(p) || nto == 0)
        return;
    list = own_start(nspace, r->rank);
    if (r->how != RANK_LOST)
        PMIx_Info_list_add(list, PMIX_EXIT_CODE, &code, PMIX_INT);
    own_range(list, to, nto);
    own_tell(p, code_of(r), nspace, list, PMIX_RANGE_CUSTOM);
}
