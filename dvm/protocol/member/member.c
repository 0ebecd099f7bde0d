/* SPDX-License-Identifier: BSD-3-Clause */
/* The vpid table: an entry for each vpid that has been a member, and the set of vpids in the tree.
 *
 * In: broadcasts (members_add(), members_remove()), a snapshot (nidmap.c), at the head also
 * admissions and steps of campaigns (member_step()). Out: state, epoch and facts of a vpid; the
 * tree over the live ones.
 *
 * States: absent, reported, wired, draining, leaving, parked, lost (member_fsm below,
 * docs/graphs/member.md).
 *
 * Invariants: the bitmap `live` has the vpids of the tree of `version`. ADD and REMOVE
 * change a vpid only in the epoch that they name, so a repeated one changes nothing. One REMOVE
 * counts as one repair, whatever its number of targets.
 *
 * Failures: a step that is not in the table is refused, and the state stays.
 *
 * Limit: an entry has 24 bytes, since facts that members share are kept once (facts.c), and 16 for
 * its key. A pointer to an entry is valid until the next entry is made. */
#include "dvm/protocol/member/member.h"

#include "base/bitmap/bitmap.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

#define MEMBER_STATE_NAME(state, word) {MEMBER_##state, (word)},
static const struct fsm_name states[] = {MEMBER_STATE_LIST(MEMBER_STATE_NAME)};
#undef MEMBER_STATE_NAME

static const struct fsm_name events[] = {
    {MEMBER_EV_CALL, "admitted"},    {MEMBER_EV_TURN_AWAY, "turned away"},
    {MEMBER_EV_WIRE, "wired"},       {MEMBER_EV_NAME, "named by a shrink"},
    {MEMBER_EV_CANCEL, "cancelled"}, {MEMBER_EV_REMOVE, "removed"},
    {MEMBER_EV_LEFT, "has left"},    {MEMBER_EV_LOSE, "lost"}};

/* The head's steps. Other daemons use only those of broadcasts: wired, removed, lost. */
static const struct fsm_row rows[] = {
    {MEMBER_ABSENT, MEMBER_EV_CALL, MEMBER_REPORTED, 0},
    {MEMBER_REPORTED, MEMBER_EV_CALL, MEMBER_REPORTED, 0}, /* again, in another epoch */
    {MEMBER_PARKED, MEMBER_EV_CALL, MEMBER_REPORTED, 0},
    {MEMBER_LOST, MEMBER_EV_CALL, MEMBER_REPORTED, 0},
    {MEMBER_REPORTED, MEMBER_EV_TURN_AWAY, MEMBER_ABSENT, 0},
    {MEMBER_REPORTED, MEMBER_EV_LEFT, MEMBER_PARKED, 0}, /* its grow has failed */
    {MEMBER_ABSENT, MEMBER_EV_WIRE, MEMBER_WIRED, 0},
    {MEMBER_REPORTED, MEMBER_EV_WIRE, MEMBER_WIRED, 0},
    {MEMBER_LEAVING, MEMBER_EV_WIRE, MEMBER_WIRED, 0}, /* on daemons that are not the head */
    {MEMBER_LOST, MEMBER_EV_WIRE, MEMBER_WIRED, 0},
    {MEMBER_REPORTED, MEMBER_EV_NAME, MEMBER_DRAINING, 0},
    {MEMBER_WIRED, MEMBER_EV_NAME, MEMBER_DRAINING, 0},
    {MEMBER_DRAINING, MEMBER_EV_CANCEL, MEMBER_WIRED, 0},
    {MEMBER_REPORTED, MEMBER_EV_REMOVE, MEMBER_LEAVING, 0},
    {MEMBER_WIRED, MEMBER_EV_REMOVE, MEMBER_LEAVING, 0},
    {MEMBER_DRAINING, MEMBER_EV_REMOVE, MEMBER_LEAVING, 0},
    {MEMBER_LEAVING, MEMBER_EV_REMOVE, MEMBER_LEAVING, 0}, /* sent, then processed */
    {MEMBER_LEAVING, MEMBER_EV_LEFT, MEMBER_PARKED, 0},
    {MEMBER_REPORTED, MEMBER_EV_LOSE, MEMBER_LOST, 0},
    {MEMBER_WIRED, MEMBER_EV_LOSE, MEMBER_LOST, 0},
    {MEMBER_DRAINING, MEMBER_EV_LOSE, MEMBER_LOST, 0},
    {MEMBER_LEAVING, MEMBER_EV_LOSE, MEMBER_LOST, 0},
};

