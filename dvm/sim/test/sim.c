/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs random schedules; `sim --help` describes it. A schedule depends on the seed and on --nodes
 * only, so each failure is printed with the command that repeats it. */
#include "base/heap/heap.h"
#include "dvm/sim/mutant.h"
#include "dvm/sim/script.h"

#include "dvm/sim/test/explain.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 256

struct run {
    uint64_t seed, seeds;
    uint32_t nodes, nodes_max; /* 0: by the seed, 3..25; 3..nodes_max */
    uint32_t jobs;             /* processes */
    bool trace, matrix, disk, keepers;
};

struct outcome {
    struct script_result sum;
    uint64_t schedules, failures;
    uint32_t most; /* daemons in one schedule */
};

static int usage(FILE *f)
{
    fprintf(
        f, "sim --seed S [--seeds N] [--nodes N | --nodes-max N] [--jobs N] [--trace] [--matrix]\n"
           "    [--disk | --keepers] [--mutant NAME]\n"
           "sim --mutants\n\n"
           "Runs the schedules of seeds S..S+N-1 in so many processes, each with N daemons, or\n"
           "3..N by its seed (3..25). --matrix prints campaign phase x fault x jobs, and fails if\n"
           "one was never met; with --keepers it fails if one kind of a head's end never came.\n"
           "--disk runs only those schedules whose head has a disk, --keepers those in which\n"
           "members keep its records.\n"
           "--mutant makes a deliberate mistake (build/mutant/sim; --mutants lists them).\n");
    return f == stdout ? 0 : 2;
}

/* Another sequence than that of the schedule itself. */
static uint32_t nodes_of(const struct run *r, uint64_t seed)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ull;

    if (!r->nodes_max)
        return r->nodes;
    return 3 + (uint32_t)((x ^ (x >> 29)) % (r->nodes_max - 2));
}

/* --- one process: every `jobs`th seed from the k-th on */

static void one_seed(const struct run *r, uint64_t seed, struct outcome *out)
{
    struct script_opts o = {
        .seed = seed, .nodes = nodes_of(r, seed), .trace = r->trace, .keepers = r->keepers};

    script_run(&o, &out->sum);
    out->schedules++;
    out->most = out->sum.nodes > out->most ? out->sum.nodes : out->most;
    if (!*out->sum.name)
        return;
    out->failures++;
    if (r->trace)
        printf("seed %llu: %s at %llu ms: %s\n", (unsigned long long)seed, out->sum.name,
               (unsigned long long)out->sum.at_ms, out->sum.text);
    else
        explain(&o, &out->sum);
    fflush(stdout);
}

static void part(const struct run *r, uint32_t k, struct outcome *out)
{
    for (uint64_t i = k; i < r->seeds; i += r->jobs) {
        if ((!r->disk || heir_has_disk(r->seed + i)) &&
            (!r->keepers || heir_has_keepers(r->seed + i)))
            one_seed(r, r->seed + i, out);
    }
}

/* --- several processes */

static int start_part(const struct run *r, uint32_t k)
{
    struct outcome out;
    int fd[2];
    pid_t pid;

    if (pipe(fd) < 0)
        return -1;
    pid = fork();
    if (pid != 0) {
        close(fd[1]);
        return pid < 0 ? -1 : fd[0];
    }
    memset(&out, 0, sizeof(out));
    part(r, k, &out);
    _exit(write(fd[1], &out, sizeof(out)) == (ssize_t)sizeof(out) ? 0 : 1);
}

/* False if the process ended without a result. */
static bool take_part(int fd, struct outcome *sum)
{
    struct outcome x;
    ssize_t n = read(fd, &x, sizeof(x)); /* less than a pipe holds, written at once */

    close(fd);
    if (n != (ssize_t)sizeof(x))
        return false;
    script_add(&sum->sum, &x.sum);
    sum->schedules += x.schedules;
    sum->failures += x.failures;
    sum->most = x.most > sum->most ? x.most : sum->most;
    return true;
}

static bool in_parts(const struct run *r, struct outcome *sum)
{
    int fds[JOBS_MAX];
    bool ok = true;

    fflush(stdout);
    for (uint32_t k = 0; k < r->jobs; k++)
        fds[k] = start_part(r, k);
    for (uint32_t k = 0; k < r->jobs; k++) {
        if (fds[k] < 0 || !take_part(fds[k], sum)) {
            printf("sim: process %u of %u has ended without a result\n", k + 1, r->jobs);
            ok = false;
        }
    }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return ok;
}

