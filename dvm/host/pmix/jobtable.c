/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the head's table of jobs and processes. */
#include "dvm/host/pmix/jobtable.h"

#include <stdlib.h>

#define NAME_MAX_BYTES 131072
#define JOBS_MAX 1048576
#define PROCS_MAX 1048576
#define JOB_MIN                                                                                    \
    10 /* bytes of the shortest record: bounds the memory allocated for a peer's count */
#define PROC_MIN 20

void jobtable_encode(struct buf *b, const struct jobtable *t)
{
    buf_put_u32(b, t->universe);
    buf_put_u32(b, (uint32_t)t->njobs);
    for (size_t i = 0; i < t->njobs; i++) {
        buf_put_str(b, t->jobs[i].nspace);
        buf_put_u8(b, t->jobs[i].over);
        buf_put_u32(b, t->jobs[i].ranks);
        buf_put_u32(b, (uint32_t)t->jobs[i].exit_code);
    }
    buf_put_u32(b, (uint32_t)t->nprocs);
    for (size_t i = 0; i < t->nprocs; i++) {
        const struct jobtable_proc *p = &t->procs[i];

        buf_put_u32(b, p->job);
        buf_put_u32(b, p->rank);
        buf_put_str(b, p->host);
        buf_put_str(b, p->program);
        buf_put_u32(b, (uint32_t)p->pid);
        buf_put_u32(b, (uint32_t)p->exit_code);
        buf_put_u8(b, p->state);
    }
}

static void read_jobs(struct cur *c, struct jobtable *t)
{
    t->njobs = cur_count(c, JOBS_MAX, JOB_MIN);
    t->jobs = xcalloc(t->njobs + 1, sizeof(*t->jobs));
    for (size_t i = 0; i < t->njobs; i++) {
        t->jobs[i].nspace = cur_str(c, NAME_MAX_BYTES);
        t->jobs[i].over = cur_u8(c) != 0;
        t->jobs[i].ranks = cur_u32(c);
        t->jobs[i].exit_code = (int)cur_u32(c);
    }
}

static void read_procs(struct cur *c, struct jobtable *t)
{
    t->nprocs = cur_count(c, PROCS_MAX, PROC_MIN);
    t->procs = xcalloc(t->nprocs + 1, sizeof(*t->procs));
    for (size_t i = 0; i < t->nprocs; i++) {
        struct jobtable_proc *p = &t->procs[i];

        p->job = cur_u32(c);
        p->rank = cur_u32(c);
        p->host = cur_str(c, NAME_MAX_BYTES);
        p->program = cur_str(c, NAME_MAX_BYTES);
        p->pid = (int)cur_u32(c);
        p->exit_code = (int)cur_u32(c);
        p->state = cur_u8(c);
        c->bad |= p->job >= t->njobs;
    }
}

int jobtable_decode(const void *data, size_t len, struct jobtable *out)
{
    struct cur c = cur_of(data, len);

    *out = (struct jobtable){.universe = cur_u32(&c)};
    read_jobs(&c, out);
    read_procs(&c, out);
    if (cur_done(&c))
        return 0;
    jobtable_free(out);
    return -1;
}

void jobtable_free(struct jobtable *t)
{
    for (size_t i = 0; t->jobs && i < t->njobs; i++)
        free(t->jobs[i].nspace);
    for (size_t i = 0; t->procs && i < t->nprocs; i++) {
        free(t->procs[i].host);
        free(t->procs[i].program);
    }
    free(t->jobs);
    free(t->procs);
    *t = (struct jobtable){0};
}
