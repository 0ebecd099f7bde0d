/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked into every fuzz target: counts the bytes of all inputs, and prints them at the end. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The linker's --wrap: libFuzzer calls the first, which passes the input on to the target's own. */
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long long bytes;

static void report_bytes(void)
{
    printf("bytes: %llu\n", bytes);
    fflush(stdout);
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool begun;

    if (!begun)
        atexit(report_bytes);
    begun = true;
    bytes += size;
    return __real_LLVMFuzzerTestOneInput(data, size);
}
