/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits after which a fault counts, as `spec.faults`, prte and prted have them. */
#ifndef API_FAULTS_H
#define API_FAULTS_H

#include "base/err/err.h"

#include <stdint.h>

#define API_FAULTS_LINK_GRACE_MS 5000
#define API_FAULTS_SILENCE_MS 10000
#define API_FAULTS_HEAD_ABSENCE_MS 300000

#define API_FAULTS_MIN_MS 100
#define API_FAULTS_MAX_MS 86400000

struct api_faults {
    uint64_t link_grace_ms;   /* time for a broken link to be made again */
    uint64_t silence_ms;      /* a daemon that sends nothing for so long is treated as if its links
                                 had broken; a target of a shrink that acknowledges nothing is lost */
    uint64_t head_absence_ms; /* a member that cannot reach the head for so long ends its ranks */
};

#define API_FAULTS_DEFAULTS                                                                        \
    {                                                                                              \
        API_FAULTS_LINK_GRACE_MS, API_FAULTS_SILENCE_MS, API_FAULTS_HEAD_ABSENCE_MS                \
    }

/* Refuses values out of bounds, and values that contradict each other:
 * - a daemon may not be lost by silence while it still has the grace: grace <= silence;
 * - a member below a hung relay notices the silence, calls its parent for the grace, then the head:
 *   it needs silence + 2 * grace before it may give the head up. */
int api_faults_check(const struct api_faults *f, struct err *err)
    __attribute__((warn_unused_result));

/* A daemon of which nothing arrives for so long is lost, wherever it is in the tree: three times
 * the silence, but at most the head's absence. A member below a hung relay needs no more. */
uint64_t api_faults_lost_ms(const struct api_faults *f);

#endif
