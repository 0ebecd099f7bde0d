/* SPDX-License-Identifier: BSD-3-Clause */
/* Joiners that live shortly, again and again: each further life is admitted later, so that they do
 * not keep the fence up. */
#include "dvm/protocol/head/head_private.h"
#include "dvm/protocol/wire/mutant.h"

#include <stdlib.h>

struct joiner { /* of a vpid that was admitted not long ago */
    uint32_t vpid;
    uint32_t nshort; /* lives in a row that were short */
    bool counted;    /* the present one is known to have been short */
    uint64_t admitted_ms;
    UT_hash_handle hh; /* in order of admission */
};

static struct joiner *find(const struct head *l, uint32_t vpid)
{
    struct joiner *x;

    HASH_FIND(hh, l->join_backoff, &vpid, sizeof vpid, x);
    return x;
}

static void drop(struct head *l, struct joiner *x)
{
    HASH_DEL(l->join_backoff, x);
    free(x);
}

static uint64_t pause_ms(uint32_t nshort)
{
    uint64_t ms = HEAD_BACKOFF_MIN_MS;

    if (nshort < HEAD_SHORT_LIVES_FREE || MUTANT(NO_BACKOFF))
        return 0;
    for (nshort -= HEAD_SHORT_LIVES_FREE; nshort && ms < HEAD_BACKOFF_MAX_MS; nshort--)
        ms *= 2;
    return ms < HEAD_BACKOFF_MAX_MS ? ms : HEAD_BACKOFF_MAX_MS;
}

/* How long a vpid that calls home now has to wait for its admission; 0: it need not. */
uint64_t join_backoff_pause(struct head *l, uint32_t vpid)
{
    struct joiner *x = find(l, vpid);
    uint64_t now = l->out->now_ms;
    uint64_t at;

    if (!x)
        return 0;
    if (!x->counted && now - x->admitted_ms < HEAD_LIFE_SHORT_MS) {
        x->counted = true;
        x->nshort++;
    }
    at = x->admitted_ms + pause_ms(x->nshort);
    return at > now ? at - now : 0;
}

/* Kept for as long as it can matter, so that a DVM whose members live long keeps nothing. */
void join_backoff_admitted(struct head *l, uint32_t vpid)
{
    struct joiner *x = find(l, vpid);
    uint64_t now = l->out->now_ms;

    if (x) {
        HASH_DEL(l->join_backoff, x);
        x->nshort = x->counted ? x->nshort : 0;
    } else {
        x = xcalloc(1, sizeof *x);
        x->vpid = vpid;
    }
    x->counted = false;
    x->admitted_ms = now;
    HASH_ADD(hh, l->join_backoff, vpid, sizeof x->vpid, x);
    while (l->join_backoff->admitted_ms + HEAD_LIFE_SHORT_MS + HEAD_BACKOFF_MAX_MS < now)
        drop(l, l->join_backoff);
}

/* Its life ends because the DVM wants it to. */
void join_backoff_forget(struct head *l, uint32_t vpid)
{
    struct joiner *x = find(l, vpid);

    if (x)
        drop(l, x);
}

void join_backoff_free(struct head *l)
{
    struct joiner *x, *tmp;

    HASH_ITER(hh, l->join_backoff, x, tmp)
    {
        drop(l, x);
    }
}
