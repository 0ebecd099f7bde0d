/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of heads with an upper bound.
 *
 * Limit: of the versions before the oldest head that is still in the list nothing is known. */
#include "dvm/protocol/member/heads.h"

#include <string.h>

void heads_add(struct heads *h, uint64_t ctr, uint64_t since)
{
    if (h->n == HEADS_MAX)
        memmove(h->tab, h->tab + 1, --h->n * sizeof(*h->tab));
    h->tab[h->n].ctr = ctr;
    h->tab[h->n++].since = since;
}

uint64_t heads_since_after(const struct heads *h, uint32_t known)
{
    for (size_t i = 0; i < h->n; i++) {
        if ((uint32_t)h->tab[i].ctr > known)
            return h->tab[i].since;
    }
    return UINT64_MAX;
}
