/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the steps of the Secrets: with real certificates, a clock of the test's own, and daemons
 * that have read the files at any time within the overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "base/loop/loop.h"
#include "operator/reconcile/authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVERLAP_MS 600000
#define DAY_MS 86400000LL
#define VERSIONS 64
#define CA CREDENTIALS_CA

/* What was in the files of a role from `from_ms` on. */
struct version {
    int64_t from_ms;
    int role;
    char *ca, *cert;
};

struct world {
    struct authority_view v;
    char *ca[CREDENTIALS_SECRETS], *cert[CREDENTIALS_SECRETS];
    char *key; /* of the authority that issues */
    struct version versions[VERSIONS];
    size_t nversions;
    unsigned replaced, issued;
};

static void world_sync(struct world *w)
{
    for (int i = 0; i < CREDENTIALS_SECRETS; i++) {
        w->v.secret[i].ca = w->ca[i];
        w->v.secret[i].cert = w->cert[i];
    }
}

static int world_open(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));

    w->v.now_ms = (int64_t)loop_wall_ms();
    w->v.overlap_ms = OVERLAP_MS;
    *state = w;
    return 0;
}

static int world_close(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < CREDENTIALS_SECRETS; i++) {
        free(w->ca[i]);
        free(w->cert[i]);
    }
    for (size_t i = 0; i < w->nversions; i++) {
        free(w->versions[i].ca);
        free(w->versions[i].cert);
    }
    free(w->key);
    free(w);
    return 0;
}

static void lose_secret(struct world *w, int i)
{
    w->v.secret[i] = (struct authority_secret){0};
    free_ptr(&w->ca[i]);
    free_ptr(&w->cert[i]);
    if (i == CA) { /* its annotations are lost with it */
        free_ptr(&w->key);
        w->v.revision = w->v.trusted_ms = w->v.issued_ms = 0;
    }
}

static void new_authority(struct world *w, const char *bundle)
{
    struct tls_ca *ca = tls_ca_create("n/x", 3650, NULL);

    assert_non_null(ca);
    free(w->cert[CA]);
    free(w->key);
    free(w->ca[CA]);
    w->cert[CA] = tls_ca_cert_pem(ca);
    w->key = tls_ca_key_pem(ca);
    w->ca[CA] = xasprintf("%s%s", w->cert[CA], bundle ? bundle : "");
    w->v.revision = w->v.wanted_revision;
    w->v.trusted_ms = w->v.issued_ms = 0;
    tls_ca_destroy(ca);
}

static void issue_cert(struct world *w, int i)
{
    struct tls_ca *ca = tls_ca_load(w->cert[CA], w->key, NULL);
    char *key = NULL;

    assert_non_null(ca);
    free_ptr(&w->cert[i]);
    assert_int_equal(tls_ca_issue(ca, "member", "m", NULL, 90, &w->cert[i], &key, NULL), 0);
    free(key);
    tls_ca_destroy(ca);
    w->issued++;
}

static void keep_version(struct world *w, int i)
{
    if (i == CA)
        return;
    assert_true(w->nversions < VERSIONS);
    w->versions[w->nversions++] = (struct version){
        .from_ms = w->v.now_ms, .role = i, .ca = xstrdup(w->ca[i]), .cert = xstrdup(w->cert[i])};
}

/* Does the next step as the operator does. False: there is none now. */
static bool do_step(struct world *w, struct authority_next *n)
{
    free(n->bundle);
    world_sync(w);
    authority_next(&w->v, n);
    switch (n->step) {
    case AUTHORITY_REST:
        return false;
    case AUTHORITY_REPLACE:
        w->replaced++;
        new_authority(w, n->bundle);
        break;
    case AUTHORITY_CREATE:
        new_authority(w, n->bundle);
        break;
    case AUTHORITY_TRUST:
        free(w->ca[n->at]);
        w->ca[n->at] = xstrdup(n->bundle);
        if (n->at == CA)
            w->v.trusted_ms = w->v.issued_ms = 0;
        break;
    case AUTHORITY_MAKE:
        free(w->ca[n->at]);
        w->ca[n->at] = xstrdup(w->ca[CA]);
        issue_cert(w, n->at);
        break;
    case AUTHORITY_ISSUE:
        issue_cert(w, n->at);
        break;
    case AUTHORITY_MARK_TRUSTED:
        w->v.trusted_ms = w->v.now_ms;
        break;
    case AUTHORITY_MARK_ISSUED:
        w->v.issued_ms = w->v.now_ms;
        break;
    }
    w->v.secret[n->at].exists = true;
    keep_version(w, n->at);
    return true;
}

/* True if a daemon may still use the version: the next one of its role is younger than the overlap.
 */
static bool is_in_use(const struct world *w, size_t at)
{
    for (size_t i = at + 1; i < w->nversions; i++) {
        if (w->versions[i].role == w->versions[at].role)
            return w->v.now_ms < w->versions[i].from_ms + OVERLAP_MS;
    }
    return true;
}

