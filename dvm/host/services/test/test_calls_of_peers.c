/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon with several addresses is called by one after the other, and the core learns which. */
#include "dvm/host/net/test/net_certs.h"
#include "dvm/host/net/test/net_fixture.h"
#include "dvm/host/services/peers.h"

#include <arpa/inet.h>
#include <sys/socket.h>

struct world {
    struct fix f;
    struct certs *certs;
    struct net *net; /* of the member that calls */
    struct core *core;
    struct peers *peers;
    uint64_t conn; /* by which the core calls the head */
    char why[128]; /* why the core could not */
    bool hello;
    int silent; /* a port that accepts no TLS */
    uint16_t port;
};

static void on_open(uint64_t conn, bool incoming, const struct tls_peer *peer, void *arg)
{
    struct world *w = arg;

    peers_opened(w->peers, conn, incoming, peer);
    loop_stop(w->f.loop);
}

static void on_frame(uint64_t conn, const uint8_t *data, size_t len, void *arg)
{
}

static void on_closed(uint64_t conn, const char *why, void *arg)
{
    struct world *w = arg;

    peers_closed(w->peers, conn, why);
    loop_stop(w->f.loop);
}

static void on_drained(uint64_t conn, void *arg)
{
}

/* Carries out what the core wants, but no connection. */
static void drain(struct world *w)
{
    struct out_act act;

    while (core_next(w->core, &act)) {
        if (act.kind == OUT_CONNECT)
            w->conn = act.connect.conn;
        if (act.kind == OUT_SEND) {
            w->hello = true;
            peers_send(w->peers, act.send.conn, act.send.frame.data, act.send.frame.len);
        }
        if (act.kind == OUT_CLOSE)
            peers_close(w->peers, act.close.conn, act.close.flush);
        if (act.kind == OUT_STATE)
            snprintf(w->why, sizeof(w->why), "%s", core_state_text(w->core));
        out_act_free(&act);
    }
    snprintf(w->why, sizeof(w->why), "%s", core_state_text(w->core));
}

/* Both have the port of the server: one at 127.0.0.1, this one at 127.0.0.3. */
static int open_silent(uint16_t port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(inet_pton(AF_INET, "127.0.0.3", &in.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void begin(struct world *w, struct certs *certs)
{
    static const struct net_upcalls up = {on_open, on_frame, on_closed, on_drained};
    struct core_opts o = {.vpid = 1, .cluster = "red", .head_host = "h", .head_port = 1};

    memset(w, 0, sizeof(*w));
    w->certs = certs;
    fix_init(&w->f, certs->head, certs->member);
    assert_int_equal(net_listen_tls(w->f.srv.net, "127.0.0.1", &w->port, NULL), 0);
    w->silent = open_silent(w->port);
    w->net = net_create(w->f.loop, certs->member, &up, w, NULL);
    w->core = core_create(&o, 1000, 1000);
    w->peers = peers_create(w->f.loop, w->net, w->core);
    core_tick(w->core);
    drain(w);
    assert_int_not_equal(w->conn, 0);
}

static void end(struct world *w)
{
    peers_destroy(w->peers);
    core_destroy(w->core);
    net_destroy(w->net);
    close(w->silent);
    fix_fini(&w->f);
}

static void call_at(struct world *w, const char *const *hosts, size_t n)
{
    struct out_connect to = {.conn = w->conn, .nways = n};

    for (size_t i = 0; i < n; i++)
        to.ways[i] = (struct out_way){.index = i, .host = (char *)hosts[i], .port = w->port};
    peers_connect(w->peers, &to);
}

static void run_until_known(struct world *w)
{
    char before[128];

    drain(w);
    snprintf(before, sizeof(before), "%s", w->why);
    while (!w->hello && strcmp(before, w->why) == 0) {
        assert_int_equal(loop_run(w->f.loop, NULL), 0);
        drain(w);
    }
}

static void the_next_address_is_called_while_the_first_does_not_answer(void **state)
{
    static const char *const hosts[] = {"127.0.0.3", "127.0.0.1"};
    struct world w;

    begin(&w, *state);
    call_at(&w, hosts, 2);
    run_until_known(&w);
    assert_true(w.hello);
    RUN_UNTIL(&w.f, w.f.srv.frames == 1); /* HELLO has come */
    end(&w);
}

static void the_next_address_is_called_at_once_when_the_first_refuses(void **state)
{
    static const char *const hosts[] = {"127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.1"};
    struct world w;

    begin(&w, *state);
    call_at(&w, hosts, 4);
    run_until_known(&w);
    assert_true(w.hello);
    end(&w);
}

static void when_all_addresses_have_failed_the_core_learns_why_once(void **state)
{
    static const char *const hosts[] = {"127.0.0.4", "127.0.0.5"};
    struct world w;

    begin(&w, *state);
    call_at(&w, hosts, 2);
    run_until_known(&w);
    assert_false(w.hello);
    assert_non_null(strstr(w.why, "127.0.0.5"));
    assert_non_null(strstr(w.why, "refused"));
    end(&w);
}

static void a_call_that_is_taken_back_ends_its_attempts(void **state)
{
    static const char *const hosts[] = {"127.0.0.3", "127.0.0.1"};
    struct world w;

    begin(&w, *state);
    call_at(&w, hosts, 2);
    peers_close(w.peers, w.conn, false);
    fix_run_for(&w.f, 400);
    assert_int_equal(w.f.srv.opened, 0);
    call_at(&w, hosts, 2); /* and one that is under way at the end leaves nothing */
    end(&w);
}

static int set_up(void **state)
{
    static const char *const names[] = {"127.0.0.1", NULL};

    *state = certs_create(names, "member");
    return 0;
}

static int tear_down(void **state)
{
    certs_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_all_addresses_have_failed_the_core_learns_why_once),
        cmocka_unit_test(a_call_that_is_taken_back_ends_its_attempts),
        cmocka_unit_test(the_next_address_is_called_while_the_first_does_not_answer),
        cmocka_unit_test(the_next_address_is_called_at_once_when_the_first_refuses),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
