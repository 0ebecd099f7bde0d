/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of why a StatefulSet has fewer pods than replicas, and of dry runs that a webhook refuses,
 * against a fake API server. The clock stands until a test moves it. */
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

#define NO_WEBHOOK                                                                                 \
    "{\"kind\": \"Status\", \"message\": \"admission webhook \\\"a.b\\\" does not support dry "    \
    "run\"}"
#define NO_TEMPLATE "{\"kind\": \"Status\", \"message\": \"unknown field \\\"spec.x\\\"\"}"
#define CONTROLLED_BY(kind, uid)                                                                   \
    "{\"metadata\": {\"name\": \"x-2\", \"ownerReferences\": [{\"kind\": \"" kind                  \
    "\", \"name\": \"x\", \"uid\": \"" uid "\", \"controller\": true}]}}"

static struct fix {
    struct reconciler r;
    struct entry e;
    struct child set;
    struct wanted_print wanted;
    struct fake server;
    const char *pod_in_the_way; /* the server's pod of that name; NULL: none */
    const char *asked_for;      /* ordinal of the pod that was read last */
    int dry_status;             /* of the answer to a dry run */
    const char *dry_answer;
    int dry_runs, applies;
    bool untried; /* the user leaves out dry runs */
    bool done;
} fix;

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    static char ordinal[16];

    if (strcmp(method, "GET") == 0) {
        assert_int_equal(sscanf(target, "/api/v1/namespaces/hpc/pods/x-%15s", ordinal), 1);
        fix.asked_for = ordinal;
        fake_reply(c, fix.pod_in_the_way ? 200 : 404,
                   fix.pod_in_the_way ? fix.pod_in_the_way : "{}");
    } else if (strcmp(method, "POST") == 0) {
        assert_non_null(strstr(target, "/pods?dryRun=All"));
        fix.dry_runs++;
        fake_reply(c, fix.dry_status, fix.dry_answer);
    } else {
        assert_string_equal(method, "PATCH");
        fix.applies++;
        fake_reply(c, 422, "{}");
    }
}

static void on_key(const char *key, void *arg)
{
    queue_done(fix.r.queue, key, true);
}

static void on_done(struct run *run)
{
    fix.done = true;
}

static int setup(void **state)
{
    struct err err = {0};

    memset(&fix, 0, sizeof(fix));
    fix.r.o.loop = loop_create(&err);
    fake_start(&fix.server, fix.r.o.loop, 0, on_request, NULL);
    fix.r.o.kube = kube_create(fix.r.o.loop, local_config_load(fix.server.port, &err), &err);
    fix.r.o.default_image = "example.test/daemon:1";
    fix.r.queue = queue_create(fix.r.o.loop, on_key, NULL);
    fix.e.r = &fix.r;
    fix.e.key = (char *)"hpc/x";
    fix.set.observed = true;
    fix.dry_status = 201;
    fix.dry_answer = "{}";
    return fix.r.o.kube ? 0 : -1;
}

static int teardown(void **state)
{
    for (int i = 0; i < CLUSTER_CHILDREN; i++) {
        shortage_clear(&fix.e.child[i].shortage);
        free(fix.e.child[i].message);
    }
    free(fix.e.warnings);
    probes_clear(&fix.r);
    queue_destroy(fix.r.queue);
    kube_destroy(fix.r.o.kube);
    fake_stop(&fix.server);
    loop_destroy(fix.r.o.loop);
    return 0;
}

/* The members that have a pod of the three wanted ones, in one digit each. */
static struct plan_child_seen observe(struct run *run, const char *members)
{
    static struct plan_pod pods[8];

    *run = (struct run){.e = &fix.e, .on_action_done = on_done};
    run->c = (struct cluster){.ns = (char *)"hpc", .name = (char *)"x", .uid = (char *)"uid-1"};
    run->c.untried = fix.untried;
    run->now_ms = loop_now_ms(fix.r.o.loop);
    run->in.cluster = &run->c;
    run->in.pods = pods;
    run->child[CLUSTER_MEMBER_SET].observed = &fix.set;
    run->child[CLUSTER_MEMBER_SET].wanted = &fix.wanted;
    run->in.child[CLUSTER_MEMBER_SET] =
        (struct plan_child_seen){.exists = true, .uid = "uid-of-set", .replicas = 3};
    for (; members[run->in.npods]; run->in.npods++)
        pods[run->in.npods] = (struct plan_pod){.vpid = (uint32_t)(members[run->in.npods] - '0')};
    shortage_observe(run);
    return run->in.child[CLUSTER_MEMBER_SET];
}

static bool is_due(const char *members)
{
    struct run run;

    return observe(&run, members).short_of_pods;
}

static void turn_until_done(void)
{
    while (!fix.done)
        clock_turn(fix.r.o.loop);
    fix.done = false;
}

static struct plan_child_seen try_pod(const char *members)
{
    static const struct plan_action try = {.verb = PLAN_TRY_POD, .child = CLUSTER_MEMBER_SET};
    struct run run;

    assert_true(observe(&run, members).short_of_pods);
    run.action = &try;
    shortage_try(&run);
    turn_until_done();
    return run.in.child[CLUSTER_MEMBER_SET];
}

static void run_for(uint64_t ms)
{
    clock_run_for(fix.r.o.loop, ms);
}

static void check_pause(const char *members, uint64_t ms)
{
    assert_false(is_due(members));
    run_for(ms - 1);
    assert_false(is_due(members));
    run_for(1);
    assert_true(is_due(members));
}

