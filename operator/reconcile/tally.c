/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the Kubernetes Events of one cluster.
 *
 * In: reason and text of each Event, and the time. Out: the object that is written for it, its
 * count, and whether it is written now.
 *
 * An Event with the text of the last one of its reason counts that up. Another text is a new Event,
 * up to TALLY_TEXTS_MAX of them; further ones count the last one up. A reason without an Event for
 * TALLY_WINDOW_MS begins anew. Writes are bounded for all reasons together: TALLY_BURST at once,
 * then one in TALLY_REFILL_MS.
 *
 * Invariants: a count has every Event, also those that were not sent. At most TALLY_ROWS reasons
 * are remembered; the one that is silent for the longest time makes room. */
#include "operator/reconcile/tally.h"

#include "base/buf/buf.h"
#include "base/span/span.h"

#include <stdlib.h>
#include <string.h>

#define TALLY_ROWS 8

struct tally_row {
    enum reason reason; /* NONE: the row is free */
    char *note;
    uint64_t first_ms, last_ms;
    uint64_t serial;
    unsigned count;
    unsigned texts;
    bool similar;
};

struct tally {
    struct tally_row rows[TALLY_ROWS];
    uint64_t serial;
    uint64_t full_ms; /* when TALLY_BURST writes are allowed again */
};

void tally_destroy(struct tally *t)
{
    for (int i = 0; t && i < TALLY_ROWS; i++)
        free(t->rows[i].note);
    free(t);
}

/* The row of the reason, or the one that makes room for it. */
static struct tally_row *find_row(struct tally *t, enum reason reason)
{
    struct tally_row *oldest = &t->rows[0];

    for (int i = 0; i < TALLY_ROWS; i++) {
        if (t->rows[i].reason == reason)
            return &t->rows[i];
        if (t->rows[i].last_ms < oldest->last_ms)
            oldest = &t->rows[i];
    }
    free(oldest->note);
    *oldest = (struct tally_row){.reason = reason};
    return oldest;
}

/* Counts the Event in its row, as a new object or as one more of the last. */
static void count_event(struct tally *t, struct tally_row *row, const char *note, uint64_t now_ms)
{
    bool stale = now_ms > row->last_ms + TALLY_WINDOW_MS;
    bool same = row->note && strcmp(row->note, note) == 0;

    if (stale)
        row->texts = 0;
    if (stale || (!same && row->texts < TALLY_TEXTS_MAX)) {
        row->texts++;
        row->serial = ++t->serial;
        row->count = 0;
        row->first_ms = now_ms;
        row->similar = false;
    }
    row->count++;
    row->similar = row->similar || (!same && row->count > 1);
    row->last_ms = now_ms;
    free(row->note);
    row->note = xstrdup(note);
}

static bool write_allowed(struct tally *t, uint64_t now_ms)
{
    if (t->full_ms < now_ms)
        t->full_ms = now_ms;
    if (t->full_ms + TALLY_REFILL_MS > now_ms + (uint64_t)TALLY_BURST * TALLY_REFILL_MS)
        return false;
    t->full_ms += TALLY_REFILL_MS;
    return true;
}

bool tally_take(struct tally **tp, enum reason reason, const char *note, uint64_t now_ms,
                struct tally_write *out)
{
    if (!*tp)
        *tp = xcalloc(1, sizeof(**tp));
    struct tally *t = *tp;
    struct tally_row *row = find_row(t, reason);

    count_event(t, row, note, now_ms);
    *out = (struct tally_write){.serial = row->serial,
                                .count = row->count,
                                .age_ms = span_ms(row->first_ms, now_ms),
                                .similar = row->similar};
    return write_allowed(t, now_ms);
}
