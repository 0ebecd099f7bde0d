/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that are lost while their job goes on, or that end it: the final text of the job, and which
 * daemons are notified. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/test/dvm.h"
#include "dvm/protocol/head/head.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 3
#define CLIENT 7 /* also its place among the simulator's jobs */

/* A head and three members with two slots each. A job of six has ranks 0 and 1 on vpid 1, 2 and 3
 * on vpid 2, 4 and 5 on vpid 3. */
struct dvm {
    struct sim *sim;
    unsigned messages[MEMBERS + 1]; /* about lost ranks */
    char told[MEMBERS + 1][512];    /* their contents: "rank:how:status " */
    bool go_on[MEMBERS + 1];
    char parent[MEMBERS + 1][64];
    bool ended_first;           /* the job's end came before a loss */
    unsigned ends[MEMBERS + 1]; /* messages about the job's end */
    unsigned reported;          /* lost ranks in all messages of the head to vpid 2 */
};

static void on_lost(struct dvm *d, uint32_t vpid, const struct out_act *act)
{
    char *told = d->told[vpid];
    const struct msg_ranks_lost *lost = &act->ranks_lost.lost;

    d->messages[vpid]++;
    d->go_on[vpid] = lost->others_go_on;
    snprintf(d->parent[vpid], sizeof(d->parent[vpid]), "%s.%u", lost->parent_nspace,
             lost->parent_rank);
    for (size_t i = 0; i < lost->nranks; i++)
        snprintf(told + strlen(told), sizeof(d->told[vpid]) - strlen(told), "%u:%d:%d ",
                 lost->ranks[i].rank, lost->ranks[i].how, lost->ranks[i].value);
}

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (act->kind == OUT_RANKS_LOST)
        on_lost(d, vpid, act);
    d->ends[vpid] += act->kind == OUT_JOB_ENDED;
    if (act->kind == OUT_JOB_ENDED && vpid != VPID_HEAD && !d->messages[vpid]) /* it has no ranks */
        d->ended_first = true;
}

static void on_frame(void *arg, uint32_t vpid, uint64_t conn, const uint8_t *data, size_t len)
{
    struct cur c = cur_of(data, len);
    struct dvm *d = arg;
    struct frame f;
    struct msg m;

    if (vpid != 2 || frame_decode(&c, &f, NULL) < 0 || f.type != MSG_RANKS_LOST ||
        msg_decode(&c, f.type, &m, NULL) < 0)
        return;
    d->reported += (unsigned)m.ranks_lost.nranks;
    msg_free(&m);
}

static struct dvm *dvm_new(void)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action, .frame = on_frame};

    d->sim = dvm_boot(&shape);
    sim_watch(d->sim, &h);
    sim_for(d->sim, 500);
    return d;
}

static void dvm_free(struct dvm *d)
{
    sim_destroy(d->sim);
    free(d);
}

static const struct sim_job *job(struct dvm *d)
{
    return sim_job(d->sim, CLIENT);
}

