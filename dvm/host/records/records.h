/* SPDX-License-Identifier: BSD-3-Clause */
/* The file with the records of the head (docs/head.md), for the next process of the head. */
#ifndef DVM_RECORDS_RECORDS_H
#define DVM_RECORDS_RECORDS_H

#include "base/buf/buf.h"
#include "base/err/err.h"
#include "base/loop/loop.h"

#define RECORDS_COMPACT_BYTES (16u << 20) /* since the last snapshot */
/* Of records_write_behind(): */
#define RECORDS_BEHIND_BYTES (16u << 20) /* of groups that wait, before the last one */
#define RECORDS_SILENT_MS 10000 /* without a write that returns; noticed within twice that */
#define RECORDS_END_MS 2000     /* that records_close() waits */

struct records;

/* Opens or makes the file, and locks it: NULL and a reason if another process has it. *all gets the
 * whole groups that are in it; what follows a damaged one is cut off. */
struct records *records_open(const char *path, struct buf *all, struct err *err);
/* From now on a thread of its own writes, in the order of the calls, and no call but
 * records_close() waits for the file. So a later process may lack the last groups. A failure that a
 * call cannot return comes to on_failed(), on the loop's thread: then records_there() tells whether
 * the file is lost, or only a snapshot was not written. A file that has not answered for
 * RECORDS_SILENT_MS, or is RECORDS_BEHIND_BYTES behind, is lost too: it is removed when it answers.
 * -1 and a reason: there is no thread. */
int records_write_behind(struct records *r, struct loop *loop,
                         void (*on_failed)(const struct err *why, void *arg), void *arg,
                         struct err *err) __attribute__((warn_unused_result));
/* Also ends the thread. What is not written within RECORDS_END_MS is logged. */
void records_close(struct records *r);
/* The file is empty from now on: a new incarnation begins. Not after records_write_behind(). */
int records_begin(struct records *r, struct err *err) __attribute__((warn_unused_result));
/* Appends a group: all of it will be read again, or nothing. -1 and a reason: the file is removed,
 * and nothing is written any more. */
int records_put(struct records *r, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* So much was appended that a snapshot should replace it. */
bool records_full(const struct records *r);
/* One group stands for all and replaces them. -1 and a reason: the file is as before. */
int records_compact(struct records *r, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* One group replaces all, which lack what is before it. -1 and a reason: as records_put(). */
int records_replace(struct records *r, const void *data, size_t len, struct err *err)
    __attribute__((warn_unused_result));
/* False after the file was removed, or a write has failed. */
bool records_there(const struct records *r);
/* The DVM has ended: nobody will go on with it. What still waits to be written is dropped. */
void records_remove(struct records *r);

#endif
