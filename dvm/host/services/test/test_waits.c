/* SPDX-License-Identifier: BSD-3-Clause */
/* Which waits of jobs here are told to the head, and when. */
#include "dvm/host/services/test/fake.h"
#include "dvm/host/services/waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct bench {
    struct fake f;
    struct loop *loop;
    struct waits *waits;
    uint8_t head_speaks;
    const char *core_text; /* of a fence; NULL: none */
    const char *paused;    /* a namespace */
    unsigned nsent;
    char sent[512]; /* the last one */
    char at_head[64];
} bench;

bool core_head_speaks(const struct core *c, uint8_t n)
{
    return bench.head_speaks >= n;
}

const struct job_launch *core_job(const struct core *c, const char *nspace)
{
    return strcmp(nspace, bench.f.known->nspace) == 0 ? bench.f.known : NULL;
}

size_t core_waits(const struct core *c, void (*on)(void *arg, const struct core_wait *w), void *arg)
{
    struct core_wait w = {.kind = 'f', .id = 5, .nspace = "a.1", .text = bench.core_text};

    if (bench.core_text)
        on(arg, &w);
    return 0; /* the timer is not armed */
}

void core_job_waits(struct core *c, uint32_t from, const char *nspace, const char *text)
{
    snprintf(bench.at_head, sizeof(bench.at_head), "%u %s %s", from, nspace, text);
}

void pmix_srv_look(struct pmix_srv *p)
{
    fail();
}

void odls_each_paused(const struct odls *o, void (*on)(void *arg, const char *nspace), void *arg)
{
    if (bench.paused)
        on(arg, bench.paused);
}

static int send_message(uint32_t vpid, enum out_class traffic, uint32_t kind, const struct buf *b,
                        void *arg)
{
    struct cur c = cur_of(b->data, b->len);
    struct app_job_waits m;

    assert_int_equal(vpid, VPID_HEAD);
    assert_int_equal(kind, APP_JOB_WAITS);
    assert_int_equal(app_job_waits_decode(&c, &m), 0);
    bench.nsent++;
    snprintf(bench.sent, sizeof(bench.sent), "%s %s", m.nspace, m.text);
    app_job_waits_free(&m);
    return 0;
}

static int bench_open(void **state)
{
    bench = (struct bench){.head_speaks = 1, .loop = loop_create(NULL)};
    fake_open(&bench.f);
    bench.f.env.loop = bench.loop;
    bench.f.env.send = send_message;
    bench.waits = waits_create(&bench.f.env, NULL, fake_pmix(&bench.f), NULL, 0);
    return 0;
}

static int bench_close(void **state)
{
    waits_destroy(bench.waits);
    loop_destroy(bench.loop);
    fake_close(&bench.f);
    return 0;
}

/* One wait of the PMIx server: a collective of that kind and number. text NULL: none. */
static void look_at(char kind, uint64_t id, const char *text)
{
    struct pmix_srv_wait w = {kind, id, bench.f.known->nspace, (char *)text};

    waits_seen(bench.waits, &w, text != NULL);
}

static void look_again(const char *text)
{
    look_at('g', 1, text);
}

static void a_wait_is_told_when_three_looks_have_seen_it_and_when_it_is_over(void **state)
{
    look_again("x");
    look_again("x");
    assert_int_equal(bench.nsent, 0);
    look_again("x");
    assert_int_equal(bench.nsent, 1);
    assert_string_equal(bench.sent, "a.1 x");
    look_again(NULL);
    assert_int_equal(bench.nsent, 2);
    assert_string_equal(bench.sent, "a.1 ");
    look_again(NULL);
    assert_int_equal(bench.nsent, 2);
}

static void waits_that_do_not_last_are_not_told(void **state)
{
    for (uint64_t id = 0; id < 20; id++)
        look_at('f', id / 2, "x"); /* as of fences in a loop */
    look_again(NULL);
    look_at('f', 20, "x");
    look_at('f', 20, "x");
    look_again(NULL);
    assert_int_equal(bench.nsent, 0);
}

