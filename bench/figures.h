/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bench programs share: a clock, quantiles, and the memory of a process. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stddef.h>

double now_ms(void); /* monotonic */
double cpu_ms(void); /* of this thread */
void sort_doubles(double *v, size_t n);
/* Of sorted values; q in 0..1; 0 if there are none. */
double quantile(const double *v, size_t n, double q);
/* A field of /proc/self/smaps_rollup, "Rss:", "Pss:", "Private_Dirty:"; in KiB, 0 if unknown. */
long self_kib(const char *field);
double heap_bytes(void); /* that are allocated */
void use_cpu(int cpu);   /* this one alone, if there is one of this number */

#endif
