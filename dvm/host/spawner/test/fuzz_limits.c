/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the variable with a job's limits: what is accepted is within the ranges, and the
 * same after it was written and read again. */
#include "base/buf/buf.h"
#include "dvm/host/spawner/limits.h"
#include "dvm/protocol/wire/test/reached.h"

#include <stdlib.h>
#include <string.h>

enum { MALFORMED, ACCEPTED };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct limits *l)
{
    FREE_AUTO char *text = limits_encode(l);
    struct limits again = {.umask = 0};

    if (!limits_decode(text + strlen(LIMITS_VARIABLE "="), &again) || again.umask != l->umask ||
        memcmp(again.of, l->of, sizeof(l->of)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FREE_AUTO char *text = xmalloc(size + 1);
    struct limits l = {.umask = 0};
    bool ok;

    memcpy(text, data, size);
    text[size] = '\0';
    ok = limits_decode(text, &l);
    reached(ok ? ACCEPTED : MALFORMED);
    if (!ok)
        return 0;
    for (size_t i = 0; i < LIMITS_COUNT; i++) {
        if (l.of[i].rlim_cur > l.of[i].rlim_max)
            abort();
    }
    if (l.umask > 0777)
        abort();
    check_again(&l);
    return 0;
}

static const char *name(unsigned type)
{
    static const char *const names[] = {"MALFORMED", "ACCEPTED"};

    return type < sizeof(names) / sizeof(*names) ? names[type] : "?";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    reached_start(2, name);
    return 0;
}
