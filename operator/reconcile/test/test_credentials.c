/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of which Secrets are made, by which are there. */
#include "operator/reconcile/credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* "CHMOU", a '-' for what is absent. */
static enum credentials_secret next(const char *text)
{
    bool there[CREDENTIALS_SECRETS];

    for (int i = 0; i < CREDENTIALS_SECRETS; i++)
        there[i] = text[i] != '-';
    return credentials_next(there);
}

static void without_the_authority_nothing_is_added_to_what_it_has_issued(void **state)
{
    assert_int_equal(next("-H---"), CREDENTIALS_LOST);
    assert_int_equal(next("-HM--"), CREDENTIALS_LOST);
    assert_int_equal(next("--MOU"), CREDENTIALS_LOST);
    /* A user's certificate of an old authority would not fit a new one. */
    assert_int_equal(next("----U"), CREDENTIALS_LOST);
}

static void a_cluster_that_works_goes_on_without_its_authority(void **state)
{
    assert_int_equal(next("-HMOU"), CREDENTIALS_COMPLETE);
    assert_int_equal(next("-HMO-"), CREDENTIALS_COMPLETE);
}

static void the_authority_comes_first_and_the_user_last(void **state)
{
    assert_int_equal(next("-----"), CREDENTIALS_CA);
    assert_int_equal(next("C----"), CREDENTIALS_HEAD);
    assert_int_equal(next("CH---"), CREDENTIALS_MEMBER);
    assert_int_equal(next("CHM-U"), CREDENTIALS_OPERATOR);
    assert_int_equal(next("CHMO-"), CREDENTIALS_USER); /* of an operator before there was one */
    assert_int_equal(next("C-MOU"), CREDENTIALS_HEAD);
    assert_int_equal(next("CHMOU"), CREDENTIALS_COMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_authority_nothing_is_added_to_what_it_has_issued),
        cmocka_unit_test(a_cluster_that_works_goes_on_without_its_authority),
        cmocka_unit_test(the_authority_comes_first_and_the_user_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
