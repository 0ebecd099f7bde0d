/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the choice of the Secret that is created next, and of the time of a renewal. */
#include "operator/reconcile/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One letter for each Secret that exists, '-' for an absent one: "CHMOU". */
static enum credentials_secret next(const char *text)
{
    bool there[CREDENTIALS_SECRETS];

    for (int i = 0; i < CREDENTIALS_SECRETS; i++)
        there[i] = text[i] != '-';
    return credentials_next(there);
}

static void a_lost_authority_issues_no_missing_certificate(void **state)
{
    assert_int_equal(next("-H---"), CREDENTIALS_LOST);
    assert_int_equal(next("-HM--"), CREDENTIALS_LOST);
    assert_int_equal(next("--MOU"), CREDENTIALS_LOST);
    /* The user's certificate is of the lost authority and would not be trusted by a new one. */
    assert_int_equal(next("----U"), CREDENTIALS_LOST);
}

static void a_complete_cluster_works_without_its_authority(void **state)
{
    assert_int_equal(next("-HMOU"), CREDENTIALS_COMPLETE);
    assert_int_equal(next("-HMO-"), CREDENTIALS_COMPLETE);
}

static void the_authority_is_created_first_and_the_user_last(void **state)
{
    assert_int_equal(next("-----"), CREDENTIALS_CA);
    assert_int_equal(next("C----"), CREDENTIALS_HEAD);
    assert_int_equal(next("CH---"), CREDENTIALS_MEMBER);
    assert_int_equal(next("CHM-U"), CREDENTIALS_OPERATOR);
    assert_int_equal(next("CHMO-"),
                     CREDENTIALS_USER); /* created by an operator that had no Secret for users */
    assert_int_equal(next("C-MOU"), CREDENTIALS_HEAD);
    assert_int_equal(next("CHMOU"), CREDENTIALS_COMPLETE);
}

static void a_certificate_is_renewed_while_a_third_of_its_life_is_left(void **state)
{
    int64_t day_ms = 86400000;
    struct tls_life life = {.begin_ms = 1000 * day_ms, .end_ms = 1090 * day_ms};

    assert_int_equal(credentials_renewal_ms(&life), 1060 * day_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_authority_issues_no_missing_certificate),
        cmocka_unit_test(a_complete_cluster_works_without_its_authority),
        cmocka_unit_test(the_authority_is_created_first_and_the_user_last),
        cmocka_unit_test(a_certificate_is_renewed_while_a_third_of_its_life_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
