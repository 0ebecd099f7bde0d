/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the ends of the head's process, and starts its heirs.
 *
 * In: a seed; steps of the schedule. Out: the end of the process of vpid 0, at once or between two
 * actions; a later start; a former process beside the new one; a lost disk.
 *
 * One of four seeds has a head with a disk, and one of five others a head with keepers. Half of
 * these have a volume too, which has faults (volume.c). The ends of the head are drawn from a
 * sequence of their own, so the other seeds keep their schedules. A head with keepers asks for its
 * records, and is not there until it has them.
 *
 * In a strict schedule the members find a head again before their limits, so no job may notice.
 * The budget for that is a third of the head's absence. It begins anew when a head has run for as
 * long. A head that hangs is replaced after all members have noticed it: else they would stay with
 * it, since its connections work. With keepers its frames wait until the heir has begun. A member
 * that has not met the heir by then may follow it, and the checker permits what it decides.
 *
 * A head with keepers that is cut off runs on with the members on its side, and is replaced on the
 * other one: at once, or after all have noticed. It ends some time after the cut. */
#include "dvm/sim/heir.h"

#include "dvm/sim/dice.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS_WITH 4   /* one of so many */
#define KEEPERS_WITH 5 /* one of so many others */
#define VOLUME_WITH 2  /* one of so many of these */
#define ASKS_MS 5000   /* a new head, at most */
#define ONE_OF 10      /* steps has an end of the head */
#define AGAIN_MS 400
#define LOSE_MS 1500
#define SOON_MS 60
#define CUT_GROUP 255 /* the head and the members on its side */

struct heir {
    struct sim *sim;
    struct volume *volume; /* NULL: it has none */
    bool strict, keepers, lost, again, resting;
    bool beside; /* also with keepers a former head wakes beside its heir, */
    bool cuts;   /* or is replaced while it is cut off */
    uint64_t rng, budget_ms;
    uint64_t gone_ms;   /* the head was not there for so long, of the budget */
    uint64_t down_at;   /* since then it is not there; 0: it is */
    uint64_t up_at;     /* its last start */
    uint64_t start_at;  /* 0: no start is due */
    uint64_t lose_at;   /* it ends with all keepers and its volume; 0: not */
    uint64_t kill_at;   /* the second time; 0: not */
    uint64_t beside_at; /* the head hangs or is cut off until then; 0: it is not */
    uint64_t resume_at; /* the former one; 0: not */
    uint64_t heal_at;   /* the cut ends; 0: there is none */
    bool heals_soon;    /* after the heir has begun */
    uint64_t end_at;    /* the former one ends */
};

const char *heir_name(enum heir_kind k)
{
    static const char *const names[] = {
        "killed",       "killed midway",     "killed twice",         "beside",
        "records lost", "a keeper lost too", "all keepers lost too", "cut off"};

    return names[k];
}

static uint64_t roll_dice(struct heir *h, uint64_t below)
{
    return below ? dice_mix(h->rng += DICE_STEP) % below : 0;
}

bool heir_has_disk(uint64_t seed)
{
    return dice_mix(seed + 0x68656972ull) % SEEDS_WITH == 0;
}

bool heir_has_keepers(uint64_t seed)
{
    return !heir_has_disk(seed) && dice_mix(seed + 0x6b656570ull) % KEEPERS_WITH == 0;
}

bool heir_has_volume(uint64_t seed)
{
    return heir_has_keepers(seed) && dice_mix(seed + 0x766f6c75ull) % VOLUME_WITH == 0;
}

struct heir *heir_create(struct sim *s, uint64_t seed, bool strict, unsigned generation)
{
    struct heir *h;

    if (!heir_has_disk(seed) && !heir_has_keepers(seed))
        return NULL;
    h = xcalloc(1, sizeof(*h));
    h->sim = s;
    h->strict = strict;
    h->beside = generation == 0 || generation >= 20;
    h->cuts = generation == 0 || generation >= 21;
    h->keepers = heir_has_keepers(seed);
    h->rng = seed ^ 0x68656972ull;
    h->budget_ms = sim_faults(s).head_absence_ms / 3;
    h->volume = sim_has_volume(s) ? volume_create(s, seed) : NULL;
    return h;
}

void heir_destroy(struct heir *h)
{
    if (h)
        volume_destroy(h->volume);
    free(h);
}

/* The budget that is left. A head that has run long enough has all of its members again. */
static uint64_t left_ms(const struct heir *h)
{
    uint64_t gone = h->gone_ms + (h->down_at ? sim_now(h->sim) - h->down_at : 0);

    gone += h->keepers ? ASKS_MS : 0;
    return gone < h->budget_ms ? h->budget_ms - gone : 0;
}

/* Half of the starts come before any daemon has noticed the end. */
static uint64_t draw_absence(struct heir *h)
{
    uint64_t most = h->strict ? left_ms(h) : 2 * sim_faults(h->sim).head_absence_ms;

    switch (h->resting ? 0 : roll_dice(h, 4)) {
    case 0:
        return 0;
    case 1:
        return roll_dice(h, most < 100 ? most : 100);
    case 2:
        return roll_dice(h, most < 2000 ? most : 2000);
    default:
        return roll_dice(h, most);
    }
}

