/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the levels of a topology. Separate from topo.h, so that tools need no hwloc.
 * Pure. */
#ifndef DVM_MAP_LEVEL_H
#define DVM_MAP_LEVEL_H

#include "dvm/protocol/wire/job.h"

/* The word of --map-by and --bind-to for a level: "numa". Static storage. */
const char *level_name(enum job_level level);

#endif
