/* SPDX-License-Identifier: BSD-3-Clause */
/* The PMIx library's requests: answered by the core, by another daemon, or by the head's data
 * store. */
#include "dvm/host/daemon_private.h"

#include "dvm/protocol/gather/gather.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/hosts.h"

#include <hwloc/bitmap.h>
#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define BLOB_MAX (64u << 20)

/* A collective or a question that waits until the jobs it names are known here. */
struct pending {
    struct daemon *d;
    pmix_req req;
    char kind; /* of on_fence(), or 'm': direct modex */
    struct pmix_srv_proc *procs;
    size_t nprocs;
    struct buf data;
    int timeout_s;
    struct pending *next, *prev;
};

static struct pending *pending_new(struct daemon *d, pmix_req req, char kind,
                                   const struct pmix_srv_proc *procs, size_t nprocs, int timeout_s)
{
    struct pending *p = xcalloc(1, sizeof *p);

    *p = (struct pending){
        .d = d, .req = req, .kind = kind, .nprocs = nprocs, .timeout_s = timeout_s};
    p->procs = xcalloc(nprocs + 1, sizeof *p->procs);
    memcpy(p->procs, procs, nprocs * sizeof *procs);
    buf_init(&p->data, BLOB_MAX);
    DL_APPEND(d->pending, p);
    return p;
}

static void pending_free(struct pending *p)
{
    DL_DELETE(p->d->pending, p);
    buf_free(&p->data);
    free(p->procs);
    free(p);
}

/* For questions that are a request of the library, and nothing more. */
static void pass_on(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    pmix_srv_answer(d->pmix, (pmix_req)(uintptr_t)arg, status, data, len);
}

void dpmix_free_all(struct daemon *d)
{
    struct waiting *w, *tmp;

    foreign_free_all(d);
    devent_free_all(d);
    pull_free_all(d);
    dcred_free_all(d);
    while (d->pending)
        pending_free(d->pending);
    HASH_ITER(hh, d->waiting, w, tmp)
    {
        HASH_DEL(d->waiting, w);
        if (w->answered != pass_on)
            free(w->arg);
        free(w);
    }
}

static void answered(struct daemon *d, uint64_t id, int status, const void *data, size_t len)
{
    struct waiting *w;

    HASH_FIND(hh, d->waiting, &id, sizeof id, w);
    if (!w)
        return;
    HASH_DEL(d->waiting, w);
    w->answered(d, status, data, len, w->arg);
    free(w);
}

void dpmix_member_gone(struct daemon *d, uint32_t vpid)
{
    struct waiting *w, *tmp;

    HASH_ITER(hh, d->waiting, w, tmp)
    {
        if (w->vpid == vpid)
            answered(d, w->id, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    }
}

void dpmix_ask(struct daemon *d, uint32_t vpid, uint32_t kind, struct buf *b,
               dpmix_answer on_answer, void *arg)
{
    struct waiting *w = xcalloc(1, sizeof *w);
    uint64_t id = ++d->next_waiting;

    *w = (struct waiting){.id = id, .vpid = vpid, .answered = on_answer, .arg = arg};
    HASH_ADD(hh, d->waiting, id, sizeof w->id, w);
    buf_patch_u32(b, 0, (uint32_t)(id >> 32));
    buf_patch_u32(b, 4, (uint32_t)id);
    if (!core_live(d->core, vpid))
        answered(d, id, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    else if (daemon_send_app(d, vpid, CLASS_MODEX, kind, b) < 0)
        answered(d, id, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0);
}

static int reply(struct daemon *d, uint32_t vpid, uint64_t id, int status, const void *data,
                 size_t len)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, BLOB_MAX);
    buf_put_u64(&b, id);
    buf_put_u32(&b, (uint32_t)status);
    buf_put_bytes(&b, data, len);
    return daemon_send_app(d, vpid, CLASS_MODEX, APP_ANSWER, &b);
}

/* Whoever asks waits for an answer of some kind. */
void dpmix_reply(struct daemon *d, uint32_t vpid, uint64_t id, int status, const void *data,
                 size_t len)
{
    if (core_live(d->core, vpid) && reply(d, vpid, id, status, data, len) < 0 && len)
        (void)reply(d, vpid, id, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0);
}

