/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads fields of JSON objects with their type and limits; the first failure is kept and names the
 * field. */
#ifndef API_FIELDS_H
#define API_FIELDS_H

#include "base/err/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first bad field sets `bad` and err. Later reads give 0, NULL or the default and leave err
 * alone, so a decoder reads everything and checks once at the end. Fields that no decoder reads are
 * ignored, unless it calls fields_only(). An optional field whose value is null counts as absent.
 */
struct fields {
    const json_t *o;
    struct err *err;
    bool bad;
};
struct fields fields_of(const json_t *o, struct err *err); /* bad if `o` is no object */
/* Refuses `name` with "<name>: <fmt>", unless an earlier field was bad. */
void fields_refuse(struct fields *f, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses each field whose name is not in the list, which ends with NULL. */
void fields_only(struct fields *f, const char *const *names);

uint64_t fields_u64(struct fields *f, const char *name, uint64_t max);
uint64_t fields_u64_or(struct fields *f, const char *name, uint64_t max, uint64_t absent);
int64_t fields_i64_or(struct fields *f, const char *name, int64_t min, int64_t max, int64_t absent);
/* Heap copies of 1 (0 for the optional one) to `max` bytes; NULL only when bad. */
char *fields_str(struct fields *f, const char *name, size_t max);
char *fields_str_or(struct fields *f, const char *name, size_t max, const char *absent);
/* 1 to size - 1 bytes into `out`, which is "" when bad. */
void fields_word(struct fields *f, const char *name, char *out, size_t size);
/* The index of the text in `words`. */
size_t fields_choice(struct fields *f, const char *name, const char *const *words, size_t nwords);
size_t fields_choice_or(struct fields *f, const char *name, const char *const *words, size_t nwords,
                        size_t absent);
/* Borrowed; NULL when bad, or absent where that is allowed. */
const json_t *fields_object_or_null(struct fields *f, const char *name);
const json_t *fields_array(struct fields *f, const char *name, size_t max);
const json_t *fields_array_or_null(struct fields *f, const char *name, size_t max);
/* A list of 32-bit numbers on the heap (NULL if empty or bad); `ascending`: without duplicates,
 * too. */
uint32_t *fields_u32s(struct fields *f, const char *name, size_t max, bool ascending, size_t *n);
uint32_t *fields_u32s_or_none(struct fields *f, const char *name, size_t max, size_t *n);

void fields_put_u64(json_t *o, const char *name, uint64_t v); /* v <= INT64_MAX */
void fields_put_i64(json_t *o, const char *name, int64_t v);
/* Cuts the text at `max` bytes, replaces bytes that are not UTF-8 by '?', and writes NULL as "".
 * Every text that this function writes can be read. */
void fields_put_str(json_t *o, const char *name, const char *s, size_t max);
void fields_put_u32s(json_t *o, const char *name, const uint32_t *v, size_t n);

#endif
