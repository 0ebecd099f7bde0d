/* SPDX-License-Identifier: BSD-3-Clause */
/* A growable byte buffer to encode into, and a bounds-checked cursor to decode from. */
#ifndef BASE_BUF_BUF_H
#define BASE_BUF_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers are big-endian. Strings and byte runs carry a 32-bit length. A put that would pass `max`
 * sets `failed` and writes nothing; so does every later put: check once, at the end.
 * Out of memory ends the program with one line (docs/architecture.md, Memory). */
struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_free(struct buf *b); /* also the cleanup attribute's function; NULL data is fine */
void buf_reset(struct buf *b);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_raw(struct buf *b, const void *p, size_t len);
void buf_put_bytes(struct buf *b, const void *p, size_t len);
void buf_put_str(struct buf *b, const char *s); /* NULL is encoded as "" */
/* Overwrites 4 bytes already written, for length fields known late. */
void buf_patch_u32(struct buf *b, size_t off, uint32_t v);
/* Drops the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

#define BUF_AUTO __attribute__((cleanup(buf_free)))

/* Reads past the end, or a string with an embedded NUL or longer than `max`, set `bad` and give 0,
 * "" or NULL; every later read does too. Pointers that are returned borrow from the input. */
struct cur {
    const uint8_t *p;
    const uint8_t *end;
    bool bad;
};

struct cur cur_of(const void *p, size_t len);
uint8_t cur_u8(struct cur *c);
uint16_t cur_u16(struct cur *c);
uint32_t cur_u32(struct cur *c);
uint64_t cur_u64(struct cur *c);
const uint8_t *cur_raw(struct cur *c, size_t len);
const uint8_t *cur_bytes(struct cur *c, size_t max, size_t *len);
/* A copy on the heap, never NULL ("" when bad). The caller frees it. */
char *cur_str(struct cur *c, size_t max);
/* A count of elements that take at least `elem_min` bytes each: bad if it is over `max` or cannot
 * fit in what is left, so that nobody allocates on a stranger's word. */
uint32_t cur_count(struct cur *c, uint32_t max, size_t elem_min);
size_t cur_left(const struct cur *c);
/* True if nothing was bad and nothing is left. */
bool cur_done(const struct cur *c);

/* Ends the program with one clear line: for a library call that fails for want of memory. */
void alloc_fail(size_t wanted_bytes) __attribute__((noreturn, cold));
/* malloc, realloc, strdup that end the program with one clear line when memory is out. */
void *xmalloc(size_t n) __attribute__((returns_nonnull, malloc));
void *xcalloc(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));
char *xasprintf(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));
/* Frees *(void **)pp and sets it to NULL; also the function of the cleanup attribute. */
void free_ptr(void *pp);
#define FREE_AUTO __attribute__((cleanup(free_ptr)))

#endif
