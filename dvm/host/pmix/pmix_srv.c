/* SPDX-License-Identifier: BSD-3-Clause */
/* The PMIx server of a daemon: its start, its end, and the hand-over between the library's thread
 * and the loop.
 *
 * In: upcalls of the library's module table, on the library's thread. An upcall copies its
 * arguments into a struct upcall and posts it; the loop runs it and calls a function of struct
 * pmix_srv_upcalls. Out: a request that waits for an answer has a number, and pmix_srv_answer()
 * hands the answer back to the library's thread (handback.c).
 *
 * Invariants: a request is answered once. The module table carries no argument, so there is one
 * server per process, which an upcall finds by the_server. Posted upcalls hold a reference: they
 * may outlive pmix_srv_destroy().
 *
 * Failures: an answer to an unknown number is logged and dropped. All requests without an answer
 * are freed at the end. If the library cannot be ended (watch.c), every object that its thread may
 * still read is kept. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/pmix/sessiondir.h"
#include "dvm/host/spawner/remove.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library's module table carries no argument of ours, and there is one library per process:
 * an upcall finds the server by this pointer. It is set before the library's thread starts, and
 * cleared after that thread has ended or was given up. */
static struct pmix_srv *_Atomic the_server;
/* The server of a library that could not be ended; its thread may still read it. */
static struct pmix_srv *_Atomic left_behind;

static_assert(PMIX_SRV_RANK_ALL == PMIX_RANK_WILDCARD, "ranks are handed through as they are");
static_assert(PMIX_SRV_RANK_NONE == PMIX_RANK_INVALID, "ranks are handed through as they are");

static pmix_server_module_t module = {
    .client_connected2 = upcall_on_connected,
    .client_finalized = upcall_on_finalized,
    .abort = upcall_on_abort,
    .fence_nb = upcall_on_fence,
    .direct_modex = upcall_on_dmodex,
    .publish = data_on_publish,
    .lookup = data_on_lookup,
    .unpublish = data_on_unpublish,
    .spawn = spawn_on_request,
    .connect = upcall_on_connect,
    .disconnect = upcall_on_disconnect,
    .register_events = event_on_register,
    .deregister_events = event_on_deregister,
    .notify_event = event_on_notify,
    .query = query_on_request,
    .allocate = resize_on_request,
    .log = control_on_log,
    .job_control = control_on_request,
    .group = group_on_request,
    .get_credential = cred_on_get,
    .validate_credential = cred_on_check,
};

static void srv_unref(struct pmix_srv *p)
{
    if (atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    free(p->host);
    free(p->session_dir);
    free(p->dvm_dir);
    free(p->home);
    free(p);
}

struct pmix_srv *pmix_srv_current(void)
{
    return the_server;
}

struct upcall *pmix_srv_upcall_new(void (*run)(struct pmix_srv *p, struct upcall *u))
{
    struct pmix_srv *p = the_server;
    struct upcall *u;

    if (!p)
        return NULL;
    u = xcalloc(1, sizeof(*u));
    u->srv = p;
    u->run = run;
    buf_init(&u->data, PMIX_SRV_BLOB_MAX);
    atomic_fetch_add(&p->refs, 1);
    return u;
}

void pmix_srv_upcall_free(struct upcall *u)
{
    struct pmix_srv *p = u->srv;

    buf_free(&u->data);
    job_spec_free(&u->spec);
    cleanup_req_free(&u->cleanup);
    free(u->text);
    free(u->resize.req_id);
    free(u->resize.id);
    free(u->answer.req_id);
    free(u->answer.members);
    query_free(u->answer.query);
    free(u->procs);
    free(u);
    srv_unref(p);
}

static void on_posted(void *arg)
{
    struct upcall *u = arg;

    /* After pmix_srv_destroy() the library has ended too, and no request waits for an answer. */
    if (!u->srv->closed)
        u->run(u->srv, u);
    pmix_srv_upcall_free(u);
}

void pmix_srv_upcall_post(struct upcall *u)
{
    loop_post(u->srv->loop, on_posted, u);
}

static int proc_cmp(const void *a, const void *b)
{
    const struct pmix_srv_proc *x = a, *y = b;
    int d = strcmp(x->nspace, y->nspace);

    return d ? d : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorted and without duplicates, so that every daemon has the same name for a collective. */
void pmix_srv_upcall_procs(struct upcall *u, const pmix_proc_t *procs, size_t n)
{
    size_t kept = 0;

    u->procs = xcalloc(n, sizeof(*u->procs));
    for (size_t i = 0; i < n; i++) {
        memcpy(u->procs[i].nspace, procs[i].nspace, sizeof(u->procs[i].nspace) - 1);
        u->procs[i].rank = procs[i].rank;
    }
    if (n)
        qsort(u->procs, n, sizeof(*u->procs), proc_cmp);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || proc_cmp(&u->procs[i], &u->procs[kept - 1]) != 0)
            u->procs[kept++] = u->procs[i];
    }
    u->nprocs = kept;
}

