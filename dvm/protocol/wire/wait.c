/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a text that says what a job waits for. */
#include "dvm/protocol/wire/wait.h"

#include "base/bitmap/bitmap.h"
#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX 60

char *wait_ranks(hwloc_const_bitmap_t ranks)
{
    FREE_AUTO char *list = bitmap_list_text(ranks);
    const char *more = "";

    if (strlen(list) > LIST_MAX) {
        list[LIST_MAX] = '\0';
        *strrchr(list, ',') = '\0';
        more = ", ...";
    }
    return xasprintf("rank%s %s%s", hwloc_bitmap_weight(ranks) == 1 ? "" : "s", list, more);
}

const char *wait_collective(char kind)
{
    return kind == 'f' ? "fence" : kind == 'c' ? "connect" : kind == 'd' ? "disconnect" : "group";
}
