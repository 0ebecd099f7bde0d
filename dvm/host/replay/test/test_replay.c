/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of kept messages that may have to be sent again. */
#include "dvm/host/replay/replay.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "number=text " of each message that has to be sent again. */
static void note(uint64_t number, const void *data, size_t len, void *arg)
{
    char *text = arg;
    size_t at = strlen(text);

    snprintf(text + at, 256 - at, "%d=%.*s ", (int)number, (int)len, (const char *)data);
}

static void assert_again(const struct replay *r, const char *want)
{
    char got[256] = "";

    replay_each(r, note, got);
    assert_string_equal(got, want);
}

static void add(struct replay *r, enum replay_kind kind, const char *text)
{
    replay_add(r, kind, text, strlen(text));
}

static void an_unsent_message_cannot_be_acknowledged(void **state)
{
    struct replay *r = replay_create(0);

    assert_int_equal(replay_ack(r, 1), -1);
    add(r, REPLAY_ALWAYS, "a");
    assert_int_equal(replay_ack(r, 2), -1);
    assert_int_equal(replay_ack(r, UINT64_MAX), -1);
    assert_again(r, "1=a ");
    replay_destroy(r);
    replay_destroy(NULL);
}

static void an_earlier_acknowledgement_changes_nothing(void **state)
{
    struct replay *r = replay_create(0);

    add(r, REPLAY_ALWAYS, "a");
    add(r, REPLAY_OUTPUT, "b");
    add(r, REPLAY_OUTPUT, "c");
    assert_int_equal(replay_ack(r, 2), 0);
    assert_int_equal(replay_ack(r, 1), 0);
    assert_int_equal(replay_ack(r, 2), 0);
    assert_again(r, "3=c ");
    replay_destroy(r);
}

static void all_is_kept_until_it_is_acknowledged_and_no_longer(void **state)
{
    struct replay *r = replay_create(0);

    for (int i = 0; i < 1000; i++)
        add(r, i % 2 ? REPLAY_OUTPUT : REPLAY_STATE, "0123456789");
    assert_true(replay_owed(r) >= 10000);
    assert_int_equal(replay_owed(r), replay_kept(r));
    assert_int_equal(replay_last(r), 1000);
    assert_int_equal(replay_ack(r, 998), 0);
    assert_again(r, "999=0123456789 1000=0123456789 ");
    assert_int_equal(replay_ack(r, 1000), 0);
    assert_int_equal(replay_owed(r), 0);
    assert_int_equal(replay_kept(r), 0);
    assert_int_equal(replay_dropped(r), 0);
    replay_destroy(r);
}

static void the_latest_output_stays_within_its_bound_wherever_it_is_kept(void **state)
{
    struct replay *r = replay_create(4096);
    char text[100];

    add(r, REPLAY_ALWAYS, "name");
    for (int i = 0; i < 1000; i++) {
        memset(text, 'a' + i % 26, sizeof(text));
        replay_add(r, REPLAY_OUTPUT, text, sizeof(text));
        assert_true(replay_kept(r) <= 4096 + 200);
    }
    assert_true(replay_dropped(r) > 90000 && replay_dropped(r) < 100000);
    assert_int_equal(replay_ack(r, 1001), 0);
    assert_int_equal(replay_owed(r), 0);
    assert_again(r, "");
    replay_rewind(r);
    assert_int_equal(replay_owed(r), replay_kept(r));
    assert_true(replay_kept(r) > 3000);
    replay_destroy(r);
}

static void an_older_state_is_replaced_by_the_latest_and_its_number_is_skipped(void **state)
{
    struct replay *r = replay_create(4096);

    add(r, REPLAY_ALWAYS, "name");
    add(r, REPLAY_STATE, "waits");
    add(r, REPLAY_OUTPUT, "out");
    add(r, REPLAY_STATE, "runs");
    assert_again(r, "1=name 3=out 4=runs ");
    assert_int_equal(replay_ack(r, 2), 0);
    assert_again(r, "3=out 4=runs ");
    assert_int_equal(replay_dropped(r), 0);
    replay_destroy(r);
}

static void one_message_over_the_bound_drops_all_output_but_itself(void **state)
{
    struct replay *r = replay_create(16);

    add(r, REPLAY_OUTPUT, "old");
    add(r, REPLAY_OUTPUT, "a message that is longer than what is kept");
    assert_again(r, "2=a message that is longer than what is kept ");
    assert_int_equal(replay_dropped(r), 3);
    replay_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unsent_message_cannot_be_acknowledged),
        cmocka_unit_test(an_earlier_acknowledgement_changes_nothing),
        cmocka_unit_test(all_is_kept_until_it_is_acknowledged_and_no_longer),
        cmocka_unit_test(the_latest_output_stays_within_its_bound_wherever_it_is_kept),
        cmocka_unit_test(an_older_state_is_replaced_by_the_latest_and_its_number_is_skipped),
        cmocka_unit_test(one_message_over_the_bound_drops_all_output_but_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
