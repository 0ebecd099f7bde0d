/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of the simulator: crashes, silence, broken and half-broken connections, partitions, late
 * frames, forged frames.
 *
 * In: calls of a schedule or a test that say which fault, on which daemons. Out: events in the
 * simulator's queue (EV_CLOSED, EV_FRAME), and changed connections and daemons.
 *
 * A crash closes the daemon's connections; a daemon that vanishes leaves them open for its peers. A
 * stopped daemon, and a partition, hold events back. A connection may break on both sides, on one
 * side first, in one direction only, or become slow.
 *
 * Invariants: held events come later in their order, unless their daemon has ended. The end of a
 * process frees its ranks, its files and its core, and increments its life. Random choices come
 * from sim_random(), so the seed repeats them.
 *
 * Limits: sim_replay() knows at most OLD_FRAMES sent frames, of at most 4096 bytes each. It needs
 * an open connection to their destination. A replayed frame has no number of its hop. sim_forge()
 * needs a connection that is open on both sides. */
#include "dvm/sim/sim_private.h"

#include <stdlib.h>

#define COUNTED_MS 1000 /* of a stop */

void sim_keep_frame(struct sim *s, uint32_t vpid, const struct buf *data)
{
    struct cur c = cur_of(data->data, data->len);
    struct old_frame *o = &s->old[s->nold % OLD_FRAMES];
    struct frame f;

    if (data->len > 4096 || frame_decode(&c, &f, NULL) < 0 || !msg_is_routed(f.type) ||
        f.src != vpid)
        return;
    if (s->nold >= OLD_FRAMES && sim_random(s, 8) != 0)
        return; /* some stay away long */
    buf_free(&o->data);
    buf_init(&o->data, 1u << 20);
    buf_put_raw(&o->data, data->data, data->len);
    o->dst = f.dst;
    s->nold++;
}

static void end_life(struct sim *s, uint32_t vpid)
{
    struct rank_proc *p, *ptmp;
    struct ev *e, *etmp;

    DL_FOREACH_SAFE(s->procs, p, ptmp)
    {
        if (p->vpid == vpid)
            sim_proc_free(s, p);
    }
    DL_FOREACH_SAFE(s->nodes[vpid].held, e, etmp)
    {
        DL_DELETE(s->nodes[vpid].held, e);
        sim_ev_free(e);
    }
    sim_files_end(s, vpid);
    core_destroy(s->nodes[vpid].core);
    s->nodes[vpid].core = NULL;
    s->nodes[vpid].stopped = false;
    s->nodes[vpid].life++;
}

void sim_crash(struct sim *s, uint32_t vpid)
{
    struct wire *w, *wtmp;

    if (!sim_running(s, vpid))
        return;
    sim_kept_end(s, vpid);
    DL_FOREACH_SAFE(s->wires, w, wtmp)
    {
        if ((w->a == vpid && w->open_a) || (w->b == vpid && w->open_b))
            sim_close_side(s, w, vpid);
    }
    end_life(s, vpid);
}

void sim_vanish(struct sim *s, uint32_t vpid)
{
    struct wire *w, *wtmp;

    if (!sim_running(s, vpid))
        return;
    sim_kept_end(s, vpid);
    DL_FOREACH_SAFE(s->wires, w, wtmp)
    {
        if (w->a == vpid)
            w->open_a = false;
        if (w->b == vpid)
            w->open_b = false;
        if (!w->open_a && !w->open_b)
            sim_wire_free(s, w);
    }
    end_life(s, vpid);
}

/* Frames that were kept back come now, in their order. */
static void let_in(struct sim *s, struct ev **list)
{
    struct ev *e, *tmp;

    DL_FOREACH_SAFE(*list, e, tmp)
    {
        DL_DELETE(*list, e);
        e->at = s->now;
        sim_heap_put(s, e);
    }
}

/* A daemon counts the first second of each stop (CORE_STEP_MS). */
static uint64_t uncounted_ms(uint64_t stop_ms)
{
    return stop_ms > COUNTED_MS ? stop_ms - COUNTED_MS : 0;
}

