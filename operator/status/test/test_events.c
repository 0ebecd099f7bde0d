/* SPDX-License-Identifier: BSD-3-Clause */
/* The Events of a condition that changes: which reason is a Warning. */
#include "operator/status/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void note_event(bool warning, enum reason reason, const char *note, void *arg)
{
    char *said = arg;
    size_t n = strlen(said);

    snprintf(said + n, 128 - n, "%s%s;", warning ? "!" : "", reason_word(reason));
}

static json_t *status_with(const char *type, const char *value, const char *reason)
{
    return json_pack("{s:[{s:s, s:s, s:s, s:s}]}", "conditions", "type", type, "status", value,
                     "reason", reason, "message", "m");
}

static void assert_events(const char *type, const char *before[2], const char *after[2],
                          const char *want)
{
    json_t *a = status_with(type, before[0], before[1]), *b = status_with(type, after[0], after[1]);
    char said[128] = "";

    status_events(a, b, note_event, said);
    assert_string_equal(said, want);
    json_decref(a);
    json_decref(b);
}

static void what_was_asked_for_is_no_warning(void **state)
{
    static const struct {
        const char *type, *reason, *want;
    } rows[] = {
        {"Available", "Forming", "Forming;"},
        {"Available", "HeadNotReady", "HeadNotReady;"},
        {"Available", "Suspended", ""}, /* the condition Suspended tells it */
        {"Available", "HeadUnreachable", "!HeadUnreachable;"},
        {"Available", "DaemonCrashes", "!DaemonCrashes;"},
        {"Progressing", "UpToDate", ""},
        {"Progressing", "OutdatedPods", ""},
        {"Progressing", "Suspended", ""},
        {"Progressing", "NotOwned", "!NotOwned;"},
        {"Progressing", "SecretNotRead", "!SecretNotRead;"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_events(rows[i].type, (const char *[]){"True", "Growing"},
                      (const char *[]){"False", rows[i].reason}, rows[i].want);
}

static void a_condition_that_keeps_its_value_and_reason_gives_no_event(void **state)
{
    assert_events("Progressing", (const char *[]){"False", "NotOwned"},
                  (const char *[]){"False", "NotOwned"}, "");
    assert_events("Available", (const char *[]){"False", "Forming"},
                  (const char *[]){"False", "HeadUnreachable"}, "");
}

static void trouble_that_only_degrades_is_a_warning_once(void **state)
{
    assert_events("Degraded", (const char *[]){"False", "AsExpected"},
                  (const char *[]){"True", "CertificateNotRenewed"}, "!CertificateNotRenewed;");
    assert_events("Degraded", (const char *[]){"True", "CertificateNotRenewed"},
                  (const char *[]){"True", "CertificateNotRenewed"}, "");
    assert_events("Degraded", (const char *[]){"True", "CertificateNotRenewed"},
                  (const char *[]){"False", "AsExpected"}, "");
    /* another condition's Event tells it */
    assert_events("Degraded", (const char *[]){"False", "AsExpected"},
                  (const char *[]){"True", "NotOwned"}, "");
}

static void each_word_is_that_of_one_reason(void **state)
{
    for (int r = REASON_NONE + 1; r < REASONS; r++)
        assert_int_equal(reason_of(reason_word((enum reason)r)), r);
    assert_int_equal(reason_of("OfALaterRelease"), REASON_NONE);
    assert_string_equal(reason_word(REASON_NONE), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_is_no_warning),
        cmocka_unit_test(a_condition_that_keeps_its_value_and_reason_gives_no_event),
        cmocka_unit_test(trouble_that_only_degrades_is_a_warning_once),
        cmocka_unit_test(each_word_is_that_of_one_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
