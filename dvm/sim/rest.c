/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the jobs and campaigns at a head. A schedule is at rest when there are none. */
#include "dvm/sim/rest.h"

#include "dvm/protocol/core/core_inspect.h"

static void rest_job(void *arg, const struct job_look *j)
{
    ((struct rest *)arg)->jobs++;
}

static void rest_campaign(void *arg, const struct resize_campaign *c)
{
    ((struct rest *)arg)->campaigns += !api_phase_terminal(c->phase);
}

struct rest rest_look(const struct core *head)
{
    struct rest r = {0, 0};

    jobs_each(head_jobs(core_inspect_head(head)), rest_job, &r);
    resize_each_campaign(head_resize(core_inspect_head(head)), rest_campaign, &r);
    return r;
}
