/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard streams of PMIx tools: output to the tools that have requested it, input to the jobs
 * that they have spawned.
 *
 * In: output of ranks, and the library's table of requests. Out: each piece is put straight into
 * the queues of the tools that have requested it; when the largest backlog is below UNREAD_MAX,
 * the piece is reported as read, and the job may write more. Input of a tool goes to the job that
 * it has spawned.
 *
 * Invariants: a job waits for its owner without a limit, and for a foreign tool that reads nothing
 * for STALL_MS. Then output is dropped for that tool until it has read nearly all. A backlog
 * belongs to one request: a later request, or another tool at the same place of the table, begins
 * anew.
 *
 * Failures: dropped bytes are counted, and the tool is notified of their number. A withdrawn
 * request is noticed with the next output, since the library does not report it. */
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

/* Bytes that the library may keep for a tool that does not read, and the interval at which they
 * are measured: the library does not report progress. */
#define UNREAD_MAX (256u << 10)
#define LOOK_AGAIN_MS 20
/* A job waits for a foreign tool that has read nothing only for this long. Then its output is
 * dropped for that tool, until the tool has read nearly all. */
#define STALL_MS 1000
#define UNREAD_LOW (UNREAD_MAX / 4)

/* Output under way, on the library's thread. */
struct piece {
    uint32_t client; /* 0: a copy, of a job that no tool here owns */
    pmix_proc_t owner;
    pmix_proc_t from;
    pmix_iof_channel_t channel;
    size_t len;
    void *data;
};

/* A request whose tool reads slowly; owned by the library's thread. */
struct lag {
    size_t at; /* in the library's table, whose entries are used again: */
    pmix_proc_t tool;
    size_t id;
    size_t unread;     /* bytes, at the last measurement */
    uint64_t since_ms; /* they have not decreased since */
    bool stalled;
    uint64_t dropped;
    struct lag *prev, *next;
};
static struct lag *lags;

static uint64_t monotonic_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

const struct pmix_pulls pmix_pulls_of_library = {
    .now_ms = monotonic_ms,
    .size = pmix_extend_pulls,
    .at = pmix_extend_pull_at,
    .deliver = pmix_extend_pull_deliver,
};

static const struct pmix_pulls *pull_table(void)
{
    const struct pmix_srv *p = pmix_srv_current();

    return p ? p->pulls : &pmix_pulls_of_library;
}

static uint64_t now_ms(void)
{
    return pull_table()->now_ms();
}

static void piece_free(void *arg)
{
    struct piece *x = arg;

    free(x->data);
    free(x);
}

static bool pull_concerns(const struct pmix_extend_pull *r, const struct piece *x)
{
    if (!(r->channels & x->channel) || !r->connected)
        return false;
    for (size_t i = 0; i < r->nprocs; i++) {
        if (PMIX_CHECK_PROCID(&x->from, &r->procs[i]))
            return true;
    }
    return false;
}

static bool is_same(const pmix_proc_t *a, const pmix_proc_t *b)
{
    return a->rank == b->rank && strcmp(a->nspace, b->nspace) == 0;
}

static bool is_owner(const struct piece *x, const struct pmix_extend_pull *r)
{
    return is_same(&r->tool, &x->owner);
}

/* --- tools with a backlog */

static void lag_free(struct lag *l)
{
    DL_DELETE(lags, l);
    free(l);
}

static bool is_of(const struct lag *l, size_t at, const struct pmix_extend_pull *r)
{
    return l->at == at && l->id == r->id && is_same(&l->tool, &r->tool);
}

static struct lag *lag_new(size_t at, const struct pmix_extend_pull *r)
{
    struct lag *l = xcalloc(1, sizeof(*l));

    *l = (struct lag){
        .at = at, .tool = r->tool, .id = r->id, .unread = r->unread_bytes, .since_ms = now_ms()};
    DL_APPEND(lags, l);
    return l;
}

static struct lag *lag_find(size_t at, const struct pmix_extend_pull *r)
{
    for (struct lag *l = lags; l; l = l->next) {
        if (is_of(l, at, r))
            return l;
    }
    return NULL;
}

