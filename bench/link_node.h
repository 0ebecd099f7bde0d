/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon without ranks, for the bench of links: the real core and its real connections, over
 * sockets of the loopback interface. */
#ifndef BENCH_LINK_NODE_H
#define BENCH_LINK_NODE_H

#include "dvm/host/net/net.h"
#include "dvm/host/services/peers.h"
#include "dvm/protocol/core/core.h"

#define NODE_CLUSTER "bench"

struct node {
    struct loop *loop;
    struct tls_ctx *tls;
    struct net *net;
    struct core *core;
    struct peers *peers;
    struct loop_timer *timer;
    uint16_t port; /* at which it listens */
    bool draining;
    /* A message of another daemon; the end of each input (true: it has sent something). Both may
     * call node_send(). */
    void (*on_app)(struct node *n, const struct out_app *m);
    bool (*on_turn)(struct node *n);
    void *arg;
};

struct node_opts {
    uint32_t vpid; /* 0: the head */
    uint32_t size; /* head: so many members may join */
    uint16_t head_port;
    uint32_t links;
};

/* Its certificate is `name` of the directory `pki`. Takes no other object; ends the program on
 * errors. */
struct node *node_create(struct loop *loop, const char *pki, const char *name,
                         const struct node_opts *opts);
void node_destroy(struct node *n);
void node_send(struct node *n, uint32_t vpid, enum out_class traffic, uint32_t kind,
               const void *data, size_t len);
/* Runs the loop until `done` is true, which is looked at after each input and each `every_ms`. */
void node_run(struct node *n, bool (*done)(struct node *n), uint64_t every_ms);
size_t node_links_up(const struct node *n);
struct tls_ctx *node_tls(const char *pki, const char *name);
void bench_die(const char *what) __attribute__((noreturn));

#endif
