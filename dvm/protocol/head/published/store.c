/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that ranks have published: by key, with the ranges and lifetimes of the PMIx standard.
 *
 * In: packed requests of ranks of any daemon. Out: a result, for a lookup the values, and the
 * numbers of the values that the request removes. All entries of one key are in one slot of a hash.
 * The range of an entry decides which requesters see it; another user never does. Its persistence
 * decides at whose end it is removed, or that its first reader removes it.
 *
 * Invariants: values are opaque bytes; at most STORE_KEYS_MAX entries and STORE_BYTES_MAX bytes
 * are held; a request is carried out as a whole or not at all: all its pairs are checked before the
 * first one is stored, and all its numbers before the first value is removed. Requests that were
 * carried out in the same order give the same store, with the same numbers.
 *
 * Failures: a malformed request, a key that is published already in this range, and a full store
 * are refused, and the store stays as it was. */
#include "dvm/protocol/head/published/store.h"

#include "base/heap/hash.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Bytes of an entry beside its value, in every build: the fold of the journal has to agree. */
#define ENTRY_BYTES 512

struct entry {
    uint64_t id; /* in the order in which they were published, from 1 */
    struct store_who owner;
    uint8_t range;
    uint8_t persistence;
    bool is_read; /* by the lookup under way, which may name a key twice */
    void *value;
    size_t len;
    struct slot *slot;
    struct entry *next; /* a later one of the key comes first */
    UT_hash_handle hh;
};

struct slot { /* all entries of one key */
    char *key;
    struct entry *entries;
    UT_hash_handle hh;
};

struct store {
    struct slot *slots;
    struct entry *by_id; /* in this order */
    uint64_t last_id;
    size_t count;
    size_t bytes;
};

struct store *store_create(void)
{
    return xcalloc(1, sizeof(struct store));
}

static size_t entry_cost(const struct entry *e)
{
    return ENTRY_BYTES + e->len;
}