/* Ranks that run for 20 s and exit with 0; `spec` is filled in. */
static void submit(struct dvm *d, uint32_t vpid, uint32_t ranks, struct job_spec spec)
{
    char *argv[] = {"20000", "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = ranks};

    spec.napps = 1;
    spec.apps = &app;
    spec.parent_nspace = spec.parent_nspace ? spec.parent_nspace : "";
    core_submit(sim_core(d->sim, vpid), CLIENT, &spec);
    sim_drain(d->sim, vpid);
    sim_for(d->sim, 200);
    assert_int_equal(job(d)->state, JOB_RUNNING);
}

/* The rank has ended; no daemon has been notified yet. */
static void end_rank(struct dvm *d, uint32_t rank, int status, enum rank_how how)
{
    uint32_t vpid = 1 + rank / 2;
    struct core *c = sim_core(d->sim, vpid);

    core_proc(c, job(d)->nspace, rank, CORE_PROC_IOF_COMPLETE, 0, NULL);
    core_proc_ended(c, job(d)->nspace, rank, status, how);
    sim_drain(d->sim, vpid);
}

static void lose_rank(struct dvm *d, uint32_t rank, int status, enum rank_how how)
{
    end_rank(d, rank, status, how);
    sim_for(d->sim, 200);
}

static bool is_done(struct sim *s, void *arg)
{
    return sim_job(s, CLIENT)->done;
}

/* Process ids are the simulator's choice: each is written as N. */
static void assert_says(const char *said, const char *text)
{
    char plain[2048];
    size_t n = 0;

    for (size_t i = 0; said[i] && n < sizeof(plain) - 1; i++) {
        plain[n++] = said[i];
        if (n < 4 || memcmp(plain + n - 4, "pid ", 4) != 0 || (n > 4 && plain[n - 5] == 'v'))
            continue;
        plain[n++] = 'N';
        i += strspn(said + i + 1, "0123456789");
    }
    plain[n] = 0;
    assert_string_equal(plain, text);
}

static void assert_ends(struct dvm *d, int code, const char *text)
{
    assert_true(sim_until(d->sim, is_done, NULL, 60000));
    assert_int_equal(job(d)->exit_code, code);
    assert_says(job(d)->text, text);
}

static void a_lost_rank_is_reported_to_each_daemon_of_a_job_that_goes_on(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    lose_rank(d, 2, SIGKILL, RANK_WO_SYNC);
    lose_rank(d, 4, 3 << 8, RANK_WO_SYNC);
    lose_rank(d, 5, 0, RANK_WO_SYNC); /* no failure, but the others may wait for it */
    lose_rank(d, 0, 0, RANK_PLAIN);
    for (uint32_t v = 1; v <= MEMBERS; v++) {
        assert_string_equal(d->told[v], "2:1:9 4:1:768 5:1:0 ");
        assert_true(d->go_on[v]);
    }
    assert_int_equal(d->messages[0], 0); /* it has no ranks */
    dvm_free(d);
}

static void the_head_reports_each_lost_rank_once(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    for (uint32_t r = 0; r < 3; r++) {
        lose_rank(d, 2 * r, SIGKILL, RANK_PLAIN);
        assert_int_equal(d->reported, r + 1);
    }
    dvm_free(d);
}

static void a_rank_killed_for_memory_is_said_to_be(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    lose_rank(d, 2, SIGKILL, RANK_NO_MEMORY);
    assert_ends(d, 128 + SIGKILL,
                "rank 2 on node2 (vpid 2) was ended by signal 9 (Killed) by the kernel, out of "
                "memory, pid N");
    assert_string_equal(d->told[1], "2:5:9 ");
    dvm_free(d);
}

static void only_the_first_loss_of_an_ending_job_is_reported(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    end_rank(d, 2, 3 << 8, RANK_PLAIN);
    end_rank(d, 3, SIGSEGV, RANK_PLAIN);
    assert_ends(d, 3, "rank 2 on node2 (vpid 2) exited with code 3, pid N");
    for (uint32_t v = 1; v <= MEMBERS; v++) {
        assert_string_equal(d->told[v], "2:0:768 ");
        assert_false(d->go_on[v]);
    }
    assert_false(d->ended_first);
    dvm_free(d);
}

static void only_the_rank_that_called_abort_is_reported(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    core_abort(sim_core(d->sim, 1), job(d)->nspace, 1, 42, "no");
    sim_drain(d->sim, 1);
    assert_ends(d, 42, "rank 1 on node1 (vpid 1, pid N) aborted the job with code 42: no");
    assert_string_equal(d->told[3], "1:3:42 ");
    assert_false(d->go_on[3]);
    dvm_free(d);
}

static void losses_of_one_moment_are_reported_together(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    for (uint32_t r = 0; r < 5; r++)
        end_rank(d, r, SIGKILL, RANK_PLAIN);
    sim_for(d->sim, 200);
    for (uint32_t r = 0; r < 5; r++) {
        char word[32];

        snprintf(word, sizeof(word), "%u:0:9 ", r);
        assert_non_null(strstr(d->told[3], word));
    }
    assert_int_equal(strlen(d->told[3]), 5 * strlen("0:0:9 "));
    assert_true(d->messages[3] <= 2);
    dvm_free(d);
}

static void the_ranks_of_a_lost_daemon_are_reported_once(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    lose_rank(d, 4, SIGKILL, RANK_PLAIN);
    sim_crash(d->sim, 3);
    sim_for(d->sim, 8000);
    assert_string_equal(d->told[1], "4:0:9 5:4:0 ");
    assert_string_equal(d->told[2], d->told[1]);
    dvm_free(d);
}

static void of_a_lost_daemon_only_ranks_that_exist_are_reported(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    sim_crash(d->sim, 1); /* the first node of the job */
    sim_for(d->sim, 8000);
    assert_string_equal(d->told[2], "0:4:0 1:4:0 ");
    dvm_free(d);
}

static void the_daemon_of_a_job_s_spawner_rank_is_notified(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 3, 2, (struct job_spec){.parent_nspace = "5.9", .parent_rank = 6});
    lose_rank(d, 0, SIGKILL, RANK_BY_CMD);
    assert_string_equal(d->told[3], "0:2:9 ");
    assert_string_equal(d->parent[3], "5.9.6");
    assert_int_equal(d->messages[2], 0); /* no process there is concerned */
    dvm_free(d);
}

