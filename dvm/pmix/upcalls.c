/* SPDX-License-Identifier: BSD-3-Clause */
/* Upcalls of a rank's life and of the modex: connected, finalized, abort, fence, connect, direct
 * modex; and the serving of a peer's direct modex. */
#include "dvm/pmix/pmix_private.h"

#include <string.h>

static void load_proc(struct upcall *u, const pmix_proc_t *proc)
{
    memcpy(u->nspace, proc->nspace, sizeof(u->nspace) - 1);
    u->rank = proc->rank;
}

static void run_connected(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_connected)
        p->up.on_connected(u->nspace, u->rank, p->arg);
}

static void run_finalized(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_finalized)
        p->up.on_finalized(u->nspace, u->rank, p->arg);
}

/* The client waits for our consent, which has no condition: it is given at once. */
static pmix_status_t tell(const pmix_proc_t *proc, void (*run)(struct pmix_srv *, struct upcall *))
{
    struct upcall *u = upcall_new(run);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    upcall_post(u);
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t ninfo,
                           pmix_op_cbfunc_t cb, void *cbdata)
{
    return tell(proc, run_connected);
}

pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t cb, void *cbdata)
{
    return tell(proc, run_finalized);
}

static void run_abort(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_abort)
        p->up.on_abort(req, u->nspace, u->rank, u->number, u->text, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* Whoever calls it ends the whole job, whatever subset it names: the error policy of a job knows
 * nothing smaller (docs/pmix.md). */
pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                       pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = upcall_new(run_abort);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    u->number = status;
    u->text = xstrdup(text ? text : "");
    upcall_post(u);
    return PMIX_SUCCESS;
}

static void run_fence(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_fence)
        p->up.on_fence(req, u->op, u->procs, u->nprocs, u->data.data, u->data.len, u->timeout_s,
                       p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

static struct upcall *collective(char op, const pmix_proc_t *procs, size_t nprocs,
                                 const pmix_info_t *info, size_t ninfo)
{
    struct upcall *u = upcall_new(run_fence);

    if (!u)
        return NULL;
    u->op = op;
    upcall_procs(u, procs, nprocs);
    u->timeout_s = (int)info_int(info, ninfo, PMIX_TIMEOUT, 0);
    return u;
}

pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                       size_t ninfo, char *data, size_t len, pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = collective('f', procs, nprocs, info, ninfo);

    if (!u)
        return PMIX_ERR_INIT;
    if (data && len)
        buf_put_raw(&u->data, data, len);
    if (u->data.failed) {
        upcall_free(u);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    u->answer = (struct answer){.kind = ANSWER_MODEX, .cb.modex = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}

static pmix_status_t connect_or_not(char op, const pmix_proc_t *procs, size_t nprocs,
                                    const pmix_info_t *info, size_t ninfo, pmix_op_cbfunc_t cb,
                                    void *cbdata)
{
    struct upcall *u = collective(op, procs, nprocs, info, ninfo);

    if (!u)
        return PMIX_ERR_INIT;
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}

pmix_status_t on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                         size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    return connect_or_not('c', procs, nprocs, info, ninfo, cb, cbdata);
}

pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    return connect_or_not('d', procs, nprocs, info, ninfo, cb, cbdata);
}

/* A group's context id has to be the same on all daemons and unlike any other: each proposes its
 * own next number, with its vpid in the low bits, and the greatest wins. */
#define CONTEXT_VPID_BITS 20

static void run_group(struct pmix_srv *p, struct upcall *u)
{
    uint64_t proposal = ++p->last_id << CONTEXT_VPID_BITS | p->vpid;
    BUF_AUTO struct buf b = {.max = PMIX_SRV_BLOB_MAX};

    buf_put_u8(&b, u->number != 0);
    buf_put_u64(&b, proposal);
    buf_put_bytes(&b, u->data.data, u->data.len);
    if (b.failed)
        u->answer.cb.info(PMIX_ERR_OUT_OF_RESOURCE, NULL, 0, u->answer.cbdata, NULL, NULL);
    else if (p->up.on_fence)
        p->up.on_fence(req_add(p, &u->answer), 'g', u->procs, u->nprocs, b.data, b.len,
                       u->timeout_s, p->arg);
    else
        u->answer.cb.info(PMIX_ERR_NOT_SUPPORTED, NULL, 0, u->answer.cbdata, NULL, NULL);
}

/* The collective's name: after the members one more entry, which is no process. */
static void add_group_name(struct upcall *u, pmix_group_operation_t op, const char *name)
{
    struct pmix_srv_proc *e;

    u->procs = xrealloc(u->procs, (u->nprocs + 1) * sizeof(*u->procs));
    e = &u->procs[u->nprocs++];
    *e = (struct pmix_srv_proc){.rank = PMIX_RANK_INVALID};
    snprintf(e->nspace, sizeof(e->nspace), "%c%s", op == PMIX_GROUP_CONSTRUCT ? 'C' : 'D', name);
}

