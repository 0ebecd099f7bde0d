/* SPDX-License-Identifier: BSD-3-Clause */
/* Upcalls of a rank's life and of the modex: connected, finalized, abort, fence, connect,
 * disconnect and direct modex; and the serving of a peer's direct modex.
 *
 * In: upcalls on the library's thread, and questions of other daemons about data of a local rank.
 * Out: a collective is named by its sorted processes, so that every daemon has the same name for
 * it; its contribution goes to the loop, and the answer comes back by pmix_srv_answer().
 *
 * Invariants: connection and finalization get the daemon's consent at once, without a condition. A
 * tool never gets the name of a job or a server, since a process with a job's name is taken for a
 * rank. An abort ends the whole job, whatever processes it names.
 *
 * Failures: a rank that is gone has no data: its peers get NOT FOUND, not the library's endless
 * wait. A rank that does not give its data within the asker's limit gives TIMEOUT. */
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/wire/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void load_proc(struct upcall *u, const pmix_proc_t *proc)
{
    memcpy(u->nspace, proc->nspace, sizeof(u->nspace) - 1);
    u->rank = proc->rank;
}

static void run_connected(struct pmix_srv *p, struct upcall *u)
{
    job_connected(p, u->nspace, u->rank, true);
    if (p->up.on_connected)
        p->up.on_connected(u->nspace, u->rank, p->arg);
}

static void run_finalized(struct pmix_srv *p, struct upcall *u)
{
    if (p->up.on_finalized)
        p->up.on_finalized(u->nspace, u->rank, p->arg);
}

/* The client waits for our consent, which is unconditional and given at once. */
static pmix_status_t post_consent(const pmix_proc_t *proc,
                                  void (*run)(struct pmix_srv *, struct upcall *))
{
    struct upcall *u = pmix_srv_upcall_new(run);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    pmix_srv_upcall_post(u);
    return PMIX_OPERATION_SUCCEEDED;
}

static void set_session(struct job *j, uint32_t rank, bool now)
{
    if (j && rank < j->launch->nranks)
        atomic_store(&j->ranks[rank].in_session, now);
}

pmix_status_t upcall_on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    pmix_status_t rc = job_prepare(object, proc->rank);

    set_session(object, proc->rank, rc == PMIX_SUCCESS);
    return rc == PMIX_SUCCESS ? post_consent(proc, run_connected) : rc;
}

pmix_status_t upcall_on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t cb,
                                  void *cbdata)
{
    set_session(object, proc->rank, false);
    return post_consent(proc, run_finalized);
}

bool upcall_nspace_is_taken(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");

    return strcmp(name, PMIX_SRV_NSPACE) == 0 ||
           (digits == 16 && name[16] == '.' &&
            strspn(name + 17, "0123456789") == strlen(name + 17));
}

static void run_tool(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_tool)
        p->up.on_tool(req, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_SUCCESS, NULL, 0);
}

void upcall_answer_tool(const struct answer *a)
{
    pmix_proc_t tool;

    PMIX_LOAD_PROCID(&tool, a->members[0].nspace, a->members[0].rank);
    a->cb.tool(PMIX_SUCCESS, &tool, a->cbdata);
}

/* A debugger or a monitor. It receives a name, unless it comes with its own. That must not be
 * the name of a job or a server: a process with a job's name is taken for a rank. */
void upcall_on_tool(pmix_info_t *info, size_t ninfo, pmix_tool_connection_cbfunc_t cb, void *cbdata)
{
    static atomic_uint number;
    const pmix_info_t *name = info_find(info, ninfo, PMIX_NSPACE);
    struct upcall *u = pmix_srv_upcall_new(run_tool);
    pmix_proc_t tool;

    PMIX_LOAD_PROCID(&tool, "", 0);
    if (name && name->value.type == PMIX_STRING && name->value.data.string &&
        !upcall_nspace_is_taken(name->value.data.string))
        PMIX_LOAD_NSPACE(tool.nspace, name->value.data.string);
    else
        snprintf(tool.nspace, sizeof(tool.nspace), "tool.%d.%u", (int)getpid(),
                 atomic_fetch_add(&number, 1) + 1);
    if (!u) {
        cb(PMIX_SUCCESS, &tool, cbdata);
        return;
    }
    u->answer = (struct answer){.kind = ANSWER_TOOL, .cb.tool = cb, .cbdata = cbdata};
    u->answer.members = xcalloc(1, sizeof(*u->answer.members));
    memcpy(u->answer.members->nspace, tool.nspace, sizeof(tool.nspace));
    pmix_srv_upcall_post(u);
}

