/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's store of published values: by key, with the ranges and lifetimes of the PMIx
 * standard.
 *
 * In: packed requests of ranks of any daemon. Out: a result, and for a lookup the values. All
 * entries of one key are in one slot of a hash. The range of an entry decides which requesters see
 * it; another user never does. Its persistence decides at whose end it is removed, or that its
 * first reader removes it.
 *
 * Invariants: values are opaque bytes; at most STORE_KEYS_MAX entries and STORE_BYTES_MAX bytes
 * are held; a request is carried out as a whole or not at all: all its pairs are checked before the
 * first one is stored, and a lookup removes what it has read when it has succeeded.
 *
 * Failures: a malformed request, a key that is published already in this range, and a full store
 * are refused, and the store stays as it was. */
#include "dvm/host/pmix/store.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

struct entry {
    struct store_who owner;
    uint8_t range;
    uint8_t persistence;
    bool is_read; /* by the lookup under way, and is removed if that succeeds */
    void *value;
    size_t len;
    struct slot *slot;
    struct entry *next;
};

struct slot { /* all entries of one key */
    char *key;
    struct entry *entries;
    UT_hash_handle hh;
};

struct store {
    struct slot *slots;
    size_t count;
    size_t bytes;
};

struct store *store_create(void)
{
    return xcalloc(1, sizeof(struct store));
}

static size_t entry_cost(const struct entry *e)
{
    return sizeof(*e) + e->len;
}

static void entry_remove(struct store *s, struct entry *e)
{
    struct slot *slot = e->slot;

    LL_DELETE(slot->entries, e);
    s->count--;
    s->bytes -= entry_cost(e);
    free(e->value);
    free(e);
    if (slot->entries)
        return;
    HASH_DEL(s->slots, slot);
    free(slot->key);
    free(slot);
}

/* Removes the entries for which `pick` returns true. */
static void remove_if(struct store *s, bool (*pick)(const struct entry *e, const void *arg),
                      const void *arg)
{
    struct slot *slot, *next_slot;

    HASH_ITER(hh, s->slots, slot, next_slot)
    {
        struct entry *e = slot->entries;

        /* The slot is freed with its last entry and not read after that. */
        while (e) {
            struct entry *next = e->next;

            if (pick(e, arg))
                entry_remove(s, e);
            e = next;
        }
    }
}

static bool pick_any(const struct entry *e, const void *arg)
{
    return true;
}

void store_destroy(struct store *s)
{
    if (!s)
        return;
    remove_if(s, pick_any, NULL);
    free(s);
}

size_t store_count(const struct store *s)
{
    return s->count;
}

void store_put_who(struct buf *b, const struct store_who *who)
{
    buf_put_str(b, who->nspace);
    buf_put_u32(b, who->rank);
    buf_put_u32(b, who->vpid);
    buf_put_u32(b, who->uid);
}

bool store_get_who(struct cur *c, struct store_who *who)
{
    FREE_AUTO char *nspace = cur_str(c, sizeof(who->nspace) - 1);

    memcpy(who->nspace, nspace, strlen(nspace) + 1);
    who->rank = cur_u32(c);
    who->vpid = cur_u32(c);
    who->uid = cur_u32(c);
    return !c->bad;
}

static bool same_proc(const struct store_who *a, const struct store_who *b)
{
    return a->rank == b->rank && strcmp(a->nspace, b->nspace) == 0;
}

/* Whether `who` may see a value that `owner` has published in `range`. */
static bool in_range(uint8_t range, const struct store_who *owner, const struct store_who *who)
{
    if (owner->uid != who->uid)
        return false;
    switch (range) {
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
        return true;
    case PMIX_RANGE_NAMESPACE:
        return strcmp(owner->nspace, who->nspace) == 0;
    case PMIX_RANGE_LOCAL:
        return owner->vpid == who->vpid;
    case PMIX_RANGE_PROC_LOCAL:
        return same_proc(owner, who);
    default:
        return false;
    }
}

