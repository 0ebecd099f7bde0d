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
 * The log holds copies and knows neither members nor jobs nor campaigns. It is the fold of the
 * records EVENT. */
#include "dvm/protocol/head/journal/event_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept_event {
    struct api_event event; /* number 0: free */
    struct buf text;        /* as in its record */
};

struct event_log {
    struct journal *journal;
    struct out *out;
    const struct incarnation *inc;
    struct kept_event *ring; /* [API_EVENTS_KEPT] by number */
    uint64_t next;
};

static void drop_event(struct kept_event *k)
{
    api_event_free(&k->event);
    buf_free(&k->text);
    *k = (struct kept_event){0};
}

/* The event is copied by way of its own codec. */
static int keep_event(struct event_log *log, const struct api_event *e, struct err *err)
{
    struct kept_event *k = &log->ring[e->number % API_EVENTS_KEPT];
    struct kept_event now = {0};
    struct cur c;

    buf_init(&now.text, RECORD_BYTES_MAX);
    record_put_event(&now.text, e);
    c = cur_of(now.text.data, now.text.len);
    if (record_get_event(&c, &now.event, err) < 0) {
        drop_event(&now);
        return -1;
    }
    if (k->event.number)
        drop_event(k);
    *k = now;
    log->next = e->number + 1;
    return 0;
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct event_log *log = state;
    const struct api_event *e = &r->event.event;

    if (r->type != RECORD_EVENT)
        return 0;
    if (e->number != log->next)
        return err_set(err, "event %llu, the next one is %llu", (unsigned long long)e->number,
                       (unsigned long long)log->next);
    return keep_event(log, e, err);
}

static uint64_t first_kept(const struct event_log *log)
{
    return log->next > API_EVENTS_KEPT ? log->next - API_EVENTS_KEPT : 1;
}

static void save_state(const void *state, struct buf *b)
{
    const struct event_log *log = state;

    buf_put_u64(b, first_kept(log));
    buf_put_u64(b, log->next);
    for (uint64_t n = first_kept(log); n < log->next; n++) {
        const struct kept_event *k = &log->ring[n % API_EVENTS_KEPT];

        buf_put_raw(b, k->text.data, k->text.len);
    }
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct event_log *log = state;
    uint64_t first = cur_u64(c);
    uint64_t next = cur_u64(c);

    if (first == 0 || next < first || next - first > API_EVENTS_KEPT)
        return err_set(err, "events %llu to %llu", (unsigned long long)first,
                       (unsigned long long)next);
    for (log->next = first; log->next < next;) {
        struct api_event e = {0};
        int rc = record_get_event(c, &e, err);

        if (rc == 0 && e.number != log->next)
            rc = err_set(err, "event %llu in the place of %llu", (unsigned long long)e.number,
                         (unsigned long long)log->next);
        if (rc == 0)
            rc = keep_event(log, &e, err);
        api_event_free(&e);
        if (rc < 0)
            return -1;
    }
    return 0;
}

struct event_log *event_log_create(struct journal *j, struct out *out,
                                   const struct incarnation *inc)
{
    struct event_log *log = xcalloc(1, sizeof(*log));
    struct journal_part part = {log, fold_record, save_state, load_state};

    log->journal = j;
    log->out = out;
    log->inc = inc;
    log->ring = xcalloc(API_EVENTS_KEPT, sizeof(*log->ring));
    log->next = 1;
    journal_add_part(j, &part);
    return log;
}

void event_log_destroy(struct event_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < API_EVENTS_KEPT; i++) {
        if (log->ring[i].event.number)
            drop_event(&log->ring[i]);
    }
    free(log->ring);
    free(log);
}

/* Completes the event, which is taken, and appends it. */
static void append_event(struct event_log *log, struct api_event *event)
{
    struct record r = {.type = RECORD_EVENT, .event.event = *event};
    struct api_event *e = &r.event.event;
    uint64_t number = log->next;

    e->number = number;
    e->time_ms = (int64_t)log->out->wall_ms;
    snprintf(e->incarnation, sizeof(e->incarnation), "%s", incarnation_text(log->inc));
    journal_note(log->journal, &r);
    api_event_free(e);
    if (log->next > number)
        out_add(log->out, OUT_EVENT)->event.number = number;
}

void event_log_add(struct event_log *log, enum api_event_type type, uint32_t vpid, uint64_t epoch,
                   struct api_campaign *record)
{
    struct api_event e = {.type = type, .vpid = vpid, .epoch = epoch};

    if (record) {
        e.has_campaign = true;
        e.campaign = *record;
        memset(record, 0, sizeof(*record));
    }
    append_event(log, &e);
}

void event_log_add_loss(struct event_log *log, uint32_t vpid, uint64_t epoch, const char *cause)
{
    struct api_event e = {.type = API_EVENT_DAEMON_LOST, .vpid = vpid, .epoch = epoch};

    e.cause = cause ? xstrdup(cause) : NULL;
    append_event(log, &e);
}

const struct api_event *event_log_get(const struct event_log *log, uint64_t number)
{
    const struct api_event *e = &log->ring[number % API_EVENTS_KEPT].event;

    return number && e->number == number ? e : NULL;
}

uint64_t event_log_next(const struct event_log *log)
{
    return log->next;
}
