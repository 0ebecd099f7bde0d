/* SPDX-License-Identifier: BSD-3-Clause */
/* Events: those of local ranks go out as blobs, those of peers and our own are told to local ranks.
 */
#include "base/log/log.h"
#include "dvm/pmix/pmix_private.h"

#include <string.h>

static void run_notify(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_notify)
        p->up.on_notify(req, u->nspace, u->number, u->data.data, u->data.len, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_SUCCESS, NULL, 0);
}

/* -1: it does not leave this daemon, whose library has told its clients already. */
static int range_of(pmix_data_range_t range)
{
    switch (range) {
    case PMIX_RANGE_NAMESPACE:
        return 0;
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
    case PMIX_RANGE_CUSTOM:
        return 1;
    default:
        return -1;
    }
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

/* Answered at once, before anybody has been told: libpmix 4.2.2 frees what its callback needs when
 * we say that the callback comes later, and then answers the client twice. */
pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range,
                        pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    int reach = range_of(range);
    struct upcall *u;

    if (reach < 0)
        return PMIX_OPERATION_SUCCEEDED;
    u = upcall_new(run_notify);
    if (!u)
        return PMIX_ERR_INIT;
    memcpy(u->nspace, source->nspace, sizeof(u->nspace) - 1);
    u->number = reach;
    buf_put_u32(&u->data, (uint32_t)code);
    buf_put_str(&u->data, source->nspace);
    buf_put_u32(&u->data, source->rank);
    buf_put_u8(&u->data, range);
    if (!put_infos(&u->data, info, ninfo)) {
        upcall_free(u);
        return PMIX_ERR_PACK_FAILURE;
    }
    upcall_post(u);
    return PMIX_OPERATION_SUCCEEDED;
}

/* Every event of a job reaches every daemon that the glue tells; nothing has to be asked for. */
pmix_status_t on_register_events(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[],
                                 size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t *codes, size_t ncodes, pmix_op_cbfunc_t cb,
                                   void *cbdata)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static bool get_infos(struct cur *c, pmix_data_array_t *out)
{
    uint32_t n = cur_count(c, PMIX_SRV_KEYS_MAX, 0);
    size_t len;
    const uint8_t *bytes = cur_bytes(c, PMIX_SRV_BLOB_MAX, &len);
    pmix_data_buffer_t packed;
    pmix_byte_object_t bo;
    pmix_status_t rc;
    int32_t got = (int32_t)n;

    /* An info is packed in more than two bytes: nothing is allocated on a stranger's word. */
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

static void tell(struct pmix_srv *p, struct op *op, pmix_status_t code, const pmix_proc_t *source,
                 pmix_data_range_t range)
{
    op_returned(op, PMIx_Notify_event(code, source, range, op->info.array, op->info.size,
                                      op_on_status, op_cbdata(op)));
}

void pmix_srv_notify(struct pmix_srv *p, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    pmix_status_t code = (pmix_status_t)cur_u32(&c);
    FREE_AUTO char *nspace = cur_str(&c, PMIX_MAX_NSLEN);
    uint32_t rank = cur_u32(&c);
    uint8_t range = cur_u8(&c);
    struct op *op = op_new(p, nspace, rank);
    pmix_proc_t source;

    if (c.bad || !get_infos(&c, &op->info)) {
        log_warn("pmix: a peer's event is malformed and dropped");
        op_finish(op, PMIX_ERR_UNPACK_FAILURE, NULL, 0);
        return;
    }
    PMIX_LOAD_PROCID(&source, nspace, rank);
    tell(p, op, code, &source, range);
}

void pmix_srv_notify_job_end(struct pmix_srv *p, const char *nspace, int exit_code)
{
    struct op *op;
    pmix_status_t status = exit_code == 0 ? PMIX_SUCCESS : PMIX_ERR_JOB_NON_ZERO_TERM;
    pmix_proc_t source, ended;
    void *list;

    store_purge(p->store, nspace, UINT32_MAX);
    data_waiters_end(p, nspace, PMIX_ERR_NOT_FOUND);
    if (p->nclients == 0)
        return;
    op = op_new(p, nspace, PMIX_RANK_WILDCARD);
    list = PMIx_Info_list_start();
    PMIX_LOAD_PROCID(&source, PMIX_SRV_NSPACE, p->vpid);
    PMIX_LOAD_PROCID(&ended, nspace, PMIX_RANK_WILDCARD);
    /* Only for those who ask for it by name: Open MPI's default handler takes any event for an
     * error. */
    PMIx_Info_list_add(list, PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_EVENT_AFFECTED_PROC, &ended, PMIX_PROC);
    PMIx_Info_list_add(list, PMIX_JOB_TERM_STATUS, &status, PMIX_STATUS);
    PMIx_Info_list_add(list, PMIX_EXIT_CODE, &exit_code, PMIX_INT);
    PMIx_Info_list_convert(list, &op->info);
    PMIx_Info_list_release(list);
    tell(p, op, PMIX_EVENT_JOB_END, &source, PMIX_RANGE_SESSION);
}
