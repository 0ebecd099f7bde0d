/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of one collection by "namespace/name"; an object is replaced only by a newer
 * version. */
#ifndef OPERATOR_CACHE_STORE_PRIVATE_H
#define OPERATOR_CACHE_STORE_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct store_entry;
struct store {
    struct store_entry *entries;
    unsigned generation; /* number of the current list, from 1; an entry has that of the last list
                            that showed it */
    /* What is kept of an object; `before`: what was kept of an older version, NULL: nothing. NULL:
     * the object itself is kept. */
    void *(*keep)(const json_t *object, const void *before, void *arg);
    void (*drop)(void *kept, void *arg); /* ends what keep() has made */
    void *arg;
};
void store_free(struct store *s);
/* Ends what store_take() or store_sweep() has given. */
void store_drop(const struct store *s, void *kept);

/* Below 0, 0, above 0: the first resourceVersion is older, the same, newer. Versions are decimal
 * numbers of any length. If one is not a number, equal texts are the same version and the first is
 * newer otherwise. NULL is the oldest. */
int store_version_cmp(const char *a, const char *b);
const char *store_version_of(const json_t *object); /* "" if it has none */
/* "namespace/name" on the heap ("/name" without a namespace); NULL if the object has no name. */
char *store_key_of(const json_t *object);

const void *store_get(const struct store *s, const char *key); /* what is kept; NULL: no object */
const char *store_version(const struct store *s, const char *key); /* NULL: no object */
size_t store_count(const struct store *s);
void store_each(const struct store *s, void (*fn)(const char *key, const void *kept, void *arg),
                void *arg);
/* Takes `object`. True: the store has changed. An older or the same version changes nothing. */
struct store_how {
    bool listed; /* the current list shows it */
    bool force;  /* an older version counts too: the server's versions have gone back */
};
bool store_put(struct store *s, const char *key, json_t *object, const struct store_how *how);
/* Removes the object if it is not newer than `version`, and gives what was kept of it. NULL: it was
 * not in the store, or is newer. */
void *store_take(struct store *s, const char *key, const char *version);
/* Removes one object that the current list has not shown and that is not newer than the list (with
 * `force`: of any version), and gives its key, on the heap, and what was kept of it. NULL: there is
 * no such object. */
void *store_sweep(struct store *s, const char *list_version, bool force, char **key);

#endif
