/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked with every test program of build/mutant: the environment names the mutant (DVM_MUTANT) and
 * the tests to run (DVM_TEST, with * and ?). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/sim/mutant.h"

#include <stdio.h>
#include <stdlib.h>

static void __attribute__((constructor)) choose(void)
{
    const char *tests = getenv("DVM_TEST");
    struct err err = {0};

    if (mutant_choose(getenv("DVM_MUTANT"), &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        exit(2);
    }
    if (tests)
        cmocka_set_test_filter(tests);
}
