/* SPDX-License-Identifier: BSD-3-Clause */
/* Libraries whose allocations fail: the program ends with one line. */
#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "base/heap/heap.h"

#include "base/buf/test/out_of_memory.h"

#include <event2/buffer.h>
#include <jansson.h>
#include <openssl/crypto.h>

/* The sanitizer would end the program itself. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* No allocator has so much; libevent refuses more by itself. */
#define TOO_MUCH ((size_t)1 << 46)

static void json_too_long(void)
{
    json_malloc_t allocate;
    json_free_t release;

    json_get_alloc_funcs(&allocate, &release);
    release(allocate(TOO_MUCH));
}

static void event_buffer_too_long(void)
{
    struct evbuffer *b = evbuffer_new();

    (void)evbuffer_expand(b, TOO_MUCH);
    evbuffer_free(b);
}

static void crypto_too_long(void)
{
    OPENSSL_free(OPENSSL_malloc(TOO_MUCH));
}

static void crypto_grown_too_long(void)
{
    OPENSSL_free(OPENSSL_realloc(OPENSSL_malloc(1), TOO_MUCH));
}

static void hash_table_too_long(void)
{
    free(uthash_malloc(TOO_MUCH));
}

static void hash_table_without_memory(void)
{
    uthash_fatal("no memory");
}

static void jansson_without_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(json_too_long);
}

static void libevent_without_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(event_buffer_too_long);
}

static void openssl_without_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(crypto_too_long);
    assert_one_line_and_the_end(crypto_grown_too_long);
}

static void uthash_without_memory_ends_the_program_with_one_line(void **state)
{
    assert_one_line_and_the_end(hash_table_too_long);
    assert_one_line_and_the_end(hash_table_without_memory);
}

static void openssl_gets_nothing_for_no_bytes(void **state)
{
    void *p = OPENSSL_malloc(1);

    assert_null(OPENSSL_malloc(0));
    assert_non_null(p);
    assert_null(OPENSSL_realloc(p, 0)); /* p is freed: LSan would find it */
    p = OPENSSL_realloc(NULL, 1);
    assert_non_null(p);
    OPENSSL_free(p);
}

static void a_stream_on_the_heap_gives_its_text(void **state)
{
    FREE_AUTO char *text = NULL;
    size_t len;
    FILE *f = heap_stream_open(&text, &len);

    fprintf(f, "%d daemons", 3);
    heap_stream_close(f);
    assert_string_equal(text, "3 daemons");
    assert_int_equal(len, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jansson_without_memory_ends_the_program_with_one_line),
        cmocka_unit_test(libevent_without_memory_ends_the_program_with_one_line),
        cmocka_unit_test(openssl_without_memory_ends_the_program_with_one_line),
        cmocka_unit_test(uthash_without_memory_ends_the_program_with_one_line),
        cmocka_unit_test(openssl_gets_nothing_for_no_bytes),
        cmocka_unit_test(a_stream_on_the_heap_gives_its_text),
    };

    heap_guard_json();
    heap_guard_events();
    heap_guard_crypto();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
