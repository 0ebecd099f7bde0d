/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs as their submitters and ranks see them: refusals, signals, failures, the end; over virtual
 * wires in virtual time. */
#include "dvm/protocol/core/test/jobs.h"

static void the_verbs_of_the_head_are_refused_elsewhere(void **state)
{
    struct dvm *d = dvm_new();
    struct core *c = core_of(d, 1);
    struct api_campaign_request put = {.sequence = 1};
    struct api_shutdown end = {0};
    struct api_size size = {.sequence = 9, .members = 9};
    struct api_campaign campaign;
    struct api_dvm view;
    enum api_reason reason = API_REASON_NONE;

    for (int verb = 0; verb < 7; verb++) {
        struct err err = {0};
        int rc = verb == 0   ? core_campaign_put(c, "x", &put, &campaign, &reason, &err)
                 : verb == 1 ? core_campaign_cancel(c, "x", &campaign, &reason, &err)
                 : verb == 2 ? core_campaign_get(c, "x", &campaign, &reason, &err)
                 : verb == 3 ? core_size_put(c, &size, &size, &reason, &err)
                 : verb == 4 ? core_shutdown(c, &end, &reason, &err)
                 : verb == 5 ? core_signal_put(c, "x", SIGTERM, &reason, &err)
                             : core_dvm(c, &view, &reason, &err);

        assert_int_equal(rc, -1);
        assert_int_equal(err.code, 503);
        assert_int_equal(reason, API_REASON_NOT_HEAD);
        assert_non_null(strstr(err.msg, "vpid 1 is not the head"));
        reason = API_REASON_NONE;
    }
    assert_null(core_event(c, 1));
    assert_int_equal(core_event_next(c), 0);
    assert_null(core_job_watch(c, "x", 1));
    sim_for(d->sim, 1000);
    assert_int_equal(core_state(core_of(d, 0)), CORE_WIRED);
    dvm_free(d);
}

static void a_daemon_that_is_no_member_takes_no_job(void **state)
{
    struct dvm *d = dvm_new();

    sim_crash(d->sim, 0);
    sim_crash(d->sim, 2);
    sim_start(d->sim, 2); /* calls a head that is not there */
    submit(d, 2, 1, "1", "0", plain);
    assert_ends(d, 125, "connects to the head");
    assert_false(core_client_there(core_of(d, 2), CLIENT));
    dvm_free(d);
}

static void a_job_that_must_not_wait_fails_at_once_if_slots_are_in_use(void **state)
{
    struct dvm *d = dvm_new();

    sim_submit(d->sim, 0, 5, 60000, 0);
    sim_for(d->sim, 100);
    submit(d, 1, 2, "1", "0", (struct job_spec){.flags = JOB_NO_WAIT});
    assert_true(job(d)->done);
    assert_int_equal(job(d)->exit_code, 125);
    assert_non_null(strstr(job(d)->text, "--no-wait"));
    dvm_free(d);
}

static void a_rank_that_cannot_be_started_ends_the_job_with_its_reason(void **state)
{
    struct dvm *d = dvm_new();

    d->fail_rank = 3;
    submit(d, 1, 6, "100000", "0", plain);
    assert_ends(d, 125, "rank 3 was not started on node2 (vpid 2): exec of prog: No such file");
    d->fail_rank = -1;
    memset((void *)job(d), 0, sizeof(*job(d)));
    submit(d, 1, 6, "5", "0", plain); /* all slots are free again */
    assert_ends(d, 0, "");
    dvm_free(d);
}

/* Two ranks on each daemon, in a directory that the last of the daemons does not have. */
static void start_is_refused(struct dvm *d, uint32_t ranks, uint32_t flags)
{
    struct sim_want w = {.ranks = ranks, .run_ms = 50, .absent = true, .flags = flags};
    size_t index = sim_submit_job(d->sim, 2, &w);

    sim_for(d->sim, 5000);
    assert_true(sim_job(d->sim, index)->done);
    assert_int_equal(sim_job(d->sim, index)->exit_code, 125);
    assert_non_null(strstr(sim_job(d->sim, index)->text, "was not started on"));
    assert_non_null(strstr(sim_job(d->sim, index)->text, "chdir /absent: No such file"));
    assert_int_equal(d->nstarts, 0);
}

