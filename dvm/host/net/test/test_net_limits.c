/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of the join port and of the local socket, as docs/security.md states them. */
#include "base/door/test/crowd.h"
#include "base/loop/test/clock.h"
#include "base/tls/test/pki.h"
#include "dvm/host/net/test/net_fixture.h"

#define FILES 18000 /* enough for every number of the page */

struct world {
    struct pki red;
    struct tls_ctx *head;
    unsigned files;
    struct fix f;
    struct crowd crowd;
    union crowd_addr join, local;
};

static int set_up(void **state)
{
    static const char *const names[] = {"127.0.0.1", NULL};
    struct world *w = xcalloc(1, sizeof(*w));

    pki_init(&w->red, "red");
    pki_issue(&w->red, "head", "x-head-0", names, 5);
    w->head = pki_ctx(&w->red, "x-head-0", &w->red);
    w->files = crowd_limit_files(FILES);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)crowd_limit_files(w->files);
    tls_ctx_destroy(w->head);
    pki_fini(&w->red);
    free(w);
    return 0;
}

static struct world *start_server(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    uint16_t port = 0;

    crowd_forget_doors();
    fix_init(&w->f, w->head, w->head);
    assert_int_equal(net_listen_tls(w->f.srv.net, "127.0.0.1", &port, &err), 0);
    assert_int_equal(net_listen_local(w->f.srv.net, w->f.path, &err), 0);
    w->join = crowd_at_port(port);
    w->local = crowd_at_path(w->f.path);
    w->crowd.loop = w->f.loop;
    return w;
}

static void stop_server(struct world *w)
{
    crowd_leave(&w->crowd);
    fix_fini(&w->f);
}

static void a_source_has_768_strangers_at_the_join_port_and_all_have_1024(void **state)
{
    struct world *w = start_server(state);

    crowd_connect(&w->crowd, &w->join, "127.0.0.1", 768);
    assert_int_equal(crowd_open(&w->crowd, 0), 768);
    crowd_connect(&w->crowd, &w->join, "127.0.0.1", 1);
    assert_int_equal(crowd_open(&w->crowd, 0), 768);
    crowd_connect(&w->crowd, &w->join, "127.0.0.2", 256);
    assert_int_equal(crowd_open(&w->crowd, 0), 1024);
    crowd_connect(&w->crowd, &w->join, "127.0.0.3", 1);
    assert_int_equal(crowd_open(&w->crowd, 0), 1024);
    stop_server(w);
}

static void a_stranger_at_the_join_port_has_5_s(void **state)
{
    struct world *w = start_server(state);

    crowd_connect(&w->crowd, &w->join, NULL, 1);
    clock_run_for(w->f.loop, 4999);
    assert_int_equal(crowd_open(&w->crowd, 0), 1);
    clock_run_for(w->f.loop, 1);
    assert_int_equal(crowd_open(&w->crowd, 0), 0);
    stop_server(w);
}

static void a_stranger_at_a_full_join_port_has_2_s(void **state)
{
    struct world *w = start_server(state);

    crowd_connect(&w->crowd, &w->join, NULL, 768);
    clock_run_for(w->f.loop, 1999);
    assert_int_equal(crowd_open(&w->crowd, 0), 768);
    clock_run_for(w->f.loop, 1);
    assert_int_equal(crowd_open(&w->crowd, 0), 767);
    clock_run_for(w->f.loop, 2999); /* it is not full any more */
    assert_int_equal(crowd_open(&w->crowd, 0), 767);
    clock_run_for(w->f.loop, 1);
    assert_int_equal(crowd_open(&w->crowd, 0), 0);
    stop_server(w);
}

static void the_local_socket_has_4096_connections_beside_strangers_at_the_join_port(void **state)
{
    struct world *w = start_server(state);

    crowd_connect(&w->crowd, &w->local, NULL, 4097);
    assert_int_equal(crowd_open(&w->crowd, 0), 4096);
    assert_int_equal(w->f.srv.opened, 4096);
    crowd_connect(&w->crowd, &w->join, NULL, 1);
    assert_int_equal(crowd_open(&w->crowd, 4097), 1);
    stop_server(w);
}

static void a_turn_accepts_32_connections_of_a_port(void **state)
{
    struct world *w = start_server(state);
    size_t before;

    crowd_call(&w->crowd, &w->join, NULL, 100);
    before = crowd_open_files();
    clock_turn(w->f.loop);
    assert_int_equal(crowd_open_files() - before, 32);
    clock_turn(w->f.loop);
    assert_int_equal(crowd_open_files() - before, 64);
    stop_server(w);
}

/* A stranger gets 10 % of the open files, a peer 30 %, a process of this host 25 %. */
static void budgets_are_shares_of_a_low_limit_of_open_files(void **state)
{
    static const struct {
        unsigned files, strangers, per_source, peers, local;
    } rows[] = {{FILES, 1024, 768, 4096, 4096}, {1000, 100, 768, 300, 250}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned former = crowd_limit_files(rows[i].files);
        struct world *w = start_server(state);

        assert_int_equal(crowd_budget(0, DOOR_STRANGER).max, rows[i].strangers);
        assert_int_equal(crowd_budget(0, DOOR_STRANGER).per_source, rows[i].per_source);
        assert_int_equal(crowd_budget(0, DOOR_KNOWN).max, rows[i].peers);
        assert_int_equal(crowd_budget(0, DOOR_KNOWN).idle_ms, 0);
        assert_int_equal(crowd_budget(1, DOOR_KNOWN).max, rows[i].local);
        stop_server(w);
        (void)crowd_limit_files(former);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_has_768_strangers_at_the_join_port_and_all_have_1024),
        cmocka_unit_test(a_stranger_at_the_join_port_has_5_s),
        cmocka_unit_test(a_stranger_at_a_full_join_port_has_2_s),
        cmocka_unit_test(the_local_socket_has_4096_connections_beside_strangers_at_the_join_port),
        cmocka_unit_test(a_turn_accepts_32_connections_of_a_port),
        cmocka_unit_test(budgets_are_shares_of_a_low_limit_of_open_files),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
