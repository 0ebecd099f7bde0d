/* SPDX-License-Identifier: BSD-3-Clause */
/* Job control by ranks and tools.
 *
 * In: requests of the library to signal ranks and jobs, and to log; APP_SIGNAL_ASK
 * for a rank here; at the head APP_CONTROL_ASK.
 * Out: signals for whole jobs to the core; APP_SIGNAL_ASK to the daemons of single ranks;
 * APP_CONTROL_ASK to the head; one answer to each request.
 *
 * An order first asks the head whether the process may control each job that is not its own: jobs
 * of its family, or all jobs if it is a tool. Then it learns the jobs of its targets. If all are
 * known, each target is one step, which ends at once (a job) or with the answer of the rank's
 * daemon. The request is answered after the last step, with the first status that is not success.
 *
 * A head of edition 0 does not know the question. Then every process controls all jobs. */
#include "dvm/host/services/control.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define SIGNALS 65     /* one more than the highest signal */
#define FAMILY_SINCE 1 /* edition */

struct control {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_ask *ask;
    const struct host_jobs *jobs;
    struct control_io io;
};

/* --- ranks and jobs */

struct order {
    struct control *s;
    pmix_req req;
    int signum;
    unsigned left;
    int status;
    size_t nprocs;
    struct pmix_srv_proc procs[];
};

static void step_order(struct order *o, int status)
{
    if (o->status == PMIX_SUCCESS)
        o->status = status;
    if (--o->left > 0)
        return;
    pmix_srv_answer(o->s->pmix, o->req, o->status, NULL, 0);
    free(o);
}

struct target { /* a rank whose daemon has been asked */
    struct order *o;
};

static void on_signalled(int status, const void *data, size_t len, void *asker)
{
    struct target *t = asker;

    step_order(t->o, status);
    free(t);
}

static void signal_rank(struct order *o, struct pmix_srv_proc *p)
{
    const struct job_launch *l = host_job_find(o->s->jobs, p->nspace);
    struct app_signal_ask m = {.nspace = p->nspace, .rank = p->rank, .signum = (uint32_t)o->signum};
    struct target *t;
    BUF_AUTO struct buf b = {0};

    if (!l || p->rank >= l->nranks) {
        step_order(o, PMIX_ERR_NOT_FOUND);
        return;
    }
    t = xmalloc(sizeof(*t));
    t->o = o;
    app_signal_ask_encode(&b, &m);
    host_ask(o->s->ask, l->nodes[l->rank_node[p->rank]].vpid, APP_SIGNAL_ASK, &b, on_signalled, t);
}

static void signal_target(struct order *o, struct pmix_srv_proc *p, bool known)
{
    if (!known) {
        step_order(o, PMIX_ERR_NOT_FOUND);
    } else if (p->rank == PMIX_SRV_RANK_ALL) {
        core_job_signal(o->s->core, p->nspace, o->signum);
        step_order(o, PMIX_SUCCESS);
    } else {
        signal_rank(o, p);
    }
}

static void on_targets_known(bool known, void *waiter)
{
    struct order *o = waiter;
    const struct host_env *env = o->s->env;

    host_enter(env);
    o->left = (unsigned)o->nprocs + 1;
    for (size_t i = 0; i < o->nprocs; i++)
        signal_target(o, &o->procs[i], known);
    step_order(o, PMIX_SUCCESS);
    host_drain(env);
}

/* --- who may signal */

static void step_permission(struct order *o, int status)
{
    if (o->status == PMIX_SUCCESS)
        o->status = status;
    if (--o->left > 0)
        return;
    if (o->status == PMIX_SUCCESS) {
        host_jobs_learn(o->s->jobs, o->procs, o->nprocs, on_targets_known, o);
        return;
    }
    pmix_srv_answer(o->s->pmix, o->req, o->status, NULL, 0);
    free(o);
}

static void on_permission(int status, const void *data, size_t len, void *asker)
{
    struct target *t = asker;

    step_permission(t->o, status);
    free(t);
}