/* Entries of requests that have been withdrawn, or whose tools have ended. */
static void lags_prune(void)
{
    struct pmix_extend_pull r;
    struct lag *l, *tmp;

    DL_FOREACH_SAFE(lags, l, tmp)
    {
        if (!pull_table()->at(l->at, &r) || !is_of(l, l->at, &r))
            lag_free(l);
    }
}

static void run_dropped(struct pmix_srv *p, struct upcall *u)
{
    event_output_dropped(p, &u->procs[0], u->nspace, u->id);
}

static void tell_dropped(const struct lag *l, const char *nspace)
{
    struct upcall *u = l->dropped && l->tool.nspace[0] ? pmix_srv_upcall_new(run_dropped) : NULL;

    if (!u)
        return;
    pmix_srv_upcall_procs(u, &l->tool, 1);
    memccpy(u->nspace, nspace, 0, sizeof(u->nspace) - 1);
    u->id = l->dropped;
    pmix_srv_upcall_post(u);
}

/* The bytes of this request's backlog for which the job waits. */
static size_t waited_for(const struct piece *x, size_t at, const struct pmix_extend_pull *r)
{
    size_t n = r->unread_bytes;
    struct lag *l = lag_find(at, r);

    if (is_owner(x, r) || (n <= UNREAD_MAX && !l))
        return n;
    if (!l)
        l = lag_new(at, r);
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

/* True: this request does not get the piece. */
static bool drop_piece(const struct piece *x, size_t at, const struct pmix_extend_pull *r)
{
    struct lag *l = is_owner(x, r) ? NULL : lag_find(at, r);

    if (!l || !l->stalled)
        return false;
    if (r->unread_bytes > UNREAD_LOW) {
        l->dropped += x->len;
        return true;
    }
    tell_dropped(l, x->from.nspace);
    lag_free(l);
    return false;
}

/* --- output */

/* The largest backlog of all requests for this output. */
static size_t most_unread(const struct piece *x)
{
    struct pmix_extend_pull r;
    size_t most = 0;

    for (size_t at = 0; at < pull_table()->size(); at++) {
        size_t n = pull_table()->at(at, &r) && pull_concerns(&r, x) ? waited_for(x, at, &r) : 0;

        most = n > most ? n : most;
    }
    return most;
}

static void run_read(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_output_read)
        p->up.on_output_read((uint32_t)u->id, u->nspace, u->answer.len, u->number != 0, p->arg);
}

static bool is_wanted(const struct piece *x)
{
    struct pmix_extend_pull r;

    for (size_t at = 0; at < pull_table()->size(); at++) {
        if (pull_table()->at(at, &r) && pull_concerns(&r, x))
            return true;
    }
    return false;
}

static void report_progress(void *arg)
{
    const struct pmix_srv *p = pmix_srv_current();
    struct piece *x = arg;
    struct upcall *u;

    if (p && most_unread(x) > UNREAD_MAX) {
        handback_after(p, LOOK_AGAIN_MS, report_progress, piece_free, x);
        return;
    }
    u = pmix_srv_upcall_new(run_read);
    if (u) {
        u->id = x->client;
        memcpy(u->nspace, x->from.nspace, sizeof(x->from.nspace));
        u->number = is_wanted(x);
        u->answer.len = x->len;
        pmix_srv_upcall_post(u);
    }
    piece_free(x);
}

/* Puts output straight into the queues of the tools that have requested it.
 * PMIx_server_IOF_deliver() would do so later, and keep for ever any output that no tool
 * requests by then. */
static void deliver_piece(void *arg)
{
    struct piece *x = arg;
    const pmix_byte_object_t bo = {.bytes = x->data, .size = x->len};
    struct pmix_extend_pull r;

    lags_prune();
    for (size_t at = 0; at < pull_table()->size(); at++) {
        if (pull_table()->at(at, &r) && pull_concerns(&r, x) && !drop_piece(x, at, &r))
            (void)pull_table()->deliver(at, x->channel, &x->from, &bo);
    }
    free(x->data);
    x->data = NULL;
    report_progress(x);
}

