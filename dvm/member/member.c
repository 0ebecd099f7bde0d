/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table and its compressed form, the nidmap. */
#include "dvm/member/member.h"

#include "dvm/wire/mutant.h"

#include <stdlib.h>
#include <string.h>

void members_init(struct members *m, uint32_t self, uint32_t radix)
{
    memset(m, 0, sizeof *m);
    m->self = self;
    m->radix = radix;
    m->live = hwloc_bitmap_alloc();
}

static void clear_entries(struct members *m)
{
    for (uint32_t v = 0; v < m->n; v++) {
        if (m->tab[v])
            msg_member_free(&m->tab[v]->facts);
        free(m->tab[v]);
    }
    free(m->tab);
    m->tab = NULL;
    m->n = 0;
    hwloc_bitmap_zero(m->live);
}

void members_free(struct members *m)
{
    clear_entries(m);
    hwloc_bitmap_free(m->live);
    m->live = NULL;
}

struct member *members_get(const struct members *m, uint32_t vpid)
{
    return vpid < m->n ? m->tab[vpid] : NULL;
}

static void grow_table(struct members *m, uint32_t vpid)
{
    uint32_t n = m->n ? m->n : 8;

    if (vpid < m->n)
        return;
    while (n <= vpid)
        n *= 2;
    m->tab = xrealloc(m->tab, n * sizeof *m->tab);
    memset(m->tab + m->n, 0, (n - m->n) * sizeof *m->tab);
    m->n = n;
}

struct member *members_put(struct members *m, const struct msg_member *facts)
{
    struct member *x;

    grow_table(m, facts->vpid);
    x = m->tab[facts->vpid];
    if (!x)
        x = m->tab[facts->vpid] = xcalloc(1, sizeof *x);
    else
        msg_member_free(&x->facts);
    msg_member_copy(&x->facts, facts);
    return x;
}

bool members_live(const struct members *m, uint32_t vpid)
{
    return vpid < m->n && m->tab[vpid] && hwloc_bitmap_isset(m->live, vpid);
}

bool members_current(const struct members *m, uint32_t vpid, struct epoch e)
{
    return members_live(m, vpid) && epoch_eq(m->tab[vpid]->facts.epoch, e);
}

struct tree members_tree(const struct members *m)
{
    return (struct tree){.live = m->live,
                         .radix = m->radix + (MUTANT(TREE_HISTORY) && m->repairs ? 1 : 0)};
}

uint32_t members_parent(const struct members *m)
{
    struct tree t = members_tree(m);

    return members_live(m, m->self) ? tree_parent(&t, m->self) : TREE_NONE;
}

size_t members_add(struct members *m, const struct msg_member *list, size_t n)
{
    size_t changed = 0;

    for (size_t i = 0; i < n; i++) {
        struct member *x;

        if (members_current(m, list[i].vpid, list[i].epoch))
            continue;
        x = members_put(m, &list[i]);
        x->state = MEMBER_WIRED;
        hwloc_bitmap_set(m->live, list[i].vpid);
        changed++;
    }
    return changed;
}

size_t members_remove(struct members *m, const struct msg_target *list, size_t n,
                      enum member_state to)
{
    size_t changed = 0;

    for (size_t i = 0; i < n; i++) {
        if (!members_current(m, list[i].vpid, list[i].epoch))
            continue;
        hwloc_bitmap_clr(m->live, list[i].vpid);
        m->tab[list[i].vpid]->state = to;
        changed++;
        if (MUTANT(REPAIR_PER_TARGET))
            m->repairs++;
    }
    if (changed)
        m->repairs++;
    return changed;
}

struct msg_member *members_nidmap(const struct members *m, size_t *n)
{
    struct msg_member *list = xcalloc((size_t)hwloc_bitmap_weight(m->live) + 1, sizeof *list);
    unsigned v;

    *n = 0;
    hwloc_bitmap_foreach_begin(v, m->live)
    {
        list[(*n)++] = m->tab[v]->facts;
    }
    hwloc_bitmap_foreach_end();
    return list;
}

void members_replace(struct members *m, const struct msg_member *list, size_t n)
{
    clear_entries(m);
    members_add(m, list, n);
}

const char *member_state_name(enum member_state s)
{
    static const char *const names[] = {"absent",  "reported", "wired", "draining",
                                        "leaving", "parked",   "lost"};

    return names[s];
}
