/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ACCEPTED, JOB_STATE, JOB_MAP, DONE, IOF_END. */
#include "dvm/protocol/wire/msg/submitter.h"

#include "dvm/protocol/wire/exit_code.h"

#include <stdlib.h>

void msg_client_job_encode(struct buf *b, const struct msg_client_job *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
}

int msg_client_job_decode(struct cur *c, struct msg_client_job *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    return 0;
}

void msg_client_job_free(struct msg_client_job *m)
{
    free(m->nspace);
}

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

void msg_job_map_encode(struct buf *b, const struct msg_job_map *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    buf_put_bytes(b, m->table, m->len);
}

int msg_job_map_decode(struct cur *c, struct msg_job_map *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->table = cur_bytes(c, MSG_DATA_MAX, &m->len);
    return 0;
}

void msg_job_map_free(struct msg_job_map *m)
{
    free(m->nspace);
}

void msg_done_encode(struct buf *b, const struct msg_done *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->client);
    buf_put_u32(b, (uint32_t)m->exit_code);
    msg_put_text(b, m->text);
    msg_put_vpids(b, m->output_vpids, m->noutput);
}

int msg_done_decode(struct cur *c, struct msg_done *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->client = cur_u32(c);
    m->exit_code = (int)cur_u32(c);
    m->text = msg_get_text(c);
    m->output_vpids = msg_get_vpids(c, &m->noutput);
    return 0;
}

void msg_done_free(struct msg_done *m)
{
    free(m->nspace);
    free(m->text);
    free(m->output_vpids);
}
