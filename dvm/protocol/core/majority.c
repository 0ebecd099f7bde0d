/* SPDX-License-Identifier: BSD-3-Clause */
/* A new head that finds no records goes on with what most members know of the DVM.
 *
 *     member                          new head
 *       |  (it waits for the answer to HELLO; it keeps no records)
 *       |<-------- RECORDS_ASK (table) ---|  MAJORITY_MS after the first call, without a keeper
 *       |-- TABLE ----------------------->|
 *       |                                 |  its time has passed: the head begins
 *
 * In: TABLE of callers: the members with their epochs, the version, the links below the caller.
 * Out: the record MEMBERS, which takes the place of lost records.
 *
 * A table is taken if
 *   - two callers have the same one (one caller, if the DVM has one member),
 *   - most of its members are here: they have called, or are linked below one that has,
 *   - and most callers agree with it: they are in it, and have seen no later version.
 * Of several such tables the latest counts: by the epoch of its head, then by its version. A member
 * that has seen more is refused later, and joins anew. None is taken if two callers have another
 * table of the same head and version: one of the two is forged.
 *
 * Equal tables are kept once. A table that would pass MAJORITY_BYTES_MAX is not taken: its caller
 * counts as one without a table.
 *
 * Members know their epochs, hosts and slots, and the version. They report their jobs later
 * (job_adoption.c). They do not know campaigns, and epochs and names that the former heads may have
 * given are skipped in large steps.
 *
 * Limit: two members that lie in the same way, or one that calls in two names, may be believed. The
 * keys that would show it are in their table. If they send large tables first, these may leave no
 * room for the table of the others, and a new incarnation begins. */
#include "dvm/protocol/core/core_private.h"

#include "base/bitmap/bitmap.h"
#include "base/log/log.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define MAJORITY_MS 5000
/* Epochs of daemons that have departed are not in the table. */
#define EPOCHS_LOST 1000000
/* An heir skips as many names as 15.6 for each epoch (succession.c), so 16 for each are more than
 * all heirs have skipped. The rest is for jobs: 16 millions for each head that has lost them. */
#define NAMES_FOR_EPOCH 16

/* --- a member */

static bool is_linked_child(const struct core *c, const struct neighbour *k)
{
    struct tree t = members_tree(&c->members);

    return k->incoming && k->state == NEIGHBOUR_UP &&
           members_current(&c->members, k->vpid, k->epoch) &&
           tree_parent(&t, k->vpid) == c->opts.vpid;
}

static void list_linked(const struct core *c, struct msg_table *m)
{
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (!is_linked_child(c, k))
            continue;
        m->linked = xrealloc(m->linked, (m->nlinked + 1) * sizeof(*m->linked));
        m->linked[m->nlinked++] = k->vpid;
    }
}

void majority_answer(struct core *c, struct neighbour *k, struct peer_link *at)
{
    struct frame from = rml_from(c->rml);
    struct msg m = {.type = MSG_TABLE, .table = {.version = c->members.version}};
    BUF_AUTO struct buf table = {0};

    if (!members_current(&c->members, c->opts.vpid, c->self.epoch))
        return;
    buf_init(&table, MSG_DATA_MAX);
    members_encode(&c->members, &table);
    m.table.table = table.data;
    m.table.len = table.len;
    list_linked(c, &m.table);
    neighbours_send_on(c->neighbours, k, at, &from, &m);
    msg_free(&m);
}

/* --- the new head: its callers' tables */

uint64_t majority_due(const struct core *c)
{
    const struct asking *a = &c->asking;
    const struct asking_caller *x;

    DL_FOREACH(a->callers, x)
    {
        if (x->answered && !x->joins && !x->mute && !x->table_asked)
            return a->member_ms + MAJORITY_MS;
    }
    return UINT64_MAX;
}

static void ask_for_table(struct core *c, struct asking_caller *x)
{
    struct msg m = {.type = MSG_RECORDS_ASK, .records_ask = {.table = true}};
    struct frame from = rml_from(c->rml);
    struct peer_link *at;
    struct neighbour *k = neighbours_by_conn(c->neighbours, x->conn, &at);

    x->table_asked = true;
    neighbours_send_on(c->neighbours, k, at, &from, &m);
}

void majority_ask(struct core *c)
{
    struct asking_caller *x;

    if (majority_due(c) > c->out.now_ms)
        return;
    DL_FOREACH(c->asking.callers, x)
    {
        if (x->answered && !x->joins && !x->mute && !x->table_asked)
            ask_for_table(c, x);
    }
}

static struct asking_table *find_table(struct asking *a, const struct msg_table *m)
{
    struct asking_table *t;

    DL_FOREACH(a->tables, t)
    {
        if (t->version == m->version && t->bytes.len == m->len &&
            memcmp(t->bytes.data, m->table, m->len) == 0)
            return t;
    }
    return NULL;
}