void dpmix_ask_for(struct daemon *d, pmix_req req, uint32_t vpid, uint32_t kind, struct buf *b)
{
    dpmix_ask(d, vpid, kind, b, pass_on, (void *)(uintptr_t)req);
}

/* --- clients come, go and abort */

static void on_connected(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_proc(d->core, nspace, rank, CORE_PROC_REGISTERED, 0, NULL);
    daemon_drain(d);
}

static void on_finalized(const char *nspace, uint32_t rank, void *arg)
{
    log_debug("job %s rank %u has finalized", nspace, rank);
}

static void on_abort(pmix_req req, const char *nspace, uint32_t rank, int code, const char *text,
                     void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_abort(d->core, nspace, rank, code, text);
    pmix_srv_answer(d->pmix, req, PMIX_SUCCESS, NULL, 0);
    daemon_drain(d);
}

/* --- collectives */

/* False if the daemon is no longer there in the life that has the ranks. */
static bool takes_part(struct daemon *d, const struct job_node *n, hwloc_bitmap_t set)
{
    hwloc_bitmap_set(set, n->vpid);
    return core_live_in(d->core, n->vpid, n->epoch);
}

/* Daemons of the participants; NULL if a namespace is not known here. The set is small: a list with
 * a linear look-up is replaced by a bitmap of vpids. */
static uint32_t *vpids_of(struct daemon *d, const struct pmix_srv_proc *procs, size_t nprocs,
                          size_t *n, bool *lost)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    uint32_t *list = NULL;
    bool known = true;
    unsigned v;

    for (size_t i = 0; i < nprocs; i++) {
        const struct job_launch *l = foreign_job(d, procs[i].nspace);

        if (procs[i].rank == PMIX_SRV_RANK_NONE)
            continue; /* a group's name, part of the signature only */
        known &= l != NULL;
        for (size_t k = 0; l && k < l->nnodes; k++) {
            if (procs[i].rank == PMIX_RANK_WILDCARD)
                *lost |= !takes_part(d, &l->nodes[k], set);
        }
        if (l && procs[i].rank < l->nranks)
            *lost |= !takes_part(d, &l->nodes[l->rank_node[procs[i].rank]], set);
    }
    *n = 0;
    if (known) {
        list = xcalloc((size_t)hwloc_bitmap_weight(set) + 1, sizeof *list);
        hwloc_bitmap_foreach_begin(v, set)
        {
            list[(*n)++] = v;
        }
        hwloc_bitmap_foreach_end();
    }
    hwloc_bitmap_free(set);
    return list;
}