static void a_program_missing_on_one_daemon_is_reported_at_once_and_no_rank_starts(void **state)
{
    struct dvm *d = dvm_new();
    struct sim_want w = {.ranks = 4, .run_ms = 50};
    size_t index;

    start_is_refused(d, 1, 0);
    start_is_refused(d, 2, 0);
    start_is_refused(d, 4, 0);
    start_is_refused(d, 6, JOB_RECOVERABLE);
    index = sim_submit_job(d->sim, 2, &w);
    sim_for(d->sim, 5000);
    assert_int_equal(sim_job(d->sim, index)->exit_code, 0);
    assert_int_equal(d->nstarts, 2);
    w.ranks = 2; /* on one daemon, which starts them by itself */
    index = sim_submit_job(d->sim, 2, &w);
    sim_for(d->sim, 5000);
    assert_int_equal(sim_job(d->sim, index)->exit_code, 0);
    assert_int_equal(d->nstarts, 3);
    dvm_free(d);
}

static void an_abort_gives_its_code_and_text_and_ends_the_others(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, "100000", "0", plain);
    core_abort(core_of(d, 2), job(d)->nspace, 0, 5, "not my rank"); /* vpid 2 runs 2 and 3 */
    core_abort(core_of(d, 2), job(d)->nspace, 99, 5, "no rank");
    core_abort(core_of(d, 2), "5.99", 2, 5, "no job");
    settle(d, 2);
    assert_false(job(d)->done);
    core_abort(core_of(d, 2), job(d)->nspace, 2, 5, "lost the thread");
    core_abort(core_of(d, 3), job(d)->nspace, 4, 6, "me too");
    settle(d, 2);
    settle(d, 3);
    assert_ends(d, 5, "aborted the job with code 5: lost the thread");
    assert_non_null(strstr(job(d)->text, "rank 2 on node2 (vpid 2, pid "));
    dvm_free(d);
}

static void an_abort_with_a_code_that_no_process_has_exits_with_1(void **state)
{
    static const int codes[] = {0, -3, 256};

    for (size_t i = 0; i < 3; i++) {
        struct dvm *d = dvm_new();

        submit(d, 0, 2, "100000", "0", plain);
        core_abort(core_of(d, 1), job(d)->nspace, 0, codes[i], NULL);
        settle(d, 1);
        assert_ends(d, 1, "aborted the job");
        dvm_free(d);
    }
}

static void an_abort_exits_with_its_code(void **state)
{
    static const int codes[] = {1, 2, 255};

    for (size_t i = 0; i < 3; i++) {
        struct dvm *d = dvm_new();

        submit(d, 0, 2, "100000", "0", plain);
        core_abort(core_of(d, 1), job(d)->nspace, 0, codes[i], NULL);
        settle(d, 1);
        assert_ends(d, codes[i], "aborted the job");
        dvm_free(d);
    }
}

/* Longer than any text between daemons may be. */
static void an_abort_with_an_endless_text_ends_the_job_all_the_same(void **state)
{
    struct dvm *d = dvm_new();
    FREE_AUTO char *text = xcalloc(1, 1u << 20);

    memset(text, 'x', (1u << 20) - 1);
    submit(d, 0, 2, "100000", "0", plain);
    core_abort(core_of(d, 1), job(d)->nspace, 0, 9, text);
    settle(d, 1);
    assert_ends(d, 9, "aborted the job with code 9: xxx");
    dvm_free(d);
}

