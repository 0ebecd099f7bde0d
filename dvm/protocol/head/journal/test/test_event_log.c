/* SPDX-License-Identifier: BSD-3-Clause */
/* Events that are refused, and how they come back from a snapshot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/head/journal/event_log.h"
#include "dvm/protocol/head/journal/incarnation.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_AT 10 /* the first number in a snapshot, behind its type, layout and two lengths */

struct log {
    struct out out;
    struct journal *own, *journal; /* of the incarnation, which is no part here; of the events */
    struct incarnation *incarnation;
    struct event_log *events;
};

static void log_open(struct log *l)
{
    *l = (struct log){0};
    l->out.now_ms = l->out.wall_ms = 1000;
    l->own = journal_create(&l->out);
    l->incarnation = incarnation_create(l->own);
    l->journal = journal_create(&l->out);
    l->events = event_log_create(l->journal, &l->out, l->incarnation);
}

static void log_close(struct log *l)
{
    event_log_destroy(l->events);
    journal_destroy(l->journal);
    incarnation_destroy(l->incarnation);
    journal_destroy(l->own);
    out_free(&l->out);
}

static struct buf snapshot_of(const struct log *l)
{
    struct buf b;

    buf_init(&b, RECORD_BYTES_MAX);
    journal_snapshot(l->journal, &b);
    assert_false(b.failed);
    return b;
}

static void an_event_that_its_own_codec_refuses_is_not_appended(void **state)
{
    struct log l;

    log_open(&l);
    event_log_add(l.events, API_EVENT_CAMPAIGN_COMPLETE, 0, 0, NULL); /* of which campaign? */
    assert_int_equal(event_log_next(l.events), 1);
    assert_null(event_log_get(l.events, 1));
    event_log_add_loss(l.events, 3, 2, "its link broke");
    assert_int_equal(event_log_next(l.events), 2);
    log_close(&l);
}

static void a_snapshot_with_an_event_in_the_place_of_another_is_refused(void **state)
{
    struct err err = {0};
    struct log l, again;
    struct buf b;

    log_open(&l);
    event_log_add_loss(l.events, 3, 2, "its link broke");
    b = snapshot_of(&l);
    b.data[FIRST_AT + 7] = 2; /* the first event, 1 in its own text */
    b.data[FIRST_AT + 15] = 3;
    log_open(&again);
    assert_int_equal(journal_replay(again.journal, b.data, b.len, &err), -1);
    assert_non_null(strstr(err.msg, "event 1 in the place of 2"));
    log_close(&again);
    buf_free(&b);
    log_close(&l);
}

static void a_snapshot_has_the_last_events_with_their_numbers(void **state)
{
    const uint64_t n = API_EVENTS_KEPT + 3;
    struct err err = {0};
    struct log l, again;
    struct buf b;

    log_open(&l);
    for (uint64_t i = 1; i <= n; i++)
        event_log_add_loss(l.events, (uint32_t)i, i, "its link broke");
    b = snapshot_of(&l);
    log_open(&again);
    if (journal_replay(again.journal, b.data, b.len, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(event_log_next(again.events), n + 1);
    assert_null(event_log_get(again.events, 3));
    for (uint64_t i = 4; i <= n; i++) {
        const struct api_event *e = event_log_get(again.events, i);

        assert_non_null(e);
        assert_int_equal(e->vpid, i);
        assert_string_equal(e->cause, "its link broke");
    }
    log_close(&again);
    buf_free(&b);
    log_close(&l);
}

/* So many that the next one is the first that displaces one. */
static void the_first_event_is_kept_until_another_one_takes_its_place(void **state)
{
    struct err err = {0};
    struct log l, again;
    struct buf b;

    log_open(&l);
    for (uint64_t i = 1; i < API_EVENTS_KEPT; i++)
        event_log_add_loss(l.events, 1, i, "its link broke");
    b = snapshot_of(&l);
    log_open(&again);
    if (journal_replay(again.journal, b.data, b.len, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(event_log_get(again.events, 1)->epoch, 1);
    assert_int_equal(event_log_next(again.events), API_EVENTS_KEPT);
    log_close(&again);
    buf_free(&b);
    log_close(&l);
}

static void an_event_takes_the_content_of_its_campaign(void **state)
{
    static const struct api_campaign none = {0};
    struct api_campaign of = {.id = xstrdup("c"), .kind = API_KIND_SHRINK};
    struct log l;

    log_open(&l);
    event_log_add(l.events, API_EVENT_CAMPAIGN_COMPLETE, 0, 0, &of);
    assert_memory_equal(&of, &none, sizeof(of));
    assert_string_equal(event_log_get(l.events, 1)->campaign.id, "c");
    log_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_its_own_codec_refuses_is_not_appended),
        cmocka_unit_test(a_snapshot_with_an_event_in_the_place_of_another_is_refused),
        cmocka_unit_test(a_snapshot_has_the_last_events_with_their_numbers),
        cmocka_unit_test(the_first_event_is_kept_until_another_one_takes_its_place),
        cmocka_unit_test(an_event_takes_the_content_of_its_campaign),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