pmix_status_t on_group(pmix_group_operation_t op, char name[], const pmix_proc_t procs[],
                       size_t nprocs, const pmix_info_t info[], size_t ninfo, pmix_info_cbfunc_t cb,
                       void *cbdata)
{
    struct upcall *u = collective('g', procs, nprocs, info, ninfo);
    const pmix_info_t *endpoints = info_find(info, ninfo, PMIX_GROUP_ENDPT_DATA);

    if (!u)
        return PMIX_ERR_INIT;
    u->run = run_group;
    add_group_name(u, op, name);
    u->number = op == PMIX_GROUP_CONSTRUCT && info_true(info, ninfo, PMIX_GROUP_ASSIGN_CONTEXT_ID);
    if (endpoints && endpoints->value.type == PMIX_BYTE_OBJECT)
        buf_put_raw(&u->data, endpoints->value.data.bo.bytes, endpoints->value.data.bo.size);
    u->answer = (struct answer){.kind = ANSWER_GROUP, .cb.info = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}

/* Takes the contributions of all daemons apart. False: malformed. */
static bool group_read(const void *data, size_t len, bool *wanted, uint64_t *context,
                       struct buf *endpoints)
{
    struct cur c = cur_of(data, len);

    while (!c.bad && cur_left(&c)) {
        bool asked = cur_u8(&c) != 0;
        uint64_t proposal = cur_u64(&c);
        size_t n;
        const uint8_t *bytes = cur_bytes(&c, PMIX_SRV_BLOB_MAX, &n);

        *wanted = *wanted || asked;
        if (proposal > *context)
            *context = proposal;
        if (bytes)
            buf_put_raw(endpoints, bytes, n);
    }
    return cur_done(&c) && !endpoints->failed;
}

struct group_info {
    pmix_info_t *info;
    size_t n;
};

static void on_group_read(void *arg)
{
    struct group_info *g = arg;

    PMIX_INFO_FREE(g->info, g->n);
    free(g);
}

void answer_group(const struct answer *a, int status, const void *data, size_t len)
{
    BUF_AUTO struct buf endpoints = {.max = PMIX_SRV_BLOB_MAX};
    struct group_info *g;
    bool wanted = false;
    uint64_t context = 0;

    if (status == PMIX_SUCCESS && !group_read(data, len, &wanted, &context, &endpoints))
        status = PMIX_ERR_UNPACK_FAILURE;
    if (status != PMIX_SUCCESS || (!wanted && !endpoints.len)) {
        a->cb.info(status, NULL, 0, a->cbdata, NULL, NULL);
        return;
    }
    g = xcalloc(1, sizeof(*g));
    PMIX_INFO_CREATE(g->info, 2);
    if (wanted) {
        size_t id = context;

        PMIX_INFO_LOAD(&g->info[g->n++], PMIX_GROUP_CONTEXT_ID, &id, PMIX_SIZE);
    }
    if (endpoints.len) {
        pmix_byte_object_t bo = {.bytes = (char *)endpoints.data, .size = endpoints.len};

        PMIX_INFO_LOAD(&g->info[g->n++], PMIX_GROUP_ENDPT_DATA, &bo, PMIX_BYTE_OBJECT);
    }
    a->cb.info(PMIX_SUCCESS, g->info, g->n, a->cbdata, on_group_read, g);
}

static void run_dmodex(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_dmodex)
        p->up.on_dmodex(req, u->nspace, u->rank, u->timeout_s, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_FOUND, NULL, 0);
}

pmix_status_t on_dmodex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                        pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = upcall_new(run_dmodex);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    u->timeout_s = (int)info_int(info, ninfo, PMIX_TIMEOUT, 0);
    u->answer = (struct answer){.kind = ANSWER_MODEX, .cb.modex = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}

static void on_dmodex_timeout(void *arg)
{
    op_finish(arg, PMIX_ERR_TIMEOUT, NULL, 0);
}

/* The library would wait for ever for a rank that it has been told to forget. */
static bool is_gone(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    const struct job *j = job_find(p, nspace);

    return j && rank < j->launch.nranks && j->gone[rank];
}

void pmix_srv_dmodex_serve(struct pmix_srv *p, const char *nspace, uint32_t rank, int timeout_s,
                           void (*done)(int status, const void *data, size_t len, void *arg),
                           void *arg)
{
    struct op *op = op_new(p, nspace, rank);
    pmix_proc_t proc;

    op->done_data = done;
    op->arg = arg;
    if (is_gone(p, nspace, rank)) {
        op_returned(op, PMIX_ERR_NOT_FOUND);
        return;
    }
    if (timeout_s > 0) {
        op->timer = loop_timer_create(p->loop, on_dmodex_timeout, op);
        loop_timer_arm(op->timer, (uint64_t)timeout_s * 1000);
    }
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    op_returned(op, PMIx_server_dmodex_request(&proc, op_on_data, op_cbdata(op)));
}
