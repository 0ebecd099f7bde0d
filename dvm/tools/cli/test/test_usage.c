/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of numbers on command lines, of the search for a daemon, and of tables. */
#include "base/conf/number.h"
#include "dvm/tools/cli/usage.h"

#include "base/buf/buf.h"
#include "dvm/tools/cli/find.h"
#include "dvm/tools/cli/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static void texts_signs_and_trailing_text_are_no_numbers(void **state)
{
    static const char *const bad[] = {"", "x", "-", "-x", "+1", " 1", "1 ", "1x", "0x10", "1.0"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        uint64_t n;

        assert_int_equal(number_parse(bad[i], "-n", 0, 100, &n, &err), -1);
        assert_non_null(strstr(err.msg, "is not a whole number"));
    }
}

static void numbers_out_of_their_range_are_refused_with_the_range(void **state)
{
    static const char *const bad[] = {"0", "11", "-5", "18446744073709551616"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        uint64_t n;

        assert_int_equal(number_parse(bad[i], "-n", 1, 10, &n, &err), -1);
        assert_non_null(strstr(err.msg, "is not within 1..10"));
    }
}

static void a_number_within_its_range_is_taken(void **state)
{
    uint64_t n = 0;

    assert_int_equal(number_parse("10", "-n", 1, 10, &n, NULL), 0);
    assert_int_equal(n, 10);
}

static void empty_values_and_texts_are_refused_as_seconds(void **state)
{
    static const char *const bad[] = {"",   "0",   "0.000",  "x",     "-1",       ".5",
                                      "1s", "1e3", "1.0001", "1.5.0", "99999999", "0.0x"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t ms;

        if (number_parse_seconds(bad[i], "--timeout", &ms, NULL) == 0)
            fail_msg("'%s' was taken as %lu ms", bad[i], (unsigned long)ms);
    }
}

static void seconds_may_have_a_fraction(void **state)
{
    uint64_t ms = 0;

    assert_int_equal(number_parse_seconds("2", "--timeout", &ms, NULL), 0);
    assert_int_equal(ms, 2000);
    assert_int_equal(number_parse_seconds("1.25", "--timeout", &ms, NULL), 0);
    assert_int_equal(ms, 1250);
    assert_int_equal(number_parse_seconds("0.001", "--timeout", &ms, NULL), 0);
    assert_int_equal(ms, 1);
}

static void a_named_directory_wins_over_the_environment(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {0};

    setenv("DVM_SESSION_DIR", "/from/env", 1);
    assert_int_equal(cli_find("/from/option", NULL, &w, NULL), 0);
    assert_string_equal(w.dir, "/from/option");
    assert_string_equal(w.path, "/from/option/prted.sock");
    assert_true(w.named);
}

static void the_environment_wins_over_the_defaults(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {0};

    setenv("DVM_SESSION_DIR", "/from/env", 1);
    assert_int_equal(cli_find(NULL, NULL, &w, NULL), 0);
    assert_string_equal(w.dir, "/from/env");
    assert_true(w.named);
}

static void the_default_is_a_directory_of_the_user(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {0};
    FREE_AUTO char *want = xasprintf("/run/user/x/dvm-%u", (unsigned)geteuid());

    unsetenv("DVM_SESSION_DIR");
    setenv("XDG_RUNTIME_DIR", "/run/user/x", 1);
    assert_int_equal(cli_find(NULL, NULL, &w, NULL), 0);
    assert_string_equal(w.dir, want);
    assert_false(w.named);
}

static void a_socket_may_be_named_itself(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {0};
    char dir[] = "/tmp/dvm-test-XXXXXX";
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_non_null(mkdtemp(dir));
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/other.sock", dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(cli_find(sa.sun_path, NULL, &w, NULL), 0);
    assert_string_equal(w.path, sa.sun_path);
    assert_string_equal(w.dir, dir);
    close(fd);
    unlink(sa.sun_path);
    rmdir(dir);
}

