/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of SUBMIT, LAUNCH, LOCAL_JOB, SIGNAL, KILL, JOB_ENDED, and of a job's name. */
#include "dvm/protocol/wire/msg/job.h"

#include <stdlib.h>
#include <string.h>

void msg_submit_encode(struct buf *b, const struct msg_submit *m)
{
    buf_put_u32(b, m->client);
    job_spec_encode(b, &m->spec);
}

int msg_submit_decode(struct cur *c, struct msg_submit *m, struct err *err)
{
    m->client = cur_u32(c);
    return job_spec_decode(c, &m->spec, err);
}

void msg_submit_free(struct msg_submit *m)
{
    job_spec_free(&m->spec);
}

void msg_launch_encode(struct buf *b, const struct msg_launch *m)
{
    job_launch_encode(b, &m->map);
}

int msg_launch_decode(struct cur *c, struct msg_launch *m, struct err *err)
{
    return job_launch_decode(c, &m->map, err);
}

void msg_launch_free(struct msg_launch *m)
{
    job_launch_free(&m->map);
}

void msg_job_encode(struct buf *b, const struct msg_job *m)
{
    buf_put_str(b, m->nspace);
}

int msg_job_decode(struct cur *c, struct msg_job *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    return 0;
}

void msg_job_free(struct msg_job *m)
{
    free(m->nspace);
}

void msg_signal_encode(struct buf *b, const struct msg_signal *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->signum);
}

int msg_signal_decode(struct cur *c, struct msg_signal *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->signum = (int)cur_u32(c);
    return 0;
}

void msg_signal_free(struct msg_signal *m)
{
    free(m->nspace);
}

void msg_kill_encode(struct buf *b, const struct msg_kill *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->signum);
    buf_put_u64(b, (uint64_t)m->grace_ms);
}

int msg_kill_decode(struct cur *c, struct msg_kill *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->signum = (int)cur_u32(c);
    m->grace_ms = (int64_t)cur_u64(c);
    return 0;
}

void msg_kill_free(struct msg_kill *m)
{
    free(m->nspace);
}

void msg_job_ended_encode(struct buf *b, const struct msg_job_ended *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, (uint32_t)m->exit_code);
}

int msg_job_ended_decode(struct cur *c, struct msg_job_ended *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->exit_code = (int)cur_u32(c);
    return 0;
}

void msg_job_ended_free(struct msg_job_ended *m)
{
    free(m->nspace);
}
