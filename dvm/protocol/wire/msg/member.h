/* SPDX-License-Identifier: BSD-3-Clause */
/* A member in a message: the node facts of one daemon. */
#ifndef DVM_WIRE_MSG_MEMBER_H
#define DVM_WIRE_MSG_MEMBER_H

#include "dvm/protocol/wire/msg/fields.h"

struct msg_member {
    uint32_t vpid;
    struct epoch epoch;
    char *host;
    char *address;
    uint16_t port;
    uint32_t slots;
};

void msg_member_copy(struct msg_member *dst, const struct msg_member *src);
void msg_member_free(struct msg_member *m);

void msg_put_member(struct buf *b, const struct msg_member *m);
void msg_get_member(struct cur *c, struct msg_member *m);
void msg_put_members(struct buf *b, const struct msg_member *list, size_t n);
struct msg_member *msg_get_members(struct cur *c, size_t *n);
void msg_free_members(struct msg_member *list, size_t n);

#endif