/* The entry that `who` sees under the key: one of the requested range before any other. */
static struct entry *find_entry(const struct store *s, const char *key, uint8_t range,
                                const struct store_who *who)
{
    struct entry *e, *other = NULL;
    struct slot *slot;

    HASH_FIND_STR(s->slots, key, slot);
    if (!slot)
        return NULL;
    LL_FOREACH(slot->entries, e)
    {
        if (e->is_read || !in_range(e->range, &e->owner, who))
            continue;
        if (e->range == range)
            return e;
        other = e;
    }
    return other;
}

static bool is_duplicate(const struct store *s, const char *key, uint8_t range,
                         const struct store_who *who)
{
    const struct entry *e = find_entry(s, key, range, who);

    return e && e->range == range;
}

static void entry_add(struct store *s, const char *key, const struct entry *model)
{
    struct entry *e = xmalloc(sizeof(*e));
    struct slot *slot;

    HASH_FIND_STR(s->slots, key, slot);
    if (!slot) {
        slot = xcalloc(1, sizeof(*slot));
        slot->key = xstrdup(key);
        HASH_ADD_KEYPTR(hh, s->slots, slot->key, strlen(slot->key), slot);
    }
    *e = *model;
    e->slot = slot;
    e->value = xmalloc(model->len);
    if (model->len)
        memcpy(e->value, model->value, model->len);
    LL_PREPEND(slot->entries, e);
    s->count++;
    s->bytes += entry_cost(e);
}

/* Reads the pairs after the head. With `s` NULL it only looks whether all of them may be stored. */
static enum store_result pairs_read(struct store *s, const struct store *look, struct cur c,
                                    const struct entry *model)
{
    uint32_t n = cur_count(&c, STORE_KEYS_MAX, 8);
    size_t bytes = 0;

    for (uint32_t i = 0; i < n && !c.bad; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);
        struct entry e = *model;

        e.value = (void *)cur_bytes(&c, STORE_BYTES_MAX, &e.len);
        if (c.bad || !key[0])
            return STORE_BAD;
        if (!s && is_duplicate(look, key, e.range, &e.owner))
            return STORE_DUPLICATE;
        bytes += entry_cost(&e);
        /* The second pass finds the key if one request names it twice: the first value is kept. */
        if (s && !is_duplicate(s, key, e.range, &e.owner))
            entry_add(s, key, &e);
    }
    if (!cur_done(&c) || n == 0)
        return STORE_BAD;
    if (!s && (look->count + n > STORE_KEYS_MAX || look->bytes + bytes > STORE_BYTES_MAX))
        return STORE_FULL;
    return STORE_OK;
}

/* Range and persistence: an unknown value, or one under which no process would find the data, is
 * refused. */
static bool is_known(uint8_t range, uint8_t persistence)
{
    bool lasts = persistence <= PMIX_PERSIST_SESSION;

    switch (range) {
    case PMIX_RANGE_UNDEF:
    case PMIX_RANGE_LOCAL:
    case PMIX_RANGE_NAMESPACE:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
    case PMIX_RANGE_PROC_LOCAL:
        return lasts;
    default:
        return false;
    }
}

enum store_result store_publish(struct store *s, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    struct entry model = {0};
    enum store_result r;

    if (!store_get_who(&c, &model.owner))
        return STORE_BAD;
    model.range = cur_u8(&c);
    model.persistence = cur_u8(&c);
    if (!is_known(model.range, model.persistence))
        return STORE_BAD;
    r = pairs_read(NULL, s, c, &model);
    return r == STORE_OK ? pairs_read(s, s, c, &model) : r;
}

static bool lookup_read(struct cur *c, struct store_lookup *l)
{
    if (!store_get_who(c, &l->who))
        return false;
    l->range = cur_u8(c);
    l->wait = cur_u8(c);
    l->timeout_s = cur_u32(c);
    l->wanted = cur_u32(c);
    l->nkeys = cur_count(c, STORE_KEYS_MAX, 4);
    return !c->bad && l->nkeys > 0;
}

bool store_lookup_head(const void *blob, size_t len, struct store_lookup *out)
{
    struct cur c = cur_of(blob, len);

    return lookup_read(&c, out);
}

static void put_found(struct buf *out, const char *key, const struct entry *e)
{
    buf_put_str(out, e->owner.nspace);
    buf_put_u32(out, e->owner.rank);
    buf_put_str(out, key);
    buf_put_bytes(out, e->value, e->len);
}