static void the_daemon_that_has_asked_about_a_job_is_notified(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 2, (struct job_spec){0});
    assert_non_null(core_job_watch(sim_core(d->sim, 0), job(d)->nspace, 2));
    lose_rank(d, 1, SIGKILL, RANK_PLAIN);
    assert_string_equal(d->told[2], "1:0:9 ");
    dvm_free(d);
}

static void a_daemon_that_runs_the_job_and_has_asked_about_it_hears_of_its_end_once(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 2, (struct job_spec){0});
    assert_non_null(core_job_watch(sim_core(d->sim, 0), job(d)->nspace, 1));
    assert_non_null(core_job_watch(sim_core(d->sim, 0), job(d)->nspace, 2));
    assert_ends(d, 0, "");
    sim_for(d->sim, 200);
    assert_int_equal(d->ends[0], 1); /* also the head, which has neither */
    assert_int_equal(d->ends[1], 1);
    assert_int_equal(d->ends[2], 1);
    assert_int_equal(d->ends[3], 0);
    dvm_free(d);
}

/* The losses come within the time between two messages about a job. */
static void a_job_s_end_does_not_overtake_its_last_losses(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    for (uint32_t r = 0; r < 6; r++)
        end_rank(d, r, SIGKILL, RANK_PLAIN);
    assert_true(sim_until(d->sim, is_done, NULL, 60000));
    sim_for(d->sim, 200);
    for (uint32_t v = 1; v <= MEMBERS; v++)
        assert_int_equal(strlen(d->told[v]), 6 * strlen("0:0:9 "));
    assert_false(d->ended_first);
    dvm_free(d);
}

static void the_daemons_of_a_rank_a_job_or_all_jobs_are_those_with_running_ranks(void **state)
{
    struct dvm *d = dvm_new();
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char text[64];

    submit(d, 0, 4, (struct job_spec){0});
    core_daemons_of(sim_core(d->sim, 0), job(d)->nspace, 3, set);
    hwloc_bitmap_list_snprintf(text, sizeof(text), set);
    assert_string_equal(text, "2");
    core_daemons_of(sim_core(d->sim, 0), job(d)->nspace, 4, set); /* there is none */
    core_daemons_of(sim_core(d->sim, 0), "no.such", JOB_RANK_ALL, set);
    core_daemons_of(sim_core(d->sim, 1), NULL, JOB_RANK_ALL, set); /* not the head */
    assert_int_equal(hwloc_bitmap_weight(set), 1);
    core_daemons_of(sim_core(d->sim, 0), job(d)->nspace, JOB_RANK_ALL, set);
    core_daemons_of(sim_core(d->sim, 0), NULL, JOB_RANK_ALL, set);
    hwloc_bitmap_list_snprintf(text, sizeof(text), set);
    assert_string_equal(text, "1-2");
    hwloc_bitmap_zero(set);
    assert_ends(d, 0, "");
    core_daemons_of(sim_core(d->sim, 0), NULL, JOB_RANK_ALL, set);
    assert_true(hwloc_bitmap_iszero(set));
    hwloc_bitmap_free(set);
    dvm_free(d);
}

/* --- the job's end */

