/* SPDX-License-Identifier: BSD-3-Clause */
/* The core of a daemon, driven as dvm/host/daemon.c does, with connections and nothing else. */
#include "bench/link_node.h"

#include "base/buf/buf.h"

#include <stdio.h>
#include <stdlib.h>

#define HOST "127.0.0.1"

void bench_die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void enter_core(struct node *n)
{
    core_time(n->core, loop_now_ms(n->loop), loop_wall_ms());
}

static void carry_out(struct node *n, struct out_act *act)
{
    switch (act->kind) {
    case OUT_CONNECT:
        peers_connect(n->peers, &act->connect);
        break;
    case OUT_SEND:
        peers_send(n->peers, act->send.conn, act->send.frame.data, act->send.frame.len);
        break;
    case OUT_CLOSE:
        peers_close(n->peers, act->close.conn, act->close.flush);
        break;
    case OUT_APP:
        if (n->on_app)
            n->on_app(n, &act->app);
        break;
    case OUT_LOG:
        if (getenv("BENCH_LOG"))
            fprintf(stderr, "%s\n", act->log.text);
        break;
    default:
        break;
    }
}

static void drain_core(struct node *n)
{
    struct out_act act;
    uint64_t due, now;

    if (n->draining)
        return;
    n->draining = true;
    do {
        while (core_next(n->core, &act)) {
            carry_out(n, &act);
            out_act_free(&act);
        }
    } while (n->on_turn && n->on_turn(n));
    n->draining = false;
    due = core_deadline(n->core);
    now = loop_now_ms(n->loop);
    if (due == UINT64_MAX)
        loop_timer_disarm(n->timer);
    else
        loop_timer_arm(n->timer, due > now ? due - now : 0);
    loop_stop(n->loop);
}

static void on_due(void *arg)
{
    struct node *n = arg;

    enter_core(n);
    core_tick(n->core);
    drain_core(n);
}

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct node *n = arg;

    enter_core(n);
    peers_opened(n->peers, conn, incoming, peer);
    drain_core(n);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
    struct node *n = arg;

    enter_core(n);
    peers_frame(n->peers, conn, data, len);
    drain_core(n);
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct node *n = arg;

    enter_core(n);
    peers_closed(n->peers, conn, why);
    drain_core(n);
}

static void on_drained(uint64_t conn, void *arg)
{
}

static const struct net_upcalls upcalls = {
    .on_open = on_open, .on_frame = on_frame, .on_closed = on_closed, .on_drained = on_drained};

struct tls_ctx *node_tls(const char *pki, const char *name)
{
    FREE_AUTO char *ca = xasprintf("%s/ca.pem", pki);
    FREE_AUTO char *cert = xasprintf("%s/%s.pem", pki, name);
    FREE_AUTO char *key = xasprintf("%s/%s.key", pki, name);
    struct err err = {0};
    struct tls_ctx *t = tls_ctx_create(&(struct tls_files){ca, cert, key}, &err);

    if (!t)
        bench_die(err.msg);
    return t;
}

struct node *node_create(struct loop *loop, const char *pki, const char *name,
                         const struct node_opts *opts)
{
    struct node *n = xcalloc(1, sizeof(*n));
    struct core_opts o = {.vpid = opts->vpid,
                          .cluster = NODE_CLUSTER,
                          .host = name,
                          .address = HOST,
                          .head_host = HOST,
                          .head_port = opts->head_port,
                          .incarnation = opts->vpid ? 0 : 1,
                          .radix = 1024,
                          .size = opts->size,
                          .slots = opts->vpid ? 1 : 0,
                          .drain_s = -1,
                          .links = opts->links};
    struct err err = {0};

    n->loop = loop;
    n->tls = node_tls(pki, name);
    n->net = net_create(loop, n->tls, &upcalls, n, &err);
    if (!n->net || net_listen_tls(n->net, HOST, &n->port, &err) < 0)
        bench_die(err.msg);
    o.join_port = n->port;
    n->core = core_create(&o, loop_now_ms(loop), loop_wall_ms());
    n->peers = peers_create(n->loop, n->net, n->core);
    n->timer = loop_timer_create(loop, on_due, n);
    drain_core(n);
    return n;
}

void node_destroy(struct node *n)
{
    net_destroy(n->net);
    peers_destroy(n->peers);
    core_destroy(n->core);
    tls_ctx_destroy(n->tls);
    loop_timer_destroy(n->timer);
    free(n);
}

void node_send(struct node *n, uint32_t vpid, enum out_class traffic, uint32_t kind,
               const void *data, size_t len)
{
    struct err err = {0};

    enter_core(n);
    if (core_app_send(n->core, vpid, traffic, kind, data, len, &err) < 0)
        bench_die(err.msg);
    drain_core(n);
}

static void on_look(void *arg)
{
    loop_stop(arg);
}

void node_run(struct node *n, bool (*done)(struct node *n), uint64_t every_ms)
{
    struct loop_timer *look = loop_timer_create(n->loop, on_look, n->loop);
    struct err err = {0};

    while (!done(n)) {
        loop_timer_arm(look, every_ms);
        if (loop_run(n->loop, &err) < 0)
            bench_die(err.msg);
    }
    loop_timer_destroy(look);
}

size_t node_links_up(const struct node *n)
{
    struct core_stats s = core_stats(n->core);

    return (size_t)(s.links - s.links_out);
}
