/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs random schedules: sim --seed S [--seeds N] [--nodes N] [--trace] [--matrix] [--mutant NAME];
 * sim --mutants lists what build/mutant/sim can do wrong. */
#include "dvm/sim/mutant.h"
#include "dvm/sim/script.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_matrix(const struct script_result *r)
{
    for (unsigned p = 0; p < PHASES; p++) {
        for (unsigned f = 0; f < FAULTS; f++) {
            printf("%-9s %-10s", script_phase_name(p), script_fault_name(f));
            for (unsigned j = 0; j < JOBS_KINDS; j++)
                printf("  %s %llu", script_jobs_name(j), (unsigned long long)r->matrix[p][f][j]);
            printf("\n");
        }
    }
}

static int run(const struct script_opts *first, uint64_t n, bool matrix)
{
    struct script_opts o = *first;
    struct script_result r;
    uint64_t failures = 0;

    memset(&r, 0, sizeof r);
    for (uint64_t i = 0; i < n; i++, o.seed++) {
        script_run(&o, &r);
        if (!*r.name)
            continue;
        failures++;
        printf("seed %llu: %s at %llu ms: %s\n", (unsigned long long)o.seed, r.name,
               (unsigned long long)r.at_ms, r.text);
        fflush(stdout);
    }
    printf("%llu schedules from seed %llu: %llu jobs, %llu campaigns, %llu faults, %llu failed\n",
           (unsigned long long)n, (unsigned long long)first->seed, (unsigned long long)r.jobs,
           (unsigned long long)r.campaigns, (unsigned long long)r.faults,
           (unsigned long long)failures);
    printf("%llu holds at the map boundary, %llu at the launch boundary, %llu jobs mapped anew\n",
           (unsigned long long)r.held_map, (unsigned long long)r.held_launch,
           (unsigned long long)r.remapped);
    if (matrix)
        print_matrix(&r);
    return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},  {"seeds", required_argument, NULL, 'n'},
        {"nodes", required_argument, NULL, 'v'}, {"trace", no_argument, NULL, 't'},
        {"matrix", no_argument, NULL, 'm'},      {"mutant", required_argument, NULL, 'M'},
        {"mutants", no_argument, NULL, 'L'},     {NULL, 0, NULL, 0}};
    struct err err = {0};
    struct script_opts o = {.seed = 1};
    uint64_t n = 1;
    const char *mutant = NULL;
    bool matrix = false;
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 's')
            o.seed = strtoull(optarg, NULL, 10);
        else if (opt == 'n')
            n = strtoull(optarg, NULL, 10);
        else if (opt == 'v')
            o.nodes = (uint32_t)strtoul(optarg, NULL, 10);
        else if (opt == 't')
            o.trace = true;
        else if (opt == 'm')
            matrix = true;
        else if (opt == 'M')
            mutant = optarg;
        else if (opt == 'L')
            mutant_list();
        else
            return 2;
        if (opt == 'L')
            return 0;
    }
    if (mutant_choose(mutant, &err) < 0) {
        fprintf(stderr, "sim: %s\n", err.msg);
        return 2;
    }
    if (o.nodes == 1 || o.nodes > 2048) {
        fprintf(stderr, "sim: --nodes takes 2 to 2048\n");
        return 2;
    }
    return run(&o, n, matrix);
}
