/* SPDX-License-Identifier: BSD-3-Clause */
/* A growable byte buffer to encode into, and a bounds-checked cursor to decode from. */
#ifndef BASE_BUF_BUF_H
#define BASE_BUF_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers are big-endian. Strings and byte runs have a 32-bit length before them. A put beyond
 * `max` bytes sets `failed` and writes nothing, and so does every later put: an encoder checks
 * once, at the end.
 * When memory runs out the program ends with one line (base/buf/alloc.c). */
struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;
    bool failed;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_free(struct buf *b); /* also the function of the cleanup attribute; NULL data is fine */
void buf_reset(struct buf *b);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_raw(struct buf *b, const void *p, size_t len);
void buf_put_bytes(struct buf *b, const void *p, size_t len);
void buf_put_str(struct buf *b, const char *s); /* NULL is encoded as "" */
/* Overwrites 4 bytes that were written before, for a length that is known only later. */
void buf_patch_u32(struct buf *b, size_t off, uint32_t v);
/* Removes the first n bytes (n <= len). */
void buf_consume(struct buf *b, size_t n);

#define BUF_AUTO __attribute__((cleanup(buf_free)))

/* A read beyond the end sets `bad`, and so does a string with an embedded NUL or with more than
 * `max` bytes. It gives 0, "" or NULL, and so does every later read. Pointers that are returned
 * borrow from the input. */
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
/* A count of elements that take at least `elem_min` bytes each. It is bad above `max`, or when so
 * many elements cannot fit in the rest of the input. So the peer cannot make the decoder allocate
 * more than it has sent. */
uint32_t cur_count(struct cur *c, uint32_t max, size_t elem_min);
size_t cur_left(const struct cur *c);
/* True if nothing was bad and nothing is left. */
bool cur_done(const struct cur *c);

/* Ends the program with one line, for a library call that fails when memory runs out. */
void alloc_fail(size_t wanted_bytes) __attribute__((noreturn, cold));
/* malloc, realloc, strdup and so on; the program ends with one line when memory runs out. */
void *xmalloc(size_t n) __attribute__((returns_nonnull, malloc));
void *xcalloc(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((returns_nonnull, malloc));
char *xstrndup(const char *s, size_t most_bytes) __attribute__((returns_nonnull, malloc));
char *xasprintf(const char *fmt, ...) __attribute__((returns_nonnull, format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap)
    __attribute__((returns_nonnull, format(printf, 1, 0)));
/* Frees *(void **)pp and sets it to NULL; also the function of the cleanup attribute. */
void free_ptr(void *pp);
#define FREE_AUTO __attribute__((cleanup(free_ptr)))

#endif
