/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of daemons: with slow, silent and changing name servers. */
#include "dvm/host/net/net_private.h"
#include "dvm/host/net/resolv.h"
#include "dvm/host/net/test/net_certs.h"
#include "dvm/host/net/test/net_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>

#define SERVICE "x-head.ns.svc"
#define SERVICE_FULL SERVICE ".example.test"
#define FIRST "127.0.0.1"
#define SECOND "127.0.0.2"
#define DIAL_MS 10000
#define STAGGER_MS 20
/* libevent waits 3000 ms for the second answer of a query for both families. */
#define SOON_MS 2500
#define ASKED_MAX 64

static const char resolv_text[] = "search ns.svc.example.test svc.example.test example.test "
                                  "upstream.test\nnameserver 127.0.0.1:%u\noptions ndots:5\n";

/* A name server on loopback, and the daemons of a test. */
struct names {
    struct fix f;
    struct end other; /* a second server */
    struct certs *certs;
    int fd;
    struct evdns_server_port *port;
    const char *name;    /* the one that exists */
    const char *address; /* its A record */
    bool silent, no_aaaa;
    char conf[96];
    char asked[ASKED_MAX][128];
    int nasked, na, naaaa;
    uint16_t join;
};

static int set_up(void **state)
{
    static const char *const names[] = {SERVICE, "daemon", NULL};

    *state = certs_create(names, "head");
    return 0;
}

static int tear_down(void **state)
{
    certs_destroy(*state);
    return 0;
}

static void answer_a(struct names *s, struct evdns_server_request *req, const char *name)
{
    struct in_addr in;

    s->na++;
    assert_int_equal(inet_pton(AF_INET, s->address, &in), 1);
    evdns_server_request_add_a_reply(req, name, 1, &in, 1);
    evdns_server_request_respond(req, DNS_ERR_NONE);
}

static void on_query(struct evdns_server_request *req, void *arg)
{
    struct names *s = arg;
    const struct evdns_server_question *q = req->questions[0];
    bool aaaa = q->type == EVDNS_TYPE_AAAA;

    s->naaaa += aaaa;
    if (s->nasked < ASKED_MAX)
        snprintf(s->asked[s->nasked++], sizeof(s->asked[0]), "%s", q->name);
    if (s->silent || (aaaa && s->no_aaaa))
        evdns_server_request_drop(req);
    else if (strcasecmp(q->name, s->name) != 0)
        evdns_server_request_respond(req, DNS_ERR_NOTEXIST);
    else if (aaaa)
        evdns_server_request_respond(req, DNS_ERR_NONE);
    else
        answer_a(s, req, q->name);
}

static void start_name_server(struct names *s)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    FILE *f;

    s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&in, sizeof(in)), 0);
    getsockname(s->fd, (struct sockaddr *)&in, &len);
    s->port = evdns_add_server_port_with_base(loop_base(s->f.loop), s->fd, 0, on_query, s);
    snprintf(s->conf, sizeof(s->conf), "%s/resolv.conf", s->f.dir);
    f = fopen(s->conf, "w");
    assert_non_null(f);
    fprintf(f, resolv_text, ntohs(in.sin_port));
    assert_int_equal(fclose(f), 0);
}

static void listen_at(struct names *s, struct end *e, const char *address)
{
    struct err err = {0};

    assert_int_equal(net_listen_tls(e->net, address, &s->join, &err), 0);
}

/* A name server, a daemon at FIRST with the name SERVICE, and a client with addresses of both
 * families. */
static void start_names(struct names *s, struct certs *c)
{
    memset(s, 0, sizeof(*s));
    s->certs = c;
    s->name = SERVICE_FULL;
    s->address = FIRST;
    fix_init(&s->f, c->head, c->member);
    fix_end_init(&s->f, &s->other, c->head);
    start_name_server(s);
    s->f.cli.net->resolv_conf = s->conf;
    s->f.cli.net->families = RESOLV_BOTH;
    listen_at(s, &s->f.srv, FIRST);
}

static void stop_names(struct names *s)
{
    net_destroy(s->f.cli.net);
    s->f.cli.net = NULL;
    net_destroy(s->other.net);
    buf_free(&s->other.data);
    evdns_close_server_port(s->port);
    close(s->fd);
    unlink(s->conf);
    fix_fini(&s->f);
}

