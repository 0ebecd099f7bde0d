/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeds that once found a mistake in the core, and the same trace for the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dvm/sim/script.h"

#include <stdio.h>
#include <string.h>

static void run(uint64_t seed, unsigned generation)
{
    struct script_opts o = {.seed = seed, .generation = generation};
    struct script_result r;

    memset(&r, 0, sizeof(r));
    script_run(&o, &r);
    if (*r.name)
        printf("seed %llu: %s: %s\n", (unsigned long long)seed, r.name, r.text);
    assert_string_equal(r.name, "");
}

static void seeds_that_once_failed_pass(void **state)
{
    static const struct {
        unsigned generation;
        uint64_t seed;
    } seeds[] = {
        {1, 4},     /* two draining shrinks of the same daemon waited for each other */
        {1, 1240},  /* a job that never fits waited forever if no member was there when it came */
        {1, 1605},  /* refused by its parent, a daemon with an old table never asked the head */
        {1, 1142},  /* refused by its parent and linked to the head, a daemon stopped trying */
        {1, 1218},  /* the loss of the only joiner ended its batch; the next one began in the same
                       event */
        {1, 1395},  /* who caught up by a snapshot did not pass on what it had skipped */
        {1, 77600}, /* on its way to a new parent, a daemon gave a child up and was heard when it
                       was back */
    };

    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
        run(seeds[i].seed, seeds[i].generation);
}

static void the_same_seed_gives_the_same_run(void **state)
{
    struct script_opts o = {.seed = 77};
    struct script_result a, b;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    script_run(&o, &a);
    script_run(&o, &b);
    assert_memory_equal(&a, &b, sizeof(a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_that_once_failed_pass),
        cmocka_unit_test(the_same_seed_gives_the_same_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
