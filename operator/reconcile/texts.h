/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts behind a struct, in one block with it: a copy of an object of which thousands are kept. */
#ifndef OPERATOR_RECONCILE_TEXTS_H
#define OPERATOR_RECONCILE_TEXTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define TEXTS_MAX 16
#define TEXT_BYTES_MAX 2048 /* a longer text is cut */

/* A block of `size` zero bytes and the texts (NULL: absent). `at` is an array within these bytes,
 * at offset `at_offset`; it takes the place of each text in the block, 0 for an absent one. On the
 * heap, freed by free(). */
void *texts_pack(size_t size, size_t at_offset, const char *const *texts, size_t n);
/* NULL: absent. */
const char *texts_get(const void *block, uint16_t at);

/* The field of an object at a path of two or three names, borrowed; NULL: absent. */
const json_t *texts_field(const json_t *o, const char *a, const char *b, const char *c);
/* The same as a text; NULL: it is none. */
const char *texts_find(const json_t *o, const char *a, const char *b, const char *c);

#endif
