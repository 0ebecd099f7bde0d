/* SPDX-License-Identifier: BSD-3-Clause */
/* Real Open MPI programs over one and two servers. */
#include "dvm/host/pmix/test/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void one_server_runs_hello_with_two_ranks(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_hello", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {2, 0}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "hello from rank 0 of 2 on");
    assert_has(r.out, "hello from rank 1 of 2 on");
    assert_int_equal(r.failed, 0);
    free(r.out);
}

/* It has files that other ranks still use, so it is removed with the job, not with the job's first
 * rank. */
static void no_rank_has_the_job_s_directory_removed(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_hello", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {4, 0}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "hello from rank 3 of 4 on");
    assert_null(strstr(r.out, "cleans directory"));
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void two_servers_run_hello_with_four_ranks(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_hello", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {2, 2}};
    struct pair_result r = pair_run(&plan);

    for (int i = 0; i < 4; i++) {
        char line[64];

        snprintf(line, sizeof(line), "hello from rank %d of 4 on", i);
        assert_has(r.out, line);
    }
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void a_token_goes_round_four_ranks_on_two_servers(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_ring", "10", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {2, 2}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "ring: size=4 rounds=10 token=60 ok");
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void collectives_over_two_servers_give_the_right_numbers(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_coll", "42", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {3, 1}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "coll: size=4 seed=42 result=2647218343264605072 ok");
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void one_sided_communication_reaches_the_other_server(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_onesided", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {2, 2}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "onesided: size=4 ok");
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void ranks_of_two_servers_meet_at_a_published_port(void **state)
{
    static const char *const argv[] = {"build/examples/mpi_port", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {2, 1}};
    struct pair_result r = pair_run(&plan);

    assert_has(r.out, "port: number=4711 ok");
    assert_int_equal(r.failed, 0);
    free(r.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_runs_hello_with_two_ranks),
        cmocka_unit_test(no_rank_has_the_job_s_directory_removed),
        cmocka_unit_test(two_servers_run_hello_with_four_ranks),
        cmocka_unit_test(a_token_goes_round_four_ranks_on_two_servers),
        cmocka_unit_test(collectives_over_two_servers_give_the_right_numbers),
        cmocka_unit_test(one_sided_communication_reaches_the_other_server),
        cmocka_unit_test(ranks_of_two_servers_meet_at_a_published_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
