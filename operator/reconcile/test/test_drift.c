/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of when an existing object is applied again: at once if what is wanted is new, after
 * growing pauses if others change it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "operator/reconcile/child.h"
#include "operator/reconcile/reconcile_private.h"

#include <stdio.h>

#define HOUR_MS 3600000

/* An object of the API server. */
struct object {
    const char *print;
    int64_t generation;
};

struct writer {
    struct child_memory m;
    struct wanted_print wanted;
    uint64_t wait_ms;
    unsigned applies;
};

static void want(struct writer *w, const char *print)
{
    snprintf(w->wanted.applied, sizeof(w->wanted.applied), "%s", print);
}

static struct child *keep_object(const struct object *o)
{
    json_t *json =
        json_pack("{s:{s:I, s:{s:s}}, s:{}}", "metadata", "generation", (json_int_t)o->generation,
                  "annotations", OBJECTS_APPLIED, o->print, "spec");
    struct child *c = child_keep(json, NULL, NULL);

    json_decref(json);
    return c;
}

/* One pass of the operator; true: it has applied its object. */
static bool pass(struct writer *w, struct object *o, uint64_t now_ms)
{
    struct child *c = keep_object(o);

    w->wanted.drift = c->drift;
    bool due = drift_is_due(&w->m, &w->wanted, c, now_ms, &w->wait_ms);
    child_unref(c);
    if (!due)
        return false;
    *o = (struct object){.print = w->wanted.applied, .generation = o->generation + 1};
    drift_note_applied(&w->m, &w->wanted, o->generation, w->wanted.drift);
    w->applies++;
    return true;
}

/* Both look at each change, and again after the time that they wait. */
static void run_both(struct writer *a, struct writer *b, struct object *o, uint64_t from_ms)
{
    for (uint64_t now_ms = from_ms; now_ms < from_ms + HOUR_MS;) {
        bool changed = pass(a, o, now_ms);

        changed = pass(b, o, now_ms) || changed;
        assert_in_range(a->applies + b->applies, 0, 48);
        if (changed)
            continue;
        assert_true(a->wait_ms || b->wait_ms);
        now_ms += a->wait_ms && (!b->wait_ms || a->wait_ms < b->wait_ms) ? a->wait_ms : b->wait_ms;
    }
}

/* Nine pauses from 1 s to 256 s take nine minutes, and each further one five. */
static void fight_from(uint64_t from_ms)
{
    struct writer a = {0}, b = {0};
    struct object o = {.print = "older", .generation = 1};

    want(&a, "a");
    want(&b, "b");
    run_both(&a, &b, &o, from_ms);
    assert_in_range(a.applies, 10, 24);
    assert_in_range(b.applies, 10, 24);
}

static void two_operators_that_want_different_things_apply_theirs_ever_more_rarely(void **state)
{
    fight_from(HOUR_MS);
}

static void they_do_so_too_when_their_node_has_just_booted(void **state)
{
    fight_from(0);
}

static void what_is_wanted_anew_is_applied_at_once_whatever_others_do(void **state)
{
    static const char *const versions[] = {"2", "3", "4", "3", "2", "1"};
    struct writer w = {0};
    struct object o = {.print = "older", .generation = 1};

    want(&w, "1");
    assert_true(pass(&w, &o, HOUR_MS));
    for (int i = 0; i < 3; i++) { /* the second one waits */
        o = (struct object){.print = "theirs", .generation = o.generation + 1};
        pass(&w, &o, HOUR_MS);
    }
    assert_int_equal(w.wait_ms, 1000);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        want(&w, versions[i]);
        assert_true(pass(&w, &o, HOUR_MS));
        o = (struct object){.print = "theirs", .generation = o.generation + 1};
        assert_false(pass(&w, &o, HOUR_MS));
    }
}

/* Its answer was lost, so only the object tells. */
static void what_the_object_shows_as_applied_counts_as_applied(void **state)
{
    struct writer w = {0};
    struct object o = {.print = "1", .generation = 1};

    want(&w, "1");
    assert_false(pass(&w, &o, HOUR_MS));
    assert_int_equal(w.wait_ms, 0);
    for (int i = 0; i < 2; i++) {
        o = (struct object){.print = "theirs", .generation = o.generation + 1};
        assert_int_equal(pass(&w, &o, HOUR_MS), i == 0);
    }
}

static void a_change_by_hand_is_undone_at_once_and_the_next_ones_after_pauses(void **state)
{
    static const uint64_t pauses_ms[] = {1000,  2000,   4000,   8000,   16000, 32000,
                                         64000, 128000, 256000, 300000, 300000};
    struct writer w = {0};
    struct object o = {.print = "1", .generation = 1};
    uint64_t now_ms = HOUR_MS;

    want(&w, "1");
    assert_false(pass(&w, &o, now_ms));
    for (size_t i = 0; i < sizeof(pauses_ms) / sizeof(pauses_ms[0]); i++) {
        o.generation++;
        assert_true(pass(&w, &o, now_ms));
        o.generation++;
        assert_false(pass(&w, &o, now_ms));
        assert_int_equal(w.wait_ms, pauses_ms[i]);
        now_ms += w.wait_ms;
    }
    now_ms += 700000; /* five minutes without a change begin anew */
    assert_true(pass(&w, &o, now_ms));
    o.generation++;
    assert_false(pass(&w, &o, now_ms));
    assert_int_equal(w.wait_ms, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_operators_that_want_different_things_apply_theirs_ever_more_rarely),
        cmocka_unit_test(they_do_so_too_when_their_node_has_just_booted),
        cmocka_unit_test(what_is_wanted_anew_is_applied_at_once_whatever_others_do),
        cmocka_unit_test(what_the_object_shows_as_applied_counts_as_applied),
        cmocka_unit_test(a_change_by_hand_is_undone_at_once_and_the_next_ones_after_pauses),
    };

    return cmocka_run_group_tests_name("drift", tests, NULL, NULL);
}
