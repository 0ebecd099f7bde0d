/* SPDX-License-Identifier: BSD-3-Clause */
/* The event loop over libevent: one thread runs it, any thread may post to it.
 *
 * Input: timers that are due, descriptors that are ready, signals, and posts from other threads.
 * Output: one callback for each, on the thread of loop_run().
 *
 * A post is appended to a list under the lock; the first one of a turn writes to an eventfd, which
 * wakes the loop. The loop takes the whole list and runs it, in order, without the lock.
 *
 * Invariants: a callback may destroy the timer, watch or signal that it belongs to; posts of one
 * thread run in their order; a post from a callback runs in the next turn.
 *
 * Failures: a descriptor or signal that libevent cannot watch is logged, and its callback is not
 * called. When memory runs out the program ends with one line. */
#include "base/loop/loop.h"

#include "base/buf/buf.h"
#include "base/log/log.h"
#include "base/loop/loop_private.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct post {
    struct post *next;
    void (*fn)(void *arg);
    void *arg;
};

struct loop {
    struct event_base *base;
    struct event *wake;
    int wake_fd;
    bool stopping;
    pthread_mutex_t lock; /* guards the posts */
    struct post *posts;
    struct post **posts_tail;
};

struct loop_fd {
    struct event_base *base;
    struct event *ev;
    int fd;
    void (*on_ready)(int fd, int events, void *arg);
    void *arg;
};

struct loop_signal {
    struct event *ev;
    void (*on_signal)(int signum, void *arg);
    void *arg;
};

static void on_libevent_log(int severity, const char *msg)
{
    if (severity >= EVENT_LOG_WARN)
        log_warn("libevent: %s", msg);
    else
        log_debug("libevent: %s", msg);
}

/* libevent reports lack of memory and broken invariants here: the program logs one line and
 * ends. */
void loop_fatal(int code)
{
    log_error("libevent has failed, the program ends code=%d", code);
    _exit(EXIT_FAILURE);
}

struct event *loop_must_event(struct event *ev)
{
    if (!ev)
        loop_fatal(ENOMEM);
    return ev;
}

static struct event_base *create_base(void)
{
    struct event_config *cfg = event_config_new();
    struct event_base *base;

    if (!cfg)
        return NULL;
    /* NO_CACHE_TIME: a timer counts from the call that arms it and never fires early by
     * loop_now_ms(). EPOLL_USE_CHANGELIST: a watch that is set and removed within one turn costs no
     * system call. */
    event_config_set_flag(cfg, EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_PRECISE_TIMER |
                                   EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
    base = event_base_new_with_config(cfg);
    event_config_free(cfg);
    return base;
}

static struct post *take_posts(struct loop *loop)
{
    struct post *list;

