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

/* Also ignores SIGPIPE in the whole process, since libraries write to sockets whose peers have
 * closed, and sends libevent's messages to base/log. A child process resets its signals itself
 * before it executes a program. */
struct loop *loop_create(struct err *err);
void loop_destroy(struct loop *loop); /* timers, descriptors and signals must be freed before */
int loop_run(struct loop *loop, struct err *err) __attribute__((warn_unused_result));
/* Makes loop_run() return after the callbacks that are due now. */
void loop_stop(struct loop *loop);

/* Milliseconds by the monotonic clock, which is read at each call, so a timer never fires before
 * loop_now_ms() reaches its time; and by the wall clock, since 1970. */
uint64_t loop_now_ms(struct loop *loop);
uint64_t loop_wall_ms(void);

/* A timer is created idle and fires once. Arming an armed timer moves it. */
struct loop_timer *loop_timer_create(struct loop *loop, void (*on_due)(void *arg), void *arg);
void loop_timer_arm(struct loop_timer *t, uint64_t delay_ms);
void loop_timer_disarm(struct loop_timer *t);
void loop_timer_destroy(struct loop_timer *t); /* NULL is fine; allowed inside on_due */

/* Level-triggered. `events` is 0, LOOP_READ, LOOP_WRITE or both. The caller keeps the
 * descriptor. */
struct loop_fd *loop_fd_create(struct loop *loop, int fd, int events,
                               void (*on_ready)(int fd, int events, void *arg), void *arg);
void loop_fd_set(struct loop_fd *f, int events);
/* Calls on_ready in this turn as if the descriptor were ready, once for any number of calls.
 * loop_fd_set() cancels it. */
void loop_fd_poke(struct loop_fd *f, int events);
void loop_fd_destroy(struct loop_fd *f); /* NULL is fine; allowed inside on_ready */

struct loop_signal *loop_signal_create(struct loop *loop, int signum,
                                       void (*on_signal)(int signum, void *arg), void *arg);
void loop_signal_destroy(struct loop_signal *s);

/* The only call that another thread may make: runs fn(arg) on the loop's thread, in the order of
 * the posts. A post from the loop's own thread is run in the next turn. loop_destroy() runs the
 * posts that are still queued, so their memory is freed. */
void loop_post(struct loop *loop, void (*fn)(void *arg), void *arg);

/* For modules only that drive a library with events of its own: base/httpd, dvm/host/net,
 * operator/kube. */
struct event_base *loop_base(struct loop *loop);

#endif