/* --- the report at the end */

/* Of all faults, FAULT_NONE is none. */
static uint64_t count_faults(const struct script_result *r, unsigned p, unsigned j)
{
    uint64_t n = 0;

    for (unsigned f = FAULT_NONE + 1; f < FAULTS; f++)
        n += r->matrix[p][f][j];
    return n;
}

/* Prints the cells that need not be met, with the reason. False if no fault at all came in the
 * phase of a rare cell. */
static bool print_exceptions(const struct script_result *r)
{
    bool met = true;

    printf("cells that cannot be met:\n");
    for (unsigned p = 0; p < PHASES; p++) {
        for (unsigned j = 0; j < JOBS_KINDS; j++) {
            const char *impossible = script_impossible(p, FAULT_NONE, j);
            const char *rare = script_rare(p, j);
            uint64_t n = count_faults(r, p, j);

            if (impossible)
                printf("  %s, jobs %s: %s\n", script_phase_name(p), script_jobs_name(j),
                       impossible);
            if (rare)
                printf("  (rarely) %s, jobs %s: %s; %llu faults of all kinds%s\n",
                       script_phase_name(p), script_jobs_name(j), rare, (unsigned long long)n,
                       n ? "" : " (EMPTY)");
            met &= !rare || n > 0;
        }
    }
    return met;
}

/* False if a possible cell is empty, an impossible one is not, or all rare ones of a phase are
 * empty. */
static bool print_matrix(const struct script_result *r)
{
    bool full = true;

    for (unsigned p = 0; p < PHASES; p++) {
        for (unsigned f = 0; f < FAULTS; f++) {
            printf("%-9s %-10s", script_phase_name(p), script_fault_name(f));
            for (unsigned j = 0; j < JOBS_KINDS; j++) {
                bool never = script_impossible(p, f, j) != NULL;
                uint64_t n = r->matrix[p][f][j];

                bool right = never == (n == 0) || script_rare(p, j);

                full &= right;
                printf("  %s %llu%s", script_jobs_name(j), (unsigned long long)n,
                       right ? ""
                       : n   ? " (NOT IMPOSSIBLE)"
                             : " (EMPTY)");
            }
            printf("\n");
        }
    }
    return print_exceptions(r) && full;
}

/* False if one kind was never drawn. */
static bool print_outages(const struct script_result *r)
{
    bool all = r->spawned > 0;

    printf("outages:");
    for (unsigned k = 0; k < OUTAGES; k++) {
        printf(" %s %llu,", outage_name(k), (unsigned long long)r->outages[k]);
        all &= r->outages[k] > 0;
    }
    printf(" jobs of jobs %llu\n", (unsigned long long)r->spawned);
    return all;
}

/* False if one of the first n kinds was never drawn. */
static bool print_heirs(const struct script_result *r, unsigned n)
{
    bool all = true;

    printf("ends of a head with records:");
    for (unsigned k = 0; k < HEIR_KINDS; k++) {
        printf("%s %s %llu", k ? "," : "", heir_name(k), (unsigned long long)r->heirs[k]);
        all &= r->heirs[k] > 0 || k >= n;
    }
    printf("\n");
    return all;
}

/* False if one kind was never drawn, or no head began with the records of a volume. */
static bool print_volumes(const struct script_result *r)
{
    bool all = r->taken > 0;

    printf("volumes beside keepers:");
    for (unsigned k = 0; k < VOLUME_KINDS; k++) {
        printf(" %s %llu,", volume_name(k), (unsigned long long)r->volumes[k]);
        all &= r->volumes[k] > 0;
    }
    printf(" taken by a new head %llu\n", (unsigned long long)r->taken);
    return all;
}

/* Few schedules with keepers have one of the other faults. */
static bool print_met(const struct run *r, const struct script_result *sum)
{
    bool met = print_outages(sum);

    if (r->keepers) {
        met = print_heirs(sum, HEIR_KINDS);
        met &= print_volumes(sum);
    } else {
        met &= print_heirs(sum, HEIR_KEEPER);
        if (r->matrix)
            met &= print_matrix(sum);
    }
    return met;
}

