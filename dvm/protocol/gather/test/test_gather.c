/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives that never complete: they are answered, and removed with their job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/gather/early.h"
#include "dvm/protocol/gather/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
    struct out out;
    struct members members;
    struct neighbours *neighbours;
    struct rml *rml;
    struct gather *gather;
    const char *launched; /* a job of vpids 0 and 1; NULL: none */
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

enum { JOBS = 8192 };

static void a_jobs_end_answers_its_collectives_however_many_there_were(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128];
    char nspace[64];
    size_t lost;

    make(&w);
    for (unsigned i = 0; i < JOBS; i++) {
        snprintf(nspace, sizeof(nspace), "x.%u", i);
        start(&w, i, sig, signature(sig, sizeof(sig), nspace), both, 2, "d");
        gather_forget(w.gather, nspace);
    }
    assert_int_equal(answers(&w, &lost), JOBS);
    assert_int_equal(lost, JOBS);
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

/* --- messages before the launch of their job */

static enum gather_part part_of(void *arg, const char *nspace, uint32_t rank, uint32_t vpid)
{
    const struct world *w = arg;

    if (!w->launched || strcmp(w->launched, nspace) != 0)
        return GATHER_JOB_UNKNOWN;
    return vpid < 2 && (rank == GATHER_RANK_ALL || rank == vpid) ? GATHER_TAKES_PART
                                                                 : GATHER_OUTSIDE;
}

static void make_checking(struct world *w)
{
    make(w);
    gather_check_senders(w->gather, part_of, w);
}

static void launch(struct world *w, const char *nspace)
{
    w->launched = nspace;
    gather_launched(w->gather, nspace);
}

/* A kind, then that rank of each job. */
static size_t names(char *sig, const char *nspace, const char *other, uint32_t rank)
{
    struct buf b;
    size_t len;

    buf_init(&b, 128);
    buf_put_u8(&b, 'f');
    buf_put_raw(&b, nspace, strlen(nspace) + 1);
    buf_put_u32(&b, rank);
    if (other) {
        buf_put_raw(&b, other, strlen(other) + 1);
        buf_put_u32(&b, rank);
    }
    len = b.len;
    memcpy(sig, b.data, len);
    buf_free(&b);
    return len;
}

static void tell(struct world *w, uint32_t from, const char *sig, size_t siglen, uint64_t seq,
                 enum gather_outcome outcome)
{
    struct msg_gather m = {
        .seq = seq, .sig = (const uint8_t *)sig, .siglen = siglen, .outcome = outcome};

    gather_down(w->gather, from, &m);
}

static void contribute(struct world *w, uint32_t from, const char *sig, size_t siglen,
                       const char *data)
{
    uint32_t vpids[] = {0, from};
    struct msg_gather m = {.seq = 1,
                           .sig = (const uint8_t *)sig,
                           .siglen = siglen,
                           .nvpids = 2,
                           .vpids = vpids,
                           .data = (const uint8_t *)data,
                           .len = strlen(data)};

    gather_up(w->gather, from, &m);
}

static void an_outcome_from_a_daemon_without_named_ranks_changes_nothing(void **state)
{
    static const uint32_t both[] = {0, 1};

    for (int early = 0; early < 2; early++) {
        struct world w;
        char sig[128];
        size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
        size_t lost;

        make_checking(&w);
        if (!early)
            launch(&w, "x.1");
        tell(&w, 2, sig, len, 1, GATHER_LOST);
        contribute(&w, 2, sig, len, "a lie");
        assert_int_equal(gather_early(w.gather), early ? 2 : 0);
        launch(&w, "x.1");
        assert_int_equal(gather_early(w.gather), 0);
        assert_int_equal(gather_running(w.gather), 0);
        contribute(&w, 1, sig, len, "data");
        start(&w, 1, sig, len, both, 2, "d");
        assert_int_equal(answers(&w, &lost), 1);
        assert_int_equal(lost, 0);
        end(&w);
    }
}