static void a_signal_that_ends_no_job_reaches_each_daemon_with_ranks(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 4, "100000", "0", plain); /* on vpids 1 and 2 */
    core_client_signal(core_of(d, 0), 99, SIGUSR1);
    core_client_signal(core_of(d, 0), CLIENT, 0);
    core_client_signal(core_of(d, 0), CLIENT, -1);
    settle(d, 0);
    assert_int_equal(d->signalled[1], 0);
    core_client_signal(core_of(d, 0), CLIENT, SIGUSR1);
    settle(d, 0);
    assert_int_equal(d->signalled[1], SIGUSR1);
    assert_int_equal(d->signalled[2], SIGUSR1);
    assert_int_equal(d->signalled[3], 0);
    core_job_signal(core_of(d, 2), job(d)->nspace, SIGUSR2); /* one of its processes asks */
    settle(d, 2);
    assert_int_equal(d->signalled[1], SIGUSR2);
    assert_false(job(d)->done);
    dvm_free(d);
}

static void a_signal_that_ends_gives_its_code_and_a_grace_but_for_sigkill(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGKILL};

    for (size_t i = 0; i < 3; i++) {
        struct dvm *d = dvm_new();

        submit(d, 1, 6, "100000", "0", plain);
        core_client_signal(core_of(d, 1), CLIENT, signals[i]);
        settle(d, 1);
        assert_int_equal(d->grace[3], signals[i] == SIGKILL ? 0 : JOB_GRACE_MS);
        assert_ends(d, 128 + signals[i], "ended by the user");
        dvm_free(d);
    }
}

static void a_second_signal_that_kills_gives_its_code(void **state)
{
    struct dvm *d = dvm_new_delayed(1); /* a rank that ends itself takes longer */

    submit(d, 1, 6, "100000", "0", plain);
    core_client_signal(core_of(d, 1), CLIENT, SIGTERM);
    core_client_signal(core_of(d, 1), CLIENT, SIGKILL);
    settle(d, 1);
    assert_int_equal(d->grace[3], 0);
    assert_ends(d, 128 + SIGKILL, "ended by the user");
    dvm_free(d);
}

static void a_signal_over_the_control_api_names_a_job_that_is_there(void **state)
{
    struct dvm *d = dvm_new();
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};

    submit(d, 0, 2, "100000", "0", plain);
    assert_int_equal(core_signal_put(core_of(d, 0), "5.99", SIGTERM, &reason, &err), -1);
    assert_int_equal(err.code, 404);
    assert_int_equal(reason, API_REASON_NOT_FOUND);
    assert_int_equal(core_signal_put(core_of(d, 0), job(d)->nspace, SIGTERM, &reason, &err), 0);
    settle(d, 0);
    assert_ends(d, 143, "ended by the user");
    assert_int_equal(core_signal_put(core_of(d, 0), job(d)->nspace, SIGTERM, &reason, &err), -1);
    dvm_free(d);
}

static void a_job_whose_client_has_disconnected_is_ended_without_a_report(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 1, 4, "100000", "0", plain);
    assert_true(core_client_there(core_of(d, 1), CLIENT));
    core_client_gone(core_of(d, 1), CLIENT);
    core_client_gone(core_of(d, 1), 99);
    assert_false(core_client_there(core_of(d, 1), CLIENT));
    settle(d, 1);
    sim_for(d->sim, 5000);
    assert_int_equal(sim_ranks(d->sim, 1), 0);
    assert_int_equal(sim_ranks(d->sim, 2), 0);
    assert_false(job(d)->done);
    dvm_free(d);
}

/* It learns the job's name only after its client has left. */
static void a_client_that_disconnects_before_its_job_is_accepted_ends_the_job(void **state)
{
    struct dvm *d = dvm_new();
    char *argv[] = {"100000", "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 4};
    struct job_spec spec = {.napps = 1, .apps = &app, .parent_nspace = ""};

    core_submit(core_of(d, 2), CLIENT, &spec);
    core_client_gone(core_of(d, 2), CLIENT);
    settle(d, 2);
    sim_for(d->sim, 5000);
    assert_false(job(d)->accepted);
    assert_int_equal(sim_ranks(d->sim, 1), 0);
    assert_state(d, JOB_KILLED_BY_CMD);
    dvm_free(d);
}

static void a_job_that_exceeds_its_time_limit_is_ended(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 1, 2, "100000", "0", (struct job_spec){.timeout_ms = 1500});
    assert_false(job(d)->done);
    assert_ends(d, 124, "its time limit of 1.5 s has passed");
    dvm_free(d);
}

