/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of ranks about jobs: what there is (the head knows), signals (the daemons of the ranks
 * send them), texts for their output. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/pmix/jobtable.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/exit_code.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define TABLE_MAX (64u << 20)
#define NAMES_MAX (1u << 20)

/* --- queries */

static void pass_on(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    pmix_req *req = arg;

    pmix_srv_answer(d->pmix, *req, status, data, len);
    free(req);
}

static pmix_req *req_copy(pmix_req req)
{
    return memcpy(xmalloc(sizeof req), &req, sizeof req);
}

void ask_query(pmix_req req, const char *nspaces, void *arg)
{
    struct daemon *d = arg;
    struct buf b BUF_AUTO = {0};

    buf_init(&b, NAMES_MAX + 1024);
    buf_put_u64(&b, 0);
    buf_put_str(&b, nspaces);
    if (b.failed || strlen(nspaces) >= NAMES_MAX)
        pmix_srv_answer(d->pmix, req, PMIX_ERR_BAD_PARAM, NULL, 0);
    else
        dpmix_ask(d, 0, APP_QUERY_ASK, &b, pass_on, req_copy(req));
}

static uint8_t state_of(int state, int exit)
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

static int exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? exit_code_of_signal(WTERMSIG(wait_status))
                                    : WEXITSTATUS(wait_status);
}

static void add_procs(struct daemon *d, struct jobtable *t, uint32_t job)
{
    const struct rank_facts *facts;
    const int *state;
    const struct job_launch *l = core_job_ranks(d->core, t->jobs[job].nspace, &state, &facts);

    if (!l)
        return;
    t->procs = xrealloc(t->procs, (t->nprocs + l->nranks + 1) * sizeof *t->procs);
    for (uint32_t r = 0; r < l->nranks; r++)
        t->procs[t->nprocs++] =
            (struct jobtable_proc){.job = job,
                                   .rank = r,
                                   .host = xstrdup(l->nodes[l->rank_node[r]].host),
                                   .program = xstrdup(l->spec.apps[l->rank_app[r]].argv[0]),
                                   .pid = facts[r].pid,
                                   .exit_code = exit_code(facts[r].exit),
                                   .state = state_of(state[r], facts[r].exit)};
}

static bool is_over(const char *state)
{
    static const char *const over[] = {"TERMINATED",      "ABORTED",        "KILLED_BY_CMD",
                                       "FAILED_TO_START", "NEVER_LAUNCHED", "MAP_FAILED",
                                       "NOTIFY_COMPLETED"};

    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++) {
        if (strcmp(state, over[i]) == 0)
            return true;
    }
    return false;
}

static bool asked_for(const char *names, const char *nspace)
{
    size_t n = strlen(nspace);

    for (const char *at = names; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, nspace, n) == 0 && (at[n] == ',' || at[n] == 0))
            return true;
    }
    return false;
}

static void table_make(struct daemon *d, const struct api_dvm *v, const char *names,
                       struct jobtable *t)
{
    for (size_t i = 0; i < v->nmembers; i++)
        t->universe += strcmp(v->members[i].state, "wired") == 0 ? v->members[i].slots : 0;
    t->jobs = xcalloc(v->njobs + 1, sizeof *t->jobs);
    for (size_t i = 0; i < v->njobs; i++) {
        const struct api_dvm_job *j = &v->jobs[i];

        t->jobs[t->njobs++] = (struct jobtable_job){.nspace = xstrdup(j->id),
                                                    .over = is_over(j->state),
                                                    .ranks = j->ranks,
                                                    .exit_code = j->exit_code};
        if (asked_for(names, j->id))
            add_procs(d, t, (uint32_t)i);
    }
}

