/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of two candidates for one Lease against a server that keeps it, refuses and falls silent.
 * The clock moves by a millisecond a turn of the loop. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "base/loop/test/clock.h"
#include "operator/http/test/fake_server.h"
#include "operator/lease/lease.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GUARD_MS 120000
#define PATH "/apis/coordination.k8s.io/v1/namespaces/hpc/leases"

struct world;
struct candidate {
    struct world *w;
    struct lease *lease;
    const char *identity;
    int64_t duration_s; /* 0: 15 */
    int acquired, lost, released;
};

struct world {
    struct loop *loop;
    struct kube *kube;
    struct fake server;
    struct loop_timer *guard;
    json_t *stored; /* NULL: there is no Lease */
    int version;
    int requests, writes;
    int refuse;  /* status of every answer; 0: none is refused */
    bool silent; /* requests are not answered */
    bool stopped;
    struct candidate a, b;
};

static void on_guard(void *arg)
{
    fail_msg("nothing happened for %d ms", GUARD_MS);
}

static void stop(struct world *w)
{
    w->stopped = true;
    loop_stop(w->loop);
}

static void run(struct world *w)
{
    w->stopped = false;
    loop_timer_arm(w->guard, GUARD_MS);
    clock_run_until(w->loop, &w->stopped);
    loop_timer_disarm(w->guard);
}

/* Lets so much time pass, with a turn of the loop for each millisecond. */
static void on_passed(void *arg)
{
    stop(arg);
}

static void pass(struct world *w, uint64_t ms)
{
    struct loop_timer *t = loop_timer_create(w->loop, on_passed, w);

    loop_timer_arm(t, ms);
    run(w);
    loop_timer_destroy(t);
}

static const char *text_at(const json_t *o, const char *part, const char *key)
{
    return json_string_value(json_object_get(json_object_get(o, part), key));
}

static void store(struct world *w, json_t *lease)
{
    FREE_AUTO char *version = xasprintf("%d", ++w->version);

    json_object_set_new(json_object_get(lease, "metadata"), "resourceVersion",
                        json_string(version));
    json_decref(w->stored);
    w->stored = lease;
}

static void reply_stored(struct world *w, struct fake_conn *c, int status)
{
    FREE_AUTO char *text = json_dumps(w->stored, 0);

    fake_reply(c, status, text);
}

static void on_write(struct world *w, struct fake_conn *c, const char *method, const char *body)
{
    json_t *lease = json_loads(body, 0, NULL);
    const char *version = text_at(lease, "metadata", "resourceVersion");
    bool create = strcmp(method, "POST") == 0;

    w->writes++;
    if (!create && !w->stored) {
        json_decref(lease);
        fake_reply(c, 404, "{\"message\": \"not found\"}");
        return;
    }
    const char *stored = w->stored ? text_at(w->stored, "metadata", "resourceVersion") : "";
    bool same = version && strcmp(version, stored) == 0;
    if (create ? w->stored != NULL : !same) {
        json_decref(lease);
        fake_reply(c, 409, "{\"message\": \"modified\"}");
        return;
    }
    store(w, lease);
    reply_stored(w, c, create ? 201 : 200);
}

static void on_request(struct fake_conn *c, const char *method, const char *target,
                       const char *head, const char *body, void *arg)
{
    struct world *w = arg;

    w->requests++;
    if (w->silent)
        return;
    if (w->refuse)
        fake_reply(c, w->refuse, "{\"message\": \"refused\"}");
    else if (strcmp(method, "GET") != 0)
        on_write(w, c, method, body);
    else if (w->stored)
        reply_stored(w, c, 200);
    else
        fake_reply(c, 404, "{\"message\": \"not found\"}");
}

static void on_acquired(void *arg)
{
    struct candidate *x = arg;

    assert_true(lease_held(x->lease));
    x->acquired++;
    stop(x->w);
}

static void on_lost(const char *why, void *arg)
{
    struct candidate *x = arg;

    assert_false(lease_held(x->lease));
    x->lost++;
    stop(x->w);
}

static void on_released(void *arg)
{
    struct candidate *x = arg;

    x->released++;
    stop(x->w);
}

static struct kube_config *config_for(int port)
{
    char path[] = "/tmp/test_lease.XXXXXX";
    int fd = mkstemp(path);
    struct err err = {0};

    assert_true(fd >= 0);
    dprintf(fd,
            "clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:%d'}\n"
            "contexts:\n- name: x\n  context: {cluster: c, user: u}\n"
            "users:\n- name: u\n  user: {}\ncurrent-context: x\n",
            port);
    close(fd);
    struct kube_config *config = kube_config_load(path, NULL, &err);
    unlink(path);
    if (!config)
        fail_msg("%s", err.msg);
    return config;
}

static void setup(struct world *w)
{
    struct err err = {0};

    *w = (struct world){.a = {.w = w, .identity = "a"}, .b = {.w = w, .identity = "b"}};
    w->loop = loop_create(&err);
    w->guard = loop_timer_create(w->loop, on_guard, w);
    fake_start(&w->server, w->loop, 0, on_request, w);
    w->kube = kube_create(w->loop, config_for(w->server.port), &err);
    assert_non_null(w->kube);
}

static void teardown(struct world *w)
{
    lease_destroy(w->a.lease);
    lease_destroy(w->b.lease);
    kube_destroy(w->kube);
    fake_stop(&w->server);
    loop_timer_destroy(w->guard);
    loop_destroy(w->loop);
    json_decref(w->stored);
}

