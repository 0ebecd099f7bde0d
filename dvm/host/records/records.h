/* SPDX-License-Identifier: BSD-3-Clause */
/* The file with the records of the head (docs/head.md), for the next process of the head. */
#ifndef DVM_RECORDS_RECORDS_H
#define DVM_RECORDS_RECORDS_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#define RECORDS_COMPACT_BYTES (16u << 20) /* since the last snapshot */

struct records;

/* Opens or makes the file, and locks it: NULL and a reason if another process has it. *all gets the
 * whole groups that are in it; what follows a damaged one is cut off. */
struct records *records_open(const char *path, struct buf *all, struct err *err);
void records_close(struct records *r);
/* The file is empty from now on: a new incarnation begins. */
int records_begin(struct records *r, struct err *err) __attribute__((warn_unused_result));
/* Appends a group: all of it will be read again, or nothing. -1 and a reason: the file is removed,
 * and nothing is written any more. */
int records_put(struct records *r, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* So much was appended that a snapshot should replace it. */
bool records_full(const struct records *r);
/* One group replaces all. -1 and a reason: the file is as before. */
int records_replace(struct records *r, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* False after the file was removed, or a write has failed. */
bool records_there(const struct records *r);
/* The DVM has ended: nobody will go on with it. */
void records_remove(struct records *r);

#endif
