/* SPDX-License-Identifier: BSD-3-Clause */
/* The parents that removed daemons had. */
#include "dvm/protocol/head/members/departures.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>

#define TREES 4  /* the tree before the removal, and those before it */
#define CHAIN 64 /* parents of parents; more than any tree has */

struct departure { /* by vpid: its last removal */
    struct epoch epoch;
    uint32_t parents[TREES]; /* TREE_NONE: none */
};

struct departures {
    const struct members *members;
    hwloc_bitmap_t trees[TREES]; /* [0]: the latest */
    struct departure *tab;
    uint32_t n;
};

struct departures *departures_create(const struct members *members)
{
    struct departures *d = xcalloc(1, sizeof(*d));

    d->members = members;
    return d;
}

void departures_destroy(struct departures *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < TREES; i++)
        hwloc_bitmap_free(d->trees[i]);
    free(d->tab);
    free(d);
}

static void push_tree(struct departures *d)
{
    hwloc_bitmap_free(d->trees[TREES - 1]);
    for (size_t i = TREES - 1; i > 0; i--)
        d->trees[i] = d->trees[i - 1];
    d->trees[0] = bitmap_dup(d->members->live);
}

static void note_target(struct departures *d, const struct msg_target *who)
{
    struct tree t = members_tree(d->members);
    struct departure *x;

    if (who->vpid >= d->n) {
        uint32_t n = who->vpid + who->vpid / 2 + 1;

        d->tab = xrealloc(d->tab, n * sizeof(*d->tab));
        while (d->n < n)
            d->tab[d->n++] = (struct departure){0};
    }
    x = &d->tab[who->vpid];
    x->epoch = who->epoch;
    for (size_t i = 0; i < TREES; i++) {
        t.live = d->trees[i];
        x->parents[i] = t.live && hwloc_bitmap_isset(t.live, who->vpid) ? tree_parent(&t, who->vpid)
                                                                        : TREE_NONE;
    }
}

void departures_note(struct departures *d, const struct msg *op)
{
    if (op->type != MSG_ADD && op->type != MSG_REMOVE)
        return;
    push_tree(d);
    for (size_t i = 0; op->type == MSG_REMOVE && i < op->remove.ntargets; i++) {
        const struct msg_target *who = &op->remove.targets[i];

        if (members_current(d->members, who->vpid, who->epoch))
            note_target(d, who);
    }
}

void departures_succeed(struct departures *d)
{
    hwloc_bitmap_t leaving = bitmap_alloc();

    push_tree(d);
    for (uint32_t v = 1; v < d->members->n; v++) {
        const struct member *m = members_get(d->members, v);

        if (m && m->state == MEMBER_LEAVING)
            bitmap_set(leaving, v);
    }
    bitmap_or(d->trees[0], d->trees[0], leaving);
    for (int v = hwloc_bitmap_first(leaving); v != -1; v = hwloc_bitmap_next(leaving, v)) {
        const struct member *m = members_get(d->members, (uint32_t)v);

        note_target(d, &(struct msg_target){(uint32_t)v, members_epoch(d->members, m)});
    }
    hwloc_bitmap_free(leaving);
}

static const struct departure *find_departure(const struct departures *d, uint32_t vpid)
{
    return vpid < d->n && !epoch_none(d->tab[vpid].epoch) ? &d->tab[vpid] : NULL;
}

static bool is_among(const struct departure *x, uint32_t vpid)
{
    for (size_t i = 0; i < TREES; i++) {
        if (x->parents[i] == vpid)
            return true;
    }
    return false;
}

bool departures_may_report(const struct departures *d, uint32_t from, struct msg_target who)
{
    const struct departure *x = find_departure(d, who.vpid);

    if (from == VPID_HEAD)
        return true;
    if (x && !epoch_eq(x->epoch, who.epoch))
        return false;
    for (size_t i = 0; x && i < CHAIN; i++) {
        if (is_among(x, from))
            return true;
        x = find_departure(d, x->parents[0]);
    }
    return false;
}
