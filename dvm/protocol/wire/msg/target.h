/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that a message names: its vpid and epoch. */
#ifndef DVM_WIRE_MSG_TARGET_H
#define DVM_WIRE_MSG_TARGET_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_target {
    uint32_t vpid;
    struct epoch epoch;
};

void msg_put_target(struct buf *b, struct msg_target t);
struct msg_target msg_get_target(struct cur *c);
void msg_put_targets(struct buf *b, const struct msg_target *list, size_t n);
struct msg_target *msg_get_targets(struct cur *c, size_t *n);

#endif
