/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures a shrink in a DVM of many daemons in this process: hops until it is complete and until
 * the last target is parked, frames, and CPU time per daemon. A frame takes one tick, which is one
 * hop. The CPU time is that of the daemons' calls alone. Usage: xcast [MOST [RADIX]] */
#include "bench/figures.h"
#include "dvm/protocol/core/core.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#define PORT 7400
#define HOST "x-%u.x-members"
#define BOOT_TICKS 4000000u

struct side {        /* one end of a connection */
    uint64_t key[2]; /* vpid, connection */
    uint32_t peer;
    uint64_t peer_conn;
    UT_hash_handle hh;
};

enum kind { OPEN_IN, OPEN_OUT, FRAME, CLOSED };

struct ev {
    enum kind kind;
    uint32_t vpid;
    uint64_t conn;
    struct buf data;
    struct ev *next, *prev;
};

struct node {
    struct core *core;
    double cpu_ms;
    uint64_t frames;
    uint64_t due; /* as of its last input */
    bool parked;
};

struct net {
    uint32_t n;
    struct node *nodes;
    struct side *sides;
    struct ev *now_list, *next_list;
    uint64_t now, conns, frames;
    uint32_t parked;
    uint64_t last_parked;
};

static struct side *side_of(struct net *t, uint32_t vpid, uint64_t conn)
{
    uint64_t key[2] = {vpid, conn};
    struct side *s;

    HASH_FIND(hh, t->sides, key, sizeof(key), s);
    return s;
}

static void side_add(struct net *t, uint32_t vpid, uint64_t conn, uint32_t peer, uint64_t peer_conn)
{
    struct side *s = calloc(1, sizeof(*s));

    if (!s)
        abort();
    s->key[0] = vpid;
    s->key[1] = conn;
    s->peer = peer;
    s->peer_conn = peer_conn;
    HASH_ADD(hh, t->sides, key, sizeof(s->key), s);
}

static void side_free(struct net *t, struct side *s)
{
    HASH_DEL(t->sides, s);
    free(s);
}

static struct ev *post(struct net *t, enum kind kind, uint32_t vpid, uint64_t conn)
{
    struct ev *e = calloc(1, sizeof(*e));

    if (!e)
        abort();
    e->kind = kind;
    e->vpid = vpid;
    e->conn = conn;
    DL_APPEND(t->next_list, e);
    return e;
}

static void connect_to(struct net *t, uint32_t vpid, const struct out_connect *a)
{
    uint32_t peer = (uint32_t)strtoul(a->ways[0].host + strlen("x-"), NULL, 10); /* HOST */

    side_add(t, vpid, a->conn, peer, ++t->conns);
    side_add(t, peer, t->conns, vpid, a->conn);
    post(t, OPEN_IN, peer, t->conns);
    post(t, OPEN_OUT, vpid, a->conn);
}

static void act(struct net *t, uint32_t vpid, struct out_act *a)
{
    struct side *s = a->kind == OUT_SEND    ? side_of(t, vpid, a->send.conn)
                     : a->kind == OUT_CLOSE ? side_of(t, vpid, a->close.conn)
                                            : NULL;

    switch (a->kind) {
    case OUT_CONNECT:
        connect_to(t, vpid, &a->connect);
        break;
    case OUT_SEND:
        if (s) {
            struct ev *e = post(t, FRAME, s->peer, s->peer_conn);

            e->data = a->send.frame;
            memset(&a->send.frame, 0, sizeof(a->send.frame));
            t->frames++;
        }
        break;
    case OUT_CLOSE:
        if (s) {
            post(t, CLOSED, s->peer, s->peer_conn);
            side_free(t, s);
        }
        break;
    case OUT_PARK:
        t->nodes[vpid].parked = true;
        t->parked++;
        t->last_parked = t->now;
        break;
    default:
        break;
    }
}

static void drain(struct net *t, uint32_t vpid)
{
    struct node *n = &t->nodes[vpid];
    struct out_act a;

    while (core_next(n->core, &a)) {
        act(t, vpid, &a);
        out_act_free(&a);
    }
    n->due = core_deadline(n->core);
}

