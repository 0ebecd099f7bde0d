/* SPDX-License-Identifier: BSD-3-Clause */
/* Which Kubernetes Events about one cluster are written, and which count an earlier one up. Pure:
 * the caller has the clock and sends the requests. */
#ifndef OPERATOR_RECONCILE_TALLY_H
#define OPERATOR_RECONCILE_TALLY_H

#include "operator/status/reason.h"

#include <stdbool.h>
#include <stdint.h>

/* Events of one reason are counted together while each comes within this time of the last one. */
#define TALLY_WINDOW_MS 600000
/* Different texts of one reason, after which a further text only counts the last Event up. */
#define TALLY_TEXTS_MAX 8
/* Writes at once, and the time after which one more is allowed. */
#define TALLY_BURST 32
#define TALLY_REFILL_MS 10000

struct tally;
void tally_destroy(struct tally *t);

/* What is sent for one Event. */
struct tally_write {
    uint64_t serial; /* names the object; never 0 */
    unsigned count;  /* Events that the object stands for */
    uint64_t age_ms; /* time since the first of them */
    bool similar;    /* their texts differ */
};
/* `*t` is NULL at first. False: too many were sent. The Event is counted by the next write of its
 * reason. */
bool tally_take(struct tally **t, enum reason reason, const char *note, uint64_t now_ms,
                struct tally_write *out);

#endif
