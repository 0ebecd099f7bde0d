/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank and its job in the daemon, from the start until their ends are reported and forgotten. */
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct odls_proc *odls_proc_find(struct odls *o, const char *nspace, uint32_t rank)
{
    struct odls_job *job = NULL;
    struct odls_proc *p = NULL;

    HASH_FIND_STR(o->jobs, nspace, job);
    if (job)
        HASH_FIND(by_rank, job->procs, &rank, sizeof(rank), p);
    return p;
}

static void free_proc(struct odls_proc *p)
{
    for (size_t i = 0; i < 2; i++)
        odls_stream_close(&p->out[i]);
    odls_input_close(&p->in);
    loop_timer_destroy(p->kill);
    HASH_DELETE(by_rank, p->job->procs, p);
    HASH_DELETE(hh, p->o->procs, p);
    free(p);
}

static void free_job(struct odls *o, struct odls_job *job)
{
    HASH_DELETE(hh, o->jobs, job);
    free(job);
}

void odls_proc_settle(struct odls_proc *p)
{
    struct odls_job *job = p->job;
    struct odls *o = p->o;
    struct odls_send *s;

    if (p->state != ODLS_FAILED &&
        (p->state != ODLS_EXITED || p->out[0].fd >= 0 || p->out[1].fd >= 0))
        return;
    free_proc(p);
    if (job->procs)
        return;
    s = odls_send_new(SPAWN_CMD_JOB_END);
    s->cmd.job = job->id;
    odls_send_queue(o, s);
    free_job(o, job);
}

void odls_job_free_all(struct odls *o)
{
    struct odls_job *job;
    struct odls_job *next_job;

    HASH_ITER(hh, o->jobs, job, next_job)
    {
        struct odls_proc *p;
        struct odls_proc *next;

        HASH_ITER(by_rank, job->procs, p, next)
        {
            free_proc(p);
        }
        free_job(o, job);
    }
}

void odls_proc_started(struct odls_proc *p, pid_t pid)
{
    p->state = ODLS_RUNNING;
    p->pid = pid;
    for (size_t i = 0; i < 2; i++)
        odls_stream_start(&p->out[i]);
    p->o->up.on_started(p->job->nspace, p->rank, pid, p->o->arg);
}

void odls_proc_failed(struct odls_proc *p, int errnum, const char *what)
{
    p->state = ODLS_FAILED;
    p->o->up.on_failed(p->job->nspace, p->rank, errnum, what, p->o->arg);
    odls_proc_settle(p);
}

void odls_proc_exited(struct odls_proc *p, int status)
{
    p->state = ODLS_EXITED;
    if (p->kill)
        loop_timer_disarm(p->kill);
    for (size_t i = 0; i < 2; i++)
        odls_stream_linger(&p->out[i]);
    odls_input_abandon(p);
    p->o->up.on_exited(p->job->nspace, p->rank, status, p->o->arg);
    odls_proc_settle(p);
}
