/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ranks in messages. */
#include "dvm/protocol/wire/msg/rank.h"

#include <stdlib.h>

#define RANK_BYTES_MIN 14

void msg_put_ranks(struct buf *b, const struct msg_rank *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        buf_put_u32(b, list[i].rank);
        buf_put_u8(b, list[i].failed);
        buf_put_u8(b, list[i].how);
        buf_put_u32(b, (uint32_t)list[i].value);
        msg_put_text(b, list[i].text);
    }
}

struct msg_rank *msg_get_ranks(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, JOB_RANKS_MAX, RANK_BYTES_MIN);
    struct msg_rank *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count && !c->bad; (*n)++) {
        struct msg_rank *r = &list[*n];

        r->rank = cur_u32(c);
        r->failed = cur_u8(c);
        r->how = msg_get_enum(c, RANK_HOWS);
        r->value = (int32_t)cur_u32(c);
        r->text = msg_get_text(c);
    }
    return list;
}

void msg_free_ranks(struct msg_rank *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].text);
    free(list);
}