static void a_recoverable_job_goes_on_without_ranks_that_failed_or_were_lost(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, "20000", "0", (struct job_spec){.flags = JOB_RECOVERABLE});
    core_proc(core_of(d, 1), job(d)->nspace, 0, CORE_PROC_IOF_COMPLETE, 0, NULL);
    core_proc(core_of(d, 1), job(d)->nspace, 0, CORE_PROC_WAITPID, 3 << 8, NULL);
    settle(d, 1);
    sim_crash(d->sim, 3);
    sim_for(d->sim, 8000);
    assert_false(job(d)->done);
    assert_int_equal(sim_ranks(d->sim, 2), 2);
    assert_ends(d, 3, "");
    dvm_free(d);
}

static void a_job_of_which_a_daemon_is_lost_ends_with_123(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, "100000", "0", plain);
    sim_crash(d->sim, 3);
    assert_ends(d, 123,
                "2 ranks on node3 were lost with their daemon (vpid 3): its link broke and was not "
                "restored in time");
    dvm_free(d);
}

/* A daemon reports to the head that nothing of the job is left there. True: the head waits until
 * the output of this daemon has ended. */
static bool waits_for_output(struct dvm *d, uint32_t from, struct msg *gone)
{
    struct frame f = {.src = from};
    struct core *head = core_of(d, 0);

    hwloc_bitmap_clr(head->clients->gone_early, from);
    dispatch_routed(head, &f, gone);
    return hwloc_bitmap_isset(head->clients->gone_early, from);
}

static void a_daemon_is_done_with_a_job_of_the_head_s_client_when_its_output_has_ended(void **state)
{
    struct dvm *d = dvm_new();
    struct frame f = {.src = 1};
    struct msg m = {.type = MSG_LOCAL_GONE, .local_gone = {.after_output = true}};
    struct msg end = {.type = MSG_IOF_END};

    submit(d, 0, 6, "100000", "0", plain);
    m.local_gone.nspace = end.iof_end.nspace = (char *)job(d)->nspace;
    m.local_gone.client = end.iof_end.client = core_job(core_of(d, 1), job(d)->nspace)->home_client;
    assert_true(waits_for_output(d, 1, &m));
    assert_true(waits_for_output(d, 1, &m)); /* told again */
    m.local_gone.after_output = false;       /* its client is elsewhere and has all output */
    assert_false(waits_for_output(d, 1, &m));
    m.local_gone.after_output = true;
    dispatch_routed(core_of(d, 0), &f, &end);
    assert_false(waits_for_output(d, 1, &m));
    assert_true(waits_for_output(d, 2, &m)); /* by each for itself */
    m.local_gone.client++;
    assert_false(waits_for_output(d, 2, &m)); /* the client has left: no process reads it */
    dvm_free(d);
}

static void a_daemon_that_cannot_continue_reports_the_reason_and_is_not_waited_for(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, "100000", "0", plain);
    sim_clock(d->sim, 3);
    core_fail(core_of(d, 3), "its spawner has ended");
    sim_drain(d->sim, 3);
    assert_null(core_of(d, 3)); /* it has ended */
    sim_for(d->sim, 200);       /* no grace, since the link cannot come back */
    assert_ends(d, 123,
                "2 ranks on node3 were lost with their daemon (vpid 3): its spawner has ended");
    dvm_free(d);
}

static void a_rank_ended_by_a_signal_gives_128_and_its_number(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 2, "100000", "0", plain);
    core_proc(core_of(d, 1), job(d)->nspace, 1, CORE_PROC_WAITPID, SIGSEGV | 0x80, NULL);
    core_proc(core_of(d, 1), job(d)->nspace, 1, CORE_PROC_IOF_COMPLETE, 0, NULL);
    settle(d, 1);
    assert_ends(d, 128 + SIGSEGV,
                "rank 1 on node1 (vpid 1) was ended by signal 11 (Segmentation fault), core "
                "dumped, pid ");
    dvm_free(d);
}