const struct fsm member_fsm = {.name = "member",
                               .states = states,
                               .nstates = COUNT(states),
                               .events = events,
                               .nevents = COUNT(events),
                               .rows = rows,
                               .nrows = COUNT(rows)};

int member_step(struct member *x, enum member_event ev, struct err *err)
{
    int s = (int)x->state;

    if (fsm_step(&member_fsm, &s, (int)ev, NULL, err) < 0)
        return -1;
    x->state = (uint32_t)s & 0xff;
    return 0;
}

void members_init(struct members *m, uint32_t self, uint32_t radix)
{
    memset(m, 0, sizeof(*m));
    m->self = self;
    m->radix = radix;
    m->live = bitmap_alloc();
}

void members_clear(struct members *m)
{
    free(m->tab);
    free(m->more);
    free(m->keys);
    m->tab = NULL;
    m->more = NULL;
    m->keys = NULL;
    m->n = m->cap = 0;
    facts_set_free(&m->facts);
    hwloc_bitmap_zero(m->live);
}

size_t members_bytes(const struct members *m)
{
    size_t entry =
        sizeof(*m->tab) + (m->more ? sizeof(*m->more) : 0) + (m->keys ? sizeof(*m->keys) : 0);

    return m->cap * entry + facts_set_bytes(&m->facts);
}

void members_free(struct members *m)
{
    members_clear(m);
    hwloc_bitmap_free(m->live);
    m->live = NULL;
}

struct member *members_entry(struct members *m, uint32_t vpid)
{
    return vpid < m->n && m->tab[vpid].facts != FACTS_NONE ? &m->tab[vpid] : NULL;
}

const struct member *members_get(const struct members *m, uint32_t vpid)
{
    return vpid < m->n && m->tab[vpid].facts != FACTS_NONE ? &m->tab[vpid] : NULL;
}

struct epoch members_epoch(const struct members *m, const struct member *x)
{
    return (struct epoch){facts_set_get(&m->facts, x->facts)->inc, x->ctr};
}

uint32_t members_slots(const struct members *m, const struct member *x)
{
    return facts_set_get(&m->facts, x->facts)->slots;
}

struct msg_member members_facts(const struct members *m, uint32_t vpid)
{
    const struct member *x = &m->tab[vpid];
    const struct facts *f = facts_set_get(&m->facts, x->facts);
    struct msg_member out = {.vpid = vpid,
                             .epoch = {f->inc, x->ctr},
                             .host = facts_host(f, vpid, x->value),
                             .address = facts_address(f, 0, vpid, x->value),
                             .port = f->port,
                             .slots = f->slots,
                             .key = members_key(m, vpid)};

    for (size_t i = 1; i < f->naddresses; i++)
        out.more[out.nmore++] = facts_address(f, i, vpid, members_value(m, vpid, i));
    return out;
}

char *members_host(const struct members *m, uint32_t vpid)
{
    const struct member *x = &m->tab[vpid];

    return facts_host(facts_set_get(&m->facts, x->facts), vpid, x->value);
}

uint32_t members_value(const struct members *m, uint32_t vpid, size_t i)
{
    if (i == 0)
        return m->tab[vpid].value;
    return m->more ? m->more[vpid][i - 1] : 0;
}

void members_set_value(struct members *m, uint32_t vpid, size_t i, uint32_t value)
{
    if (i == 0) {
        m->tab[vpid].value = value;
        return;
    }
    if (!m->more && value)
        m->more = xcalloc(m->cap, sizeof(*m->more));
    if (m->more)
        m->more[vpid][i - 1] = value;
}