static void end_server(struct names *s)
{
    net_destroy(s->f.srv.net);
    s->f.srv.net = NULL;
}

static void start_server_again(struct names *s, struct tls_ctx *tls)
{
    buf_free(&s->f.srv.data);
    memset(&s->f.srv, 0, sizeof(s->f.srv));
    fix_end_init(&s->f, &s->f.srv, tls);
    listen_at(s, &s->f.srv, FIRST);
}

/* Milliseconds until the connection is open. */
static uint64_t dial_name(struct names *s, const char *name)
{
    struct end *cli = &s->f.cli;
    uint64_t start_ms = loop_now_ms(s->f.loop);
    int opened = cli->opened;

    cli->why[0] = '\0';
    cli->closed = 0;
    CALL(&s->f, net_connect_tls(cli->net, name, s->join, DIAL_MS));
    RUN_UNTIL(&s->f, cli->opened > opened || cli->closed);
    assert_string_equal(cli->why, "");
    return loop_now_ms(s->f.loop) - start_ms;
}

static const char *dial_in_vain(struct names *s, uint64_t timeout_ms)
{
    struct end *cli = &s->f.cli;

    cli->closed = 0;
    CALL(&s->f, net_connect_tls(cli->net, SERVICE, s->join, timeout_ms));
    RUN_UNTIL(&s->f, cli->closed);
    return cli->why;
}

static void break_connection(struct names *s)
{
    CALL(&s->f, net_close(s->f.cli.net, s->f.cli.conn, false));
    RUN_UNTIL(&s->f, s->f.srv.closed || s->other.closed);
    s->f.srv.closed = s->other.closed = 0;
}

static void an_a_answer_is_used_before_the_aaaa_answer_has_come(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.no_aaaa = true;
    assert_in_range(dial_name(&s, SERVICE), 0, SOON_MS);
    assert_true(s.naaaa > 0);
    stop_names(&s);
}

static void only_families_of_the_host_are_asked_for(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.f.cli.net->families = RESOLV_V4;
    dial_name(&s, SERVICE);
    assert_int_equal(s.naaaa, 0);
    stop_names(&s);
}

static void the_name_of_a_service_is_asked_for_in_its_absolute_form(void **state)
{
    struct names s;

    start_names(&s, *state);
    dial_name(&s, SERVICE);
    assert_true(s.nasked > 0);
    for (int i = 0; i < s.nasked; i++)
        assert_true(strcasecmp(s.asked[i], SERVICE_FULL) == 0);
    stop_names(&s);
}

static void a_name_with_a_dot_at_its_end_is_asked_for_as_it_is(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.name = SERVICE;
    dial_name(&s, SERVICE "."); /* the certificate has the name without the dot */
    for (int i = 0; i < s.nasked; i++)
        assert_true(strcasecmp(s.asked[i], SERVICE) == 0);
    stop_names(&s);
}

static void another_name_is_completed_by_the_search_list(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.name = "daemon.example.test";
    dial_name(&s, "daemon");
    assert_true(strcasecmp(s.asked[0], "daemon.ns.svc.example.test") == 0);
    stop_names(&s);
}

static void a_reconnect_needs_no_name_server(void **state)
{
    struct names s;
    int asked;

    start_names(&s, *state);
    dial_name(&s, SERVICE);
    s.silent = true;
    asked = s.nasked;
    for (int i = 0; i < 3; i++) {
        break_connection(&s);
        assert_in_range(dial_name(&s, SERVICE), 0, SOON_MS);
    }
    assert_true(s.nasked <= asked + 2); /* at most the AAAA query that was under way, again */
    stop_names(&s);
}

static void an_address_that_has_changed_is_found(void **state)
{
    struct names s;

    start_names(&s, *state);
    dial_name(&s, SERVICE);
    break_connection(&s);
    end_server(&s);
    listen_at(&s, &s.other, SECOND);
    s.address = SECOND;
    dial_name(&s, SERVICE);
    RUN_UNTIL(&s.f, s.other.opened);
    break_connection(&s);
    s.silent = true; /* the new address is the good one now */
    assert_in_range(dial_name(&s, SERVICE), 0, SOON_MS);
    stop_names(&s);
}

