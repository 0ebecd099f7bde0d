/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn by a real client: refused requests, and the job spec that an accepted one becomes. */
#include "base/buf/buf.h"
#include "dvm/host/pmix/test/pair.h"

#include <pmix.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void a_spawn_request_becomes_a_job_spec(void **state)
{
    static const char *const argv[] = {PAIR_CLIENTS, "--client=spawn", NULL};
    static const char *const env[] = {"COLOUR=red", NULL};
    const struct pair_plan plan = {.argv = argv, .ranks = {1, 0}, .env = env};
    struct pair_result r = pair_run(&plan);

    assert_non_null(strstr(r.out, "spawn by 7.1.0: /bin/prog -x n=3 cwd=/var "));
    assert_non_null(strstr(r.out, "env0=COLOUR=blue"));
    assert_non_null(
        strstr(r.out, "map=2 level=2 ppr=2 rank=4 bind=4 flags=34 timeout=9000 hosts=x-1,3"));
    assert_int_equal(r.failed, 0);
    free(r.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spawn_request_becomes_a_job_spec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
