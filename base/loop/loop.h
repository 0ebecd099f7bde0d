/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop: timers, descriptors, signals, and work posted from other threads. */
#ifndef BASE_LOOP_LOOP_H
#define BASE_LOOP_LOOP_H

#include "base/err/err.h"

#include <stdint.h>

struct event_base;
struct loop;
struct loop_timer;
struct loop_fd;
struct loop_signal;

#define LOOP_READ 1
#define LOOP_WRITE 2

/* Also ignores SIGPIPE for the whole process (libraries write to sockets whose peers are gone) and
 * sends libevent's own messages to base/log. A child that is to be executed resets its signals
 * itself. */
struct loop *loop_create(struct err *err);
void loop_destroy(struct loop *loop); /* timers, fds and signals must be freed before */
int loop_run(struct loop *loop, struct err *err) __attribute__((warn_unused_result));
/* Makes loop_run() return after the callbacks that are due now. */
void loop_stop(struct loop *loop);

/* Monotonic milliseconds, read from the clock at each call (a timer is never due before
 * loop_now_ms() says so), and wall clock milliseconds since 1970. */
uint64_t loop_now_ms(struct loop *loop);
uint64_t loop_wall_ms(void);

/* A timer is created idle; arming an armed one moves it. One shot. */
struct loop_timer *loop_timer_create(struct loop *loop, void (*on_due)(void *arg), void *arg);
void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms);
void loop_timer_disarm(struct loop_timer *t);
void loop_timer_destroy(struct loop_timer *t); /* NULL is fine; allowed inside on_due */

/* Level-triggered. `events` is 0, LOOP_READ, LOOP_WRITE or both. The descriptor stays the caller's.
 */
struct loop_fd *loop_fd_create(struct loop *loop, int fd, int events,
                               void (*on_ready)(int fd, int events, void *arg), void *arg);
void loop_fd_set(struct loop_fd *f, int events);
/* on_ready is called on this turn as if the descriptor were ready, which it need not be; once,
 * however often it is asked for until then. loop_fd_set() takes it back. */
void loop_fd_poke(struct loop_fd *f, int events);
void loop_fd_destroy(struct loop_fd *f); /* NULL is fine; allowed inside on_ready */

struct loop_signal *loop_signal_create(struct loop *loop, int signum,
                                       void (*on_signal)(int signum, void *arg), void *arg);
void loop_signal_destroy(struct loop_signal *s);

/* The only call that may be made from another thread: runs fn(arg) on the loop's thread, in the
 * order of the posts. Posting from the loop's own thread is allowed and defers to the next turn.
 * What is still queued when the loop is destroyed is run by loop_destroy(), so nothing leaks. */
void loop_post(struct loop *loop, void (*fn)(void *arg), void *arg);

/* For base/httpd, dvm/host/net and operator/kube only, which drive libraries that bring their own
 * events. */
struct event_base *loop_base(struct loop *loop);

#endif
