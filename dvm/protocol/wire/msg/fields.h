/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared parts of messages between daemons: members, targets, ranks, and their lists. A decoded
 * message owns its lists; a message to be encoded borrows them. */
#ifndef DVM_WIRE_MSG_FIELDS_H
#define DVM_WIRE_MSG_FIELDS_H

#include "dvm/protocol/wire/frame.h"
#include "dvm/protocol/wire/job.h"

#define MSG_DATA_MAX (64u << 20)
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

struct msg_none { /* messages without fields */
    char unused;
};
MSG_CODEC(none);

/* Node facts of one daemon. */
struct msg_member {
    uint32_t vpid;
    struct epoch epoch;
    char *host;
    char *address;
    uint16_t port;
    uint32_t slots;
};

struct msg_target {
    uint32_t vpid;
    struct epoch epoch;
};

/* How a rank has ended, beyond its wait status. */
enum rank_how {
    RANK_PLAIN,   /* nothing */
    RANK_WO_SYNC, /* it was a PMIx client and had not finalized */
    RANK_BY_CMD,  /* another process ended it */
    RANK_ABORTED, /* it called PMIx_Abort; the status is the code that it gave */
    RANK_LOST,    /* lost with its daemon: there is no status */
    RANK_HOWS
};

struct msg_rank {
    uint32_t rank;
    bool failed;
    uint8_t how;   /* enum rank_how */
    int32_t value; /* of a start: pid, or errno if it failed; of an end: wait status */
    char *text;    /* of a failed start: the step that failed */
};

void msg_member_copy(struct msg_member *dst, const struct msg_member *src);
void msg_member_free(struct msg_member *m);

void msg_put_epoch(struct buf *b, struct epoch e);
struct epoch msg_get_epoch(struct cur *c);
/* A text longer than MSG_TEXT_MAX is cut there, since the decoder would refuse it. */
void msg_put_text(struct buf *b, const char *s);
char *msg_get_text(struct cur *c);
char *msg_get_nspace(struct cur *c);
/* An enum of one byte, below `end`; c->bad otherwise. */
uint8_t msg_get_enum(struct cur *c, unsigned end);
bool msg_get_flag(struct cur *c);
void msg_put_member(struct buf *b, const struct msg_member *m);
void msg_get_member(struct cur *c, struct msg_member *m);
void msg_put_members(struct buf *b, const struct msg_member *list, size_t n);
struct msg_member *msg_get_members(struct cur *c, size_t *n);
void msg_free_members(struct msg_member *list, size_t n);
void msg_put_target(struct buf *b, struct msg_target t);
struct msg_target msg_get_target(struct cur *c);
void msg_put_targets(struct buf *b, const struct msg_target *list, size_t n);
struct msg_target *msg_get_targets(struct cur *c, size_t *n);
void msg_put_ranks(struct buf *b, const struct msg_rank *list, size_t n);
struct msg_rank *msg_get_ranks(struct cur *c, size_t *n);
void msg_free_ranks(struct msg_rank *list, size_t n);
void msg_put_vpids(struct buf *b, const uint32_t *list, size_t n);
uint32_t *msg_get_vpids(struct cur *c, size_t *n);

#endif