/* A socket whose backlog is full: further SYNs get no answer, as from an address without a host. */
static void fill_backlog(const struct names *s, int fds[4])
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(s->join)};
    const int one = 1;

    inet_pton(AF_INET, FIRST, &in.sin_addr);
    for (int i = 0; i < 4; i++)
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (i ? SOCK_NONBLOCK : 0), 0);
    setsockopt(fds[0], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    assert_int_equal(bind(fds[0], (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fds[0], 0), 0);
    for (int i = 1; i < 4; i++) {
        int rc = connect(fds[i], (struct sockaddr *)&in, sizeof(in));

        assert_true(rc == 0 || errno == EINPROGRESS);
    }
}

static void an_address_that_has_no_host_any_more_delays_by_the_stagger(void **state)
{
    struct names s;
    int fds[4];

    start_names(&s, *state);
    assert_int_equal(s.f.cli.net->stagger_ms, 250);
    s.f.cli.net->stagger_ms = STAGGER_MS;
    dial_name(&s, SERVICE);
    break_connection(&s);
    end_server(&s);
    fill_backlog(&s, fds);
    listen_at(&s, &s.other, SECOND);
    s.address = SECOND;
    s.no_aaaa = true;
    assert_in_range(dial_name(&s, SERVICE), STAGGER_MS, SOON_MS);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    stop_names(&s);
}

/* Sockets of this network that wait for an answer of that port. */
static int count_calls(uint16_t port)
{
    char line[512], *at;
    int n = 0;
    FILE *f = fopen("/proc/self/net/tcp", "r");

    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        at = line; /* number: address:port address:port state */
        for (int i = 0; i < 3 && at; i++)
            at = strchr(at + 1, ':');
        if (at && strtoul(at + 1, &at, 16) == port)
            n += strtoul(at, NULL, 16) == TCP_SYN_SENT;
    }
    assert_int_equal(fclose(f), 0);
    return n;
}

static void an_address_that_does_not_answer_is_tried_anew_by_another_socket(void **state)
{
    struct names s;
    int fds[4], others;

    start_names(&s, *state);
    s.f.cli.net->stagger_ms = STAGGER_MS;
    dial_name(&s, SERVICE);
    break_connection(&s);
    end_server(&s);
    fill_backlog(&s, fds);
    others = count_calls(s.join);
    CALL(&s.f, net_connect_tls(s.f.cli.net, SERVICE, s.join, DIAL_MS));
    while (count_calls(s.join) < others + 3)
        fix_run_for(&s.f, STAGGER_MS);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    start_server_again(&s, s.certs->head);
    s.f.cli.opened = 0;
    RUN_UNTIL(&s.f, s.f.cli.opened);
    assert_int_equal(count_calls(s.join), 0);
    stop_names(&s);
}

static void an_address_that_another_cluster_has_taken_is_doubted(void **state)
{
    struct names s;

    start_names(&s, *state);
    dial_name(&s, SERVICE);
    break_connection(&s);
    end_server(&s);
    start_server_again(&s, s.certs->stranger);
    listen_at(&s, &s.other, SECOND);
    s.address = SECOND;
    assert_non_null(strstr(dial_in_vain(&s, DIAL_MS), "certificate is refused"));
    assert_in_range(dial_name(&s, SERVICE), 0, SOON_MS);
    stop_names(&s);
}

static void a_doubted_address_is_tried_while_no_name_server_answers(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.f.cli.net->stagger_ms = STAGGER_MS;
    dial_name(&s, SERVICE);
    break_connection(&s);
    end_server(&s);
    start_server_again(&s, s.certs->stranger);
    s.silent = true;
    dial_in_vain(&s, DIAL_MS);
    end_server(&s);
    start_server_again(&s, s.certs->head);
    assert_in_range(dial_name(&s, SERVICE), 0, SOON_MS);
    stop_names(&s);
}

static void silent_name_servers_are_the_reported_reason(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.silent = true;
    assert_string_equal(dial_in_vain(&s, 20),
                        "resolving " SERVICE ": no name server answered within the time given");
    stop_names(&s);
}

