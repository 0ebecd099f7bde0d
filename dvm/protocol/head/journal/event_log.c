/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbered events of one incarnation, in a ring of API_EVENTS_KEPT.
 *
 * In: an event's type, the daemon or the campaign that it is about. Out: one OUT_EVENT for each, by
 * which the driver wakes readers of the event stream; and the event itself, by its number.
 *
 * Numbers begin at 1 and have no gaps, so a reader can resume after the last number that it has
 * seen. A full ring forgets its oldest event. A reader that has missed events is notified by the
 * control API and reads the whole state again.
 *
 * The log holds copies and knows neither members nor jobs nor campaigns. */
#include "dvm/protocol/head/journal/event_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event_log {
    struct out *out;
    const struct incarnation *inc;
    struct api_event *ring; /* [API_EVENTS_KEPT] by number; 0: free */
    uint64_t next;
};

struct event_log *event_log_create(struct out *out, const struct incarnation *inc)
{
    struct event_log *log = xcalloc(1, sizeof(*log));

    log->out = out;
    log->inc = inc;
    log->ring = xcalloc(API_EVENTS_KEPT, sizeof(*log->ring));
    log->next = 1;
    return log;
}

void event_log_destroy(struct event_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < API_EVENTS_KEPT; i++) {
        if (log->ring[i].number)
            api_event_free(&log->ring[i]);
    }
    free(log->ring);
    free(log);
}

void event_log_add(struct event_log *log, enum api_event_type type, uint32_t vpid, uint64_t epoch,
                   struct api_campaign *record)
{
    struct api_event *e = &log->ring[log->next % API_EVENTS_KEPT];

    if (e->number)
        api_event_free(e);
    memset(e, 0, sizeof(*e));
    snprintf(e->incarnation, sizeof(e->incarnation), "%s", incarnation_text(log->inc));
    e->number = log->next++;
    e->time_ms = (int64_t)log->out->wall_ms;
    e->type = type;
    e->vpid = vpid;
    e->epoch = epoch;
    if (record) {
        e->has_campaign = true;
        e->campaign = *record;
        memset(record, 0, sizeof(*record));
    }
    out_add(log->out, OUT_EVENT)->event.number = e->number;
}

const struct api_event *event_log_get(const struct event_log *log, uint64_t number)
{
    const struct api_event *e = &log->ring[number % API_EVENTS_KEPT];

    return number && e->number == number ? e : NULL;
}

uint64_t event_log_next(const struct event_log *log)
{
    return log->next;
}