bool pmix_srv_output(struct pmix_srv *p, uint32_t client, const struct pmix_srv_proc *owner,
                     const char *nspace, uint32_t rank, int stream, const void *data, size_t len)
{
    struct piece *x;

    if (len == 0)
        return false;
    x = xcalloc(1, sizeof(*x));
    x->client = client;
    if (owner)
        PMIX_LOAD_PROCID(&x->owner, owner->nspace, owner->rank);
    PMIX_LOAD_PROCID(&x->from, nspace, rank);
    x->channel = stream == 2 ? PMIX_FWD_STDERR_CHANNEL : PMIX_FWD_STDOUT_CHANNEL;
    x->len = len;
    x->data = memcpy(xmalloc(len), data, len);
    handback_post(p, deliver_piece, piece_free, x);
    return true;
}

static void run_over(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_output_over)
        p->up.on_output_over(u->nspace, p->arg);
}

/* Follows all output that was delivered before. */
static void end_output(void *arg)
{
    FREE_AUTO char *nspace = arg;
    struct upcall *u = pmix_srv_upcall_new(run_over);
    struct lag *l, *tmp;

    lags_prune();
    DL_FOREACH_SAFE(lags, l, tmp)
    {
        struct pmix_extend_pull r;
        bool its = false;

        for (size_t i = 0; pull_table()->at(l->at, &r) && i < r.nprocs; i++)
            its |= strcmp(r.procs[i].nspace, nspace) == 0;
        if (its)
            tell_dropped(l, nspace);
        if (its)
            lag_free(l);
    }
    if (!u)
        return;
    memccpy(u->nspace, nspace, 0, sizeof(u->nspace) - 1);
    pmix_srv_upcall_post(u);
}

void pmix_srv_output_over(struct pmix_srv *p, const char *nspace)
{
    handback_post(p, end_output, free, xstrdup(nspace));
}

void forward_end(void)
{
    while (lags)
        lag_free(lags);
}

/* --- requests */

static void run_pull(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_pull)
        p->up.on_pull(req, u->procs, u->nprocs, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* The library does not report a withdrawn request: it is noticed with the next output. */
pmix_status_t forward_on_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, pmix_iof_channel_t channels, pmix_op_cbfunc_t cb,
                              void *cbdata)
{
    const pmix_info_t *oldest = info_find(info, ninfo, PMIX_IOF_DROP_OLDEST);
    struct upcall *u;

    if (info_true(info, ninfo, PMIX_IOF_STOP))
        return PMIX_OPERATION_SUCCEEDED;
    if (nprocs == 0)
        return PMIX_ERR_BAD_PARAM;
    if (info_true(info, ninfo, PMIX_IOF_REDIRECT) || (oldest && PMIX_INFO_IS_REQUIRED(oldest)))
        return PMIX_ERR_NOT_SUPPORTED;
    u = pmix_srv_upcall_new(run_pull);
    if (!u)
        return PMIX_ERR_INIT;
    pmix_srv_upcall_procs(u, procs, nprocs);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* --- input */

static void run_push(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);
    struct pmix_srv_proc from = {.rank = u->rank};

    memcpy(from.nspace, u->nspace, sizeof(from.nspace));
    if (p->up.on_push)
        p->up.on_push(req, &from, &u->procs[0], u->data.data, u->data.len, u->number != 0, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

pmix_status_t forward_on_push(const pmix_proc_t *source, const pmix_proc_t targets[],
                              size_t ntargets, const pmix_info_t info[], size_t ninfo,
                              const pmix_byte_object_t *bo, pmix_op_cbfunc_t cb, void *cbdata)
{
    bool some = bo && bo->bytes && bo->size > 0;
    struct upcall *u;

    if (ntargets != 1)
        return PMIX_ERR_BAD_PARAM;
    if (some && bo->size > PMIX_SRV_PUSH_MAX)
        return PMIX_ERR_OUT_OF_RESOURCE;
    u = pmix_srv_upcall_new(run_push);
    if (!u)
        return PMIX_ERR_INIT;
    memcpy(u->nspace, source->nspace, sizeof(u->nspace) - 1);
    u->rank = source->rank;
    pmix_srv_upcall_procs(u, targets, 1);
    if (some)
        buf_put_raw(&u->data, bo->bytes, bo->size);
    u->number = !some || info_true(info, ninfo, PMIX_IOF_COMPLETE);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}
