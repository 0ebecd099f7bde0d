/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ADD. */
#include "dvm/protocol/wire/msg/add.h"

void msg_add_encode(struct buf *b, const struct msg_add *m)
{
    buf_put_u64(b, m->op);
    msg_put_members(b, m->members, m->nmembers);
}

int msg_add_decode(struct cur *c, struct msg_add *m, struct err *err)
{
    m->op = cur_u64(c);
    m->members = msg_get_members(c, &m->nmembers);
    for (size_t i = 0; i < m->nmembers && !c->bad; i++) {
        if (m->members[i].vpid == VPID_HEAD && m->nmembers > 1)
            return err_set(err, "the head does not join with others");
        if (epoch_none(m->members[i].epoch))
            return err_set(err, "vpid %u without an epoch", m->members[i].vpid);
        if (msg_member_check(&m->members[i], err) < 0)
            return -1;
    }
    return 0;
}

void msg_add_free(struct msg_add *m)
{
    msg_free_members(m->members, m->nmembers);
}
