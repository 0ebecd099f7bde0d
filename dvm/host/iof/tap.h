/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of jobs' output for daemons whose tools have requested it. They are made at the
 * submitter's daemon, which gets all output. A reader that is behind makes the ranks wait; the
 * reader's own daemon limits the time. */
#ifndef DVM_IOF_TAP_H
#define DVM_IOF_TAP_H

#include "dvm/host/iof/iof.h"

struct taps;
struct taps *taps_create(struct core *core);
void taps_destroy(struct taps *t);
/* A piece has come from the daemon of the rank. */
void taps_output(struct taps *t, uint32_t from, const char *nspace, uint32_t rank, int stream,
                 const void *data, size_t len);
/* IOF_COPY_START, IOF_COPY_PAUSE (on or not) and IOF_COPY_STOP of a daemon with tools. */
void taps_msg(struct taps *t, uint32_t from, enum iof_kind kind, const char *nspace, bool on);
void taps_member_gone(struct taps *t, uint32_t vpid);
/* Called after each turn. */
void taps_turn(struct taps *t);

#endif
