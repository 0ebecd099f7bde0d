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
};
void store_free(struct store *s);

/* Below 0, 0, above 0: the first resourceVersion is older, the same, newer. Versions are decimal
 * numbers of any length. If one is not a number, equal texts are the same version and the first is
 * newer otherwise. NULL is the oldest. */
int store_version_cmp(const char *a, const char *b);
const char *store_version_of(const json_t *object); /* "" if it has none */
/* "namespace/name" on the heap ("/name" without a namespace); NULL if the object has no name. */
char *store_key_of(const json_t *object);

const json_t *store_get(const struct store *s, const char *key);
size_t store_count(const struct store *s);
void store_each(const struct store *s, void (*fn)(const json_t *object, void *arg), void *arg);
/* Takes `object`. True: the store has changed. An older or the same version changes nothing. */
struct store_how {
    bool listed; /* the current list shows it */
    bool force;  /* an older version counts too: the server's versions have gone back */
};
bool store_put(struct store *s, const char *key, json_t *object, const struct store_how *how);
/* True: the object was in the store, in a version that is not newer than `version`. */
bool store_remove(struct store *s, const char *key, const char *version);
/* Removes one entry that the current list has not shown and that is not newer than the list (with
 * `force`: of any version). A new reference; NULL: there is no such entry. */
json_t *store_sweep(struct store *s, const char *list_version, bool force);

#endif
