/* SPDX-License-Identifier: BSD-3-Clause */
/* The last jobs that have ended: how many are kept, and how they come back from a snapshot. */
#include "dvm/protocol/head/jobs/job_history.h"

#include "dvm/protocol/head/journal/record.h"
#include "dvm/protocol/state/state.h"
#include "dvm/protocol/wire/exit_code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct job_past *add_job(struct job_history *h, uint64_t number)
{
    struct job_past *p = xcalloc(1, sizeof(*p));

    p->number = number;
    p->submitter = (struct msg_target){3, {5, 9}};
    p->reason = xstrdup("");
    job_history_add(h, p);
    return p;
}

static struct buf save_history(const struct job_history *h)
{
    struct buf b;

    buf_init(&b, RECORD_BYTES_MAX);
    job_history_save(h, &b);
    return b;
}

static int load_history(struct job_history *h, const struct buf *b, size_t len)
{
    struct cur c = cur_of(b->data, len);

    return job_history_load(h, &c, NULL);
}

static void the_last_64_jobs_are_kept(void **state)
{
    struct job_history h = {0};

    for (uint64_t i = 1; i <= 64; i++)
        add_job(&h, i);
    assert_int_equal(h.n, 64);
    assert_int_equal(h.list->number, 1);
    add_job(&h, 65);
    assert_int_equal(h.n, 64);
    assert_int_equal(h.list->number, 2);
    assert_int_equal(h.list->prev->number, 65);
    job_history_free(&h);
    assert_int_equal(h.n, 0);
}

static void a_full_history_comes_back_from_its_bytes(void **state)
{
    struct job_history h = {0}, back = {0};
    struct job_past *p;
    struct buf b, again;

    for (uint64_t i = 1; i < 64; i++) /* of the smallest size */
        add_job(&h, i);
    p = add_job(&h, 99);
    p->client = 7;
    p->failure = JOB_EV_NO_MAP;
    p->exit_code = EXIT_CODE_MAX;
    p->nranks = 12;
    p->nvpids = 2;
    p->vpids = xcalloc(2, sizeof(*p->vpids));
    p->vpids[1] = 4;
    free(p->reason);
    p->reason = xstrdup("no slots");
    b = save_history(&h);
    assert_int_equal(load_history(&back, &b, b.len), 0);
    p = back.list->prev;
    assert_int_equal(back.n, 64);
    assert_int_equal(p->number, 99);
    assert_int_equal(p->submitter.vpid, 3);
    assert_int_equal(p->submitter.epoch.ctr, 9);
    assert_int_equal(p->client, 7);
    assert_int_equal(p->failure, JOB_EV_NO_MAP);
    assert_int_equal(p->exit_code, EXIT_CODE_MAX);
    assert_int_equal(p->nranks, 12);
    assert_int_equal(p->nvpids, 2);
    assert_int_equal(p->vpids[1], 4);
    assert_string_equal(p->reason, "no slots");
    again = save_history(&back);
    assert_int_equal(again.len, b.len);
    assert_memory_equal(again.data, b.data, b.len);
    buf_free(&again);
    buf_free(&b);
    job_history_free(&h);
    job_history_free(&back);
}

static void a_history_that_is_out_of_its_limits_is_refused(void **state)
{
    static const int codes[] = {-1, EXIT_CODE_MAX + 1, 0, EXIT_CODE_MAX};

    for (size_t i = 0; i < 4; i++) {
        struct job_history h = {0}, back = {0};
        struct buf b;

        add_job(&h, 1)->exit_code = codes[i];
        b = save_history(&h);
        assert_int_equal(load_history(&back, &b, b.len), i < 2 ? -1 : 0);
        job_history_free(&back);
        job_history_free(&h);
        buf_free(&b);
    }
}

static void a_history_that_is_cut_is_not_taken(void **state)
{
    struct job_history h = {0};
    struct buf b;

    add_job(&h, 1);
    free(h.list->reason);
    h.list->reason = xstrdup("longer than the smallest");
    b = save_history(&h);
    for (size_t len = 4 + 49; len < b.len; len++) {
        struct job_history back = {0};

        assert_int_equal(load_history(&back, &b, len), -1);
        job_history_free(&back);
    }
    buf_free(&b);
    job_history_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_64_jobs_are_kept),
        cmocka_unit_test(a_full_history_comes_back_from_its_bytes),
        cmocka_unit_test(a_history_that_is_out_of_its_limits_is_refused),
        cmocka_unit_test(a_history_that_is_cut_is_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
