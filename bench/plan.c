/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures one plan of the operator for a DvmCluster of many members: settled, with a changed
 * template, and with all daemons parked. */
#include "bench/figures.h"
#include "operator/plan/test/large.h"

#include <stdio.h>

#define RUNS 9

static void measure_plan(const char *what, uint32_t members, void (*change)(struct large *l))
{
    double ms[RUNS];
    size_t looks = 0, actions = 0;
    struct large l;

    large_settle(&l, members);
    if (change)
        change(&l);
    for (int i = 0; i < RUNS; i++) {
        double begun = now_ms();
        PLAN_AUTO struct plan *p = plan_make(&l.in);

        ms[i] = now_ms() - begun;
        looks = p->looks;
        actions = p->n;
    }
    sort_doubles(ms, RUNS);
    printf("{\"bench\": \"operator-plan\", \"members\": %u, \"state\": \"%s\", \"ms\": %.3f, "
           "\"looks\": %zu, \"actions\": %zu}\n",
           members, what, quantile(ms, RUNS, 0.5), looks, actions);
    large_free(&l);
}

static void park_outdated(struct large *l)
{
    large_outdate(l);
    large_park(l);
}

int main(void)
{
    static const uint32_t sizes[] = {4000, 16384, CLUSTER_MEMBERS_MAX};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        measure_plan("settled", sizes[i], NULL);
        measure_plan("changed template", sizes[i], large_outdate);
        measure_plan("parked, changed template", sizes[i], park_outdated);
    }
    return 0;
}
