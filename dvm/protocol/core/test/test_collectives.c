/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives between daemons: their outcome when a participant does not contribute, or when a
 * daemon lies about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/protocol/core/core_private.h"
#include "dvm/protocol/core/test/dvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS 3u

struct dvm {
    struct sim *sim;
    int64_t gathered[MEMBERS + 1]; /* answer; 99: none */
};

static void on_action(void *arg, uint32_t vpid, const struct out_act *act)
{
    struct dvm *d = arg;

    if (act->kind == OUT_GATHER)
        d->gathered[vpid] = act->gather.outcome;
}

static struct dvm *dvm_new(void)
{
    struct dvm_shape shape = {.members = MEMBERS, .started = MEMBERS, .slots = 2};
    struct dvm *d = xcalloc(1, sizeof(*d));
    struct sim_hooks h = {.arg = d, .action = on_action};

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

static struct core *core_of(struct dvm *d, uint32_t vpid)
{
    return sim_core(d->sim, vpid);
}

static void settle(struct dvm *d, uint32_t vpid)
{
    sim_drain(d->sim, vpid);
    sim_for(d->sim, 100);
}

static void contribute_for(struct dvm *d, uint32_t vpid, uint64_t req, const char *data,
                           uint64_t timeout_ms)
{
    static const uint32_t all[] = {1, 2, 3};
    struct gather_call call = {.req = req,
                               .sig = "sig",
                               .siglen = 3,
                               .n = 3,
                               .vpids = all,
                               .data = data,
                               .len = 1,
                               .timeout_ms = timeout_ms};

    d->gathered[vpid] = 99;
    sim_clock(d->sim, vpid);
    core_gather(core_of(d, vpid), &call);
}

static void contribute(struct dvm *d, uint32_t vpid, uint64_t req, const char *data)
{
    contribute_for(d, vpid, req, data, 0);
}

/* A late participant gets it too. The next collective of the same participants is not affected. */
static void a_collective_that_times_out_ends_with_timeout_for_all_members(void **state)
{
    struct dvm *d = dvm_new();

    contribute(d, 1, 1, "x");
    settle(d, 1);
    contribute_for(d, 2, 2, "x", 3000);
    sim_drain(d->sim, 2);
    sim_for(d->sim, 2900);
    assert_int_equal(d->gathered[1], 99);
    assert_int_equal(d->gathered[2], 99);
    sim_for(d->sim, 200);
    assert_int_equal(d->gathered[1], GATHER_TIMEOUT);
    assert_int_equal(d->gathered[2], GATHER_TIMEOUT);
    contribute(d, 3, 3, "x");
    settle(d, 3);
    assert_int_equal(d->gathered[3], GATHER_TIMEOUT);
    for (uint32_t v = 1; v <= 3; v++) {
        contribute_for(d, v, 10 + v, "y", 500);
        sim_drain(d->sim, v);
    }
    sim_for(d->sim, 100);
    for (uint32_t v = 1; v <= 3; v++)
        assert_int_equal(d->gathered[v], 0);
    sim_for(d->sim, 1000);
    dvm_free(d);
}

static void a_collective_ends_for_all_members_or_fails_for_the_remaining_ones(void **state)
{
    struct dvm *d = dvm_new();

    for (uint32_t v = 1; v <= 3; v++) {
        contribute(d, v, v, "x");
        settle(d, v);
        assert_int_equal(d->gathered[1], v < 3 ? 99 : 0);
    }
    assert_int_equal(d->gathered[2], 0);
    assert_int_equal(d->gathered[3], 0);
    for (uint32_t v = 1; v <= 2; v++) {
        d->gathered[v] = 99;
        contribute(d, v, 10 + v, "y");
        settle(d, v);
    }
    sim_crash(d->sim, 3);
    sim_for(d->sim, 8000);
    assert_int_equal(d->gathered[1], GATHER_LOST);
    assert_int_equal(d->gathered[2], GATHER_LOST);
    dvm_free(d);
}

/* --- collectives of a job with two ranks at each of vpids 1 and 2, about which vpid 3 lies */

struct fence { /* of all ranks of the job */
    char sig[96];
    size_t siglen;
};

static void name_job(struct fence *x, const char *nspace)
{
    size_t len = (size_t)snprintf(x->sig, sizeof(x->sig), "f%s", nspace) + 1;

    memcpy(x->sig + len, "\xff\xff\xff\xfe", 4);
    x->siglen = len + 4;
}

static size_t submit(struct dvm *d)
{
    const struct sim_want want = {.ranks = 4, .run_ms = 60000, .nhosts = 2, .hosts = {1, 2}};
    size_t job = sim_submit_job(d->sim, 1, &want);

    sim_for(d->sim, 500);
    assert_int_equal(sim_ranks(d->sim, 1), 2);
    assert_int_equal(sim_ranks(d->sim, 2), 2);
    return job;
}

/* The name of the job that is submitted next: its number follows that of a job before it. */
static void name_next_job(struct dvm *d, char *nspace, size_t size)
{
    const struct sim_want want = {.ranks = 1, .nhosts = 1, .hosts = {3}};
    size_t job = sim_submit_job(d->sim, 1, &want);
    const char *dot;

    dvm_wait_job(d->sim, job, 0);
    dot = strchr(sim_job(d->sim, job)->nspace, '.');
    assert_non_null(dot);
    snprintf(nspace, size, "%.*s%lu", (int)(dot + 1 - sim_job(d->sim, job)->nspace),
             sim_job(d->sim, job)->nspace, strtoul(dot + 1, NULL, 10) + 1);
}

static void enter_fence(struct dvm *d, uint32_t vpid, const struct fence *x)
{
    static const uint32_t both[] = {1, 2};
    struct gather_call call = {.req = vpid,
                               .sig = x->sig,
                               .siglen = x->siglen,
                               .n = 2,
                               .vpids = both,
                               .data = "x",
                               .len = 1};

    d->gathered[vpid] = 99;
    sim_clock(d->sim, vpid);
    core_gather(core_of(d, vpid), &call);
    settle(d, vpid);
}

/* A message of vpid 3 in its own name. */
static void lie(struct dvm *d, uint32_t to, enum msg_type type, const struct fence *x,
                enum gather_outcome outcome)
{
    uint32_t vpids[] = {to, 3};
    struct msg m = {.type = type};