#define SIGNALLED "rank 0 on node1 (vpid 1) was ended by signal 9 (Killed), pid N"
#define EXITED "rank 2 on node2 (vpid 2) exited with code 3, pid N"

static void run_with(struct dvm *d, uint32_t flags)
{
    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE | flags});
    lose_rank(d, 0, SIGKILL, RANK_PLAIN);
}

static void lost_ranks_are_in_the_text_and_their_signals_not_in_the_code(void **state)
{
    struct dvm *d = dvm_new();

    run_with(d, 0);
    assert_ends(d, 0, "1 of 6 ranks failed or were lost: " SIGNALLED);
    dvm_free(d);
}

static void with_strict_the_first_loss_decides_the_code(void **state)
{
    struct dvm *d = dvm_new();

    run_with(d, JOB_STRICT);
    lose_rank(d, 2, 3 << 8, RANK_PLAIN);
    assert_ends(d, 137, "2 of 6 ranks failed or were lost: " SIGNALLED "; " EXITED);
    dvm_free(d);
}

#define NOT_FINALIZED                                                                              \
    "rank 2 on node2 (vpid 2) exited with code 0 after MPI_Init (PMIx_Init), but without "         \
    "MPI_Finalize (PMIx_Finalize): NotFinalized, pid N"

static void a_rank_that_exits_with_0_without_finalizing_fails_its_job(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    end_rank(d, 2, 0, RANK_WO_SYNC);
    assert_ends(d, 1, NOT_FINALIZED);
    assert_string_equal(d->told[1], "2:1:0 ");
    dvm_free(d);
}

static void a_recoverable_job_goes_on_without_a_rank_that_has_not_finalized(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    lose_rank(d, 2, 0, RANK_WO_SYNC);
    for (uint32_t r = 0; r < 6; r++)
        end_rank(d, r, 0, RANK_PLAIN);
    assert_ends(d, 0, "");
    dvm_free(d);
}

static void with_strict_a_rank_that_has_not_finalized_has_failed(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE | JOB_STRICT});
    lose_rank(d, 2, 0, RANK_WO_SYNC);
    for (uint32_t r = 0; r < 6; r++)
        end_rank(d, r, 0, RANK_PLAIN);
    assert_ends(d, 1, "1 of 6 ranks failed or were lost: " NOT_FINALIZED);
    dvm_free(d);
}

static void a_rank_that_ends_with_its_job_need_not_finalize(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    core_job_signal(sim_core(d->sim, 1), job(d)->nspace, SIGTERM);
    sim_drain(d->sim, 1);
    end_rank(d, 2, 0, RANK_WO_SYNC);
    assert_true(sim_until(d->sim, is_done, NULL, 60000));
    assert_int_equal(job(d)->exit_code, 143);
    dvm_free(d);
}

static void the_code_is_that_of_the_first_rank_that_exited_with_one(void **state)
{
    struct dvm *d = dvm_new();

    run_with(d, 0);
    lose_rank(d, 2, 3 << 8, RANK_PLAIN);
    lose_rank(d, 3, 4 << 8, RANK_PLAIN);
    assert_ends(d, 3,
                "3 of 6 ranks failed or were lost: " SIGNALLED "; " EXITED
                "; rank 3 on node2 (vpid 2) exited with code 4, pid N");
    dvm_free(d);
}

static void a_lost_daemon_makes_123_with_strict_only(void **state)
{
    static const struct {
        uint32_t flags;
        int code;
    } rows[] = {{0, 0}, {JOB_STRICT, 123}};

    for (size_t i = 0; i < 2; i++) {
        struct dvm *d = dvm_new();

        submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE | rows[i].flags});
        sim_crash(d->sim, 3);
        assert_ends(d, rows[i].code,
                    "2 of 6 ranks failed or were lost: 2 ranks on node3 were lost with their "
                    "daemon (vpid 3): its link broke and was not restored in time");
        dvm_free(d);
    }
}

#define LOST_NODE3                                                                                 \
    "2 ranks on node3 were lost with their daemon (vpid 3): its link broke and was not restored "  \
    "in time"
#define ABORTED "rank 0 on node1 (vpid 1, pid N) aborted the job with code 14: broken pipe"

/* A rank of vpid 1 sees its connection to a rank of vpid 3 end before any daemon gives up vpid 3.
 */
