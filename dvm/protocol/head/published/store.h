/* SPDX-License-Identifier: BSD-3-Clause */
/* The values that ranks have published: pure, the values are opaque bytes. */
#ifndef DVM_HEAD_PUBLISHED_STORE_H
#define DVM_HEAD_PUBLISHED_STORE_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#include <stdbool.h>
#include <stdint.h>

/* At most STORE_KEYS_MAX entries and STORE_BYTES_MAX bytes are held; a request beyond these is
 * refused as a whole. */
#define STORE_KEYS_MAX 65536u
#define STORE_BYTES_MAX (64u << 20)
#define STORE_KEY_MAX 511
/* Values until their first read whose job has ended: of more than these the oldest are removed. */
#define STORE_UNREAD_MAX 4096u
#define STORE_UNREAD_BYTES_MAX (STORE_BYTES_MAX / 4)

/* The numbers of PMIX_RANGE_… and PMIX_PERSIST_…, as the PMIx standard has them. */
enum store_range {
    STORE_RANGE_UNDEF = 0,
    STORE_RANGE_LOCAL = 2,
    STORE_RANGE_NAMESPACE = 3,
    STORE_RANGE_SESSION = 4,
    STORE_RANGE_GLOBAL = 5,
    STORE_RANGE_PROC_LOCAL = 7
};
enum store_persistence {
    STORE_PERSIST_INDEF,
    STORE_PERSIST_FIRST_READ,
    STORE_PERSIST_PROC,
    STORE_PERSIST_APP,
    STORE_PERSIST_SESSION
};

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

/* The blobs that these functions build and read; a malformed one is answered with STORE_BAD. */
void store_put_who(struct buf *b, const struct store_who *who);
bool store_get_who(struct cur *c, struct store_who *who);

enum store_result {
    STORE_OK,
    STORE_BAD,       /* malformed */
    STORE_DUPLICATE, /* a key is published already in this range; nothing was stored */
    STORE_FULL,      /* nothing was stored */
    STORE_NONE,      /* no key found */
    STORE_SOME,      /* some keys found */
    STORE_WAITS,     /* the lookup is to wait for values (published.h) */
    STORE_RESULTS
};

/* Values, by the numbers that the store gives them in the order in which they are published. */
struct store_ids {
    uint64_t *list; /* on the heap */
    uint32_t n;
};

/* Changes: these are made by the fold of the journal alone.
 *
 * who, u8 range, u8 persistence, u32 n, n * (str key, bytes value). */
enum store_result store_publish(struct store *s, const void *blob, size_t len);
/* -1, a reason and no change if there is no such value, or one is named twice. */
int store_remove(struct store *s, const uint64_t *ids, uint32_t n, struct err *err)
    __attribute__((warn_unused_result));
/* All values in their one form; into an empty store. */
void store_save(const struct store *s, struct buf *b);
int store_load(struct store *s, struct cur *c, struct err *err) __attribute__((warn_unused_result));

/* Questions: they change nothing. Each appends the values to be removed to `ids`.
 *
 * The result that store_publish() would have; nothing is stored. */
enum store_result store_may_publish(const struct store *s, const void *blob, size_t len);
/* who, u8 range, u8 wait, u32 timeout_s, u32 wanted (0: all), u32 n, n * str key. Appends u32 n,
 * n * (str nspace, u32 rank, str key, bytes value) to `out`. `ids`: the values that their first
 * reader removes. */
struct store_lookup {
    struct store_who who;
    uint8_t range;
    bool wait;
    uint32_t timeout_s;
    uint32_t wanted; /* this number of values ends the wait */
    uint32_t nkeys;
};
bool store_lookup_head(const void *blob, size_t len, struct store_lookup *out);
/* Whether the lookup is for a value of this port: a key that begins with its name and a colon. */
bool store_lookup_names(const void *blob, size_t len, const char *port);
/* In the blob of a lookup with a limit: so many seconds have passed, and one is left at least. */
void store_lookup_shorten(void *blob, size_t len, uint32_t passed_s);
enum store_result store_lookup(struct store *s, const void *blob, size_t len, struct buf *out,
                               struct store_ids *ids);
/* How many values the lookup would find now. */
uint32_t store_count_found(const struct store *s, const void *blob, size_t len);
/* who, u8 range, u32 n, n * str key; n = 0: all values that `who` has published in the range. */
enum store_result store_unpublish(const struct store *s, const void *blob, size_t len,
                                  struct store_ids *ids);
/* who: this rank has ended, and its values with STORE_PERSIST_PROC. */
enum store_result store_rank_ended(const struct store *s, const void *blob, size_t len,
                                   struct store_ids *ids);
/* A job has ended, and the values published for its life; `runs` says of which jobs that is not
 * so. Values until their first read stay if a later job can read them. */
void store_job_ended(const struct store *s, const char *nspace,
                     bool (*runs)(const char *nspace, void *arg), void *arg, struct store_ids *ids);

#endif
