/* SPDX-License-Identifier: BSD-3-Clause */
/* Which processes are notified of a rank's loss. */
#include "dvm/host/services/assemblies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NOTIFIED_MAX 8

/* The notification of the PMIx library about the last lost rank. */
static struct {
    unsigned n; /* ranks */
    size_t nto;
    struct pmix_srv_proc to[NOTIFIED_MAX];
} notified;

void pmix_srv_notify_lost(struct pmix_srv *p, const char *nspace, const struct msg_rank *r,
                          const struct pmix_srv_proc *to, size_t nto)
{
    assert_string_equal(nspace, "a.2");
    assert_int_equal(r->rank, 1);
    assert_true(nto <= NOTIFIED_MAX);
    notified.n++;
    notified.nto = nto;
    memcpy(notified.to, to, nto * sizeof(*to));
}

static const struct pmix_srv_proc jobs[] = {{"a.1", PMIX_SRV_RANK_ALL}, {"a.2", PMIX_SRV_RANK_ALL}};
static const struct pmix_srv_proc ranks[] = {{"a.1", 0}, {"a.2", 1}};
static const struct pmix_srv_proc others[] = {{"a.1", 0}, {"a.2", 0}};

/* Rank 1 of a.2, which rank 5 of `parent` has spawned. */
static void lose_rank(struct assemblies *a, bool others_go_on, const char *parent)
{
    char nspace[] = "a.2", parent_nspace[16];
    struct msg_rank rank = {.rank = 1};
    struct msg_ranks_lost m = {.nspace = nspace,
                               .others_go_on = others_go_on,
                               .parent_nspace = parent_nspace,
                               .parent_rank = 5,
                               .nranks = 1,
                               .ranks = &rank};

    snprintf(parent_nspace, sizeof(parent_nspace), "%s", parent);
    memset(&notified, 0, sizeof(notified));
    assemblies_ranks_lost(a, &m);
    assert_int_equal(notified.n, 1);
}

static void assert_notified(size_t i, const char *nspace, uint32_t rank)
{
    assert_true(i < notified.nto);
    assert_string_equal(notified.to[i].nspace, nspace);
    assert_int_equal(notified.to[i].rank, rank);
}

static void the_other_ranks_are_notified_if_they_go_on_and_the_spawner_always(void **state)
{
    struct assemblies *a = assemblies_create(NULL);

    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 0);
    lose_rank(a, false, "a.9");
    assert_int_equal(notified.nto, 1);
    assert_notified(0, "a.9", 5);
    lose_rank(a, true, "a.9");
    assert_int_equal(notified.nto, 2);
    assert_notified(0, "a.2", PMIX_SRV_RANK_ALL);
    assert_notified(1, "a.9", 5);
    assemblies_destroy(a);
}

static void processes_that_are_connected_to_the_rank_are_notified(void **state)
{
    struct assemblies *a = assemblies_create(NULL);

    assemblies_connect(a, others, 2); /* not this rank */
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 0);
    assemblies_connect(a, ranks, 2);
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 2);
    assert_notified(0, "a.1", 0);
    assert_notified(1, "a.2", 1);
    assemblies_destroy(a);
}

static void
a_disconnect_of_whole_jobs_ends_assemblies_that_were_connected_rank_by_rank(void **state)
{
    struct assemblies *a = assemblies_create(NULL);

    assemblies_connect(a, ranks, 2);
    assemblies_connect(a, jobs, 2);
    assemblies_disconnect(a, others, 2); /* covers neither */
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 4);
    assemblies_disconnect(a, jobs, 2);
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 0);
    assemblies_destroy(a);
}

static void the_processes_of_a_job_that_has_ended_are_not_notified(void **state)
{
    const struct pmix_srv_proc three[] = {ranks[0], ranks[1], {"a.3", 0}};
    struct assemblies *a = assemblies_create(NULL);

    assemblies_connect(a, three, 3);
    assemblies_job_ended(a, "a.1");
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 2);
    assert_notified(0, "a.2", 1);
    assert_notified(1, "a.3", 0);
    assemblies_job_ended(a, "a.2");
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 0);
    assemblies_destroy(a);
}

/* A parent whose children end without a disconnect. */
static void an_assembly_that_only_one_job_is_left_of_is_not_kept(void **state)
{
    struct assemblies *a = assemblies_create(NULL);

    for (unsigned i = 0; i < ASSEMBLIES_MAX; i++) {
        assemblies_connect(a, ranks, 2);
        assemblies_job_ended(a, "a.1");
    }
    assemblies_connect(a, ranks, 2);
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 2);
    assemblies_destroy(a);
}

static void no_more_assemblies_are_kept_than_the_limit(void **state)
{
    struct assemblies *a = assemblies_create(NULL);

    for (unsigned i = 0; i < ASSEMBLIES_MAX; i++)
        assemblies_connect(a, others, 2);
    assemblies_connect(a, ranks, 2);
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 0);
    assemblies_disconnect(a, others, 2);
    assemblies_connect(a, ranks, 2);
    lose_rank(a, false, "");
    assert_int_equal(notified.nto, 2);
    assemblies_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_other_ranks_are_notified_if_they_go_on_and_the_spawner_always),
        cmocka_unit_test(processes_that_are_connected_to_the_rank_are_notified),
        cmocka_unit_test(
            a_disconnect_of_whole_jobs_ends_assemblies_that_were_connected_rank_by_rank),
        cmocka_unit_test(the_processes_of_a_job_that_has_ended_are_not_notified),
        cmocka_unit_test(an_assembly_that_only_one_job_is_left_of_is_not_kept),
        cmocka_unit_test(no_more_assemblies_are_kept_than_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