/* Vpid 1 has a rank of the job, but not the one that is named. */
static void a_daemon_with_other_ranks_of_the_job_takes_no_part(void **state)
{
    struct world w;
    char sig[128];

    make_checking(&w);
    launch(&w, "x.1");
    contribute(&w, 1, sig, names(sig, "x.1", NULL, 0), "a lie");
    assert_int_equal(gather_running(w.gather), 0);
    contribute(&w, 1, sig, names(sig, "x.1", NULL, 1), "data");
    assert_int_equal(gather_running(w.gather), 1);
    end(&w);
}

static void early_messages_of_participants_are_handled_at_the_launch_in_their_order(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128];
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
    struct out_act act;

    make_checking(&w);
    tell(&w, 1, sig, len, 1, GATHER_TIMEOUT);
    tell(&w, 1, sig, len, 2, GATHER_LOST);
    assert_int_equal(gather_signatures(w.gather), 0);
    launch(&w, "x.2");
    assert_int_equal(gather_early(w.gather), 2);
    launch(&w, "x.1");
    for (enum gather_outcome want = GATHER_TIMEOUT; want >= GATHER_LOST; want--) {
        start(&w, 1, sig, len, both, 2, "d");
        assert_true(out_take(&w.out, &act));
        assert_int_equal(act.kind, OUT_GATHER);
        assert_int_equal(act.gather.outcome, want);
        out_act_free(&act);
    }
    end(&w);
}

static void an_early_contribution_is_part_of_the_outcome(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128], data[] = "data";
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
    struct out_act act;

    make_checking(&w);
    contribute(&w, 1, sig, len, data);
    memset(data, 'x', sizeof(data) - 1); /* the message was copied */
    launch(&w, "x.1");
    start(&w, 1, sig, len, both, 2, "d");
    assert_true(out_take(&w.out, &act));
    assert_int_equal(act.kind, OUT_GATHER);
    assert_int_equal(act.gather.outcome, GATHER_OK);
    assert_int_equal(act.gather.data.len, 5);
    assert_memory_equal(act.gather.data.data, "datad", 5);
    out_act_free(&act);
    end(&w);
}

static void early_messages_go_with_their_job_or_their_sender(void **state)
{
    struct world w;
    char x[128], y[128];
    size_t xlen = names(x, "x.1", NULL, GATHER_RANK_ALL);
    size_t ylen = names(y, "y.1", "y.2", GATHER_RANK_ALL);

    make_checking(&w);
    tell(&w, 1, x, xlen, 1, GATHER_LOST);
    tell(&w, 1, y, ylen, 1, GATHER_LOST);
    tell(&w, 2, x, xlen, 1, GATHER_LOST);
    gather_forget(w.gather, "y.2");
    assert_int_equal(gather_early(w.gather), 2);
    gather_lost(w.gather, 1);
    assert_int_equal(gather_early(w.gather), 1);
    tell(&w, 1, y, ylen, 1, GATHER_LOST);
    assert_int_equal(gather_early(w.gather), 1);
    gather_lost(w.gather, 3);
    gather_lost(w.gather, 2);
    assert_int_equal(gather_early(w.gather), 0);
    tell(&w, 1, x, xlen, 2, GATHER_LOST);
    end(&w); /* which frees it */
}

static void a_sender_of_many_early_messages_displaces_no_other_sender(void **state)
{
    struct world w;
    char sig[128];
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
    size_t n = 0;
    struct out_act act;

    make_checking(&w);
    for (uint64_t i = 1; i <= 5 * EARLY_MESSAGES_MAX; i++)
        tell(&w, 2, sig, len, i, GATHER_LOST);
    assert_int_equal(gather_early(w.gather), EARLY_MESSAGES_MAX);
    contribute(&w, 1, sig, len, "data");
    assert_int_equal(gather_early(w.gather), EARLY_MESSAGES_MAX + 1);
    while (out_take(&w.out, &act)) {
        n += act.kind == OUT_LOG;
        out_act_free(&act);
    }
    assert_int_equal(n, 13); /* of 4096 that were dropped: those numbered 1, 2, 4, ... */
    launch(&w, "x.1");
    tell(&w, 2, sig, len, 1, GATHER_LOST);
    assert_int_equal(gather_running(w.gather), 1);
    end(&w);
}

