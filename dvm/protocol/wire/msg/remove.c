/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of REMOVE. */
#include "dvm/protocol/wire/msg/remove.h"

#include <stdlib.h>

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