static void deliver(struct net *t, struct ev *e)
{
    struct node *n = &t->nodes[e->vpid];
    struct side *s = side_of(t, e->vpid, e->conn);
    double start = cpu_ms();

    if (!s)
        return; /* closed by this side meanwhile */
    core_time(n->core, t->now, t->now);
    if (e->kind == FRAME) {
        n->frames++;
        core_conn_frame(n->core, e->conn, e->data.data, e->data.len);
    } else if (e->kind == CLOSED) {
        side_free(t, s);
        core_conn_closed(n->core, e->conn, "closed");
    } else {
        core_conn_open(n->core, e->conn,
                       &(struct core_conn){.incoming = e->kind == OPEN_IN,
                                           .role = s->peer ? API_ROLE_MEMBER : API_ROLE_HEAD,
                                           .cluster = "bench"});
    }
    n->cpu_ms += cpu_ms() - start;
    drain(t, e->vpid);
}

static void ticks(struct net *t)
{
    for (uint32_t v = 0; v < t->n; v++) {
        struct node *n = &t->nodes[v];
        double start;

        if (n->due > t->now)
            continue;
        start = cpu_ms();
        core_time(n->core, t->now, t->now);
        core_tick(n->core);
        n->cpu_ms += cpu_ms() - start;
        drain(t, v);
    }
}

/* One hop of virtual time; if `jump` and nothing is on its way, up to the next deadline. */
static void turn(struct net *t, bool jump)
{
    uint64_t next = UINT64_MAX;
    struct ev *e, *tmp;

    t->now++;
    for (uint32_t v = 0; jump && !t->next_list && v < t->n; v++)
        next = t->nodes[v].due < next ? t->nodes[v].due : next;
    if (next > t->now && next != UINT64_MAX)
        t->now = next;
    t->now_list = t->next_list;
    t->next_list = NULL;
    DL_FOREACH_SAFE(t->now_list, e, tmp)
    {
        DL_DELETE(t->now_list, e);
        deliver(t, e);
        buf_free(&e->data);
        free(e);
    }
    ticks(t);
}

static struct net *boot(uint32_t members, uint32_t radix)
{
    struct net *t = calloc(1, sizeof(*t));
    char host[32];
    struct core_opts o = {.cluster = "bench",
                          .address = host,
                          .host = host,
                          .head_host = "x-0.x-members",
                          .head_port = PORT,
                          .join_port = PORT,
                          .incarnation = 1,
                          .radix = radix,
                          .size = members,
                          .drain_s = -1,
                          .park = true,
                          .ack_ms = 100000000}; /* hops, not milliseconds: no heartbeats */

    if (!t || !(t->nodes = calloc(members + 1, sizeof(*t->nodes))))
        abort();
    t->n = members + 1;
    t->now = 1000;
    for (o.vpid = 0; o.vpid <= members; o.vpid++) {
        snprintf(host, sizeof(host), HOST, o.vpid);
        o.slots = o.vpid ? 1 : 0;
        t->nodes[o.vpid].core = core_create(&o, t->now, t->now);
        drain(t, o.vpid);
        o.incarnation = 0;
    }
    while (core_stats(t->nodes[0].core).live < t->n && t->now < BOOT_TICKS)
        turn(t, true);
    for (int i = 0; i < 400; i++) /* links find their places, what is owed is acknowledged */
        turn(t, false);
    return t;
}

static void halt(struct net *t)
{
    struct side *s, *tmp;
    struct ev *e, *etmp;

    for (uint32_t v = 0; v < t->n; v++)
        core_destroy(t->nodes[v].core);
    DL_FOREACH_SAFE(t->next_list, e, etmp)
    {
        buf_free(&e->data);
        free(e);
    }
    HASH_ITER(hh, t->sides, s, tmp)
    {
        side_free(t, s);
    }
    free(t->nodes);
    free(t);
    malloc_trim(0);
}

