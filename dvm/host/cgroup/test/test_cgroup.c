/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of CPU limits: files of cgroup v1 and v2 as kernels and container runtimes lay them out,
 * below a directory of our own. */
#include "dvm/host/cgroup/cgroup.h"

#include "base/buf/buf.h"
#include "dvm/protocol/map/topo.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static int setup(void **state)
{
    snprintf(root, sizeof(root), "/tmp/cgroup-test-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes <root><path>, its directories made. */
static void put(const char *path, const char *text)
{
    FREE_AUTO char *file = xasprintf("%s%s", root, path);
    FILE *f;

    for (char *p = file + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        assert_true(mkdir(file, 0700) == 0 || errno == EEXIST);
        *p = '/';
    }
    f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A machine of 8 CPUs; the process may run on `affinity`. Expects slots, quota and CPUs. */
static void assert_cpus(const char *affinity, uint32_t slots, uint32_t quota, const char *allowed)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct cgroup_cpus c;
    struct err err = {0};
    char *list;

    put("/sys/devices/system/cpu/online", "0-7\n");
    hwloc_bitmap_list_sscanf(set, affinity);
    if (cgroup_cpus_read(root, set, &c, &err) < 0)
        fail_msg("%s", err.msg);
    hwloc_bitmap_list_asprintf(&list, c.allowed);
    assert_string_equal(list, allowed);
    assert_int_equal(c.quota, quota);
    assert_int_equal(cgroup_slots(&c), slots);
    assert_int_equal(c.whole, strcmp(allowed, "0-7") == 0);
    assert_int_equal(cgroup_limited(&c), quota || strcmp(allowed, "0-7") != 0);
    cgroup_cpus_free(&c);
    hwloc_bitmap_free(set);
    free(list);
}

static void no_cpu_in_common_is_an_error(void **state)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct cgroup_cpus c;
    struct err err = {0};

    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "4-5\n");
    hwloc_bitmap_set_range(set, 0, 3);
    assert_int_equal(cgroup_cpus_read(root, set, &c, &err), -1);
    assert_non_null(strstr(err.msg, "no CPU in common"));
    hwloc_bitmap_free(set);
}

static void nonsense_in_the_files_is_no_limit(void **state)
{
    put("/proc/self/cgroup", "x\n::\n0::/../..\n:\n");
    put("/sys/fs/cgroup/cpu.max", "many 100000\n");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "a-b\n");
    assert_cpus("0-7", 8, 0, "0-7");
    put("/sys/fs/cgroup/cpu.max", "100000\n");
    assert_cpus("0-7", 8, 0, "0-7");
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_cpus("0-7", 8, 0, "0-7");
    put("/sys/fs/cgroup/cpu.max", "");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "\n");
    assert_cpus("0-7", 8, 0, "0-7");
}

static void a_machine_without_control_groups_has_no_limit(void **state)
{
    assert_cpus("0-7", 8, 0, "0-7");
    assert_cpus("0,5", 2, 0, "0,5");
}

