/* SPDX-License-Identifier: BSD-3-Clause */
/* The file itself. One thread at a time uses it, and each call waits for the file system. */
#ifndef DVM_RECORDS_FILE_PRIVATE_H
#define DVM_RECORDS_FILE_PRIVATE_H

#include "base/buf/buf.h"
#include "base/err/err.h"

#define RECORDS_HEADER_BYTES 8 /* of each group */

enum records_write {
    RECORDS_APPEND,  /* a group */
    RECORDS_COMPACT, /* the group replaces all; after a failure the file is as before */
    RECORDS_REPLACE  /* the same; after a failure the file is removed */
};

struct records_file;
/* As records_open(); *len_bytes gets the length of the file. */
struct records_file *records_file_open(const char *path, struct buf *all, size_t *len_bytes,
                                       struct err *err);
void records_file_close(struct records_file *f);
int records_file_empty(struct records_file *f, struct err *err) __attribute__((warn_unused_result));
/* Does nothing if the file was removed. */
int records_file_write(struct records_file *f, enum records_write what, const void *data,
                       size_t len, struct err *err) __attribute__((warn_unused_result));
void records_file_remove(struct records_file *f);
/* False: it was removed. */
bool records_file_there(const struct records_file *f);

#endif
