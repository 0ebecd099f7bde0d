/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard streams: output to those tools that have asked for it, input to what they have spawned.
 */
#include "dvm/host/pmix/pmix_private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <src/include/pmix_config.h>

#include <src/class/pmix_pointer_array.h>
#include <src/include/pmix_globals.h>
#include <utlist.h>

/* Those that have been read release what they hand to on_pull() although they are going to be
 * answered; a later one does not. */
#if PMIX_NUMERIC_VERSION == 0x00040202 || PMIX_NUMERIC_VERSION == 0x00050007
#define PULL_IS_KNOWN true
#else
#define PULL_IS_KNOWN false
#endif

/* What the library may keep for a tool that does not read, and how often it is looked up whether it
 * has read: the library does not tell. */
#define UNREAD_MAX (256u << 10)
#define LOOK_AGAIN_MS 20
/* Who has not read anything for so long is waited for no longer, unless the job is its own: what
 * comes is dropped for it, until it has read nearly all. */
#define STALL_MS 1000
#define UNREAD_LOW (UNREAD_MAX / 4)

/* Output on its way, on the library's thread. */
struct piece {
    uint32_t client; /* 0: a copy, of a job that is not a tool's here */
    pmix_proc_t owner;
    pmix_proc_t from;
    pmix_iof_channel_t channel;
    size_t len;
    void *data;
};

/* A request whose tool is behind; the library's thread's. */
struct lag {
    const pmix_iof_req_t *req; /* another's may come to be in the same place: */
    pmix_proc_t tool;
    size_t remote_id;
    size_t unread;     /* when it was last looked at, */
    uint64_t since_ms; /* and since when it has not become less */
    bool stalled;
    uint64_t dropped;
    struct lag *prev, *next;
};
static struct lag *lags;

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

static bool is_owner(const struct piece *x, const pmix_iof_req_t *r)
{
    const pmix_rank_info_t *who = r->requestor->info;

    return who && who->pname.rank == x->owner.rank &&
           strcmp(who->pname.nspace, x->owner.nspace) == 0;
}

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- those who are behind */

static void lag_free(struct lag *l)
{
    DL_DELETE(lags, l);
    free(l);
}

static pmix_proc_t tool_of(const pmix_iof_req_t *r)
{
    const pmix_rank_info_t *who = r->requestor->info;
    pmix_proc_t tool;

    PMIX_LOAD_PROCID(&tool, who ? who->pname.nspace : "", who ? who->pname.rank : PMIX_RANK_UNDEF);
    return tool;
}

static bool is_of(const struct lag *l, const pmix_iof_req_t *r)
{
    pmix_proc_t tool;

    if (l->req != r || l->remote_id != r->remote_id)
        return false;
    tool = tool_of(r);
    return tool.rank == l->tool.rank && strcmp(tool.nspace, l->tool.nspace) == 0;
}

static struct lag *lag_new(const pmix_iof_req_t *r, size_t unread)
{
    struct lag *l = xcalloc(1, sizeof(*l));

    *l = (struct lag){.req = r,
                      .tool = tool_of(r),
                      .remote_id = r->remote_id,
                      .unread = unread,
                      .since_ms = now_ms()};
    DL_APPEND(lags, l);
    return l;
}

static struct lag *lag_find(const pmix_iof_req_t *r)
{
    for (struct lag *l = lags; l; l = l->next) {
        if (is_of(l, r))
            return l;
    }
    return NULL;
}

/* Of requests that have been withdrawn, or whose tools have gone. */
static void lags_prune(void)
{
    struct lag *l, *tmp;

    DL_FOREACH_SAFE(lags, l, tmp)
    {
        bool there = false;

        for (int i = 0; i < requests()->size && !there; i++) {
            const pmix_iof_req_t *r = pmix_pointer_array_get_item(requests(), i);

            there = r && is_of(l, r);
        }
        if (!there)
            lag_free(l);
    }
}

static void run_dropped(struct pmix_srv *p, struct upcall *u)
{
    event_output_dropped(p, &u->procs[0], u->nspace, u->id);
}

static void tell_dropped(const struct lag *l, const char *nspace)
{
    struct upcall *u = l->dropped && l->tool.nspace[0] ? upcall_new(run_dropped) : NULL;

    if (!u)
        return;
    upcall_procs(u, &l->tool, 1);
    memccpy(u->nspace, nspace, 0, sizeof(u->nspace) - 1);
    u->id = l->dropped;
    upcall_post(u);
}

/* How much the job waits for, of what this request's tool has yet to read. */
static size_t waited_for(const struct piece *x, const pmix_iof_req_t *r)
{
    size_t n = unread_by(r->requestor);
    struct lag *l = lag_find(r);

    if (is_owner(x, r) || (n <= UNREAD_MAX && !l))
        return n;
    if (!l)
        l = lag_new(r, n);
    if (l->stalled)
        return 0;
    if (n <= UNREAD_MAX) {
        lag_free(l);
        return n;
    }
    if (n < l->unread)
        l->since_ms = now_ms();
    l->unread = n;
    l->stalled = now_ms() - l->since_ms > STALL_MS;
    return l->stalled ? 0 : n;
}

