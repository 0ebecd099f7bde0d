/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs that ranks have spawned, and their parents: the effect of the end of one on the other. */
#include "dvm/protocol/core/local_private.h"
#include "dvm/protocol/core/test/jobs.h"
#include "dvm/protocol/wire/exit_code.h"

/* A job of one rank, as a rank on vpid 2 spawns it. */
static void spawn_ending(struct dvm *d, uint32_t client, const char *parent, const char *ms,
                         const char *code)
{
    char *argv[] = {(char *)ms, (char *)code, NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = 1};
    struct job_spec spec = {.napps = 1, .apps = &app, .parent_nspace = (char *)parent};

    core_submit(core_of(d, 2), client, &spec);
    settle(d, 2);
}

static void spawn(struct dvm *d, uint32_t client, const char *parent, const char *ms)
{
    spawn_ending(d, client, parent, ms, "0");
}

/* A job of `ranks` that run for `ms`; `parent`: a rank of that job spawns it, "": none. */
static const struct sim_job *submit_kin(struct dvm *d, uint32_t client, uint32_t ranks,
                                        const char *ms, const char *parent, uint32_t flags)
{
    char *argv[] = {(char *)ms, "0", NULL};
    char *env[] = {NULL};
    struct job_app app = {.argv = argv, .env = env, .cwd = "/", .nprocs = ranks};
    struct job_spec spec = {
        .napps = 1, .apps = &app, .parent_nspace = (char *)parent, .flags = flags};

    core_submit(core_of(d, 2), client, &spec);
    settle(d, 2);
    return sim_job(d->sim, client);
}

/* The DVM has six slots. */
static void c26_a_spawn_that_fits_only_when_its_parents_have_ended_is_refused_at_once(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 4, "60000", "", 0), *child, *grandchild;

    child = submit_kin(d, 10, 1, "60000", parent->nspace, 0);
    assert_int_equal(child->state, JOB_RUNNING);
    grandchild = submit_kin(d, 11, 2, "1", child->nspace, 0);
    assert_true(grandchild->done);
    assert_int_equal(grandchild->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(grandchild->text, "are held by the jobs that wait for this one"));
    assert_false(parent->done || child->done);
    grandchild = submit_kin(d, 12, 1, "1", child->nspace, 0);
    assert_true(grandchild->done);
    assert_int_equal(grandchild->exit_code, 0);
    dvm_free(d);
}

static void a_spawn_waits_for_the_slots_of_jobs_that_are_not_its_parents(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 4, "60000", "", 0), *child;

    submit_kin(d, 10, 2, "3000", "", 0);
    child = submit_kin(d, 11, 2, "1", parent->nspace, 0);
    assert_false(child->done);
    sim_for(d->sim, 4000);
    assert_true(child->done);
    assert_int_equal(child->exit_code, 0);
    assert_false(parent->done);
    dvm_free(d);
}

static void c26_a_spawn_passes_a_job_that_waits_for_its_parent(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 2, "10000", "", 0), *large, *child;

    large = submit_kin(d, 10, 6, "1", "", 0);
    child = submit_kin(d, 11, 1, "1000", parent->nspace, 0);
    assert_int_equal(child->state, JOB_RUNNING);
    assert_false(large->accepted && large->state == JOB_RUNNING);
    assert_false(submit_kin(d, 12, 1, "1", "", 0)->done); /* no parent: it waits behind */
    sim_for(d->sim, 15000);
    assert_true(child->done && large->done);
    assert_int_equal(large->exit_code, 0);
    dvm_free(d);
}

/* Each parent's child waits for the end of the other: the second one closes the circle. */
static void c26_of_families_that_would_wait_for_each_other_the_youngest_is_refused(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *one = submit_kin(d, 9, 2, "60000", "", 0);
    const struct sim_job *two = submit_kin(d, 10, 2, "3000", "", 0), *first, *second;

    first = submit_kin(d, 11, 4, "1", one->nspace, 0);
    assert_false(first->done);
    second = submit_kin(d, 12, 4, "1", two->nspace, 0);
    assert_true(second->done);
    assert_int_equal(second->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(second->text, "wait for this one or for other spawns"));
    assert_false(first->done);
    sim_for(d->sim, 4000); /* the second parent ends */
    assert_true(first->done);
    assert_int_equal(first->exit_code, 0);
    dvm_free(d);
}

