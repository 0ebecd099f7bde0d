/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Allocation_request: reads the request, gives its answer, and sends the event at its end.
 * docs/pmix/resize.md has the attributes and statuses.
 *
 * In: the directive and the attributes of a rank or tool, on the library's thread; the core's
 * answer; the end of an accepted request. Out: a struct resize_request and a list of nodes for
 * on_resize(); the answer with a status, the campaign's id and its phase; one event to the
 * requester alone.
 *
 * PMIX_ALLOC_EXTEND, _RELEASE and _REQ_CANCEL are supported. All others are refused, since the DVM
 * is the only allocation. An attribute that its directive does not read is ignored, unless it is
 * marked as required.
 *
 * Invariants: the event is PMIX_DVM_IS_READY after success, otherwise PMIX_ERR_DVM_MOD with the
 * cause. Only handlers for these codes receive it.
 *
 * Failures: a malformed attribute gives PMIX_ERR_BAD_PARAM, as does a value above its limit
 * (API_ID_MAX, RESIZE_LIST_MAX, VPID_MAX, API_DEADLINE_MAX). An unknown directive or required
 * attribute gives PMIX_ERR_NOT_SUPPORTED. A rank that has ended gets no event, only a log line.
 *
 * Whether the DVM can have the size is decided by the head, not here. */
#include "api/api.h"
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/wire/frame.h"

#include <stdlib.h>
#include <string.h>

/* Names that later headers have; the numbers are upstream's. */
#ifndef PMIX_ALLOC_REQ_CANCEL
#define PMIX_ALLOC_REQ_CANCEL 5
#endif
#ifndef PMIX_DVM_IS_READY
#define PMIX_DVM_IS_READY (-195)
#endif
#ifndef PMIX_ERR_DVM_MOD
#define PMIX_ERR_DVM_MOD (-196)
#endif

static const pmix_status_t statuses[RESIZE_STATUSES] = {
    [RESIZE_OK] = PMIX_SUCCESS,
    [RESIZE_BAD] = PMIX_ERR_BAD_PARAM,
    [RESIZE_NOT_FOUND] = PMIX_ERR_NOT_FOUND,
    [RESIZE_NO_ROOM] = PMIX_ERR_OUT_OF_RESOURCE,
    [RESIZE_NOT_ALLOWED] = PMIX_ERR_NO_PERMISSIONS,
    [RESIZE_BUSY] = PMIX_ERR_RESOURCE_BUSY,
    [RESIZE_EXISTS] = PMIX_ERR_EXISTS,
    [RESIZE_TOO_LATE] = PMIX_ERR_INVALID_OPERATION,
    [RESIZE_UNREACHABLE] = PMIX_ERR_UNREACH,
    [RESIZE_FAILED] = PMIX_ERR_DVM_MOD,
    [RESIZE_TIMEOUT] = PMIX_ERR_TIMEOUT,
    [RESIZE_CANCELLED] = PMIX_ERR_JOB_CANCELED,
    [RESIZE_LOST] = PMIX_ERR_LOST_CONNECTION,
};

/* --- the request; on PMIx's thread */

/* The attributes that this module reads, by directive. Attributes that the library adds by
 * itself are ignored, not refused. */
static const char *const anywhere[] = {PMIX_ALLOC_REQ_ID, PMIX_ALLOC_ID, PMIX_USERID, PMIX_GRPID,
                                       NULL};
/* Our own: the extension stays when the job of its requester has ended. */
#define DVM_ALLOC_KEEP "dvm.alloc.keep"
static const char *const in_extend[] = {PMIX_ALLOC_NUM_NODES, PMIX_ALLOC_NODE_LIST, PMIX_TIMEOUT,
                                        DVM_ALLOC_KEEP, NULL};
static const char *const in_release[] = {
    PMIX_ALLOC_NUM_NODES, PMIX_ALLOC_NODE_LIST,    PMIX_TIMEOUT,
    PMIX_JOB_CTRL_KILL,   PMIX_JOB_CTRL_TERMINATE, NULL};
static const char *const in_cancel[] = {NULL};

static bool has_key(const char *const *keys, const pmix_info_t *info)
{
    while (*keys && !PMIX_CHECK_KEY(info, *keys))
        keys++;
    return *keys != NULL;
}

static bool all_understood(const char *const *keys, const pmix_info_t *info, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_INFO_IS_REQUIRED(&info[i]) && !has_key(keys, &info[i]) &&
            !has_key(anywhere, &info[i]))
            return false;
    }
    return true;
}