static void c23_a_lost_daemon_is_123_although_a_survivor_has_aborted_first(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    sim_crash(d->sim, 3);
    core_abort(sim_core(d->sim, 1), job(d)->nspace, 0, 14, "broken pipe");
    sim_drain(d->sim, 1);
    assert_ends(d, 123, LOST_NODE3 "; before that was noticed, " ABORTED);
    dvm_free(d);
}

static void c23_a_lost_daemon_is_123_although_a_survivor_has_exited_first(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    sim_crash(d->sim, 3);
    end_rank(d, 0, 14 << 8, RANK_PLAIN);
    assert_ends(d, 123,
                LOST_NODE3 "; before that was noticed, rank 0 on node1 (vpid 1) exited with code "
                           "14, pid N");
    dvm_free(d);
}

static void c23_an_abort_without_a_loss_and_an_end_by_the_user_keep_their_codes(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){0});
    core_abort(sim_core(d->sim, 1), job(d)->nspace, 0, 14, "broken pipe");
    sim_drain(d->sim, 1);
    assert_ends(d, 14, ABORTED);
    dvm_free(d);
    d = dvm_new();
    submit(d, 0, 6, (struct job_spec){0});
    sim_crash(d->sim, 3);
    core_client_signal(sim_core(d->sim, 0), CLIENT, SIGTERM);
    sim_drain(d->sim, 0);
    assert_ends(d, 143, "ended by the user");
    dvm_free(d);
}

/* The loss alone does not fail it, so the abort does; the text names both. */
static void c23_an_abort_decides_the_code_of_a_recoverable_job(void **state)
{
    static const struct {
        uint32_t flags;
        int code;
    } rows[] = {{0, 14}, {JOB_STRICT, 123}};

    for (size_t i = 0; i < 2; i++) {
        struct dvm *d = dvm_new();

        submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE | rows[i].flags});
        sim_crash(d->sim, 3);
        core_abort(sim_core(d->sim, 1), job(d)->nspace, 0, 14, "broken pipe");
        sim_drain(d->sim, 1);
        assert_ends(d, rows[i].code, LOST_NODE3 "; before that was noticed, " ABORTED);
        dvm_free(d);
    }
}

static void shrink_by_kill(struct dvm *d, const char *id, uint32_t first, uint32_t n)
{
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_KILL,
                                     .deadline_s = -1,
                                     .ntargets = n,
                                     .targets = (uint32_t[]){first, first + 1, first + 2}};
    struct api_campaign c;
    enum api_reason reason;

    assert_int_equal(core_campaign_put(sim_core(d->sim, 0), id, &r, &c, &reason, NULL), 0);
    api_campaign_free(&c);
    sim_drain(d->sim, 0);
    dvm_wait_complete(d->sim, id, 30000);
}

#define DRAINED                                                                                    \
    "2 of 6 ranks failed or were lost: rank 4 on node3 (vpid 3) was ended by a shrink of the "     \
    "DVM, pid N; rank 5 on node3 (vpid 3) was ended by a shrink of the DVM, pid N"

/* C15: the record names the ranks that were ended. */
static void c15_a_recoverable_job_loses_its_ranks_on_killed_targets_only(void **state)
{
    struct dvm *d = dvm_new();
    struct api_campaign c;
    enum api_reason reason;

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    shrink_by_kill(d, "c", 3, 1);
    assert_false(job(d)->done);
    assert_int_equal(core_campaign_get(sim_core(d->sim, 0), "c", &c, &reason, NULL), 0);
    assert_int_equal(c.nended, 1);
    assert_int_equal(c.ended[0].nranks, 2);
    api_campaign_free(&c);
    assert_ends(d, 0, DRAINED);
    dvm_free(d);
}

