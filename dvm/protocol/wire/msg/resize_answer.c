/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RESIZE_ANSWER. */
#include "dvm/protocol/wire/msg/resize_answer.h"

#include <stdlib.h>

void msg_resize_answer_encode(struct buf *b, const struct msg_resize_answer *m)
{
    buf_put_u64(b, m->op);
    buf_put_u8(b, (uint8_t)m->status);
    buf_put_u8(b, (uint8_t)m->phase);
    msg_put_text(b, m->campaign);
    msg_put_text(b, m->why);
}

int msg_resize_answer_decode(struct cur *c, struct msg_resize_answer *m, struct err *err)
{
    m->op = cur_u64(c);
    m->status = (enum resize_status)msg_get_enum(c, RESIZE_STATUSES);
    m->phase = (enum api_phase)msg_get_enum(c, API_PHASES);
    m->campaign = msg_get_text(c);
    m->why = msg_get_text(c);
    return 0;
}

void msg_resize_answer_free(struct msg_resize_answer *m)
{
    free(m->campaign);
    free(m->why);
}
