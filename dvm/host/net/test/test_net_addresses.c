/* SPDX-License-Identifier: BSD-3-Clause */
/* Several addresses of a daemon: which ones its user may give, where it listens, and how another
 * daemon calls it there. */
#include "dvm/host/net/addresses.h"
#include "dvm/host/net/test/net_certs.h"
#include "dvm/host/net/test/net_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>

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

/* --- the list of a user */

#define INTERFACES 7

/* lo, eth0 with both families, net1 with IPv6 and a link-local address first, down0 without. */
static struct ifaddrs *some_interfaces(void)
{
    static const struct {
        const char *name, *address;
    } rows[INTERFACES] = {{"lo", "127.0.0.1"}, {"eth0", "fd00::7"},       {"eth0", "10.0.0.7"},
                          {"net1", "fe80::1"}, {"net1", "2001:DB8::0:7"}, {"only-local", "fe80::2"},
                          {"bare", NULL}};
    static struct ifaddrs list[INTERFACES];
    static struct sockaddr_storage ss[INTERFACES];

    for (size_t i = 0; i < INTERFACES; i++) {
        struct sockaddr_in *in = (struct sockaddr_in *)&ss[i];
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss[i];

        list[i] = (struct ifaddrs){.ifa_name = (char *)rows[i].name, .ifa_flags = IFF_UP};
        list[i].ifa_next = i + 1 < INTERFACES ? &list[i + 1] : NULL;
        if (!rows[i].address)
            continue;
        if (inet_pton(AF_INET, rows[i].address, &in->sin_addr) == 1)
            in->sin_family = AF_INET;
        else if (inet_pton(AF_INET6, rows[i].address, &in6->sin6_addr) == 1)
            in6->sin6_family = AF_INET6;
        list[i].ifa_addr = (struct sockaddr *)&ss[i];
    }
    return list;
}

