/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that stop for a debugger: when their job is ready for it, which processes are notified, and
 * how the ranks go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf/buf.h"
#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/wire/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 2
#define RANKS 4 /* two on each member */

struct world {
    struct sim *sim;
    size_t job;
    int ready;     /* how often its submitter was notified that it is ready */
    int continued; /* actions that continue ranks */
    bool hurried;  /* ranks call PMIx_Init before their start is reported */
};

static struct core *core_of(struct world *w, uint32_t vpid)
{
    return sim_core(w->sim, vpid);
}

static void see_client(struct world *w, const struct out_act *act)
{
    struct client_msg m;

    assert_int_equal(client_msg_decode(act->client.msg.data, act->client.msg.len, &m, NULL), 0);
    w->ready += m.type == CLIENT_STATE && m.state.state == JOB_READY_FOR_DEBUG;
    client_msg_free(&m);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct world *w = arg;

    if (act->kind == OUT_CLIENT)
        see_client(w, act);
    w->continued += act->kind == OUT_CONTINUE;
    if (act->kind != OUT_LAUNCH || !w->hurried)
        return;
    for (uint32_t r = 0; r < act->launch.launch->nranks; r++)
        core_proc(core_of(w, vpid), act->launch.launch->nspace, r, CORE_PROC_REGISTERED, 0, NULL);
}

static struct world *world_new(void)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct world *w = xcalloc(1, sizeof(*w));
    struct sim_hooks h = {.arg = w, .action = on_action};

    w->sim = dvm_boot(&shape);
    sim_watch(w->sim, &h);
    sim_for(w->sim, 500);
    return w;
}

static void world_free(struct world *w)
{
    sim_destroy(w->sim);
    free(w);
}

static const struct sim_job *job(struct world *w)
{
    return sim_job(w->sim, w->job);
}

static void put(struct world *w, enum job_stop stop, uint32_t rank)
{
    struct sim_want want = {.ranks = RANKS, .run_ms = 300, .stop = stop, .stop_rank = rank};

    w->job = sim_submit_job(w->sim, 0, &want);
}

/* Its ranks stop within 200 ms. */
static void submit(struct world *w, enum job_stop stop, uint32_t rank)
{
    put(w, stop, rank);
    sim_for(w->sim, 250);
}

static const char *reason_of(struct world *w, const char *nspace, int *code)
{
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    sim_clock(w->sim, 0);
    *code = core_continue_put(core_of(w, 0), nspace, &reason, &err) == 0 ? 0 : err.code;
    sim_drain(w->sim, 0);
    return api_reason_word(reason);
}

static void let_go(struct world *w)
{
    int code;

    assert_string_equal(reason_of(w, job(w)->nspace, &code), "");
    assert_int_equal(code, 0);
}