/* It is refused too if it comes while the DVM changes its size. */
static void
c26_a_spawn_that_is_held_and_closes_a_circle_is_refused_when_the_fence_is_down(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *one = submit_kin(d, 9, 2, "60000", "", 0);
    const struct sim_job *two = submit_kin(d, 10, 2, "60000", "", 0), *second;
    uint32_t target = 3;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .targets = &target,
                                     .ntargets = 1};

    assert_false(submit_kin(d, 11, 4, "1", one->nspace, 0)->done);
    sim_stop(d->sim, 3, true);
    dvm_put_campaign(d->sim, "c", &r);
    second = submit_kin(d, 12, 4, "1", two->nspace, 0);
    assert_int_equal(second->state, JOB_WAITING_FOR_DAEMONS);
    sim_stop(d->sim, 3, false);
    dvm_wait_complete(d->sim, "c", 30000);
    sim_for(d->sim, 100);
    assert_true(second->done);
    assert_int_equal(second->exit_code, EXIT_CODE_NOT_LAUNCHED);
    dvm_free(d);
}

/* Both its first child that waits for slots and the one behind it need the grow. */
static void c26_a_spawn_that_needs_a_grow_is_refused_when_the_grow_fails(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 4, "60000", "", 0), *first, *behind, *other;
    uint32_t target = 4;
    struct api_campaign_request r = {
        .sequence = 1, .kind = API_KIND_GROW, .deadline_s = 2, .targets = &target, .ntargets = 1};

    dvm_put_campaign(d->sim, "g", &r);
    first = submit_kin(d, 10, 4, "1", parent->nspace, 0);
    behind = submit_kin(d, 11, 4, "1", parent->nspace, 0);
    other = submit_kin(d, 12, 4, "1", "", 0);
    assert_false(first->done || behind->done || other->done);
    sim_for(d->sim, 3000); /* nobody comes */
    assert_true(first->done && behind->done);
    assert_int_equal(first->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(first->text, "it needs the grow g, which has failed"));
    assert_int_equal(behind->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_false(parent->done || other->done);
    dvm_free(d);
}

/* The first child waits for a job that ends; then its parent ends, and the second one starts. */
static void a_spawn_waits_for_a_family_that_goes_on_by_itself(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *one = submit_kin(d, 9, 2, "5000", "", 0);
    const struct sim_job *two = submit_kin(d, 10, 2, "60000", "", 0), *first, *second;

    submit_kin(d, 11, 2, "2000", "", 0);
    first = submit_kin(d, 12, 2, "1", one->nspace, 0);
    second = submit_kin(d, 13, 4, "1", two->nspace, 0);
    assert_false(first->done || second->done);
    sim_for(d->sim, 3000);
    assert_true(first->done);
    assert_int_equal(first->exit_code, 0);
    assert_false(second->done);
    sim_for(d->sim, 4000);
    assert_true(second->done);
    assert_int_equal(second->exit_code, 0);
    dvm_free(d);
}

/* After a shrink both children fit only when the parent of the other has ended. */
static void c26_jobs_pass_families_that_wait_for_each_other_since_a_shrink(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *one = submit_kin(d, 9, 1, "60000", "", 0);
    const struct sim_job *two = submit_kin(d, 10, 1, "60000", "", 0);
    uint32_t target = 3;
    struct api_campaign_request r = {.sequence = 1,
                                     .drain_mode = API_DRAIN_WAIT,
                                     .deadline_s = -1,
                                     .targets = &target,
                                     .ntargets = 1};

    submit_kin(d, 11, 2, "2000", "", 0);
    assert_false(submit_kin(d, 12, 3, "1", one->nspace, 0)->done);
    assert_false(submit_kin(d, 13, 3, "1", two->nspace, 0)->done);
    dvm_put_campaign(d->sim, "c", &r);
    sim_for(d->sim, 10000);
    assert_true(submit_kin(d, 14, 2, "1", "", 0)->done);
    assert_true(submit_kin(d, 15, 1, "1", "", 0)->done);
    dvm_free(d);
}

