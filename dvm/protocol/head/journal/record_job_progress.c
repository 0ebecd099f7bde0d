/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs of the records of a job's launch, ends of ranks and daemons that are over.
 *
 * In: decisions of jobs/job_send.c and jobs/job_report.c, or bytes. Out: bytes, or a record; of
 * bytes that no head has written a reason. */
#include "dvm/protocol/head/journal/record_job_progress.h"

#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/msg/msg.h"

void record_job_progress_put_sent(struct buf *b, const struct record_job_sent *r)
{
    buf_put_u64(b, r->number);
    buf_put_u64(b, r->deadline_ms);
}

void record_job_progress_get_sent(struct cur *c, struct record_job_sent *r)
{
    r->number = cur_u64(c);
    r->deadline_ms = cur_u64(c);
}

void record_job_progress_put_rank_ended(struct buf *b, const struct record_job_rank_ended *r)
{
    buf_put_u64(b, r->number);
    buf_put_u32(b, r->rank);
    buf_put_u8(b, r->state);
    buf_put_u32(b, (uint32_t)r->status);
    buf_put_str(b, r->loss);
}

int record_job_progress_get_rank_ended(struct cur *c, struct record_job_rank_ended *r,
                                       struct err *err)
{
    r->number = cur_u64(c);
    r->rank = cur_u32(c);
    r->state = cur_u8(c);
    r->status = (int)cur_u32(c);
    r->loss = cur_str(c, RECORD_LOSS_MAX);
    if (r->state != PROC_TERMINATED && r->state != PROC_FAILED_TO_START)
        return err_set(err, "rank %u of job %llu ends as %u", r->rank,
                       (unsigned long long)r->number, r->state);
    if (!c->bad && r->loss[0] && (r->state != PROC_TERMINATED || r->status == 0))
        return err_set(err, "rank %u of job %llu has not failed: %s", r->rank,
                       (unsigned long long)r->number, r->loss);
    return 0;
}

void record_job_progress_put_node_gone(struct buf *b, const struct record_job_node_gone *r)
{
    buf_put_u64(b, r->number);
    buf_put_u32(b, r->node);
    buf_put_u8(b, r->lost);
    buf_put_str(b, r->loss);
}

void record_job_progress_get_node_gone(struct cur *c, struct record_job_node_gone *r)
{
    r->number = cur_u64(c);
    r->node = cur_u32(c);
    r->lost = msg_get_flag(c);
    r->loss = cur_str(c, RECORD_LOSS_MAX);
}
