/* SPDX-License-Identifier: BSD-3-Clause */
/* Number, cluster and end of one incarnation. All of it is in the journal: BEGIN or
 * MEMBERS, CLOCK, ENDING. */
#include "dvm/protocol/head/journal/incarnation.h"

#include <stdio.h>
#include <stdlib.h>

#define CLOCK_ERROR_MS 1000

struct incarnation {
    struct journal *journal;
    char *cluster;
    char text[17];
    uint64_t number;
    struct record_clock clock; /* the last moment that is recorded */
    bool ending;
    enum shutdown_why why;
    uint64_t at_ms;
};

static void set_number(struct incarnation *i, const char *cluster, uint64_t number)
{
    free(i->cluster);
    i->cluster = xstrdup(cluster);
    i->number = number;
    snprintf(i->text, sizeof(i->text), "%016llx", (unsigned long long)number);
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct incarnation *i = state;

    if (r->type == RECORD_BEGIN) {
        if (i->number)
            return err_set(err, "incarnation %s has begun", i->text);
        set_number(i, r->begin.cluster, r->begin.incarnation);
        i->clock = (struct record_clock){r->begin.now_ms, r->begin.wall_ms};
    } else if (r->type == RECORD_MEMBERS) {
        if (i->number)
            return err_set(err, "incarnation %s has begun", i->text);
        set_number(i, r->members.cluster, r->members.incarnation);
        i->clock = (struct record_clock){r->members.now_ms, r->members.wall_ms};
    } else if (r->type == RECORD_CLOCK) {
        i->clock = r->clock;
    } else if (r->type == RECORD_ENDING) {
        i->ending = true;
        i->why = r->ending.why;
        i->at_ms = r->ending.at_ms;
    }
    return 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct incarnation *i = state;

    buf_put_str(b, i->cluster);
    buf_put_u64(b, i->number);
    buf_put_u64(b, i->clock.now_ms);
    buf_put_u64(b, i->clock.wall_ms);
    buf_put_u8(b, i->ending);
    buf_put_u8(b, (uint8_t)i->why);
    buf_put_u64(b, i->at_ms);
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct incarnation *i = state;
    FREE_AUTO char *cluster = cur_str(c, API_NAME_MAX);

    set_number(i, cluster, cur_u64(c));
    i->clock.now_ms = msg_get_moment(c);
    i->clock.wall_ms = msg_get_moment(c);
    i->ending = msg_get_flag(c);
    i->why = (enum shutdown_why)msg_get_enum(c, SHUTDOWN_WHYS);
    i->at_ms = cur_u64(c);
    return 0;
}

struct incarnation *incarnation_create(struct journal *j)
{
    struct incarnation *i = xcalloc(1, sizeof(*i));
    struct journal_part part = {i, fold_record, save_state, load_state};

    i->journal = j;
    set_number(i, "", 0);
    journal_add_part(j, &part);
    return i;
}

void incarnation_destroy(struct incarnation *i)
{
    if (!i)
        return;
    free(i->cluster);
    free(i);
}

const char *incarnation_cluster(const struct incarnation *i)
{
    return i->cluster;
}

const char *incarnation_text(const struct incarnation *i)
{
    return i->text;
}

struct epoch incarnation_epoch(const struct incarnation *i, uint64_t ctr)
{
    return (struct epoch){i->number, ctr};
}

int64_t incarnation_clock_ahead(const struct incarnation *i, uint64_t now_ms, uint64_t wall_ms)
{
    uint64_t age_ms = wall_ms > i->clock.wall_ms ? wall_ms - i->clock.wall_ms : 0;

    return (int64_t)(i->clock.now_ms + age_ms) - (int64_t)now_ms;
}

void incarnation_note_clock(struct incarnation *i, uint64_t now_ms, uint64_t wall_ms,
                            bool has_records)
{
    struct record r = {.type = RECORD_CLOCK, .clock = {now_ms, wall_ms}};
    int64_t age_ms = (int64_t)(now_ms - i->clock.now_ms);
    int64_t set_ms = (int64_t)(wall_ms - i->clock.wall_ms) - age_ms;

    if ((has_records && age_ms >= CLOCK_ERROR_MS) || llabs(set_ms) >= CLOCK_ERROR_MS)
        journal_note(i->journal, &r);
}

uint64_t incarnation_number(const struct incarnation *i)
{
    return i->number;
}

bool incarnation_end(struct incarnation *i, enum shutdown_why why, uint64_t at_ms)
{
    bool news = !i->ending;
    struct record r = {
        .type = RECORD_ENDING,
        .ending = {news ? why : i->why, news || at_ms < i->at_ms ? at_ms : i->at_ms}};

    journal_note(i->journal, &r);
    return news;
}

bool incarnation_ending(const struct incarnation *i)
{
    return i->ending;
}

uint64_t incarnation_ends_at(const struct incarnation *i)
{
    return i->at_ms;
}

enum shutdown_why incarnation_why(const struct incarnation *i)
{
    return i->why;
}
