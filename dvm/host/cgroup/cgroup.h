/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs that this process may use: its container's cpuset and CPU limit (cgroup v1, v2, both
 * mixed), its affinity, and their topology. The kills for lack of memory in its container. */
#ifndef DVM_CGROUP_CGROUP_H
#define DVM_CGROUP_CGROUP_H

#include "base/err/err.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroup_cpus {
    hwloc_bitmap_t allowed; /* CPUs that cpuset and affinity leave */
    bool whole;             /* those are all CPUs of the machine */
    uint32_t quota;         /* whole CPUs of its quota, at least 1; 0: no limit */
};

/* `root` is put before /proc, /sys/fs/cgroup and /sys/devices ("" on a real machine). `affinity`
 * replaces the kernel's answer for this process; NULL on a real machine. Kernel interfaces:
 * Documentation/admin-guide/cgroup-v2.rst (cpu.max, cpuset.cpus.effective) and
 * cgroup-v1/cpusets.rst, Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us). */
int cgroup_cpus_read(const char *root, hwloc_const_bitmap_t affinity, struct cgroup_cpus *out,
                     struct err *err) __attribute__((warn_unused_result));
void cgroup_cpus_free(struct cgroup_cpus *c);
/* Number of slots: the CPUs, limited by the quota. */
uint32_t cgroup_slots(const struct cgroup_cpus *c);
/* Whether the container limits its CPUs at all; if not, the slots are those of the machine. */
bool cgroup_limited(const struct cgroup_cpus *c);
/* How many processes of the container the kernel has killed for lack of memory; 0 if it does not
 * count them. It counts before it kills (memory.events, and memory.oom_control of v1). */
uint64_t cgroup_oom_kills(const char *root);
/* The machine's topology, without devices. NULL and a reason on failure. The caller destroys it.
 * Called before other threads exist, and before the first use of hwloc: keeps hwloc's plugins out
 * of the process. */
hwloc_topology_t cgroup_topology(struct err *err);
/* The text about these CPUs that the head receives (dvm/protocol/map/topo.h), or "" and a reason
 * if they are too many. `alone`: no other container or daemon is known to run on the machine. */
char *cgroup_topo_text(hwloc_topology_t t, const struct cgroup_cpus *c, bool alone,
                       struct err *err);

#endif
