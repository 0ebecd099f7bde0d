/* SPDX-License-Identifier: BSD-3-Clause */
/* State machines by table: illegal pairs and broken tables, then steps and the graph. */
#include "base/fsm/fsm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OFF, ON, BROKEN };
enum { PRESS, HIT };
enum { ACT_NONE, ACT_LIGHT };

static const struct fsm_name states[] = {{OFF, "off"}, {ON, "on"}, {BROKEN, "broken"}};
static const struct fsm_name events[] = {{PRESS, "press"}, {HIT, "hit"}};
static const struct fsm_row rows[] = {
    {FSM_ANY, HIT, BROKEN, ACT_NONE},
    {OFF, PRESS, ON, ACT_LIGHT},
    {ON, PRESS, OFF, ACT_NONE},
    {BROKEN, HIT, OFF, ACT_NONE},
};

static struct fsm lamp_with(const struct fsm_row *r, size_t n)
{
    return (struct fsm){.name = "lamp",
                        .states = states,
                        .nstates = 3,
                        .events = events,
                        .nevents = 2,
                        .rows = r,
                        .nrows = n};
}

static struct fsm lamp(void)
{
    return lamp_with(rows, sizeof(rows) / sizeof(rows[0]));
}

static void an_illegal_pair_changes_nothing_and_is_named(void **state)
{
    struct fsm m = lamp();
    struct err err = {0};
    int s = BROKEN;
    int action = 77;

    assert_int_equal(fsm_step(&m, &s, PRESS, &action, &err), -1);
    assert_int_equal(s, BROKEN);
    assert_int_equal(action, 77);
    assert_string_equal(err.msg, "lamp: event press (0) is illegal in state broken (2)");
}

static void an_unknown_event_is_illegal(void **state)
{
    struct fsm m = lamp();
    struct err err = {0};
    int s = OFF;

    assert_int_equal(fsm_step(&m, &s, 9, NULL, &err), -1);
    assert_string_equal(err.msg, "lamp: event ? (9) is illegal in state off (0)");
}

static void assert_table_is_refused(struct fsm_row row, const char *why)
{
    const struct fsm_row two[] = {{OFF, PRESS, ON, 0}, row};
    struct fsm m = lamp_with(two, 2);
    struct err err = {0};

    assert_int_equal(fsm_check(&m, &err), -1);
    assert_string_equal(err.msg, why);
}

static void a_duplicate_pair_is_refused(void **state)
{
    assert_table_is_refused((struct fsm_row){OFF, PRESS, OFF, 0},
                            "lamp: rows 0 and 1 are both for state off, event press");
}

static void a_row_for_an_unknown_state_is_refused(void **state)
{
    assert_table_is_refused((struct fsm_row){8, PRESS, OFF, 0},
                            "lamp: row 1 is for unknown state 8");
}

static void a_row_to_an_unknown_state_is_refused(void **state)
{
    assert_table_is_refused((struct fsm_row){ON, PRESS, 8, 0},
                            "lamp: row 1 leads to unknown state 8");
}

static void a_row_to_any_state_is_refused(void **state)
{
    assert_table_is_refused((struct fsm_row){ON, PRESS, FSM_ANY, 0},
                            "lamp: row 1 leads to unknown state -1");
}

static void a_row_for_an_unknown_event_is_refused(void **state)
{
    assert_table_is_refused((struct fsm_row){ON, 8, OFF, 0}, "lamp: row 1 is for unknown event 8");
}

static void unknown_values_have_a_question_mark(void **state)
{
    struct fsm m = lamp();

    assert_string_equal(fsm_state_name(&m, 8), "?");
    assert_string_equal(fsm_event_name(&m, 8), "?");
}

static void a_sound_table_passes(void **state)
{
    struct fsm m = lamp();

    assert_int_equal(fsm_check(&m, NULL), 0);
}

static void a_step_gives_the_next_state_and_the_action(void **state)
{
    struct fsm m = lamp();
    int s = OFF;
    int action = 77;

    assert_int_equal(fsm_step(&m, &s, PRESS, &action, NULL), 0);
    assert_int_equal(s, ON);
    assert_int_equal(action, ACT_LIGHT);
}

static void any_state_matches_when_there_is_no_own_row(void **state)
{
    struct fsm m = lamp();
    int s = ON;

    assert_int_equal(fsm_step(&m, &s, HIT, NULL, NULL), 0);
    assert_int_equal(s, BROKEN);
}

static void any_state_matches_only_below_the_boundary(void **state)
{
    const struct fsm_row hit[] = {{FSM_ANY, HIT, BROKEN, ACT_NONE}};
    struct fsm m = lamp_with(hit, 1);
    int s = BROKEN;

    m.any_below = BROKEN;
    assert_int_equal(fsm_step(&m, &s, HIT, NULL, NULL), -1);
    assert_int_equal(s, BROKEN);
    s = ON;
    assert_int_equal(fsm_step(&m, &s, HIT, NULL, NULL), 0);
    assert_int_equal(s, BROKEN);
}

static void an_own_row_wins_over_any_state(void **state)
{
    struct fsm m = lamp();
    int s = BROKEN;

    assert_int_equal(fsm_step(&m, &s, HIT, NULL, NULL), 0);
    assert_int_equal(s, OFF);
}

static void the_graph_has_the_rows_in_table_order(void **state)
{
    struct fsm m = lamp();
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    fsm_dump_dot(&m, out);
    fclose(out);
    assert_string_equal(text, "digraph \"lamp\" {\n"
                              "    \"*\" -> \"broken\" [label=\"hit\"];\n"
                              "    \"off\" -> \"on\" [label=\"press\"];\n"
                              "    \"on\" -> \"off\" [label=\"press\"];\n"
                              "    \"broken\" -> \"off\" [label=\"hit\"];\n"
                              "}\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_illegal_pair_changes_nothing_and_is_named),
        cmocka_unit_test(an_unknown_event_is_illegal),
        cmocka_unit_test(a_duplicate_pair_is_refused),
        cmocka_unit_test(a_row_for_an_unknown_state_is_refused),
        cmocka_unit_test(a_row_to_an_unknown_state_is_refused),
        cmocka_unit_test(a_row_to_any_state_is_refused),
        cmocka_unit_test(a_row_for_an_unknown_event_is_refused),
        cmocka_unit_test(unknown_values_have_a_question_mark),
        cmocka_unit_test(a_sound_table_passes),
        cmocka_unit_test(a_step_gives_the_next_state_and_the_action),
        cmocka_unit_test(any_state_matches_when_there_is_no_own_row),
        cmocka_unit_test(any_state_matches_only_below_the_boundary),
        cmocka_unit_test(an_own_row_wins_over_any_state),
        cmocka_unit_test(the_graph_has_the_rows_in_table_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