static void ask_permission(struct order *o, const char *nspace, char *target)
{
    struct app_control_ask m = {.nspace = (char *)nspace, .target = target};
    struct target *t = xmalloc(sizeof(*t));
    BUF_AUTO struct buf b = {0};

    t->o = o;
    app_control_ask_encode(&b, &m);
    host_ask(o->s->ask, VPID_HEAD, APP_CONTROL_ASK, &b, on_permission, t);
}

void control_signal(struct control *s, pmix_req req, const char *nspace,
                    const struct pmix_srv_proc *procs, size_t nprocs, int signum)
{
    struct order *o = xcalloc(1, sizeof(*o) + nprocs * sizeof(*procs));
    bool asks = core_head_speaks(s->core, FAMILY_SINCE);

    *o = (struct order){.s = s, .req = req, .signum = signum, .nprocs = nprocs, .left = 1};
    memcpy(o->procs, procs, nprocs * sizeof(*procs));
    host_enter(s->env);
    for (size_t i = 0; asks && i < nprocs; i++) {
        bool again = i > 0 && strcmp(procs[i].nspace, procs[i - 1].nspace) == 0;

        if (again || strcmp(procs[i].nspace, nspace) == 0)
            continue;
        o->left++;
        ask_permission(o, nspace, o->procs[i].nspace);
    }
    step_permission(o, PMIX_SUCCESS);
    host_drain(s->env);
}

static void on_control_ask(uint32_t from, struct cur *c, void *service)
{
    static const int statuses[] = {[JOB_CONTROL_GIVEN] = PMIX_SUCCESS,
                                   [JOB_CONTROL_REFUSED] = PMIX_ERR_NO_PERMISSIONS,
                                   [JOB_CONTROL_UNKNOWN] = PMIX_ERR_NOT_FOUND};
    struct control *s = service;
    struct app_control_ask m;
    int status = PMIX_ERR_NOT_FOUND;

    if (app_control_ask_decode(c, &m) == 0)
        status = statuses[core_job_control(s->core, from, m.nspace, m.target)];
    if (status == PMIX_ERR_NO_PERMISSIONS)
        log_info("job %s at vpid %u may not control job %s", m.nspace, from, m.target);
    host_reply(s->ask, from, m.question, status, NULL, 0);
    app_control_ask_free(&m);
}

/* --- signals to ranks here */

static void on_signal_ask(uint32_t from, struct cur *c, void *service)
{
    struct control *s = service;
    struct app_signal_ask m;
    bool ok =
        app_signal_ask_decode(c, &m) == 0 && core_job(s->core, m.nspace) && m.signum < SIGNALS;

    if (ok)
        s->io.signal_rank(m.nspace, m.rank, (int)m.signum, s->io.arg);
    host_reply(s->ask, from, m.question, ok ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, NULL, 0);
    app_signal_ask_free(&m);
}

void control_handle(struct control *s, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_SIGNAL_ASK, on_signal_ask},
                                                  {APP_CONTROL_ASK, on_control_ask}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), s);
}

/* --- log */

void control_log(struct control *s, pmix_req req, const char *nspace, uint32_t rank, int stream,
                 const char *text)
{
    host_enter(s->env);
    if (stream)
        s->io.write_output(nspace, rank, stream, text, strlen(text), s->io.arg);
    else
        log_info("pmix: %s nspace=%s rank=%u", text, nspace, rank);
    pmix_srv_answer(s->pmix, req, PMIX_SUCCESS, NULL, 0);
    host_drain(s->env);
}

/* --- construction and destruction */

struct control *control_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                               const struct host_ask *ask, const struct host_jobs *jobs,
                               const struct control_io *io)
{
    struct control *s = xcalloc(1, sizeof(*s));

    *s = (struct control){
        .env = env, .core = core, .pmix = pmix, .ask = ask, .jobs = jobs, .io = *io};
    return s;
}

void control_destroy(struct control *s)
{
    free(s);
}
