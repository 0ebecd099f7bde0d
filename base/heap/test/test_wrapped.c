/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that the linker puts in the place of the C library's, as in prted. What they do
 * when memory runs out is tested with a real daemon (dvm/test/memory.bats). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sanitizer would end the program itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* No allocator has so much; volatile, or the compiler refuses it. */
static volatile size_t too_much = (size_t)1 << 46;

static void a_request_that_no_program_needs_fails_and_the_program_goes_on(void **state)
{
    void *p = malloc(8);
    void *q = realloc(p, too_much);

    assert_null(q);
    free(q ? q : p);
    assert_null(malloc(too_much));
    assert_null(calloc(too_much, 1));
    assert_null(calloc(too_much, too_much));
}

static void no_bytes_are_no_failure(void **state)
{
    free(malloc(0));
    free(calloc(0, 8));
}

static void texts_are_those_of_the_c_library(void **state)
{
    char *copy = strdup("vpid 3");
    char *text;

    assert_string_equal(copy, "vpid 3");
    assert_int_equal(asprintf(&text, "%s of %d", copy, 4), 11);
    assert_string_equal(text, "vpid 3 of 4");
    free(copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_that_no_program_needs_fails_and_the_program_goes_on),
        cmocka_unit_test(no_bytes_are_no_failure),
        cmocka_unit_test(texts_are_those_of_the_c_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
