/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of jobs that a tool here did not spawn itself, for tools here.
 *
 * In: PMIx_IOF_pull of a tool; copies of output, from the daemon of the job's submitter; what the
 * tools have read; the end of the job; the loss of that daemon.
 * Out: requests for copies to that daemon (dvm/host/iof/tap.h); output to the library; answers.
 *
 * A pull is asking until the first copy can come, then started: the requests that wait for it are
 * answered then. It is paused while more than COPY_HIGH bytes are unread, and forgotten when no
 * tool wants it any more. When the job ends, the copies that are on their way still come; the
 * processes here are notified of the end after the last one has been read. If the submitter's
 * daemon is lost, no copies come any more, and the pull stays until the job ends, which the same
 * loss causes. */
#include "dvm/host/services/pulled_output.h"

#include "base/heap/hash.h"
#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define COPY_HIGH (1u << 20) /* unread bytes at which the submitter's daemon has to wait */
#define COPY_LOW (COPY_HIGH / 4)

struct pull { /* a job whose output is copied here */
    char *nspace;
    uint32_t home;
    bool started; /* copies arrive; requests before that wait for their answers */
    size_t nreqs;
    struct pull_req **reqs;
    size_t unread;
    bool paused;
    bool lost; /* the submitter's daemon is lost: no further copies */
    bool over; /* the job has ended; the processes here are notified after its last output */
    int exit_code;
    UT_hash_handle hh;
};

/* A PMIx_IOF_pull request, which may name several jobs. */
struct pull_req {
    struct pulled_output *s;
    pmix_req req;
    int status;
    unsigned left;
    size_t nprocs;
    struct pmix_srv_proc *procs;
};

struct pulled_output {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    struct iof *iof;
    const struct host_jobs *jobs;
    struct pulled_output_io io;
    struct pull *pulls;
};

static struct pull *find_pull(const struct pulled_output *s, const char *nspace)
{
    struct pull *p;

    HASH_FIND_STR(s->pulls, nspace, p);
    return p;
}

static void step_req(struct pull_req *r, int status)
{
    if (status != PMIX_SUCCESS)
        r->status = status;
    if (--r->left > 0)
        return;
    pmix_srv_answer(r->s->pmix, r->req, r->status, NULL, 0);
    free(r->procs);
    free(r);
}

static void answer_reqs(struct pull *p, int status)
{
    for (size_t i = 0; i < p->nreqs; i++)
        step_req(p->reqs[i], status);
    p->nreqs = 0;
}

static void forget_pull(struct pulled_output *s, struct pull *p)
{
    HASH_DEL(s->pulls, p);
    answer_reqs(p, PMIX_ERR_LOST_CONNECTION);
    free(p->reqs);
    free(p->nspace);
    free(p);
}

/* --- requests */

static struct pull *start_pull(struct pulled_output *s, const struct job_launch *l)
{
    struct pull *p = xcalloc(1, sizeof(*p));

    p->nspace = xstrdup(l->nspace);
    p->home = l->home_vpid;
    HASH_ADD_KEYPTR(hh, s->pulls, p->nspace, strlen(p->nspace), p);
    iof_copy_ask(s->iof, p->home, IOF_COPY_START, p->nspace, true);
    return p;
}

static void want_output(struct pull_req *r, const char *nspace)
{
    struct pulled_output *s = r->s;
    const struct job_launch *l = host_job_find(s->jobs, nspace);
    struct pull *p = find_pull(s, nspace);

    if (!l || (p ? p->lost : !core_live(s->core, l->home_vpid))) {
        r->status = PMIX_ERR_NOT_FOUND;
        return;
    }
    if (!p)
        p = start_pull(s, l);
    if (p->started)
        return;
    r->left++;
    p->reqs = xrealloc(p->reqs, (p->nreqs + 1) * sizeof(struct pull_req *));
    p->reqs[p->nreqs++] = r;
}

