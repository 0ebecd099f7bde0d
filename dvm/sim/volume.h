/* SPDX-License-Identifier: BSD-3-Clause */
/* The faults of the volume of a head with keepers. */
#ifndef DVM_SIM_VOLUME_H
#define DVM_SIM_VOLUME_H

#include "dvm/sim/sim.h"

#define VOLUME_TEXT_MAX 160

enum volume_kind {
    VOLUME_STALLED, /* nothing is written from now on: its records get older, */
    VOLUME_WRITTEN, /* until it has all again */
    VOLUME_LOST,    /* it is empty until the next head begins */
    VOLUME_DAMAGED, /* its last record is cut, and none follows until the next head begins */
    VOLUME_KINDS
};

struct volume;

struct volume *volume_create(struct sim *s, uint64_t seed); /* borrows the simulator */
void volume_destroy(struct volume *v);
/* A fault now, described in `text`; VOLUME_KINDS: none. v may be NULL. */
enum volume_kind volume_disturb(struct volume *v, char text[VOLUME_TEXT_MAX]);
void volume_end(struct volume *v); /* at rest: it is written again, and has no further faults */
const char *volume_name(enum volume_kind k);

#endif
