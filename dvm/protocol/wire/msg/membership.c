/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ADD, REMOVE, SHUTDOWN, SNAPSHOT, XACK. */
#include "dvm/protocol/wire/msg/membership.h"

#include "dvm/protocol/wire/msg/join.h"

#include <stdlib.h>

void msg_add_encode(struct buf *b, const struct msg_add *m)
{
    buf_put_u64(b, m->op);
    msg_put_members(b, m->members, m->nmembers);
}

int msg_add_decode(struct cur *c, struct msg_add *m, struct err *err)
{
    m->op = cur_u64(c);
    m->members = msg_get_members(c, &m->nmembers);
    for (size_t i = 0; i < m->nmembers; i++) {
        if (m->members[i].vpid == VPID_HEAD)
            return err_set(err, "the head does not join");
        if (epoch_none(m->members[i].epoch))
            return err_set(err, "vpid %u without an epoch", m->members[i].vpid);
    }
    return 0;
}

void msg_add_free(struct msg_add *m)
{
    msg_free_members(m->members, m->nmembers);
}

void msg_remove_encode(struct buf *b, const struct msg_remove *m)
{
    buf_put_u64(b, m->op);
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_targets(b, m->targets, m->ntargets);
    msg_put_text(b, m->text);
}

int msg_remove_decode(struct cur *c, struct msg_remove *m, struct err *err)
{
    m->op = cur_u64(c);
    m->why = (enum remove_why)msg_get_enum(c, REMOVE_WHYS);
    m->targets = msg_get_targets(c, &m->ntargets);
    m->text = msg_get_text(c);
    for (size_t i = 0; i < m->ntargets; i++) {
        if (m->targets[i].vpid == VPID_HEAD)
            return err_set(err, "the head does not leave");
    }
    return 0;
}

void msg_remove_free(struct msg_remove *m)
{
    free(m->targets);
    free(m->text);
}

void msg_shutdown_encode(struct buf *b, const struct msg_shutdown *m)
{
    buf_put_u64(b, m->op);
    buf_put_u8(b, (uint8_t)m->why);
    msg_put_text(b, m->text);
}

int msg_shutdown_decode(struct cur *c, struct msg_shutdown *m, struct err *err)
{
    m->op = cur_u64(c);
    m->why = (enum shutdown_why)msg_get_enum(c, SHUTDOWN_WHYS);
    m->text = msg_get_text(c);
    return 0;
}

void msg_shutdown_free(struct msg_shutdown *m)
{
    free(m->text);
}

void msg_snapshot_encode(struct buf *b, const struct msg_snapshot *m)
{
    buf_put_u64(b, m->op);
    buf_put_u32(b, m->radix);
    buf_put_bytes(b, m->table, m->len);
}

int msg_snapshot_decode(struct cur *c, struct msg_snapshot *m, struct err *err)
{
    m->op = cur_u64(c);
    m->radix = cur_u32(c);
    m->table = cur_bytes(c, MSG_DATA_MAX, &m->len);
    return msg_check_radix(m->radix, err); /* members_decode() checks the table */
}

void msg_xack_encode(struct buf *b, const struct msg_xack *m)
{
    buf_put_u64(b, m->op);
}

int msg_xack_decode(struct cur *c, struct msg_xack *m, struct err *err)
{
    m->op = cur_u64(c);
    return 0;
}