static void on_jobs_known(bool known, void *waiter)
{
    struct pull_req *r = waiter;
    const struct host_env *env = r->s->env;

    host_enter(env);
    for (size_t i = 0; known && i < r->nprocs; i++)
        want_output(r, r->procs[i].nspace);
    step_req(r, known ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    host_drain(env);
}

void pulled_output_ask(struct pulled_output *s, pmix_req req, const struct pmix_srv_proc *procs,
                       size_t nprocs)
{
    struct pull_req *r = xcalloc(1, sizeof(*r));

    *r = (struct pull_req){.s = s, .req = req, .left = 1};
    r->procs = xcalloc(nprocs + 1, sizeof(*procs));
    for (size_t i = 0; i < nprocs; i++) {
        if (!s->io.is_spawned_here(procs[i].nspace,
                                   s->io.arg)) /* the job's output comes here anyway */
            r->procs[r->nprocs++] = procs[i];
    }
    host_jobs_learn(s->jobs, r->procs, r->nprocs, on_jobs_known, r);
}

/* --- arriving copies */

static void set_paused(struct pulled_output *s, struct pull *p, bool on)
{
    if (p->paused == on || p->lost)
        return;
    p->paused = on;
    iof_copy_ask(s->iof, p->home, IOF_COPY_PAUSE, p->nspace, on);
}

void pulled_output_copy(struct pulled_output *s, enum iof_kind kind, const char *nspace,
                        uint32_t rank, int stream, const void *data, size_t len)
{
    struct pull *p = find_pull(s, nspace);

    if (!p) /* the pull was forgotten meanwhile */
        return;
    if (kind == IOF_COPY_STARTED) {
        p->started = true;
        answer_reqs(p, PMIX_SUCCESS);
    } else if (kind == IOF_COPY_END && p->over && p->started) {
        pmix_srv_output_over(s->pmix, nspace);
    } else if (kind == IOF_COPY &&
               pmix_srv_output(s->pmix, 0, NULL, nspace, rank, stream, data, len)) {
        p->unread += len;
        if (p->unread > COPY_HIGH)
            set_paused(s, p, true);
    }
}

void pulled_output_read(struct pulled_output *s, const char *nspace, size_t len, bool wanted)
{
    struct pull *p = find_pull(s, nspace);

    if (!p)
        return;
    p->unread -= len < p->unread ? len : p->unread; /* a copy for an earlier pull of this name */
    host_enter(s->env);
    if (p->unread <= COPY_LOW)
        set_paused(s, p, false);
    if (!wanted && p->started && !p->over) {
        iof_copy_ask(s->iof, p->home, IOF_COPY_STOP, nspace, false);
        forget_pull(s, p);
    }
    host_drain(s->env);
}

/* --- end of a job */

void pulled_output_job_ended(struct pulled_output *s, const char *nspace, int exit_code)
{
    struct pull *p = find_pull(s, nspace);

    if (!p) {
        pmix_srv_notify_job_end(s->pmix, nspace, exit_code);
        return;
    }
    p->over = true;
    p->exit_code = exit_code;
    if (p->lost)
        pmix_srv_output_over(s->pmix, nspace);
    else
        iof_copy_ask(s->iof, p->home, IOF_COPY_STOP, nspace, false);
}

void pulled_output_over(struct pulled_output *s, const char *nspace)
{
    struct pull *p = find_pull(s, nspace);

    if (!p || !p->over)
        return;
    pmix_srv_notify_job_end(s->pmix, nspace, p->exit_code);
    forget_pull(s, p);
}

/* The loss of the submitter's daemon ends its jobs, unless they are ending already. */
void pulled_output_member_gone(struct pulled_output *s, uint32_t vpid)
{
    struct pull *p, *tmp;

    HASH_ITER(hh, s->pulls, p, tmp)
    {
        if (p->home != vpid)
            continue;
        answer_reqs(p, PMIX_ERR_LOST_CONNECTION);
        p->lost = true;
        if (p->over)
            pmix_srv_output_over(s->pmix, p->nspace);
    }
}

/* --- construction and destruction */

struct pulled_output *pulled_output_create(const struct host_env *env, struct core *core,
                                           struct pmix_srv *pmix, struct iof *iof,
                                           const struct host_jobs *jobs,
                                           const struct pulled_output_io *io)
{
    struct pulled_output *s = xcalloc(1, sizeof(*s));

    *s = (struct pulled_output){
        .env = env, .core = core, .pmix = pmix, .iof = iof, .jobs = jobs, .io = *io};
    return s;
}

void pulled_output_destroy(struct pulled_output *s)
{
    struct pull *p, *tmp;

    if (!s)
        return;
    HASH_ITER(hh, s->pulls, p, tmp)
    {
        HASH_DEL(s->pulls, p);
        for (size_t i = 0; i < p->nreqs; i++) {
            if (--p->reqs[i]->left > 0)
                continue;
            free(p->reqs[i]->procs);
            free(p->reqs[i]);
        }
        free(p->reqs);
        free(p->nspace);
        free(p);
    }
    free(s);
}