/* The first that waits does so for a parent, whose child comes later than the job behind it. */
static void c26_a_job_that_has_waited_passes_when_a_parent_begins_to_wait(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 2, "60000", "", 0), *behind;

    submit_kin(d, 10, 2, "60000", "", 0);
    assert_false(submit_kin(d, 11, 6, "1", "", 0)->done);
    behind = submit_kin(d, 12, 2, "1", "", 0);
    assert_false(behind->done);
    assert_false(submit_kin(d, 13, 4, "1", parent->nspace, 0)->done);
    assert_true(behind->done);
    assert_int_equal(behind->exit_code, 0);
    dvm_free(d);
}

static enum job_control may(struct dvm *d, uint32_t from, const char *asker, const char *target)
{
    return core_job_control(core_of(d, 0), from, asker, target);
}

static void c25_a_process_controls_the_jobs_of_its_family_and_no_others(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 1, "60000", "", 0);
    const struct sim_job *child = submit_kin(d, 10, 1, "60000", parent->nspace, 0);
    const struct sim_job *other_child = submit_kin(d, 11, 1, "60000", parent->nspace, 0);
    const struct sim_job *grandchild = submit_kin(d, 12, 1, "60000", child->nspace, 0);
    const struct sim_job *other = submit_kin(d, 13, 1, "60000", "", 0);
    const struct sim_job *of_tool = submit_kin(d, 14, 1, "1", "tool", 0);
    const struct sim_job *family[] = {parent, child, other_child, grandchild};

    for (size_t i = 0; i < 4; i++) {
        uint32_t at = 0; /* the daemon of its rank */

        for (uint32_t v = 1; sim_core(d->sim, v); v++) {
            if (core_job(core_of(d, v), family[i]->nspace))
                at = v;
        }
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(may(d, at, family[i]->nspace, family[k]->nspace), JOB_CONTROL_GIVEN);
        assert_int_equal(may(d, at, family[i]->nspace, other->nspace), JOB_CONTROL_REFUSED);
        assert_int_equal(may(d, at, family[i]->nspace, "x.99"), JOB_CONTROL_UNKNOWN);
        for (uint32_t v = 0; sim_core(d->sim, v); v++) {
            if (!core_job(core_of(d, v), family[i]->nspace))
                assert_int_equal(may(d, v, family[i]->nspace, other->nspace), JOB_CONTROL_REFUSED);
        }
    }
    assert_true(of_tool->done);
    assert_int_equal(may(d, 1, of_tool->nspace, other->nspace), JOB_CONTROL_REFUSED);
    assert_int_equal(may(d, 1, "tool", other->nspace), JOB_CONTROL_GIVEN);
    dvm_free(d);
}

static void a_child_may_oversubscribe_and_must_not_wait_if_its_parent_is_so(void **state)
{
    struct dvm *d = dvm_new();
    const struct sim_job *parent = submit_kin(d, 9, 7, "60000", "", JOB_OVERSUBSCRIBE), *child;

    child = submit_kin(d, 10, 3, "1", parent->nspace, 0);
    assert_true(child->done);
    assert_int_equal(child->exit_code, 0);
    core_client_signal(core_of(d, 2), 9, SIGKILL);
    settle(d, 2);
    sim_for(d->sim, 3000);
    parent = submit_kin(d, 11, 4, "60000", "", JOB_NO_WAIT);
    submit_kin(d, 12, 2, "60000", "", 0);
    child = submit_kin(d, 13, 1, "1", parent->nspace, 0);
    assert_true(child->done);
    assert_int_equal(child->exit_code, EXIT_CODE_NOT_LAUNCHED);
    assert_non_null(strstr(child->text, "(--no-wait)"));
    dvm_free(d);
}

