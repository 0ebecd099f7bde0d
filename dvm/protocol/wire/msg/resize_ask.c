/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of RESIZE_ASK. */
#include "dvm/protocol/wire/msg/resize_ask.h"

#include <stdlib.h>

void msg_resize_ask_encode(struct buf *b, const struct msg_resize_ask *m)
{
    buf_put_u64(b, m->op);
    buf_put_str(b, m->nspace);
    buf_put_u32(b, m->rank);
    buf_put_u8(b, (uint8_t)m->kind);
    buf_put_u64(b, (uint64_t)m->deadline_s);
    msg_put_text(b, m->req_id);
    msg_put_text(b, m->campaign);
    buf_put_u32(b, m->count);
    msg_put_vpids(b, m->vpids, m->nvpids);
    msg_put_added_flag(b, m->keep);
}

static int check_ask(const struct msg_resize_ask *m, struct err *err)
{
    if (m->deadline_s < -1 || m->deadline_s > API_DEADLINE_MAX || !vpid_allowed(m->count) ||
        m->nvpids > API_TARGETS_MAX || (m->count && m->nvpids))
        return err_set(err, "%zu and %u daemons within %lld s", m->nvpids, m->count,
                       (long long)m->deadline_s);
    for (size_t i = 1; i < m->nvpids; i++) {
        if (m->vpids[i] <= m->vpids[i - 1])
            return err_set(err, "vpid %u after %u", m->vpids[i], m->vpids[i - 1]);
    }
    return 0;
}

int msg_resize_ask_decode(struct cur *c, struct msg_resize_ask *m, struct err *err)
{
    m->op = cur_u64(c);
    m->nspace = msg_get_nspace(c);
    m->rank = cur_u32(c);
    m->kind = (enum resize_kind)msg_get_enum(c, RESIZE_KINDS);
    m->deadline_s = (int64_t)cur_u64(c);
    m->req_id = msg_get_text(c);
    m->campaign = msg_get_text(c);
    m->count = cur_u32(c);
    m->vpids = msg_get_vpids(c, &m->nvpids);
    m->keep = msg_get_added_flag(c);
    return check_ask(m, err);
}

void msg_resize_ask_free(struct msg_resize_ask *m)
{
    free(m->nspace);
    free(m->req_id);
    free(m->campaign);
    free(m->vpids);
}
