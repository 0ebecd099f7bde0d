/* SPDX-License-Identifier: BSD-3-Clause */
/* Job info that ranks get: their job, its nodes, programs and ranks, over two servers. */
#include "base/buf/buf.h"
#include "dvm/host/pmix/test/pair.h"

#include <pmix.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void run_well(const char *client, uint32_t ranks_a, uint32_t ranks_b)
{
    struct pair_result r = pair_run_client(client, ranks_a, ranks_b);

    free(r.out);
    assert_int_equal(r.failed, 0);
}

static void job_info_is_complete_on_both_servers(void **state)
{
    run_well("jobinfo", 2, 1);
}

static void a_rank_knows_whether_its_node_is_oversubscribed(void **state)
{
    cpu_set_t set;

    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    run_well("crowded", (uint32_t)CPU_COUNT(&set) + 1, 1);
}

static void directories_of_ranks_are_there_and_go_with_the_job(void **state)
{
    run_well("dirs", 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_info_is_complete_on_both_servers),
        cmocka_unit_test(a_rank_knows_whether_its_node_is_oversubscribed),
        cmocka_unit_test(directories_of_ranks_are_there_and_go_with_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