    pthread_mutex_lock(&loop->lock);
    list = loop->posts;
    loop->posts = NULL;
    loop->posts_tail = &loop->posts;
    pthread_mutex_unlock(&loop->lock);
    return list;
}

static void run_posts(struct post *list)
{
    while (list) {
        struct post *p = list;

        list = p->next;
        p->fn(p->arg);
        free(p);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    uint64_t count;

    /* The list is taken after the counter, so a post in between may wake the loop once too
     * often. */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_error("the loop's wake-up descriptor cannot be read errno=%d", errno);
    run_posts(take_posts(arg));
}

struct loop *loop_create(struct err *err)
{
    struct loop *loop = xcalloc(1, sizeof(*loop));

    event_set_log_callback(on_libevent_log);
    event_set_fatal_callback(loop_fatal);
    signal(SIGPIPE, SIG_IGN);
    pthread_mutex_init(&loop->lock, NULL);
    loop->posts_tail = &loop->posts;
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake_fd < 0) {
        err_sys(err, errno, "creating the event loop: eventfd");
        goto error;
    }
    loop->base = create_base();
    if (!loop->base) {
        err_set(err, "creating the event loop: libevent has no base");
        goto error;
    }
    loop->wake =
        loop_must_event(event_new(loop->base, loop->wake_fd, EV_READ | EV_PERSIST, on_wake, loop));
    if (event_add(loop->wake, NULL) < 0) {
        err_set(err, "creating the event loop: cannot watch the wake-up descriptor");
        goto error;
    }
    return loop;
error:
    loop_destroy(loop);
    return NULL;
}

void loop_destroy(struct loop *loop)
{
    struct post *list;

    if (!loop)
        return;
    while ((list = take_posts(loop)))
        run_posts(list);
    if (loop->wake)
        event_free(loop->wake);
    if (loop->base)
        event_base_free(loop->base);
    if (loop->wake_fd >= 0)
        close(loop->wake_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

int loop_run(struct loop *loop, struct err *err)
{
    int rc = event_base_dispatch(loop->base);

    loop->stopping = false;
    return rc < 0 ? err_set(err, "running the event loop: libevent failed") : 0;
}

void loop_stop(struct loop *loop)
{
    /* Each loopexit leaves a one-shot timer; a second one would end the next run. */
    if (loop->stopping)
        return;
    loop->stopping = true;
    event_base_loopexit(loop->base, NULL);
}

uint64_t loop_wall_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

struct event_base *loop_base(struct loop *loop)
{
    return loop->base;
}

void loop_post(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    static const uint64_t one = 1;
    struct post *p = xcalloc(1, sizeof(*p));
    bool first;

    p->fn = fn;
    p->arg = arg;
    pthread_mutex_lock(&loop->lock);
    first = !loop->posts; /* only the first post wakes the loop, which then takes all */
    *loop->posts_tail = p;
    loop->posts_tail = &p->next;
    pthread_mutex_unlock(&loop->lock);
    /* EAGAIN: the counter is full, so the loop will wake anyway */
    if (first && write(loop->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
        log_error("the loop cannot be woken errno=%d", errno);
}

static void on_fd(evutil_socket_t fd, short what, void *arg)
{
    const struct loop_fd *f = arg;

    f->on_ready(fd, (what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0), f->arg);
}

void loop_fd_set(struct loop_fd *f, int events)
{
    short what = EV_PERSIST;

    event_del(f->ev);
    if (!events)
        return;
    if (events & LOOP_READ)
        what |= EV_READ;
    if (events & LOOP_WRITE)
        what |= EV_WRITE;
    event_assign(f->ev, f->base, f->fd, what, on_fd, f);
    if (event_add(f->ev, NULL) < 0)
        log_error("a descriptor cannot be watched fd=%d errno=%d", f->fd, errno);
}

void loop_fd_poke(struct loop_fd *f, int events)
{
    event_active(f->ev, (events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0),
                 0);
}

struct loop_fd *loop_fd_create(struct loop *loop, int fd, int events,
                               void (*on_ready)(int fd, int events, void *arg), void *arg)
{
    struct loop_fd *f = xcalloc(1, sizeof(*f));

    f->base = loop->base;
    f->fd = fd;
    f->on_ready = on_ready;
    f->arg = arg;
    f->ev = loop_must_event(event_new(loop->base, fd, EV_READ | EV_PERSIST, on_fd, f));
    loop_fd_set(f, events);
    return f;
}

void loop_fd_destroy(struct loop_fd *f)
{
    if (!f)
        return;
    event_free(f->ev);
    free(f);
}

static void on_sig(evutil_socket_t signum, short what, void *arg)
{
    const struct loop_signal *s = arg;

    s->on_signal(signum, s->arg);
}

struct loop_signal *loop_signal_create(struct loop *loop, int signum,
                                       void (*on_signal)(int signum, void *arg), void *arg)
{
    struct loop_signal *s = xcalloc(1, sizeof(*s));

    s->on_signal = on_signal;
    s->arg = arg;
    s->ev = loop_must_event(evsignal_new(loop->base, signum, on_sig, s));
    if (event_add(s->ev, NULL) < 0)
        log_error("a signal cannot be watched signal=%d errno=%d", signum, errno);
    return s;
}

void loop_signal_destroy(struct loop_signal *s)
{
    if (!s)
        return;
    event_free(s->ev);
    free(s);
}