/* One may be longer. */
static void early_messages_of_a_sender_have_a_bound_in_bytes(void **state)
{
    struct world w;
    char sig[128];
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
    uint8_t *data = calloc(1, EARLY_BYTES_MAX);
    struct msg_gather m = {.seq = 1, .sig = (const uint8_t *)sig, .siglen = len, .data = data};

    assert_non_null(data);
    make_checking(&w);
    m.len = EARLY_BYTES_MAX;
    gather_down(w.gather, 1, &m);
    assert_int_equal(gather_early(w.gather), 1);
    m.len = 0;
    gather_down(w.gather, 1, &m);
    assert_int_equal(gather_early(w.gather), 1);
    gather_down(w.gather, 2, &m);
    assert_int_equal(gather_early(w.gather), 2);
    gather_forget(w.gather, "x.1");
    end(&w);
    free(data);
}

static void a_sender_has_room_below_its_bound_in_bytes_and_none_at_it(void **state)
{
    for (size_t less = 0; less < 2; less++) {
        struct world w;
        char sig[128];
        size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
        uint8_t *data = calloc(1, EARLY_BYTES_MAX);
        struct msg_gather m = {.seq = 1,
                               .sig = (const uint8_t *)sig,
                               .siglen = len,
                               .data = data,
                               .len = EARLY_BYTES_MAX - sizeof(struct early_message) - len - less};

        assert_non_null(data);
        make_checking(&w);
        gather_down(w.gather, 1, &m);
        m.len = 0;
        gather_down(w.gather, 1, &m);
        assert_int_equal(gather_early(w.gather), 1 + less);
        end(&w);
        free(data);
    }
}

static void the_early_messages_of_a_lost_sender_are_dropped_and_no_others(void **state)
{
    struct world w;
    char sig[128];
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);

    make_checking(&w);
    tell(&w, 1, sig, len, 1, GATHER_LOST);
    tell(&w, 2, sig, len, 1, GATHER_LOST); /* it takes no part */
    gather_lost(w.gather, 1);
    assert_int_equal(gather_early(w.gather), 1);
    launch(&w, "x.1");
    assert_int_equal(gather_signatures(w.gather), 0);
    end(&w);
}

/* A message is believed if it may be of a daemon of the unknown job, or of no job. */
static void a_sender_is_believed_where_launches_do_not_show_who_takes_part(void **state)
{
    static const char *const raw[] = {"sig", "f", "fx.9\0\0\0", "fx.9\0\1\2\3\4y"};
    static const size_t lens[] = {3, 1, 8, 10};
    struct world w;
    char sig[128];

    make_checking(&w);
    launch(&w, "x.1");
    contribute(&w, 2, sig, names(sig, "x.1", "x.2", GATHER_RANK_ALL), "data");
    assert_int_equal(gather_running(w.gather), 1);
    for (size_t i = 0; i < 4; i++) {
        contribute(&w, 2, raw[i], lens[i], "data");
        assert_int_equal(gather_running(w.gather), 2 + i);
    }
    contribute(&w, 2, sig, names(sig, "group", NULL, GATHER_RANK_NONE), "data");
    assert_int_equal(gather_running(w.gather), 6);
    assert_int_equal(gather_early(w.gather), 0);
    end(&w);
}

/* The name of a group is no job, whose launch a message would wait for. */
static void a_group_s_name_is_not_asked_about(void **state)
{
    struct world w;
    struct buf b;

    buf_init(&b, 128);
    buf_put_raw(&b, "gx.1", 5);
    buf_put_u32(&b, GATHER_RANK_ALL);
    buf_put_raw(&b, "Cgroup", 7);
    buf_put_u32(&b, GATHER_RANK_NONE);
    make_checking(&w);
    launch(&w, "x.1");
    contribute(&w, 2, (const char *)b.data, b.len, "a lie");
    assert_int_equal(gather_running(w.gather), 0);
    contribute(&w, 1, (const char *)b.data, b.len, "data");
    assert_int_equal(gather_running(w.gather), 1);
    buf_free(&b);
    end(&w);
}

