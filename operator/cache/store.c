/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of one collection by "namespace/name", or what its owner keeps of them; an object is
 * replaced only by a newer version. */
#include "operator/cache/store_private.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"

#include <stdlib.h>
#include <string.h>

struct store_entry {
    void *kept;
    char *version;
    unsigned generation;
    UT_hash_handle hh;
    char key[];
};

void store_drop(const struct store *s, void *kept)
{
    if (s->drop)
        s->drop(kept, s->arg);
    else
        json_decref(kept);
}

/* Gives what was kept. */
static void *entry_remove(struct store *s, struct store_entry *e)
{
    void *kept = e->kept;

    HASH_DEL(s->entries, e);
    free(e->version);
    free(e);
    return kept;
}

void store_free(struct store *s)
{
    struct store_entry *e, *tmp;

    HASH_ITER(hh, s->entries, e, tmp)
    {
        store_drop(s, entry_remove(s, e));
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

const void *store_get(const struct store *s, const char *key)
{
    struct store_entry *e = find_entry(s, key);

    return e ? e->kept : NULL;
}

const char *store_version(const struct store *s, const char *key)
{
    struct store_entry *e = find_entry(s, key);

    return e ? e->version : NULL;
}

size_t store_count(const struct store *s)
{
    return HASH_COUNT(s->entries);
}

void store_each(const struct store *s, void (*fn)(const char *key, const void *kept, void *arg),
                void *arg)
{
    for (struct store_entry *e = s->entries; e; e = e->hh.next)
        fn(e->key, e->kept, arg);
}

static struct store_entry *entry_add(struct store *s, const char *key)
{
    size_t len = strlen(key);
    struct store_entry *e = xcalloc(1, sizeof(*e) + len + 1);

    memcpy(e->key, key, len + 1);
    HASH_ADD(hh, s->entries, key, len, e);
    return e;
}

/* Takes `object`. */
static void entry_keep(struct store *s, struct store_entry *e, json_t *object)
{
    void *before = e->kept;

    free(e->version);
    e->version = xstrdup(store_version_of(object));
    if (!s->keep) {
        e->kept = object;
    } else {
        e->kept = s->keep(object, before, s->arg);
        json_decref(object);
    }
    if (before)
        store_drop(s, before);
}

bool store_put(struct store *s, const char *key, json_t *object, const struct store_how *how)
{
    struct store_entry *e = find_entry(s, key);
    int newer = e ? store_version_cmp(store_version_of(object), e->version) : 1;

    if (!e)
        e = entry_add(s, key);
    if (how->listed)
        e->generation = s->generation;
    if (newer == 0 || (newer < 0 && !how->force)) {
        json_decref(object);
        return false;
    }
    entry_keep(s, e, object);
    return true;
}

void *store_take(struct store *s, const char *key, const char *version)
{
    struct store_entry *e = find_entry(s, key);

    if (!e || store_version_cmp(e->version, version) > 0)
        return NULL;
    return entry_remove(s, e);
}

void *store_sweep(struct store *s, const char *list_version, bool force, char **key)
{
    for (struct store_entry *e = s->entries; e; e = e->hh.next) {
        bool newer = store_version_cmp(e->version, list_version) > 0;

        if (e->generation == s->generation || (newer && !force))
            continue;
        *key = xstrdup(e->key);
        return entry_remove(s, e);
    }
    return NULL;
}
