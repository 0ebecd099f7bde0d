/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of the plain port and of the control port, as docs/security.md states them. */
#include "dvm/host/ctl/ctl.h"

#include "base/buf/buf.h"
#include "base/door/test/crowd.h"
#include "base/loop/test/clock.h"
#include "base/tls/test/pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FILES 18000 /* enough for every number of the page */

enum { CONTROL, PLAIN, PORTS }; /* in the order in which their doors are created */

struct world {
    struct pki red;
    struct tls_ctx *tls;
    unsigned files;
    struct loop *loop;
    struct core *core;
    struct ctl *ctl;
    struct crowd crowd;
    union crowd_addr port[PORTS];
};

static void ignore_drain(void *arg)
{
}

static struct world *start_servers(void **state, unsigned files)
{
    static const char *const names[] = {"127.0.0.1", NULL};
    struct world *w = xcalloc(1, sizeof(*w));
    struct core_opts co = {.cluster = "red",
                           .host = "here",
                           .address = "",
                           .join_port = 1,
                           .head_host = "127.0.0.1",
                           .head_port = 1,
                           .radix = 2,
                           .incarnation = 0x5f3a};
    struct ctl_opts opts = {
        .control_addr = "127.0.0.1", .plain_addr = "127.0.0.1", .drain = ignore_drain};

    *state = w;
    w->files = crowd_limit_files(files);
    crowd_forget_doors();
    pki_init(&w->red, "red");
    pki_issue(&w->red, "head", "x-head-0", names, 5);
    w->tls = opts.tls = pki_ctx(&w->red, "x-head-0", &w->red);
    w->loop = w->crowd.loop = loop_create(NULL);
    w->core = core_create(&co, loop_now_ms(w->loop), loop_wall_ms());
    w->ctl = ctl_create(w->loop, w->core, &opts, NULL);
    assert_non_null(w->ctl);
    w->port[CONTROL] = crowd_at_port(ctl_control_port(w->ctl));
    w->port[PLAIN] = crowd_at_port(ctl_plain_port(w->ctl));
    return w;
}

static int set_up(void **state)
{
    (void)start_servers(state, FILES);
    return 0;
}

static int set_up_few_files(void **state)
{
    (void)start_servers(state, 1000);
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    crowd_leave(&w->crowd);
    ctl_destroy(w->ctl);
    core_destroy(w->core);
    loop_destroy(w->loop);
    tls_ctx_destroy(w->tls);
    pki_fini(&w->red);
    (void)crowd_limit_files(w->files);
    free(w);
    return 0;
}

static void a_source_has_128_strangers_at_each_port_and_all_have_256(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < PORTS; i++) {
        size_t first = w->crowd.n;

        crowd_connect(&w->crowd, &w->port[i], "127.0.0.1", 128);
        assert_int_equal(crowd_open(&w->crowd, first), 128);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.1", 1);
        assert_int_equal(crowd_open(&w->crowd, first), 128);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.2", 128);
        assert_int_equal(crowd_open(&w->crowd, first), 256);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.3", 1);
        assert_int_equal(crowd_open(&w->crowd, first), 256);
    }
}

/* The server sweeps when a connection has come. */
static void a_stranger_has_5_s_for_its_request(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < PORTS; i++) {
        size_t first = w->crowd.n;

        crowd_connect(&w->crowd, &w->port[i], NULL, 1);
        clock_run_for(w->loop, 4999);
        crowd_connect(&w->crowd, &w->port[i], NULL, 1);
        assert_int_equal(crowd_open(&w->crowd, first), 2);
        clock_run_for(w->loop, 1);
        crowd_connect(&w->crowd, &w->port[i], NULL, 1);
        assert_int_equal(crowd_open(&w->crowd, first), 2);
        assert_int_equal(crowd_open(&w->crowd, first + 1), 2);
    }
}

static void a_stranger_at_a_full_port_has_1_s(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < PORTS; i++) {
        size_t first = w->crowd.n;

        crowd_connect(&w->crowd, &w->port[i], "127.0.0.1", 95);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.2", 95);
        clock_run_for(w->loop, 999);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.3", 2);
        assert_int_equal(crowd_open(&w->crowd, first), 192);
        clock_run_for(w->loop, 1);
        crowd_connect(&w->crowd, &w->port[i], "127.0.0.3", 1);
        assert_int_equal(crowd_open(&w->crowd, first), 191); /* it is not full any more */
    }
}

static void a_turn_accepts_32_connections_of_a_port(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < PORTS; i++) {
        size_t before;

        crowd_call(&w->crowd, &w->port[i], NULL, 100);
        before = crowd_open_files();
        clock_turn(w->loop);
        assert_int_equal(crowd_open_files() - before, 32);
        crowd_leave(&w->crowd);
    }
}

static void a_connection_with_a_certificate_waits_60_s_for_its_next_request(void **state)
{
    const struct door_budget with = crowd_budget(CONTROL, DOOR_KNOWN);

    assert_int_equal(with.max, 512);
    assert_int_equal(with.per_source, 256);
    assert_int_equal(with.idle_ms, 60000);
    assert_int_equal(with.hurry_ms, 60000);
}

/* 5 % of the open files at the control port, 3 % at the plain one. */
static void budgets_are_shares_of_a_low_limit_of_open_files(void **state)
{
    assert_int_equal(crowd_budget(CONTROL, DOOR_STRANGER).max, 50);
    assert_int_equal(crowd_budget(CONTROL, DOOR_STRANGER).per_source, 25);
    assert_int_equal(crowd_budget(CONTROL, DOOR_KNOWN).max, 50);
    assert_int_equal(crowd_budget(PLAIN, DOOR_STRANGER).max, 30);
    assert_int_equal(crowd_budget(PLAIN, DOOR_STRANGER).per_source, 15);
}

#define LIMIT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LIMIT_TEST(a_source_has_128_strangers_at_each_port_and_all_have_256),
        LIMIT_TEST(a_stranger_has_5_s_for_its_request),
        LIMIT_TEST(a_stranger_at_a_full_port_has_1_s),
        LIMIT_TEST(a_turn_accepts_32_connections_of_a_port),
        LIMIT_TEST(a_connection_with_a_certificate_waits_60_s_for_its_next_request),
        cmocka_unit_test_setup_teardown(budgets_are_shares_of_a_low_limit_of_open_files,
                                        set_up_few_files, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