/* "" if it is not there. */
static pmix_status_t read_text(const pmix_info_t *info, size_t n, const char *key, size_t max,
                               char **out)
{
    const pmix_info_t *i = info_find(info, n, key);
    const char *text = i && i->value.type == PMIX_STRING ? i->value.data.string : NULL;

    if (i && (!text || !*text || strlen(text) > max))
        return PMIX_ERR_BAD_PARAM;
    *out = xstrdup(text ? text : "");
    return PMIX_SUCCESS;
}

/* 0 if it is not there. */
static pmix_status_t read_count(const pmix_info_t *info, size_t n, uint32_t *out)
{
    long count = info_int(info, n, PMIX_ALLOC_NUM_NODES, -1);

    if (!info_find(info, n, PMIX_ALLOC_NUM_NODES))
        count = 0;
    else if (count < 1)
        return PMIX_ERR_BAD_PARAM;
    else if (!vpid_allowed((uint64_t)count))
        return PMIX_ERR_OUT_OF_RESOURCE;
    *out = (uint32_t)count;
    return PMIX_SUCCESS;
}

/* The time limit of the campaign in seconds. -1: the request gives no limit, or 0. */
static pmix_status_t read_deadline(const pmix_info_t *info, size_t n, const char *const *keys,
                                   int64_t *out)
{
    bool given =
        info_find(info, n, PMIX_TIMEOUT) && has_key(keys, info_find(info, n, PMIX_TIMEOUT));
    long s = given ? info_int(info, n, PMIX_TIMEOUT, -1) : 0;

    if (s < 0 || s > API_DEADLINE_MAX)
        return PMIX_ERR_BAD_PARAM;
    *out = s > 0 ? s : -1;
    return PMIX_SUCCESS;
}

/* The DVM takes no members away after a time. */
static bool wants_end(pmix_alloc_directive_t directive, const pmix_info_t *info, size_t n)
{
    return directive == PMIX_ALLOC_EXTEND && info_find(info, n, PMIX_ALLOC_TIME);
}

static const char *const *keys_of(pmix_alloc_directive_t directive)
{
    switch (directive) {
    case PMIX_ALLOC_EXTEND:
        return in_extend;
    case PMIX_ALLOC_RELEASE:
        return in_release;
    case PMIX_ALLOC_REQ_CANCEL:
        return in_cancel;
    default: /* the DVM is the one allocation, and nothing is lent */
        return NULL;
    }
}

static enum resize_kind kind_of(pmix_alloc_directive_t directive, const pmix_info_t *info, size_t n)
{
    if (directive == PMIX_ALLOC_EXTEND)
        return RESIZE_EXTEND;
    if (directive == PMIX_ALLOC_REQ_CANCEL)
        return RESIZE_CANCEL;
    return info_true(info, n, PMIX_JOB_CTRL_KILL) || info_true(info, n, PMIX_JOB_CTRL_TERMINATE)
               ? RESIZE_RELEASE_KILL
               : RESIZE_RELEASE;
}

static pmix_status_t read_request(struct upcall *u, pmix_alloc_directive_t directive,
                                  const pmix_info_t *info, size_t n)
{
    const char *const *keys = keys_of(directive);
    pmix_status_t rc;

    if (!keys || !all_understood(keys, info, n) || wants_end(directive, info, n))
        return PMIX_ERR_NOT_SUPPORTED;
    u->number = kind_of(directive, info, n);
    u->resize.keep = directive == PMIX_ALLOC_EXTEND && info_true(info, n, DVM_ALLOC_KEEP);
    rc = read_text(info, n, PMIX_ALLOC_REQ_ID, API_ID_MAX, &u->resize.req_id);
    if (rc == PMIX_SUCCESS)
        rc = read_text(info, n, PMIX_ALLOC_ID, API_ID_MAX, &u->resize.id);
    if (rc == PMIX_SUCCESS && directive != PMIX_ALLOC_REQ_CANCEL)
        rc = read_text(info, n, PMIX_ALLOC_NODE_LIST, RESIZE_LIST_MAX, &u->text);
    if (rc == PMIX_SUCCESS && directive != PMIX_ALLOC_REQ_CANCEL)
        rc = read_count(info, n, &u->resize.count);
    return rc == PMIX_SUCCESS ? read_deadline(info, n, keys, &u->resize.deadline_s) : rc;
}

