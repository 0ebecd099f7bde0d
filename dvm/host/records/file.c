/* SPDX-License-Identifier: BSD-3-Clause */
/* The file with the records of the head.
 *
 * In: groups of records in their order, each with the records of one input of the core; a snapshot.
 * Out: the file; at the next start, the groups that are in it.
 *
 * A group is written by one call: length, checksum, bytes. A process that is killed leaves whole
 * groups, and perhaps the beginning of one, which is cut off. The bytes are with the kernel when
 * the call returns, so they outlive the process; they need not outlive the host.
 *
 * A lock on the file shows that its head lives: two heads never write one file.
 *
 * Failures: after a failed write the file is removed, since a file with a gap would be worse than
 * none. A snapshot that cannot be written leaves the file as it was. */
#include "dvm/host/records/file_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_MAX ((size_t)2 << 30)

struct records_file {
    char *path;
    int fd; /* -1: it was removed */
};

static uint32_t checksum_of(const uint8_t *data, size_t len)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < len; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

static int read_file(int fd, struct buf *b, struct err *err)
{
    uint8_t part[65536];
    ssize_t n;

    while ((n = read(fd, part, sizeof(part))) != 0) {
        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "reading it");
        if (n > 0)
            buf_put_raw(b, part, (size_t)n);
        if (b->failed)
            return err_set(err, "it has more than %zu bytes", FILE_MAX);
    }
    return 0;
}

/* The groups from the beginning to the first that is damaged or cut. Returns their bytes. */
static size_t take_groups(const struct buf *file, struct buf *all)
{
    struct cur c = cur_of(file->data, file->len);
    size_t good = 0;

    while (cur_left(&c) >= RECORDS_HEADER_BYTES) {
        uint32_t len = cur_u32(&c), sum = cur_u32(&c);
        const uint8_t *data = file->data + good + RECORDS_HEADER_BYTES;

        if (len > cur_left(&c) || checksum_of(data, len) != sum)
            break;
        buf_put_raw(all, data, len);
        good += RECORDS_HEADER_BYTES + len;
        c = cur_of(file->data + good, file->len - good);
    }
    return good;
}

static int load_file(const struct records_file *f, struct buf *all, size_t *len_bytes,
                     struct err *err)
{
    BUF_AUTO struct buf file = {0};
    size_t good;

    buf_init(&file, FILE_MAX);
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? err_set(err, "another head has it")
                                    : err_sys(err, errno, "locking it");
    if (read_file(f->fd, &file, err) < 0)
        return -1;
    good = take_groups(&file, all);
    if (good < file.len && (ftruncate(f->fd, (off_t)good) < 0 || lseek(f->fd, 0, SEEK_END) < 0))
        return err_sys(err, errno, "cutting it");
    *len_bytes = good;
    return 0;
}

struct records_file *records_file_open(const char *path, struct buf *all, size_t *len_bytes,
                                       struct err *err)
{
    struct records_file *f = xcalloc(1, sizeof(*f));

    f->path = xstrdup(path);
    buf_init(all, FILE_MAX);
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->fd < 0)
        err_sys(err, errno, "opening it");
    if (f->fd < 0 || load_file(f, all, len_bytes, err) < 0) {
        err_wrap(err, "records of the head, %s", path);
        records_file_close(f);
        return NULL;
    }
    return f;
}

void records_file_close(struct records_file *f)
{
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    free(f);
}

int records_file_empty(struct records_file *f, struct err *err)
{
    if (ftruncate(f->fd, 0) < 0 || lseek(f->fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "emptying %s", f->path);
    return 0;
}

static int write_group(int fd, const void *data, size_t len)
{
    BUF_AUTO struct buf head = {0};
    struct iovec parts[2] = {{NULL, RECORDS_HEADER_BYTES}, {(void *)data, len}};

    buf_init(&head, RECORDS_HEADER_BYTES);
    buf_put_u32(&head, (uint32_t)len);
    buf_put_u32(&head, checksum_of(data, len));
    parts[0].iov_base = head.data;
    errno = 0; /* a write that is cut sets none */
    return writev(fd, parts, 2) == (ssize_t)(RECORDS_HEADER_BYTES + len) ? 0 : -1;
}

void records_file_remove(struct records_file *f)
{
    if (f->fd < 0)
        return;
    (void)unlink(f->path);
    close(f->fd);
    f->fd = -1;
}

static int append_group(struct records_file *f, const void *data, size_t len, struct err *err)
{
    if (write_group(f->fd, data, len) == 0)
        return 0;
    err_sys(err, errno ? errno : ENOSPC, "writing %s, which is removed", f->path);
    records_file_remove(f);
    return -1;
}

static int replace_groups(struct records_file *f, const void *data, size_t len, struct err *err)
{
    FREE_AUTO char *tmp = xasprintf("%s.tmp", f->path);
    int fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || write_group(fd, data, len) < 0 ||
        rename(tmp, f->path) < 0) {
        err_sys(err, errno, "writing %s", tmp);
        if (fd >= 0)
            close(fd);
        (void)unlink(tmp);
        return -1;
    }
    close(f->fd);
    f->fd = fd;
    return 0;
}

int records_file_write(struct records_file *f, enum records_write what, const void *data,
                       size_t len, struct err *err)
{
    int rc;

    if (f->fd < 0)
        return 0;
    if (what == RECORDS_APPEND)
        return append_group(f, data, len, err);
    rc = replace_groups(f, data, len, err);
    if (rc < 0 && what == RECORDS_REPLACE)
        records_file_remove(f);
    return rc;
}

bool records_file_there(const struct records_file *f)
{
    return f->fd >= 0;
}