static void v2_cpu_max_is_the_limit(void **state)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    assert_cpus("0-7", 8, 0, "0-7");
    put("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    assert_cpus("0-7", 3, 3, "0-7");
    put("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    assert_cpus("0-7", 2, 2, "0-7");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    assert_cpus("0-7", 1, 1, "0-7");
    put("/sys/fs/cgroup/cpu.max", "1600000 100000\n");
    assert_cpus("0-7", 8, 16, "0-7");
}

static void v2_cpuset_limits_the_cpus(void **state)
{
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpuset.cpus.effective", "2-4,7\n");
    assert_cpus("0-7", 4, 0, "2-4,7");
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_cpus("0-7", 4, 4, "2-4,7");
    assert_cpus("3-6", 2, 4, "3-4");
}

static void the_least_limit_of_the_groups_above_counts(void **state)
{
    put("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    put("/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/kubepods/pod1/cpu.max", "200000 100000\n");
    put("/sys/fs/cgroup/kubepods/cpu.max", "600000 100000\n");
    put("/sys/fs/cgroup/kubepods/cpuset.cpus.effective", "0-5\n");
    put("/sys/fs/cgroup/kubepods/pod1/cpuset.cpus.effective", "1-3\n");
    assert_cpus("0-7", 2, 2, "1-3");
}

/* Without a cgroup namespace /proc shows the host's path, while the mount begins at the container's
 * own group. */
static void a_path_that_only_the_host_has_means_the_mounts_root(void **state)
{
    put("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n3:cpuset:/docker/abc\n0::/docker/abc\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
    put("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
    assert_cpus("0-7", 3, 3, "0-3");
}

static void v1_quota_and_cpuset_are_read(void **state)
{
    put("/proc/self/cgroup", "5:cpu:/a\n3:cpuset:/b\n1:name=systemd:/c\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/b/cpuset.effective_cpus", "6-7\n");
    put("/sys/fs/cgroup/cpuset/b/cpuset.cpus", "\n");
    assert_cpus("0-7", 2, 0, "6-7");
    put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
    assert_cpus("0-7", 1, 1, "6-7");
}

static void both_versions_mixed_take_the_lesser_limit(void **state)
{
    put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n0::/a\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/unified/a/cpu.max", "300000 100000\n");
    assert_cpus("0-7", 3, 3, "0-7");
}

static void kills_for_lack_of_memory_are_those_of_the_own_group(void **state)
{
    assert_int_equal(cgroup_oom_kills(root), 0);
    put("/proc/self/cgroup", "4:memory:/a\n0::/kubepods/c1\n");
    put("/sys/fs/cgroup/memory/a/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    assert_int_equal(cgroup_oom_kills(root), 3);
    put("/sys/fs/cgroup/memory.events", "low 0\noom 7\noom_kill 5\noom_group_kill 1\n");
    assert_int_equal(cgroup_oom_kills(root), 5);
    put("/sys/fs/cgroup/kubepods/memory.events", "oom_kill 6\n");
    assert_int_equal(cgroup_oom_kills(root), 5);
    put("/sys/fs/cgroup/kubepods/c1/memory.events", "oom 9\n");
    assert_int_equal(cgroup_oom_kills(root), 0);
    put("/sys/fs/cgroup/kubepods/c1/memory.events", "oom 9\noom_kill 2\n");
    assert_int_equal(cgroup_oom_kills(root), 2);
}

static void assert_use(const char *allowed, uint32_t quota, bool alone, const char *use)
{
    struct cgroup_cpus c = {.allowed = hwloc_bitmap_alloc(), .quota = quota};
    struct err err = {0};

    hwloc_bitmap_list_sscanf(c.allowed, allowed);
    hwloc_topology_t t = cgroup_topology(&err);
    assert_non_null(t);
    FREE_AUTO char *text = cgroup_topo_text(t, &c, alone, &err);
    if (strncmp(text, use, strlen(use)) != 0)
        fail_msg("CPUs %s, quota %u: '%s' %s", allowed, quota, text, err.msg);
    hwloc_topology_destroy(t);
    cgroup_cpus_free(&c);
}

/* On this machine's own topology, of which CPU 0 is always a part. */
static void a_quota_below_the_cpuset_forbids_binding(void **state)
{
    assert_use("0", 0, true, "own:0");
    assert_use("0", 1, true, "own:0");
    assert_use("0", 0, false, "shared:0");
    assert_use("0-1", 1, true, "quota:");
    assert_use("60000", 0, true, "");
}

/* Whether a file with this part in its name is mapped here. */
static bool is_mapped(const char *part)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[4352];
    bool found = false;

    assert_non_null(f);
    while (!found && fgets(line, sizeof(line), f))
        found = strstr(line, part);
    fclose(f);
    return found;
}

/* Where hwloc's plugins are installed (on Debian: libhwloc-plugins), an untouched discovery loads
 * them. */
static void the_topology_is_read_without_plugins_and_the_environment_stays(void **state)
{
    struct err err = {0};
    hwloc_topology_t t;

    for (int given = 0; given < 2; given++) {
        if (given)
            setenv("HWLOC_PLUGINS_PATH", "/somewhere", 1);
        t = cgroup_topology(&err);
        assert_non_null(t);
        assert_false(is_mapped("/hwloc_"));
        hwloc_topology_destroy(t);
        if (given)
            assert_string_equal(getenv("HWLOC_PLUGINS_PATH"), "/somewhere");
        else
            assert_null(getenv("HWLOC_PLUGINS_PATH"));
    }
    unsetenv("HWLOC_PLUGINS_PATH");
}

static void the_real_files_of_this_machine_can_be_read(void **state)
{
    struct cgroup_cpus c;
    struct err err = {0};

    assert_int_equal(cgroup_cpus_read("", NULL, &c, &err), 0);
    assert_in_range(cgroup_slots(&c), 1, (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
    cgroup_cpus_free(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_cpu_in_common_is_an_error),
        TEST(the_topology_is_read_without_plugins_and_the_environment_stays),
        TEST(nonsense_in_the_files_is_no_limit),
        TEST(a_machine_without_control_groups_has_no_limit),
        TEST(v2_cpu_max_is_the_limit),
        TEST(v2_cpuset_limits_the_cpus),
        TEST(the_least_limit_of_the_groups_above_counts),
        TEST(a_path_that_only_the_host_has_means_the_mounts_root),
        TEST(v1_quota_and_cpuset_are_read),
        TEST(both_versions_mixed_take_the_lesser_limit),
        TEST(kills_for_lack_of_memory_are_those_of_the_own_group),
        TEST(a_quota_below_the_cpuset_forbids_binding),
        TEST(the_real_files_of_this_machine_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