static void entry_remove(struct store *s, struct entry *e)
{
    struct slot *slot = e->slot;

    HASH_DEL(s->by_id, e);
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

static void add_id(struct store_ids *ids, uint64_t id)
{
    if ((ids->n & (ids->n - 1)) == 0) /* full, or empty */
        ids->list = xrealloc(ids->list, (ids->n ? 2 * ids->n : 1) * sizeof(*ids->list));
    ids->list[ids->n++] = id;
}

/* Names the entries for which `pick` returns true, in their order. */
static void name_if(const struct store *s, bool (*pick)(const struct entry *e, const void *arg),
                    const void *arg, struct store_ids *ids)
{
    const struct entry *e;

    for (e = s->by_id; e; e = e->hh.next) {
        if (pick(e, arg))
            add_id(ids, e->id);
    }
}

void store_destroy(struct store *s)
{
    if (!s)
        return;
    while (s->by_id)
        entry_remove(s, s->by_id);
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
    case STORE_RANGE_UNDEF:
    case STORE_RANGE_SESSION:
    case STORE_RANGE_GLOBAL:
        return true;
    case STORE_RANGE_NAMESPACE:
        return strcmp(owner->nspace, who->nspace) == 0;
    case STORE_RANGE_LOCAL:
        return owner->vpid == who->vpid;
    case STORE_RANGE_PROC_LOCAL:
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
    e->id = ++s->last_id;
    e->slot = slot;
    e->value = xmalloc(model->len);
    if (model->len)
        memcpy(e->value, model->value, model->len);
    LL_PREPEND(slot->entries, e);
    HASH_ADD(hh, s->by_id, id, sizeof(e->id), e);
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
    bool lasts = persistence <= STORE_PERSIST_SESSION;

    switch (range) {
    case STORE_RANGE_UNDEF:
    case STORE_RANGE_LOCAL:
    case STORE_RANGE_NAMESPACE:
    case STORE_RANGE_SESSION:
    case STORE_RANGE_GLOBAL:
    case STORE_RANGE_PROC_LOCAL:
        return lasts;
    default:
        return false;
    }
}

/* The pairs follow at the cursor. */
static bool read_model(struct cur *c, struct entry *model)
{
    if (!store_get_who(c, &model->owner))
        return false;
    model->range = cur_u8(c);
    model->persistence = cur_u8(c);
    return !c->bad && is_known(model->range, model->persistence);
}

enum store_result store_may_publish(const struct store *s, const void *blob, size_t len)
{
    struct cur c = cur_of(blob, len);
    struct entry model = {0};

    return read_model(&c, &model) ? pairs_read(NULL, s, c, &model) : STORE_BAD;
}

enum store_result store_publish(struct store *s, const void *blob, size_t len)
{
    enum store_result r = store_may_publish(s, blob, len);
    struct cur c = cur_of(blob, len);
    struct entry model = {0};

    return r == STORE_OK && read_model(&c, &model) ? pairs_read(s, s, c, &model) : r;
}

int store_remove(struct store *s, const uint64_t *ids, uint32_t n, struct err *err)
{
    struct entry *e;

    for (uint32_t i = 0; i < n; i++) {
        HASH_FIND(hh, s->by_id, &ids[i], sizeof(ids[i]), e);
        if (!e || (i && ids[i] <= ids[i - 1]))
            return err_set(err, "published value %llu", (unsigned long long)ids[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        HASH_FIND(hh, s->by_id, &ids[i], sizeof(ids[i]), e);
        if (e)
            entry_remove(s, e);
    }
    return 0;
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

bool store_lookup_names(const void *blob, size_t len, const char *port)
{
    struct cur c = cur_of(blob, len);
    size_t n = strlen(port);
    struct store_lookup l;

    if (!lookup_read(&c, &l))
        return false;
    for (uint32_t i = 0; i < l.nkeys && !c.bad; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);

        if (strncmp(key, port, n) == 0 && key[n] == ':')
            return true;
    }
    return false;
}

void store_lookup_shorten(void *blob, size_t len, uint32_t passed_s)
{
    struct cur c = cur_of(blob, len);
    struct store_who who;
    uint32_t left;
    uint8_t *at;

    if (!store_get_who(&c, &who))
        return;
    (void)cur_u8(&c); /* range */
    (void)cur_u8(&c); /* wait */
    at = (uint8_t *)blob + (len - cur_left(&c));
    left = cur_u32(&c);
    if (c.bad || left == 0)
        return;
    left = left > passed_s ? left - passed_s : 1;
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(left >> (24 - 8 * i));
}

static void put_found(struct buf *out, const char *key, const struct entry *e)
{
    buf_put_str(out, e->owner.nspace);
    buf_put_u32(out, e->owner.rank);
    buf_put_str(out, key);
    buf_put_bytes(out, e->value, e->len);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* A lookup that has failed removes nothing. */
static void settle_reads(struct entry *const *read, uint32_t n, bool ok, struct store_ids *ids)
{
    for (uint32_t i = 0; i < n; i++) {
        read[i]->is_read = false;
        if (ok)
            add_id(ids, read[i]->id);
    }
    if (ids->n)
        qsort(ids->list, ids->n, sizeof(*ids->list), compare_ids);
}

enum store_result store_lookup(struct store *s, const void *blob, size_t len, struct buf *out,
                               struct store_ids *ids)
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
        if (e->persistence == STORE_PERSIST_FIRST_READ) {
            e->is_read = true;
            read[nread++] = e;
        }
        found++;
    }
    buf_patch_u32(out, count_at, found);
    ok = cur_done(&c) && !out->failed;
    settle_reads(read, nread, ok, ids);
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

/* At most one: publish refuses a second. False: there is none, or it has been named. */
static bool name_owned(const struct store *s, const char *key, const struct owned *o,
                       struct store_ids *ids)
{
    const struct entry *e;
    struct slot *slot;

    HASH_FIND_STR(s->slots, key, slot);
    if (!slot)
        return false;
    LL_FOREACH(slot->entries, e)
    {
        if (pick_owned(e, o))
            break;
    }
    if (e)
        add_id(ids, e->id);
    return e != NULL;
}

/* A request may name a key twice. */
static void sort_ids(struct store_ids *ids)
{
    uint32_t n = 0;

    if (ids->n)
        qsort(ids->list, ids->n, sizeof(*ids->list), compare_ids);
    for (uint32_t i = 0; i < ids->n; i++) {
        if (n == 0 || ids->list[i] != ids->list[n - 1])
            ids->list[n++] = ids->list[i];
    }
    ids->n = n;
}

enum store_result store_unpublish(const struct store *s, const void *blob, size_t len,
                                  struct store_ids *ids)
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
        name_if(s, pick_owned, &o, ids);
    for (uint32_t i = 0; i < n; i++) {
        FREE_AUTO char *key = cur_str(&c, STORE_KEY_MAX);

        if (!c.bad)
            found += name_owned(s, key, &o, ids);
    }
    sort_ids(ids);
    if (cur_done(&c))
        return n && !found ? STORE_NONE : STORE_OK;
    ids->n = 0;
    return STORE_BAD;
}

static bool pick_of_rank(const struct entry *e, const void *arg)
{
    return e->persistence == STORE_PERSIST_PROC && same_proc(&e->owner, arg);
}

static bool stays_until_read(const struct entry *e)
{
    return e->persistence == STORE_PERSIST_FIRST_READ && e->range != STORE_RANGE_NAMESPACE &&
           e->range != STORE_RANGE_PROC_LOCAL;
}

static bool pick_of_job(const struct entry *e, const void *arg)
{
    return strcmp(e->owner.nspace, arg) == 0 && e->persistence != STORE_PERSIST_INDEF &&
           e->persistence != STORE_PERSIST_SESSION && !stays_until_read(e);
}

struct ended {
    const char *nspace;
    bool (*runs)(const char *nspace, void *arg);
    void *arg;
    uint32_t n; /* of the values that stay, without those that were picked */
    size_t bytes;
};

static bool is_left(const struct entry *e, const struct ended *d)
{
    return stays_until_read(e) &&
           (strcmp(e->owner.nspace, d->nspace) == 0 || !d->runs(e->owner.nspace, d->arg));
}

/* Names the oldest of the values that nobody has read, if they are too many. */
static void name_unread(const struct store *s, struct ended *d, struct store_ids *ids)
{
    const struct entry *e;

    for (e = s->by_id; e; e = e->hh.next) {
        d->n += is_left(e, d);
        d->bytes += is_left(e, d) ? entry_cost(e) : 0;
    }
    for (e = s->by_id; e && (d->n > STORE_UNREAD_MAX || d->bytes > STORE_UNREAD_BYTES_MAX);
         e = e->hh.next) {
        if (!is_left(e, d))
            continue;
        add_id(ids, e->id);
        d->n--;
        d->bytes -= entry_cost(e);
    }
}

void store_job_ended(const struct store *s, const char *nspace,
                     bool (*runs)(const char *nspace, void *arg), void *arg, struct store_ids *ids)
{
    struct ended d = {.nspace = nspace, .runs = runs, .arg = arg};

    name_if(s, pick_of_job, nspace, ids);
    name_unread(s, &d, ids);
    sort_ids(ids);
}

enum store_result store_rank_ended(const struct store *s, const void *blob, size_t len,
                                   struct store_ids *ids)
{
    struct cur c = cur_of(blob, len);
    struct store_who who;

    if (!store_get_who(&c, &who) || !cur_done(&c) || who.rank == UINT32_MAX)
        return STORE_BAD;
    name_if(s, pick_of_rank, &who, ids);
    return STORE_OK;
}

/* --- snapshots */

void store_save(const struct store *s, struct buf *b)
{
    const struct entry *e;

    buf_put_u64(b, s->last_id);
    buf_put_u32(b, (uint32_t)s->count);
    for (e = s->by_id; e; e = e->hh.next) {
        buf_put_u64(b, e->id);
        store_put_who(b, &e->owner);
        buf_put_u8(b, e->range);
        buf_put_u8(b, e->persistence);
        buf_put_str(b, e->slot->key);
        buf_put_bytes(b, e->value, e->len);
    }
}

static int load_entry(struct store *s, struct cur *c, struct err *err)
{
    struct entry e = {.id = cur_u64(c)};
    FREE_AUTO char *key = NULL;
    bool known = read_model(c, &e);

    key = cur_str(c, STORE_KEY_MAX);
    e.value = (void *)cur_bytes(c, STORE_BYTES_MAX, &e.len);
    if (c->bad || !known || !key[0] || e.id <= s->last_id)
        return err_set(err, "malformed, or out of order");
    if (is_duplicate(s, key, e.range, &e.owner))
        return err_set(err, "%s is published twice", key);
    if (s->bytes + entry_cost(&e) > STORE_BYTES_MAX)
        return err_set(err, "more than %u bytes", STORE_BYTES_MAX);
    s->last_id = e.id - 1;
    entry_add(s, key, &e);
    return 0;
}

int store_load(struct store *s, struct cur *c, struct err *err)
{
    uint64_t last = cur_u64(c);
    uint32_t n = cur_count(c, STORE_KEYS_MAX, 34);

    for (uint32_t i = 0; i < n; i++) {
        if (load_entry(s, c, err) < 0)
            return err_wrap(err, "published value %u of %u", i + 1, n);
    }
    if (last < s->last_id)
        return err_set(err, "published value %llu after %llu", (unsigned long long)s->last_id,
                       (unsigned long long)last);
    s->last_id = last;
    return 0;
}