/* The name of the next job, which any client can guess. */
static char *name_after(const char *nspace)
{
    const char *dot = strrchr(nspace, '.');

    return xasprintf("%.*s.%lu", (int)(dot - nspace), nspace, strtoul(dot + 1, NULL, 10) + 1);
}

static void a_job_that_calls_itself_its_parent_has_none_and_ends(void **state)
{
    struct dvm *d = dvm_new();
    FREE_AUTO char *next = NULL;

    submit(d, 0, 1, "1", "0", plain);
    assert_ends(d, 0, "");
    next = name_after(job(d)->nspace);
    spawn(d, 9, next, "5");
    sim_for(d->sim, 1000);
    assert_string_equal(sim_job(d->sim, 9)->nspace, next);
    assert_true(sim_job(d->sim, 9)->done);
    assert_int_equal(sim_job(d->sim, 9)->exit_code, 0);
    dvm_free(d);
}

static void a_job_whose_parent_is_not_known_is_one_of_its_own(void **state)
{
    struct dvm *d = dvm_new();

    spawn(d, 9, "5.99", "5");
    sim_for(d->sim, 1000);
    assert_true(sim_job(d->sim, 9)->done);
    dvm_free(d);
}

/* It gets no parent later either. */
static void a_job_that_names_a_later_one_as_its_parent_stays_on_its_own(void **state)
{
    struct dvm *d = dvm_new();
    FREE_AUTO char *next = NULL;
    FREE_AUTO char *after = NULL;

    submit(d, 0, 1, "1", "0", plain);
    assert_ends(d, 0, "");
    next = name_after(job(d)->nspace);
    after = name_after(next);
    spawn(d, 9, after, "500");
    spawn(d, 10, "", "100000");
    assert_string_equal(sim_job(d->sim, 10)->nspace, after);
    sim_for(d->sim, 1000);
    assert_true(sim_job(d->sim, 9)->done);
    core_client_signal(core_of(d, 2), 10, SIGTERM);
    settle(d, 2);
    sim_for(d->sim, 3000);
    assert_true(sim_job(d->sim, 10)->done);
    assert_int_equal(sim_job(d->sim, 10)->exit_code, 143);
    dvm_free(d);
}

static void a_submitter_is_notified_when_the_spawned_jobs_have_ended_too(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "4000");
    spawn(d, 10, sim_job(d->sim, 9)->nspace, "5000");
    sim_for(d->sim, 2000);
    assert_int_equal(sim_ranks(d->sim, 1) + sim_ranks(d->sim, 2), 2);
    assert_false(job(d)->done);
    sim_for(d->sim, 2500);
    assert_false(job(d)->done);
    assert_ends(d, 0, "");
    assert_true(sim_job(d->sim, 9)->done);
    assert_true(sim_job(d->sim, 10)->done);
    dvm_free(d);
}

static void spawned_jobs_end_with_a_parent_that_fails_and_after_it(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "100000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    spawn(d, 10, sim_job(d->sim, 9)->nspace, "100000");
    core_client_signal(core_of(d, 0), CLIENT, SIGTERM);
    sim_drain(d->sim, 0);
    spawn(d, 11, job(d)->nspace, "100000"); /* too late */
    assert_ends(d, 143, "ended by the user");
    for (size_t child = 9; child <= 11; child++) {
        assert_true(sim_job(d->sim, child)->done);
        assert_int_equal(sim_job(d->sim, child)->exit_code, 122);
    }
    assert_non_null(strstr(sim_job(d->sim, 11)->text, "which has spawned it"));
    dvm_free(d);
}

static void a_spawned_job_that_is_lost_with_its_submitter_ends_its_parent_as_lost(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    sim_for(d->sim, 2000);
    assert_false(job(d)->done);
    sim_crash(d->sim, 2);
    assert_ends(d, EXIT_CODE_LOST, "its submitter was lost with its daemon (vpid 2)");
    dvm_free(d);
}