static int run(const struct run *r)
{
    struct outcome out;
    bool ok = true;

    memset(&out, 0, sizeof(out));
    if (r->jobs > 1)
        ok = in_parts(r, &out);
    else
        part(r, 0, &out);
    printf("%llu schedules, seeds %llu to %llu, up to %u daemons: %llu jobs, %llu campaigns, %llu "
           "requests, %llu faults, %llu failed\n",
           (unsigned long long)out.schedules, (unsigned long long)r->seed,
           (unsigned long long)(r->seed + r->seeds - 1), out.most, (unsigned long long)out.sum.jobs,
           (unsigned long long)out.sum.campaigns, (unsigned long long)out.sum.asks,
           (unsigned long long)out.sum.faults, (unsigned long long)out.failures);
    printf("%llu holds at the map boundary, %llu at the launch boundary, %llu jobs mapped anew\n",
           (unsigned long long)out.sum.held_map, (unsigned long long)out.sum.held_launch,
           (unsigned long long)out.sum.remapped);
    if (!print_met(r, &out.sum) && r->matrix) {
        printf("sim: the matrix is not as it has to be\n");
        ok = false;
    }
    return ok && out.failures == 0 ? 0 : 1;
}

/* --- the command line */

static int number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *n)
{
    char *end;

    errno = 0;
    *n = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno && *n >= min && *n <= max)
        return 0;
    fprintf(stderr, "sim: --%s takes %llu to %llu\n", name, (unsigned long long)min,
            (unsigned long long)max);
    return -1;
}

static int option(struct run *r, int opt, const char *arg, const char **mutant)
{
    uint64_t n = 0;
    int rc = 0;

    switch (opt) {
    case 's':
        return number("seed", arg, 0, UINT64_MAX, &r->seed);
    case 'n':
        return number("seeds", arg, 1, UINT64_MAX, &r->seeds);
    case 'v':
        rc = number("nodes", arg, 2, 2048, &n);
        r->nodes = (uint32_t)n;
        return rc;
    case 'x':
        rc = number("nodes-max", arg, 3, 2048, &n);
        r->nodes_max = (uint32_t)n;
        return rc;
    case 'j':
        rc = number("jobs", arg, 1, JOBS_MAX, &n);
        r->jobs = (uint32_t)n;
        return rc;
    case 't':
        r->trace = true;
        return 0;
    case 'm':
        r->matrix = true;
        return 0;
    case 'd':
        r->disk = true;
        return 0;
    case 'k':
        r->keepers = true;
        return 0;
    case 'M':
        *mutant = arg;
        return 0;
    default:
        return usage(stderr);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"seed", required_argument, NULL, 's'},
                                            {"seeds", required_argument, NULL, 'n'},
                                            {"nodes", required_argument, NULL, 'v'},
                                            {"nodes-max", required_argument, NULL, 'x'},
                                            {"jobs", required_argument, NULL, 'j'},
                                            {"trace", no_argument, NULL, 't'},
                                            {"matrix", no_argument, NULL, 'm'},
                                            {"disk", no_argument, NULL, 'd'},
                                            {"mutant", required_argument, NULL, 'M'},
                                            {"mutants", no_argument, NULL, 'L'},
                                            {"keepers", no_argument, NULL, 'k'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct run r = {.seed = 1, .seeds = 1, .jobs = 1};
    const char *mutant = NULL;
    struct err err = {0};
    int opt;

    heap_guard_json();
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'L')
            mutant_list();
        if (opt == 'h')
            usage(stdout);
        if (opt == 'L' || opt == 'h')
            return 0;
        if (option(&r, opt, optarg, &mutant) != 0)
            return 2;
    }
    if (optind < argc || (r.nodes && r.nodes_max) || (r.trace && r.jobs > 1))
        return usage(stderr);
    if (r.seeds - 1 > UINT64_MAX - r.seed) {
        fprintf(stderr, "sim: the last seed would be above 64 bits\n");
        return 2;
    }
    if (mutant_choose(mutant, &err) < 0) {
        fprintf(stderr, "sim: %s\n", err.msg);
        return 2;
    }
    return run(&r);
}
