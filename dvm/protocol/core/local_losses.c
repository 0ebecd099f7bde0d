/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of lost ranks of any job to this daemon: each rank once.
 *
 * In: RANKS_LOST of the head. Out: OUT_RANKS_LOST, without the ranks that an earlier message named.
 *
 * A new head does not know which daemons its predecessor has notified, so it reports the losses of
 * a job that goes on again. The ranks of a job are kept until its end, or the end of this epoch. */
#include "dvm/protocol/core/local_private.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>
#include <string.h>

struct ranks_reported {
    char *nspace;
    hwloc_bitmap_t ranks;
    UT_hash_handle hh;
};

static void drop_reported(struct core *c, struct ranks_reported *r)
{
    HASH_DEL(c->reported, r);
    hwloc_bitmap_free(r->ranks);
    free(r->nspace);
    free(r);
}

static struct ranks_reported *find_reported(const struct core *c, const char *nspace)
{
    struct ranks_reported *r;

    HASH_FIND_STR(c->reported, nspace, r);
    return r;
}

static struct ranks_reported *add_reported(struct core *c, const char *nspace)
{
    struct ranks_reported *r = xcalloc(1, sizeof(*r));

    r->nspace = xstrdup(nspace);
    r->ranks = bitmap_alloc();
    HASH_ADD_KEYPTR(hh, c->reported, r->nspace, strlen(r->nspace), r);
    return r;
}

void local_losses_take(struct core *c, const struct frame *f, struct msg *m)
{
    struct msg_ranks_lost *l = &m->ranks_lost;
    struct ranks_reported *r = find_reported(c, l->nspace);
    size_t n = 0;

    if (!r)
        r = add_reported(c, l->nspace);
    for (size_t i = 0; i < l->nranks; i++) {
        if (hwloc_bitmap_isset(r->ranks, l->ranks[i].rank)) {
            free(l->ranks[i].text);
            continue;
        }
        bitmap_set(r->ranks, l->ranks[i].rank);
        l->ranks[n++] = l->ranks[i];
    }
    l->nranks = n;
    if (n == 0)
        return;
    out_add(&c->out, OUT_RANKS_LOST)->ranks_lost.lost = *l;
    *l = (struct msg_ranks_lost){0}; /* taken */
}

void local_losses_job_ended(struct core *c, const char *nspace)
{
    struct ranks_reported *r = find_reported(c, nspace);

    if (r)
        drop_reported(c, r);
}

void local_losses_free(struct core *c)
{
    struct ranks_reported *r, *tmp;

    HASH_ITER(hh, c->reported, r, tmp)
    {
        drop_reported(c, r);
    }
}
