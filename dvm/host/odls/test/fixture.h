/* SPDX-License-Identifier: BSD-3-Clause */
/* The tests of odls: counts the upcalls, with a real spawner and real programs. */
#ifndef DVM_ODLS_TEST_FIXTURE_H
#define DVM_ODLS_TEST_FIXTURE_H

#include "base/buf/buf.h"
#include "dvm/host/odls/odls.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/test/under_spawner.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#define NS "1.1"
#define LINGER_MS 100
#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};

/* The daemon of a test: counts its upcalls, and keeps the last one of each kind. */
struct t {
    struct loop *loop;
    struct odls *o;
    struct loop_timer *deadline;
    struct loop_timer *tick;
    bool in_call;
    bool ticked;
    int started, failed, exited, ends, rooms, lost, ready;
    uint64_t cleaned;
    pid_t pid;
    int errnum;
    int status;
    char what[1100];
    struct buf out;
    size_t out_bytes;
    void (*on_data)(struct t *t, const char *data, size_t len); /* instead of `out` */
    uint64_t number;                                            /* what a test's on_data counts */
    uint64_t next;
    unsigned left_open; /* streams, a bit for each */
};

/* Wraps a call, so that an upcall from within it is seen. */
#define CALL(t, call)                                                                              \
    do {                                                                                           \
        (t)->in_call = true;                                                                       \
        call;                                                                                      \
        (t)->in_call = false;                                                                      \
    } while (0)

static inline void told(struct t *t)
{
    CHECK(!t->in_call);
    loop_stop(t->loop);
}

static inline void on_started(const char *nspace, uint32_t rank, pid_t pid, void *arg)
{
    struct t *t = arg;

    told(t);
    t->started++;
    t->pid = pid;
}

static inline void on_failed(const char *nspace, uint32_t rank, int errnum, const char *what,
                             void *arg)
{
    struct t *t = arg;

    told(t);
    t->failed++;
    t->errnum = errnum;
    snprintf(t->what, sizeof(t->what), "%s", what);
}

static inline void on_output(const char *nspace, uint32_t rank, int stream, const void *data,
                             size_t len, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(strcmp(nspace, NS) == 0);
    CHECK(len <= 65536);
    if (!len) {
        t->ends++;
        return;
    }
    t->out_bytes += len;
    if (t->on_data)
        t->on_data(t, data, len);
    else
        buf_put_raw(&t->out, data, len);
}

static inline void on_exited(const char *nspace, uint32_t rank, int wait_status, void *arg)
{
    struct t *t = arg;

    told(t);
    t->exited++;
    t->status = wait_status;
}

static inline void on_stdin_room(const char *nspace, uint32_t rank, void *arg)
{
    struct t *t = arg;

    told(t);
    t->rooms++;
}

static inline void on_cleaned(uint64_t scope, int errnum, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(errnum == 0);
    t->cleaned = scope;
}

static inline void on_spawner_lost(const char *why, void *arg)
{
    struct t *t = arg;

    told(t);
    t->lost++;
}

static inline void on_left_open(const char *nspace, uint32_t rank, int stream, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(t->ends < 2);
    t->left_open |= 1u << stream;
}

static inline void on_deadline(void *arg)
{
    CHECK(!"in time");
}

static inline void on_tick(void *arg)
{
    struct t *t = arg;

    t->ticked = true;
    loop_stop(t->loop);
}

static inline void on_held(const char *nspace, uint32_t rank, bool held, void *arg)
{
    CHECK(!"asked for"); /* dvm/test/hold.bats has ranks that are */
}

static inline void on_ready(const char *nspace, uint32_t rank, void *arg)
{
    struct t *t = arg;

    told(t);
    CHECK(!t->started && !t->exited);
    t->ready++;
}

static const struct odls_upcalls upcalls = {
    on_started,    on_failed,  on_output,       on_held,      on_exited,
    on_stdin_room, on_cleaned, on_spawner_lost, on_left_open, on_ready};

static inline void set_up_with(struct t *t, const struct spawner_handle *spawner,
                               uint64_t silent_ms)
{
    struct err err = {0};

    *t = (struct t){0};
    buf_init(&t->out, 16u << 20);
    t->loop = loop_create(&err);
    CHECK(t->loop);
    t->deadline = loop_timer_create(t->loop, on_deadline, t);
    t->tick = loop_timer_create(t->loop, on_tick, t);
    loop_timer_arm(t->deadline, 60000);
    t->o = odls_create(t->loop, spawner, &(struct odls_times){silent_ms, LINGER_MS, 0}, &upcalls, t,
                       &err);
    CHECK(t->o);
}

static inline void set_up(struct t *t, int sock)
{
    set_up_with(t, &(struct spawner_handle){.sock = sock, .pid = getppid()}, 60000);
}

static inline int tear_down(struct t *t)
{
    odls_destroy(t->o);
    loop_timer_destroy(t->deadline);
    loop_timer_destroy(t->tick);
    loop_destroy(t->loop);
    buf_free(&t->out);
    return 0;
}

static inline void run_until(struct t *t, bool (*cond)(const struct t *t))
{
    while (!cond(t))
        CHECK(loop_run(t->loop, NULL) == 0);
}

/* Turns the loop for some time, in which something must not happen. */
static inline void run_for(struct t *t, uint64_t ms)
{
    t->ticked = false;
    loop_timer_arm(t->tick, ms);
    while (!t->ticked)
        CHECK(loop_run(t->loop, NULL) == 0);
}

static inline bool one_over(const struct t *t)
{
    return t->exited == 1 && t->ends == 2;
}

static inline bool one_failed(const struct t *t)
{
    return t->failed == 1;
}

static inline bool one_exited(const struct t *t)
{
    return t->exited == 1;
}

static inline bool has_output(const struct t *t)
{
    return t->out_bytes > 0;
}

static inline struct odls_rank rank_of(const char *const *argv)
{
    return (struct odls_rank){.argv = argv, .env = plain_env, .cwd = "/"};
}

static inline void start(struct t *t, const struct odls_rank *r)
{
    struct err err = {0};
    int rc;

    CALL(t, rc = odls_start(t->o, NS, r, 1, &err));
    if (rc < 0)
        fprintf(stderr, "%s\n", err.msg);
    CHECK(rc == 0);
}

static inline void start_sh(struct t *t, const char *script, bool want_stdin)
{
    struct odls_rank r = rank_of(SH(script));

    r.want_stdin = want_stdin;
    start(t, &r);
}

static inline bool out_is(struct t *t, const char *text)
{
    return t->out.len == strlen(text) && memcmp(t->out.data, text, t->out.len) == 0;
}

#endif
