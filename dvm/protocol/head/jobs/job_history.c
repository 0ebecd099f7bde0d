/* SPDX-License-Identifier: BSD-3-Clause */
/* The last jobs that have ended.
 *
 * In: jobs that are forgotten (job_table.c). Out: number, end and daemons of the last
 * JOB_HISTORY_MAX of them, in the order in which they were forgotten. */
#include "dvm/protocol/head/jobs/job_history.h"

#include "dvm/protocol/head/journal/record.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/exit_code.h"

#include <stdlib.h>
#include <utlist.h>

#define PAST_MIN 49 /* bytes of the smallest job in a snapshot */

void job_past_free(struct job_past *past)
{
    free(past->reason);
    free(past->vpids);
    free(past);
}

static void drop_past(struct job_history *h, struct job_past *past)
{
    DL_DELETE(h->list, past);
    job_past_free(past);
    h->n--;
}

void job_history_add(struct job_history *h, struct job_past *past)
{
    DL_APPEND(h->list, past);
    if (++h->n > JOB_HISTORY_MAX)
        drop_past(h, h->list);
}

void job_history_save(const struct job_history *h, struct buf *b)
{
    const struct job_past *p;

    buf_put_u32(b, (uint32_t)h->n);
    DL_FOREACH(h->list, p)
    {
        buf_put_u64(b, p->number);
        buf_put_u32(b, p->submitter.vpid);
        msg_put_epoch(b, p->submitter.epoch);
        buf_put_u32(b, p->client);
        buf_put_u8(b, (uint8_t)p->failure);
        buf_put_u32(b, (uint32_t)p->exit_code);
        buf_put_str(b, p->reason);
        buf_put_u32(b, p->nranks);
        msg_put_vpids(b, p->vpids, p->nvpids);
    }
}

int job_history_load(struct job_history *h, struct cur *c, struct err *err)
{
    uint32_t n = cur_count(c, JOB_HISTORY_MAX, PAST_MIN);

    for (uint32_t i = 0; i < n; i++) {
        struct job_past *p = xcalloc(1, sizeof(*p));

        job_history_add(h, p);
        p->number = cur_u64(c);
        p->submitter.vpid = cur_u32(c);
        p->submitter.epoch = msg_get_epoch(c);
        p->client = cur_u32(c);
        p->failure = msg_get_enum(c, JOB_EV_NO_MAP + 1);
        p->exit_code = (int)cur_u32(c);
        p->reason = cur_str(c, RECORD_REASON_MAX);
        p->nranks = cur_u32(c);
        p->vpids = msg_get_vpids(c, &p->nvpids);
        if (c->bad || p->exit_code < 0 || p->exit_code > EXIT_CODE_MAX)
            return err_set(err, "the history of jobs is cut, or out of its limits");
    }
    return 0;
}

void job_history_free(struct job_history *h)
{
    while (h->list)
        drop_past(h, h->list);
}
