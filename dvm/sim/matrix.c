/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of what schedules have met: phase of a campaign, fault, state of jobs. */
#include "dvm/sim/script.h"

#include <stddef.h>

void script_add(struct script_result *to, const struct script_result *r)
{
    to->jobs += r->jobs;
    to->campaigns += r->campaigns;
    to->faults += r->faults;
    to->held_map += r->held_map;
    to->held_launch += r->held_launch;
    to->remapped += r->remapped;
    for (unsigned p = 0; p < PHASES; p++) {
        for (unsigned f = 0; f < FAULTS; f++) {
            for (unsigned j = 0; j < JOBS_KINDS; j++)
                to->matrix[p][f][j] += r->matrix[p][f][j];
        }
    }
}

const char *script_impossible(enum script_phase p, enum script_fault f, enum script_jobs j)
{
    if (p == PHASE_NONE && j == JOBS_HELD)
        return "without a campaign the fence is down, and nothing holds a job";
    if (p == PHASE_DRAINING && j == JOBS_NONE)
        return "a shrink drains only while a job runs on its targets";
    return NULL;
}

const char *script_phase_name(enum script_phase p)
{
    static const char *const names[] = {"none",    "draining",  "removing",
                                        "growing", "gathering", "wiring"};

    return names[p];
}

const char *script_fault_name(enum script_fault f)
{
    static const char *const names[] = {"none", "break",     "half-break", "crash", "vanish",
                                        "stop", "partition", "restart",    "head",  "late-frame"};

    return names[f];
}

const char *script_jobs_name(enum script_jobs j)
{
    static const char *const names[] = {"none", "held", "queued", "running"};

    return names[j];
}