static void run_abort(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_abort)
        p->up.on_abort(req, u->nspace, u->rank, u->number, u->text, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* An abort ends the whole job, whatever processes it names: the error policy knows no smaller
 * unit (docs/pmix.md). */
pmix_status_t upcall_on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = pmix_srv_upcall_new(run_abort);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    u->number = status;
    u->text = xstrdup(text ? text : "");
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

/* A job whose directories or job info cannot be made ends, with the reason, as if its rank had
 * called PMIx_Abort. */
void upcall_abort_unlaunched(const char *nspace, uint32_t rank, const char *why)
{
    struct upcall *u = pmix_srv_upcall_new(run_abort);

    if (!u)
        return;
    snprintf(u->nspace, sizeof(u->nspace), "%s", nspace);
    u->rank = rank;
    u->number = EXIT_CODE_NOT_LAUNCHED;
    u->text = xstrdup(why);
    pmix_srv_upcall_post(u);
}

static void run_fence(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (u->nobody)
        pmix_srv_answer(p, req, PMIX_ERR_LOST_CONNECTION, NULL, 0);
    else if (p->up.on_fence)
        p->up.on_fence(req, u->op, u->procs, u->nprocs, u->data.data, u->data.len, u->timeout_s,
                       p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
}

/* No participant here waits for the answer. The core contributes for them when it is asked. */
static bool all_have_ended(const pmix_info_t *info, size_t n)
{
    const pmix_info_t *i = info_find(info, n, PMIX_LOCAL_COLLECTIVE_STATUS);

    return i && i->value.type == PMIX_STATUS && i->value.data.status == PMIX_ERR_LOST_CONNECTION;
}

struct upcall *upcall_collective(char op, const pmix_proc_t *procs, size_t nprocs,
                                 const pmix_info_t *info, size_t ninfo)
{
    struct upcall *u = pmix_srv_upcall_new(run_fence);

    if (!u)
        return NULL;
    u->op = op;
    pmix_srv_upcall_procs(u, procs, nprocs);
    u->timeout_s = (int)info_int(info, ninfo, PMIX_TIMEOUT, 0);
    u->nobody = all_have_ended(info, ninfo);
    return u;
}

pmix_status_t upcall_on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, char *data, size_t len, pmix_modex_cbfunc_t cb,
                              void *cbdata)
{
    struct upcall *u = upcall_collective('f', procs, nprocs, info, ninfo);

    if (!u)
        return PMIX_ERR_INIT;
    if (data && len)
        buf_put_raw(&u->data, data, len);
    if (u->data.failed) {
        pmix_srv_upcall_free(u);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    u->answer = (struct answer){.kind = ANSWER_MODEX, .cb.modex = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    free(data); /* becomes ours with our consent */
    return PMIX_SUCCESS;
}

static pmix_status_t connect_or_not(char op, const pmix_proc_t *procs, size_t nprocs,
                                    const pmix_info_t *info, size_t ninfo, pmix_op_cbfunc_t cb,
                                    void *cbdata)
{
    struct upcall *u = upcall_collective(op, procs, nprocs, info, ninfo);

    if (!u)
        return PMIX_ERR_INIT;
    u->answer = (struct answer){.kind = ANSWER_OP, .cb.op = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

pmix_status_t upcall_on_connect(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cb, void *cbdata)
{
    return connect_or_not('c', procs, nprocs, info, ninfo, cb, cbdata);
}

pmix_status_t upcall_on_disconnect(const pmix_proc_t procs[], size_t nprocs,
                                   const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cb,
                                   void *cbdata)
{
    return connect_or_not('d', procs, nprocs, info, ninfo, cb, cbdata);
}

static void run_dmodex(struct pmix_srv *p, struct upcall *u)
{
    pmix_req req = pmix_srv_add_request(p, &u->answer);

    if (p->up.on_dmodex)
        p->up.on_dmodex(req, u->nspace, u->rank, u->timeout_s, p->arg);
    else
        pmix_srv_answer(p, req, PMIX_ERR_NOT_FOUND, NULL, 0);
}

pmix_status_t upcall_on_dmodex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                               pmix_modex_cbfunc_t cb, void *cbdata)
{
    struct upcall *u = pmix_srv_upcall_new(run_dmodex);

    if (!u)
        return PMIX_ERR_INIT;
    load_proc(u, proc);
    u->timeout_s = (int)info_int(info, ninfo, PMIX_TIMEOUT, 0);
    u->answer = (struct answer){.kind = ANSWER_MODEX, .cb.modex = cb, .cbdata = cbdata};
    pmix_srv_upcall_post(u);
    return PMIX_SUCCESS;
}

static void on_dmodex_timeout(void *arg)
{
    op_finish(arg, PMIX_ERR_TIMEOUT, NULL, 0);
}

/* The library would wait for ever for a rank that was deregistered. */
static bool is_gone(struct pmix_srv *p, const char *nspace, uint32_t rank)
{
    const struct job *j = job_find(p, nspace);

    return j && rank < j->launch->nranks && j->ranks[rank].gone;
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