/* True: this piece is not for it. */
static bool dropped(const struct piece *x, const pmix_iof_req_t *r)
{
    struct lag *l = is_owner(x, r) ? NULL : lag_find(r);

    if (!l || !l->stalled)
        return false;
    if (unread_by(r->requestor) > UNREAD_LOW) {
        l->dropped += x->len;
        return true;
    }
    tell_dropped(l, x->from.nspace);
    lag_free(l);
    return false;
}

/* --- output */

/* The most that one of those who have asked for it has yet to read. */
static size_t unread(const struct piece *x)
{
    size_t most = 0;

    for (int i = 0; i < requests()->size; i++) {
        const pmix_iof_req_t *r = pmix_pointer_array_get_item(requests(), i);
        size_t n = concerns(r, x) ? waited_for(x, r) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static void run_read(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_output_read)
        p->up.on_output_read((uint32_t)u->id, u->nspace, u->answer.len, u->number != 0, p->arg);
}

static bool wanted(const struct piece *x)
{
    for (int i = 0; i < requests()->size; i++) {
        if (concerns(pmix_pointer_array_get_item(requests(), i), x))
            return true;
    }
    return false;
}

static void report(void *arg)
{
    const struct pmix_srv *p = srv_now();
    struct piece *x = arg;
    struct upcall *u;

    if (p && unread(x) > UNREAD_MAX) {
        handback_after(p, LOOK_AGAIN_MS, report, piece_free, x);
        return;
    }
    u = upcall_new(run_read);
    if (u) {
        u->id = x->client;
        memcpy(u->nspace, x->from.nspace, sizeof(x->from.nspace));
        u->number = wanted(x);
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

    lags_prune();
    for (int i = 0; i < requests()->size; i++) {
        pmix_iof_req_t *r = pmix_pointer_array_get_item(requests(), i);

        if (concerns(r, x) && !dropped(x, r))
            (void)process()(x->channel, &x->from, &bo, NULL, 0, r);
    }
    free(x->data);
    x->data = NULL;
    report(x);
}

bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const struct pmix_srv_proc *owner,
                     const char *nspace, uint32_t rank, int stream, const void *data, size_t len)
{
    struct piece *x;

    if (!p->knows_library || !process() || len == 0)
        return false;
    x = xcalloc(1, sizeof(*x));
    x->client = client;
    if (owner)
        PMIX_LOAD_PROCID(&x->owner, owner->nspace, owner->rank);
    PMIX_LOAD_PROCID(&x->from, nspace, rank);
    x->channel = stream == 2 ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL;
    x->len = len;
    x->data = memcpy(xmalloc(len), data, len);
    handback(p, deliver, piece_free, x);
    return true;
}

static void run_over(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_output_over)
        p->up.on_output_over(u->nspace, p->arg);
}

/* Behind all that was delivered before. */
static void over(void *arg)
{
    FREE_AUTO char *nspace = arg;
    struct upcall *u = upcall_new(run_over);
    struct lag *l, *tmp;

    lags_prune();
    DL_FOREACH_SAFE(lags, l, tmp)
    {
        bool its = false;

        for (size_t i = 0; i < l->req->nprocs; i++)
            its |= strcmp(l->req->procs[i].nspace, nspace) == 0;
        if (its)
            tell_dropped(l, nspace);
        if (its)
            lag_free(l);
    }
    if (!u)
        return;
    memccpy(u->nspace, nspace, 0, sizeof(u->nspace) - 1);
    upcall_post(u);
}

void pmix_srv_output_over(struct pmix_srv *p, const char *nspace)
{
    handback(p, over, free, xstrdup(nspace));
}

void forward_end(void)
{
    while (lags)
        lag_free(lags);
}

/* --- who wants it */

static void run_pull(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = req_add(p, &u->answer);

    if (p->up.on_pull)
        p->up.on_pull(req, u->procs, u->nprocs, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* What the library has noted by now is not taken back if this is refused, and harmless: nothing
 * comes from such a job. Nobody is told who no longer wants it: it is seen when there is more. */
pmix_status_t on_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                      size_t ninfo, pmix_iof_channel_t channels, pmix_op_cbfunc_t cb, void *cbdata)
{
    const pmix_info_t *oldest = info_find(info, ninfo, PMIX_IOF_DROP_OLDEST);
    struct upcall *u;

    if (!PULL_IS_KNOWN)
        return PMIX_ERR_NOT_SUPPORTED;
    if (info_true(info, ninfo, PMIX_IOF_STOP))
        return PMIX_OPERATION_SUCCEEDED;
    if (nprocs == 0)
        return PMIX_ERR_BAD_PARAM;
    if (info_true(info, ninfo, PMIX_IOF_REDIRECT) || (oldest && PMIX_INFO_IS_REQUIRED(oldest)))
        return PMIX_ERR_NOT_SUPPORTED;
    u = upcall_new(run_pull);
    if (!u)
        return PMIX_ERR_INIT;
    upcall_procs(u, procs, nprocs);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    PMIX_RETAIN((pmix_object_t *)cbdata); /* see PULL_IS_KNOWN */
    upcall_post(u);
    return PMIX_SUCCESS;
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
