/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: a loop with a server and a client on it, and the upcalls that they have received. */
#ifndef DVM_NET_TEST_NET_FIXTURE_H
#define DVM_NET_TEST_NET_FIXTURE_H

#include "base/buf/buf.h"
#include "dvm/host/net/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define DEADLINE_MS 60000

/* One end, and the last upcalls that it has received. */
struct end {
    struct net *net;
    struct loop *loop;
    const bool *in_call;
    int opened, frames, closed, drained;
    uint64_t conn; /* of the last on_open */
    bool incoming;
    bool has_peer;
    struct tls_peer peer;
    size_t bytes;
    struct buf data; /* up to 1 MiB of all frames, one behind the other */
    char why[600];
    void (*on_frame)(struct end *e, uint64_t conn); /* called by the test within the upcall */
    bool echo;
};

struct fix {
    struct loop *loop;
    struct loop_timer *deadline;
    struct loop_timer *tick;
    bool ticked;
    bool in_call;
    int done;
    struct end srv;
    struct end cli;
    char dir[64];
    char path[96];
};

/* Wraps a call, so that an upcall from within it is seen. */
#define CALL(f, call)                                                                              \
    do {                                                                                           \
        (f)->in_call = true;                                                                       \
        call;                                                                                      \
        (f)->in_call = false;                                                                      \
    } while (0)

static inline void fix_told(struct end *e)
{
    assert_false(*e->in_call);
    loop_stop(e->loop);
}

static inline void fix_on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct end *e = arg;

    fix_told(e);
    e->opened++;
    e->conn = conn;
    e->incoming = incoming;
    e->has_peer = peer != NULL;
    if (peer)
        e->peer = *peer;
}

static inline void fix_on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct end *e = arg;

    fix_told(e);
    assert_non_null(data);
    e->frames++;
    e->bytes += len;
    if (e->data.len + len <= e->data.max)
        buf_put_raw(&e->data, data, len);
    if (e->echo)
        net_send(e->net, conn, data, len);
    if (e->on_frame)
        e->on_frame(e, conn);
    if (len) /* still valid memory, whatever the test has closed */
        assert_true(data[0] == data[0] && data[len - 1] == data[len - 1]);
}

static inline void fix_on_closed(uint64_t conn, const char *why, void *arg)
{
    struct end *e = arg;

    fix_told(e);
    e->closed++;
    snprintf(e->why, sizeof(e->why), "%s", why);
}

static inline void fix_on_drained(uint64_t conn, void *arg)
{
    struct end *e = arg;

    fix_told(e);
    e->drained++;
}

static inline void fix_on_deadline(void *arg)
{
    fprintf(stderr, "a test did not end in time\n");
    abort();
}

static inline void fix_on_tick(void *arg)
{
    struct fix *f = arg;

    f->ticked = true;
    loop_stop(f->loop);
}

static inline void fix_end_init(struct fix *f, struct end *e, struct tls_ctx *tls)
{
    static const struct net_upcalls up = {fix_on_open, fix_on_frame, fix_on_closed, fix_on_drained};
    struct err err = {0};

    e->loop = f->loop;
    e->in_call = &f->in_call;
    buf_init(&e->data, 1u << 20);
    e->net = net_create(f->loop, tls, &up, e, &err);
    assert_non_null(e->net);
}

static inline void fix_init(struct fix *f, struct tls_ctx *srv_tls, struct tls_ctx *cli_tls)
{
    memset(f, 0, sizeof(*f));
    f->loop = loop_create(NULL);
    assert_non_null(f->loop);
    f->deadline = loop_timer_create(f->loop, fix_on_deadline, f);
    f->tick = loop_timer_create(f->loop, fix_on_tick, f);
    loop_timer_arm(f->deadline, DEADLINE_MS);
    snprintf(f->dir, sizeof(f->dir), "/tmp/test_net.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
    fix_end_init(f, &f->srv, srv_tls);
    fix_end_init(f, &f->cli, cli_tls);
}

static inline void fix_run_for(struct fix *f, uint64_t ms)
{
    f->ticked = false;
    loop_timer_arm(f->tick, ms);
    while (!f->ticked)
        assert_int_equal(loop_run(f->loop, NULL), 0);
}

static inline void fix_fini(struct fix *f)
{
    net_destroy(f->cli.net);
    net_destroy(f->srv.net);
    buf_free(&f->cli.data);
    buf_free(&f->srv.data);
    loop_timer_destroy(f->deadline);
    loop_timer_destroy(f->tick);
    loop_destroy(f->loop);
    rmdir(f->dir);
}

#define RUN_UNTIL(f, cond)                                                                         \
    while (!(cond))                                                                                \
    assert_int_equal(loop_run((f)->loop, NULL), 0)

#endif