static void free_table(struct asking *a, struct asking_table *t)
{
    DL_DELETE(a->tables, t);
    a->tables_bytes -= t->size;
    buf_free(&t->bytes);
    members_free(&t->members);
    free(t);
}

/* NULL and a reason: it is malformed. */
static struct asking_table *add_table(struct core *c, const struct msg_table *m, struct err *err)
{
    struct asking *a = &c->asking;
    struct asking_table *t = xcalloc(1, sizeof(*t));

    t->version = m->version;
    members_init(&t->members, VPID_HEAD, c->opts.radix);
    DL_APPEND(a->tables, t);
    if (members_decode(&t->members, m->table, m->len, err) < 0) {
        free_table(a, t);
        return NULL;
    }
    buf_init(&t->bytes, m->len);
    buf_put_raw(&t->bytes, m->table, m->len);
    t->size = t->bytes.len + members_bytes(&t->members);
    a->tables_bytes += t->size;
    return t;
}

static void share_table(struct asking *a, struct asking_caller *x, struct asking_table *t,
                        const struct msg_table *m)
{
    t->callers++;
    x->table = t;
    x->nlinked = m->nlinked;
    x->linked = xcalloc(m->nlinked + 1, sizeof(*x->linked));
    memcpy(x->linked, m->linked, m->nlinked * sizeof(*x->linked));
    a->tables_bytes += m->nlinked * sizeof(*x->linked);
}

void majority_drop_table(struct asking *a, struct asking_caller *x)
{
    if (!x->table)
        return;
    if (--x->table->callers == 0)
        free_table(a, x->table);
    a->tables_bytes -= x->nlinked * sizeof(*x->linked);
    free(x->linked);
    x->linked = NULL;
    x->nlinked = 0;
    x->table = NULL;
}

static bool is_beyond_bound(const struct asking *a)
{
    const struct asking_table *t;
    size_t largest = 0;

    DL_FOREACH(a->tables, t)
    {
        if (t->size > largest)
            largest = t->size;
    }
    return a->tables_bytes - largest > MAJORITY_BYTES_MAX;
}

static int take_table(struct core *c, struct asking_caller *x, const struct msg_table *m,
                      struct err *err)
{
    struct asking *a = &c->asking;
    struct asking_table *t = find_table(a, m);

    if (!t)
        t = add_table(c, m, err);
    if (!t)
        return -1;
    share_table(a, x, t, m);
    if (!is_beyond_bound(a))
        return 0;
    majority_drop_table(a, x);
    return err_set(err,
                   "its table is not taken: with it, those of all callers take more than %u "
                   "bytes beside the largest one",
                   MAJORITY_BYTES_MAX);
}

void majority_take_table(struct core *c, struct neighbour *k, const struct msg_table *m)
{
    struct asking_caller *x = callers_find(&c->asking, neighbours_in(c->neighbours)->conn);
    struct err err = {0};

    if (!x || !x->table_asked || x->table_come)
        return;
    x->table_come = true;
    if (take_table(c, x, m, &err) < 0)
        out_log(&c->out, LOG_LEVEL_WARN, "vpid %u: %s", x->vpid, err.msg);
}

/* --- the decision */

static uint64_t head_of(const struct asking_caller *x)
{
    return members_get(&x->table->members, VPID_HEAD)->ctr;
}

static bool has_table(const struct asking_caller *x, const struct asking_caller *as)
{
    return x->table && x->table == as->table;
}

static bool is_member(const struct asking_caller *x, const struct asking_table *t)
{
    struct key_id key = members_key(&t->members, x->vpid);

    return !x->joins && members_current(&t->members, x->vpid, x->epoch) &&
           (key_id_none(key) || key_id_eq(key, x->key));
}

/* It has seen nothing that is not in the table. */
static bool agrees_with_table(const struct asking_caller *x, const struct asking_caller *as)
{
    return is_member(x, as->table) && x->version <= as->table->version;
}

static bool disagrees_with_table(const struct asking_caller *x, const struct asking_caller *as)
{
    return !x->joins && !agrees_with_table(x, as);
}

struct presence {
    const struct asking_table *table;
    hwloc_bitmap_t callers, linked; /* members of the table */
};

static void note_linked(struct presence *s, const struct asking_caller *x)
{
    struct tree t = members_tree(&s->table->members);

    for (size_t i = 0; i < x->nlinked; i++) {
        uint32_t v = x->linked[i];

        if (v != VPID_HEAD && members_live(&s->table->members, v) && tree_parent(&t, v) == x->vpid)
            bitmap_set(s->linked, v);
    }
}