static void a_recoverable_job_whose_nodes_or_submitter_all_leave_is_cancelled(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    shrink_by_kill(d, "c", 1, 3);
    assert_ends(d, 122, "ended by the shrink c (drain mode Kill)");
    dvm_free(d);
    d = dvm_new();
    submit(d, 3, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    shrink_by_kill(d, "c", 3, 1);
    assert_ends(d, 122, "ended by the shrink c (drain mode Kill)");
    dvm_free(d);
}

static void a_job_without_remaining_ranks_has_the_code_of_the_first_failure(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 2, (struct job_spec){.flags = JOB_RECOVERABLE});
    lose_rank(d, 1, SIGTERM, RANK_PLAIN);
    lose_rank(d, 0, SIGKILL, RANK_PLAIN);
    assert_ends(d, 143,
                "2 of 2 ranks failed or were lost: rank 1 on node1 (vpid 1) was ended by signal "
                "15 (Terminated), pid N; " SIGNALLED);
    dvm_free(d);
}

static void a_failure_after_losses_reports_both(void **state)
{
    struct dvm *d = dvm_new();

    run_with(d, 0);
    core_client_signal(sim_core(d->sim, 0), CLIENT, SIGTERM);
    sim_drain(d->sim, 0);
    assert_ends(d, 143, "ended by the user; before, 1 of 6 ranks failed or were lost: " SIGNALLED);
    dvm_free(d);
}

