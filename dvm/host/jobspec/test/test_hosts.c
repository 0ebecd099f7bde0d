/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of --host and of spawn requests: the machine's own name, in a local DVM and elsewhere.
 * Vpids and names of members: dvm/tools/submit/test/test_options.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dvm/host/jobspec/hosts.h"

static const char *machine;

int __wrap_gethostname(char *name, size_t len);
int __wrap_gethostname(char *name, size_t len)
{
    strncpy(name, machine, len);
    return 0;
}

/* The number of members that the list names; 0: all of them; -1: it is refused. */
static int count_hosts(bool local, const char *own, const char *list)
{
    struct err err = {0};
    uint32_t *vpids = NULL;
    size_t n = 99;
    int rc;

    machine = own;
    rc = local ? hosts_parse_local(list, &vpids, &n, &err) : hosts_parse(list, &vpids, &n, &err);
    if (rc < 0)
        return -1;
    free(vpids);
    return (int)n;
}

static void the_machine_s_name_is_all_members_of_a_local_dvm(void **state)
{
    assert_int_equal(count_hosts(true, "box", "box"), 0);
    assert_int_equal(count_hosts(true, "box.example.org", "box.example.org"), 0);
    assert_int_equal(count_hosts(true, "box.example.org", "box"), 0);
    assert_int_equal(count_hosts(true, "box", "box.example.org"), 0);
    assert_int_equal(count_hosts(true, "box", "2,box,node3"), 0);
    assert_int_equal(count_hosts(true, "runner-17", "runner-17"), 0); /* not vpid 17 */
    assert_int_equal(count_hosts(true, "box", "node1,node3"), 2);
}

static void other_machines_names_are_refused(void **state)
{
    assert_int_equal(count_hosts(true, "box", "bo"), -1);
    assert_int_equal(count_hosts(true, "box", "boxes"), -1);
    assert_int_equal(count_hosts(true, "box.example.org", "box.example.com"), -1);
    assert_int_equal(count_hosts(true, "box", "box,fox"), -1);
    assert_int_equal(count_hosts(true, "", ""), -1);
}

static void elsewhere_the_machine_s_name_is_that_of_a_member_or_none(void **state)
{
    assert_int_equal(count_hosts(false, "box", "box"), -1);
    assert_int_equal(count_hosts(false, "x-3", "x-3"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_s_name_is_all_members_of_a_local_dvm),
        cmocka_unit_test(other_machines_names_are_refused),
        cmocka_unit_test(elsewhere_the_machine_s_name_is_that_of_a_member_or_none),
    };

    return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