/* Nothing is known of the links below a member that has not called: they are believed. */
static bool is_represented(const struct presence *s, uint32_t vpid)
{
    struct tree t = members_tree(&s->table->members);

    while (vpid != VPID_HEAD) {
        if (hwloc_bitmap_isset(s->callers, vpid) || hwloc_bitmap_isset(s->linked, vpid))
            return true;
        vpid = tree_parent(&t, vpid);
        if (hwloc_bitmap_isset(s->callers, vpid))
            return false; /* it has no link to this member */
    }
    return false;
}

static unsigned count_represented(const struct presence *s)
{
    unsigned n = 0, v;

    hwloc_bitmap_foreach_begin(v, s->table->members.live)
    {
        n += v != VPID_HEAD && is_represented(s, v);
    }
    hwloc_bitmap_foreach_end();
    return n;
}

static unsigned count_members(const struct asking_table *t)
{
    return (unsigned)hwloc_bitmap_weight(t->members.live) - 1;
}

/* Members of the table that have called, or are linked below one that has. */
static unsigned count_present(const struct asking *a, const struct asking_table *table)
{
    struct presence s = {table, bitmap_alloc(), bitmap_alloc()};
    const struct asking_caller *x;
    unsigned n;

    DL_FOREACH(a->callers, x)
    {
        if (!is_member(x, table))
            continue;
        bitmap_set(s.callers, x->vpid);
        note_linked(&s, x);
    }
    n = count_represented(&s);
    hwloc_bitmap_free(s.callers);
    hwloc_bitmap_free(s.linked);
    return n;
}

static bool is_supported(const struct asking *a, const struct asking_caller *x)
{
    unsigned all;

    if (!x->table || !agrees_with_table(x, x))
        return false;
    all = count_members(x->table);
    return callers_count(a, has_table, x) >= (all < 2 ? 1 : 2) &&
           2 * count_present(a, x->table) > all &&
           callers_count(a, agrees_with_table, x) > callers_count(a, disagrees_with_table, x);
}

static bool is_later(const struct asking_caller *x, const struct asking_caller *y)
{
    if (head_of(x) != head_of(y))
        return head_of(x) > head_of(y);
    return x->table->version > y->table->version;
}

static const struct asking_caller *find_supported(const struct asking *a)
{
    const struct asking_caller *best = NULL, *x;

    DL_FOREACH(a->callers, x)
    {
        if (is_supported(a, x) && (!best || is_later(x, best)))
            best = x;
    }
    return best;
}

/* Two callers have the same other table, with the same head and version. */
static bool is_contradicted(const struct asking *a, const struct asking_caller *best)
{
    const struct asking_caller *x;

    DL_FOREACH(a->callers, x)
    {
        if (x->table && x->table != best->table && !is_later(x, best) && !is_later(best, x) &&
            callers_count(a, has_table, x) > 1)
            return true;
    }
    return false;
}

/* --- the record */

static uint64_t highest_epoch(const struct members *m)
{
    uint64_t ctr = 0;
    unsigned v;

    hwloc_bitmap_foreach_begin(v, m->live)
    {
        if (members_get(m, v)->ctr > ctr)
            ctr = members_get(m, v)->ctr;
    }
    hwloc_bitmap_foreach_end();
    return ctr;
}

static void put_record(const struct core *c, const struct asking_caller *best, struct buf *b)
{
    const struct asking_table *t = best->table;
    uint64_t epochs = highest_epoch(&t->members) + EPOCHS_LOST;
    uint32_t size = (uint32_t)hwloc_bitmap_last(t->members.live);
    struct record r = {.type = RECORD_MEMBERS,
                       .members = {.cluster = (char *)c->opts.cluster,
                                   .incarnation = best->epoch.inc,
                                   .size = c->opts.size > size ? c->opts.size : size,
                                   .now_ms = c->out.now_ms,
                                   .wall_ms = c->out.wall_ms,
                                   .version = t->version,
                                   .last_epoch = epochs,
                                   .last_name = epochs * NAMES_FOR_EPOCH,
                                   .table = t->bytes.data,
                                   .len = t->bytes.len}};

    buf_put_u32(b, 0);
    record_encode(b, &r);
    if (!b->failed)
        buf_patch_u32(b, 0, (uint32_t)(b->len - 4));
}

bool majority_record(struct core *c, struct buf *b)
{
    const struct asking *a = &c->asking;
    const struct asking_caller *best = find_supported(a);

    if (!best)
        return false;
    if (is_contradicted(a, best)) {
        out_log(&c->out, LOG_LEVEL_WARN, "members have two tables of version %llu",
                (unsigned long long)best->table->version);
        return false;
    }
    put_record(c, best, b);
    out_log(&c->out, LOG_LEVEL_WARN,
            "all records are lost: the table of version %llu is taken, and %u of its %u members "
            "are here; campaigns and published values are lost, and jobs go on if all their "
            "daemons report them",
            (unsigned long long)best->table->version, count_present(a, best->table),
            count_members(best->table));
    return true;
}
