/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of jobs that the head sends: it is decoded as it was encoded, and malformed tables are
 * refused. */
#include "dvm/host/pmix/jobtable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct jobtable_job jobs[] = {{"1.1", false, 3, 0}, {"1.2", true, 1, 137}};
static struct jobtable_proc procs[] = {{0, 0, "node1", "a.out", 4711, 0, 5},
                                       {0, 1, "node2", "a.out", 0, 3, 62}};
static const struct jobtable table = {9, 2, jobs, 2, procs};

static void a_table_is_decoded_as_it_was_encoded(void **state)
{
    BUF_AUTO struct buf b = {.max = 4096};
    struct jobtable t;

    jobtable_encode(&b, &table);
    assert_int_equal(jobtable_decode(b.data, b.len, &t), 0);
    assert_int_equal(t.universe, 9);
    assert_int_equal(t.njobs, 2);
    assert_string_equal(t.jobs[1].nspace, "1.2");
    assert_true(t.jobs[1].over);
    assert_int_equal(t.jobs[1].exit_code, 137);
    assert_int_equal(t.nprocs, 2);
    assert_string_equal(t.procs[0].host, "node1");
    assert_int_equal(t.procs[0].pid, 4711);
    assert_int_equal(t.procs[1].state, 62);
    jobtable_free(&t);
}

static void a_table_that_is_cut_short_or_too_long_is_refused(void **state)
{
    BUF_AUTO struct buf b = {.max = 4096};
    struct jobtable t;

    jobtable_encode(&b, &table);
    for (size_t n = 0; n < b.len; n++)
        assert_int_equal(jobtable_decode(b.data, n, &t), -1);
    buf_put_u8(&b, 0);
    assert_int_equal(jobtable_decode(b.data, b.len, &t), -1);
}

static void a_process_of_no_job_is_refused(void **state)
{
    struct jobtable_proc stray = {2, 0, "node1", "a.out", 1, 0, 5};
    struct jobtable bad = {9, 2, jobs, 1, &stray};
    BUF_AUTO struct buf b = {.max = 4096};
    struct jobtable t;

    jobtable_encode(&b, &bad);
    assert_int_equal(jobtable_decode(b.data, b.len, &t), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_decoded_as_it_was_encoded),
        cmocka_unit_test(a_table_that_is_cut_short_or_too_long_is_refused),
        cmocka_unit_test(a_process_of_no_job_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
