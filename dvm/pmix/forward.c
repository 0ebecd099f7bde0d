/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard streams of the jobs that tools have spawned: output to those who have asked for it,
 * input to the job. */
#include "dvm/pmix/pmix_private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_globals.h>
#include <utlist.h>

/* What the library may keep for a tool that does not read, and how often it is looked up whether it
 * has read: the library does not tell. */
#define UNREAD_MAX (256u << 10)
#define LOOK_AGAIN_MS 20

/* Output on its way, on the library's thread. */
struct piece {
    uint32_t client;
    pmix_proc_t from;
    pmix_iof_channel_t channel;
    size_t len;
    void *data;
};

/* Jobs whose output can be asked for; the library's thread's. It has to be answered on the spot:
 * 4.2.2 frees what it hands us when we take a request to answer it later. */
struct forward {
    char *nspace;
    struct forward *prev, *next;
};
static struct forward *forwards;

/* Looked up, not linked, as in handback.c. */
static pmix_pointer_array_t *requests(void)
{
    pmix_globals_t *g = dlsym(RTLD_DEFAULT, "pmix_globals");

    return &g->iof_requests;
}

typedef pmix_status_t process_fn(pmix_iof_channel_t channels, const pmix_proc_t *source,
                                 const pmix_byte_object_t *bo, const pmix_info_t *info,
                                 size_t ninfo, const pmix_iof_req_t *req);

static process_fn *process(void)
{
    return (process_fn *)dlsym(RTLD_DEFAULT, "pmix_iof_process_iof");
}

static void piece_free(void *arg)
{
    struct piece *x = arg;

    free(x->data);
    free(x);
}

static bool concerns(const pmix_iof_req_t *r, const struct piece *x)
{
    if (!r || !(r->channels & x->channel) || r->requestor->sd < 0 || r->requestor->finalized)
        return false;
    for (size_t i = 0; i < r->nprocs; i++) {
        if (PMIX_CHECK_PROCID(&x->from, &r->procs[i]))
            return true;
    }
    return false;
}

static size_t unread_by(pmix_peer_t *peer)
{
    size_t n = peer->send_msg && peer->send_msg->data ? peer->send_msg->data->bytes_used : 0;
    pmix_ptl_send_t *m;

    PMIX_LIST_FOREACH(m, &peer->send_queue, pmix_ptl_send_t)
    {
        n += m->data ? m->data->bytes_used : 0;
    }
    return n;
}

/* The most that one of those who have asked for it has yet to read. */
static size_t unread(const struct piece *x)
{
    size_t most = 0;

    for (int i = 0; i < requests()->size; i++) {
        const pmix_iof_req_t *r = pmix_pointer_array_get_item(requests(), i);
        size_t n = concerns(r, x) ? unread_by(r->requestor) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static void run_read(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_output_read)
        p->up.on_output_read((uint32_t)u->id, u->answer.len, p->arg);
}

static void report(void *arg)
{
    struct piece *x = arg;
    struct upcall *u;

    if (unread(x) > UNREAD_MAX) {
        handback_after(srv_now(), LOOK_AGAIN_MS, report, piece_free, x);
        return;
    }
    u = upcall_new(run_read);
    if (u) {
        u->id = x->client;
        u->answer.len = x->len;
        upcall_post(u);
    }
    piece_free(x);
}

/* Straight into the queues of those who have asked. PMIx_server_IOF_deliver() would do so later,
 * and keep for ever what nobody wants by then. */
static void deliver(void *arg)
{
    struct piece *x = arg;
    const pmix_byte_object_t bo = {.bytes = x->data, .size = x->len};

    for (int i = 0; i < requests()->size; i++) {
        pmix_iof_req_t *r = pmix_pointer_array_get_item(requests(), i);

        if (concerns(r, x))
            (void)process()(x->channel, &x->from, &bo, NULL, 0, r);
    }
    free(x->data);
    x->data = NULL;
    report(x);
}

bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const char *nspace, uint32_t rank,
                     int stream, const void *data, size_t len)
{
    struct piece *x;

    if (!p->knows_library || !process() || len == 0)
        return false;
    x = xcalloc(1, sizeof(*x));
    x->client = client;
    PMIX_LOAD_PROCID(&x->from, nspace, rank);
    x->channel = stream == 2 ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL;
    x->len = len;
    x->data = memcpy(xmalloc(len), data, len);
    handback(p, deliver, piece_free, x);
    return true;
}

static struct forward *forward_find(const char *nspace)
{
    struct forward *f;

    DL_FOREACH(forwards, f)
    {
        if (strcmp(f->nspace, nspace) == 0)
            return f;
    }
    return NULL;
}

static void forward_add(void *arg)
{
    struct forward *f = xcalloc(1, sizeof(*f));

    f->nspace = arg;
    DL_APPEND(forwards, f);
}

static void forward_free(struct forward *f)
{
    DL_DELETE(forwards, f);
    free(f->nspace);
    free(f);
}

static void forward_remove(void *arg)
{
    struct forward *f = forward_find(arg);

    if (f)
        forward_free(f);
    free(arg);
}

void pmix_srv_output_open(struct pmix_srv *p, const char *nspace)
{
    if (p->knows_library)
        handback(p, forward_add, free, xstrdup(nspace));
}

void pmix_srv_output_close(struct pmix_srv *p, const char *nspace)
{
    if (p->knows_library)
        handback(p, forward_remove, free, xstrdup(nspace));
}

void forward_end(void)
{
    while (forwards)
        forward_free(forwards);
}

/* What the library has noted by now is not taken back if this refuses, and harmless: nothing comes
 * from such a job. */
pmix_status_t on_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                      size_t ninfo, pmix_iof_channel_t channels, pmix_op_cbfunc_t cb, void *cbdata)
{
    if (info_true(info, ninfo, PMIX_IOF_STOP))
        return PMIX_OPERATION_SUCCEEDED;
    if (nprocs == 0)
        return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < nprocs; i++) {
        if (!forward_find(procs[i].nspace))
            return PMIX_ERR_NOT_FOUND;
    }
    return PMIX_OPERATION_SUCCEEDED;
}

/* --- input */

static void run_push(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);
    struct pmix_srv_proc from = {.rank = u->rank};

    memcpy(from.nspace, u->nspace, sizeof(from.nspace));
    if (p->up.on_push)
        p->up.on_push(req, &from, &u->procs[0], u->data.data, u->data.len, u->number != 0, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

pmix_status_t on_push(const pmix_proc_t *source, const pmix_proc_t targets[], size_t ntargets,
                      const pmix_info_t info[], size_t ninfo, const pmix_byte_object_t *bo,
                      pmix_op_cbfunc_t cb, void *cbdata)
{
    bool some = bo && bo->bytes && bo->size > 0;
    struct upcall *u;

    if (ntargets != 1)
        return PMIX_ERR_BAD_PARAM;
    if (some && bo->size > PMIX_SRV_PUSH_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    u = upcall_new(run_push);
    if (!u)
        return PMIX_ERR_INIT;
    memcpy(u->nspace, source->nspace, sizeof(u->nspace) - 1);
    u->rank = source->rank;
    upcall_procs(u, targets, 1);
    if (some)
        buf_put_raw(&u->data, bo->bytes, bo->size);
    u->number = !some || info_true(info, ninfo, PMIX_IOF_COMPLETE);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    upcall_post(u);
    return PMIX_SUCCESS;
}
