/* SPDX-License-Identifier: BSD-3-Clause */
/* The receivers of an event or of a debugger's release: a request without valid receivers is
 * refused before any effect. */
#include "dvm/host/pmix/pmix_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A valid request is refused too, since no server runs here, so no cleanup is needed. */
#define THROUGH PMIX_ERR_INIT

static pmix_proc_t procs[PMIX_SRV_REACH_MAX + 1];

static pmix_status_t release(pmix_data_range_t range, const char *key, const pmix_value_t *value)
{
    static const pmix_proc_t source = {.nspace = "tool", .rank = 0};
    pmix_info_t info = {.flags = 0};
    pmix_status_t rc = PMIX_SUCCESS;

    if (key) {
        PMIX_LOAD_KEY(info.key, key);
        info.value = *value;
    }
    assert_true(hold_takes(PMIX_DEBUGGER_RELEASE, &source, range, &info, key ? 1 : 0, &rc));
    assert_int_equal(hold_check_release(range, &info, key ? 1 : 0),
                     rc == THROUGH ? PMIX_SUCCESS : rc);
    return rc;
}

static pmix_status_t release_list(pmix_data_type_t type, void *list, size_t n)
{
    pmix_data_array_t array = {.type = type, .array = list, .size = n};
    pmix_value_t v = {.type = PMIX_DATA_ARRAY, .data.darray = &array};

    return release(PMIX_RANGE_CUSTOM, PMIX_EVENT_CUSTOM_RANGE, &v);
}

static void a_release_of_no_member_is_refused(void **state)
{
    static const pmix_value_t no_proc = {.type = PMIX_PROC};
    static const pmix_value_t no_list = {.type = PMIX_DATA_ARRAY};
    static const pmix_value_t word = {.type = PMIX_STRING, .data.string = "7.1"};

    assert_int_equal(release(PMIX_RANGE_CUSTOM, PMIX_EVENT_CUSTOM_RANGE, &no_proc),
                     PMIX_ERR_BAD_PARAM);
    assert_int_equal(release(PMIX_RANGE_LOCAL, PMIX_EVENT_AFFECTED_PROC, &no_proc),
                     PMIX_ERR_BAD_PARAM);
    assert_int_equal(release(PMIX_RANGE_CUSTOM, PMIX_EVENT_CUSTOM_RANGE, &no_list),
                     PMIX_ERR_BAD_PARAM);
    assert_int_equal(release(PMIX_RANGE_NAMESPACE, PMIX_EVENT_AFFECTED_PROCS, &word),
                     PMIX_ERR_BAD_PARAM);
    assert_int_equal(release_list(PMIX_PROC, NULL, 3), PMIX_ERR_BAD_PARAM);
    assert_int_equal(release_list(PMIX_PROC, procs, 0), PMIX_ERR_BAD_PARAM);
    assert_int_equal(release_list(PMIX_UINT32, procs, 3), PMIX_ERR_BAD_PARAM);
    assert_int_equal(release(PMIX_RANGE_CUSTOM, NULL, NULL), PMIX_ERR_BAD_PARAM);
    assert_int_equal(release(PMIX_RANGE_GLOBAL, NULL, NULL), PMIX_ERR_BAD_PARAM);
}

static void a_release_for_more_than_the_limit_is_refused(void **state)
{
    assert_int_equal(release_list(PMIX_PROC, procs, 4097), PMIX_ERR_BAD_PARAM);
    assert_int_equal(release_list(PMIX_PROC, procs, SIZE_MAX / 2), PMIX_ERR_BAD_PARAM);
}

static void a_release_that_names_processes_or_the_own_job_is_taken(void **state)
{
    const pmix_value_t one = {.type = PMIX_PROC, .data.proc = procs};

    assert_int_equal(release(PMIX_RANGE_CUSTOM, PMIX_EVENT_CUSTOM_RANGE, &one), THROUGH);
    assert_int_equal(release(PMIX_RANGE_LOCAL, PMIX_EVENT_AFFECTED_PROC, &one), THROUGH);
    assert_int_equal(release_list(PMIX_PROC, procs, 4096), THROUGH);
    assert_int_equal(release(PMIX_RANGE_NAMESPACE, NULL, NULL), THROUGH);
}

/* Before the library notifies any client. */
static void an_event_for_more_processes_than_are_passed_on_is_refused(void **state)
{
    pmix_data_array_t array = {.type = PMIX_PROC, .array = procs, .size = PMIX_SRV_REACH_MAX + 1};
    pmix_info_t info = {.value = {.type = PMIX_DATA_ARRAY, .data.darray = &array}};

    PMIX_LOAD_KEY(info.key, PMIX_EVENT_CUSTOM_RANGE);
    assert_int_equal(
        event_on_notify(PMIX_ERR_PROC_ABORTED, &procs[0], PMIX_RANGE_CUSTOM, &info, 1, NULL, NULL),
        PMIX_ERR_BAD_PARAM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_of_no_member_is_refused),
        cmocka_unit_test(a_release_for_more_than_the_limit_is_refused),
        cmocka_unit_test(an_event_for_more_processes_than_are_passed_on_is_refused),
        cmocka_unit_test(a_release_that_names_processes_or_the_own_job_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