static void lost_ranks_are_shown_while_the_job_runs_and_after_it(void **state)
{
    struct dvm *d = dvm_new();
    enum api_reason reason;
    struct api_dvm view;

    run_with(d, 0);
    assert_int_equal(core_dvm(sim_core(d->sim, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.jobs[0].state, JOB_RUNNING);
    assert_says(view.jobs[0].reason, "1 of 6 ranks failed or were lost: " SIGNALLED);
    api_dvm_free(&view);
    assert_true(sim_until(d->sim, is_done, NULL, 60000));
    assert_int_equal(core_dvm(sim_core(d->sim, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.jobs[0].state, JOB_TERMINATED);
    assert_says(view.jobs[0].reason, "1 of 6 ranks failed or were lost: " SIGNALLED);
    assert_int_equal(view.jobs[0].exit_code, 0);
    api_dvm_free(&view);
    dvm_free(d);
}

static void the_ranks_of_a_lost_daemon_are_shown_while_the_job_runs(void **state)
{
    struct dvm *d = dvm_new();
    enum api_reason reason;
    struct api_dvm view;

    submit(d, 0, 6, (struct job_spec){.flags = JOB_RECOVERABLE});
    sim_crash(d->sim, 3);
    sim_for(d->sim, 10000);
    assert_int_equal(core_dvm(sim_core(d->sim, 0), &view, &reason, NULL), 0);
    assert_int_equal(view.jobs[0].state, JOB_RUNNING);
    assert_says(view.jobs[0].reason, "2 of 6 ranks failed or were lost: " LOST_NODE3);
    api_dvm_free(&view);
    dvm_free(d);
}

static bool is_ready_for_debug(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->state == JOB_READY_FOR_DEBUG;
}

/* The last daemon of the job knows it, and has not all of its files. */
static bool has_no_files_yet(struct sim *s, void *nspace)
{
    return core_job(sim_core(s, 3), nspace) && !sim_ready(s, 3, nspace);
}

static bool has_ended(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->done;
}

#define LOST_EARLY                                                                                 \
    "2 of 6 ranks failed or were lost: 2 ranks on node3 were lost with their daemon (vpid 3): "    \
    "its link broke and was not restored in time"

static void a_daemon_lost_before_the_ranks_start_is_in_the_final_text(void **state)
{
    struct sim_want w = {
        .ranks = 6, .run_ms = 100, .nfiles = 1, .flags = JOB_RECOVERABLE | JOB_STRICT};
    struct dvm *d = dvm_new();
    size_t job = sim_submit_job(d->sim, 0, &w);

    while (!sim_job(d->sim, job)->accepted)
        sim_for(d->sim, 1);
    assert_true(sim_until(d->sim, has_no_files_yet, (void *)sim_job(d->sim, job)->nspace, 1000));
    sim_crash(d->sim, 3);
    assert_true(sim_until(d->sim, has_ended, &job, 60000));
    assert_int_equal(sim_job(d->sim, job)->exit_code, 123);
    assert_string_equal(sim_job(d->sim, job)->text, LOST_EARLY);
    dvm_free(d);
}

static void a_daemon_lost_while_ranks_stop_for_a_debugger_is_in_the_final_text(void **state)
{
    struct sim_want w = {.ranks = 6,
                         .run_ms = 100,
                         .flags = JOB_RECOVERABLE | JOB_STRICT,
                         .stop = JOB_STOP_EXEC,
                         .stop_rank = JOB_RANK_ALL};
    struct dvm *d = dvm_new();
    size_t job = sim_submit_job(d->sim, 0, &w);
    enum api_reason reason;

    assert_true(sim_until(d->sim, is_ready_for_debug, &job, 10000));
    sim_crash(d->sim, 3);
    sim_for(d->sim, 20000);
    assert_int_equal(
        core_continue_put(sim_core(d->sim, 0), sim_job(d->sim, job)->nspace, &reason, NULL), 0);
    sim_drain(d->sim, 0);
    assert_true(sim_until(d->sim, has_ended, &job, 60000));
    assert_int_equal(sim_job(d->sim, job)->exit_code, 123);
    assert_string_equal(sim_job(d->sim, job)->text, LOST_EARLY);
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_rank_is_reported_to_each_daemon_of_a_job_that_goes_on),
        cmocka_unit_test(the_head_reports_each_lost_rank_once),
        cmocka_unit_test(a_rank_killed_for_memory_is_said_to_be),
        cmocka_unit_test(only_the_first_loss_of_an_ending_job_is_reported),
        cmocka_unit_test(only_the_rank_that_called_abort_is_reported),
        cmocka_unit_test(losses_of_one_moment_are_reported_together),
        cmocka_unit_test(the_ranks_of_a_lost_daemon_are_reported_once),
        cmocka_unit_test(of_a_lost_daemon_only_ranks_that_exist_are_reported),
        cmocka_unit_test(the_daemon_of_a_job_s_spawner_rank_is_notified),
        cmocka_unit_test(the_daemon_that_has_asked_about_a_job_is_notified),
        cmocka_unit_test(a_daemon_that_runs_the_job_and_has_asked_about_it_hears_of_its_end_once),
        cmocka_unit_test(a_job_s_end_does_not_overtake_its_last_losses),
        cmocka_unit_test(the_daemons_of_a_rank_a_job_or_all_jobs_are_those_with_running_ranks),
        cmocka_unit_test(lost_ranks_are_in_the_text_and_their_signals_not_in_the_code),
        cmocka_unit_test(with_strict_the_first_loss_decides_the_code),
        cmocka_unit_test(a_rank_that_exits_with_0_without_finalizing_fails_its_job),
        cmocka_unit_test(a_recoverable_job_goes_on_without_a_rank_that_has_not_finalized),
        cmocka_unit_test(with_strict_a_rank_that_has_not_finalized_has_failed),
        cmocka_unit_test(a_rank_that_ends_with_its_job_need_not_finalize),
        cmocka_unit_test(the_code_is_that_of_the_first_rank_that_exited_with_one),
        cmocka_unit_test(a_lost_daemon_makes_123_with_strict_only),
        cmocka_unit_test(c23_a_lost_daemon_is_123_although_a_survivor_has_aborted_first),
        cmocka_unit_test(c23_a_lost_daemon_is_123_although_a_survivor_has_exited_first),
        cmocka_unit_test(c23_an_abort_without_a_loss_and_an_end_by_the_user_keep_their_codes),
        cmocka_unit_test(c23_an_abort_decides_the_code_of_a_recoverable_job),
        cmocka_unit_test(c15_a_recoverable_job_loses_its_ranks_on_killed_targets_only),
        cmocka_unit_test(a_recoverable_job_whose_nodes_or_submitter_all_leave_is_cancelled),
        cmocka_unit_test(a_job_without_remaining_ranks_has_the_code_of_the_first_failure),
        cmocka_unit_test(a_failure_after_losses_reports_both),
        cmocka_unit_test(lost_ranks_are_shown_while_the_job_runs_and_after_it),
        cmocka_unit_test(the_ranks_of_a_lost_daemon_are_shown_while_the_job_runs),
        cmocka_unit_test(a_daemon_lost_before_the_ranks_start_is_in_the_final_text),
        cmocka_unit_test(a_daemon_lost_while_ranks_stop_for_a_debugger_is_in_the_final_text),
    };

    return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
