/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of one collection by "namespace/name"; an object is replaced only by a newer
 * version. */
#include "operator/cache/store_private.h"

#include "base/buf/buf.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct store_entry {
    char *key;
    json_t *object;
    unsigned generation;
    UT_hash_handle hh;
};

static void entry_remove(struct store *s, struct store_entry *e)
{
    HASH_DEL(s->entries, e);
    json_decref(e->object);
    free(e->key);
    free(e);
}

void store_free(struct store *s)
{
    struct store_entry *e, *tmp;

    HASH_ITER(hh, s->entries, e, tmp)
    {
        entry_remove(s, e);
    }
}

static bool is_number(const char *s)
{
    return *s && strspn(s, "0123456789") == strlen(s);
}

int store_version_cmp(const char *a, const char *b)
{
    if (!a || !b)
        return (a ? 1 : 0) - (b ? 1 : 0);
    if (!is_number(a) || !is_number(b))
        return strcmp(a, b) == 0 ? 0 : 1;
    a += strspn(a, "0");
    b += strspn(b, "0");
    size_t na = strlen(a), nb = strlen(b);
    return na == nb ? strcmp(a, b) : na < nb ? -1 : 1;
}

const char *store_version_of(const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    const char *version = json_string_value(json_object_get(meta, "resourceVersion"));

    return version ? version : "";
}

char *store_key_of(const json_t *object)
{
    const json_t *meta = json_object_get(object, "metadata");
    const char *ns = json_string_value(json_object_get(meta, "namespace"));
    const char *name = json_string_value(json_object_get(meta, "name"));

    return name && *name ? xasprintf("%s/%s", ns ? ns : "", name) : NULL;
}

static struct store_entry *find_entry(const struct store *s, const char *key)
{
    struct store_entry *e;

    HASH_FIND_STR(s->entries, key, e);
    return e;
}

const json_t *store_get(const struct store *s, const char *key)
{
    struct store_entry *e = find_entry(s, key);

    return e ? e->object : NULL;
}

size_t store_count(const struct store *s)
{
    return HASH_COUNT(s->entries);
}

void store_each(const struct store *s, void (*fn)(const json_t *object, void *arg), void *arg)
{
    for (struct store_entry *e = s->entries; e; e = e->hh.next)
        fn(e->object, arg);
}

bool store_put(struct store *s, const char *key, json_t *object, const struct store_how *how)
{
    struct store_entry *e = find_entry(s, key);
    int newer = e ? store_version_cmp(store_version_of(object), store_version_of(e->object)) : 1;

    if (!e) {
        e = xcalloc(1, sizeof(*e));
        e->key = xstrdup(key);
        HASH_ADD_KEYPTR(hh, s->entries, e->key, strlen(e->key), e);
    }
    if (how->listed)
        e->generation = s->generation;
    if (newer == 0 || (newer < 0 && !how->force)) {
        json_decref(object);
        return false;
    }
    json_decref(e->object);
    e->object = object;
    return true;
}

bool store_remove(struct store *s, const char *key, const char *version)
{
    struct store_entry *e = find_entry(s, key);

    if (!e || store_version_cmp(store_version_of(e->object), version) > 0)
        return false;
    entry_remove(s, e);
    return true;
}

json_t *store_sweep(struct store *s, const char *list_version, bool force)
{
    for (struct store_entry *e = s->entries; e; e = e->hh.next) {
        bool newer = store_version_cmp(store_version_of(e->object), list_version) > 0;

        if (e->generation == s->generation || (newer && !force))
            continue;
        json_t *object = json_incref(e->object);
        entry_remove(s, e);
        return object;
    }
    return NULL;
}
