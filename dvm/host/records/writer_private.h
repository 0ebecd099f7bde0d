/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that writes the file, so that the loop does not wait for a volume. */
#ifndef DVM_RECORDS_WRITER_PRIVATE_H
#define DVM_RECORDS_WRITER_PRIVATE_H

#include "base/loop/loop.h"
#include "dvm/host/records/file_private.h"

struct records_writer;
/* Takes the file, unless it fails. on_failed() may also come from records_writer_close(). `lost`:
 * the file is not written any more. */
struct records_writer *
records_writer_create(struct loop *loop, const char *path, struct records_file *file,
                      void (*on_failed)(const struct err *why, bool lost, void *arg), void *arg,
                      struct err *err);
/* Copies the data. -1 and a reason: too much waits, and the file is given up. */
int records_writer_put(struct records_writer *w, enum records_write what, const void *data,
                       size_t len, struct err *err) __attribute__((warn_unused_result));
/* Drops what has not begun; then the thread removes the file. Nothing may be put after this, nor
 * after a file that was given up. */
void records_writer_remove(struct records_writer *w);
/* Waits RECORDS_END_MS at most for what was put, and logs if that has not sufficed. Reports a
 * failure that was not reported yet. */
void records_writer_close(struct records_writer *w);

#endif
