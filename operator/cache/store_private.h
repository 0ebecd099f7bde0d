/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of one collection by "namespace/name", kept in the order of their versions. */
#ifndef OPERATOR_CACHE_STORE_PRIVATE_H
#define OPERATOR_CACHE_STORE_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct store_entry;
struct store {
    struct store_entry *entries;
    unsigned
        generation; /* counts lists, from 1; an entry bears that of the last list that showed it */
};
void store_free(struct store *s);

/* <0, 0, >0 as the first resourceVersion is older, the same or newer. They are decimal numbers of
 * any length; with one that isn't, equal texts are the same and others newer. NULL is older than
 * all. */
int store_version_cmp(const char *a, const char *b);
const char *store_version_of(const json_t *object); /* "" if it has none */
/* "namespace/name" on the heap ("/name" without a namespace); NULL if the object has no name. */
char *store_key_of(const json_t *object);

const json_t *store_get(const struct store *s, const char *key);
size_t store_count(const struct store *s);
void store_each(const struct store *s, void (*fn)(const json_t *object, void *arg), void *arg);
/* Takes `object`. True if it has changed the store: an older or the same version doesn't. */
struct store_how {
    bool listed; /* the list of this generation shows it */
    bool force;  /* older ones count, too: the server has gone back in time */
};
bool store_put(struct store *s, const char *key, json_t *object, const struct store_how *how);
/* True if it was there, in a version not newer than `version`. */
bool store_remove(struct store *s, const char *key, const char *version);
/* Takes out one entry that the list of this generation has not shown and that isn't newer than the
 * list (any, with `force`); a new reference, or NULL when there is none left. */
json_t *store_sweep(struct store *s, const char *list_version, bool force);

#endif