    *(type == MSG_GATHER_UP ? &m.gather_up : &m.gather_down) =
        (struct msg_gather){.seq = 1,
                            .sig = (const uint8_t *)x->sig,
                            .siglen = x->siglen,
                            .outcome = outcome,
                            .nvpids = 2,
                            .vpids = vpids};
    sim_clock(d->sim, 3);
    assert_int_equal(core_inspect_send(core_of(d, 3), to, CLASS_MODEX, &m), 0);
    settle(d, 3);
}

static void tell_lies(struct dvm *d, const struct fence *x)
{
    for (uint32_t to = 1; to <= 2; to++) {
        lie(d, to, MSG_GATHER_DOWN, x, GATHER_LOST);
        lie(d, to, MSG_GATHER_UP, x, GATHER_LOST);
    }
}

/* Vpid 2 first: its contribution comes to vpid 1 before the collective begins there. */
static void assert_succeeds(struct dvm *d, const struct fence *x)
{
    enter_fence(d, 2, x);
    enter_fence(d, 1, x);
    assert_int_equal(d->gathered[1], GATHER_OK);
    assert_int_equal(d->gathered[2], GATHER_OK);
}

/* --- ranks that end */

static void register_rank(struct dvm *d, size_t job, uint32_t vpid, uint32_t rank)
{
    sim_clock(d->sim, vpid);
    core_proc(core_of(d, vpid), sim_job(d->sim, job)->nspace, rank, CORE_PROC_REGISTERED, 0, NULL);
    sim_drain(d->sim, vpid);
}

static void end_rank(struct dvm *d, size_t job, uint32_t vpid, uint32_t rank)
{
    const char *nspace = sim_job(d->sim, job)->nspace;

    sim_clock(d->sim, vpid);
    core_rank_ended(core_of(d, vpid), nspace, rank);
    core_proc_ended(core_of(d, vpid), nspace, rank, 0, RANK_PLAIN);
    core_rank_left(core_of(d, vpid), nspace, rank);
    settle(d, vpid);
}

/* Ranks 2 and 3 are at vpid 2. */
static void the_ranks_of_a_daemon_end_before_or_during_a_collective_and_it_goes_on(void **state)
{
    for (int before = 0; before <= 2; before++) {
        struct dvm *d = dvm_new();
        struct fence x;
        size_t job = submit(d);

        name_job(&x, sim_job(d->sim, job)->nspace);
        for (uint32_t r = 2; r <= 3; r++)
            register_rank(d, job, 2, r);
        for (int i = 0; i < before; i++)
            end_rank(d, job, 2, 2 + (uint32_t)i);
        enter_fence(d, 1, &x);
        sim_for(d->sim, 5 * GATHER_ASK_MS);
        assert_int_equal(d->gathered[1], before == 2 ? GATHER_ENDED : 99);
        for (int i = before; i < 2; i++)
            end_rank(d, job, 2, 2 + (uint32_t)i);
        assert_int_equal(d->gathered[1], GATHER_ENDED);
        enter_fence(d, 1, &x); /* the next one */
        sim_for(d->sim, 5 * GATHER_ASK_MS);
        assert_int_equal(d->gathered[1], GATHER_ENDED);
        dvm_free(d);
    }
}

/* The PMIx server may still report a contribution of it. */
static void a_rank_whose_process_has_ended_is_waited_for_until_it_has_left(void **state)
{
    struct dvm *d = dvm_new();
    struct fence x;
    size_t job = submit(d);

    name_job(&x, sim_job(d->sim, job)->nspace);
    register_rank(d, job, 2, 2);
    register_rank(d, job, 2, 3);
    end_rank(d, job, 2, 2);
    core_rank_ended(core_of(d, 2), sim_job(d->sim, job)->nspace, 3);
    enter_fence(d, 1, &x);
    sim_for(d->sim, 5 * GATHER_ASK_MS);
    assert_int_equal(d->gathered[1], 99);
    enter_fence(d, 2, &x);
    assert_int_equal(d->gathered[1], GATHER_OK);
    dvm_free(d);
}

static void a_rank_that_ends_before_pmix_init_ends_its_job_if_others_wait_for_it(void **state)
{
    struct dvm *d = dvm_new();
    struct fence x;
    size_t job = submit(d);

    name_job(&x, sim_job(d->sim, job)->nspace);
    register_rank(d, job, 2, 3);
    end_rank(d, job, 2, 2);
    sim_for(d->sim, 1000);
    assert_false(sim_job(d->sim, job)->done); /* nobody waits for it */
    enter_fence(d, 1, &x);
    enter_fence(d, 2, &x);
    assert_int_equal(d->gathered[1], GATHER_LOST);
    dvm_wait_job(d->sim, job, 1);
    assert_non_null(strstr(sim_job(d->sim, job)->text, "rank 2 on "));
    assert_non_null(strstr(sim_job(d->sim, job)->text, "before PMIx_Init"));
    dvm_free(d);
}

static void c25_a_daemon_outside_a_job_cannot_end_its_collective_before_that_begins(void **state)
{
    struct dvm *d = dvm_new();
    struct fence x;

    name_job(&x, sim_job(d->sim, submit(d))->nspace);
    tell_lies(d, &x);
    assert_succeeds(d, &x);
    dvm_free(d);
}

static void c25_a_daemon_outside_a_job_cannot_end_its_collective_before_the_launch(void **state)
{
    struct dvm *d = dvm_new();
    char nspace[64];
    struct fence x;

    name_next_job(d, nspace, sizeof(nspace));
    name_job(&x, nspace);
    tell_lies(d, &x);
    assert_string_equal(sim_job(d->sim, submit(d))->nspace, nspace);
    assert_succeeds(d, &x);
    dvm_free(d);
}

/* Otherwise the true contribution of vpid 2 is dropped, since it names others. */
static void c25_a_daemon_outside_a_job_cannot_choose_its_participants(void **state)
{
    struct dvm *d = dvm_new();
    struct fence x;

    name_job(&x, sim_job(d->sim, submit(d))->nspace);
    lie(d, 1, MSG_GATHER_UP, &x, GATHER_OK);
    assert_succeeds(d, &x);
    dvm_free(d);
}

/* Vpid 2 has the launch first, as far as vpid 1 can tell. */
static void c25_a_contribution_that_comes_before_the_launch_is_not_lost(void **state)
{
    struct dvm *d = dvm_new();
    char nspace[64];
    struct fence x;

    name_next_job(d, nspace, sizeof(nspace));
    name_job(&x, nspace);
    enter_fence(d, 2, &x);
    assert_int_equal(gather_early(core_of(d, 1)->gather), 1);
    assert_string_equal(sim_job(d->sim, submit(d))->nspace, nspace);
    enter_fence(d, 1, &x);
    assert_int_equal(d->gathered[1], GATHER_OK);
    assert_int_equal(d->gathered[2], GATHER_OK);
    dvm_free(d);
}

static void the_launch_of_a_job_shows_which_daemon_has_which_rank(void **state)
{
    static const struct {
        uint32_t rank, vpid;
        enum gather_part part;
    } cases[] = {{GATHER_RANK_ALL, 1, GATHER_TAKES_PART},
                 {GATHER_RANK_ALL, 2, GATHER_TAKES_PART},
                 {GATHER_RANK_ALL, 3, GATHER_OUTSIDE},
                 {GATHER_RANK_ALL, 0, GATHER_OUTSIDE},
                 {1, 1, GATHER_TAKES_PART},
                 {1, 2, GATHER_OUTSIDE},
                 {2, 2, GATHER_TAKES_PART},
                 {2, 1, GATHER_OUTSIDE},
                 {4, 1, GATHER_OUTSIDE},
                 {UINT32_MAX, 1, GATHER_OUTSIDE}};
    struct dvm *d = dvm_new();
    const char *nspace = sim_job(d->sim, submit(d))->nspace;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(local_rank_part_of(core_of(d, 1), nspace, cases[i].rank, cases[i].vpid),
                         cases[i].part);
    assert_int_equal(local_rank_part_of(core_of(d, 1), "x.1", GATHER_RANK_ALL, 1),
                     GATHER_JOB_UNKNOWN);
    assert_int_equal(local_rank_part_of(core_of(d, 3), nspace, GATHER_RANK_ALL, 1),
                     GATHER_JOB_UNKNOWN);
    dvm_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_ends_for_all_members_or_fails_for_the_remaining_ones),
        cmocka_unit_test(a_collective_that_times_out_ends_with_timeout_for_all_members),
        cmocka_unit_test(the_ranks_of_a_daemon_end_before_or_during_a_collective_and_it_goes_on),
        cmocka_unit_test(a_rank_whose_process_has_ended_is_waited_for_until_it_has_left),
        cmocka_unit_test(a_rank_that_ends_before_pmix_init_ends_its_job_if_others_wait_for_it),
        cmocka_unit_test(c25_a_daemon_outside_a_job_cannot_end_its_collective_before_that_begins),
        cmocka_unit_test(c25_a_daemon_outside_a_job_cannot_end_its_collective_before_the_launch),
        cmocka_unit_test(c25_a_daemon_outside_a_job_cannot_choose_its_participants),
        cmocka_unit_test(c25_a_contribution_that_comes_before_the_launch_is_not_lost),
        cmocka_unit_test(the_launch_of_a_job_shows_which_daemon_has_which_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
