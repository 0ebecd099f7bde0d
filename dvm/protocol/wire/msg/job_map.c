/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of JOB_MAP. */
#include "dvm/protocol/wire/msg/job_map.h"

#include <stdlib.h>

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