static void check_trust(const struct world *w)
{
    for (size_t i = 0; i < w->nversions; i++) {
        for (size_t k = 0; is_in_use(w, i) && k < w->nversions; k++) {
            FREE_AUTO char *issuer = is_in_use(w, k)
                                         ? tls_bundle_issuer(w->versions[i].ca, w->versions[k].cert)
                                         : xstrdup("");

            if (!issuer)
                fail_msg("version %zu of %d does not trust version %zu of %d", i,
                         w->versions[i].role, k, w->versions[k].role);
        }
    }
}

/* Carries out all steps that are possible now. */
static unsigned do_steps(struct world *w, struct authority_next *n)
{
    unsigned steps = 0;

    while (do_step(w, n)) {
        check_trust(w);
        assert_true(++steps < 32);
    }
    return steps;
}

static void pass_time(struct world *w, int64_t ms)
{
    w->v.now_ms += ms;
    check_trust(w);
}

/* Goes on until the Secrets are settled; time passes as the steps ask for it. */
static void settle_world(struct world *w, struct authority_next *n)
{
    for (int i = 0; i < 16; i++) {
        do_steps(w, n);
        if (n->settled)
            return;
        assert_true(n->until_ms > w->v.now_ms);
        pass_time(w, n->until_ms - w->v.now_ms);
    }
    fail_msg("the Secrets do not settle");
}

static void assert_settled(struct world *w, const char *authority)
{
    for (int i = CA; i < CREDENTIALS_SECRETS; i++) {
        FREE_AUTO char *issuer = tls_bundle_issuer(w->ca[i], w->cert[i]);

        assert_int_equal(tls_bundle_count(w->ca[i]), 1);
        assert_true(tls_bundle_has(w->ca[i], authority));
        assert_non_null(issuer);
    }
}

static void the_authority_is_created_first_and_the_user_last(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    for (int i = CA; i < CREDENTIALS_SECRETS; i++) {
        assert_true(do_step(w, &n));
        assert_int_equal(n.at, i);
        assert_int_equal(n.step, i == CA ? AUTHORITY_CREATE : AUTHORITY_MAKE);
    }
    assert_false(do_step(w, &n));
    assert_true(n.settled);
    assert_settled(w, w->cert[CA]);
    lose_secret(w, CREDENTIALS_MEMBER);
    do_steps(w, &n);
    assert_true(n.settled);
    assert_settled(w, w->cert[CA]);
    free(n.bundle);
}

static void a_certificate_is_renewed_while_a_third_of_its_life_is_left(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};
    struct tls_life life = {.begin_ms = 1000 * DAY_MS, .end_ms = 1090 * DAY_MS};

    assert_int_equal(authority_renewal_ms(&life), 1060 * DAY_MS);
    settle_world(w, &n);
    pass_time(w, 59 * DAY_MS);
    assert_int_equal(do_steps(w, &n), 0);
    assert_true(n.until_ms > w->v.now_ms && n.until_ms < w->v.now_ms + 2 * DAY_MS);
    free(n.bundle);
    n.bundle = NULL;
    w->v.now_ms += 2 * DAY_MS;
    world_sync(w);
    authority_next(&w->v, &n);
    assert_int_equal(n.step, AUTHORITY_ISSUE);
    assert_int_equal(n.at, CREDENTIALS_HEAD);
    free(n.bundle);
}

static void
a_new_authority_is_trusted_by_all_before_it_issues_and_the_old_one_after_it(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    FREE_AUTO char *old = xstrdup(w->cert[CA]);
    w->v.wanted_revision = 1;
    do_steps(w, &n);
    assert_false(n.settled);
    assert_int_equal(n.until_ms, w->v.now_ms + OVERLAP_MS);
    for (int i = CA + 1; i < CREDENTIALS_SECRETS; i++) {
        FREE_AUTO char *issuer = tls_bundle_issuer(old, w->cert[i]);

        assert_int_equal(tls_bundle_count(w->ca[i]), 2);
        assert_non_null(issuer);
    }
    pass_time(w, OVERLAP_MS - 1);
    assert_int_equal(do_steps(w, &n), 0);
    settle_world(w, &n);
    assert_int_equal(w->replaced, 1);
    assert_int_equal(w->issued, 8);
    assert_false(tls_bundle_has(w->cert[CA], old));
    assert_settled(w, w->cert[CA]);
    assert_int_equal(do_steps(w, &n), 0);
    free(n.bundle);
}

static void an_old_authority_is_replaced_by_itself(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    world_sync(w);
    w->v.now_ms += 2500 * DAY_MS;
    for (int i = 0; i < 4; i++) { /* the certificates first */
        free(n.bundle);
        authority_next(&w->v, &n);
        assert_int_equal(n.step, AUTHORITY_ISSUE);
        /* Issued by a real clock, which has not moved; so the test makes them absent instead. */
        w->v.secret[n.at].cert = NULL;
    }
    free(n.bundle);
    authority_next(&w->v, &n);
    assert_int_equal(n.step, AUTHORITY_REPLACE);
    free(n.bundle);
}

