/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target of the text about a daemon's CPUs: accepted text survives being written and read
 * again; refused text gives a reason. */
#include "dvm/protocol/map/topo.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parts(const struct topo *t)
{
    for (uint32_t i = 0; i < t->npus; i++) {
        for (int level = 0; level < JOB_LEVELS; level++) {
            if (t->pus[i].id[level] >= t->count[level])
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FREE_AUTO char *text = xasprintf("%.*s", size < TOPO_TEXT_MAX ? (int)size : TOPO_TEXT_MAX,
                                     size ? (const char *)data : "");
    struct err err = {0};
    struct topo *t = topo_of_text(text, &err);
    struct topo *again;

    if (!t) {
        if (!*err.msg)
            abort();
        return 0;
    }
    check_parts(t);
    FREE_AUTO char *once = topo_text(t);
    again = topo_of_text(once, NULL);
    if (!again)
        abort();
    FREE_AUTO char *twice = topo_text(again);
    if (strcmp(once, twice) != 0 || memcmp(t->pus, again->pus, t->npus * sizeof(*t->pus)) != 0)
        abort();
    topo_free(t);
    topo_free(again);
    return 0;
}
