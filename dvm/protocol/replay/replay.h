/* SPDX-License-Identifier: BSD-3-Clause */
/* What one side of a session has said and may have to say again: numbered, kept until it is
 * acknowledged, or the latest of it for whoever comes. */
#ifndef DVM_REPLAY_REPLAY_H
#define DVM_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages are numbered from 1 on, in the order in which they are added. Nothing is refused here:
 * who adds looks at replay_owed() and stops whoever produces (back pressure). */
struct replay;
#define REPLAY_OVERHEAD 64 /* that each message counts beyond its bytes */

/* latest_max 0: all is kept until it is acknowledged, and no longer. Otherwise acknowledged
 * messages stay too, and of those of REPLAY_OUTPUT the latest that take so many bytes, whoever has
 * them or not. */
struct replay *replay_create(size_t latest_max);
void replay_destroy(struct replay *r);

enum replay_kind {
    REPLAY_ALWAYS,
    REPLAY_OUTPUT,
    REPLAY_STATE, /* with latest_max only the newest of its kind is kept */
};
void replay_add(struct replay *r, enum replay_kind kind, const void *data, size_t len);
/* The other side has all up to this number. -1: there is no such message yet. A number before an
 * earlier one changes nothing. */
int replay_ack(struct replay *r, uint64_t number) __attribute__((warn_unused_result));
/* Somebody new listens, who has nothing of it. */
void replay_rewind(struct replay *r);
uint64_t replay_last(const struct replay *r);    /* number of the newest message; 0: none */
size_t replay_owed(const struct replay *r);      /* bytes that are kept and not acknowledged */
size_t replay_kept(const struct replay *r);      /* bytes in all */
uint64_t replay_dropped(const struct replay *r); /* bytes that are not kept, although never
                                                    acknowledged by all who may come */
/* Every kept message that is not acknowledged, by its number; numbers that were dropped are
 * missing. The replay must not be changed meanwhile. */
void replay_each(const struct replay *r,
                 void (*fn)(uint64_t number, const void *data, size_t len, void *arg), void *arg);

#endif
