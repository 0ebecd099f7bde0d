/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock that changes only when the test moves it. A test program that links clock.o gets these
 * timers and this clock in place of those of base/loop/timer.c; descriptors, signals and posts are
 * the real ones. */
#ifndef BASE_LOOP_TEST_CLOCK_H
#define BASE_LOOP_TEST_CLOCK_H

#include "base/loop/loop.h"

#include <stdbool.h>

/* Runs what is ready now, without waiting. */
void clock_turn(struct loop *loop);
/* Moves the clock; timers that become due run in their order, each at its time and with what is
 * ready then. */
void clock_run_for(struct loop *loop, uint64_t ms);
/* Moves the clock by a millisecond a turn until a callback has set *done. Only for tests in which
 * every event comes from this process: between two turns, another one has had no time. */
void clock_run_until(struct loop *loop, const bool *done);

#endif
