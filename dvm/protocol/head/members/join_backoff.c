/* SPDX-License-Identifier: BSD-3-Clause */
/* The join back-off: a daemon that crashes right after each start is admitted ever later.
 *
 * In: admissions, and ends of epochs that the DVM itself has ordered. Out: the time for which a
 * vpid that calls home has to wait.
 *
 * Each admission raises the launch fence for a moment, so a daemon in a crash loop would delay the
 * jobs of all others. An epoch shorter than JOIN_SHORT_MS is counted when the vpid calls home
 * again. After JOIN_SHORT_FREE of them in a row the pause from one admission to the next is
 * JOIN_BACKOFF_MIN_MS, doubled each time up to JOIN_BACKOFF_MAX_MS. One long epoch ends the row.
 *
 * A vpid is remembered only while its last admission can still matter, so a DVM with long epochs
 * keeps no records here. */
#include "dvm/protocol/head/members/join_backoff.h"

#include "base/heap/hash.h"
#include "dvm/protocol/wire/msg/msg.h"

#include <stdlib.h>

struct joiner { /* a vpid with a recent admission */
    uint32_t vpid;
    uint32_t nshort; /* epochs in a row that were short */
    bool counted;    /* the present one is known to have been short */
    uint64_t admitted_ms;
    UT_hash_handle hh; /* in order of admission */
};

struct join_backoff {
    struct joiner *joiners;
};

struct join_backoff *join_backoff_create(void)
{
    return xcalloc(1, sizeof(struct join_backoff));
}

static struct joiner *find_joiner(const struct join_backoff *b, uint32_t vpid)
{
    struct joiner *x;

    HASH_FIND(hh, b->joiners, &vpid, sizeof(vpid), x);
    return x;
}

static void drop_joiner(struct join_backoff *b, struct joiner *x)
{
    HASH_DEL(b->joiners, x);
    free(x);
}

void join_backoff_destroy(struct join_backoff *b)
{
    struct joiner *x, *tmp;

    if (!b)
        return;
    HASH_ITER(hh, b->joiners, x, tmp)
    {
        drop_joiner(b, x);
    }
    free(b);
}

static uint64_t pause_ms(uint32_t nshort)
{
    uint64_t ms = JOIN_BACKOFF_MIN_MS;

    if (nshort < JOIN_SHORT_FREE)
        return 0;
    for (nshort -= JOIN_SHORT_FREE; nshort && ms < JOIN_BACKOFF_MAX_MS; nshort--)
        ms *= 2;
    return ms < JOIN_BACKOFF_MAX_MS ? ms : JOIN_BACKOFF_MAX_MS;
}

uint64_t join_backoff_pause(struct join_backoff *b, uint32_t vpid, uint64_t now_ms)
{
    struct joiner *x = find_joiner(b, vpid);
    uint64_t at;

    if (!x)
        return 0;
    if (!x->counted && now_ms - x->admitted_ms < JOIN_SHORT_MS) {
        x->counted = true;
        x->nshort++;
    }
    at = x->admitted_ms + pause_ms(x->nshort);
    return at > now_ms ? at - now_ms : 0;
}

void join_backoff_admitted(struct join_backoff *b, uint32_t vpid, uint64_t now_ms)
{
    struct joiner *x = find_joiner(b, vpid);

    if (x) {
        HASH_DEL(b->joiners, x);
        x->nshort = x->counted ? x->nshort : 0;
    } else {
        x = xcalloc(1, sizeof(*x));
        x->vpid = vpid;
    }
    x->counted = false;
    x->admitted_ms = now_ms;
    HASH_ADD(hh, b->joiners, vpid, sizeof(x->vpid), x);
    while (b->joiners->admitted_ms + JOIN_SHORT_MS + JOIN_BACKOFF_MAX_MS < now_ms)
        drop_joiner(b, b->joiners);
}

void join_backoff_forget(struct join_backoff *b, uint32_t vpid)
{
    struct joiner *x = find_joiner(b, vpid);

    if (x)
        drop_joiner(b, x);
}