/* Of no job, so anybody is believed. */
static size_t invented_signature(char *sig, size_t size, unsigned i)
{
    return (size_t)snprintf(sig, size, "n%u", i);
}

static void a_daemon_that_invents_collectives_keeps_nobody_out(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[128], none[64];
    size_t len = names(sig, "x.1", NULL, GATHER_RANK_ALL);
    size_t lost;

    make_checking(&w);
    launch(&w, "x.1");
    start(&w, 1, sig, len, both, 2, "d");
    for (unsigned i = 0; i < 2 * GATHER_TOLD_MAX; i++)
        contribute(&w, 2, none, invented_signature(none, sizeof(none), i), "x");
    assert_int_equal(gather_running(w.gather), 1 + GATHER_TOLD_MAX);
    contribute(&w, 2, none, invented_signature(none, sizeof(none), 0), "one that waits already");
    contribute(&w, 1, none, invented_signature(none, sizeof(none), 2 * GATHER_TOLD_MAX), "x");
    assert_int_equal(gather_running(w.gather), 2 + GATHER_TOLD_MAX);
    contribute(&w, 1, sig, len, "data");
    assert_int_equal(answers(&w, &lost), 1);
    assert_int_equal(lost, 0);
    end(&w);
}

static void c25_a_daemon_that_invents_outcomes_displaces_only_its_own(void **state)
{
    static const uint32_t both[] = {0, 1};
    struct world w;
    char sig[64], none[64];
    size_t lost;

    make_checking(&w);
    start(&w, 1, sig, names(sig, "x.1", NULL, GATHER_RANK_ALL), both, 1, "alone");
    assert_int_equal(answers(&w, &lost), 1);
    tell(&w, 1, none, invented_signature(none, sizeof(none), 0), 1, GATHER_LOST);
    for (unsigned i = 1; i <= 3 * GATHER_TOLD_MAX; i++)
        tell(&w, 2, none, invented_signature(none, sizeof(none), i), 1, GATHER_LOST);
    assert_int_equal(gather_signatures(w.gather), 2 + GATHER_TOLD_MAX);
    for (unsigned i = 0; i <= 3 * GATHER_TOLD_MAX; i += 3 * GATHER_TOLD_MAX) {
        start(&w, 2, none, invented_signature(none, sizeof(none), i), both, 2, "d");
        assert_int_equal(answers(&w, &lost), 1);
        assert_int_equal(lost, 1);
    }
    end(&w);
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
        cmocka_unit_test(an_outcome_from_a_daemon_without_named_ranks_changes_nothing),
        cmocka_unit_test(a_daemon_with_other_ranks_of_the_job_takes_no_part),
        cmocka_unit_test(early_messages_of_participants_are_handled_at_the_launch_in_their_order),
        cmocka_unit_test(an_early_contribution_is_part_of_the_outcome),
        cmocka_unit_test(early_messages_go_with_their_job_or_their_sender),
        cmocka_unit_test(a_sender_of_many_early_messages_displaces_no_other_sender),
        cmocka_unit_test(early_messages_of_a_sender_have_a_bound_in_bytes),
        cmocka_unit_test(a_sender_has_room_below_its_bound_in_bytes_and_none_at_it),
        cmocka_unit_test(the_early_messages_of_a_lost_sender_are_dropped_and_no_others),
        cmocka_unit_test(a_sender_is_believed_where_launches_do_not_show_who_takes_part),
        cmocka_unit_test(a_group_s_name_is_not_asked_about),
        cmocka_unit_test(a_daemon_that_invents_collectives_keeps_nobody_out),
        cmocka_unit_test(c25_a_daemon_that_invents_outcomes_displaces_only_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