pmix_req pmix_srv_add_request(struct pmix_srv *p, struct answer *a)
{
    struct req *r = xcalloc(1, sizeof(*r));

    r->id = ++p->last_id;
    r->answer = *a;
    a->members = NULL;
    a->query = NULL;
    a->req_id = NULL;
    HASH_ADD(hh, p->reqs, id, sizeof(r->id), r);
    return r->id;
}

void pmix_srv_request_waits(struct pmix_srv *p, pmix_req req, const char *nspace, char *text)
{
    struct req *r;

    HASH_FIND(hh, p->reqs, &req, sizeof(req), r);
    if (!r) {
        free(text);
        return;
    }
    free(r->nspace);
    free(r->waits);
    r->nspace = xstrdup(nspace);
    r->waits = text;
}

static void answer_modex(const struct answer *a, int status, const void *data, size_t len)
{
    /* The library reads it later, on its thread, and then calls free(). */
    void *copy = len && status == PMIX_SUCCESS ? memcpy(xmalloc(len), data, len) : NULL;

    a->cb.modex(status, copy, copy ? len : 0, a->cbdata, free, copy);
}

static void answer_spawn(const struct answer *a, int status, const void *data, size_t len)
{
    pmix_nspace_t nspace = {0};

    if (len >= sizeof(nspace))
        status = PMIX_ERR_BAD_PARAM;
    else if (len)
        memcpy(nspace, data, len);
    a->cb.spawn(status, nspace, a->cbdata);
}

static void req_free(struct req *r)
{
    free(r->answer.members);
    free(r->answer.req_id);
    query_free(r->answer.query);
    free(r->nspace);
    free(r->waits);
    free(r);
}

/* An answer under way to the library's thread. */
struct given {
    struct answer answer;
    int status;
    void *data;
    size_t len;
};

static void given_free(void *arg)
{
    struct given *g = arg;

    free(g->answer.members);
    free(g->answer.req_id);
    free(g->data);
    free(g);
}