static void await_start(struct heir *h)
{
    uint64_t now = sim_now(h->sim);

    h->down_at = h->down_at ? h->down_at : now;
    h->start_at = now + 1 + draw_absence(h);
    h->kill_at = h->again ? h->start_at + 1 + roll_dice(h, AGAIN_MS) : 0;
    h->again = false;
}

static void begin_hang(struct heir *h)
{
    struct api_faults f = sim_faults(h->sim);
    uint64_t now = sim_now(h->sim);

    sim_stop(h->sim, 0, true);
    h->beside_at = now + f.silence_ms + f.link_grace_ms + roll_dice(h, 2000);
    h->resume_at = h->beside_at + roll_dice(h, roll_dice(h, 2) ? 2000 : 2 * f.head_absence_ms);
    h->end_at = h->resume_at + 1 + roll_dice(h, 2 * f.head_absence_ms);
}

/* Of a former head, after the cut. */
static uint64_t draw_rest(struct heir *h)
{
    return 1 + roll_dice(h, roll_dice(h, 2) ? 2000 : 2 * sim_faults(h->sim).head_absence_ms);
}

static void begin_cut(struct heir *h)
{
    struct api_faults f = sim_faults(h->sim);
    uint64_t odds = roll_dice(h, 3); /* none is on its side, a third, or half */

    sim_partition(h->sim, VPID_HEAD, CUT_GROUP);
    for (uint32_t v = 1; v < SIM_NODES_MAX; v++) {
        if (sim_core(h->sim, v) && odds && roll_dice(h, 4 - odds) == 0)
            sim_partition(h->sim, v, CUT_GROUP);
    }
    h->beside_at = sim_now(h->sim) + 1 +
                   (roll_dice(h, 2) ? roll_dice(h, 2000)
                                    : f.silence_ms + f.link_grace_ms + roll_dice(h, 2000));
    h->heal_at = h->beside_at + roll_dice(h, 2 * f.head_absence_ms);
    h->heals_soon = roll_dice(h, 2);
    h->end_at = h->heal_at + draw_rest(h);
}

/* In a strict schedule a head that hangs uses more than the budget, so no other end precedes. */
static bool may_hang(const struct heir *h)
{
    struct api_faults f = sim_faults(h->sim);

    return !sim_core(h->sim, SIM_FORMER) && !h->resume_at && !h->heal_at &&
           (!h->strict ||
            (!h->gone_ms && 2 * (f.silence_ms + f.link_grace_ms) < f.head_absence_ms));
}

/* On a disk these records are all, so all jobs end. With keepers most members may go on. */
static enum heir_kind draw_kind(struct heir *h)
{
    unsigned kinds = h->volume ? HEIR_CUT : h->keepers ? HEIR_VOLUME : HEIR_KEEPER;
    enum heir_kind k = (enum heir_kind)roll_dice(h, kinds);

    if (k == HEIR_NONE && roll_dice(h, h->keepers ? 2 : 8))
        return h->volume ? HEIR_VOLUME : HEIR_KINDS;
    return k == HEIR_BESIDE && h->keepers && h->cuts && roll_dice(h, 2) ? HEIR_CUT : k;
}

static bool loses_members(const struct heir *h, enum heir_kind k)
{
    return h->keepers && (k == HEIR_NONE || k >= HEIR_KEEPER);
}

enum heir_kind heir_draw(struct heir *h)
{
    enum heir_kind k;

    if (!h || roll_dice(h, ONE_OF) || !sim_head(h->sim) || sim_stopped(h->sim, 0) ||
        heir_waits(h) || (h->strict && left_ms(h) == 0))
        return HEIR_KINDS;
    k = draw_kind(h);
    if (((k == HEIR_BESIDE || k == HEIR_CUT) && !may_hang(h)) || (h->strict && loses_members(h, k)))
        return HEIR_KINDS;
    return k;
}

enum volume_kind heir_disturb_volume(struct heir *h, char text[HEIR_TEXT_MAX])
{
    return h ? volume_disturb(h->volume, text) : VOLUME_KINDS;
}

static void lose_records(struct heir *h)
{
    h->lost = true;
    h->lose_at = 0;
    sim_end_keepers(h->sim, true);
    sim_lose_disk(h->sim);
}

static void begin_kind(struct heir *h, enum heir_kind k)
{
    switch (k) {
    case HEIR_MIDWAY:
        if (h->keepers)
            sim_end_midway(h->sim, 0, 1 + roll_dice(h, 30));
        else
            sim_end_midway(h->sim, 1 + roll_dice(h, 3), roll_dice(h, 2) ? roll_dice(h, 8) : 0);
        return;
    case HEIR_BESIDE:
        begin_hang(h);
        return;
    case HEIR_CUT:
        begin_cut(h);
        return;
    case HEIR_NONE:
        if (h->keepers) { /* a job was submitted just now */
            h->lose_at = sim_now(h->sim) + 1 + roll_dice(h, roll_dice(h, 2) ? LOSE_MS : SOON_MS);
            return;
        }
        lose_records(h);
        break;
    case HEIR_KEEPER:
    case HEIR_VOLUME:
        sim_end_keepers(h->sim, k == HEIR_VOLUME);
        break;
    default:
        h->again = k == HEIR_AGAIN;
        sim_crash(h->sim, 0);
        break;
    }
    await_start(h);
}