static void an_ended_parent_ends_its_children_at_the_request_of_its_user(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    spawn(d, 10, sim_job(d->sim, 9)->nspace, "100000");
    sim_for(d->sim, 2000);
    assert_false(job(d)->done);
    core_client_signal(core_of(d, 0), CLIENT, SIGUSR1); /* ends nothing */
    sim_for(d->sim, 500);
    assert_false(sim_job(d->sim, 9)->done);
    core_client_signal(core_of(d, 0), CLIENT, SIGINT);
    settle(d, 0);
    assert_ends(d, 130, "spawned jobs were ended: by the user");
    assert_int_equal(sim_job(d->sim, 9)->exit_code, 122);
    assert_int_equal(sim_job(d->sim, 10)->exit_code, 122);
    dvm_free(d);
}

static void an_ended_parent_ends_its_children_when_its_submitter_disconnects(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    sim_for(d->sim, 2000);
    core_client_gone(core_of(d, 0), CLIENT);
    settle(d, 0);
    sim_for(d->sim, 5000);
    assert_true(sim_job(d->sim, 9)->done);
    assert_int_equal(sim_job(d->sim, 9)->exit_code, 122);
    dvm_free(d);
}

/* The rank that has spawned it has ended, nobody has sent a signal. */
static void a_spawned_job_whose_submitter_disconnects_is_not_ended_by_the_user(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "1000");
    spawn(d, 10, sim_job(d->sim, 9)->nspace, "100000");
    sim_for(d->sim, 2000);
    core_client_gone(core_of(d, 2), 9);
    settle(d, 2);
    assert_ends(d, EXIT_CODE_CANCELLED, "spawned jobs were ended: its submitter has disconnected");
    dvm_free(d);
}

/* The first cause is recorded; another record would be refused with an error. */
static void a_further_signal_to_an_ended_parent_changes_nothing(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    sim_for(d->sim, 2000);
    core_client_signal(core_of(d, 0), CLIENT, SIGINT);
    core_client_signal(core_of(d, 0), CLIENT, SIGTERM);
    settle(d, 0);
    assert_ends(d, 130, "spawned jobs were ended: by the user");
    assert_int_equal(d->nerrors, 0);
    dvm_free(d);
}

/* The job as a member has it once its ranks there and their output have ended. */
static const struct local_job *gone_at_member(struct dvm *d, const char *nspace)
{
    for (int ms = 0; ms < 5000; ms++, sim_for(d->sim, 1)) {
        for (uint32_t v = 1; v <= MEMBERS; v++) {
            const struct local_job *j = local_find_any(core_of(d, v), nspace);

            if (j && j->state >= RANKS_FLUSHING)
                return j;
        }
    }
    return NULL;
}

static void the_end_of_a_spawned_job_does_not_overtake_its_output(void **state)
{
    struct dvm *d = dvm_new();
    const struct local_job *j;

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "2000");
    j = gone_at_member(d, job(d)->nspace);
    assert_non_null(j);
    assert_int_equal(j->state, RANKS_GONE); /* the head puts its own client's job in order */
    j = gone_at_member(d, sim_job(d->sim, 9)->nspace);
    assert_non_null(j);
    assert_int_equal(j->state, RANKS_FLUSHING); /* before its output has arrived */
    assert_ends(d, 0, "");
    dvm_free(d);
}

static void the_time_limit_of_a_job_holds_for_its_spawned_jobs_too(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", (struct job_spec){.timeout_ms = 3000});
    spawn(d, 9, job(d)->nspace, "100000");
    sim_for(d->sim, 2000);
    assert_false(job(d)->done);
    assert_ends(d, 124, "spawned jobs were ended: its time limit of 3 s has passed");
    assert_int_equal(sim_job(d->sim, 9)->exit_code, 122);
    dvm_free(d);
}

