/* SPDX-License-Identifier: BSD-3-Clause */
/* Included before every file that clang-tidy reads. Its analyzer cannot follow two of uthash's
 * macros: the hash, which takes a key apart byte by byte (it sees the use of uninitialised memory),
 * and the unlinking of an item (it sees an empty table that is followed). */
#ifndef CI_ANALYZE_H
#define CI_ANALYZE_H

unsigned lint_hash(const void *key, unsigned long len);
void *lint_hash_delete(void *head, const void *item_hh);

#define HASH_FUNCTION(keyptr, keylen, hashv) ((hashv) = lint_hash((keyptr), (keylen)))

#include <uthash.h>

#undef HASH_DELETE_HH
#define HASH_DELETE_HH(hh, head, delptrhh) ((head) = lint_hash_delete((head), (delptrhh)))

#endif
