/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal of the head: a second fold, which gets only the bytes of the records, has the head's
 * state after each record of a DVM that grows, shrinks and loses a member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_inspect.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head_state.h"
#include "dvm/sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define STATE_MAX (1u << 20)

struct keeper { /* has the records of a head, and nothing else of it */
    struct journal *journal;
    struct head_fold *fold;
    size_t records;
};

static void assert_same_state(const struct keeper *k)
{
    BUF_AUTO struct buf own = {0};
    BUF_AUTO struct buf folded = {0};

    buf_init(&own, STATE_MAX);
    buf_init(&folded, STATE_MAX);
    journal_save(k->journal, &own);
    head_fold_save(k->fold, &folded);
    assert_false(own.failed);
    assert_int_equal(own.len, folded.len);
    assert_memory_equal(own.data, folded.data, own.len);
}

static void on_record(void *arg, const uint8_t *data, size_t len)
{
    struct keeper *k = arg;
    struct err err = {0};

    if (head_fold_take(k->fold, data, len, &err) < 0)
        fail_msg("%s", err.msg);
    k->records++;
    assert_same_state(k);
}

/* Begins with a snapshot. */
static void keep_records(struct keeper *k, struct sim *s)
{
    BUF_AUTO struct buf b = {0};
    struct err err = {0};

    *k = (struct keeper){.journal = head_journal(core_inspect_head(sim_core(s, 0)))};
    k->fold = head_fold_create();
    buf_init(&b, STATE_MAX);
    journal_snapshot(k->journal, &b);
    if (head_fold_take(k->fold, b.data, b.len, &err) < 0)
        fail_msg("%s", err.msg);
    journal_stream_to(k->journal, on_record, k);
    assert_same_state(k);
}

static void shrink_to_two(struct sim *s, const char *id)
{
    uint32_t targets[] = {3, 4};
    struct api_campaign_request r = {.sequence = 1,
                                     .kind = API_KIND_SHRINK,
                                     .deadline_s = -1,
                                     .ntargets = 2,
                                     .targets = targets};
    struct core *head = sim_core(s, 0);
    struct api_campaign record;
    enum api_reason reason;
    struct err err = {0};

    core_time(head, sim_now(s), sim_now(s));
    if (core_campaign_put(head, id, &r, &record, &reason, &err) < 0)
        fail_msg("%s", err.msg);
    api_campaign_free(&record);
    sim_drain(s, 0);
    dvm_wait_complete(s, id, 10000);
}

static bool one_is_lost(struct sim *s, void *arg)
{
    return dvm_events(s, API_EVENT_DAEMON_LOST) == 1;
}

static void change_the_dvm(struct sim *s)
{
    dvm_wait_wired(s, 4, 10000);
    shrink_to_two(s, "down");
    dvm_put_size(s, 2, 4);
    for (uint32_t v = 3; v <= 4; v++) {
        sim_crash(s, v);
        sim_start(s, v);
    }
    dvm_wait_wired(s, 4, 10000);
    sim_crash(s, 2);
    assert_true(sim_until(s, one_is_lost, NULL, 60000));
    sim_start(s, 2);
    dvm_wait_wired(s, 4, 60000);
}

static void the_state_of_the_head_is_the_fold_of_its_records(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    struct keeper k;

    keep_records(&k, s);
    change_the_dvm(s);
    assert_same_state(&k);
    assert_true(k.records > 20);
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

static void a_snapshot_at_any_time_replaces_the_records_before_it(void **state)
{
    struct sim *s = dvm_boot(&(struct dvm_shape){.members = 4, .started = 4, .slots = 2});
    struct keeper k;

    change_the_dvm(s);
    keep_records(&k, s); /* the snapshot has parked, lost and wired epochs */
    shrink_to_two(s, "again");
    assert_same_state(&k);
    sim_destroy(s);
    head_fold_destroy(k.fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_the_head_is_the_fold_of_its_records),
        cmocka_unit_test(a_snapshot_at_any_time_replaces_the_records_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