static void give_answer(void *arg)
{
    struct given *g = arg;

    switch (g->answer.kind) {
    case ANSWER_NONE:
    case ANSWER_EVENT:
        break;
    case ANSWER_OP:
        g->answer.cb.op(g->status, g->answer.cbdata);
        break;
    case ANSWER_MODEX:
        answer_modex(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_LOOKUP:
        data_answer_lookup(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_SPAWN:
        answer_spawn(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_INFO:
        g->answer.cb.info(g->status, NULL, 0, g->answer.cbdata, NULL, NULL);
        break;
    case ANSWER_GROUP:
        group_answer(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_RESIZE:
        resize_answer(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_CRED:
        cred_answer(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_CHECKED:
        cred_answer_check(&g->answer, g->status, g->data, g->len);
        break;
    case ANSWER_TOOL:
        upcall_answer_tool(&g->answer);
        break;
    case ANSWER_QUERY: /* given from query.c */
        break;
    }
    given_free(g);
}

void pmix_srv_answer(struct pmix_srv *p, pmix_req req, int status, const void *data, size_t len)
{
    struct given *g;
    struct req *r;

    HASH_FIND(hh, p->reqs, &req, sizeof(req), r);
    if (!r) {
        log_warn("pmix: an answer to an unknown request id=%llu status=%d", (unsigned long long)req,
                 status);
        return;
    }
    HASH_DEL(p->reqs, r);
    if (r->answer.kind == ANSWER_EVENT) { /* its sender has been answered */
        event_out_done(p, r->answer.len);
        req_free(r);
        return;
    }
    if (r->answer.kind == ANSWER_QUERY) { /* built from objects of the loop */
        query_answer(&r->answer, status, data, len);
        req_free(r);
        return;
    }
    g = xmalloc(sizeof(*g));
    *g = (struct given){.answer = r->answer, .status = status, .len = len};
    g->data = len ? memcpy(xmalloc(len), data, len) : NULL;
    r->answer = (struct answer){.kind = ANSWER_NONE};
    req_free(r);
    handback_post(p, give_answer, given_free, g);
}

static void drop_nothing(void *arg)
{
}

void pmix_srv_look(struct pmix_srv *p)
{
    handback_post(p, waits_collect, drop_nothing, NULL);
}

/* Adds the topology as one more attribute, which the library keeps as it is: an info list would
 * give it a copy and free that. */
static pmix_status_t server_init(const pmix_data_array_t *info, struct hwloc_topology *t)
{
    FREE_AUTO pmix_info_t *all = xcalloc(info->size + 1, sizeof(*all));
    pmix_topology_t topology = {.source = (char *)"hwloc", .topology = t};
    pmix_info_t *last = &all[info->size];

    memcpy(all, info->array, info->size * sizeof(*all));
    PMIX_LOAD_KEY(last->key, PMIX_TOPOLOGY2);
    last->value.type = PMIX_TOPO;
    last->value.data.topo = &topology;
    return PMIx_server_init(&module, all, t ? info->size + 1 : info->size);
}

static pmix_status_t library_init(const struct pmix_srv *p, struct hwloc_topology *t)
{
    void *list = PMIx_Info_list_start();
    pmix_data_array_t info = PMIX_DATA_ARRAY_STATIC_INIT;
    pmix_rank_t rank = p->vpid;
    pmix_status_t rc;

    PMIx_Info_list_add(list, PMIX_SERVER_NSPACE, PMIX_SRV_NSPACE, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIx_Info_list_add(list, PMIX_SERVER_TMPDIR, p->session_dir, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_SYSTEM_TMPDIR, p->session_dir, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_HOSTNAME, p->host, PMIX_STRING);
    /* Without the upcall the library refuses tools itself. */
    module.tool_connected = p->tools ? upcall_on_tool : NULL;
    if (p->tools)
        PMIx_Info_list_add(list, PMIX_SERVER_TOOL_SUPPORT, NULL, PMIX_BOOL);
    module.iof_pull = p->tools ? forward_on_pull : NULL;
    module.push_stdin = module.iof_pull ? forward_on_push : NULL;
    rc = PMIx_Info_list_convert(list, &info);
    PMIx_Info_list_release(list);
    if (rc == PMIX_SUCCESS)
        rc = server_init(&info, t);
    PMIX_DATA_ARRAY_DESTRUCT(&info);
    return rc;
}

static void on_leftover(const char *path, void *arg)
{
    struct pmix_srv *p = arg;
    uint64_t scope = ++p->last_id;

    log_info("pmix: an earlier process has left %s, which is removed", path);
    p->up.on_clean_add(scope, REMOVE_DIR | REMOVE_RECURSIVE | REMOVE_OURS, path, p->arg);
    p->up.on_clean_run(scope, p->arg);
}

static uint32_t count_cpus(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

struct pmix_srv *pmix_srv_create(struct loop *loop, const struct pmix_srv_opts *o,
                                 const struct pmix_srv_upcalls *up, void *arg, struct err *err)
{
    struct pmix_srv *p;
    pmix_status_t rc;

    if (the_server) {
        err_set(err, "starting a PMIx server: this process has one already");
        return NULL;
    }
    /* The error is reported here: the library would fail only at the first client, if at all. */
    if (access(o->session_dir, R_OK | W_OK | X_OK) < 0) {
        err_sys(err, errno, "starting a PMIx server in %s", o->session_dir);
        return NULL;
    }
    p = xcalloc(1, sizeof(*p));
    p->loop = loop;
    p->up = *up;
    p->arg = arg;
    p->host = xstrdup(o->host);
    p->session_dir = xstrdup(o->session_dir);
    p->dvm_dir = xstrdup(o->dvm_dir ? o->dvm_dir : o->session_dir);
    p->vpid = o->vpid;
    p->owns_cpus = o->owns_cpus;
    p->ncpus = count_cpus();
    p->tools = getenv("DVM_PMIX_TOOLS") != NULL;
    p->shares_host = envdefault_shares_host(o->host);
    p->home = envdefault_home();
    p->only_loopback = envdefault_only_loopback();
    p->run_on_thread = pmix_extend_run;
    p->pulls = &pmix_pulls_of_library;
    atomic_init(&p->refs, 1);
    watch_start(p, o->silent_ms ? o->silent_ms : PMIX_SRV_SILENT_MS);
    the_server = p;
    pmix_extend_set_ancestor(o->spawner);
    pmix_extend_on_refused(refused_on_client);
    rc = library_init(p, o->topology);
    if (rc == PMIX_SUCCESS) {
        topology_start(p);
        rendezvous_open(p);
        if (p->up.on_clean_add) {
            sessiondir_leftovers(p->session_dir, on_leftover, p);
            jobclean_sessions(p);
        }
        return p;
    }
    err_set(err, "starting the PMIx server in %s: %s", o->session_dir, PMIx_Error_string(rc));
    the_server = NULL;
    watch_stop(p);
    srv_unref(p);
    return NULL;
}

/* Frees the objects to which the library's thread refers, once that thread has ended. */
static void free_lent(struct pmix_srv *p)
{
    struct job *j, *next;

    handback_end();
    forward_end();
    topology_end(p);
    HASH_ITER(hh, p->jobs, j, next)
    {
        job_remove(p, j);
    }
}

/* If the library could not be ended, an operation keeps its objects that the library may read. */
static void end_op(struct op *op, bool over)
{
    if (!over) {
        op->then = NULL;
        op->info = (pmix_data_array_t)PMIX_DATA_ARRAY_STATIC_INIT;
    }
    op_finish(op, PMIX_ERR_UNREACH, NULL, 0);
}

void pmix_srv_destroy(struct pmix_srv *p)
{
    struct req *r, *next_req;
    struct op *op, *next_op;
    bool over;

    if (!p)
        return;
    rendezvous_close(p);
    over = watch_finalize(p);
    the_server = NULL;
    p->closed = true;
    watch_stop(p);
    HASH_ITER(hh, p->ops, op, next_op)
    {
        end_op(op, over);
    }
    HASH_ITER(hh, p->reqs, r, next_req)
    {
        HASH_DEL(p->reqs, r);
        req_free(r);
    }
    dataserve_end_waiters(p, NULL, UINT32_MAX, PMIX_ERR_UNREACH);
    dataserve_free_ports(p);
    jobclean_free_all(p);
    if (over) {
        free_lent(p);
        srv_unref(p);
    } else {
        left_behind = p;
    }
}