static void a_daemon_that_is_leaving_refuses_a_launch_at_once(void **state)
{
    struct dvm *d = dvm_new();
    struct core *c = core_of(d, 2);

    c->finishing = true; /* the launch and the command to leave cross */
    c->finish_by = UINT64_MAX;
    submit(d, 1, 6, "100000", "0", plain);
    assert_ends(d, 125, "was not started on node2 (vpid 2): the daemon is leaving");
    c->finishing = false;
    dvm_free(d);
}

static void a_daemon_that_ends_its_output_twice_is_noted_once(void **state)
{
    struct dvm *d = dvm_new();
    struct frame f = {.src = 2};
    struct msg m = {.type = MSG_IOF_END, .iof_end = {.client = CLIENT}};

    submit(d, 1, 6, "100000", "0", plain);
    m.iof_end.nspace = (char *)job(d)->nspace;
    for (int i = 0; i < 1000; i++)
        dispatch_routed(core_of(d, 1), &f, &m);
    assert_int_equal(hwloc_bitmap_weight(core_of(d, 1)->clients->ended), 1);
    dvm_free(d);
}

static void a_job_is_registered_when_each_of_its_ranks_has_called_in_once(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 4, "100000", "0", plain);
    assert_state(d, JOB_RUNNING);
    for (int again = 0; again < 2; again++)
        core_proc(core_of(d, 1), job(d)->nspace, 0, CORE_PROC_REGISTERED, 0, NULL);
    core_proc(core_of(d, 2), job(d)->nspace, 2, CORE_PROC_REGISTERED, 0, NULL);
    core_proc(core_of(d, 2), job(d)->nspace, 3, CORE_PROC_REGISTERED, 0, NULL);
    settle(d, 1);
    settle(d, 2);
    assert_state(d, JOB_RUNNING);
    core_proc(core_of(d, 1), job(d)->nspace, 1, CORE_PROC_REGISTERED, 0, NULL);
    settle(d, 1);
    assert_state(d, JOB_REGISTERED);
    dvm_free(d);
}

static void reports_about_impossible_processes_change_nothing(void **state)
{
    struct dvm *d = dvm_new();
    struct core *c = core_of(d, 1);

    submit(d, 0, 4, "100000", "0", plain);
    core_proc(c, "5.99", 0, CORE_PROC_WAITPID, 0, NULL);
    core_proc(c, job(d)->nspace, 99, CORE_PROC_WAITPID, 0, NULL);
    core_proc(c, job(d)->nspace, 2, CORE_PROC_WAITPID, 0, NULL); /* on vpid 2 */
    core_proc(c, job(d)->nspace, 0, CORE_PROC_RUNNING, 1, NULL); /* it runs already */
    core_proc(c, job(d)->nspace, 0, CORE_PROC_FAILED, 1, NULL);
    core_ranks(c, "5.99", CORE_RANKS_CLEANED, 0, NULL);
    core_ranks(c, job(d)->nspace, CORE_RANKS_CLEANED, 0, NULL);
    settle(d, 1);
    assert_state(d, JOB_RUNNING);
    assert_null(core_job(c, "5.99"));
    assert_int_equal(core_job(c, job(d)->nspace)->nranks, 4);
    assert_null(core_job(core_of(d, 3), job(d)->nspace));
    dvm_free(d);
}