static void assert_no_host(const char *dvm, const char *tls_dir, const char *why)
{
    struct cli_where w;
    struct err err = {0};

    assert_int_equal(cli_find(dvm, tls_dir, &w, &err), -1);
    if (!strstr(err.msg, why))
        fail_msg("%s: '%s' does not say '%s'", dvm, err.msg, why);
}

static void a_malformed_host_is_refused(void **state)
{
    unsetenv("DVM_TLS_DIR");
    assert_no_host("nobody", NULL, "give --tls-dir or set DVM_TLS_DIR");
    assert_no_host("/tmp", "/t", "--tls-dir is for a daemon at a host");
    assert_no_host(NULL, "/t", "--tls-dir is for a daemon at a host");
    assert_no_host(":7400", "/t", "is no HOST[:PORT]");
    assert_no_host("[::1", "/t", "is no HOST[:PORT]");
    assert_no_host("[]:1", "/t", "is no HOST[:PORT]");
    assert_no_host("[::1]x", "/t", "is no HOST[:PORT]");
    assert_no_host("x:0", "/t", "the port");
    assert_no_host("x:", "/t", "the port");
    assert_no_host("x:65536", "/t", "the port");
}

static void assert_host(const char *dvm, const char *host, const char *port)
{
    CLI_WHERE_AUTO struct cli_where w = {0};

    assert_int_equal(cli_find(dvm, "/t", &w, NULL), 0);
    assert_string_equal(w.host, host);
    assert_string_equal(w.port, port);
    assert_string_equal(w.tls_dir, "/t");
    assert_null(w.dir);
}

static void a_host_may_have_a_port_and_an_address_with_one_has_brackets(void **state)
{
    CLI_WHERE_AUTO struct cli_where w = {0};

    assert_host("x-head.ns.svc", "x-head.ns.svc", "7400");
    assert_host("x-head:17", "x-head", "17");
    assert_host("10.0.0.1:65535", "10.0.0.1", "65535");
    assert_host("[fd00::1]:8", "fd00::1", "8");
    assert_host("[fd00::1]", "fd00::1", "7400");
    assert_host("fd00::1", "fd00::1", "7400");
    setenv("DVM_TLS_DIR", "/env", 1);
    assert_int_equal(cli_find("x", NULL, &w, NULL), 0);
    assert_string_equal(w.tls_dir, "/env");
    unsetenv("DVM_TLS_DIR");
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const char *const heads[] = {"HOST", ">SLOTS", "STATE", NULL};
    struct table *t = table_create(heads);
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    table_cell(t, "n%d", 1);
    table_cell(t, "%d", 12345678);
    table_cell(t, "wired");
    table_cell(t, "longer");
    table_cell(t, "%d", 1);
    table_cell(t, "lost");
    table_print(t, f);
    fclose(f);
    assert_string_equal(text, "HOST       SLOTS  STATE\n"
                              "n1      12345678  wired\n"
                              "longer         1  lost\n");
    free(text);
    table_destroy(t);
}

static void the_tree_s_lines_count_as_one_column_each(void **state)
{
    static const char *const heads[] = {"T", "X", NULL};
    struct table *t = table_create(heads);
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    table_cell(t, "└─");
    table_cell(t, "y");
    table_print(t, f);
    fclose(f);
    assert_string_equal(text, "T   X\n└─  y\n");
    free(text);
    table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_signs_and_trailing_text_are_no_numbers),
        cmocka_unit_test(numbers_out_of_their_range_are_refused_with_the_range),
        cmocka_unit_test(a_number_within_its_range_is_taken),
        cmocka_unit_test(empty_values_and_texts_are_refused_as_seconds),
        cmocka_unit_test(seconds_may_have_a_fraction),
        cmocka_unit_test(a_named_directory_wins_over_the_environment),
        cmocka_unit_test(the_environment_wins_over_the_defaults),
        cmocka_unit_test(the_default_is_a_directory_of_the_user),
        cmocka_unit_test(a_socket_may_be_named_itself),
        cmocka_unit_test(a_malformed_host_is_refused),
        cmocka_unit_test(a_host_may_have_a_port_and_an_address_with_one_has_brackets),
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(the_tree_s_lines_count_as_one_column_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