static void a_lost_authority_is_replaced_and_all_trust_both(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    lose_secret(w, CA);
    do_steps(w, &n);
    assert_false(n.settled);
    assert_int_equal(w->issued, 4);
    settle_world(w, &n);
    assert_int_equal(w->issued, 8);
    assert_settled(w, w->cert[CA]);
    free(n.bundle);
}

/* The loss of the authority at each step of a change, also several times. */
static void a_change_survives_the_loss_of_the_authority_at_each_step(void **state)
{
    for (unsigned lost_at = 0; lost_at < 16; lost_at++) {
        void *inner = NULL;
        struct authority_next n = {0};

        world_open(&inner);
        struct world *w = inner;
        settle_world(w, &n);
        w->v.wanted_revision = 1;
        for (unsigned step = 0; step < lost_at; step++) {
            if (!do_step(w, &n) && n.until_ms < INT64_MAX && !n.settled)
                pass_time(w, n.until_ms - w->v.now_ms);
            check_trust(w);
        }
        lose_secret(w, CA);
        settle_world(w, &n);
        assert_settled(w, w->cert[CA]);
        assert_int_equal(w->v.revision, 1);
        free(n.bundle);
        world_close(&inner);
    }
}

static void a_lost_authority_and_a_lost_certificate_are_healed_together(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    lose_secret(w, CA);
    lose_secret(w, CREDENTIALS_MEMBER);
    /* New members have the new authority's certificate at once; the head's bundle has both. */
    while (do_step(w, &n))
        ;
    assert_int_equal(w->issued, 5);
    assert_int_equal(tls_bundle_count(w->ca[CREDENTIALS_HEAD]), 2);
    FREE_AUTO char *issuer =
        tls_bundle_issuer(w->ca[CREDENTIALS_HEAD], w->cert[CREDENTIALS_MEMBER]);
    assert_non_null(issuer);
    free(n.bundle);
}

static void a_mark_in_the_future_is_made_anew(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    w->v.wanted_revision = 1;
    do_steps(w, &n);
    w->v.trusted_ms = w->v.now_ms + DAY_MS;
    assert_true(do_step(w, &n));
    assert_int_equal(n.step, AUTHORITY_MARK_TRUSTED);
    free(n.bundle);
}

static void a_certificate_of_a_strange_authority_is_replaced_at_once(void **state)
{
    struct world *w = *state, *other;
    struct authority_next n = {0};
    void *strange = NULL;

    world_open(&strange);
    other = strange;
    settle_world(w, &n);
    settle_world(other, &n);
    free(w->cert[CREDENTIALS_HEAD]);
    w->cert[CREDENTIALS_HEAD] = xstrdup(other->cert[CREDENTIALS_HEAD]);
    assert_true(do_step(w, &n));
    assert_int_equal(n.step, AUTHORITY_ISSUE);
    assert_int_equal(n.at, CREDENTIALS_HEAD);
    world_close(&strange);
    free(n.bundle);
}

static void an_authority_that_cannot_be_read_changes_nothing(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    free_ptr(&w->cert[CA]);
    w->v.wanted_revision = 1;
    assert_int_equal(do_steps(w, &n), 0);
    assert_false(n.settled);
    free(n.bundle);
}

static void a_bundle_without_end_is_cut(void **state)
{
    struct world *w = *state;
    struct authority_next n = {0};

    settle_world(w, &n);
    for (int i = 0; i < 16; i++) {
        struct tls_ca *ca = tls_ca_create("n/x", 3650, NULL);
        FREE_AUTO char *cert = tls_ca_cert_pem(ca);
        char *joined = xasprintf("%s%s", w->ca[CA], cert);

        free(w->ca[CA]);
        w->ca[CA] = joined;
        tls_ca_destroy(ca);
    }
    settle_world(w, &n);
    assert_settled(w, w->cert[CA]);
    free(n.bundle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_open, world_close)
        WORLD_TEST(the_authority_is_created_first_and_the_user_last),
        WORLD_TEST(a_certificate_is_renewed_while_a_third_of_its_life_is_left),
        WORLD_TEST(a_new_authority_is_trusted_by_all_before_it_issues_and_the_old_one_after_it),
        WORLD_TEST(an_old_authority_is_replaced_by_itself),
        WORLD_TEST(a_lost_authority_is_replaced_and_all_trust_both),
        WORLD_TEST(a_change_survives_the_loss_of_the_authority_at_each_step),
        WORLD_TEST(a_lost_authority_and_a_lost_certificate_are_healed_together),
        WORLD_TEST(a_mark_in_the_future_is_made_anew),
        WORLD_TEST(a_certificate_of_a_strange_authority_is_replaced_at_once),
        WORLD_TEST(an_authority_that_cannot_be_read_changes_nothing),
        WORLD_TEST(a_bundle_without_end_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
