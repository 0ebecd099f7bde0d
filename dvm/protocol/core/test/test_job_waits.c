/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of daemons about waits of a job: the head shows them, and sends them to the submitter. */
#include "dvm/protocol/core/test/jobs.h"

#define MANY 10u

/* The reasons that the submitter was told. */
struct told {
    unsigned n;
    char last[300];
};

static void note_state(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct told *t = arg;
    struct client_msg m;

    if (act->kind != OUT_CLIENT ||
        client_msg_decode(act->client.msg.data, act->client.msg.len, &m, NULL) < 0)
        return;
    if (m.type == CLIENT_STATE) {
        t->n++;
        snprintf(t->last, sizeof(t->last), "%s", m.state.reason);
    }
    client_msg_free(&m);
}

static struct dvm *dvm_of(uint32_t members, struct told *t)
{
    struct dvm_shape shape = {.members = members, .started = members, .slots = 2};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = t, .action = note_state};

    d->sim = dvm_boot(&shape);
    d->fail_rank = -1;
    sim_for(d->sim, 500);
    submit(d, 1, 2 * members, "1000000", "0", (struct job_spec){.flags = JOB_RECOVERABLE});
    sim_watch(d->sim, &h);
    *t = (struct told){0};
    return d;
}

static void tell_wait(struct dvm *d, uint32_t from, const char *text)
{
    core_job_waits(core_of(d, 0), from, job(d)->nspace, text);
    settle(d, 0);
}

static void assert_shown(struct dvm *d, const char *text)
{
    struct api_dvm view;
    enum api_reason reason;

    assert_int_equal(core_dvm(core_of(d, 0), &view, &reason, NULL), 0);
    assert_string_equal(view.jobs[0].waits_for, text);
    api_dvm_free(&view);
}

static void a_wait_is_shown_and_told_once_until_it_is_over(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MEMBERS, &t);

    tell_wait(d, 2, "a");
    assert_shown(d, "a");
    assert_string_equal(t.last, "a");
    tell_wait(d, 2, "a"); /* repeated for a new head */
    assert_int_equal(t.n, 1);
    tell_wait(d, 2, "b");
    assert_int_equal(t.n, 2);
    assert_string_equal(t.last, "b");
    tell_wait(d, 2, "");
    assert_shown(d, "");
    assert_int_equal(t.n, 3);
    assert_string_equal(t.last, "");
    dvm_free(d);
}

static void the_daemon_that_waits_longest_is_shown_until_it_waits_no_more(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MEMBERS, &t);

    tell_wait(d, 2, "a");
    tell_wait(d, 3, "b");
    assert_shown(d, "a");
    assert_int_equal(t.n, 1);
    tell_wait(d, 2, "");
    assert_shown(d, "b");
    assert_string_equal(t.last, "b");
    dvm_free(d);
}

static void a_daemon_without_ranks_of_the_job_is_not_heard(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MEMBERS, &t);

    tell_wait(d, 0, "a");
    tell_wait(d, 77, "a");
    core_job_waits(core_of(d, 0), 2, "5.99", "a");
    core_job_waits(core_of(d, 2), 2, job(d)->nspace, "a"); /* no head */
    settle(d, 0);
    assert_shown(d, "");
    assert_int_equal(t.n, 0);
    dvm_free(d);
}

static void what_a_job_waits_for_is_bounded(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MANY, &t);

    for (uint32_t v = 1; v <= MANY; v++)
        tell_wait(d, v, "a");
    for (uint32_t v = 1; v <= 8; v++)
        tell_wait(d, v, "");
    assert_shown(d, ""); /* vpids 9 and 10 came too late, until they repeat it */
    tell_wait(d, MANY, "b");
    assert_shown(d, "b");
    dvm_free(d);
}

static void a_job_that_fails_and_does_not_end_is_told_with_both_texts(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MEMBERS, &t);
    enum api_reason reason;
    struct err err;

    sim_stop(d->sim, 2, true);
    assert_int_equal(core_signal_put(core_of(d, 0), job(d)->nspace, SIGTERM, &reason, &err), 0);
    tell_wait(d, 2, "a");
    assert_string_equal(t.last, "ended by the user; a");
    dvm_free(d);
}

static void a_daemon_that_is_lost_waits_for_nothing(void **state)
{
    struct told t;
    struct dvm *d = dvm_of(MEMBERS, &t);

    tell_wait(d, 2, "a");
    sim_crash(d->sim, 2);
    sim_for(d->sim, 120000);
    assert_shown(d, "");
    assert_non_null(strstr(t.last, "lost"));
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_shown_and_told_once_until_it_is_over),
        cmocka_unit_test(the_daemon_that_waits_longest_is_shown_until_it_waits_no_more),
        cmocka_unit_test(a_daemon_without_ranks_of_the_job_is_not_heard),
        cmocka_unit_test(what_a_job_waits_for_is_bounded),
        cmocka_unit_test(a_job_that_fails_and_does_not_end_is_told_with_both_texts),
        cmocka_unit_test(a_daemon_that_is_lost_waits_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
