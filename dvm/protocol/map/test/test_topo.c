/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the text about a daemon's CPUs: malformed texts first, then the texts of hwloc's
 * topologies. */
#include "dvm/protocol/map/topo.h"

#include "base/buf/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct topo *of_synthetic(const char *description, const char *allowed)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_topology_t t;
    struct topo *topo;

    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_synthetic(t, description), 0);
    assert_int_equal(hwloc_topology_load(t), 0);
    if (allowed)
        hwloc_bitmap_list_sscanf(set, allowed);
    topo = topo_from_hwloc(t, allowed ? set : NULL, TOPO_OWN, NULL);
    hwloc_topology_destroy(t);
    hwloc_bitmap_free(set);
    return topo;
}

static void assert_text(const char *description, const char *allowed, const char *expected)
{
    struct topo *t = of_synthetic(description, allowed);
    struct topo *again;
    struct err err = {0};

    assert_non_null(t);
    FREE_AUTO char *text = topo_text(t);
    assert_string_equal(text, expected);
    again = topo_of_text(text, &err);
    if (!again)
        fail_msg("%s", err.msg);
    assert_int_equal(again->use, t->use);
    assert_int_equal(again->npus, t->npus);
    assert_memory_equal(again->count, t->count, sizeof(t->count));
    assert_memory_equal(again->pus, t->pus, t->npus * sizeof(*t->pus));
    topo_free(again);
    topo_free(t);
}

static void malformed_texts_are_refused(void **state)
{
    static const char *const bad[] = {
        "",          "own",     "own:",    "own:a",     "own:0,",   "own:0,,1",
        "own: 0",    "own:0x1", "own:0,0", "own:0 1 0", "own:-1",   "own:0\n1",
        "own:65536", "mine:0",  "own:0+1", "own:0  1",  "own:0,1|", "own:99999999999999999999",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct err err = {0};
        struct topo *t = topo_of_text(bad[i], &err);

        if (t)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(err.msg, "a list of CPUs"));
    }
}

static void more_cpus_than_the_limit_are_refused(void **state)
{
    BUF_AUTO struct buf b = {.max = 1u << 20};

    buf_put_raw(&b, "own:0", 5);
    for (int i = 1; i <= TOPO_PUS_MAX; i++) {
        FREE_AUTO char *number = xasprintf(" %d", i);

        buf_put_raw(&b, number, strlen(number));
    }
    buf_put_u8(&b, 0);
    assert_null(topo_of_text((const char *)b.data, NULL));
    assert_null(of_synthetic("package:8 core:513 pu:1", NULL));
}

static void a_topology_without_an_allowed_cpu_is_refused(void **state)
{
    assert_null(of_synthetic("pu:4", "8-9"));
}

static void a_text_names_cores_numa_nodes_and_packages(void **state)
{
    assert_text("pu:4", NULL, "own:0 1 2 3");
    assert_text("core:2 pu:2", NULL, "own:0,1 2,3");
    assert_text("package:2 numa:1 core:2 pu:1", NULL, "own:0 1;2 3");
    assert_text("package:2 numa:2 core:2 pu:2", NULL, "own:0,1 2,3|4,5 6,7;8,9 10,11|12,13 14,15");
    assert_text("numa:1 package:2 core:2 pu:1", NULL, "own:0 1/2 3");
    assert_text("package:2 core:2 pu:2(indexes=core:pu)", NULL, "own:0,4 1,5/2,6 3,7");
}

static void cpus_that_are_not_allowed_are_left_out(void **state)
{
    assert_text("package:2 numa:2 core:2 pu:2", "1,6-9", "own:1|6,7;8,9");
    assert_text("package:2 numa:1 core:2 pu:1", "3", "own:3");
}

static void parts_are_counted_and_widened(void **state)
{
    struct topo *t = of_synthetic("package:2 numa:2 core:2 pu:2", "2-15");
    hwloc_bitmap_t one = hwloc_bitmap_alloc();

    assert_int_equal(t->count[JOB_LEVEL_NODE], 1);
    assert_int_equal(t->count[JOB_LEVEL_NUMA], 4);
    assert_int_equal(t->count[JOB_LEVEL_CORE], 7);
    assert_int_equal(topo_units(t, JOB_LEVEL_NUMA, 0, JOB_LEVEL_CORE), 1);
    assert_int_equal(topo_units(t, JOB_LEVEL_PACKAGE, 0, JOB_LEVEL_HWTHREAD), 6);
    assert_int_equal(topo_units(t, JOB_LEVEL_NODE, 0, JOB_LEVEL_CORE), 7);
    hwloc_bitmap_set(one, 3); /* CPU 5 */
    FREE_AUTO char *core = topo_cpus(t, one, JOB_LEVEL_CORE);
    FREE_AUTO char *package = topo_cpus(t, one, JOB_LEVEL_PACKAGE);
    FREE_AUTO char *where = topo_where(t, one);
    assert_string_equal(core, "4-5");
    assert_string_equal(package, "2-7");
    assert_string_equal(where, "package 0 numa 1 core 1");
    hwloc_bitmap_free(one);
    topo_free(t);
}

static void the_hardware_threads_of_a_list_of_cpus_are_found(void **state)
{
    static const char *const none[] = {"", "0-1", "x", "99999999"};
    struct topo *t = of_synthetic("package:2 numa:2 core:2 pu:2", "2-15");
    hwloc_bitmap_t pus = topo_pus(t, "1,4-5");
    FREE_AUTO char *again = topo_cpus(t, pus, JOB_LEVEL_HWTHREAD);

    assert_string_equal(again, "4-5");
    hwloc_bitmap_free(pus);
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_null(topo_pus(t, none[i]));
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_texts_are_refused),
        cmocka_unit_test(the_hardware_threads_of_a_list_of_cpus_are_found),
        cmocka_unit_test(more_cpus_than_the_limit_are_refused),
        cmocka_unit_test(a_topology_without_an_allowed_cpu_is_refused),
        cmocka_unit_test(a_text_names_cores_numa_nodes_and_packages),
        cmocka_unit_test(cpus_that_are_not_allowed_are_left_out),
        cmocka_unit_test(parts_are_counted_and_widened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
