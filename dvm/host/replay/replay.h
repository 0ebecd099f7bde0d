/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of one side of a session that may have to be sent again. They are numbered and kept
 * until they are acknowledged; of output the latest part may be kept longer. */
#ifndef DVM_REPLAY_REPLAY_H
#define DVM_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages are numbered from 1 in the order of their addition. Nothing is refused here: the
 * caller watches replay_owed() and stops the producer (back pressure). */
struct replay;
#define REPLAY_OVERHEAD 64 /* overhead counted per message */

/* latest_max 0: a message is kept until it is acknowledged, and no longer. Otherwise
 * acknowledged messages are kept too, and of REPLAY_OUTPUT the latest `latest_max` bytes,
 * acknowledged or not. */
struct replay *replay_create(size_t latest_max);
void replay_destroy(struct replay *r);

enum replay_kind {
    REPLAY_ALWAYS,
    REPLAY_OUTPUT,
    REPLAY_STATE, /* with latest_max only the newest of this kind is kept */
};
void replay_add(struct replay *r, enum replay_kind kind, const void *data, size_t len);
/* The other side has all messages up to this number. -1: there is no such message yet. A lower
 * number than before changes nothing. */
int replay_ack(struct replay *r, uint64_t number) __attribute__((warn_unused_result));
/* A new listener begins, which has none of the messages. */
void replay_rewind(struct replay *r);
uint64_t replay_last(const struct replay *r); /* number of the newest message; 0: none */
size_t replay_owed(const struct replay *r);   /* bytes that are kept and not acknowledged */
size_t replay_kept(const struct replay *r);   /* bytes in all */
uint64_t replay_dropped(
    const struct replay *r); /* bytes that were dropped before every possible listener had them */
/* Calls fn for every kept message that is not acknowledged; dropped numbers are missing. The
 * replay must not change meanwhile. */
void replay_each(const struct replay *r,
                 void (*fn)(uint64_t number, const void *data, size_t len, void *arg), void *arg);

#endif
