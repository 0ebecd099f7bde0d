/* SPDX-License-Identifier: BSD-3-Clause */
/* A message between daemons: its type and the fields of this type.
 *
 * A message has a file of its own, msg/<name>.[ch]: a struct with named fields, the encoder beside
 * the decoder, and at the end of the header its row. list.h names the header in one line; types,
 * union and codecs are made from there. Fields that several messages share have files named for
 * the fields. docs/howto.md says how to add a message. */
#ifndef DVM_WIRE_MSG_MSG_H
#define DVM_WIRE_MSG_MSG_H

#include "dvm/protocol/wire/msg/list.h"

#define MSG_ROW(ID, member, kind, owned, way) MSG_##ID,
enum msg_type {
    MSG_NO_TYPE,
#include "dvm/protocol/wire/msg/list.h"
    MSG_TYPES
};
#undef MSG_ROW

enum msg_way {
    MSG_WAY_NUMBERED, /* to a neighbour: in order, over any of its connections */
    MSG_WAY_ON_LINK,  /* to a neighbour: about the connection that carries it, without a number */
    MSG_WAY_ROUTED    /* along the tree, in order per (source, destination, class) */
};

#define MSG_ROW(ID, member, kind, owned, way) struct msg_##kind member;
struct msg {
    enum msg_type type;
    union {
#include "dvm/protocol/wire/msg/list.h"
    };
};
#undef MSG_ROW

const char *msg_name(unsigned type); /* "HELLO", "?" */
/* A message of a later edition is routed: relays of earlier editions pass it on. */
enum msg_way msg_way(unsigned type);
bool msg_is_routed(unsigned type);
/* Encodes the fields of m->type. Missing texts are "", longer ones than MSG_TEXT_MAX are cut. */
void msg_encode(struct buf *b, const struct msg *m);
/* Decodes the body of `type`. -1, a reason, nothing allocated and `out` untouched if the body is
 * malformed, too long or of an unknown type. The same if a value is one that no daemon sends: a
 * radix out of its limits, an epoch of zero, a list that adds or removes the head, an unknown
 * state. */
int msg_decode(struct cur *c, unsigned type, struct msg *out, struct err *err)
    __attribute__((warn_unused_result));
void msg_free(struct msg *m); /* what msg_decode() allocated */

/* The number of a broadcast; ADD, REMOVE and SHUTDOWN alone have one. */
uint64_t msg_op(const struct msg *m);
void msg_set_op(struct msg *m, uint64_t op);

#endif
