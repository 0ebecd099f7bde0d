/* SPDX-License-Identifier: BSD-3-Clause */
/* The head is killed and followed by a process that has its records, by a disk or by keepers, or
 * not; in some schedules. */
#ifndef DVM_SIM_HEIR_H
#define DVM_SIM_HEIR_H

#include "dvm/sim/sim.h"
#include "dvm/sim/volume.h"

#define HEIR_TEXT_MAX 160

enum heir_kind {
    HEIR_KILL,   /* at once */
    HEIR_MIDWAY, /* between two actions of one of its next inputs */
    HEIR_AGAIN,  /* and its heir soon after it has begun */
    HEIR_BESIDE, /* it hangs, is replaced, and runs on beside its heir */
    HEIR_NONE,   /* the records are lost, or all keepers with the head */
    HEIR_KEEPER, /* with one of its keepers */
    HEIR_VOLUME, /* with all of its keepers, which leaves what its volume has */
    /* Since generation 21: */
    HEIR_CUT, /* it is cut off from members, runs on, and is replaced */
    HEIR_KINDS
};

struct heir;

bool heir_has_disk(uint64_t seed);
bool heir_has_keepers(uint64_t seed);
bool heir_has_volume(uint64_t seed); /* beside keepers */
/* Borrows the simulator. strict: no daemon may be lost, so the head is back before the limits of
 * its members. The generation is that of the schedule (script.h). */
struct heir *heir_create(struct sim *s, uint64_t seed, bool strict, unsigned generation);
void heir_destroy(struct heir *h);
enum heir_kind heir_draw(struct heir *h); /* HEIR_KINDS: none now */
/* A fault of the volume, described in `text`; VOLUME_KINDS: none now. */
enum volume_kind heir_disturb_volume(struct heir *h, char text[HEIR_TEXT_MAX]);
/* Begins it now, described in `text`. */
void heir_begin(struct heir *h, enum heir_kind k, char text[HEIR_TEXT_MAX]);
/* Time has passed: heads start, and former ones run on. */
void heir_step(struct heir *h);
bool heir_waits(const struct heir *h); /* nobody else starts the head now */
bool heir_is_due(struct heir *h);      /* heir_step() has to be called now */
bool heir_lost(const struct heir *h);  /* records were, so all jobs have ended */
void heir_end(struct heir *h);         /* at rest: no further ends of the head */
const char *heir_name(enum heir_kind k);

#endif
