/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's store behind publish, lookup and unpublish: pure, its values are opaque bytes. */
#ifndef DVM_PMIX_STORE_H
#define DVM_PMIX_STORE_H

#include "base/buf/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Ranges and persistence carry PMIx's numbers. At most STORE_KEYS_MAX entries and
 * STORE_BYTES_MAX bytes are held; a request beyond these is refused as a whole. */
#define STORE_KEYS_MAX 65536u
#define STORE_BYTES_MAX (64u << 20)
#define STORE_KEY_MAX 511

/* The requester: `vpid` is the daemon whose client it is, for ranges that end at a node. */
struct store_who {
    char nspace[256];
    uint32_t rank;
    uint32_t vpid;
    uint32_t uid;
};

struct store;
struct store *store_create(void);
void store_destroy(struct store *s);
size_t store_count(const struct store *s);

/* The blobs that these functions build and read; a malformed one is answered with STORE_BAD and
 * changes nothing. */
void store_put_who(struct buf *b, const struct store_who *who);
bool store_get_who(struct cur *c, struct store_who *who);

enum store_result {
    STORE_OK,
    STORE_BAD,       /* malformed */
    STORE_DUPLICATE, /* a key is published already in this range; nothing was stored */
    STORE_FULL,      /* nothing was stored */
    STORE_NONE,      /* no key found */
    STORE_SOME,      /* some keys found */
};
/* who, u8 range, u8 persistence, u32 n, n * (str key, bytes value). */
enum store_result store_publish(struct store *s, const void *blob, size_t len);
/* who, u8 range, u8 wait, u32 timeout_s, u32 wanted (0: all), u32 n, n * str key. Appends u32 n,
 * n * (str nspace, u32 rank, str key, bytes value) to `out`. */
struct store_lookup {
    struct store_who who;
    uint8_t range;
    bool wait;
    uint32_t timeout_s;
    uint32_t wanted; /* this number of values ends the wait */
    uint32_t nkeys;
};
bool store_lookup_head(const void *blob, size_t len, struct store_lookup *out);
enum store_result store_lookup(struct store *s, const void *blob, size_t len, struct buf *out);
/* How many values the lookup would find now; none is counted as read. */
uint32_t store_count_found(const struct store *s, const void *blob, size_t len);
/* who, u8 range, u32 n, n * str key; n = 0: all values that `who` has published in the range. */
enum store_result store_unpublish(struct store *s, const void *blob, size_t len);
/* who: this rank has ended; removes its values with PMIX_PERSIST_PROC. */
enum store_result store_rank_ended(struct store *s, const void *blob, size_t len);
/* A job has ended, or (rank not UINT32_MAX) one of its ranks: removes the values published for
 * that life. */
void store_purge(struct store *s, const char *nspace, uint32_t rank);

#endif
