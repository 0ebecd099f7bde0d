/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine that ranks share is the one that each would read by itself, and no file of it
 * remains. */
#include "dvm/host/pmix/pmix_private.h"

#include <fcntl.h>
#include <hwloc.h>
#include <hwloc/shmem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int setup(void **state)
{
    struct pmix_srv *p = xcalloc(1, sizeof(*p));

    p->session_dir = xstrdup("/tmp/topology-XXXXXX");
    *state = p;
    return mkdtemp(p->session_dir) ? 0 : -1;
}

static int teardown(void **state)
{
    struct pmix_srv *p = *state;
    int rc;

    topology_end(p);
    rc = rmdir(p->session_dir); /* nothing is left in it */
    free(p->session_dir);
    free(p);
    return rc;
}

/* As Open MPI reads it. */
static hwloc_topology_t read_alone(void)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) < 0)
        return NULL;
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return hwloc_topology_load(t) == 0 ? t : NULL;
}

/* In a process with other addresses. Returns the first difference. */
static int adopt_and_compare(const struct pmix_srv *p)
{
    hwloc_topology_t shared;
    hwloc_topology_t alone = read_alone();
    int fd = open(p->topology.path, O_RDONLY);

    if (!alone || fd < 0)
        return 10;
    if (hwloc_shmem_topology_adopt(&shared, fd, 0, (void *)p->topology.address, p->topology.size,
                                   0) < 0)
        return 11;
    close(fd);
    for (int type = HWLOC_OBJ_TYPE_MIN; type < HWLOC_OBJ_TYPE_MAX; type++) {
        if (hwloc_get_nbobjs_by_type(shared, type) != hwloc_get_nbobjs_by_type(alone, type))
            return 20 + type;
    }
    if (!hwloc_topology_is_thissystem(shared) ||
        !hwloc_topology_get_support(shared)->cpubind->set_thisproc_cpubind ||
        hwloc_set_cpubind(shared, hwloc_topology_get_allowed_cpuset(shared), 0) < 0)
        return 12;
    hwloc_topology_destroy(shared);
    hwloc_topology_destroy(alone);
    return 0;
}

static void ranks_get_the_same_topology_as_from_their_own_discovery_with_devices(void **state)
{
    struct pmix_srv *p = *state;
    int status;
    pid_t pid;

    topology_start(p);
    topology_share(p);
    assert_true(p->topology.ready);
    pid = fork();
    if (pid == 0)
        _exit(adopt_and_compare(p)); /* memory that libraries leak is not searched for there */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFEXITED(status));
}

static void no_rank_can_write_memory_that_other_ranks_map(void **state)
{
    struct pmix_srv *p = *state;
    struct stat st;

    topology_start(p);
    topology_share(p);
    assert_int_equal(stat(p->topology.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
}

static size_t attributes(const struct pmix_srv *p, uid_t uid)
{
    const struct job j = {.uid = uid};
    void *list = PMIx_Info_list_start();
    pmix_data_array_t a = PMIX_DATA_ARRAY_STATIC_INIT;
    size_t n;

    topology_add(list, p, &j);
    n = PMIx_Info_list_convert(list, &a) == PMIX_SUCCESS ? a.size : 0;
    PMIx_Info_list_release(list);
    PMIX_DATA_ARRAY_DESTRUCT(&a);
    return n;
}

static void ranks_of_another_user_read_it_themselves(void **state)
{
    struct pmix_srv *p = *state;

    topology_start(p);
    assert_int_equal(attributes(p, geteuid()), 0); /* no rank has connected yet */
    topology_share(p);
    assert_int_equal(attributes(p, geteuid()), 3);
    assert_int_equal(attributes(p, geteuid() + 1), 0);
}

static void a_link_of_an_earlier_epoch_is_not_followed(void **state)
{
    struct pmix_srv *p = *state;
    FREE_AUTO char *path = xasprintf("%s/topology.hwloc", p->session_dir);
    FREE_AUTO char *other = xasprintf("%s/other", p->session_dir);

    assert_int_equal(symlink(other, path), 0);
    topology_start(p);
    topology_share(p);
    assert_true(p->topology.ready);
    assert_int_equal(access(other, F_OK), -1);
}

static void without_a_place_for_the_topology_ranks_read_it_themselves(void **state)
{
    struct pmix_srv *p = *state;

    topology_start(p);
    free(p->topology.path);
    p->topology.path = xasprintf("%s/missing/topology", p->session_dir);
    topology_share(p);
    assert_false(p->topology.ready);
    assert_int_equal(attributes(p, geteuid()), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            ranks_get_the_same_topology_as_from_their_own_discovery_with_devices, setup, teardown),
        cmocka_unit_test_setup_teardown(no_rank_can_write_memory_that_other_ranks_map, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(ranks_of_another_user_read_it_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_of_an_earlier_epoch_is_not_followed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_place_for_the_topology_ranks_read_it_themselves,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
