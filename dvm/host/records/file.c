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
#include "dvm/host/records/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEADER_BYTES 8
#define FILE_MAX ((size_t)2 << 30)

struct records {
    char *path;
    int fd; /* -1: it was removed */
    size_t appended;
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

    while (cur_left(&c) >= HEADER_BYTES) {
        uint32_t len = cur_u32(&c), sum = cur_u32(&c);
        const uint8_t *data = file->data + good + HEADER_BYTES;

        if (len > cur_left(&c) || checksum_of(data, len) != sum)
            break;
        buf_put_raw(all, data, len);
        good += HEADER_BYTES + len;
        c = cur_of(file->data + good, file->len - good);
    }
    return good;
}

static int load_file(struct records *r, struct buf *all, struct err *err)
{
    BUF_AUTO struct buf file = {0};
    size_t good;

    buf_init(&file, FILE_MAX);
    if (flock(r->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? err_set(err, "another head has it")
                                    : err_sys(err, errno, "locking it");
    if (read_file(r->fd, &file, err) < 0)
        return -1;
    good = take_groups(&file, all);
    if (good < file.len && (ftruncate(r->fd, (off_t)good) < 0 || lseek(r->fd, 0, SEEK_END) < 0))
        return err_sys(err, errno, "cutting it");
    r->appended = good;
    return 0;
}

struct records *records_open(const char *path, struct buf *all, struct err *err)
{
    struct records *r = xcalloc(1, sizeof(*r));

    r->path = xstrdup(path);
    buf_init(all, FILE_MAX);
    r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (r->fd < 0)
        err_sys(err, errno, "opening it");
    if (r->fd < 0 || load_file(r, all, err) < 0) {
        err_wrap(err, "records of the head, %s", path);
        records_close(r);
        return NULL;
    }
    return r;
}

void records_close(struct records *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r);
}

int records_begin(struct records *r, struct err *err)
{
    r->appended = 0;
    if (ftruncate(r->fd, 0) < 0 || lseek(r->fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "emptying %s", r->path);
    return 0;
}

static int write_group(int fd, const void *data, size_t len)
{
    BUF_AUTO struct buf head = {0};
    struct iovec parts[2] = {{NULL, HEADER_BYTES}, {(void *)data, len}};

    buf_init(&head, HEADER_BYTES);
    buf_put_u32(&head, (uint32_t)len);
    buf_put_u32(&head, checksum_of(data, len));
    parts[0].iov_base = head.data;
    errno = 0; /* a write that is cut sets none */
    return writev(fd, parts, 2) == (ssize_t)(HEADER_BYTES + len) ? 0 : -1;
}

int records_put(struct records *r, const void *data, size_t len, struct err *err)
{
    if (r->fd < 0)
        return 0;
    if (write_group(r->fd, data, len) == 0) {
        r->appended += HEADER_BYTES + len;
        return 0;
    }
    err_sys(err, errno ? errno : ENOSPC, "writing %s, which is removed", r->path);
    records_remove(r);
    return -1;
}

bool records_full(const struct records *r)
{
    return r->fd >= 0 && r->appended > RECORDS_COMPACT_BYTES;
}

int records_replace(struct records *r, const void *data, size_t len, struct err *err)
{
    FREE_AUTO char *tmp = xasprintf("%s.tmp", r->path);
    int fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    r->appended = 0; /* the next attempt comes after as much again */
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || write_group(fd, data, len) < 0 ||
        rename(tmp, r->path) < 0) {
        err_sys(err, errno, "writing %s", tmp);
        if (fd >= 0)
            close(fd);
        (void)unlink(tmp);
        return -1;
    }
    close(r->fd);
    r->fd = fd;
    return 0;
}

bool records_there(const struct records *r)
{
    return r->fd >= 0;
}

void records_remove(struct records *r)
{
    if (r->fd < 0)
        return;
    (void)unlink(r->path);
    close(r->fd);
    r->fd = -1;
}
