/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of REPORT. */
#include "dvm/protocol/wire/msg/report.h"

#include <stdlib.h>

void msg_report_encode(struct buf *b, const struct msg_report *m)
{
    buf_put_u64(b, m->version);
    buf_put_u32(b, m->repairs);
    msg_put_added_flag(b, m->all);
    if (m->all)
        msg_put_text(b, m->cpus);
}

int msg_report_decode(struct cur *c, struct msg_report *m, struct err *err)
{
    m->version = cur_u64(c);
    m->repairs = cur_u32(c);
    m->all = msg_get_added_flag(c);
    m->cpus = m->all ? msg_get_text(c) : NULL;
    return 0;
}

void msg_report_free(struct msg_report *m)
{
    free(m->cpus);
}