static void gather(struct daemon *d, const struct pending *p)
{
    struct buf sig BUF_AUTO = {0};
    struct gather_call call = {.req = p->req, .data = p->data.data, .len = p->data.len};
    uint32_t *vpids FREE_AUTO = NULL;

    vpids = vpids_of(d, p->procs, p->nprocs, &call.n, &call.lost);
    if (!vpids || call.n == 0) {
        pmix_srv_answer(d->pmix, p->req, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    buf_init(&sig, BLOB_MAX);
    buf_put_u8(&sig, (uint8_t)p->kind);
    for (size_t i = 0; i < p->nprocs; i++) {
        buf_put_raw(&sig, p->procs[i].nspace, strlen(p->procs[i].nspace) + 1);
        buf_put_u32(&sig, p->procs[i].rank);
    }
    call.vpids = vpids;
    call.sig = sig.data;
    call.siglen = sig.len;
    devent_joining(d, p->req, p->kind, p->procs, p->nprocs);
    call.timeout_ms = p->timeout_s > 0 ? (uint64_t)p->timeout_s * 1000 : 0;
    core_gather(d->core, &call);
}

static void on_participants_known(struct daemon *d, bool known, void *arg)
{
    struct pending *p = arg;

    daemon_enter(d);
    if (known)
        gather(d, p);
    else
        pmix_srv_answer(d->pmix, p->req, PMIX_ERR_NOT_FOUND, NULL, 0);
    pending_free(p);
    daemon_drain(d);
}

static void on_fence(pmix_req req, char kind, const struct pmix_srv_proc *procs, size_t nprocs,
                     const void *data, size_t len, int timeout_s, void *arg)
{
    struct daemon *d = arg;
    struct pending *p = pending_new(d, req, kind, procs, nprocs, timeout_s);

    buf_put_raw(&p->data, data, len);
    foreign_learn(d, procs, nprocs, on_participants_known, p);
}

void dpmix_gather(struct daemon *d, const struct out_act *act)
{
    devent_joined(d, act->req, act->number == 0);
    pmix_srv_answer(d->pmix, act->req,
                    act->number == 0                ? PMIX_SUCCESS
                    : act->number == GATHER_TIMEOUT ? PMIX_ERR_TIMEOUT
                                                    : PMIX_ERR_PROC_ABORTED,
                    act->data.data, act->data.len);
}

/* --- requests to other daemons */

static void modex(struct daemon *d, const struct pending *p)
{
    const struct pmix_srv_proc *proc = &p->procs[0];
    const struct job_launch *l = foreign_job(d, proc->nspace);
    struct buf b BUF_AUTO = {0};

    if (!l || proc->rank >= l->nranks) {
        pmix_srv_answer(d->pmix, p->req, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    buf_init(&b, 4096);
    buf_put_u64(&b, 0);
    buf_put_str(&b, proc->nspace);
    buf_put_u32(&b, proc->rank);
    buf_put_u32(&b, (uint32_t)p->timeout_s);
    dpmix_ask_for(d, p->req, l->nodes[l->rank_node[proc->rank]].vpid, APP_DMODEX_ASK, &b);
}

static void on_owner_known(struct daemon *d, bool known, void *arg)
{
    struct pending *p = arg;

    modex(d, p);
    pending_free(p);
}

static void on_dmodex(pmix_req req, const char *nspace, uint32_t rank, int timeout_s, void *arg)
{
    struct daemon *d = arg;
    struct pmix_srv_proc proc = {.rank = rank};

    memccpy(proc.nspace, nspace, 0, sizeof proc.nspace - 1);
    foreign_learn(d, &proc, 1, on_owner_known, pending_new(d, req, 'm', &proc, 1, timeout_s));
}

static void on_data(pmix_req req, char op, const void *blob, size_t len, void *arg)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, BLOB_MAX);
    buf_put_u64(&b, 0);
    buf_put_u8(&b, (uint8_t)op);
    buf_put_bytes(&b, blob, len);
    dpmix_ask_for(arg, req, 0, APP_DATA_ASK, &b);
}

struct asked { /* who waits for an answer that the library gives later */
    struct daemon *d;
    uint32_t from;
    uint64_t id;
};

static void on_served(int status, const void *data, size_t len, void *arg)
{
    struct asked *a = arg;

    dpmix_reply(a->d, a->from, a->id, status, data, len);
    free(a);
}

static struct asked *asked(struct daemon *d, uint32_t from, uint64_t id)
{
    struct asked *a = xmalloc(sizeof *a);

    *a = (struct asked){d, from, id};
    return a;
}

static void dmodex_asked(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    char *nspace FREE_AUTO = cur_str(c, JOB_NSPACE_MAX);
    uint32_t rank = cur_u32(c);
    uint32_t timeout_s = cur_u32(c);

    if (cur_done(c))
        pmix_srv_dmodex_serve(d->pmix, nspace, rank, (int)timeout_s, on_served, asked(d, from, id));
    else
        dpmix_reply(d, from, id, PMIX_ERR_BAD_PARAM, NULL, 0);
}

static void data_asked(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    char op = (char)cur_u8(c);
    size_t len;
    const uint8_t *blob = cur_bytes(c, BLOB_MAX, &len);

    if (cur_done(c))
        pmix_srv_data_ask(d->pmix, op, blob, len, on_served, asked(d, from, id));
    else
        dpmix_reply(d, from, id, PMIX_ERR_BAD_PARAM, NULL, 0);
}

/* Of the one that was asked, and of no other. */
static void answer_in(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    int status = (int)cur_u32(c);
    size_t len;
    const uint8_t *data = cur_bytes(c, BLOB_MAX, &len);
    const struct waiting *w;

    HASH_FIND(hh, d->waiting, &id, sizeof id, w);
    if (cur_done(c) && w && w->vpid == from)
        answered(d, id, status, data, len);
}

void dpmix_msg(struct daemon *d, uint32_t from, uint32_t kind, const void *data, size_t len)
{
    struct cur c = cur_of(data, len);

    switch (kind) {
    case APP_DMODEX_ASK:
        dmodex_asked(d, from, &c);
        break;
    case APP_DATA_ASK:
        data_asked(d, from, &c);
        break;
    case APP_ANSWER:
        answer_in(d, from, &c);
        break;
    case APP_QUERY_ASK:
        ask_query_in(d, from, &c);
        break;
    case APP_SIGNAL_ASK:
        ask_signal_in(d, from, &c);
        break;
    case APP_JOB_ASK:
        foreign_asked(d, from, &c);
        break;
    case APP_NOTIFY:
        devent_in(d, from, &c);
        break;
    case APP_NOTIFY_ALL:
        devent_asked(d, from, &c);
        break;
    case APP_TOOL_HERE:
        devent_tool_there(d, from, &c);
        break;
    default:
        log_warn("vpid %u sent an application message of unknown kind %u", from, kind);
    }
}

/* --- spawn, cleanup */

static int limit_to(struct job_spec *spec, const char *hosts, struct err *err)
{
    return hosts ? hosts_parse(hosts, &spec->hosts, &spec->nhosts, err) : 0;
}

static void on_spawn(pmix_req req, const struct job_spec *spec, const char *hosts, void *arg)
{
    struct daemon *d = arg;
    struct job_spec named = *spec, own = {0};
    char **sources = NULL;
    struct err err = {0};

    daemon_enter(d);
    if (limit_to(&named, hosts, &err) == 0 && dstage_spec(d, &named, &own, &sources, &err) == 0) {
        uint32_t client = dclient_of_spawn(d, req, &own);

        dstage_source(d, client, sources, own.nfiles);
        core_submit(d->core, client, &own);
    } else {
        log_info("%s[%u] spawns: %s", spec->parent_nspace, spec->parent_rank, err.msg);
        pmix_srv_answer(d->pmix, req, PMIX_ERR_BAD_PARAM, NULL, 0);
    }
    job_spec_free(&own);
    free(named.hosts);
    daemon_drain(d);
}

static void on_held(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_proc(d->core, nspace, rank, CORE_PROC_HELD, 0, NULL);
    daemon_drain(d);
}

static void on_continue(const char *nspace, uint32_t rank, void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    core_job_continue(d->core, nspace, rank == PMIX_SRV_RANK_ALL ? JOB_RANK_ALL : rank);
    daemon_drain(d);
}

static void on_clean_add(uint64_t scope, unsigned flags, const char *path, void *arg)
{
    struct daemon *d = arg;

    odls_clean_add(d->odls, scope, flags, path);
}

static void on_clean_run(uint64_t scope, void *arg)
{
    struct daemon *d = arg;

    odls_clean_run(d->odls, scope);
}

static void on_silent(const char *why, void *arg)
{
    struct daemon *d = arg;
    FREE_AUTO char *text = xasprintf("its PMIx server stands still: %s", why);

    log_error("the PMIx server stands still, this daemon ends with all ranks here: %s", why);
    daemon_enter(d);
    core_fail(d->core, text);
    daemon_drain(d);
}

const struct pmix_srv_upcalls dpmix_upcalls = {.on_connected = on_connected,
                                               .on_finalized = on_finalized,
                                               .on_abort = on_abort,
                                               .on_fence = on_fence,
                                               .on_dmodex = on_dmodex,
                                               .on_data = on_data,
                                               .on_spawn = on_spawn,
                                               .on_notify = devent_notify,
                                               .on_held = on_held,
                                               .on_continue = on_continue,
                                               .on_clean_add = on_clean_add,
                                               .on_clean_run = on_clean_run,
                                               .on_control = ask_control,
                                               .on_alloc = alloc_ask,
                                               .on_cred_get = dcred_get,
                                               .on_cred_check = dcred_check,
                                               .on_query = ask_query,
                                               .on_log = ask_log,
                                               .on_tool = devent_tool,
                                               .on_pull = pull_asked,
                                               .on_output_read = toolio_output_read,
                                               .on_output_over = pull_over,
                                               .on_push = toolio_push,
                                               .on_silent = on_silent};
