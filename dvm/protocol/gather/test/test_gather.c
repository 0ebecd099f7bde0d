/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that never complete: they are answered, and removed with their job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/gather/gather.h"

#include <stdio.h>
#include <string.h>

struct world {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct gather *gather;
};

static void make(struct world *w)
{
    struct msg_member list[] = {{.vpid = 0, .epoch = {1, 1}, .host = "a", .address = ""},
                                {.vpid = 1, .epoch = {1, 2}, .host = "b", .address = ""}};

    memset(w, 0, sizeof(*w));
    members_init(&w->members, 0, 2);
    members_add(&w->members, list, 2);
    w->neighbours = neighbours_create(&w->out);
    w->rml = rml_create(&w->out, &w->members, w->neighbours, 0);
    w->gather = gather_create(&w->out, w->rml, &w->members);
}

static void end(struct world *w)
{
    gather_destroy(w->gather);
    rml_destroy(w->rml);
    neighbours_destroy(w->neighbours);
    members_free(&w->members);
    out_free(&w->out);
}

static size_t signature(char *sig, size_t size, const char *nspace)
{
    size_t len = (size_t)snprintf(sig, size - 4, "f%s", nspace) + 1;

    memset(sig + len, 0xff, 4);
    return len + 4;
}

static void start(struct world *w, uint64_t req, const char *sig, size_t siglen,
                  const uint32_t *vpids, size_t n, const char *data)
{
    struct gather_call call = {.req = req,
                               .sig = sig,
                               .siglen = siglen,
                               .n = n,
                               .vpids = vpids,
                               .data = data,
                               .len = strlen(data)};

    gather_start(w->gather, &call);
}

/* Number of answers, and how many of them are GATHER_LOST. */
static size_t answers(struct world *w, size_t *lost)
{
    struct out_act act;
    size_t n = 0;

    *lost = 0;
    while (out_take(&w->out, &act)) {
        n += act.kind == OUT_GATHER;
        *lost += act.kind == OUT_GATHER && act.gather.outcome == GATHER_LOST;
        out_act_free(&act);
    }
    return n;
}

static void a_jobs_end_answers_its_collectives_however_many_there_were(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128];
    char nspace[64];
    size_t lost;

    make(&w);
    for (unsigned i = 0; i < 2 * GATHER_RUNNING_MAX; i++) {
        snprintf(nspace, sizeof(nspace), "x.%u", i);
        start(&w, i, sig, signature(sig, sizeof(sig), nspace), both, 2, "d");
        gather_forget(w.gather, nspace);
    }
    assert_int_equal(answers(&w, &lost), 2 * GATHER_RUNNING_MAX);
    assert_int_equal(lost, 2 * GATHER_RUNNING_MAX);
    assert_int_equal(gather_running(w.gather), 0);
    assert_int_equal(gather_signatures(w.gather), 0);
    end(&w);
}

static void the_end_of_a_job_does_not_touch_jobs_with_a_similar_name(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128];
    size_t lost;

    make(&w);
    start(&w, 1, sig, signature(sig, sizeof(sig), "xx.1"), both, 2, "d");
    gather_forget(w.gather, "x.1");
    gather_forget(w.gather, "xx");
    assert_int_equal(answers(&w, &lost), 0);
    assert_true(gather_running(w.gather) > 0);
    end(&w);
}

static void a_collective_whose_members_are_all_local_is_answered_with_its_data(void **state)
{
    static const uint32_t self[] = {0};
    struct world w;
    char sig[128];
    size_t lost;

    make(&w);
    start(&w, 1, sig, signature(sig, sizeof(sig), "x.1"), self, 1, "data");
    assert_int_equal(answers(&w, &lost), 1);
    assert_int_equal(lost, 0);
    end(&w);
}

static void a_late_contribution_to_a_job_that_has_ended_leaves_nothing(void **state)
{
    uint32_t both[] = {0, 1};
    struct world w;
    char sig[128];
    struct msg_gather m = {.seq = 1, .nvpids = 2, .vpids = both};
    size_t lost;

    make(&w);
    m.sig = (uint8_t *)sig;
    m.siglen = signature(sig, sizeof(sig), "x.1");
    gather_forget(w.gather, "x.1");
    gather_up(w.gather, 1, &m);
    assert_int_equal(gather_running(w.gather), 0);
    assert_int_equal(gather_signatures(w.gather), 0);
    m.siglen = signature(sig, sizeof(sig), "x.2");
    gather_up(w.gather, 1, &m);
    assert_true(gather_running(w.gather) > 0);
    gather_forget(w.gather, "x.2");
    assert_int_equal(gather_running(w.gather), 0);
    assert_int_equal(gather_signatures(w.gather), 0);
    assert_int_equal(answers(&w, &lost), 0);
    end(&w);
}

