/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of targets in messages. */
#include "dvm/protocol/wire/msg/target.h"

#define TARGET_BYTES 20

void msg_put_target(struct buf *b, struct msg_target t)
{
    buf_put_u32(b, t.vpid);
    msg_put_epoch(b, t.epoch);
}

struct msg_target msg_get_target(struct cur *c)
{
    struct msg_target t;

    t.vpid = cur_u32(c);
    t.epoch = msg_get_epoch(c);
    if (!vpid_allowed(t.vpid))
        c->bad = true;
    return t;
}

void msg_put_targets(struct buf *b, const struct msg_target *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        msg_put_target(b, list[i]);
}

struct msg_target *msg_get_targets(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, VPID_MAX + 1, TARGET_BYTES);
    struct msg_target *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count; (*n)++)
        list[*n] = msg_get_target(c);
    return list;
}
