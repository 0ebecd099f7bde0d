/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that end instead of contributing: their daemon contributes for them. With radix 2, 8
 * participants: 0: 1 2, 1: 3 4, 2: 5 6, 3: 7. */
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

/* A fence of all ranks of job "j". */
static const char fence[] = "fj\0\xff\xff\xff\xfe";
#define FENCE_LEN (sizeof(fence) - 1)

static uint32_t all[VPIDS] = {0, 1, 2, 3, 4, 5, 6, 7};

struct world {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct gather *gather;
    unsigned ranks; /* what the ranks here are */
    char text[512];
    size_t len;
};

static unsigned ranks_of(void *arg, const char *nspace, uint32_t rank)
{
    const struct world *w = arg;

    assert_string_equal(nspace, "j");
    assert_int_equal(rank, GATHER_RANK_ALL);
    return w->ranks;
}

static struct world *make_world(uint32_t self, unsigned ranks)
{
    struct world *w = xcalloc(1, sizeof(*w));

    w->out.now_ms = 1000;
    w->ranks = ranks;
    members_init(&w->members, self, 2);
    for (uint32_t v = 0; v < VPIDS; v++) {
        struct msg_member m = {.vpid = v, .epoch = {1, 1 + v}, .host = "h", .address = ""};

        members_add(&w->members, &m, 1);
    }
    w->neighbours = neighbours_create(&w->out);
    w->rml = rml_create(&w->out, &w->members, w->neighbours, 0);
    w->gather = gather_create(&w->out, w->rml, &w->members);
    gather_stand_in(w->gather, ranks_of, w);
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

static void add_text(struct world *w, const char *kind, unsigned number, enum gather_outcome o,
                     const void *data, size_t len)
{
    static const char *const words[] = {"OK", "LOST", "TIMEOUT", "ENDED", "WAITS"};

    w->len += (size_t)snprintf(w->text + w->len, sizeof(w->text) - w->len, "%s %u %s %.*s; ", kind,
                               number, words[o], (int)len, len ? (const char *)data : "");
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

/* What this daemon has said since the last call: "up VPID OUTCOME DATA; answer REQUEST …". */
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

static void start(struct world *w, uint64_t req)
{
    struct gather_call call = {.req = req,
                               .sig = fence,
                               .siglen = FENCE_LEN,
                               .n = VPIDS,
                               .vpids = all,
                               .data = "own",
                               .len = 3};

    gather_start(w->gather, &call);
}

static struct msg_gather message(uint64_t seq, enum gather_outcome outcome, const char *data)
{
    return (struct msg_gather){.seq = seq,
                               .sig = (const uint8_t *)fence,
                               .siglen = FENCE_LEN,
                               .outcome = outcome,
                               .nvpids = VPIDS,
                               .vpids = all,
                               .data = (const uint8_t *)data,
                               .len = strlen(data)};
}

static void ask(struct world *w, uint32_t from, uint64_t seq)
{
    struct msg_gather m = message(seq, GATHER_WAITS, "");

    gather_down(w->gather, from, &m);
}

static void send_up(struct world *w, uint32_t from, enum gather_outcome outcome, const char *data)
{
    struct msg_gather m = message(1, outcome, data);

    gather_up(w->gather, from, &m);
}

static void send_down(struct world *w, uint32_t from, enum gather_outcome outcome, const char *data)
{
    struct msg_gather m = message(1, outcome, data);

    gather_down(w->gather, from, &m);
}

static void pass_time(struct world *w, uint64_t ms)
{
    w->out.now_ms += ms;
    if (gather_deadline(w->gather) <= w->out.now_ms)
        gather_tick(w->gather);
}

static void one_that_waits_asks_its_children_once(void **state)
{
    struct world *w = make_world(1, GATHER_RANKS_LIVE);

    start(w, 1);
    pass_time(w, GATHER_ASK_MS - 1);
    assert_string_equal(take_said(w), "");
    pass_time(w, 1);
    assert_string_equal(take_said(w), "down 3 WAITS ; down 4 WAITS ; ");
    pass_time(w, 10 * GATHER_ASK_MS);
    assert_string_equal(take_said(w), "");
    assert_true(gather_deadline(w->gather) == UINT64_MAX);
    end_world(w);
}

static void one_whose_children_have_all_come_asks_nobody(void **state)
{
    struct world *w = make_world(3, GATHER_RANKS_LIVE);

    start(w, 1);
    send_up(w, 7, GATHER_OK, "x");
    assert_string_equal(take_said(w), "up 1 OK ownx; ");
    assert_true(gather_deadline(w->gather) == UINT64_MAX);
    end_world(w);
}

static void a_daemon_that_is_asked_contributes_for_ranks_that_have_ended(void **state)
{
    struct world *w = make_world(4, GATHER_RANKS_LEFT);

    ask(w, 1, 1);
    assert_string_equal(take_said(w), "up 1 ENDED ; ");
    ask(w, 1, 1);
    assert_string_equal(take_said(w), "");
    send_down(w, 1, GATHER_ENDED, "all"); /* nobody here is answered */
    assert_string_equal(take_said(w), "");
    assert_int_equal(gather_running(w->gather), 0);
    end_world(w);
}

static void it_asks_its_own_children_at_once(void **state)
{
    struct world *w = make_world(1, GATHER_RANKS_LEFT);

    ask(w, 0, 1);
    pass_time(w, 0);
    assert_string_equal(take_said(w), "down 3 WAITS ; down 4 WAITS ; ");
    send_up(w, 3, GATHER_OK, "x");
    send_up(w, 4, GATHER_OK, "y");
    assert_string_equal(take_said(w), "up 0 ENDED xy; ");
    end_world(w);
}

static void a_contribution_of_a_child_is_a_question_too(void **state)
{
    struct world *w = make_world(3, GATHER_RANKS_LEFT);

    send_up(w, 7, GATHER_OK, "x");
    assert_string_equal(take_said(w), "up 1 ENDED x; ");
    end_world(w);
}

static void ranks_that_can_still_come_are_waited_for_until_their_end(void **state)
{
    static const unsigned live[] = {GATHER_RANKS_LIVE, GATHER_RANKS_LIVE | GATHER_RANKS_LEFT,
                                    0 /* nothing is known of them */};

    for (size_t i = 0; i < sizeof(live) / sizeof(*live); i++) {
        struct world *w = make_world(4, live[i]);

        ask(w, 1, 1);
        gather_rank_left(w->gather, "j");
        assert_string_equal(take_said(w), "");
        w->ranks = GATHER_RANKS_LEFT;
        gather_rank_left(w->gather, "k");
        assert_string_equal(take_said(w), "");
        gather_rank_left(w->gather, "j");
        assert_string_equal(take_said(w), "up 1 ENDED ; ");
        end_world(w);
    }
}

static void the_end_of_ranks_after_their_contribution_changes_nothing(void **state)
{
    struct world *w = make_world(4, GATHER_RANKS_LIVE);

    start(w, 1);
    assert_string_equal(take_said(w), "up 1 OK own; ");
    w->ranks = GATHER_RANKS_LEFT;
    gather_rank_left(w->gather, "j");
    ask(w, 1, 1);
    assert_string_equal(take_said(w), "");
    send_down(w, 1, GATHER_OK, "all");
    assert_string_equal(take_said(w), "answer 1 OK all; ");
    ask(w, 1, 2); /* the next one */
    assert_string_equal(take_said(w), "up 1 ENDED ; ");
    end_world(w);
}

static void all_see_that_ranks_had_ended(void **state)
{
    struct world *w = make_world(0, GATHER_RANKS_LIVE);

    start(w, 1);
    send_up(w, 2, GATHER_OK, "x");
    send_up(w, 1, GATHER_ENDED, "y");
    assert_string_equal(take_said(w), "down 1 ENDED ownxy; down 2 ENDED ownxy; "
                                      "answer 1 ENDED ownxy; ");
    send_up(w, 5, GATHER_LOST, ""); /* it has lost its relay */
    assert_string_equal(take_said(w), "down 5 ENDED ownxy; ");
    end_world(w);
    w = make_world(1, GATHER_RANKS_LIVE);
    start(w, 1);
    (void)take_said(w);
    send_down(w, 0, GATHER_ENDED, "all");
    assert_string_equal(take_said(w), "down 3 ENDED all; down 4 ENDED all; answer 1 ENDED all; ");
    end_world(w);
}

static void a_rank_that_was_never_there_loses_the_collective(void **state)
{
    struct world *w = make_world(4, GATHER_RANKS_LEFT | GATHER_RANKS_ABSENT);

    ask(w, 1, 1);
    assert_string_equal(take_said(w), "up 0 LOST ; ");
    end_world(w);
    /* Beside one that has contributed. */
    w = make_world(4, GATHER_RANKS_LIVE | GATHER_RANKS_LEFT | GATHER_RANKS_ABSENT);
    start(w, 1);
    assert_string_equal(take_said(w), "up 0 LOST ; ");
    send_down(w, 0, GATHER_LOST, "");
    assert_string_equal(take_said(w), "answer 1 LOST ; ");
    end_world(w);
}

static void a_question_that_goes_up_ends_a_collective_and_asks_nobody(void **state)
{
    struct world *w = make_world(0, GATHER_RANKS_LIVE);

    start(w, 1);
    send_up(w, 1, GATHER_WAITS, "");
    assert_string_equal(take_said(w), "down 1 LOST ; down 2 LOST ; down 3 LOST ; down 4 LOST ; "
                                      "down 5 LOST ; down 6 LOST ; down 7 LOST ; answer 1 LOST ; ");
    end_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_waits_asks_its_children_once),
        cmocka_unit_test(one_whose_children_have_all_come_asks_nobody),
        cmocka_unit_test(a_daemon_that_is_asked_contributes_for_ranks_that_have_ended),
        cmocka_unit_test(it_asks_its_own_children_at_once),
        cmocka_unit_test(a_contribution_of_a_child_is_a_question_too),
        cmocka_unit_test(ranks_that_can_still_come_are_waited_for_until_their_end),
        cmocka_unit_test(the_end_of_ranks_after_their_contribution_changes_nothing),
        cmocka_unit_test(all_see_that_ranks_had_ended),
        cmocka_unit_test(a_rank_that_was_never_there_loses_the_collective),
        cmocka_unit_test(a_question_that_goes_up_ends_a_collective_and_asks_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
