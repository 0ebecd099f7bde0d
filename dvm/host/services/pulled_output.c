/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of jobs that came by prun, or by tools of other daemons, for tools here: a copy of what
 * goes to the submitter, asked for at its daemon (dvm/host/iof/tap.h). */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>

#define COPY_HIGH (1u << 20) /* of a job, not read yet, at which it is told to wait */
#define COPY_LOW (COPY_HIGH / 4)

struct pull { /* a job of which copies come */
    char *nspace;
    uint32_t home;
    bool started; /* copies come; until then those who ask wait for their answers */
    size_t nreqs;
    struct pull_req **reqs;
    size_t unread;
    bool paused;
    bool lost; /* the submitter's daemon is: nothing comes any more */
    bool over; /* the job is; whoever is here is told when its last output has come */
    int exit_code;
    UT_hash_handle hh;
};

/* PMIx_IOF_pull, that may name several jobs. */
struct pull_req {
    struct daemon *d;
    pmix_req req;
    int status;
    unsigned left;
    size_t nprocs;
    struct pmix_srv_proc *procs;
};

static struct pull *find(const struct daemon *d, const char *nspace)
{
    struct pull *p;

    HASH_FIND_STR(d->pulls, nspace, p);
    return p;
}

static void req_step(struct pull_req *r, int status)
{
    if (status != PMIX_SUCCESS)
        r->status = status;
    if (--r->left > 0)
        return;
    pmix_srv_answer(r->d->pmix, r->req, r->status, NULL, 0);
    free(r->procs);
    free(r);
}

static void answer_all(struct pull *p, int status)
{
    for (size_t i = 0; i < p->nreqs; i++)
        req_step(p->reqs[i], status);
    p->nreqs = 0;
}

static void forget(struct daemon *d, struct pull *p)
{
    HASH_DEL(d->pulls, p);
    answer_all(p, PMIX_ERR_LOST_CONNECTION);
    free(p->reqs);
    free(p->nspace);
    free(p);
}

void pull_free_all(struct daemon *d)
{
    struct pull *p, *tmp;

    HASH_ITER(hh, d->pulls, p, tmp)
    {
        HASH_DEL(d->pulls, p);
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
}

/* --- who asks */

static struct pull *start(struct daemon *d, const struct job_launch *l)
{
    struct pull *p = xcalloc(1, sizeof *p);

    p->nspace = xstrdup(l->nspace);
    p->home = l->home_vpid;
    HASH_ADD_KEYPTR(hh, d->pulls, p->nspace, strlen(p->nspace), p);
    iof_copy_ask(d->iof, p->home, IOF_COPY_START, p->nspace, true);
    return p;
}

static void want(struct daemon *d, struct pull_req *r, const char *nspace)
{
    const struct job_launch *l = foreign_job(d, nspace);
    struct pull *p = find(d, nspace);

    if (!l || (p ? p->lost : !core_live(d->core, l->home_vpid))) {
        r->status = PMIX_ERR_NOT_FOUND;
        return;
    }
    if (!p)
        p = start(d, l);
    if (p->started)
        return;
    r->left++;
    p->reqs = xrealloc(p->reqs, (p->nreqs + 1) * sizeof(struct pull_req *));
    p->reqs[p->nreqs++] = r;
}

static void on_jobs_known(struct daemon *d, bool known, void *arg)
{
    struct pull_req *r = arg;

    daemon_enter(d);
    for (size_t i = 0; known && i < r->nprocs; i++)
        want(d, r, r->procs[i].nspace);
    req_step(r, known ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    daemon_drain(d);
}

void pull_asked(pmix_req req, const struct pmix_srv_proc *procs, size_t nprocs, void *arg)
{
    struct daemon *d = arg;
    struct pull_req *r = xcalloc(1, sizeof *r);

    *r = (struct pull_req){.d = d, .req = req, .left = 1};
    r->procs = xcalloc(nprocs + 1, sizeof *procs);
    for (size_t i = 0; i < nprocs; i++) {
        if (!toolio_spawned_as(d, procs[i].nspace)) /* its output is here */
            r->procs[r->nprocs++] = procs[i];
    }
    foreign_learn(d, r->procs, r->nprocs, on_jobs_known, r);
}

/* --- what comes */

static void pause_if(struct daemon *d, struct pull *p, bool on)
{
    if (p->paused == on || p->lost)
        return;
    p->paused = on;
    iof_copy_ask(d->iof, p->home, IOF_COPY_PAUSE, p->nspace, on);
}

void pull_copy(enum iof_kind kind, const char *nspace, uint32_t rank, int stream, const void *data,
               size_t len, void *arg)
{
    struct daemon *d = arg;
    struct pull *p = find(d, nspace);

    if (!p) /* not any more */
        return;
    if (kind == IOF_COPY_STARTED) {
        p->started = true;
        answer_all(p, PMIX_SUCCESS);
    } else if (kind == IOF_COPY_END && p->over && p->started) {
        pmix_srv_output_over(d->pmix, nspace);
    } else if (kind == IOF_COPY &&
               pmix_srv_output(d->pmix, 0, NULL, nspace, rank, stream, data, len)) {
        p->unread += len;
        if (p->unread > COPY_HIGH)
            pause_if(d, p, true);
    }
}

void pull_read(struct daemon *d, const char *nspace, size_t len, bool wanted)
{
    struct pull *p = find(d, nspace);

    if (!p)
        return;
    p->unread -= len < p->unread ? len : p->unread; /* of an earlier one of this name */
    daemon_enter(d);
    if (p->unread <= COPY_LOW)
        pause_if(d, p, false);
    if (!wanted && p->started && !p->over) {
        iof_copy_ask(d->iof, p->home, IOF_COPY_STOP, nspace, false);
        forget(d, p);
    }
    daemon_drain(d);
}

/* --- the end */

void pull_job_ended(struct daemon *d, const char *nspace, int exit_code)
{
    struct pull *p = find(d, nspace);

    if (!p) {
        pmix_srv_notify_job_end(d->pmix, nspace, exit_code);
        return;
    }
    p->over = true;
    p->exit_code = exit_code;
    if (p->lost)
        pmix_srv_output_over(d->pmix, nspace);
    else
        iof_copy_ask(d->iof, p->home, IOF_COPY_STOP, nspace, false);
}

void pull_over(const char *nspace, void *arg)
{
    struct daemon *d = arg;
    struct pull *p = find(d, nspace);

    if (!p || !p->over)
        return;
    pmix_srv_notify_job_end(d->pmix, nspace, p->exit_code);
    forget(d, p);
}

/* With the submitter's daemon its jobs end, unless they do so already. */
void pull_member_gone(struct daemon *d, uint32_t vpid)
{
    struct pull *p, *tmp;

    HASH_ITER(hh, d->pulls, p, tmp)
    {
        if (p->home != vpid)
            continue;
        answer_all(p, PMIX_ERR_LOST_CONNECTION);
        p->lost = true;
        if (p->over)
            pmix_srv_output_over(d->pmix, p->nspace);
    }
}
