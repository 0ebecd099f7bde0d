/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon at its place in the tree over the participants: what it waits for, tells and answers.
 * With radix 2, 8 participants: 0: 1 2, 1: 3 4, 2: 5 6, 3: 7. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/gather/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VPIDS 8

static const uint32_t all[VPIDS] = {0, 1, 2, 3, 4, 5, 6, 7};

struct world {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct gather *gather;
    char text[512];
    size_t len;
};

static struct world *make_world(uint32_t self)
{
    struct world *w = xcalloc(1, sizeof(*w));

    w->out.now_ms = 1000;
    members_init(&w->members, self, 2);
    for (uint32_t v = 0; v < VPIDS; v++) {
        struct msg_member m = {.vpid = v, .epoch = {1, 1 + v}, .host = "h", .address = ""};

        members_add(&w->members, &m, 1);
    }
    w->neighbours = neighbours_create(&w->out);
    w->rml = rml_create(&w->out, &w->members, w->neighbours, 0);
    w->gather = gather_create(&w->out, w->rml, &w->members);
    return w;
}

static void end_world(struct world *w)
{
    gather_destroy(w->gather);
    rml_destroy(w->rml);
    neighbours_destroy(w->neighbours);
    members_free(&w->members);
    out_free(&w->out);
    free(w);
}

static void lose_member(struct world *w, uint32_t vpid)
{
    struct msg_target gone = {vpid, {1, 1 + vpid}};

    assert_int_equal(members_remove(&w->members, &gone, 1, MEMBER_EV_LOSE), 1);
}

static const char *outcome_word(enum gather_outcome o)
{
    return o == GATHER_OK ? "OK" : o == GATHER_LOST ? "LOST" : "TIMEOUT";
}

static void add_text(struct world *w, const char *kind, unsigned number, enum gather_outcome o,
                     const void *data, size_t len)
{
    w->len += (size_t)snprintf(w->text + w->len, sizeof(w->text) - w->len, "%s %u %s %.*s; ", kind,
                               number, outcome_word(o), (int)len, len ? (const char *)data : "");
}

static void note_message(void *arg, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct world *w = arg;
    struct frame f;
    struct msg m;

    assert_int_equal(frame_decode(&c, &f, NULL), 0);
    assert_int_equal(msg_decode(&c, f.type, &m, NULL), 0);
    if (m.type == MSG_GATHER_UP)
        add_text(w, "up", f.dst, m.gather_up.outcome, m.gather_up.data, m.gather_up.len);
    else
        add_text(w, "down", f.dst, m.gather_down.outcome, m.gather_down.data, m.gather_down.len);
    msg_free(&m);
}

/* The messages and answers of this daemon since the last call, as text: "up VPID OUTCOME DATA;
 * answer REQUEST …". */
static const char *take_said(struct world *w)
{
    struct out_act act;

    w->len = 0;
    *w->text = '\0';
    for (uint32_t v = 0; v < VPIDS; v++) {
        rml_each_unacked(w->rml, v, CLASS_MODEX, note_message, w);
        rml_forget(w->rml, v);
    }
    while (out_take(&w->out, &act)) {
        if (act.kind == OUT_GATHER)
            add_text(w, "answer", (unsigned)act.gather.req, act.gather.outcome,
                     act.gather.data.data, act.gather.data.len);
        out_act_free(&act);
    }
    return w->text;
}

static void start_with(struct world *w, uint64_t req, size_t n, uint64_t timeout_ms)
{
    struct gather_call call = {.req = req,
                               .sig = "sig",
                               .siglen = 3,
                               .n = n,
                               .vpids = all,
                               .data = "own",
                               .len = 3,
                               .timeout_ms = timeout_ms};

    gather_start(w->gather, &call);
}

static void start_collective(struct world *w, uint64_t req)
{
    start_with(w, req, VPIDS, 0);
}

static void up_with(struct world *w, uint32_t from, uint64_t seq, size_t n,
                    enum gather_outcome outcome, const char *data)
{
    uint32_t *vpids = xmalloc(n * sizeof(*vpids)); /* so that a read beyond it is seen */
    struct msg_gather m = {.seq = seq,
                           .sig = (const uint8_t *)"sig",
                           .siglen = 3,
                           .outcome = outcome,
                           .nvpids = n,
                           .vpids = vpids,
                           .data = (const uint8_t *)data,
                           .len = strlen(data)};

    memcpy(vpids, all, n * sizeof(*vpids));
    gather_up(w->gather, from, &m);
    free(vpids);
}

