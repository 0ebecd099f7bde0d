/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of LAUNCH. */
#include "dvm/protocol/wire/msg/launch.h"

void msg_launch_encode(struct buf *b, const struct msg_launch *m)
{
    job_launch_encode(b, &m->map);
}

int msg_launch_decode(struct cur *c, struct msg_launch *m, struct err *err)
{
    return job_launch_decode(c, &m->map, err);
}

void msg_launch_free(struct msg_launch *m)
{
    job_launch_free(&m->map);
}
