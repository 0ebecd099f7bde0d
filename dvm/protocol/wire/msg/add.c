/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of ADD. */
#include "dvm/protocol/wire/msg/add.h"

static bool all_have_keys(const struct msg_add *m)
{
    for (size_t i = 0; i < m->nmembers; i++) {
        if (key_id_none(m->members[i].key))
            return false;
    }
    return true;
}

/* Daemons of edition 0 can read an ADD without keys alone. */
static void put_keys(struct buf *b, const struct msg_add *m)
{
    bool all = all_have_keys(m);

    for (size_t i = 0; i < m->nmembers && all; i++)
        msg_put_key_id(b, m->members[i].key);
}

static void get_keys(struct cur *c, struct msg_add *m)
{
    if (!cur_left(c) || cur_left(c) != m->nmembers * KEY_ID_BYTES)
        return;
    for (size_t i = 0; i < m->nmembers; i++)
        m->members[i].key = msg_get_key_id(c);
    if (!all_have_keys(m))
        c->bad = true;
}

void msg_add_encode(struct buf *b, const struct msg_add *m)
{
    buf_put_u64(b, m->op);
    msg_put_members(b, m->members, m->nmembers);
    put_keys(b, m);
}

int msg_add_decode(struct cur *c, struct msg_add *m, struct err *err)
{
    m->op = cur_u64(c);
    m->members = msg_get_members(c, &m->nmembers);
    get_keys(c, m);
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
