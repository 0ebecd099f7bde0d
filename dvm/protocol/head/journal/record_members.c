/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the record MEMBERS. The decoder reads the table too, so that the fold cannot fail. */
#include "dvm/protocol/head/journal/record_members.h"

#include "api/api.h"
#include "dvm/protocol/member/member.h"

void record_members_put(struct buf *b, const struct record_members *r)
{
    buf_put_str(b, r->cluster);
    buf_put_u64(b, r->incarnation);
    buf_put_u32(b, r->size);
    buf_put_u64(b, r->now_ms);
    buf_put_u64(b, r->wall_ms);
    buf_put_u64(b, r->version);
    buf_put_u64(b, r->last_epoch);
    buf_put_u64(b, r->last_name);
    buf_put_bytes(b, r->table, r->len);
}

int record_members_get(struct cur *c, struct record_members *r, struct err *err)
{
    r->cluster = cur_str(c, API_NAME_MAX);
    r->incarnation = cur_u64(c);
    r->size = cur_u32(c);
    r->now_ms = msg_get_moment(c);
    r->wall_ms = msg_get_moment(c);
    r->version = cur_u64(c);
    r->last_epoch = cur_u64(c);
    r->last_name = cur_u64(c);
    r->table = cur_bytes(c, MSG_DATA_MAX, &r->len);
    if (c->bad)
        return 0; /* the caller refuses it */
    if (r->incarnation == 0 || !vpid_allowed(r->size))
        return err_set(err, "%u members of incarnation %llx", r->size,
                       (unsigned long long)r->incarnation);
    return members_check_table(r->table, r->len, (struct epoch){r->incarnation, r->last_epoch},
                               err);
}
