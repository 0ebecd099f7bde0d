/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs with files over several daemons in virtual time: when their ranks start, and the effect of a
 * resize, a loss or an end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/state/state.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 4

struct dvm {
    struct sim *sim;
    bool started[MEMBERS + 1];
    bool pieces[MEMBERS + 1]; /* of files have come */
    unsigned came;            /* pieces at vpid 1 */
    uint32_t full, full_for;  /* two vpids: the first has a full backlog for the second, */
    uint64_t full_until;      /* so long */
    bool too_early;           /* a rank got its start before all daemons of the job had its files */
};

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;
    const struct job_launch *l;

    if (act->kind == OUT_APP && act->app.kind == FILES_PIECE)
        d->pieces[vpid] = true;
    if (act->kind != OUT_START)
        return;
    d->started[vpid] = true;
    l = core_job(sim_core(d->sim, vpid), act->start.nspace);
    for (size_t i = 0; l && i < l->nnodes; i++)
        d->too_early |= sim_core(d->sim, l->nodes[i].vpid) &&
                        !sim_ready(d->sim, l->nodes[i].vpid, act->start.nspace);
}

static int open_dvm(void **state)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action};

    d->sim = dvm_boot(&shape);
    sim_watch(d->sim, &h);
    sim_for(d->sim, 500);
    *state = d;
    return 0;
}

static int close_dvm(void **state)
{
    struct dvm *d = *state;

    assert_false(d->too_early);
    sim_destroy(d->sim);
    free(d);
    return 0;
}

static bool is_preparing(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->state == JOB_PREPARING;
}

static void assert_ends(struct dvm *d, size_t job, int code, const char *text)
{
    assert_true(sim_until(d->sim, dvm_job_over, &job, 60000));
    assert_int_equal(sim_job(d->sim, job)->exit_code, code);
    if (!strstr(sim_job(d->sim, job)->text, text))
        fail_msg("'%s' does not say '%s'", sim_job(d->sim, job)->text, text);
    sim_for(d->sim, 5000);
    for (uint32_t v = 0; v <= MEMBERS; v++) {
        assert_int_equal(sim_ranks(d->sim, v), 0);
        assert_int_equal(sim_files_stats(d->sim, v).sinks, 0);
        assert_int_equal(sim_files_stats(d->sim, v).sources, 0);
    }
}

/* A job over all members. Its files are under way when this function returns. */
static size_t submit_preparing(struct dvm *d, struct sim_want w)
{
    size_t job;

    w.ranks = 2 * MEMBERS;
    w.nfiles = SIM_FILES_MAX;
    job = sim_submit_job(d->sim, 1, &w);
    assert_true(sim_until(d->sim, is_preparing, &job, 1000));
    return job;
}

static void nothing_started(const struct dvm *d)
{
    for (uint32_t v = 0; v <= MEMBERS; v++)
        assert_false(d->started[v]);
}

static void campaign(struct dvm *d, const char *id, uint32_t vpid, enum api_drain_mode mode)
{
    struct api_campaign_request r = {
        .sequence = 1, .drain_mode = mode, .deadline_s = -1, .ntargets = 1, .targets = &vpid};
    struct api_campaign out;
    enum api_reason reason;

    sim_clock(d->sim, 0);
    assert_int_equal(core_campaign_put(sim_core(d->sim, 0), id, &r, &out, &reason, NULL), 0);
    api_campaign_free(&out);
    sim_drain(d->sim, 0);
}

/* --- */

static void ranks_start_when_the_files_are_everywhere_and_only_there(void **state)
{
    struct dvm *d = *state;
    struct sim_want w = {.ranks = 3, .run_ms = 10, .nfiles = 2};
    size_t job = sim_submit_job(d->sim, 4, &w);

    assert_ends(d, job, 0, "");
    for (uint32_t v = 0; v <= MEMBERS; v++) {
        assert_int_equal(d->pieces[v], v == 1 || v == 2);
        assert_int_equal(d->started[v], v == 1 || v == 2);
    }
}

