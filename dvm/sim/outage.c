/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws outages: faults that last longer than each limit of the DVM, and the end of the head.
 *
 * In: a seed; steps of the schedule. Out: stopped daemons, partitions, delayed connects, messages,
 * clocks, and the head's end, by the calls of sim.h and core.h.
 *
 * One of four seeds has outages. They are drawn from a sequence of their own. So the other seeds
 * give the same schedules as before, and a mutant that these name stays named.
 *
 * The limits are those of api/faults.h: the grace of a link, the silence of a daemon, and the
 * absence of the head. A pause or partition lasts up to three times the longest one. A daemon's
 * buffers hold little in some schedules, so that a burst fills them.
 *
 * By the profile of the schedule: 0 and 1: only clocks jump, and bursts that the buffers hold; 1:
 * interfaces fail and greetings come late; 2: outages of members too; 3: those of the head too.
 *
 * Limits: one partition, one interface that fails, and one phase of hanging connects or late
 * greetings at a time. A daemon with one address keeps its interface: that would be a cut. */
#include "dvm/sim/outage.h"

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/check.h"
#include "dvm/sim/dice.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS_WITH 4 /* one of so many */
#define BURST_MAX 400

struct outage {
    struct sim *sim;
    struct check *check;
    uint32_t nodes;
    bool drifts;
    unsigned profile;
    enum outage_kind end;
    uint64_t rng, longest_ms;
    uint64_t heal_at;                  /* of the partition; 0: there is none */
    uint64_t resume_at[SIM_NODES_MAX]; /* 0: not stopped by an outage */
    uint64_t slow_until[SIM_NODES_MAX];
    struct {
        uint32_t vpid;
        size_t i;
        enum sim_interface how;
        uint64_t until; /* 0: none fails */
        uint64_t turn_at;
        bool flaps, down;
    } net;
};

const char *outage_name(enum outage_kind k)
{
    static const char *const names[] = {"head ends", "DVM ends",  "head paused", "paused",
                                        "cut",       "slow",      "hang",        "burst",
                                        "clock",     "interface", "flap",        "greeting"};

    return names[k];
}

static uint64_t roll_dice(struct outage *o, uint64_t below)
{
    return below ? dice_mix(o->rng += DICE_STEP) % below : 0;
}

static bool has_outages(uint64_t seed)
{
    return dice_mix(seed + 0x6f757461676573ull) % SEEDS_WITH == 0;
}

size_t outage_backlog(uint64_t seed, unsigned profile)
{
    uint64_t d = dice_mix(seed + 0x6261636b6c6f67ull);

    return has_outages(seed) && profile >= 2 && d % 3 == 0 ? 4096 + d / 3 % 32768 : 0;
}

uint32_t outage_addresses(uint64_t seed)
{
    uint64_t d = dice_mix(seed + 0x61646472657373ull);

    return has_outages(seed) && d % 2 ? 2 + (uint32_t)(d / 2 % (OUT_WAYS_MAX - 1)) : 1;
}

void outage_drift(struct outage *o, bool on)
{
    if (o)
        o->drifts = on;
}

struct outage *outage_create(struct sim *s, struct check *c, uint64_t seed, uint32_t nodes,
                             unsigned profile, enum outage_kind end)
{
    const struct api_faults f = sim_faults(s);
    struct outage *o;

    if (!has_outages(seed))
        return NULL;
    o = xcalloc(1, sizeof(*o));
    o->sim = s;
    o->check = c;
    o->nodes = nodes;
    o->profile = profile;
    o->end = end;
    o->rng = seed;
    o->longest_ms = f.head_absence_ms + f.silence_ms + f.link_grace_ms;
    return o;
}

void outage_destroy(struct outage *o)
{
    free(o);
}

/* Half of them below all limits together, the others up to three times as long. */
static uint64_t draw_time(struct outage *o)
{
    return 1 + roll_dice(o, roll_dice(o, 2) ? o->longest_ms : 3 * o->longest_ms);
}

static uint32_t some_member(struct outage *o)
{
    return 1 + (uint32_t)roll_dice(o, o->nodes - 1);
}

static struct core *acting_head(struct outage *o)
{
    struct core *head = sim_head(o->sim);

    return head && !sim_stopped(o->sim, 0) ? head : NULL;
}

static bool end_head(struct outage *o, bool dvm, char text[OUTAGE_TEXT_MAX])
{
    struct api_shutdown s = {.deadline_s = roll_dice(o, 2) ? 0 : (int64_t)roll_dice(o, 5)};
    struct core *head = acting_head(o);
    enum api_reason reason;

    if (!head)
        return false;
    snprintf(text, OUTAGE_TEXT_MAX, "%s, %lld s", dvm ? "the DVM is ended" : "SIGTERM to the head",
             dvm ? (long long)s.deadline_s : 0);
    sim_clock(o->sim, 0);
    if (dvm)
        (void)!core_shutdown(head, &s, &reason, NULL);
    else
        core_sigterm(head);
    sim_drain(o->sim, 0);
    return true;
}

