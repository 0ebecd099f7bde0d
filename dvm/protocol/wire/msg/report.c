/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of REPORT. */
#include "dvm/protocol/wire/msg/report.h"

void msg_report_encode(struct buf *b, const struct msg_report *m)
{
    buf_put_u64(b, m->version);
    buf_put_u32(b, m->repairs);
}

int msg_report_decode(struct cur *c, struct msg_report *m, struct err *err)
{
    m->version = cur_u64(c);
    m->repairs = cur_u32(c);
    return 0;
}