static void run_resize(struct pmix_srv *p, struct upcall *u)
{
    struct resize_request ask = {.kind = (enum resize_kind)u->number,
                                 .nspace = u->nspace,
                                 .rank = u->rank,
                                 .req_id = u->resize.req_id,
                                 .id = u->resize.id,
                                 .count = u->resize.count,
                                 .deadline_s = u->resize.deadline_s,
                                 .keep = u->resize.keep};
    pmix_req req;

    u->answer.req_id = xstrdup(u->resize.req_id);
    req = pmix_srv_add_request(p, &u->answer);
    pmix_srv_request_waits(p, req, u->nspace,
                           xasprintf("rank %u waits for another size of the DVM", u->rank));
    if (p->up.on_resize)
        p->up.on_resize(req, &ask, u->text ? u->text : "", p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

pmix_status_t resize_on_request(const pmix_proc_t *client, pmix_alloc_directive_t directive,
                                const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cb,
                                void *cbdata)
{
    struct upcall *u = pmix_srv_upcall_new(run_resize);
    pmix_status_t rc;

    if (!u)
        return PMIX_ERR_INIT;
    rc = read_request(u, directive, info, ninfo);
    if (rc != PMIX_SUCCESS) {
        pmix_srv_upcall_free(u);
        return rc;
    }
    memcpy(u->nspace, client->nspace, sizeof(u->nspace) - 1);
    u->rank = client->rank;
    u->answer = (struct answer){.kind = ANSWER_RESIZE, .cb.info = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* --- the answer */

void pmix_srv_resize_answer(struct pmix_srv *p, pmix_req req, enum resize_status status,
                            const char *id, const char *phase)
{
    BUF_AUTO struct buf b = {.max = PMIX_SRV_BLOB_MAX};

    buf_put_str(&b, id);
    buf_put_str(&b, phase);
    pmix_srv_answer(p, req, statuses[status], b.data, b.len);
}

static void on_taken(void *cbdata)
{
    pmix_data_array_t *array = cbdata;

    PMIX_DATA_ARRAY_DESTRUCT(array);
    free(array);
}

void resize_answer(const struct answer *a, int status, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);
    FREE_AUTO char *id = cur_str(&c, API_ID_MAX);
    FREE_AUTO char *phase = cur_str(&c, API_ID_MAX);
    pmix_data_array_t *array;
    void *list;

    if (status == PMIX_SUCCESS && !cur_done(&c))
        status = PMIX_ERR_UNPACK_FAILURE;
    if (status != PMIX_SUCCESS) {
        a->cb.info(status, NULL, 0, a->cbdata, NULL, NULL);
        return;
    }
    array = xcalloc(1, sizeof(*array));
    list = PMIx_Info_list_start();
    PMIx_Info_list_add(list, PMIX_ALLOC_ID, id, PMIX_STRING);
    if (*a->req_id)
        PMIx_Info_list_add(list, PMIX_ALLOC_REQ_ID, a->req_id, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_QUERY_ALLOC_STATUS, phase, PMIX_STRING);
    PMIx_Info_list_convert(list, array);
    PMIx_Info_list_release(list);
    a->cb.info(PMIX_SUCCESS, array->array, array->size, a->cbdata, on_taken, array);
}

/* --- the event */

static bool is_here(struct pmix_srv *p, const struct pmix_srv_resize_end *e)
{
    struct job *j = job_find(p, e->nspace);

    return !j || (e->rank < j->launch->nranks && j->ranks[e->rank].connected);
}

void pmix_srv_resize_ended(struct pmix_srv *p, const struct pmix_srv_resize_end *e)
{
    bool ready = e->status == RESIZE_OK;
    pmix_status_t cause = statuses[e->status];
    pmix_proc_t source, asker;
    pmix_data_array_t range = {.type = PMIX_PROC, .size = 1, .array = &asker};
    struct op *op;
    void *list;

    if (!is_here(p, e)) {
        log_info("pmix: job %s rank %u has ended and is not notified of the end of %s", e->nspace,
                 e->rank, e->id);
        return;
    }
    op = op_new(p, e->nspace, e->rank);
    list = PMIx_Info_list_start();
    PMIX_LOAD_PROCID(&source, PMIX_SRV_NSPACE, p->vpid);
    PMIX_LOAD_PROCID(&asker, e->nspace, e->rank);
    /* Only handlers for these codes get it: Open MPI's default handler treats any event as an
     * error. */
    PMIx_Info_list_add(list, PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
    PMIx_Info_list_add(list, PMIX_EVENT_CUSTOM_RANGE, &range, PMIX_DATA_ARRAY);
    PMIx_Info_list_add(list, PMIX_ALLOC_ID, e->id, PMIX_STRING);
    if (*e->req_id)
        PMIx_Info_list_add(list, PMIX_ALLOC_REQ_ID, e->req_id, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_JOB_TERM_STATUS, &cause, PMIX_STATUS);
    if (*e->cause)
        PMIx_Info_list_add(list, PMIX_EVENT_TEXT_MESSAGE, e->cause, PMIX_STRING);
    PMIx_Info_list_convert(list, &op->info);
    PMIx_Info_list_release(list);
    event_tell(op, ready ? PMIX_DVM_IS_READY : PMIX_ERR_DVM_MOD, &source, PMIX_RANGE_CUSTOM);
}
