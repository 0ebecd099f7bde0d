/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine as ranks see it, read once for all of them: hwloc's shared memory, whose address
 * is in their job info. The daemon's own topology has no devices. Ranks need devices to find the
 * network card next to them. So this is a second topology, made when the first rank connects. */
#include "base/log/log.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/host/spawner/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <hwloc/shmem.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ALIGN ((uintptr_t)2 << 20)

void topology_start(struct pmix_srv *p)
{
    p->topology.path = xasprintf("%s/topology.hwloc", p->session_dir);
    unlink(p->topology.path); /* of an earlier incarnation */
    if (p->up.on_clean_add)   /* however this process ends */
        p->up.on_clean_add(++p->last_id, REMOVE_OURS, p->topology.path, p->arg);
}

void topology_end(struct pmix_srv *p)
{
    if (p->topology.path)
        unlink(p->topology.path);
    free(p->topology.path);
    p->topology.path = NULL;
}

/* In the middle of the largest gap between this process's addresses: a rank probably uses none
 * of them either. A rank that does reads the machine by itself. */
static uintptr_t free_address(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    uintptr_t end = 0, widest = 0, middle = 0;
    char line[PATH_MAX + 128]; /* "from-to …" */

    while (f && fgets(line, sizeof(line), f)) {
        char *to;
        uintptr_t from = strtoul(line, &to, 16);

        if (from > UINTPTR_MAX / 2) /* the kernel's */
            break;
        if (from - end > widest) {
            widest = from - end;
            middle = end + widest / 2;
        }
        end = *to == '-' ? strtoul(to + 1, NULL, 16) : from;
    }
    if (f)
        fclose(f);
    return middle / ALIGN * ALIGN;
}

/* As Open MPI reads it, but from the kernel's files only: not by asking each CPU, as
 * cgroup_topology() does, and not by libpciaccess, which leaks some memory each time. */
static hwloc_topology_t read_machine(void)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) < 0)
        return NULL;
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "pci");
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(t) == 0)
        return t;
    hwloc_topology_destroy(t);
    return NULL;
}

/* All blocks of the file are allocated before it is written through memory: so a full disk is an
 * error, not a signal. */
static int write_file(struct pmix_srv *p, hwloc_topology_t t, struct err *err)
{
    const char *path = p->topology.path;
    uintptr_t address = free_address();
    size_t size;
    int rc = 0;
    int fd;

    if (!address || hwloc_shmem_topology_get_length(t, &size, 0) < 0)
        return err_sys(err, errno, "a place for %s", path);
    /* Only this descriptor may write: the memory that all ranks map contains pointers. */
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return err_sys(err, errno, "making %s", path);
    errno = posix_fallocate(fd, 0, (off_t)size);
    if (errno || hwloc_shmem_topology_write(t, fd, 0, (void *)address, size, 0) < 0)
        rc = err_sys(err, errno, "writing %s", path);
    close(fd);
    if (rc < 0) {
        unlink(path);
        return rc;
    }
    p->topology.address = address;
    p->topology.size = size;
    return 0;
}

void topology_share(struct pmix_srv *p)
{
    struct err err = {0};
    hwloc_topology_t t;

    if (p->topology.tried)
        return;
    p->topology.tried = true;
    t = read_machine();
    if (!t)
        err_sys(&err, errno, "reading the machine's topology");
    else if (write_file(p, t, &err) == 0)
        atomic_store(&p->topology.ready, true);
    if (t)
        hwloc_topology_destroy(t);
    if (!atomic_load(&p->topology.ready))
        log_info("pmix: ranks read the machine's topology themselves: %s", err.msg);
}

/* Open MPI 4.1 aborts if it may not open the file. */
void topology_add(void *list, const struct pmix_srv *p, const struct job *j)
{
    if (!atomic_load(&p->topology.ready) || j->uid != geteuid())
        return;
    PMIx_Info_list_add(list, PMIX_HWLOC_SHMEM_FILE, p->topology.path, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_HWLOC_SHMEM_ADDR, &p->topology.address, PMIX_SIZE);
    PMIx_Info_list_add(list, PMIX_HWLOC_SHMEM_SIZE, &p->topology.size, PMIX_SIZE);
}