static void begin(struct candidate *x)
{
    struct lease_opts o = {.loop = x->w->loop,
                           .kube = x->w->kube,
                           .ns = "hpc",
                           .name = "op",
                           .identity = x->identity,
                           .duration_s = x->duration_s ? x->duration_s : 15,
                           .on_acquired = on_acquired,
                           .on_lost = on_lost,
                           .arg = x};

    x->lease = lease_create(&o);
}

static const char *holder(const struct world *w)
{
    return text_at(w->stored, "spec", "holderIdentity");
}

static void of_two_candidates_one_leads_and_renews(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    begin(&w.b);
    pass(&w, 60000);
    assert_int_equal(w.a.acquired, 1);
    assert_int_equal(w.a.lost, 0);
    assert_int_equal(w.b.acquired, 0);
    assert_true(lease_held(w.a.lease));
    assert_false(lease_held(w.b.lease));
    assert_string_equal(holder(&w), "a");
    assert_in_range(w.writes, 17, 20); /* every 3.3 s */
    teardown(&w);
}

static void a_holder_that_is_refused_stops_at_its_deadline_and_before_another_begins(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    begin(&w.b);
    pass(&w, 5000);
    w.refuse = 500;
    pass(&w, 6000);
    assert_true(lease_held(w.a.lease));
    assert_non_null(strstr(lease_trouble(w.a.lease), PATH "/op: refused (500)"));
    run(&w);
    assert_int_equal(w.a.lost, 1);
    assert_false(lease_held(w.a.lease));
    assert_int_equal(w.b.acquired, 0);
    w.refuse = 0;
    run(&w);
    assert_int_equal(w.a.acquired + w.b.acquired, 2);
    assert_true(lease_held(w.a.lease) != lease_held(w.b.lease));
    pass(&w, 5000);
    assert_null(lease_trouble(w.a.lease));
    assert_null(lease_trouble(w.b.lease));
    teardown(&w);
}

static void a_server_that_does_not_answer_ends_the_leadership_in_time(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    w.silent = true;
    pass(&w, 9900);
    assert_true(lease_held(w.a.lease));
    run(&w);
    assert_int_equal(w.a.lost, 1);
    teardown(&w);
}

static void a_holder_whose_lease_was_taken_stops_at_once(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    json_t *other = json_deep_copy(w.stored);
    json_object_set_new(json_object_get(other, "spec"), "holderIdentity", json_string("z"));
    store(&w, other);
    run(&w);
    assert_int_equal(w.a.lost, 1);
    assert_false(lease_held(w.a.lease));
    assert_string_equal(holder(&w), "z");
    teardown(&w);
}

static void a_holder_whose_lease_was_only_touched_goes_on(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    store(&w, json_deep_copy(w.stored)); /* another version, for example a label */
    pass(&w, 20000);
    assert_true(lease_held(w.a.lease));
    assert_int_equal(w.a.lost, 0);
    teardown(&w);
}

static void a_lease_that_was_deleted_is_created_again(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    json_decref(w.stored);
    w.stored = NULL;
    run(&w);
    assert_int_equal(w.a.lost, 1);
    run(&w);
    assert_int_equal(w.a.acquired, 2);
    assert_string_equal(holder(&w), "a");
    teardown(&w);
}

static void a_released_lease_is_taken_by_the_other_without_a_wait_for_its_expiry(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    begin(&w.b);
    pass(&w, 3000);
    lease_release(w.a.lease, on_released, &w.a);
    assert_false(lease_held(w.a.lease));
    run(&w);
    assert_int_equal(w.a.released, 1);
    assert_string_equal(holder(&w), "");
    pass(&w, 2600);
    assert_int_equal(w.b.acquired, 1);
    assert_int_equal(w.a.lost, 0);
    assert_string_equal(holder(&w), "b");
    teardown(&w);
}

static void a_candidate_for_a_long_lease_looks_often(void **state)
{
    struct world w;

    setup(&w);
    w.a.duration_s = w.b.duration_s = 3600;
    begin(&w.a);
    run(&w);
    begin(&w.b);
    pass(&w, 3000);
    lease_release(w.a.lease, on_released, &w.a);
    run(&w);
    pass(&w, 2600);
    assert_int_equal(w.b.acquired, 1);
    teardown(&w);
}

static void a_release_ends_even_if_the_server_does_not_answer(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    w.silent = true;
    lease_release(w.a.lease, on_released, &w.a);
    run(&w);
    assert_int_equal(w.a.released, 1);
    teardown(&w);
}

static void a_release_by_a_candidate_writes_nothing(void **state)
{
    struct world w;

    setup(&w);
    begin(&w.a);
    run(&w);
    begin(&w.b);
    pass(&w, 100);
    int writes = w.writes;
    lease_release(w.b.lease, on_released, &w.b);
    run(&w);
    assert_int_equal(w.b.released, 1);
    assert_int_equal(w.writes, writes);
    assert_string_equal(holder(&w), "a");
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_candidates_one_leads_and_renews),
        cmocka_unit_test(a_holder_that_is_refused_stops_at_its_deadline_and_before_another_begins),
        cmocka_unit_test(a_server_that_does_not_answer_ends_the_leadership_in_time),
        cmocka_unit_test(a_holder_whose_lease_was_taken_stops_at_once),
        cmocka_unit_test(a_holder_whose_lease_was_only_touched_goes_on),
        cmocka_unit_test(a_lease_that_was_deleted_is_created_again),
        cmocka_unit_test(a_released_lease_is_taken_by_the_other_without_a_wait_for_its_expiry),
        cmocka_unit_test(a_candidate_for_a_long_lease_looks_often),
        cmocka_unit_test(a_release_ends_even_if_the_server_does_not_answer),
        cmocka_unit_test(a_release_by_a_candidate_writes_nothing),
    };

    return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
