/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the jobs that a loss has ended: views and events of the head come by two connections, in
 * any order. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/err/err.h"
#include "operator/reconcile/reconcile_private.h"

#include <string.h>

#define OLD "0123456789abcdef"
#define NEW "fedcba9876543210"

static struct fix {
    struct reconciler r;
    struct entry e;
    struct run run;
    struct api_dvm_job job;
    struct api_dvm view;
} fix;

static int setup(void **state)
{
    struct err err = {0};
    struct cache_opts o = {.path = "/api/v1/pods"};

    memset(&fix, 0, sizeof(fix));
    fix.r.o.loop = loop_create(&err);
    fix.r.cache[CACHE_PODS] = cache_create(fix.r.o.loop, NULL, &o, &err);
    fix.e.r = &fix.r;
    fix.e.key = (char *)"hpc/x";
    fix.run.e = &fix.e;
    fix.job = (struct api_dvm_job){
        .id = (char *)"job-1", .reason = (char *)"1 rank was lost", .exit_code = API_EXIT_LOST};
    fix.view.jobs = &fix.job;
    return fix.r.cache[CACHE_PODS] ? 0 : -1;
}

static int teardown(void **state)
{
    news_clear(&fix.e.news);
    cache_destroy(fix.r.cache[CACHE_PODS]);
    loop_destroy(fix.r.o.loop);
    return 0;
}

/* The number of ended jobs among the news after a view with so many jobs. */
static size_t see_view(const char *incarnation, size_t njobs)
{
    struct plan_news *given = &fix.run.in.news;

    snprintf(fix.view.incarnation, sizeof(fix.view.incarnation), "%s", incarnation);
    fix.view.njobs = njobs;
    fix.run.in.head.view = &fix.view;
    news_observe(&fix.run);
    size_t n = json_array_size(given->jobs);
    news_release(given);
    return n;
}

static void see_loss(const char *incarnation)
{
    struct api_event e = {.type = API_EVENT_DAEMON_LOST, .vpid = 3, .cause = (char *)"silent"};

    snprintf(e.incarnation, sizeof(e.incarnation), "%s", incarnation);
    news_note_event(&fix.e, &e);
}

static void a_job_that_a_loss_has_ended_is_noted_once(void **state)
{
    assert_int_equal(see_view(OLD, 0), 0);
    see_loss(OLD);
    assert_int_equal(see_view(OLD, 1), 1);
    assert_int_equal(see_view(OLD, 1), 1);
}

static void a_view_with_the_job_before_the_event_of_the_loss(void **state)
{
    assert_int_equal(see_view(OLD, 0), 0);
    assert_int_equal(see_view(OLD, 1), 0); /* a rank may exit with that code */
    see_loss(OLD);
    assert_int_equal(see_view(OLD, 1), 1);
}

static void a_loss_before_the_first_view_of_an_incarnation(void **state)
{
    assert_int_equal(see_view(OLD, 0), 0);
    see_loss(NEW);
    assert_int_equal(see_view(NEW, 0), 0);
    assert_int_equal(see_view(NEW, 1), 1);
}

static void what_had_ended_before_the_first_view_is_not_noted(void **state)
{
    assert_int_equal(see_view(OLD, 1), 0);
    see_loss(OLD);
    assert_int_equal(see_view(OLD, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_that_a_loss_has_ended_is_noted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_view_with_the_job_before_the_event_of_the_loss, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_loss_before_the_first_view_of_an_incarnation, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_had_ended_before_the_first_view_is_not_noted, setup,
                                        teardown),
    };

    return cmocka_run_group_tests_name("news", tests, NULL, NULL);
}
