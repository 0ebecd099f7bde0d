/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RESIZE_ENDED. */
#include "dvm/protocol/wire/msg/resize_ended.h"

#include <stdlib.h>

void msg_resize_ended_encode(struct buf *b, const struct msg_resize_ended *m)
{
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u8(b, (uint8_t)m->status);
    msg_put_text(b, m->campaign);
    msg_put_text(b, m->req_id);
    msg_put_text(b, m->cause);
}

int msg_resize_ended_decode(struct cur *c, struct msg_resize_ended *m, struct err *err)
{
    m->nspace = msg_get_nspace(c);
    m->rank = cur_u32(c);
    m->status = (enum resize_status)msg_get_enum(c, RESIZE_STATUSES);
    m->campaign = msg_get_text(c);
    m->req_id = msg_get_text(c);
    m->cause = msg_get_text(c);
    return 0;
}

void msg_resize_ended_free(struct msg_resize_ended *m)
{
    free(m->nspace);
    free(m->campaign);
    free(m->req_id);
    free(m->cause);
}
