/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of the simulator, and the interfaces over which they go. Each end finds its
 * connection by its number in the life of its daemon.
 *
 * Network i joins the interfaces i of all daemons. A call names the ways to a daemon in their
 * order, and takes the first one whose two interfaces work (dvm/host/services/peers.c): one that
 * refuses costs nothing, one that hangs HANG_MS. A call that no way answers hangs for ever; the
 * core's own limit ends it. */
#include "dvm/sim/sim_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define ADDRESS "wire" /* of interface 0; a digit follows for the others */
#define HANG_MS 250
#define HASTY_CALLS 10 /* more than the back-off permits */
#define HASTY_MS 1000

const char *const sim_more_addresses[OUT_WAYS_MAX - 1] = {ADDRESS "1", ADDRESS "2", ADDRESS "3"};

/* With two connections of one key, frames would go to the wrong one. */
static void end_if_known(const struct wire *w, const struct wire_key *key)
{
    if (!w)
        return;
    fprintf(stderr, "sim: vpid %llu has two connections %llu in life %llu\n",
            (unsigned long long)key->vpid, (unsigned long long)key->conn,
            (unsigned long long)key->life);
    abort();
}

static void add_wire(struct sim *s, struct wire *w)
{
    struct wire *same;

    DL_APPEND(s->wires, w);
    w->key_a = (struct wire_key){w->a_conn, w->a, s->nodes[w->a].life};
    w->key_b = (struct wire_key){w->b_conn, w->b, s->nodes[w->b].life};
    HASH_FIND(hh_a, s->by_a, &w->key_a, sizeof(w->key_a), same);
    end_if_known(same, &w->key_a);
    HASH_FIND(hh_b, s->by_b, &w->key_b, sizeof(w->key_b), same);
    end_if_known(same, &w->key_b);
    HASH_ADD(hh_a, s->by_a, key_a, sizeof(w->key_a), w);
    HASH_ADD(hh_b, s->by_b, key_b, sizeof(w->key_b), w);
}

void sim_wire_free(struct sim *s, struct wire *w)
{
    DL_DELETE(s->wires, w);
    HASH_DELETE(hh_a, s->by_a, w);
    HASH_DELETE(hh_b, s->by_b, w);
    free(w);
}

struct wire *sim_wire_of(struct sim *s, uint32_t vpid, uint64_t conn)
{
    struct wire_key key = {conn, vpid, s->nodes[vpid].life};
    struct wire *w;

    HASH_FIND(hh_a, s->by_a, &key, sizeof(key), w);
    if (w)
        return w->open_a ? w : NULL;
    HASH_FIND(hh_b, s->by_b, &key, sizeof(key), w);
    return w && w->open_b ? w : NULL;
}

void sim_wire_break(struct sim *s, struct wire *w)
{
    if (w->open_a)
        sim_schedule(s, s->now, EV_CLOSED, w->a, w->a_conn);
    if (w->open_b)
        sim_schedule(s, s->now, EV_CLOSED, w->b, w->b_conn);
    sim_wire_free(s, w);
}

/* --- interfaces */

const char *sim_address(size_t net)
{
    return net ? sim_more_addresses[net - 1] : ADDRESS;
}

size_t sim_naddresses(const struct sim *s)
{
    return s->opts.addresses ? s->opts.addresses : 1;
}

void sim_set_interface(struct sim *s, uint32_t vpid, size_t i, enum sim_interface how)
{
    struct wire *w, *tmp;

    s->nodes[vpid].interfaces[i] = how;
    DL_FOREACH_SAFE(s->wires, w, tmp)
    {
        if ((w->a != vpid && w->b != vpid) || w->net != i)
            continue;
        if (how == SIM_INTERFACE_REFUSES)
            sim_wire_break(s, w);
        else if (how == SIM_INTERFACE_HANGS)
            w->mute_a = w->mute_b = true;
        else
            w->slow = how == SIM_INTERFACE_SLOW ? SIM_SLOWEST_FACTOR : 1;
    }
}

static size_t find_net(const struct out_way *w)
{
    char digit = w->host[strlen(ADDRESS)];

    return digit ? (size_t)(digit - '0') : 0;
}

static enum sim_interface see_way(const struct sim *s, uint32_t vpid, uint32_t to,
                                  const struct out_way *w)
{
    enum sim_interface here = s->nodes[vpid].interfaces[find_net(w)];

    return here != SIM_INTERFACE_UP ? here : s->nodes[to].interfaces[find_net(w)];
}