static void pods_that_stay_away_are_tried_after_growing_pauses(void **state)
{
    uint64_t pause_ms = 4000;

    for (int i = 0; i < 6; i++) {
        check_pause("12", pause_ms);
        try_pod("12");
        pause_ms = pause_ms > 30000 ? 60000 : pause_ms * 2;
    }
    assert_int_equal(fix.dry_runs, 6);
}

static void another_shortage_is_tried_after_the_first_pause(void **state)
{
    for (uint64_t ms = 4000; ms < 60000; ms *= 2) {
        check_pause("12", ms);
        try_pod("12");
    }
    check_pause("1", 4000); /* fewer pods */
    try_pod("1");
    check_pause("1", 8000);
    try_pod("1");
    check_pause("2", 4000); /* as many, but others */
}

static void changes_that_go_on_delay_no_try(void **state)
{
    assert_false(is_due("1"));
    for (int i = 0; i < 3; i++) {
        run_for(1000);
        assert_false(is_due(i % 2 ? "1" : "2"));
    }
    run_for(1000);
    assert_true(is_due("2"));
}

/* The answer of the first try while the server has such a pod x-2. */
static const char *try_beside(const char *pod)
{
    fix.pod_in_the_way = pod;
    is_due("13");
    run_for(60000);
    return try_pod("13").pod_in_the_way;
}

static void a_pod_that_the_set_does_not_control_is_in_the_way_of_a_missing_one(void **state)
{
    struct run run;

    assert_string_equal(try_beside("{\"metadata\": {\"name\": \"x-2\"}}"), "x-2");
    assert_string_equal(fix.asked_for, "2");
    assert_string_equal(observe(&run, "13").pod_in_the_way, "x-2");
    assert_string_equal(try_beside(CONTROLLED_BY("StatefulSet", "another")), "x-2");
    assert_string_equal(try_beside(CONTROLLED_BY("ReplicaSet", "uid-of-set")), "x-2");
    assert_int_equal(fix.dry_runs, 0);
    assert_null(observe(&run, "12").pod_in_the_way); /* x-2 is ours, x-3 is missing */
}

static void a_pod_that_is_no_longer_in_the_way_is_forgotten_and_a_dry_run_follows(void **state)
{
    assert_non_null(try_beside("{\"metadata\": {\"name\": \"x-2\"}}"));
    assert_null(try_beside(NULL));
    assert_int_equal(fix.dry_runs, 1);
    assert_null(try_beside(CONTROLLED_BY("StatefulSet", "uid-of-set")));
    assert_int_equal(fix.dry_runs, 2);
}

static void a_pod_in_the_way_is_looked_for_also_without_dry_runs(void **state)
{
    fix.untried = true;
    assert_non_null(try_beside("{\"metadata\": {\"name\": \"x-2\"}}"));
    assert_null(try_beside(NULL));
    assert_int_equal(fix.dry_runs, 0);
}

/* Applies the StatefulSet of the members, and returns the message of a refusal before that; NULL:
 * none. */
static const char *apply_with_answer(int status, const char *answer)
{
    static const struct plan_action apply = {.verb = PLAN_APPLY, .child = CLUSTER_MEMBER_SET};
    struct run run;

    fix.dry_status = status;
    fix.dry_answer = answer;
    observe(&run, "123");
    run.action = &apply;
    apply_child(&run);
    turn_until_done();
    assert_int_equal(fix.dry_runs, 1);
    return fix.applies ? NULL : fix.e.child[CLUSTER_MEMBER_SET].message;
}

static void
a_webhook_that_does_not_support_dry_runs_lets_the_set_be_applied_without_one(void **state)
{
    assert_null(apply_with_answer(400, NO_WEBHOOK));
    assert_int_equal(fix.applies, 1);
}

static void a_template_that_a_dry_run_refuses_is_not_applied(void **state)
{
    const char *message = apply_with_answer(400, NO_TEMPLATE);

    assert_non_null(message);
    assert_non_null(strstr(message, "unknown field \"spec.x\""));
}

static void a_webhook_that_does_not_support_dry_runs_explains_no_missing_pod(void **state)
{
    struct run run;

    fix.dry_status = 400;
    fix.dry_answer = NO_WEBHOOK;
    is_due("1");
    run_for(4000);
    assert_null(try_pod("1").refusal);
    assert_int_equal(fix.dry_runs, 1);
    fix.dry_answer = NO_TEMPLATE;
    run_for(8000);
    assert_non_null(try_pod("1").refusal);
    assert_non_null(observe(&run, "1").refusal);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods_that_stay_away_are_tried_after_growing_pauses),
        TEST(another_shortage_is_tried_after_the_first_pause),
        TEST(changes_that_go_on_delay_no_try),
        TEST(a_pod_that_the_set_does_not_control_is_in_the_way_of_a_missing_one),
        TEST(a_pod_that_is_no_longer_in_the_way_is_forgotten_and_a_dry_run_follows),
        TEST(a_pod_in_the_way_is_looked_for_also_without_dry_runs),
        TEST(a_webhook_that_does_not_support_dry_runs_lets_the_set_be_applied_without_one),
        TEST(a_template_that_a_dry_run_refuses_is_not_applied),
        TEST(a_webhook_that_does_not_support_dry_runs_explains_no_missing_pod),
    };

    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
