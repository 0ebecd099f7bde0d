/* SPDX-License-Identifier: BSD-3-Clause */
/* Real PMIx clients over one and two servers: fences, direct modex, data service, events,
 * control. A client checks its side and exits 0 if all is well. */
#include "base/buf/buf.h"
#include "dvm/host/pmix/test/pair.h"

#include <pmix.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Freed memory is overwritten, so that a server that uses it fails. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_free_fill_size=65536:free_fill_byte=165";
}

static void run_well(const char *client, uint32_t ranks_a, uint32_t ranks_b)
{
    struct pair_result r = pair_run_client(client, ranks_a, ranks_b);

    free(r.out);
    assert_int_equal(r.failed, 0);
}

static void a_fence_with_data_brings_every_rank_everything(void **state)
{
    run_well("fence-data", 2, 2);
}

static void many_fences_in_a_row_are_not_mixed_up(void **state)
{
    run_well("many-fences", 2, 1);
}

static void a_fence_carries_megabytes(void **state)
{
    run_well("big-fence", 1, 1);
}

static void direct_modex_fetches_from_the_other_server(void **state)
{
    run_well("direct-modex", 2, 2);
}

static void a_value_that_was_put_again_is_found_by_a_new_request(void **state)
{
    run_well("refresh", 1, 1);
}

static void a_question_that_comes_before_the_value_is_answered(void **state)
{
    run_well("early-question", 1, 1);
}

static void a_question_outlives_the_job_of_the_asked_rank(void **state)
{
    run_well("left-question", 1, 1);
}

static void a_question_about_a_value_that_was_never_put_gets_an_error(void **state)
{
    run_well("no-answer", 1, 1);
}

static void published_data_is_found_from_both_servers_until_unpublished(void **state)
{
    run_well("publish", 2, 1);
}

static void a_lookup_may_wait_for_its_key(void **state)
{
    run_well("waiting-lookup", 1, 1);
}

static void an_event_reaches_each_other_rank_once(void **state)
{
    run_well("event", 2, 2);
}

static void an_abort_names_its_rank_the_reason_and_the_code(void **state)
{
    struct pair_result r = pair_run_client("abort", 1, 1);

    assert_non_null(strstr(r.out, "abort 7.1.1 code=42 text=on purpose"));
    assert_int_equal(r.failed, 2);
    free(r.out);
}

static void job_control_passes_signals_and_refuses_unknown_directives(void **state)
{
    struct pair_result r = pair_run_client("control", 1, 0);

    assert_non_null(strstr(r.out, "control 7.1.-2 signal=10"));
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void the_end_of_a_spawned_job_is_reported(void **state)
{
    run_well("job-end", 1, 0);
}

static void ranks_of_two_servers_connect_and_disconnect(void **state)
{
    run_well("connect", 2, 1);
}

static void a_group_gets_one_context_id_everywhere(void **state)
{
    struct pair_result r = pair_run_client("group", 2, 1);
    const char *line = r.out;
    unsigned long id[3];

    for (int i = 0; i < 3; i++) {
        line = strstr(line, "context id ");
        assert_non_null(line);
        id[i] = strtoul(line += strlen("context id "), NULL, 10);
    }
    assert_int_not_equal(id[0], 0);
    assert_int_equal(id[0], id[1]);
    assert_int_equal(id[0], id[2]);
    assert_int_equal(r.failed, 0);
    free(r.out);
}

static void ranks_that_die_without_finalize_leave_nothing_behind(void **state)
{
    struct pair_result r = pair_run_client("no-finalize", 2, 1);

    /* The ranks have failed and the servers have ended well: their output has no "left". */
    assert_int_equal(r.failed, 2);
    free(r.out);
}

/* The answers of the server about a rank that has exited with code 0. */
static void assert_end_of(const char *client, const char *said, bool is_said)
{
    struct pair_result r = pair_run_client(client, 1, 0);
    bool found = strstr(r.out, said) != NULL;

    free(r.out);
    assert_int_equal(r.failed, 0);
    assert_int_equal(found, is_said);
}

static void a_rank_that_exits_in_its_session_has_not_finalized(void **state)
{
    assert_end_of("exit-0", "rank 0: not finalized", true);
    assert_end_of("leaves-a-process", "rank 0: not finalized", true);
}

static void a_rank_whose_process_or_child_has_finalized_has_finalized(void **state)
{
    assert_end_of("fence-data", "not finalized", false);
    assert_end_of("wrapper", "not finalized", false);
}

static void a_rank_that_has_ended_before_its_finalization_is_read_has_finalized(void **state)
{
    assert_end_of("hasty", "not finalized", false);
}

static void a_rank_that_ends_before_its_hello_is_answered_is_noticed(void **state)
{
    run_well("gone-early", 2, 0);
}

static void a_new_client_connects_after_a_rank_whose_connection_is_held_open(void **state)
{
    run_well("held-connection", 2, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fence_with_data_brings_every_rank_everything),
        cmocka_unit_test(many_fences_in_a_row_are_not_mixed_up),
        cmocka_unit_test(a_fence_carries_megabytes),
        cmocka_unit_test(direct_modex_fetches_from_the_other_server),
        cmocka_unit_test(a_value_that_was_put_again_is_found_by_a_new_request),
        cmocka_unit_test(a_question_that_comes_before_the_value_is_answered),
        cmocka_unit_test(a_question_outlives_the_job_of_the_asked_rank),
        cmocka_unit_test(a_question_about_a_value_that_was_never_put_gets_an_error),
        cmocka_unit_test(published_data_is_found_from_both_servers_until_unpublished),
        cmocka_unit_test(a_lookup_may_wait_for_its_key),
        cmocka_unit_test(an_event_reaches_each_other_rank_once),
        cmocka_unit_test(an_abort_names_its_rank_the_reason_and_the_code),
        cmocka_unit_test(job_control_passes_signals_and_refuses_unknown_directives),
        cmocka_unit_test(the_end_of_a_spawned_job_is_reported),
        cmocka_unit_test(ranks_of_two_servers_connect_and_disconnect),
        cmocka_unit_test(a_group_gets_one_context_id_everywhere),
        cmocka_unit_test(ranks_that_die_without_finalize_leave_nothing_behind),
        cmocka_unit_test(a_rank_that_exits_in_its_session_has_not_finalized),
        cmocka_unit_test(a_rank_whose_process_or_child_has_finalized_has_finalized),
        cmocka_unit_test(a_rank_that_has_ended_before_its_finalization_is_read_has_finalized),
        cmocka_unit_test(a_rank_that_ends_before_its_hello_is_answered_is_noticed),
        cmocka_unit_test(a_new_client_connects_after_a_rank_whose_connection_is_held_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