static void keep_full(void *arg, uint32_t vpid)
{
    struct dvm *d = arg;
    const char bytes[16] = {0};
    bool more = false;

    while (vpid == d->full && sim_now(d->sim) < d->full_until &&
           core_app_send(sim_core(d->sim, vpid), d->full_for, CLASS_BULK, 7, bytes, sizeof(bytes),
                         NULL) == 0)
        more = true;
    if (more)
        sim_drain(d->sim, vpid);
}

static void fill_from_take_files(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (vpid == 2 && act->kind == OUT_TAKE_FILES)
        d->full_until = sim_now(d->sim) + 200;
}

static void fill_from_first_piece(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (vpid == 2 && act->kind == OUT_APP && act->app.kind == FILES_PIECE && !d->full_until)
        d->full_until = sim_now(d->sim) + 200;
}

/* A job with files on vpids 1 and 2, submitted at vpid 4, ends with that code. */
static void run_with_full_backlog(struct dvm *d, const struct sim_hooks *h, int code)
{
    struct dvm_shape shape = {
        .members = MEMBERS, .started = MEMBERS, .slots = 2, .backlog_max = 4096};
    struct sim_want w = {.ranks = 3, .run_ms = 10, .nfiles = 2};

    d->sim = dvm_boot(&shape);
    sim_watch(d->sim, h);
    sim_for(d->sim, 500);
    assert_ends(d, sim_submit_job(d->sim, 4, &w), code, "");
    assert_true(d->full_until);
    sim_destroy(d->sim);
}

/* The daemon of the ranks has a full backlog for the daemon of the submitter when it could take
 * pieces, or has written some, and then no further reason to say so. */
static void a_daemon_with_a_full_backlog_reports_later(void **state)
{
    static void (*const fill_from[])(void *, uint32_t, const struct out_act *) = {
        fill_from_take_files, fill_from_first_piece};

    for (size_t i = 0; i < 2; i++) {
        struct dvm d = {.full = 2, .full_for = 4};
        struct sim_hooks h = {.arg = &d, .action = fill_from[i], .after = keep_full};

        run_with_full_backlog(&d, &h, 0);
    }
}

/* The daemon of the submitter has a full backlog for vpid 2 when both daemons of the job are open.
 */
static void fill_from_open(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (act->kind == OUT_APP && act->app.kind == FILES_OPEN)
        d->full_until = sim_now(d->sim) + 200;
    d->came += vpid == 1 && act->kind == OUT_APP && act->app.kind == FILES_PIECE;
}

static void no_piece_is_sent_after_one_that_could_not_be(void **state)
{
    struct dvm d = {.full = 4, .full_for = 2};
    struct sim_hooks h = {.arg = &d, .action = fill_from_open, .after = keep_full};

    run_with_full_backlog(&d, &h, 143);
    assert_int_equal(d.came, 1);
}

static void a_full_disk_fails_the_job_with_node_and_reason(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){.full = true});

    assert_ends(d, job, 125, "not launched: its files cannot be put on node");
    assert_non_null(strstr(sim_job(d->sim, job)->text, "writing full: No space left on device"));
    nothing_started(d);
}

static void the_loss_of_a_daemon_ends_the_job(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){0});

    sim_vanish(d->sim, 3);
    assert_ends(d, job, 123, "lost with their daemon (vpid 3)");
    nothing_started(d);
}

static void a_recoverable_job_goes_on_without_the_lost_daemon(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){.flags = JOB_RECOVERABLE, .run_ms = 5});

    sim_crash(d->sim, 3);
    assert_ends(d, job, 0, "");
    assert_true(d->started[1] && d->started[2] && d->started[4]);
    assert_false(d->started[3]);
}

static void the_loss_of_the_source_ends_the_job(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){0});

    sim_crash(d->sim, 1);
    sim_for(d->sim, 30000);
    assert_false(sim_job(d->sim, job)->done);
    nothing_started(d);
    for (uint32_t v = 2; v <= MEMBERS; v++)
        assert_int_equal(sim_files_stats(d->sim, v).sinks, 0);
}

static void a_submitter_that_disconnects_ends_the_job(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){0});

    sim_job_forget(d->sim, job);
    sim_clock(d->sim, 1);
    core_client_gone(sim_core(d->sim, 1), (uint32_t)job);
    sim_drain(d->sim, 1);
    sim_for(d->sim, 10000);
    nothing_started(d);
    for (uint32_t v = 0; v <= MEMBERS; v++)
        assert_int_equal(sim_files_stats(d->sim, v).sinks + sim_files_stats(d->sim, v).sources, 0);
}

