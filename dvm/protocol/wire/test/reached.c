/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts per type, printed when the program ends; ci/fuzz.sh looks for "not reached". */
#include "dvm/protocol/wire/test/reached.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPES_MAX 256

static struct {
    unsigned types;
    const char *(*name)(unsigned type);
    unsigned long seen[TYPES_MAX];
} state;

static void report(void)
{
    unsigned n = 0;
    unsigned all = 0;

    for (unsigned t = 0; t < state.types; t++) {
        if (*state.name(t) == '?')
            continue;
        all++;
        n += state.seen[t] > 0;
        printf("type %s %s %lu\n", state.seen[t] ? "reached" : "not reached", state.name(t),
               state.seen[t]);
    }
    printf("types: %u of %u reached\n", n, all);
    fflush(stdout);
}

void reached_start(unsigned types, const char *(*name)(unsigned type))
{
    state.types = types < TYPES_MAX ? types : TYPES_MAX;
    state.name = name;
    atexit(report);
}

void reached(unsigned type)
{
    if (type < TYPES_MAX)
        state.seen[type]++;
}