void sim_stop(struct sim *s, uint32_t vpid, bool stopped)
{
    struct node *n = &s->nodes[vpid];

    if (stopped && !n->stopped)
        n->stopped_at = s->now;
    else if (!stopped && n->stopped)
        n->stopped_ms += uncounted_ms(s->now - n->stopped_at);
    if (!stopped)
        n->resumed_at = s->now;
    n->stopped = stopped;
    if (!stopped)
        let_in(s, &n->held);
}

bool sim_rests(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].stopped || s->nodes[vpid].resumed_at == s->now;
}

uint64_t sim_ran_ms(const struct sim *s, uint32_t vpid)
{
    const struct node *n = &s->nodes[vpid];

    return s->now - n->stopped_ms - (n->stopped ? uncounted_ms(s->now - n->stopped_at) : 0);
}

void sim_partition(struct sim *s, uint32_t vpid, uint8_t group)
{
    s->nodes[vpid].group = group;
}

bool sim_is_cut(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].group != 0;
}

void sim_heal(struct sim *s)
{
    s->nodes[SIM_FORMER].group = 0;
    for (uint32_t v = 0; v < s->opts.nodes; v++)
        s->nodes[v].group = 0;
    let_in(s, &s->blocked);
}

static bool joins_pair(const struct wire *w, uint32_t a, uint32_t b)
{
    return (w->a == a && w->b == b) || (w->a == b && w->b == a);
}

/* Side `first` sees it at once. */
static void half_break_wire(struct sim *s, struct wire *w, uint32_t first, uint64_t late_ms)
{
    bool is_a = w->a == first;

    sim_schedule(s, s->now, EV_CLOSED, first, is_a ? w->a_conn : w->b_conn);
    *(is_a ? &w->last_b : &w->last_a) += late_ms;
    if (!(is_a ? w->mute_b : w->mute_a))
        sim_to_peer(s, w, first, EV_CLOSED);
    *(is_a ? &w->open_a : &w->open_b) = false;
}

void sim_break(struct sim *s, uint32_t a, uint32_t b)
{
    struct wire *w, *tmp;

    DL_FOREACH_SAFE(s->wires, w, tmp)
    {
        if (joins_pair(w, a, b))
            sim_wire_break(s, w);
    }
}

/* NULL: there is none. */
static struct wire *some_wire(struct sim *s)
{
    struct wire *w;
    uint64_t n = 0;

    DL_COUNT(s->wires, w, n);
    if (n == 0)
        return NULL;
    n = sim_random(s, n);
    for (w = s->wires; n--;)
        w = w->next;
    return w;
}

bool sim_link_fails(struct sim *s, enum sim_link_fault how, uint32_t *a, uint32_t *b)
{
    struct wire *w = some_wire(s);

    if (!w || !w->open_a || !w->open_b)
        return false;
    *a = w->a;
    *b = w->b;
    switch (how) {
    case SIM_LINK_BREAK:
        sim_wire_break(s, w);
        break;
    case SIM_LINK_HALF:
        half_break_wire(s, w, sim_random(s, 2) ? w->a : w->b, 1 + sim_random(s, 1500));
        break;
    case SIM_LINK_MUTE:
        *(sim_random(s, 2) ? &w->mute_a : &w->mute_b) = true;
        break;
    case SIM_LINK_SLOW:
        w->slow = SIM_SLOWEST_FACTOR;
        break;
    default:
        w->slow = 1;
        break;
    }
    return true;
}

void sim_links_even(struct sim *s)
{
    struct wire *w;

    DL_FOREACH(s->wires, w)
    {
        w->slow = 1;
    }
    s->opts.uneven = false;
}

void sim_break_half(struct sim *s, uint32_t a, uint32_t b, uint64_t late_ms)
{
    struct wire *w;

    DL_FOREACH(s->wires, w)
    {
        if (joins_pair(w, a, b) && w->open_a && w->open_b)
            half_break_wire(s, w, a, late_ms);
    }
}

