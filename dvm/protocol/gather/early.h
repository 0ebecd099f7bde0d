/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about collectives of jobs that have not been launched on this daemon yet. */
#ifndef DVM_GATHER_EARLY_H
#define DVM_GATHER_EARLY_H

#include "dvm/protocol/out/out.h"
#include "dvm/protocol/wire/msg/msg.h"

/* Of one sender: so many messages, and no further one while they have so many bytes together. A
 * single message may be longer, up to MSG_ROUTED_MAX. */
#define EARLY_MESSAGES_MAX 1024
#define EARLY_BYTES_MAX (256u << 20)

struct early_message {
    uint32_t from;
    enum msg_type type; /* GATHER_UP or GATHER_DOWN */
    struct msg_gather m;
    size_t size_bytes;
    struct early_message *next, *prev;
};

struct early_sender;

struct early { /* zeroed: empty */
    struct out *out;
    size_t n;
    struct early_message *messages; /* in the order in which they came */
    struct early_sender *senders;
};

void early_free(struct early *e);
/* Copies the message; above the bounds of its sender it is dropped. */
void early_keep(struct early *e, uint32_t from, enum msg_type type, const struct msg_gather *m);
/* Removes and returns those that name the job, in their order. The caller frees each one. */
struct early_message *early_take(struct early *e, const char *nspace);
void early_message_free(struct early_message *x);
void early_forget_job(struct early *e, const char *nspace);
void early_forget_sender(struct early *e, uint32_t vpid);
/* Logs that a message of this sender is dropped: the first one, the second, the fourth and so
 * on. */
void early_log_drop(struct early *e, uint32_t from, const char *why);

#endif