static void a_signal_and_a_timeout_end_the_job(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){0});

    sim_clock(d->sim, 1);
    core_client_signal(sim_core(d->sim, 1), (uint32_t)job, SIGTERM);
    sim_drain(d->sim, 1);
    assert_ends(d, job, 128 + SIGTERM, "ended by the user");
    job = submit_preparing(d, (struct sim_want){.timeout_ms = 10});
    assert_ends(d, job, 124, "its time limit of 0.01 s has passed");
    nothing_started(d);
}

static void a_shrink_that_waits_lets_it_run_to_its_end(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){.run_ms = 300});

    campaign(d, "c1", 4, API_DRAIN_WAIT);
    sim_for(d->sim, 50);
    assert_int_equal(dvm_phase(d->sim, "c1"), API_PHASE_DRAINING);
    assert_ends(d, job, 0, "");
    assert_int_equal(dvm_phase(d->sim, "c1"), API_PHASE_COMPLETE);
}

static void a_shrink_that_kills_ends_it_before_any_rank_starts(void **state)
{
    struct dvm *d = *state;
    size_t job = submit_preparing(d, (struct sim_want){0});

    campaign(d, "c1", 4, API_DRAIN_KILL);
    assert_ends(d, job, 122, "");
    assert_int_equal(dvm_phase(d->sim, "c1"), API_PHASE_COMPLETE);
    nothing_started(d);
}

static void a_job_that_is_mapped_again_has_its_files_where_it_runs(void **state)
{
    struct dvm *d = *state;
    struct sim_want w = {.ranks = 1, .run_ms = 10, .nfiles = 1};
    struct sim_want fills = {.ranks = 6, .run_ms = 1000};
    size_t job;

    /* Six slots are taken; the job is mapped to the last daemon, and a shrink of that one comes
     * before its launch. */
    (void)sim_submit_job(d->sim, 0, &fills);
    sim_for(d->sim, 200);
    job = sim_submit_job(d->sim, 0, &w);
    campaign(d, "c1", 4, API_DRAIN_WAIT);
    assert_ends(d, job, 0, "");
    assert_int_equal(core_stats(sim_core(d->sim, 0)).remapped, 1);
    assert_false(d->pieces[4]);
    assert_false(d->started[4]);
}

static void the_room_is_shared_out_between_the_daemons(void **state)
{
    struct dvm *d = *state;
    struct sim_want w = {.ranks = 32, .run_ms = 1, .nfiles = 1};
    struct sim *many = dvm_boot(
        &(struct dvm_shape){.members = 32, .started = 32, .radix = 64, .slots = 1, .delay_ms = 2});
    size_t job;

    sim_for(many, 500);
    job = sim_submit_job(many, 0, &w);
    assert_true(sim_until(many, dvm_job_over, &job, 60000));
    assert_int_equal(sim_job(many, job)->exit_code, 0);
    assert_in_range(sim_job(many, job)->room, FILES_JOB_BYTES / 32, FILES_JOB_BYTES / 16);
    sim_destroy(many);
    assert_false(d->too_early);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_dvm, close_dvm)
    const struct CMUnitTest tests[] = {
        TEST(ranks_start_when_the_files_are_everywhere_and_only_there),
        cmocka_unit_test(a_daemon_with_a_full_backlog_reports_later),
        cmocka_unit_test(no_piece_is_sent_after_one_that_could_not_be),
        TEST(a_full_disk_fails_the_job_with_node_and_reason),
        TEST(the_loss_of_a_daemon_ends_the_job),
        TEST(a_recoverable_job_goes_on_without_the_lost_daemon),
        TEST(the_loss_of_the_source_ends_the_job),
        TEST(a_submitter_that_disconnects_ends_the_job),
        TEST(a_signal_and_a_timeout_end_the_job),
        TEST(a_shrink_that_waits_lets_it_run_to_its_end),
        TEST(a_shrink_that_kills_ends_it_before_any_rank_starts),
        TEST(a_job_that_is_mapped_again_has_its_files_where_it_runs),
        TEST(the_room_is_shared_out_between_the_daemons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
