/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Query_info about jobs, answered from a table that the head makes.
 *
 * In: namespaces that a query of a local client names (queries_ask()); at the head the question of
 * a daemon (APP_QUERY_ASK). Out: the question to the head; at the head the encoded table, which
 * pmix/query.c of the asking daemon reads.
 *
 * The table has the slots of all wired members, and all jobs that the head knows. It has the
 * processes of a job only if the question names the job.
 *
 * Failures: APP_NAMES_MAX or more bytes of names give PMIX_ERR_BAD_PARAM. A malformed question, or
 * a daemon that is not the head, gives PMIX_ERR_NOT_FOUND. A table of more than TABLE_MAX bytes
 * gives PMIX_ERR_OUT_OF_RESOURCE. */
#include "dvm/host/services/queries.h"

#include "base/log/log.h"
#include "dvm/host/pmix/jobtable.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/exit_code.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TABLE_MAX (64u << 20)

struct queries {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_ask *ask;
};

void queries_ask(struct queries *q, pmix_req req, const char *nspaces)
{
    struct app_query_ask m = {.nspaces = (char *)nspaces};
    BUF_AUTO struct buf b = {0};

    app_query_ask_encode(&b, &m);
    if (b.failed || strlen(nspaces) >= APP_NAMES_MAX)
        pmix_srv_answer(q->pmix, req, PMIX_ERR_BAD_PARAM, NULL, 0);
    else
        host_ask_for(q->ask, req, 0, APP_QUERY_ASK, &b);
}

/* --- at the head */

static uint8_t pmix_state(int state, int exit)
{
    if (state == PROC_FAILED_TO_START)
        return PMIX_PROC_STATE_FAILED_TO_START;
    if (state == PROC_LOST)
        return PMIX_PROC_STATE_COMM_FAILED;
    if (state == PROC_TERMINATED && WIFSIGNALED(exit))
        return PMIX_PROC_STATE_ABORTED_BY_SIG;
    if (state == PROC_TERMINATED && WEXITSTATUS(exit))
        return PMIX_PROC_STATE_TERM_NON_ZERO;
    if (state == PROC_TERMINATED)
        return PMIX_PROC_STATE_TERMINATED;
    if (state == PROC_INIT)
        return PMIX_PROC_STATE_PREPPED;
    return state == PROC_REGISTERED ? PMIX_PROC_STATE_CONNECTED : PMIX_PROC_STATE_RUNNING;
}

static int exit_code_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? exit_code_of_signal(WTERMSIG(wait_status))
                                    : WEXITSTATUS(wait_status);
}

static void add_procs(const struct queries *q, struct jobtable *t, uint32_t job)
{
    const struct job_rank *ranks;
    const struct job_launch *l = core_job_ranks(q->core, t->jobs[job].nspace, &ranks);

    if (!l)
        return;
    t->procs = xrealloc(t->procs, (t->nprocs + l->nranks + 1) * sizeof(*t->procs));
    for (uint32_t r = 0; r < l->nranks; r++)
        t->procs[t->nprocs++] =
            (struct jobtable_proc){.job = job,
                                   .rank = r,
                                   .host = xstrdup(l->nodes[l->rank_node[r]].host),
                                   .program = xstrdup(l->spec.apps[l->rank_app[r]].argv[0]),
                                   .pid = ranks[r].pid,
                                   .exit_code = exit_code_of(ranks[r].exit),
                                   .state = pmix_state(ranks[r].state, ranks[r].exit)};
}

static bool names_job(const char *names, const char *nspace)
{
    size_t n = strlen(nspace);

    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, nspace, n) == 0 && (at[n] == ',' || at[n] == 0))
            return true;
    }
    return false;
}

static void make_table(const struct queries *q, const struct api_dvm *v, const char *names,
                       struct jobtable *t)
{
    for (size_t i = 0; i < v->nmembers; i++)
        t->universe += v->members[i].state == MEMBER_WIRED ? v->members[i].slots : 0;
    t->jobs = xcalloc(v->njobs + 1, sizeof(*t->jobs));
    for (size_t i = 0; i < v->njobs; i++) {
        const struct api_dvm_job *j = &v->jobs[i];

        t->jobs[t->njobs++] = (struct jobtable_job){.nspace = xstrdup(j->id),
                                                    .over = job_state_over(j->state),
                                                    .ranks = j->ranks,
                                                    .exit_code = j->exit_code};
        if (names_job(names, j->id))
            add_procs(q, t, (uint32_t)i);
    }
}

static void reply_table(struct queries *q, uint32_t to, const struct app_query_ask *m)
{
    struct jobtable table = {0};
    BUF_AUTO struct buf b = {0};
    enum api_reason reason;
    struct api_dvm view;
    struct err err = {0};

    host_enter(q->env);
    if (core_dvm(q->core, &view, &reason, &err) < 0) {
        host_reply(q->ask, to, m->question, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    make_table(q, &view, m->nspaces, &table);
    buf_init(&b, TABLE_MAX);
    jobtable_encode(&b, &table);
    host_reply(q->ask, to, m->question, b.failed ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS, b.data,
               b.len);
    jobtable_free(&table);
    api_dvm_free(&view);
}

static void on_query_ask(uint32_t from, struct cur *c, void *service)
{
    struct queries *q = service;
    struct app_query_ask m;

    if (app_query_ask_decode(c, &m) == 0)
        reply_table(q, from, &m);
    else
        host_reply(q->ask, from, m.question, PMIX_ERR_NOT_FOUND, NULL, 0);
    app_query_ask_free(&m);
}

void queries_handle(struct queries *q, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_QUERY_ASK, on_query_ask}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), q);
}

/* --- construction and destruction */

struct queries *queries_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                               const struct host_ask *ask)
{
    struct queries *q = xcalloc(1, sizeof(*q));

    *q = (struct queries){.env = env, .core = core, .pmix = pmix, .ask = ask};
    return q;
}

void queries_destroy(struct queries *q)
{
    free(q);
}
