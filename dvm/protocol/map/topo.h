/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPUs that a daemon may use, as the mapper needs them: hardware threads in cores in NUMA
 * nodes in packages. Made from an hwloc topology; sent to the head as text. Pure. */
#ifndef DVM_MAP_TOPO_H
#define DVM_MAP_TOPO_H

#include "base/err/err.h"
#include "dvm/protocol/wire/job.h"

#include <hwloc.h>

#define TOPO_PUS_MAX 4096
#define TOPO_TEXT_MAX 16384

/* Whether ranks may be bound to these CPUs. */
enum topo_use {
    TOPO_OWN,    /* the daemon's own: bound unless the user forbids it */
    TOPO_SHARED, /* shared with others: bound only if the user asks for it */
    TOPO_QUOTA,  /* a share of the time of common CPUs: never bound */
};

struct topo_pu {
    uint32_t os;             /* the kernel's number */
    uint16_t id[JOB_LEVELS]; /* of its part at each level, from 0 */
};

struct topo {
    enum topo_use use;
    uint32_t npus;
    uint32_t count[JOB_LEVELS];
    struct topo_pu *pus; /* threads of one core, NUMA node, package are adjacent */
};

/* Takes the allowed hardware threads of the topology (NULL: all). NULL: there are none, or too
 * many. */
struct topo *topo_from_hwloc(hwloc_topology_t t, hwloc_const_bitmap_t allowed, enum topo_use use,
                             struct err *err);
/* "own:0,4 1,5|2,6 3,7": hardware threads of a core between commas; before a core ' ' if it is in
 * the NUMA node of the last one, '|' in a new one, '/' in a new package, ';' in new ones of both.
 */
char *topo_text(const struct topo *t);
/* NULL: malformed. */
struct topo *topo_of_text(const char *text, struct err *err);
bool topo_text_is_own(const char *text); /* of CPUs of use TOPO_OWN; "" is not */
void topo_free(struct topo *t);

/* Number of cores or hardware threads (`unit`) in part `id` of the level. */
uint32_t topo_units(const struct topo *t, enum job_level level, uint32_t id, enum job_level unit);
/* The kernel's numbers, as an hwloc list, of all parts of the level that contain any of `pus`
 * (indexes). */
char *topo_cpus(const struct topo *t, hwloc_const_bitmap_t pus, enum job_level level);
/* The other way: the indexes of the CPUs in such a list. NULL: the text is no list, or names none
 * of them. The caller frees it. */
hwloc_bitmap_t topo_pus(const struct topo *t, const char *cpus);
/* Describes where `pus` are: "package 0 numa 1 core 2-3". */
char *topo_where(const struct topo *t, hwloc_const_bitmap_t pus);

#endif