static void a_collective_of_a_daemon_s_ended_epoch_does_not_wait_for_its_next_epoch(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct gather_call call = {
        .req = 1, .sig = "fx.1", .siglen = 4, .n = 2, .vpids = both, .lost = true};
    struct world w;
    size_t lost;

    make(&w);
    gather_start(w.gather, &call);
    assert_int_equal(answers(&w, &lost), 1);
    assert_int_equal(lost, 1);
    end(&w);
}

/* A relay in a new epoch has the outcome of the third collective only. It does not answer a
 * question about the first one. The decider would answer it. */
static void only_the_decider_repeats_the_result_of_a_collective(void **state)
{
    for (uint32_t decider = 0; decider < 2; decider++) {
        uint32_t vpids[] = {decider, 1 - decider};
        struct msg_gather down = {
            .seq = 3, .outcome = GATHER_LOST, .sig = (const uint8_t *)"fx.1", .siglen = 4};
        struct msg_gather up = {.seq = 1, .nvpids = 2, .vpids = vpids};
        struct world w;

        make(&w);
        up.sig = down.sig;
        up.siglen = down.siglen;
        gather_down(w.gather, 1, &down);
        assert_int_equal(rml_backlog(w.rml, 1, CLASS_MODEX), 0);
        gather_up(w.gather, 1, &up);
        if (decider == 0)
            assert_true(rml_backlog(w.rml, 1, CLASS_MODEX) > 0);
        else
            assert_int_equal(rml_backlog(w.rml, 1, CLASS_MODEX), 0);
        end(&w);
    }
}

/* This daemon is the second of three participants. The decider may have the data of the third one,
 * which is lost now. */
static void a_participant_leaves_the_outcome_to_the_decider_when_another_one_is_lost(void **state)
{
    static const uint32_t vpids[] = {1, 0, 2};
    struct msg_member third = {.vpid = 2, .epoch = {1, 3}, .host = "c", .address = ""};
    struct msg_gather down = {
        .seq = 1, .outcome = GATHER_OK, .sig = (const uint8_t *)"fx.1", .siglen = 4};
    struct world w;
    size_t lost;

    make(&w);
    members_add(&w.members, &third, 1);
    start(&w, 1, "fx.1", 4, vpids, 3, "d");
    gather_lost(w.gather, 2);
    assert_int_equal(answers(&w, &lost), 0);
    gather_down(w.gather, 1, &down);
    assert_int_equal(answers(&w, &lost), 1);
    assert_int_equal(lost, 0);
    end(&w);
}

struct list_case {
    uint32_t *vpids;
    size_t n;
};

/* This daemon takes part with vpid 1. Vpid 2 does not, and no list of its own makes it. */
static void a_daemon_outside_a_collective_neither_contributes_nor_decides(void **state)
{
    static const uint32_t both[] = {0, 1};
    uint32_t none[1] = {0}, without_us[] = {1, 2}, without_it[] = {0, 1}, with_it[] = {0, 2};
    struct list_case lists[] = {{none, 0}, {without_us, 2}, {without_it, 2}, {with_it, 2}};
    struct msg_gather m = {.seq = 1, .sig = (const uint8_t *)"fx.1", .siglen = 4};
    struct world w;
    size_t lost;

    for (int before = 0; before < 2; before++) {
        make(&w);
        for (size_t i = 0; i < 4; i++) {
            m.vpids = lists[i].vpids;
            m.nvpids = lists[i].n;
            if (before)
                gather_up(w.gather, 2, &m);
        }
        start(&w, 1, "fx.1", 4, both, 2, "d");
        for (size_t i = 0; i < 4; i++) {
            m.vpids = lists[i].vpids;
            m.nvpids = lists[i].n;
            m.outcome = i % 2 ? GATHER_OK : GATHER_LOST;
            gather_up(w.gather, 2, &m);
            gather_down(w.gather, 2, &m);
        }
        assert_int_equal(answers(&w, &lost), 0);
        m.vpids = without_it;
        m.nvpids = 2;
        m.outcome = GATHER_OK;
        gather_up(w.gather, 1, &m);
        assert_int_equal(answers(&w, &lost), 1);
        assert_int_equal(lost, 0);
        m.outcome = GATHER_OK;
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jobs_end_answers_its_collectives_however_many_there_were),
        cmocka_unit_test(the_end_of_a_job_does_not_touch_jobs_with_a_similar_name),
        cmocka_unit_test(a_collective_whose_members_are_all_local_is_answered_with_its_data),
        cmocka_unit_test(a_late_contribution_to_a_job_that_has_ended_leaves_nothing),
        cmocka_unit_test(a_collective_of_a_daemon_s_ended_epoch_does_not_wait_for_its_next_epoch),
        cmocka_unit_test(a_daemon_outside_a_collective_neither_contributes_nor_decides),
        cmocka_unit_test(only_the_decider_repeats_the_result_of_a_collective),
        cmocka_unit_test(a_participant_leaves_the_outcome_to_the_decider_when_another_one_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
