/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of JOB_STATE. */
#include "dvm/protocol/wire/msg/job_state.h"

#include <stdlib.h>

void msg_job_state_encode(struct buf *b, const struct msg_job_state *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    buf_put_u8(b, (uint8_t)m->state);
    msg_put_text(b, m->reason);
    msg_put_vpids(b, m->stdin_vpids, m->nstdin);
}

int msg_job_state_decode(struct cur *c, struct msg_job_state *m, struct err *err)
{
    uint8_t state;

    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    state = cur_u8(c);
    m->state = (enum job_state)state;
    m->reason = msg_get_text(c);
    m->stdin_vpids = msg_get_vpids(c, &m->nstdin);
    return job_state_word(state) ? 0 : err_set(err, "%u is no state of a job", state);
}

void msg_job_state_free(struct msg_job_state *m)
{
    free(m->nspace);
    free(m->reason);
    free(m->stdin_vpids);
}