static void assert_list(const char *list, const char *expected)
{
    struct addresses a;
    struct err err = {0};
    char text[256] = "";

    if (addresses_parse_from(list, true, some_interfaces(), &a, &err) < 0)
        fail_msg("%s: %s", list, err.msg);
    for (size_t i = 0; i < a.n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", a.text[i]);
    assert_string_equal(text, expected);
    addresses_free(&a);
}

static void assert_refused(const char *list, const char *why)
{
    struct addresses a;
    struct err err = {0};

    assert_int_equal(addresses_parse_from(list, false, some_interfaces(), &a, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("%s: %s", list, err.msg);
    assert_int_equal(a.n, 0);
}

static void lists_that_peers_could_not_use_are_refused_with_the_reason(void **state)
{
    assert_refused("10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5", "more than 4 addresses");
    assert_refused("10.0.0.1,10.0.0.1", "10.0.0.1 is there twice");
    assert_refused("eth0,10.0.0.7", "10.0.0.7 is there twice");
    assert_refused("fd00::7,fd00:0::7", "fd00::7 is there twice");
    assert_refused("10.0.0.1,127.0.0.1", "other hosts can reach only one of them");
    assert_refused("10.0.0.1,0.0.0.0", "other daemons cannot call both");
    assert_refused("224.0.0.1,10.0.0.1", "other daemons cannot call both");
    assert_refused("10.0.0.1,fe80::1", "other daemons cannot call both");
    assert_refused("10.0.0.1,", "\"\" is neither an address nor an interface");
    assert_refused("", "\"\" is neither an address nor an interface");
    assert_refused("eth1", "\"eth1\" is neither an address nor an interface");
    assert_refused("10.0.0.1,host.example", "\"host.example\" is neither");
    assert_refused("10.0.0.256", "is neither an address nor an interface");
    assert_refused("only-local",
                   "interface only-local has no address that other daemons can reach");
    assert_refused("bare", "interface bare has no address");
}

static void addresses_and_interfaces_give_numeric_addresses_in_their_order(void **state)
{
    assert_list("10.0.0.1", "10.0.0.1");
    assert_list("0.0.0.0", "0.0.0.0"); /* a single one is the user's affair */
    assert_list("host.example", "host.example");
    assert_list("eth0", "10.0.0.7");
    assert_list("net1,eth0", "2001:db8::7 10.0.0.7");
    assert_list("127.0.0.1,127.0.0.2,::1", "127.0.0.1 127.0.0.2 ::1");
    assert_list("10.0.0.1,fd00::1,10.1.0.1,10.2.0.1", "10.0.0.1 fd00::1 10.1.0.1 10.2.0.1");
}

static void assert_listens(const char *list, const char *expected)
{
    const char *out[ADDRESSES_MAX];
    struct addresses a;
    char text[256] = "";
    size_t n;

    assert_int_equal(addresses_parse(list, true, &a, NULL), 0);
    n = addresses_to_listen(&a, out);
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", out[i]);
    assert_string_equal(text, expected);
    addresses_free(&a);
}

static void
a_daemon_listens_where_all_its_addresses_are_reached_and_nowhere_else_on_loopback(void **state)
{
    assert_listens("127.0.0.1", "127.0.0.1");
    assert_listens("127.0.0.1,127.0.0.2", "127.0.0.1 127.0.0.2");
    assert_listens("10.0.0.1", "0.0.0.0");
    assert_listens("10.0.0.1,10.1.0.1", "0.0.0.0");
    assert_listens("10.0.0.1,fd00::1", "::");
    assert_listens("fd00::1,10.0.0.1", "::");
    assert_listens("host.example", "0.0.0.0");
}

/* --- calls */

static void start_pair(struct fix *f, struct tls_ctx *server, struct tls_ctx *client,
                       uint16_t *port)
{
    static const char *const at[] = {"127.0.0.1", "127.0.0.2"};
    struct err err = {0};

    fix_init(f, server, client);
    *port = 0;
    if (net_listen_all(f->srv.net, at, 2, port, &err) < 0)
        fail_msg("%s", err.msg);
}

static void a_daemon_is_called_at_each_of_its_addresses_from_the_one_that_is_asked_for(void **state)
{
    static const char *const at[] = {"127.0.0.1", "127.0.0.2"};
    const struct certs *c = *state;
    struct fix f;
    uint16_t port;

    start_pair(&f, c->head, c->member, &port);
    for (int i = 0; i < 2; i++) {
        struct net_target to = {.host = at[i], .port = port, .from = at[!i], .unnamed = true};
        struct net_ends ends;

        CALL(&f, net_connect_to(f.cli.net, &to, 10000));
        RUN_UNTIL(&f, f.srv.opened > i && f.cli.opened > i);
        ends = net_ends(f.cli.net, f.cli.conn);
        assert_string_equal(ends.own, at[!i]);
        assert_string_equal(ends.other, at[i]);
        ends = net_ends(f.srv.net, f.srv.conn);
        assert_string_equal(ends.own, at[i]);
        assert_string_equal(ends.other, at[!i]);
    }
    fix_fini(&f);
}

static void an_address_of_our_own_that_does_not_work_is_not_used(void **state)
{
    static const char *const from[] = {"192.0.2.1", "::1", "nonsense"};
    const struct certs *c = *state;
    struct fix f;
    uint16_t port;

    start_pair(&f, c->head, c->member, &port);
    for (int i = 0; i < 3; i++) {
        struct net_target to = {.host = "127.0.0.1", .port = port, .from = from[i]};

        CALL(&f, net_connect_to(f.cli.net, &to, 10000));
        RUN_UNTIL(&f, f.srv.opened > i && f.cli.opened > i);
        assert_string_equal(net_ends(f.cli.net, f.cli.conn).own, "127.0.0.1");
    }
    fix_fini(&f);
}

static void at_an_address_without_a_name_the_authority_and_the_role_count(void **state)
{
    const struct certs *c = *state;
    struct fix f;
    uint16_t port;
    struct net_target to = {.host = "127.0.0.1", .unnamed = true};

    start_pair(&f, c->member, c->member, &port); /* the certificate has no host name at all */
    to.port = port;
    CALL(&f, net_connect_to(f.cli.net, &to, 10000));
    RUN_UNTIL(&f, f.srv.opened && f.cli.opened);
    assert_string_equal(f.cli.peer.role, "member");
    assert_string_equal(f.cli.peer.cluster, "red");
    to.unnamed = false;
    CALL(&f, net_connect_to(f.cli.net, &to, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "IP address mismatch"));
    fix_fini(&f);
    start_pair(&f, c->stranger, c->member, &port); /* another authority */
    to = (struct net_target){.host = "127.0.0.2", .port = port, .unnamed = true};
    CALL(&f, net_connect_to(f.cli.net, &to, 10000));
    RUN_UNTIL(&f, f.cli.closed);
    assert_non_null(strstr(f.cli.why, "the peer's certificate is refused"));
    fix_fini(&f);
}

static void a_port_that_is_taken_at_one_address_is_taken_at_none(void **state)
{
    static const char *const at[] = {"127.0.0.1", "127.0.0.2"};
    const struct certs *c = *state;
    struct err err = {0};
    struct fix f;
    uint16_t port = 0, other = 0;

    fix_init(&f, c->head, c->member);
    assert_int_equal(net_listen_tls(f.srv.net, at[1], &port, &err), 0);
    assert_int_equal(net_listen_all(f.cli.net, at, 2, &port, &err), -1);
    assert_int_equal(err.code, EADDRINUSE);
    assert_int_equal(net_listen_tls(f.cli.net, at[0], &port, &err), 0); /* it was given back */
    assert_int_equal(net_listen_all(f.cli.net, at, 2, &other, &err), 0);
    assert_int_not_equal(other, port);
    fix_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_peers_could_not_use_are_refused_with_the_reason),
        cmocka_unit_test(addresses_and_interfaces_give_numeric_addresses_in_their_order),
        cmocka_unit_test(
            a_daemon_listens_where_all_its_addresses_are_reached_and_nowhere_else_on_loopback),
        cmocka_unit_test(
            a_daemon_is_called_at_each_of_its_addresses_from_the_one_that_is_asked_for),
        cmocka_unit_test(an_address_of_our_own_that_does_not_work_is_not_used),
        cmocka_unit_test(at_an_address_without_a_name_the_authority_and_the_role_count),
        cmocka_unit_test(a_port_that_is_taken_at_one_address_is_taken_at_none),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