struct key_id members_key(const struct members *m, uint32_t vpid)
{
    return m->keys && vpid < m->n ? m->keys[vpid] : (struct key_id){0, 0};
}

void members_set_key(struct members *m, uint32_t vpid, struct key_id key)
{
    if (!m->keys && !key_id_none(key))
        m->keys = xcalloc(m->cap, sizeof(*m->keys));
    if (m->keys)
        m->keys[vpid] = key;
}

void members_strip_keys(const struct members *m, struct msg_member *list, size_t n)
{
    int v = hwloc_bitmap_next(m->live, VPID_HEAD);

    while (v >= 0 && !key_id_none(members_key(m, (uint32_t)v)))
        v = hwloc_bitmap_next(m->live, v);
    for (size_t i = 0; i < n && v >= 0; i++)
        list[i].key = (struct key_id){0, 0};
}

/* The table grows by an eighth, so that little memory is unused. */
struct member *members_entries(struct members *m, uint32_t first, uint32_t count)
{
    uint32_t end = first + count;

    if (end > m->cap) {
        uint32_t cap = m->cap + m->cap / 8 + 8;

        m->cap = end < cap ? cap : end;
        m->tab = xrealloc(m->tab, m->cap * sizeof(*m->tab));
        if (m->more)
            m->more = xrealloc(m->more, m->cap * sizeof(*m->more));
        if (m->keys)
            m->keys = xrealloc(m->keys, m->cap * sizeof(*m->keys));
    }
    if (end > m->n) {
        if (m->more)
            memset(m->more + m->n, 0, (m->cap - m->n) * sizeof(*m->more));
        if (m->keys)
            memset(m->keys + m->n, 0, (m->cap - m->n) * sizeof(*m->keys));
        memset(m->tab + m->n, 0, (end - m->n) * sizeof(*m->tab));
        m->n = end;
    }
    return &m->tab[first];
}

struct member *members_put(struct members *m, const struct msg_member *facts)
{
    struct member *x = members_entries(m, facts->vpid, 1);
    uint32_t value[MEMBER_ADDRESSES_MAX] = {0};
    uint32_t old = x->facts;
    bool known = old != FACTS_NONE && epoch_eq(members_epoch(m, x), facts->epoch);

    x->facts = facts_set_take(&m->facts, facts, value);
    for (size_t i = 0; i <= facts->nmore; i++)
        members_set_value(m, facts->vpid, i, value[i]);
    facts_set_drop(&m->facts, old);
    if (!known || !key_id_none(facts->key))
        members_set_key(m, facts->vpid, facts->key);
    x->ctr = facts->epoch.ctr;
    return x;
}

bool members_live(const struct members *m, uint32_t vpid)
{
    return members_get(m, vpid) && hwloc_bitmap_isset(m->live, vpid);
}

bool members_current(const struct members *m, uint32_t vpid, struct epoch e)
{
    return members_live(m, vpid) && epoch_eq(members_epoch(m, &m->tab[vpid]), e);
}

struct tree members_tree(const struct members *m)
{
    return (struct tree){.live = m->live, .radix = m->radix};
}

uint32_t members_head(const struct members *m)
{
    const struct member *head = members_get(m, VPID_HEAD);

    return head ? (uint32_t)head->ctr : 0;
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
        if (x->state != MEMBER_REPORTED) /* the head waits until all daemons have processed it */
            (void)member_step(x, MEMBER_EV_WIRE, NULL);
        bitmap_set(m->live, list[i].vpid);
        changed++;
    }
    return changed;
}

size_t members_remove(struct members *m, const struct msg_target *list, size_t n,
                      enum member_event how)
{
    size_t changed = 0;

    for (size_t i = 0; i < n; i++) {
        if (!members_current(m, list[i].vpid, list[i].epoch))
            continue;
        bitmap_clr(m->live, list[i].vpid);
        (void)member_step(&m->tab[list[i].vpid], how, NULL);
        changed++;
    }
    if (changed)
        m->repairs++;
    return changed;
}