/* A call by one address alone is a further link to a daemon that has others. */
static void note_refusal(struct sim *s, uint32_t vpid, uint32_t to, const struct out_connect *act)
{
    struct sim_call *x = &s->nodes[vpid].calls[act->ways[0].index];

    if (act->nways != 1 || sim_naddresses(s) == 1)
        return;
    if (x->to != to || x->since_ms + HASTY_MS < s->now)
        *x = (struct sim_call){.to = to, .since_ms = s->now};
    x->n++;
}

const struct sim_call *sim_hasty_call(const struct sim *s, uint32_t vpid)
{
    for (size_t i = 0; i < OUT_WAYS_MAX; i++) {
        if (s->nodes[vpid].calls[i].n >= HASTY_CALLS)
            return &s->nodes[vpid].calls[i];
    }
    return NULL;
}

/* --- calls */

/* Every other process has the key of the former one, whose session directory it has. Start and end
 * of a process count as lives. */
static struct key_id held_key(const struct sim *s, uint32_t vpid)
{
    return (struct key_id){vpid + 1, s->nodes[vpid].life / 4};
}

static void open_wire(struct sim *s, uint32_t vpid, uint32_t to, uint64_t conn,
                      const struct out_way *way, uint64_t late_ms)
{
    struct wire *w = xcalloc(1, sizeof(*w));
    struct ev *e;

    *w = (struct wire){.a = vpid,
                       .b = to,
                       .a_conn = conn,
                       .b_conn = ++s->conns,
                       .net = find_net(way),
                       .way = way->index,
                       .key = held_key(s, vpid),
                       .open_a = true,
                       .open_b = true};
    add_wire(s, w);
    w->slow = s->opts.uneven && sim_random(s, 4) == 0 ? SIM_SLOW_FACTOR : 1;
    if (see_way(s, vpid, to, way) == SIM_INTERFACE_SLOW)
        w->slow = SIM_SLOWEST_FACTOR;
    w->last_b = s->now + late_ms + sim_draw_delay(s) + sim_hang(s);
    e = sim_schedule(s, w->last_b, EV_OPEN, to, w->b_conn);
    e->incoming = true;
    e->from = vpid;
    w->last_a = w->last_b + sim_draw_delay(s) + sim_hang(s);
    sim_schedule(s, w->last_a, EV_OPEN, vpid, w->a_conn)->from = to;
}

/* No core uses the number of its own side. */
struct wire *sim_call_aside(struct sim *s, uint32_t vpid, uint32_t to)
{
    struct wire *w = xcalloc(1, sizeof(*w));
    struct ev *e;

    *w = (struct wire){.a = vpid,
                       .b = to,
                       .b_conn = ++s->conns,
                       .slow = 1,
                       .key = held_key(s, vpid),
                       .open_a = true,
                       .open_b = true};
    w->a_conn = UINT64_MAX - w->b_conn;
    add_wire(s, w);
    w->last_b = s->now + sim_draw_delay(s);
    e = sim_schedule(s, w->last_b, EV_OPEN, to, w->b_conn);
    e->incoming = true;
    e->from = vpid;
    return w;
}

void sim_connect(struct sim *s, uint32_t vpid, const struct out_connect *act)
{
    uint32_t to = (uint32_t)act->ways[0].port - PORT_BASE;
    bool running = sim_running(s, to);
    uint64_t late_ms = 0;

    for (size_t i = 0; running && i < act->nways; i++) {
        enum sim_interface how = see_way(s, vpid, to, &act->ways[i]);

        if (how == SIM_INTERFACE_UP || how == SIM_INTERFACE_SLOW) {
            open_wire(s, vpid, to, act->conn, &act->ways[i], late_ms);
            return;
        }
        late_ms += how == SIM_INTERFACE_HANGS ? HANG_MS : 0;
    }
    if (late_ms)
        return;
    note_refusal(s, vpid, to, act);
    sim_schedule(s, s->now + sim_draw_delay(s), EV_CLOSED, vpid, act->conn);
}

/* --- greetings */

void sim_late_greetings(struct sim *s, uint64_t until, uint64_t late_ms)
{
    s->late_until = until;
    s->late_ms = late_ms;
}

void sim_delay_greeting(struct sim *s, struct wire *w, uint32_t from, const struct buf *frame)
{
    struct cur c = cur_of(frame->data, frame->len);
    uint64_t *last = w->a == from ? &w->last_b : &w->last_a;
    struct frame f;

    if (s->late_until <= s->now || frame_decode(&c, &f, NULL) < 0 ||
        (f.type != MSG_HELLO && f.type != MSG_WELCOME) || sim_random(s, 2))
        return;
    *last = (*last > s->now ? *last : s->now) + sim_random(s, s->late_ms);
}