static int put(struct net *t, uint32_t k, struct err *err)
{
    uint32_t *targets = calloc(k, sizeof(*targets));
    struct api_campaign_request r = {
        .sequence = 1, .drain_mode = API_DRAIN_WAIT, .deadline_s = -1, .ntargets = k};
    struct api_campaign c;
    enum api_reason reason = API_REASON_NONE;
    double start = cpu_ms();
    int rc;

    for (uint32_t i = 0; targets && i < k; i++)
        targets[i] = t->n - k + i;
    r.targets = targets;
    core_time(t->nodes[0].core, t->now, t->now);
    rc = core_campaign_put(t->nodes[0].core, "shrink", &r, &c, &reason, err);
    t->nodes[0].cpu_ms += cpu_ms() - start;
    drain(t, 0);
    if (rc == 0)
        api_campaign_free(&c);
    else
        fprintf(stderr, "xcast: %s: %s\n", api_reason_word(reason), err->msg);
    free(targets);
    return rc;
}

static bool complete(struct net *t)
{
    struct core *head = t->nodes[0].core;

    for (uint64_t i = core_event_next(head); i-- > 1;) {
        const struct api_event *e = core_event(head, i);

        if (!e || e->type == API_EVENT_CAMPAIGN_COMPLETE)
            return e != NULL;
    }
    return false;
}

struct result {
    uint64_t to_complete, to_parked, frames, head_frames;
    double head_cpu_ms, daemon_cpu_ms, daemon_cpu_max_ms;
    double boot_ms, heap_mib;
};

static int shrink(uint32_t members, uint32_t k, uint32_t radix, struct result *res)
{
    double boot_start = now_ms();
    struct net *t = boot(members, radix);
    struct mallinfo2 mem = mallinfo2();
    struct err err = {0};
    double *cpu = calloc(members, sizeof(*cpu));
    uint64_t begun = t->now;

    memset(res, 0, sizeof(*res));
    res->boot_ms = now_ms() - boot_start;
    res->heap_mib = (double)(mem.uordblks + mem.hblkhd) / (1 << 20);
    for (uint32_t v = 0; v < t->n; v++) {
        t->nodes[v].cpu_ms = 0;
        t->nodes[v].frames = 0;
    }
    t->frames = 0;
    if (!cpu || core_stats(t->nodes[0].core).live != t->n || put(t, k, &err) < 0)
        return -1;
    while (t->now < begun + 100000 && !(res->to_complete && t->parked == k)) {
        turn(t, true);
        if (!res->to_complete && complete(t))
            res->to_complete = t->now - begun;
    }
    res->to_parked = t->parked == k ? t->last_parked - begun : 0;
    res->frames = t->frames;
    res->head_frames = t->nodes[0].frames;
    res->head_cpu_ms = t->nodes[0].cpu_ms;
    for (uint32_t v = 1; v < t->n; v++)
        cpu[v - 1] = t->nodes[v].cpu_ms;
    sort_doubles(cpu, members);
    res->daemon_cpu_ms = quantile(cpu, members, 0.5);
    res->daemon_cpu_max_ms = quantile(cpu, members, 0.99);
    free(cpu);
    halt(t);
    return 0;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {64, 1024, 16384};
    static const uint32_t radixes[] = {2, 64};
    uint32_t max = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1024; /* 16,384: 6.5 GB */
    uint32_t only = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;

    for (int i = 0; i < 6; i++) {
        uint32_t n = sizes[i / 2];
        uint32_t ks[] = {1, n / 2};

        if (only && radixes[i % 2] != only)
            continue;
        for (int j = 0; j < 2 && n <= max; j++) {
            struct result r;

            if (shrink(n, ks[j], radixes[i % 2], &r) < 0)
                return 1;
            printf("{\"bench\": \"xcast\", \"n\": %u, \"k\": %u, \"radix\": %u, "
                   "\"hops_to_complete\": %llu, \"hops_to_parked\": %llu, \"frames\": %llu, "
                   "\"head_frames\": %llu, "
                   "\"head_cpu_ms\": %.3f, \"daemon_cpu_us\": %.1f, \"daemon_cpu_p99_us\": %.1f, "
                   "\"boot_ms\": %.0f, \"heap_mib\": %.1f}\n",
                   n, ks[j], radixes[i % 2], (unsigned long long)r.to_complete,
                   (unsigned long long)r.to_parked, (unsigned long long)r.frames,
                   (unsigned long long)r.head_frames, r.head_cpu_ms, r.daemon_cpu_ms * 1e3,
                   r.daemon_cpu_max_ms * 1e3, r.boot_ms, r.heap_mib);
            fflush(stdout);
        }
    }
    return 0;
}
