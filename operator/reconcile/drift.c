/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether an existing object of a cluster is applied again.
 *
 * In: the fingerprints of the wanted object, the object as observed, what is remembered of our last
 * write, and the time. Out: whether the object is applied now, or after which time it is looked at
 * again.
 *
 * Three cases:
 * - The object carries another fingerprint than the wanted one, which we have not applied before:
 *   the DvmCluster or the operator is new. It is applied at once.
 * - It carries another one, and we have applied the wanted one: another operator, which wants
 *   something else, has applied its own.
 * - It carries the wanted one, and its generation or its content is not that of our last write:
 *   another writer has changed it.
 *
 * The first change by others is undone at once, each further one after a longer pause. So two
 * writers that disagree do not fight. Five minutes without a change end that. */
#include "base/span/span.h"
#include "operator/reconcile/child.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>
#include <string.h>

/* The first and the longest pause between two changes by others that are undone. */
#define HEAL_PAUSE_MIN_MS 1000
#define HEAL_PAUSE_MAX_MS 300000

static void note_print(struct child_memory *m, const struct wanted_print *wanted)
{
    snprintf(m->applied_print, sizeof(m->applied_print), "%s", wanted->applied);
}

/* An admission webhook may change what we apply. The result is kept, or it would be applied for
 * ever. */
void drift_note_applied(struct child_memory *m, const struct wanted_print *wanted,
                        int64_t generation, uint64_t print)
{
    note_print(m, wanted);
    m->generation = generation;
    m->settled = print == wanted->drift ? 0 : print;
}

/* A generation that is not known yet, after the operator's start, is taken for ours. */
static bool changed_by_others(struct child_memory *m, const struct wanted_print *wanted,
                              const struct child *o)
{
    if (!m->generation)
        m->generation = o->generation;
    if (m->generation != o->generation)
        return true;
    return o->drift != wanted->drift && o->drift != m->settled;
}

static bool heal_is_due(struct child_memory *m, uint64_t now_ms, uint64_t *wait_ms)
{
    if (now_ms < m->heal_from_ms) {
        *wait_ms = span_ms(now_ms, m->heal_from_ms);
        return false;
    }
    if (!m->heal_pause_ms || now_ms > m->heal_from_ms + HEAL_PAUSE_MAX_MS)
        m->heal_pause_ms = HEAL_PAUSE_MIN_MS;
    else if (m->heal_pause_ms < HEAL_PAUSE_MAX_MS / 2)
        m->heal_pause_ms *= 2;
    else
        m->heal_pause_ms = HEAL_PAUSE_MAX_MS;
    m->heal_from_ms = now_ms + m->heal_pause_ms;
    return true;
}

bool drift_is_due(struct child_memory *m, const struct wanted_print *wanted, const struct child *o,
                  uint64_t now_ms, uint64_t *wait_ms)
{
    *wait_ms = 0;
    if (child_applied(o, wanted->applied)) {
        note_print(m, wanted);
        if (!changed_by_others(m, wanted, o))
            return false;
    } else if (strcmp(m->applied_print, wanted->applied) != 0) {
        return true;
    }
    return heal_is_due(m, now_ms, wait_ms);
}
