/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the look for the Secret x-user, against a fake API server. The clock stands until a test
 * moves it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_server.h"
#include "operator/kube/test/local_config.h"
#include "operator/reconcile/reconcile_private.h"

static struct fix {
    struct reconciler r;
    struct entry e;
    struct run run;
    struct fake server;
    int status; /* of the server's answer */
    int asked, passes, absent;
    bool done;
} fix;

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    assert_string_equal(method, "GET");
    assert_string_equal(target, "/api/v1/namespaces/hpc/secrets/x-user?resourceVersion=0");
    assert_non_null(strstr(head, "as=PartialObjectMetadata;"));
    fix.asked++;
    fake_reply(c, fix.status, "{}");
}

static void on_key(const char *key, void *arg)
{
    fix.passes++;
    queue_done(fix.r.queue, key, true);
}

static void on_done(struct run *run)
{
    fix.done = true;
}

static void on_absent(struct run *run)
{
    fix.absent++;
    fix.done = true;
}

static int setup(void **state)
{
    struct err err = {0};

    memset(&fix, 0, sizeof(fix));
    fix.r.o.loop = loop_create(&err);
    fake_start(&fix.server, fix.r.o.loop, 0, on_request, NULL);
    fix.r.o.kube = kube_create(fix.r.o.loop, local_config_load(fix.server.port, &err), &err);
    fix.r.queue = queue_create(fix.r.o.loop, on_key, NULL);
    fix.e.r = &fix.r;
    fix.e.key = (char *)"hpc/x";
    fix.run = (struct run){.e = &fix.e, .on_action_done = on_done};
    fix.run.c = (struct cluster){.ns = (char *)"hpc", .name = (char *)"x"};
    fix.e.user_looked_ms = loop_now_ms(fix.r.o.loop);
    return fix.r.o.kube ? 0 : -1;
}

static int teardown(void **state)
{
    queue_destroy(fix.r.queue);
    kube_destroy(fix.r.o.kube);
    fake_stop(&fix.server);
    loop_destroy(fix.r.o.loop);
    return 0;
}

static bool is_due(size_t clusters)
{
    fix.run.now_ms = loop_now_ms(fix.r.o.loop);
    return usersecret_due(&fix.run, clusters);
}

static void look_with(int status)
{
    fix.status = status;
    fix.done = false;
    usersecret_look(&fix.run, on_absent);
    while (!fix.done)
        clock_turn(fix.r.o.loop);
}

static void it_is_looked_for_within_a_minute_again_and_again(void **state)
{
    for (int i = 1; i <= 3; i++) {
        assert_false(is_due(1));
        clock_run_for(fix.r.o.loop, USERSECRET_PAUSE_MS - 1);
        assert_false(is_due(1));
        assert_int_equal(fix.passes, i - 1);
        clock_run_for(fix.r.o.loop, 1);
        assert_int_equal(fix.passes, i);
        assert_true(is_due(1));
        look_with(200);
        assert_int_equal(fix.asked, i);
    }
    assert_int_equal(fix.absent, 0);
}

static void many_clusters_are_looked_at_more_rarely(void **state)
{
    clock_run_for(fix.r.o.loop, 249000);
    assert_false(is_due(1000));
    clock_run_for(fix.r.o.loop, 1000);
    assert_true(is_due(1000));
}

static void only_its_absence_makes_all_secrets_be_read(void **state)
{
    look_with(403);
    look_with(409);
    assert_int_equal(fix.absent, 0);
    look_with(404);
    assert_int_equal(fix.absent, 1);
}

static void a_secret_of_an_issuer_is_not_looked_for(void **state)
{
    clock_run_for(fix.r.o.loop, USERSECRET_PAUSE_MS);
    fix.run.c.security.issuer.name = (char *)"theirs";
    assert_false(is_due(1));
    fix.run.c.security.issuer.name = NULL;
    assert_true(is_due(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_looked_for_within_a_minute_again_and_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(many_clusters_are_looked_at_more_rarely, setup, teardown),
        cmocka_unit_test_setup_teardown(only_its_absence_makes_all_secrets_be_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_secret_of_an_issuer_is_not_looked_for, setup, teardown),
    };

    return cmocka_run_group_tests_name("usersecret", tests, NULL, NULL);
}