static void input_can_go_to_the_daemons_of_a_job_once_it_has_started(void **state)
{
    struct dvm *d = dvm_new();
    const char *nspace;
    const uint32_t *vpids;
    uint32_t client;
    size_t n;

    sim_submit(d->sim, 0, 6, 2000, 0);
    sim_for(d->sim, 100);
    submit(d, 1, 4, "100000", "0", (struct job_spec){.stdin_rank = JOB_RANK_ALL}); /* waits */
    assert_false(core_stdin(core_of(d, 1), CLIENT, &nspace, &vpids, &n));
    assert_false(core_stdin(core_of(d, 1), 99, &nspace, &vpids, &n));
    assert_false(core_client_of(core_of(d, 1), "5.99", &client));
    sim_for(d->sim, 3000);
    assert_int_equal(d->stdin_for, CLIENT);
    assert_true(core_stdin(core_of(d, 1), CLIENT, &nspace, &vpids, &n));
    assert_string_equal(nspace, job(d)->nspace);
    assert_int_equal(n, 2);
    assert_int_equal(vpids[0], 1);
    assert_int_equal(vpids[1], 2);
    assert_true(core_client_of(core_of(d, 1), nspace, &client));
    assert_int_equal(client, CLIENT);
    assert_false(core_client_of(core_of(d, 2), nspace, &client));
    core_client_gone(core_of(d, 1), CLIENT);
    assert_false(core_client_of(core_of(d, 1), job(d)->nspace, &client));
    settle(d, 1);
    dvm_free(d);
}

static void a_job_that_is_only_mapped_ends_well_and_starts_no_rank(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 1, 6, "100000", "5", (struct job_spec){.flags = JOB_MAP_ONLY});
    assert_ends(d, 0, "");
    assert_int_equal(d->nstarts, 0);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(sim_ranks(d->sim, v), 0);
    dvm_free(d);
}

static void the_daemon_of_a_rank_is_the_one_that_runs_it(void **state)
{
    struct dvm *d = dvm_new();
    hwloc_bitmap_t at = hwloc_bitmap_alloc();

    submit(d, 1, 6, "100000", "0", plain); /* two ranks on each member */
    core_daemons_of(core_of(d, 0), job(d)->nspace, 2, at);
    assert_int_equal(hwloc_bitmap_weight(at), 1);
    assert_true(hwloc_bitmap_isset(at, 2));
    hwloc_bitmap_zero(at);
    core_daemons_of(core_of(d, 0), job(d)->nspace, JOB_RANK_ALL, at);
    assert_int_equal(hwloc_bitmap_weight(at), MEMBERS);
    hwloc_bitmap_free(at);
    dvm_free(d);
}