/* After a lookup that has failed, its values stay. */
static void settle_reads(struct store *s, struct entry *const *read, uint32_t n, bool ok)
{
    for (uint32_t i = 0; i < n; i++) {
        read[i]->is_read = false;
        if (ok)
            entry_remove(s, read[i]);
    }
}

enum store_result store_lookup(struct store *s, const void *blob, size_t len, struct buf *out)
{
    struct cur c = cur_of(blob, len);
    FREE_AUTO struct entry **read = NULL;
    size_t count_at = out->len;
    struct store_lookup l;
    uint32_t found = 0, nread = 0;
    bool ok;

    if (!lookup_read(&c, &l))
        return STORE_BAD;
    read = xcalloc(l.nkeys, sizeof(struct entry *));
    buf_put_u32(out, 0);
    for (uint32_t i = 0; i < l.nkeys; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);
        struct entry *e = c.bad ? NULL : find_entry(s, key, l.range, &l.who);

        if (!e)
            continue;
        put_found(out, key, e);
        if (e->persistence == PMIX_PERSIST_FIRST_READ) {
            e->is_read = true;
            read[nread++] = e;
        }
        found++;
    }
    buf_patch_u32(out, count_at, found);
    ok = cur_done(&c) && !out->failed;
    settle_reads(s, read, nread, ok);
    if (!ok)
        return STORE_BAD;
    return found == l.nkeys ? STORE_OK : found ? STORE_SOME : STORE_NONE;
}

uint32_t store_count_found(const struct store *s, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    struct store_lookup l;
    uint32_t found = 0;

    if (!lookup_read(&c, &l))
        return 0;
    for (uint32_t i = 0; i < l.nkeys && !c.bad; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);

        found += find_entry(s, key, l.range, &l.who) != NULL;
    }
    return found;
}

struct owned {
    const struct store_who *who;
    uint8_t range;
};

static bool pick_owned(const struct entry *e, const void *arg)
{
    const struct owned *o = arg;

    return e->range == o->range && same_proc(&e->owner, o->who);
}

static bool unpublish_key(struct store *s, const char *key, const struct owned *o)
{
    struct entry *e;
    struct slot *slot;

    HASH_FIND_STR(s->slots, key, slot);
    if (!slot)
        return false;
    LL_FOREACH(slot->entries, e)
    {
        if (pick_owned(e, o)) {
            entry_remove(s, e);
            return true; /* the only one: publish refuses a second */
        }
    }
    return false;
}

enum store_result store_unpublish(struct store *s, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    struct store_who who;
    struct owned o = {.who = &who};
    uint32_t n, found = 0;

    if (!store_get_who(&c, &who))
        return STORE_BAD;
    o.range = cur_u8(&c);
    n = cur_count(&c, STORE_KEYS_MAX, 4);
    if (n == 0 && cur_done(&c))
        remove_if(s, pick_owned, &o);
    for (uint32_t i = 0; i < n; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);

        if (!c.bad)
            found += unpublish_key(s, key, &o);
    }
    return !cur_done(&c) ? STORE_BAD : n && !found ? STORE_NONE : STORE_OK;
}

struct ended {
    const char *nspace;
    uint32_t rank;
};

static bool pick_ended(const struct entry *e, const void *arg)
{
    const struct ended *end = arg;

    if (strcmp(e->owner.nspace, end->nspace) != 0)
        return false;
    if (end->rank != UINT32_MAX)
        return e->persistence == PMIX_PERSIST_PROC && e->owner.rank == end->rank;
    return e->persistence != PMIX_PERSIST_INDEF && e->persistence != PMIX_PERSIST_SESSION;
}

void store_purge(struct store *s, const char *nspace, uint32_t rank)
{
    struct ended end = {.nspace = nspace, .rank = rank};

    remove_if(s, pick_ended, &end);
}

enum store_result store_rank_ended(struct store *s, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    struct store_who who;

    if (!store_get_who(&c, &who) || !cur_done(&c) || who.rank == UINT32_MAX)
        return STORE_BAD;
    store_purge(s, who.nspace, who.rank);
    return STORE_OK;
}