static bool pause_daemon(struct outage *o, uint32_t v, char text[OUTAGE_TEXT_MAX])
{
    uint64_t ms = draw_time(o);

    if (!sim_core(o->sim, v) || sim_stopped(o->sim, v))
        return false;
    snprintf(text, OUTAGE_TEXT_MAX, "vpid %u hangs for %llu ms", v, (unsigned long long)ms);
    o->resume_at[v] = sim_now(o->sim) + ms;
    sim_stop(o->sim, v, true);
    return true;
}

static bool cut_network(struct outage *o, char text[OUTAGE_TEXT_MAX])
{
    uint64_t ms = draw_time(o);
    uint64_t groups = 2 + roll_dice(o, 3);

    if (o->heal_at)
        return false;
    snprintf(text, OUTAGE_TEXT_MAX, "a long partition of %llu groups for %llu ms",
             (unsigned long long)groups, (unsigned long long)ms);
    o->heal_at = sim_now(o->sim) + ms;
    for (uint32_t v = 1; v < o->nodes; v++)
        sim_partition(o->sim, v, (uint8_t)roll_dice(o, groups));
    return true;
}

static bool slow_daemon(struct outage *o, uint32_t v, char text[OUTAGE_TEXT_MAX])
{
    uint64_t ms = draw_time(o);

    if (!sim_core(o->sim, v))
        return false;
    snprintf(text, OUTAGE_TEXT_MAX, "vpid %u is slow for %llu ms", v, (unsigned long long)ms);
    o->slow_until[v] = sim_now(o->sim) + ms;
    return true;
}

static bool hang_connects(struct outage *o, char text[OUTAGE_TEXT_MAX])
{
    uint64_t ms = draw_time(o);
    uint64_t late = 1 + roll_dice(o, roll_dice(o, 2) ? 3000 : 40000);

    snprintf(text, OUTAGE_TEXT_MAX, "for %llu ms half of the connects take up to %llu ms",
             (unsigned long long)ms, (unsigned long long)late);
    sim_hang_connects(o->sim, sim_now(o->sim) + ms, late);
    return true;
}

static bool send_burst(struct outage *o, char text[OUTAGE_TEXT_MAX])
{
    uint32_t from = (uint32_t)roll_dice(o, o->nodes);
    uint32_t to = (uint32_t)roll_dice(o, o->nodes);
    uint64_t n = 1 + roll_dice(o, BURST_MAX);
    enum out_class traffic = (enum out_class)roll_dice(o, CLASSES);

    if (!sim_core(o->sim, from) || sim_stopped(o->sim, from))
        return false;
    snprintf(text, OUTAGE_TEXT_MAX, "%llu messages from vpid %u to %u", (unsigned long long)n, from,
             to);
    while (n-- && !*check_failed(o->check))
        check_send(o->check, from, to, traffic);
    return true;
}

/* Half of the clocks that jump drift too from then on, by a tenth at most. */
static bool jump_clock(struct outage *o, uint32_t v, char text[OUTAGE_TEXT_MAX])
{
    int64_t ms = (int64_t)roll_dice(o, roll_dice(o, 2) ? 10000 : 100000000);

    if (roll_dice(o, 2))
        ms = -ms;
    if (o->drifts && ms % 2)
        sim_drift_clock(o->sim, v, ms % 100000);
    snprintf(text, OUTAGE_TEXT_MAX, "the wall clock of vpid %u jumps by %lld ms", v, (long long)ms);
    sim_jump_clock(o->sim, v, ms);
    return true;
}

static void turn_interface(struct outage *o, bool down)
{
    o->net.down = down;
    sim_set_interface(o->sim, o->net.vpid, o->net.i, down ? o->net.how : SIM_INTERFACE_UP);
}

static bool fail_interface(struct outage *o, bool flaps, char text[OUTAGE_TEXT_MAX])
{
    static const char *const words[] = {"", "refuses", "is silent", "is slow"};
    uint64_t ms = draw_time(o);

    if (o->net.until || sim_naddresses(o->sim) == 1)
        return false;
    o->net.vpid = (uint32_t)roll_dice(o, o->nodes);
    o->net.i = (size_t)roll_dice(o, sim_naddresses(o->sim));
    o->net.how = (enum sim_interface)(SIM_INTERFACE_REFUSES + roll_dice(o, 3));
    o->net.flaps = flaps;
    o->net.until = sim_now(o->sim) + ms;
    o->net.turn_at = flaps ? sim_now(o->sim) : UINT64_MAX;
    snprintf(text, OUTAGE_TEXT_MAX, "interface %zu of vpid %u %s for %llu ms%s", o->net.i,
             o->net.vpid, words[o->net.how], (unsigned long long)ms, flaps ? ", now and then" : "");
    turn_interface(o, true);
    return true;
}