static void a_job_that_has_ended_is_shown_with_each_of_its_daemons(void **state)
{
    struct dvm *d = dvm_new();
    struct api_dvm view;
    enum api_reason reason;

    submit(d, 1, 6, "5", "0", plain);
    assert_ends(d, 0, "");
    assert_int_equal(core_dvm(core_of(d, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.njobs, 1);
    assert_int_equal(view.jobs[0].nvpids, MEMBERS);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(view.jobs[0].vpids[v - 1], v);
    api_dvm_free(&view);
    dvm_free(d);
}

static void the_end_of_a_job_is_reported_where_it_ran_and_where_it_was_requested(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 2, "1000", "0", plain); /* on vpid 1 */
    assert_null(core_job_watch(core_of(d, 0), "5.99", 3));
    assert_int_equal(core_job_watch(core_of(d, 0), job(d)->nspace, 3)->nranks, 2);
    assert_ends(d, 0, "");
    assert_true(d->ended[1]);
    assert_false(d->ended[2]);
    assert_true(d->ended[3]);
    assert_null(core_job_watch(core_of(d, 0), job(d)->nspace, 3)); /* over */
    dvm_free(d);
}

static void a_message_between_modules_arrives_with_its_sender_and_kind(void **state)
{
    struct dvm *d = dvm_new();
    struct err err = {0};

    assert_int_equal(core_app_send(core_of(d, 3), 77, CLASS_MODEX, 4, "x", 1, &err), -1);
    assert_non_null(strstr(err.msg, "not a member"));
    assert_false(core_live(core_of(d, 3), 77));
    assert_true(core_live(core_of(d, 3), 2));
    assert_int_equal(core_app_send(core_of(d, 3), 2, CLASS_MODEX, 4, "hello", 5, &err), 0);
    assert_true(core_app_backlog(core_of(d, 3), 2, CLASS_MODEX) > 5);
    settle(d, 3);
    assert_string_equal(d->app[2], "3 4 hello");
    assert_int_equal(core_app_backlog(core_of(d, 3), 2, CLASS_MODEX), 0);
    dvm_free(d);
}

static void the_next_client_over_the_limit_is_refused(void **state)
{
    struct dvm *d = dvm_new();
    char *argv[] = {"100000", "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 6};
    struct job_spec spec = {.napps = 1, .apps = &app, .parent_nspace = ""};

    for (uint32_t i = 0; i < 4096; i++)
        core_submit(core_of(d, 1), i == CLIENT ? 4095 : i, &spec);
    core_submit(core_of(d, 1), CLIENT, &spec);
    sim_drain(d->sim, 1);
    assert_true(job(d)->done);
    assert_int_equal(job(d)->exit_code, 125);
    assert_non_null(strstr(job(d)->text, "too many clients"));
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verbs_of_the_head_are_refused_elsewhere),
        cmocka_unit_test(a_daemon_that_is_no_member_takes_no_job),
        cmocka_unit_test(a_job_that_must_not_wait_fails_at_once_if_slots_are_in_use),
        cmocka_unit_test(a_rank_that_cannot_be_started_ends_the_job_with_its_reason),
        cmocka_unit_test(a_program_missing_on_one_daemon_is_reported_at_once_and_no_rank_starts),
        cmocka_unit_test(an_abort_gives_its_code_and_text_and_ends_the_others),
        cmocka_unit_test(an_abort_with_a_code_that_no_process_has_exits_with_1),
        cmocka_unit_test(an_abort_exits_with_its_code),
        cmocka_unit_test(an_abort_with_an_endless_text_ends_the_job_all_the_same),
        cmocka_unit_test(a_signal_that_ends_no_job_reaches_each_daemon_with_ranks),
        cmocka_unit_test(a_signal_that_ends_gives_its_code_and_a_grace_but_for_sigkill),
        cmocka_unit_test(a_second_signal_that_kills_gives_its_code),
        cmocka_unit_test(a_signal_over_the_control_api_names_a_job_that_is_there),
        cmocka_unit_test(a_job_whose_client_has_disconnected_is_ended_without_a_report),
        cmocka_unit_test(a_client_that_disconnects_before_its_job_is_accepted_ends_the_job),
        cmocka_unit_test(a_job_that_exceeds_its_time_limit_is_ended),
        cmocka_unit_test(a_recoverable_job_goes_on_without_ranks_that_failed_or_were_lost),
        cmocka_unit_test(a_job_of_which_a_daemon_is_lost_ends_with_123),
        cmocka_unit_test(
            a_daemon_is_done_with_a_job_of_the_head_s_client_when_its_output_has_ended),
        cmocka_unit_test(a_daemon_that_cannot_continue_reports_the_reason_and_is_not_waited_for),
        cmocka_unit_test(a_rank_ended_by_a_signal_gives_128_and_its_number),
        cmocka_unit_test(a_daemon_that_is_leaving_refuses_a_launch_at_once),
        cmocka_unit_test(a_daemon_that_ends_its_output_twice_is_noted_once),
        cmocka_unit_test(a_job_is_registered_when_each_of_its_ranks_has_called_in_once),
        cmocka_unit_test(reports_about_impossible_processes_change_nothing),
        cmocka_unit_test(input_can_go_to_the_daemons_of_a_job_once_it_has_started),
        cmocka_unit_test(a_job_that_is_only_mapped_ends_well_and_starts_no_rank),
        cmocka_unit_test(the_daemon_of_a_rank_is_the_one_that_runs_it),
        cmocka_unit_test(a_job_that_has_ended_is_shown_with_each_of_its_daemons),
        cmocka_unit_test(the_end_of_a_job_is_reported_where_it_ran_and_where_it_was_requested),
        cmocka_unit_test(a_message_between_modules_arrives_with_its_sender_and_kind),
        cmocka_unit_test(the_next_client_over_the_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