static void a_name_that_does_not_exist_fails_at_once(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.name = "nothing";
    assert_non_null(strstr(dial_in_vain(&s, DIAL_MS), "resolving " SERVICE ": "));
    assert_null(strstr(s.f.cli.why, "within the time given"));
    stop_names(&s);
}

static void a_net_ends_between_the_answers_of_two_families(void **state)
{
    struct names s;

    start_names(&s, *state);
    s.no_aaaa = true;
    dial_name(&s, SERVICE);
    net_destroy(s.f.cli.net);
    s.f.cli.net = NULL;
    fix_run_for(&s.f, 1);
    stop_names(&s);
}

/* --- families */

static unsigned families_of(const char *const *addresses, size_t n)
{
    struct ifaddrs list[4] = {0};
    struct sockaddr_storage ss[4] = {0};

    for (size_t i = 0; i < n; i++) {
        struct sockaddr_in *in = (struct sockaddr_in *)&ss[i];
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss[i];

        if (inet_pton(AF_INET, addresses[i], &in->sin_addr) == 1) {
            in->sin_family = AF_INET;
        } else {
            assert_int_equal(inet_pton(AF_INET6, addresses[i], &in6->sin6_addr), 1);
            in6->sin6_family = AF_INET6;
        }
        list[i].ifa_addr = (struct sockaddr *)&ss[i];
        list[i].ifa_flags = IFF_UP;
        list[i].ifa_next = i + 1 < n ? &list[i + 1] : NULL;
    }
    return resolv_families_of(n ? list : NULL);
}

static void families_are_those_of_the_global_addresses(void **state)
{
    static const char *const v4[] = {"127.0.0.1", "::1", "10.1.2.3", "fe80::1"};
    static const char *const v6[] = {"127.0.0.1", "::1", "2001:db8::1"};
    static const char *const both[] = {"10.1.2.3", "fd00::1"};
    static const char *const local[] = {"127.0.0.1", "fe80::1"};

    assert_int_equal(families_of(v4, 4), RESOLV_V4);
    assert_int_equal(families_of(v6, 3), RESOLV_V6);
    assert_int_equal(families_of(both, 2), RESOLV_BOTH);
    assert_int_equal(families_of(local, 2), RESOLV_V4);
    assert_int_equal(families_of(NULL, 0), RESOLV_BOTH);
}

/* --- known addresses */

static void the_oldest_of_too_many_names_is_forgotten(void **state)
{
    struct names s;
    struct net_addr addr = {.len = sizeof(struct sockaddr_in)};
    struct net *n;
    bool doubted;
    char name[32];

    start_names(&s, *state);
    n = s.f.cli.net;
    for (int i = 0; i <= 256; i++) {
        snprintf(name, sizeof(name), "host-%d", i);
        net_known_good(n, name, 1, &addr);
    }
    assert_false(net_known_find(n, "host-0", 1, &addr, &doubted));
    assert_true(net_known_find(n, "host-256", 1, &addr, &doubted));
    stop_names(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_a_answer_is_used_before_the_aaaa_answer_has_come),
        cmocka_unit_test(only_families_of_the_host_are_asked_for),
        cmocka_unit_test(the_name_of_a_service_is_asked_for_in_its_absolute_form),
        cmocka_unit_test(a_name_with_a_dot_at_its_end_is_asked_for_as_it_is),
        cmocka_unit_test(another_name_is_completed_by_the_search_list),
        cmocka_unit_test(a_reconnect_needs_no_name_server),
        cmocka_unit_test(an_address_that_has_changed_is_found),
        cmocka_unit_test(an_address_that_has_no_host_any_more_delays_by_the_stagger),
        cmocka_unit_test(an_address_that_does_not_answer_is_tried_anew_by_another_socket),
        cmocka_unit_test(an_address_that_another_cluster_has_taken_is_doubted),
        cmocka_unit_test(a_doubted_address_is_tried_while_no_name_server_answers),
        cmocka_unit_test(silent_name_servers_are_the_reported_reason),
        cmocka_unit_test(a_name_that_does_not_exist_fails_at_once),
        cmocka_unit_test(a_net_ends_between_the_answers_of_two_families),
        cmocka_unit_test(families_are_those_of_the_global_addresses),
        cmocka_unit_test(the_oldest_of_too_many_names_is_forgotten),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