static bool delay_greetings(struct outage *o, char text[OUTAGE_TEXT_MAX])
{
    uint64_t ms = draw_time(o);
    uint64_t late = 1 + roll_dice(o, roll_dice(o, 2) ? 1000 : 2 * o->longest_ms);

    snprintf(text, OUTAGE_TEXT_MAX, "for %llu ms half of the greetings come up to %llu ms late",
             (unsigned long long)ms, (unsigned long long)late);
    sim_late_greetings(o->sim, sim_now(o->sim) + ms, late);
    return true;
}

static bool begin_kind(struct outage *o, enum outage_kind k, char text[OUTAGE_TEXT_MAX])
{
    switch (k) {
    case OUTAGE_HEAD_ENDS:
    case OUTAGE_DVM_ENDS:
        return o->profile == 3 && end_head(o, k == OUTAGE_DVM_ENDS, text);
    case OUTAGE_HEAD_PAUSE:
        return o->profile == 3 && pause_daemon(o, 0, text);
    case OUTAGE_PAUSE:
        return o->profile >= 2 && pause_daemon(o, some_member(o), text);
    case OUTAGE_CUT:
        return o->profile >= 2 && cut_network(o, text);
    case OUTAGE_SLOW:
        return o->profile >= 2 &&
               slow_daemon(o, o->profile == 3 ? (uint32_t)roll_dice(o, o->nodes) : some_member(o),
                           text);
    case OUTAGE_HANG:
        return o->profile >= 2 && hang_connects(o, text);
    case OUTAGE_INTERFACE:
    case OUTAGE_FLAP:
        return o->profile >= 1 && fail_interface(o, k == OUTAGE_FLAP, text);
    case OUTAGE_GREETING:
        return o->profile >= 1 && delay_greetings(o, text);
    case OUTAGE_BURST:
        return send_burst(o, text);
    default:
        return jump_clock(o, (uint32_t)roll_dice(o, o->nodes), text);
    }
}

bool outage_spawns(struct outage *o)
{
    return o && roll_dice(o, 6) == 0;
}

enum outage_kind outage_begin(struct outage *o, char text[OUTAGE_TEXT_MAX])
{
    enum outage_kind k;

    if (!o || roll_dice(o, 6))
        return OUTAGES;
    k = (enum outage_kind)roll_dice(o, o->end);
    return begin_kind(o, k, text) ? k : OUTAGES;
}

/* A slow daemon acts for one step, and not for some of the next ones. */
static void slow_step(struct outage *o, uint32_t v)
{
    uint64_t now = sim_now(o->sim);

    if (!o->slow_until[v] || o->resume_at[v])
        return;
    if (o->slow_until[v] <= now) {
        o->slow_until[v] = 0;
        return;
    }
    if (sim_core(o->sim, v) && !sim_stopped(o->sim, v) && roll_dice(o, 2)) {
        o->resume_at[v] = now + 1 + roll_dice(o, 1500);
        sim_stop(o->sim, v, true);
    }
}

static void step_interface(struct outage *o)
{
    uint64_t now = sim_now(o->sim);

    if (!o->net.until)
        return;
    if (o->net.until <= now) {
        o->net.until = 0;
        turn_interface(o, false);
    } else if (o->net.turn_at <= now) {
        o->net.turn_at = now + 1 + roll_dice(o, roll_dice(o, 2) ? 500 : 10000);
        turn_interface(o, !o->net.down);
    }
}

void outage_step(struct outage *o)
{
    if (!o)
        return;
    if (o->heal_at && o->heal_at <= sim_now(o->sim)) {
        o->heal_at = 0;
        sim_heal(o->sim);
    }
    step_interface(o);
    for (uint32_t v = 0; v < o->nodes; v++) {
        if (o->resume_at[v] && o->resume_at[v] <= sim_now(o->sim)) {
            o->resume_at[v] = 0;
            sim_stop(o->sim, v, false);
        }
        slow_step(o, v);
    }
}

void outage_end(struct outage *o)
{
    if (!o)
        return;
    o->heal_at = 0;
    sim_heal(o->sim);
    sim_hang_connects(o->sim, 0, 0);
    sim_late_greetings(o->sim, 0, 0);
    if (o->net.until)
        turn_interface(o, false);
    o->net.until = 0;
    for (uint32_t v = 0; v < o->nodes; v++) {
        o->slow_until[v] = 0;
        if (o->resume_at[v])
            sim_stop(o->sim, v, false);
        o->resume_at[v] = 0;
    }
}
