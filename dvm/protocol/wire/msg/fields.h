/* SPDX-License-Identifier: BSD-3-Clause */
/* Simple fields of messages between daemons: text, flag, enum, epoch, list of vpids; and the
 * declaration of a codec. A decoded message owns its lists; a message to be encoded borrows them.
 */
#ifndef DVM_WIRE_MSG_FIELDS_H
#define DVM_WIRE_MSG_FIELDS_H

#include "dvm/protocol/wire/frame.h"
#include "dvm/protocol/wire/job.h"
#include "dvm/protocol/wire/key_id.h"

#define MSG_DATA_MAX (64u << 20)  /* of tables and broadcasts, which go in one frame */
#define MSG_ROUTED_MAX (1u << 30) /* of a routed message: it goes in fragments */
#define MSG_TEXT_MAX 16384u

/* Declares the codec of a kind of fields. The decoder gets a zeroed struct, and is called by
 * msg_decode() alone, which refuses a cut message: a decoder checks c->bad only before it
 * follows a pointer. -1 and a reason refuse values that no daemon sends; msg_decode() frees
 * then. */
#define MSG_CODEC(kind)                                                                            \
    void msg_##kind##_encode(struct buf *b, const struct msg_##kind *m);                           \
    int msg_##kind##_decode(struct cur *c, struct msg_##kind *m, struct err *err)                  \
        __attribute__((warn_unused_result))
/* Declares the function that frees a decoded struct. */
#define MSG_OWNED(kind) void msg_##kind##_free(struct msg_##kind *m)

void msg_put_epoch(struct buf *b, struct epoch e);
struct epoch msg_get_epoch(struct cur *c);
void msg_put_key_id(struct buf *b, struct key_id k);
struct key_id msg_get_key_id(struct cur *c);
/* A text longer than MSG_TEXT_MAX is cut there, since the decoder would refuse it. */
void msg_put_text(struct buf *b, const char *s);
char *msg_get_text(struct cur *c);
#define MSG_MOMENT_MAX (1ull << 60)     /* ms; so sums with limits fit */
uint64_t msg_get_moment(struct cur *c); /* of a clock */
char *msg_get_nspace(struct cur *c);
/* An enum of one byte, below `end`; c->bad otherwise. */
uint8_t msg_get_enum(struct cur *c, unsigned end);
bool msg_get_flag(struct cur *c);
/* A flag that a later edition has added at the end of a message: absent if it is not set. */
void msg_put_added_flag(struct buf *b, bool flag);
bool msg_get_added_flag(struct cur *c);
void msg_put_vpids(struct buf *b, const uint32_t *list, size_t n);
uint32_t *msg_get_vpids(struct cur *c, size_t *n);

#endif
