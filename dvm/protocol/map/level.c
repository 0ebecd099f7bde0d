/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the levels of a topology. */
#include "dvm/protocol/map/level.h"

const char *level_name(enum job_level level)
{
    static const char *const names[] = {"node", "package", "numa", "core", "hwthread"};

    return names[level];
}
