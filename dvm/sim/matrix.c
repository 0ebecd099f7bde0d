/* SPDX-License-Identifier: BSD-3-Clause */
/* The matrix of situations that schedules have met: phase of a campaign, fault, state of jobs. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/script.h"

#include <stddef.h>

static void see_campaign(void *arg, const struct resize_campaign *c)
{
    struct script_seen *x = arg;

    if (c->phase == API_PHASE_WIRING || c->phase == API_PHASE_ROLLING_BACK)
        x->phase = PHASE_WIRING;
    else if (c->phase == API_PHASE_REMOVING)
        x->phase = PHASE_REMOVING;
    else if (c->phase == API_PHASE_DRAINING && x->phase == PHASE_NONE)
        x->phase = PHASE_DRAINING;
    else if (c->phase == API_PHASE_GATHERING && x->phase == PHASE_NONE)
        x->phase = PHASE_GATHERING;
}

static void see_job(void *arg, const struct job_look *j)
{
    struct script_seen *x = arg;
    enum script_jobs kind = j->state == JOB_WAITING_FOR_DAEMONS ? JOBS_HELD
                            : j->queued                         ? JOBS_QUEUED
                            : j->sent                           ? JOBS_RUNNING
                                                                : JOBS_NONE;

    if (kind != JOBS_NONE)
        x->jobs[kind] = true;
}

struct script_seen script_look(const struct core *head)
{
    struct script_seen x = {.phase = PHASE_NONE};

    resize_each_campaign(head_resize(core_inspect_head(head)), see_campaign, &x);
    jobs_each(head_jobs(core_inspect_head(head)), see_job, &x);
    if (x.phase == PHASE_NONE && resize_growing(head_resize(core_inspect_head(head))))
        x.phase = PHASE_GROWING;
    x.jobs[JOBS_NONE] = !x.jobs[JOBS_HELD] && !x.jobs[JOBS_QUEUED] && !x.jobs[JOBS_RUNNING];
    return x;
}

void script_add_stats(struct script_result *to, const struct core *head)
{
    struct core_stats x;

    if (!head)
        return;
    x = core_stats(head);
    to->held_map += x.held_map;
    to->held_launch += x.held_launch;
    to->remapped += x.remapped;
}

void script_add(struct script_result *to, const struct script_result *r)
{
    to->jobs += r->jobs;
    to->campaigns += r->campaigns;
    to->asks += r->asks;
    to->faults += r->faults;
    to->held_map += r->held_map;
    to->held_launch += r->held_launch;
    to->remapped += r->remapped;
    to->spawned += r->spawned;
    for (unsigned k = 0; k < OUTAGES; k++)
        to->outages[k] += r->outages[k];
    for (unsigned k = 0; k < HEIR_KINDS; k++)
        to->heirs[k] += r->heirs[k];
    for (unsigned k = 0; k < VOLUME_KINDS; k++)
        to->volumes[k] += r->volumes[k];
    to->taken += r->taken;
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
    return NULL;
}

const char *script_rare(enum script_phase p, enum script_jobs j)
{
    if (p == PHASE_DRAINING && j == JOBS_NONE)
        return "without a job a shrink drains only until its targets have acknowledged the last "
               "one";
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
    static const char *const names[] = {"none",   "break",      "half-break", "crash",
                                        "vanish", "stop",       "partition",  "restart",
                                        "head",   "late-frame", "link"};

    return names[f];
}

const char *script_jobs_name(enum script_jobs j)
{
    static const char *const names[] = {"none", "held", "queued", "running"};

    return names[j];
}