/* The first failure that the parent gets counts, of any descendant. */
static void the_failure_of_a_spawned_job_is_in_the_end_of_a_parent_that_succeeded(void **state)
{
    static const struct {
        uint32_t flags;
        int code;
    } as[] = {{0, 5}, {JOB_RECOVERABLE, 0}, {JOB_RECOVERABLE | JOB_STRICT, 5}};

    for (size_t i = 0; i < 3; i++) {
        struct dvm *d = dvm_new();

        submit(d, 0, 1, "1000", "0", (struct job_spec){.flags = as[i].flags});
        spawn(d, 9, job(d)->nspace, "4000");
        spawn_ending(d, 10, sim_job(d->sim, 9)->nspace, "2000", "5");
        spawn_ending(d, 11, job(d)->nspace, "6000", "6");
        assert_ends(d, as[i].code, "rank 0 on node2 (vpid 2) exited with code ");
        assert_int_equal(strncmp(job(d)->text, "spawned job ", 12), 0);
        dvm_free(d);
    }
}

static void a_spawned_job_that_is_ended_on_purpose_has_not_failed(void **state)
{
    struct dvm *d = dvm_new();

    submit(d, 0, 1, "1000", "0", plain);
    spawn(d, 9, job(d)->nspace, "100000");
    core_client_signal(core_of(d, 2), 9, SIGTERM);
    settle(d, 2);
    assert_ends(d, 0, "");
    assert_int_equal(sim_job(d->sim, 9)->exit_code, 143);
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c26_a_spawn_that_fits_only_when_its_parents_have_ended_is_refused_at_once),
        cmocka_unit_test(a_spawn_waits_for_the_slots_of_jobs_that_are_not_its_parents),
        cmocka_unit_test(c26_a_spawn_passes_a_job_that_waits_for_its_parent),
        cmocka_unit_test(c26_of_families_that_would_wait_for_each_other_the_youngest_is_refused),
        cmocka_unit_test(
            c26_a_spawn_that_is_held_and_closes_a_circle_is_refused_when_the_fence_is_down),
        cmocka_unit_test(c26_a_spawn_that_needs_a_grow_is_refused_when_the_grow_fails),
        cmocka_unit_test(a_spawn_waits_for_a_family_that_goes_on_by_itself),
        cmocka_unit_test(c26_jobs_pass_families_that_wait_for_each_other_since_a_shrink),
        cmocka_unit_test(c26_a_job_that_has_waited_passes_when_a_parent_begins_to_wait),
        cmocka_unit_test(c25_a_process_controls_the_jobs_of_its_family_and_no_others),
        cmocka_unit_test(a_child_may_oversubscribe_and_must_not_wait_if_its_parent_is_so),
        cmocka_unit_test(a_job_that_calls_itself_its_parent_has_none_and_ends),
        cmocka_unit_test(a_job_that_names_a_later_one_as_its_parent_stays_on_its_own),
        cmocka_unit_test(a_job_whose_parent_is_not_known_is_one_of_its_own),
        cmocka_unit_test(a_submitter_is_notified_when_the_spawned_jobs_have_ended_too),
        cmocka_unit_test(spawned_jobs_end_with_a_parent_that_fails_and_after_it),
        cmocka_unit_test(the_failure_of_a_spawned_job_is_in_the_end_of_a_parent_that_succeeded),
        cmocka_unit_test(a_spawned_job_that_is_ended_on_purpose_has_not_failed),
        cmocka_unit_test(the_end_of_a_spawned_job_does_not_overtake_its_output),
        cmocka_unit_test(the_time_limit_of_a_job_holds_for_its_spawned_jobs_too),
        cmocka_unit_test(a_spawned_job_that_is_lost_with_its_submitter_ends_its_parent_as_lost),
        cmocka_unit_test(an_ended_parent_ends_its_children_at_the_request_of_its_user),
        cmocka_unit_test(an_ended_parent_ends_its_children_when_its_submitter_disconnects),
        cmocka_unit_test(a_spawned_job_whose_submitter_disconnects_is_not_ended_by_the_user),
        cmocka_unit_test(a_further_signal_to_an_ended_parent_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