static void send_up(struct world *w, uint32_t from, const char *data)
{
    up_with(w, from, 1, VPIDS, GATHER_OK, data);
}

static void send_down(struct world *w, uint32_t from, uint64_t seq, enum gather_outcome outcome,
                      const char *data)
{
    struct msg_gather m = {.seq = seq,
                           .sig = (const uint8_t *)"sig",
                           .siglen = 3,
                           .outcome = outcome,
                           .data = (const uint8_t *)data,
                           .len = strlen(data)};

    gather_down(w->gather, from, &m);
}

static void a_participant_contributes_when_its_own_children_have(void **state)
{
    static const struct {
        uint32_t self, parent, children[2];
        size_t n;
    } rows[] = {
        {1, 0, {3, 4}, 2}, {2, 0, {5, 6}, 2}, {3, 1, {7}, 1}, {4, 1, {0}, 0}, {7, 3, {0}, 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct world *w = make_world(rows[i].self);
        char want[64];

        start_collective(w, 1);
        for (size_t k = 0; k < rows[i].n; k++) {
            assert_string_equal(take_said(w), "");
            send_up(w, rows[i].children[k], "x");
        }
        snprintf(want, sizeof(want), "up %u OK own%.*s; ", rows[i].parent, (int)rows[i].n, "xx");
        assert_string_equal(take_said(w), want);
        end_world(w);
    }
}

static void a_contribution_that_does_not_name_its_sender_is_dropped(void **state)
{
    struct world *w = make_world(0);

    start_with(w, 1, 2, 0);
    up_with(w, 2, 1, 2, GATHER_OK, "x");
    assert_string_equal(take_said(w), "");
    up_with(w, 1, 1, 2, GATHER_OK, "y");
    assert_string_equal(take_said(w), "down 1 OK owny; answer 1 OK owny; ");
    end_world(w);
}

static void the_outcome_goes_down_the_tree_with_its_data(void **state)
{
    static const struct {
        uint32_t self, from;
        const char *want;
    } rows[] = {{1, 0, "down 3 OK all; down 4 OK all; answer 1 OK all; "},
                {2, 0, "down 5 OK all; down 6 OK all; answer 1 OK all; "},
                {3, 1, "down 7 OK all; answer 1 OK all; "},
                {4, 1, "answer 1 OK all; "},
                {7, 3, "answer 1 OK all; "}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct world *w = make_world(rows[i].self);

        start_collective(w, 1);
        (void)take_said(w);
        send_down(w, rows[i].from, 1, GATHER_OK, "all");
        assert_string_equal(take_said(w), rows[i].want);
        end_world(w);
    }
}

static void an_outcome_comes_from_the_decider_or_the_parent_alone(void **state)
{
    static const uint32_t others[] = {2, 4, 7};
    struct world *w = make_world(3);

    start_collective(w, 1);
    for (size_t i = 0; i < 3; i++)
        send_down(w, others[i], 1, GATHER_LOST, "");
    assert_string_equal(take_said(w), "");
    send_down(w, 0, 1, GATHER_TIMEOUT, "");
    assert_string_equal(take_said(w), "answer 1 TIMEOUT ; ");
    start_collective(w, 2);
    send_down(w, 1, 2, GATHER_LOST, "");
    assert_string_equal(take_said(w), "answer 2 LOST ; ");
    end_world(w);
    w = make_world(0);
    start_collective(w, 1);
    send_down(w, 1, 1, GATHER_LOST, ""); /* it decides itself */
    assert_string_equal(take_said(w), "");
    end_world(w);
}

static void an_outcome_before_the_own_contribution_is_never_good(void **state)
{
    struct world *w = make_world(3);

    send_down(w, 1, 1, GATHER_OK, "all");
    send_down(w, 1, 2, GATHER_TIMEOUT, "");
    assert_string_equal(take_said(w), "");
    start_collective(w, 1);
    start_collective(w, 2);
    assert_string_equal(take_said(w), "answer 1 LOST ; answer 2 TIMEOUT ; ");
    end_world(w);
}

/* A contribution that was refused ends a collective as LOST, and later ones may time out. */
static void the_outcomes_of_the_last_64_collectives_are_known_to_one_that_is_late(void **state)
{
    struct world *w = make_world(3);

    for (uint64_t seq = 1; seq <= 70; seq++)
        send_down(w, 0, seq, seq % 3 ? GATHER_LOST : GATHER_TIMEOUT, "");
    (void)take_said(w);
    for (uint64_t seq = 1; seq <= 70; seq++) {
        char want[64];

        snprintf(want, sizeof(want), "answer %u %s ; ", (unsigned)seq,
                 seq <= 6 || seq % 3 == 0 ? "TIMEOUT" : "LOST");
        start_collective(w, seq);
        assert_string_equal(take_said(w), want);
    }
    end_world(w);
}

static void the_decider_tells_a_bad_outcome_to_each_live_participant(void **state)
{
    struct world *w = make_world(0);

    start_with(w, 1, 5, 0);
    lose_member(w, 3);
    gather_lost(w->gather, 3);
    assert_string_equal(take_said(w), "down 1 LOST ; down 2 LOST ; down 4 LOST ; answer 1 LOST ; ");
    end_world(w);
}

static void the_decider_ends_a_collective_of_which_a_participant_reports_trouble(void **state)
{
    struct world *w = make_world(0);

    start_with(w, 1, 3, 0);
    up_with(w, 2, 1, 3, GATHER_TIMEOUT, "");
    assert_string_equal(take_said(w), "down 1 TIMEOUT ; down 2 TIMEOUT ; answer 1 TIMEOUT ; ");
    end_world(w);
}

/* Without relays nobody can miss the data. */
static void the_decider_keeps_the_last_good_data_if_there_are_relays(void **state)
{
    for (size_t n = 3; n <= 4; n++) {
        struct world *w = make_world(0);

        for (uint64_t seq = 1; seq <= 2; seq++) {
            start_with(w, seq, n, 0);
            up_with(w, 1, seq, n, GATHER_OK, "x");
            up_with(w, 2, seq, n, GATHER_OK, "y");
            (void)take_said(w);
        }
        up_with(w, 1, 2, n, GATHER_OK, "x"); /* again: it has the outcome */
        assert_string_equal(take_said(w), "");
        up_with(w, 1, 2, n, GATHER_LOST, ""); /* it has lost its relay */
        assert_string_equal(take_said(w), n == 3 ? "down 1 OK ; " : "down 1 OK ownxy; ");
        up_with(w, 1, 1, n, GATHER_OK, "x"); /* not the last one any more */
        assert_string_equal(take_said(w), "down 1 LOST ; ");
        end_world(w);
    }
}

static void a_timeout_is_reported_to_the_decider_once_and_answered_by_it(void **state)
{
    struct world *w = make_world(1);

    start_with(w, 1, VPIDS, 0);
    assert_int_equal(gather_deadline(w->gather), 1000 + GATHER_ASK_MS);
    start_with(w, 2, VPIDS, 90);
    start_with(w, 3, VPIDS, 50);
    start_with(w, 4, VPIDS, 70);
    assert_int_equal(gather_deadline(w->gather), 1050);
    w->out.now_ms = 1049;
    gather_tick(w->gather);
    assert_string_equal(take_said(w), "");
    w->out.now_ms = 1050;
    gather_tick(w->gather);
    assert_string_equal(take_said(w), "up 0 TIMEOUT ; ");
    assert_int_equal(gather_deadline(w->gather), 1070);
    gather_tick(w->gather);
    assert_string_equal(take_said(w), "");
    send_down(w, 0, 3, GATHER_TIMEOUT, "");
    assert_string_equal(take_said(w), "answer 3 TIMEOUT ; ");
    end_world(w);
}

static void without_a_decider_a_collective_is_lost(void **state)
{
    struct world *w = make_world(3);

    lose_member(w, 0);
    start_collective(w, 1);
    assert_string_equal(take_said(w), "answer 1 LOST ; ");
    end_world(w);
    w = make_world(3);
    start_collective(w, 1);
    gather_lost(w->gather, 0);
    assert_string_equal(take_said(w), "answer 1 LOST ; ");
    end_world(w);
    w = make_world(3);
    start_with(w, 1, VPIDS, 50);
    lose_member(w, 0);
    w->out.now_ms = 1050;
    gather_tick(w->gather);
    assert_string_equal(take_said(w), "answer 1 LOST ; ");
    end_world(w);
}

static void a_contribution_without_a_parent_is_a_loss_for_the_decider(void **state)
{
    struct world *w = make_world(3);

    start_collective(w, 1);
    lose_member(w, 1);
    send_up(w, 7, "x");
    assert_string_equal(take_said(w), "up 0 LOST ; ");
    end_world(w);
}

static void the_loss_of_a_relay_on_the_own_way_is_reported_and_no_other(void **state)
{
    static const struct {
        uint32_t self, lost;
        bool reported;
    } rows[] = {{3, 1, true},  {7, 1, true},  {7, 3, true},
                {3, 2, false}, {3, 7, false}, {4, 3, false}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct world *w = make_world(rows[i].self);

        start_collective(w, 1);
        (void)take_said(w);
        lose_member(w, rows[i].lost);
        gather_lost(w->gather, rows[i].lost);
        assert_string_equal(take_said(w), rows[i].reported ? "up 0 LOST ; " : "");
        end_world(w);
    }
}

static void the_loss_of_a_daemon_outside_changes_nothing(void **state)
{
    struct world *w = make_world(0);

    start_with(w, 1, 3, 0);
    lose_member(w, 5);
    gather_lost(w->gather, 5);
    assert_string_equal(take_said(w), "");
    assert_int_equal(gather_running(w->gather), 1);
    end_world(w);
}

static void before_the_own_contribution_only_the_decider_reports_a_loss(void **state)
{
    struct world *w = make_world(3);

    send_up(w, 7, "x");
    gather_lost(w->gather, 1);
    assert_string_equal(take_said(w), "");
    gather_lost(w->gather, 5);
    assert_int_equal(gather_running(w->gather), 1);
    end_world(w);
    w = make_world(0);
    send_up(w, 1, "x");
    lose_member(w, 5);
    gather_lost(w->gather, 5);
    assert_non_null(strstr(take_said(w), "down 1 LOST ; down 2 LOST ; "));
    end_world(w);
}

static void contributions_to_other_participants_leave_no_data(void **state)
{
    struct world *w = make_world(0);

    up_with(w, 1, 1, 3, GATHER_OK, "other");
    start_with(w, 1, 2, 0);
    assert_string_equal(take_said(w), "");
    up_with(w, 1, 1, 2, GATHER_OK, "x");
    assert_string_equal(take_said(w), "down 1 OK ownx; answer 1 OK ownx; ");
    end_world(w);
}

static void of_too_many_told_outcomes_the_oldest_is_forgotten(void **state)
{
    struct world *w = make_world(3);
    struct gather_call call = {.n = VPIDS, .vpids = all, .data = "own", .len = 3};
    char sig[16];

    for (unsigned i = 0; i <= GATHER_TOLD_MAX; i++) {
        struct msg_gather m = {.seq = 1, .outcome = GATHER_LOST, .sig = (uint8_t *)sig};

        m.siglen = (size_t)snprintf(sig, sizeof(sig), "s%u", i);
        gather_down(w->gather, 1, &m);
    }
    assert_int_equal(gather_signatures(w->gather), GATHER_TOLD_MAX);
    for (unsigned i = 0; i < 2; i++) {
        call.req = i;
        call.sig = sig;
        call.siglen = (size_t)snprintf(sig, sizeof(sig), "s%u", i);
        gather_start(w->gather, &call);
        assert_string_equal(take_said(w), i ? "answer 1 LOST ; " : "");
    }
    end_world(w);
    gather_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_participant_contributes_when_its_own_children_have),
        cmocka_unit_test(a_contribution_that_does_not_name_its_sender_is_dropped),
        cmocka_unit_test(the_outcome_goes_down_the_tree_with_its_data),
        cmocka_unit_test(an_outcome_comes_from_the_decider_or_the_parent_alone),
        cmocka_unit_test(an_outcome_before_the_own_contribution_is_never_good),
        cmocka_unit_test(the_outcomes_of_the_last_64_collectives_are_known_to_one_that_is_late),
        cmocka_unit_test(the_decider_tells_a_bad_outcome_to_each_live_participant),
        cmocka_unit_test(the_decider_ends_a_collective_of_which_a_participant_reports_trouble),
        cmocka_unit_test(the_decider_keeps_the_last_good_data_if_there_are_relays),
        cmocka_unit_test(a_timeout_is_reported_to_the_decider_once_and_answered_by_it),
        cmocka_unit_test(without_a_decider_a_collective_is_lost),
        cmocka_unit_test(a_contribution_without_a_parent_is_a_loss_for_the_decider),
        cmocka_unit_test(the_loss_of_a_relay_on_the_own_way_is_reported_and_no_other),
        cmocka_unit_test(the_loss_of_a_daemon_outside_changes_nothing),
        cmocka_unit_test(before_the_own_contribution_only_the_decider_reports_a_loss),
        cmocka_unit_test(contributions_to_other_participants_leave_no_data),
        cmocka_unit_test(of_too_many_told_outcomes_the_oldest_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