bool sim_forge(struct sim *s, uint32_t from, uint32_t to, const struct buf *frame)
{
    struct wire *w;
    struct ev *e;

    DL_FOREACH(s->wires, w)
    {
        if (!joins_pair(w, from, to) || !w->open_a || !w->open_b)
            continue;
        e = sim_to_peer(s, w, from, EV_FRAME);
        buf_put_raw(&e->data, frame->data, frame->len);
        return true;
    }
    return false;
}

void sim_forge_call(struct sim *s, uint32_t from, uint32_t to, const struct buf frames[2])
{
    struct wire *w = sim_call_aside(s, from, to);

    for (int i = 0; i < 2; i++) {
        struct ev *e = sim_to_peer(s, w, from, EV_FRAME);

        buf_put_raw(&e->data, frames[i].data, frames[i].len);
    }
}

void sim_replay(struct sim *s)
{
    size_t n = s->nold < OLD_FRAMES ? s->nold : OLD_FRAMES;
    const struct old_frame *o;
    struct wire *w;
    struct ev *e;

    if (n == 0)
        return;
    o = &s->old[sim_random(s, n)];
    DL_FOREACH(s->wires, w)
    {
        if ((w->b != o->dst || !w->open_b || w->mute_b) &&
            (w->a != o->dst || !w->open_a || w->mute_a))
            continue;
        e = sim_schedule(s, s->now, EV_FRAME, o->dst, w->b == o->dst ? w->b_conn : w->a_conn);
        buf_put_raw(&e->data, o->data.data, o->data.len);
        frame_set_hop(e->data.data, 0, 0); /* not in the sequence of this hop */
        return;
    }
}

bool sim_some_wire(struct sim *s, uint32_t *a, uint32_t *b)
{
    const struct wire *w = some_wire(s);

    if (!w)
        return false;
    *a = sim_random(s, 2) ? w->a : w->b;
    *b = *a == w->a ? w->b : w->a;
    return true;
}

void sim_hang_connects(struct sim *s, uint64_t until, uint64_t late_ms)
{
    s->hang_until = until;
    s->hang_ms = late_ms;
}

uint64_t sim_hang(struct sim *s)
{
    return s->hang_until > s->now && sim_random(s, 2) ? sim_random(s, s->hang_ms) : 0;
}

void sim_jump_clock(struct sim *s, uint32_t vpid, int64_t ms)
{
    s->nodes[vpid].wall_ms += ms;
}

static int64_t clock_ahead(const struct sim *s, const struct node *n)
{
    return n->wall_ms + (int64_t)(s->now - n->drifts_at) * n->drift_ppm / 1000000;
}

void sim_drift_clock(struct sim *s, uint32_t vpid, int64_t ppm)
{
    struct node *n = &s->nodes[vpid];

    n->wall_ms = clock_ahead(s, n);
    n->drift_ppm = ppm;
    n->drifts_at = s->now;
}

uint64_t sim_wall(const struct sim *s, uint32_t vpid)
{
    int64_t wall = (int64_t)s->now + clock_ahead(s, &s->nodes[vpid]);

    return wall > 0 ? (uint64_t)wall : 0;
}

void sim_clock(struct sim *s, uint32_t vpid)
{
    struct node *n = &s->nodes[vpid];

    core_time(n->core, s->now + n->clock_ms, sim_wall(s, vpid));
}

bool sim_stopped(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].stopped;
}

uint64_t sim_life(const struct sim *s, uint32_t vpid)
{
    return s->nodes[vpid].life;
}

size_t sim_njobs(const struct sim *s)
{
    return s->njobs;
}

struct api_faults sim_draw_faults(struct sim *s)
{
    struct api_faults f = SIM_FAULTS;

    if (sim_random(s, 3) == 0)
        return f;
    f.link_grace_ms = 500 + (sim_random(s, 2) ? sim_random(s, 1500) : sim_random(s, 6000));
    f.silence_ms = f.link_grace_ms + 1000 + sim_random(s, 8000);
    f.head_absence_ms = SIM_HEAD_ABSENCE_MS + sim_random(s, 10000); /* > a partition */
    return f;
}
