/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of the head in a file: each call writes them (file.c), or a thread does (writer.c).
 *
 * Without the thread the bytes are with the kernel when a call returns. With it the calls return at
 * once, and the file may lack the last groups. */
#include "dvm/host/records/records.h"

#include "dvm/host/records/file_private.h"
#include "dvm/host/records/writer_private.h"

#include <stdlib.h>

struct records {
    char *path;
    struct records_file *file;     /* NULL: the writer has it */
    struct records_writer *writer; /* NULL: each call writes */
    void (*on_failed)(const struct err *why, void *arg);
    void *arg;
    bool there;
    size_t appended; /* since the last snapshot */
};

struct records *records_open(const char *path, struct buf *all, struct err *err)
{
    struct records *r = xcalloc(1, sizeof(*r));

    r->path = xstrdup(path);
    r->file = records_file_open(path, all, &r->appended, err);
    r->there = r->file;
    if (r->there)
        return r;
    records_close(r);
    return NULL;
}

static void on_writer_failed(const struct err *why, bool lost, void *arg)
{
    struct records *r = arg;

    if (!r->there)
        return; /* the file was removed meanwhile, or its loss is known */
    r->there = !lost;
    r->on_failed(why, r->arg);
}

int records_write_behind(struct records *r, struct loop *loop,
                         void (*on_failed)(const struct err *why, void *arg), void *arg,
                         struct err *err)
{
    r->on_failed = on_failed;
    r->arg = arg;
    r->writer = records_writer_create(loop, r->path, r->file, on_writer_failed, r, err);
    if (!r->writer)
        return -1;
    r->file = NULL;
    return 0;
}

void records_close(struct records *r)
{
    if (!r)
        return;
    records_writer_close(r->writer);
    records_file_close(r->file);
    free(r->path);
    free(r);
}

int records_begin(struct records *r, struct err *err)
{
    r->appended = 0;
    return records_file_empty(r->file, err);
}

static int write_records(struct records *r, enum records_write what, const void *data, size_t len,
                         struct err *err)
{
    int rc;

    if (!r->there)
        return 0;
    if (r->writer) {
        rc = records_writer_put(r->writer, what, data, len, err);
        r->there = rc == 0;
    } else {
        rc = records_file_write(r->file, what, data, len, err);
        r->there = records_file_there(r->file);
    }
    return rc;
}

int records_put(struct records *r, const void *data, size_t len, struct err *err)
{
    int rc = write_records(r, RECORDS_APPEND, data, len, err);

    r->appended += RECORDS_HEADER_BYTES + len;
    return rc;
}

bool records_full(const struct records *r)
{
    return r->there && r->appended > RECORDS_COMPACT_BYTES;
}

int records_compact(struct records *r, const void *data, size_t len, struct err *err)
{
    r->appended = 0; /* the next attempt comes after as much again */
    return write_records(r, RECORDS_COMPACT, data, len, err);
}

int records_replace(struct records *r, const void *data, size_t len, struct err *err)
{
    r->appended = 0;
    return write_records(r, RECORDS_REPLACE, data, len, err);
}

bool records_there(const struct records *r)
{
    return r->there;
}

void records_remove(struct records *r)
{
    if (r->there && r->writer)
        records_writer_remove(r->writer);
    else if (r->there)
        records_file_remove(r->file);
    r->there = false;
}