/* At the head. */
void ask_query_in(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    char *names FREE_AUTO = cur_str(c, NAMES_MAX);
    struct jobtable table = {0};
    struct buf b BUF_AUTO = {0};
    const char *reason;
    struct api_dvm view;
    struct err err = {0};

    daemon_enter(d);
    if (!cur_done(c) || core_dvm(d->core, &view, &reason, &err) < 0) {
        dpmix_reply(d, from, id, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    table_make(d, &view, names, &table);
    buf_init(&b, TABLE_MAX);
    jobtable_encode(&b, &table);
    dpmix_reply(d, from, id, b.failed ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS, b.data, b.len);
    jobtable_free(&table);
    api_dvm_free(&view);
}

/* --- control */

struct control {
    struct daemon *d;
    pmix_req req;
    int signum;
    unsigned left;
    int status;
    size_t nprocs;
    struct pmix_srv_proc procs[];
};

static void control_step(struct control *k, int status)
{
    if (k->status == PMIX_SUCCESS)
        k->status = status;
    if (--k->left > 0)
        return;
    pmix_srv_answer(k->d->pmix, k->req, k->status, NULL, 0);
    free(k);
}

struct signalled {
    struct control *k;
};

static void on_signalled(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    struct signalled *s = arg;

    control_step(s->k, status);
    free(s);
}

static void signal_rank(struct control *k, const struct pmix_srv_proc *p)
{
    const struct job_launch *l = foreign_job(k->d, p->nspace);
    struct signalled *s;
    struct buf b BUF_AUTO = {0};

    if (!l || p->rank >= l->nranks) {
        control_step(k, PMIX_ERR_NOT_FOUND);
        return;
    }
    s = xmalloc(sizeof *s);
    s->k = k;
    buf_init(&b, 4096);
    buf_put_u64(&b, 0);
    buf_put_str(&b, p->nspace);
    buf_put_u32(&b, p->rank);
    buf_put_u32(&b, (uint32_t)k->signum);
    dpmix_ask(k->d, l->nodes[l->rank_node[p->rank]].vpid, APP_SIGNAL_ASK, &b, on_signalled, s);
}

static void on_targets_known(struct daemon *d, bool known, void *arg)
{
    struct control *k = arg;

    daemon_enter(d);
    k->left = (unsigned)k->nprocs + 1;
    for (size_t i = 0; i < k->nprocs; i++) {
        if (!known) {
            control_step(k, PMIX_ERR_NOT_FOUND);
        } else if (k->procs[i].rank == PMIX_SRV_RANK_ALL) {
            core_job_signal(d->core, k->procs[i].nspace, k->signum);
            control_step(k, PMIX_SUCCESS);
        } else {
            signal_rank(k, &k->procs[i]);
        }
    }
    control_step(k, PMIX_SUCCESS);
    daemon_drain(d);
}

/* A job gets the signal by the head, as from prun; a rank by its daemon. Nothing is sent when one
 * of the jobs named does not run. */
void ask_control(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, int signum,
                 void *arg)
{
    struct control *k = xcalloc(1, sizeof *k + nprocs * sizeof *procs);

    *k = (struct control){.d = arg, .req = req, .signum = signum, .nprocs = nprocs};
    memcpy(k->procs, procs, nprocs * sizeof *procs);
    foreign_learn(arg, procs, nprocs, on_targets_known, k);
}

/* At the rank's daemon. */
void ask_signal_in(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    char *nspace FREE_AUTO = cur_str(c, JOB_NSPACE_MAX);
    uint32_t rank = cur_u32(c);
    uint32_t signum = cur_u32(c);
    bool ok = cur_done(c) && core_job(d->core, nspace) && signum < 65;

    if (ok)
        djob_signal_rank(d, nspace, rank, (int)signum);
    dpmix_reply(d, from, id, ok ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, NULL, 0);
}

/* --- log */

void ask_log(pmix_req req, const char *nspace, uint32_t rank, int stream, const char *text,
             void *arg)
{
    struct daemon *d = arg;

    daemon_enter(d);
    if (stream)
        djob_write(d, nspace, rank, stream, text, strlen(text));
    else
        log_info("pmix: %s nspace=%s rank=%u", text, nspace, rank);
    pmix_srv_answer(d->pmix, req, PMIX_SUCCESS, NULL, 0);
    daemon_drain(d);
}
