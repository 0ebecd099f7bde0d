/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Allocation_request of real clients: refusals of the server itself, the request as the host
 * gets it, the answer, and the event for the requester alone. */
#include "dvm/host/pmix/test/pair.h"

#include <pmix.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pair_result run(const char *client, uint32_t ranks)
{
    char name[64];
    const char *argv[] = {PAIR_CLIENTS, name, NULL};
    struct pair_plan plan = {.argv = argv, .ranks = {ranks, 0}};

    snprintf(name, sizeof(name), "--client=%s", client);
    return pair_run(&plan);
}

static void malformed_or_unknown_resize_requests_are_refused(void **state)
{
    struct pair_result r = run("refused", 1);

    assert_int_equal(r.failed, 0);
    assert_non_null(strstr(r.out, "own=no"));
    assert_null(
        strstr(strstr(r.out, "resize ") + 1, "resize ")); /* no other request reached the host */
    free(r.out);
}

static void a_request_is_answered_at_once_and_its_end_reported_to_its_rank_alone(void **state)
{
    struct pair_result r = run("accepted", 3);

    assert_int_equal(r.failed, 0);
    assert_non_null(strstr(r.out, "resize 7.1.1 kind=0 count=2 nodes= own=mine id= deadline=30\n"));
    assert_non_null(
        strstr(r.out, "resize 7.1.1 kind=2 count=0 nodes=node3,4 own=late id= deadline=-1\n"));
    assert_non_null(
        strstr(r.out, "resize 7.1.1 kind=3 count=0 nodes= own= id=alloc-1 deadline=-1"));
    assert_non_null(strstr(r.out, "resize 7.1.1 kind=0 count=0 nodes= own= id= deadline=86520\n"));
    free(r.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_or_unknown_resize_requests_are_refused),
        cmocka_unit_test(a_request_is_answered_at_once_and_its_end_reported_to_its_rank_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
