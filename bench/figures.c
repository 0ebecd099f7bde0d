/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock, quantiles, and the memory of a process. */
#include "bench/figures.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double clock_ms(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

double now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

double cpu_ms(void)
{
    return clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

void sort_doubles(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_value);
}

double quantile(const double *v, size_t n, double q)
{
    return n ? v[(size_t)(q * (double)(n - 1) + 0.5)] : 0;
}

long self_kib(const char *field)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "re");
    char line[256];
    long kib = 0;

    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, field, strlen(field)) == 0)
            kib = strtol(line + strlen(field), NULL, 10);
    }
    if (f)
        fclose(f);
    return kib;
}

double heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (double)(m.uordblks + m.hblkhd);
}

void use_cpu(int cpu)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
}
