/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the faults of the volume of a head with keepers.
 *
 * In: a seed; steps of the schedule. Out: a volume that is not written for some steps, is empty, or
 * damaged. The ends of the head (heir.c) come at any time meanwhile, so the next head finds records
 * of any age on its volume, beside keepers with others or none.
 *
 * A volume that is not written stands for the bytes that the kernel of a lost node had not written
 * yet, and for a file that another process had. It lacks the last groups, never one in between. */
#include "dvm/sim/volume.h"

#include "dvm/sim/dice.h"

#include <stdio.h>
#include <stdlib.h>

#define FAULT_ONE_OF 16 /* steps has a fault of the volume, */
#define AGAIN_ONE_OF 16 /* or its end */
#define STALLS_OF_8 6   /* of the faults; the others are its loss and its damage */

struct volume {
    struct sim *sim;
    uint64_t rng;
};

const char *volume_name(enum volume_kind k)
{
    static const char *const names[] = {"not written", "written again", "lost", "damaged"};

    return names[k];
}

static uint64_t roll_dice(struct volume *v, uint64_t below)
{
    return dice_mix(v->rng += DICE_STEP) % below;
}

struct volume *volume_create(struct sim *s, uint64_t seed)
{
    struct volume *v = xcalloc(1, sizeof(*v));

    v->sim = s;
    v->rng = seed ^ 0x766f6c75ull;
    return v;
}

void volume_destroy(struct volume *v)
{
    free(v);
}

static enum volume_kind draw_kind(struct volume *v)
{
    uint64_t d = roll_dice(v, 8);

    if (sim_disk_stalled(v->sim))
        return roll_dice(v, AGAIN_ONE_OF) ? VOLUME_KINDS : VOLUME_WRITTEN;
    if (roll_dice(v, FAULT_ONE_OF))
        return VOLUME_KINDS;
    return d < STALLS_OF_8 ? VOLUME_STALLED : d % 2 ? VOLUME_LOST : VOLUME_DAMAGED;
}

enum volume_kind volume_disturb(struct volume *v, char text[VOLUME_TEXT_MAX])
{
    enum volume_kind k = v ? draw_kind(v) : VOLUME_KINDS;

    switch (k) {
    case VOLUME_STALLED:
    case VOLUME_WRITTEN:
        sim_stall_disk(v->sim, k == VOLUME_STALLED);
        break;
    case VOLUME_LOST:
        sim_lose_disk(v->sim);
        break;
    case VOLUME_DAMAGED:
        sim_damage_disk(v->sim);
        break;
    case VOLUME_KINDS:
        return k;
    }
    snprintf(text, VOLUME_TEXT_MAX, "the volume is %s", volume_name(k));
    return k;
}

void volume_end(struct volume *v)
{
    if (v)
        sim_stall_disk(v->sim, false);
}