static void a_wait_whose_text_changes_is_told_with_each_one_and_not_taken_back(void **state)
{
    look_again("ranks 1-3");
    look_again("ranks 2-3");
    look_again("ranks 2-3");
    assert_int_equal(bench.nsent, 1);
    assert_string_equal(bench.sent, "a.1 ranks 2-3");
    look_again("rank 3");
    assert_int_equal(bench.nsent, 2);
    assert_string_equal(bench.sent, "a.1 rank 3");
    look_again("rank 3");
    assert_int_equal(bench.nsent, 2);
}

static void the_library_knows_more_of_a_collective_than_the_core(void **state)
{
    bench.core_text = "core";
    for (int i = 0; i < 3; i++)
        look_at('f', 1, "library");
    assert_int_equal(bench.nsent, 1);
    assert_string_equal(bench.sent, "a.1 library");
    look_at('c', 2, "another kind");
    look_at('c', 2, "another kind");
    look_at('c', 2, "another kind");
    assert_string_equal(bench.sent, "a.1 another kind");
}

static void a_wait_that_lasts_is_repeated_now_and_then(void **state)
{
    for (int i = 0; i < 15; i++)
        look_again("x");
    assert_int_equal(bench.nsent, 3);
}

static void a_wait_stays_while_it_is_among_those_that_are_found(void **state)
{
    bench.core_text = "core";
    look_again(NULL);
    look_again("x"); /* would be the first one */
    look_again("x");
    assert_string_equal(bench.sent, "a.1 core");
    bench.core_text = NULL;
    look_again("x");
    assert_string_equal(bench.sent, "a.1 ");
    look_again("x");
    look_again("x");
    assert_string_equal(bench.sent, "a.1 x");
}

static void output_that_nobody_reads_is_a_wait(void **state)
{
    bench.paused = "a.1";
    for (int i = 0; i < 3; i++)
        look_again(NULL);
    assert_string_equal(bench.sent, "a.1 output: its reader is slower than the job");
}

static void a_job_that_is_not_here_is_not_told(void **state)
{
    bench.paused = "a.2";
    for (int i = 0; i < 3; i++)
        look_again(NULL);
    assert_int_equal(bench.nsent, 0);
}

static void a_long_text_is_cut(void **state)
{
    char text[1000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 3; i++)
        look_again(text);
    assert_int_equal(bench.nsent, 1);
    assert_int_equal(strlen(bench.sent), strlen("a.1 ") + 255);
}

static void a_head_of_edition_0_is_told_nothing(void **state)
{
    bench.head_speaks = 0;
    for (int i = 0; i < 3; i++)
        look_again("x");
    look_again(NULL);
    assert_int_equal(bench.nsent, 0);
}

static void the_head_hands_it_to_the_core_with_its_sender(void **state)
{
    struct app_job_waits m = {.nspace = bench.f.known->nspace, .text = bench.f.known->nspace};
    struct app_table t = {0};
    BUF_AUTO struct buf b = {0};

    waits_handle(bench.waits, &t);
    app_job_waits_encode(&b, &m);
    app_table_dispatch(&t, 3, APP_JOB_WAITS, b.data, b.len - 1);
    assert_string_equal(bench.at_head, "");
    app_table_dispatch(&t, 3, APP_JOB_WAITS, b.data, b.len);
    assert_string_equal(bench.at_head, "3 a.1 a.1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_is_told_when_three_looks_have_seen_it_and_when_it_is_over),
        TEST(waits_that_do_not_last_are_not_told),
        TEST(a_wait_that_lasts_is_repeated_now_and_then),
        TEST(a_wait_whose_text_changes_is_told_with_each_one_and_not_taken_back),
        TEST(the_library_knows_more_of_a_collective_than_the_core),
        TEST(a_wait_stays_while_it_is_among_those_that_are_found),
        TEST(output_that_nobody_reads_is_a_wait),
        TEST(a_job_that_is_not_here_is_not_told),
        TEST(a_long_text_is_cut),
        TEST(a_head_of_edition_0_is_told_nothing),
        TEST(the_head_hands_it_to_the_core_with_its_sender),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