void heir_begin(struct heir *h, enum heir_kind k, char text[HEIR_TEXT_MAX])
{
    begin_kind(h, k);
    snprintf(text, HEIR_TEXT_MAX, "the head: %s, %s at %llu", heir_name(k),
             h->lose_at ? "it ends" : "the next one starts",
             (unsigned long long)(h->beside_at ? h->beside_at
                                  : h->lose_at ? h->lose_at
                                               : h->start_at));
}

static void end_former(struct heir *h)
{
    h->resume_at = h->end_at = 0;
    sim_end_former(h->sim);
}

/* Another part of the schedule may have ended it meanwhile, or the cut. */
static void replace_head(struct heir *h)
{
    h->beside_at = 0;
    if (!(sim_stopped(h->sim, VPID_HEAD) || sim_is_cut(h->sim, VPID_HEAD)) ||
        !sim_set_aside(h->sim)) {
        h->resume_at = h->end_at = 0;
        return;
    }
    h->down_at = sim_now(h->sim);
    h->start_at = h->down_at;
    h->gone_ms = h->budget_ms;
    if (h->keepers && !h->beside)
        end_former(h);
}

/* With keepers a former head that all can reach before its heir begins is still the head: no member
 * knows another, and the heir takes its records. So it wakes beside a head, or is cut off until
 * then, and ends with that one. */
static bool lacks_heir(const struct heir *h)
{
    return h->keepers && !sim_head(h->sim) && !sim_is_cut(h->sim, SIM_FORMER);
}

static void wake_former(struct heir *h)
{
    h->resume_at = 0;
    sim_stop(h->sim, SIM_FORMER, false);
}

static void step_cut(struct heir *h)
{
    uint64_t now = sim_now(h->sim);

    if (h->heal_at > now && h->heals_soon && !h->beside_at && sim_head(h->sim)) {
        h->heals_soon = false;
        h->heal_at = now + roll_dice(h, 3000);
        h->end_at = h->heal_at + draw_rest(h);
    }
    if (h->heal_at && h->heal_at <= now) {
        h->heal_at = 0;
        sim_heal(h->sim);
    }
}

static void step_former(struct heir *h)
{
    uint64_t now = sim_now(h->sim);

    if (h->beside_at && h->beside_at <= now)
        replace_head(h);
    step_cut(h);
    if (h->beside_at || !h->end_at)
        return;
    if (h->resume_at && h->resume_at <= now && !lacks_heir(h))
        wake_former(h);
    if ((h->end_at <= now && (!h->resume_at || h->keepers)) || (!h->resume_at && lacks_heir(h)))
        end_former(h);
}

static void start_head(struct heir *h)
{
    h->start_at = 0;
    if (!sim_core(h->sim, 0))
        sim_start(h->sim, 0);
}

static void note_head(struct heir *h)
{
    uint64_t now = sim_now(h->sim);

    sim_kept_step(h->sim);
    if (!h->down_at || !sim_head(h->sim))
        return;
    h->lost |= h->keepers && !sim_is_kept(h->sim);
    h->gone_ms += now - h->down_at;
    h->down_at = 0;
    h->up_at = now;
}

void heir_step(struct heir *h)
{
    uint64_t now;

    if (!h)
        return;
    now = sim_now(h->sim);
    step_former(h);
    if (h->start_at && h->start_at <= now)
        start_head(h);
    if (h->lose_at && h->lose_at <= now) {
        lose_records(h);
        await_start(h);
    }
    if (h->kill_at && h->kill_at <= now) {
        h->kill_at = 0;
        if (sim_core(h->sim, 0) && !sim_stopped(h->sim, 0))
            sim_crash(h->sim, 0);
    }
    note_head(h);
    if (!sim_core(h->sim, 0) && !h->start_at)
        await_start(h);
    if (!h->down_at && now - h->up_at > h->budget_ms)
        h->gone_ms = 0;
}

bool heir_waits(const struct heir *h)
{
    return h && (h->start_at || h->lose_at || h->kill_at || h->beside_at || sim_midway_due(h->sim));
}

bool heir_is_due(struct heir *h)
{
    return h && !sim_core(h->sim, 0) && !h->start_at;
}

bool heir_lost(const struct heir *h)
{
    return h && h->lost;
}

void heir_end(struct heir *h)
{
    if (!h)
        return;
    sim_midway_not(h->sim);
    volume_end(h->volume);
    h->kill_at = h->lose_at = 0;
    h->resting = true;
    if (h->start_at)
        h->start_at = sim_now(h->sim);
    if (h->beside_at)
        h->beside_at = sim_now(h->sim);
    if (h->heal_at)
        h->heal_at = sim_now(h->sim);
}
