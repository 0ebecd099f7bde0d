/* SPDX-License-Identifier: BSD-3-Clause */
/* A message between daemons: its type and the fields of this type.
 *
 * To add a message: a struct with named fields, its encoder and decoder side by side in a file here
 * (msg/<name>.[ch], or the file of its family), a line in list.h, the handler's line in the table
 * of the module that receives it (dvm/protocol/core/dispatch.h, or the head's), and a sample in
 * test/samples.c: the tests and the fuzz targets take it from there. */
#ifndef DVM_WIRE_MSG_MSG_H
#define DVM_WIRE_MSG_MSG_H

#include "dvm/protocol/wire/msg/app.h"
#include "dvm/protocol/wire/msg/debug_stop.h"
#include "dvm/protocol/wire/msg/departure.h"
#include "dvm/protocol/wire/msg/files.h"
#include "dvm/protocol/wire/msg/gather.h"
#include "dvm/protocol/wire/msg/job.h"
#include "dvm/protocol/wire/msg/join.h"
#include "dvm/protocol/wire/msg/list.h"
#include "dvm/protocol/wire/msg/membership.h"
#include "dvm/protocol/wire/msg/ranks.h"
#include "dvm/protocol/wire/msg/resize.h"
#include "dvm/protocol/wire/msg/submitter.h"

#define MSG_TYPE(ID, member, kind, owned) MSG_##ID,
enum msg_type { MSG_NO_TYPE, MSG_LIST(MSG_TYPE) MSG_TYPES };
#undef MSG_TYPE
#define MSG_ROUTED MSG_RACK /* this one and all later ones are routed */

#define MSG_MEMBER(ID, member, kind, owned) struct msg_##kind member;
struct msg {
    enum msg_type type;
    union {
        MSG_LIST(MSG_MEMBER)
    };
};
#undef MSG_MEMBER

const char *msg_name(unsigned type); /* "HELLO", "?" */
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