static void assert_state(struct world *w, enum job_state state)
{
    struct api_dvm view;
    enum api_reason reason;

    assert_int_equal(core_dvm(core_of(w, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.jobs[0].state, state);
    api_dvm_free(&view);
}

static bool is_done(struct sim *s, void *arg)
{
    const struct world *w = arg;

    return sim_job(s, w->job)->done;
}

static void assert_ends(struct world *w, int code)
{
    assert_true(sim_until(w->sim, is_done, w, 60000));
    assert_int_equal(job(w)->exit_code, code);
    sim_for(w->sim, 5000);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(sim_ranks(w->sim, v), 0);
}

static void a_job_is_reported_ready_once_when_all_its_ranks_have_stopped(void **state)
{
    static const enum job_stop stops[] = {JOB_STOP_EXEC, JOB_STOP_INIT, JOB_STOP_APP};

    for (size_t i = 0; i < 3; i++) {
        struct world *w = world_new();

        submit(w, stops[i], JOB_RANK_ALL);
        assert_int_equal(w->ready, 1);
        assert_state(w, JOB_READY_FOR_DEBUG);
        sim_for(w->sim, 60000);
        assert_state(w, JOB_READY_FOR_DEBUG); /* no rank goes on without a request */
        let_go(w);
        sim_for(w->sim, 100);
        assert_int_equal(job(w)->state, stops[i] == JOB_STOP_EXEC ? JOB_RUNNING : JOB_REGISTERED);
        assert_int_equal(w->continued, MEMBERS);
        assert_ends(w, 0);
        assert_int_equal(w->ready, 1);
        world_free(w);
    }
}

static void a_job_is_not_ready_while_one_rank_runs(void **state)
{
    struct world *w = world_new();

    put(w, JOB_STOP_EXEC, JOB_RANK_ALL);
    for (int i = 0; i < 250; i++) {
        sim_for(w->sim, 1);
        if (w->ready)
            assert_int_equal(sim_unheld(w->sim, job(w)->nspace), 0);
    }
    assert_int_equal(w->ready, 1);
    let_go(w);
    assert_ends(w, 0);
    world_free(w);
}

static void only_the_rank_that_is_named_stops(void **state)
{
    struct world *w = world_new();

    submit(w, JOB_STOP_INIT, 3);
    assert_state(w, JOB_READY_FOR_DEBUG);
    sim_for(w->sim, 1000);
    assert_int_equal(sim_ranks(w->sim, 1), 0); /* the others have ended */
    assert_int_equal(sim_ranks(w->sim, 2), 1);
    core_job_continue(core_of(w, 1), job(w)->nspace, 3); /* by an event, on another daemon */
    sim_drain(w->sim, 1);
    sim_for(w->sim, 100);
    assert_state(w, JOB_RUNNING);
    assert_ends(w, 0);
    assert_int_equal(w->ready, 1);
    world_free(w);
}

static void a_rank_continued_before_it_has_stopped_does_not_stop(void **state)
{
    struct world *w = world_new();

    put(w, JOB_STOP_INIT, JOB_RANK_ALL);
    for (int ms = 0; ms < 1000 && !job(w)->accepted; ms++)
        sim_for(w->sim, 1);
    assert_true(job(w)->accepted);
    sim_for(w->sim, 10);
    let_go(w);
    assert_ends(w, 0);
    assert_int_equal(w->ready, 0);
    world_free(w);
}

static void a_job_that_waits_for_slots_and_may_go_on_does_not_stop(void **state)
{
    struct world *w = world_new();

    sim_submit(w->sim, 0, RANKS, 500, 0);
    sim_for(w->sim, 50);
    put(w, JOB_STOP_EXEC, JOB_RANK_ALL);
    sim_for(w->sim, 50);
    assert_int_equal(job(w)->state, JOB_VM_READY);
    let_go(w);
    assert_ends(w, 0);
    assert_int_equal(w->ready + w->continued, 0);
    world_free(w);
}

static void ranks_that_a_debugger_releases_leave_the_state_too(void **state)
{
    struct world *w = world_new();

    submit(w, JOB_STOP_EXEC, JOB_RANK_ALL);
    for (uint32_t r = 0; r < RANKS; r++) {
        uint32_t vpid = 1 + r / 2;

        assert_state(w, JOB_READY_FOR_DEBUG);
        core_proc(core_of(w, vpid), job(w)->nspace, r, CORE_PROC_GOES_ON, 0, NULL);
        sim_drain(w->sim, vpid);
        sim_for(w->sim, 50);
    }
    assert_state(w, JOB_RUNNING);
    assert_int_equal(w->continued, 0);
    world_free(w);
}

static void a_stopped_job_ends_like_any_other(void **state)
{
    struct world *w = world_new();

    submit(w, JOB_STOP_EXEC, JOB_RANK_ALL);
    core_client_signal(core_of(w, 0), (uint32_t)w->job, SIGTERM);
    sim_drain(w->sim, 0);
    assert_ends(w, 128 + SIGTERM);
    world_free(w);
    w = world_new();
    submit(w, JOB_STOP_INIT, JOB_RANK_ALL);
    core_client_gone(core_of(w, 0), (uint32_t)w->job);
    sim_drain(w->sim, 0);
    sim_for(w->sim, 5000);
    assert_state(w, JOB_KILLED_BY_CMD);
    assert_int_equal(sim_ranks(w->sim, 1) + sim_ranks(w->sim, 2), 0);
    world_free(w);
    w = world_new();
    submit(w, JOB_STOP_INIT, JOB_RANK_ALL);
    sim_crash(w->sim, 2);
    assert_ends(w, EXIT_CODE_LOST);
    world_free(w);
}

static void a_rank_that_ends_before_it_stops_is_not_waited_for(void **state)
{
    struct world *w = world_new();
    char *argv[] = {"300", "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = RANKS};
    struct job_spec spec = {.flags = JOB_RECOVERABLE,
                            .napps = 1,
                            .apps = &app,
                            .parent_nspace = "",
                            .stop = JOB_STOP_INIT,
                            .stop_rank = JOB_RANK_ALL};

    w->job = 9; /* the client's number is its place among the simulator's jobs */
    sim_clock(w->sim, 0);
    core_submit(core_of(w, 0), 9, &spec);
    sim_drain(w->sim, 0);
    while (job(w)->state != JOB_RUNNING)
        sim_for(w->sim, 1);
    sim_crash(w->sim, 2); /* before its ranks have stopped, perhaps */
    sim_for(w->sim, DVM_LOSS_MS);
    assert_int_equal(w->ready, 1);
    assert_state(w, JOB_READY_FOR_DEBUG);
    let_go(w);
    assert_true(sim_until(w->sim, is_done, w, 60000));
    world_free(w);
}

static void a_job_that_does_not_stop_or_is_not_there_cannot_go_on(void **state)
{
    struct world *w = world_new();
    int code;

    submit(w, JOB_STOP_NONE, 0);
    assert_string_equal(reason_of(w, job(w)->nspace, &code), "NotStopped");
    assert_int_equal(code, 409);
    assert_string_equal(reason_of(w, "no.such", &code), "NotFound");
    assert_int_equal(code, 404);
    assert_int_equal(core_continue_put(core_of(w, 1), job(w)->nspace, &(enum api_reason){0}, NULL),
                     -1);
    core_proc(core_of(w, 1), job(w)->nspace, 0, CORE_PROC_HELD, 0, NULL); /* without a request */
    sim_drain(w->sim, 1);
    assert_int_equal(w->ready + w->continued, 0);
    assert_ends(w, 0);
    world_free(w);
}

static void a_rank_may_call_pmix_init_before_its_start_is_reported(void **state)
{
    struct world *w = world_new();

    w->hurried = true;
    submit(w, JOB_STOP_NONE, 0);
    assert_state(w, JOB_REGISTERED);
    assert_ends(w, 0);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_reported_ready_once_when_all_its_ranks_have_stopped),
        cmocka_unit_test(a_job_is_not_ready_while_one_rank_runs),
        cmocka_unit_test(only_the_rank_that_is_named_stops),
        cmocka_unit_test(a_rank_continued_before_it_has_stopped_does_not_stop),
        cmocka_unit_test(a_job_that_waits_for_slots_and_may_go_on_does_not_stop),
        cmocka_unit_test(ranks_that_a_debugger_releases_leave_the_state_too),
        cmocka_unit_test(a_stopped_job_ends_like_any_other),
        cmocka_unit_test(a_rank_that_ends_before_it_stops_is_not_waited_for),
        cmocka_unit_test(a_job_that_does_not_stop_or_is_not_there_cannot_go_on),
        cmocka_unit_test(a_rank_may_call_pmix_init_before_its_start_is_reported),
    };

    return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
