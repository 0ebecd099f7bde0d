/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the ranks' output, opened at the first data. */
#include "dvm/tools/submit/output_files.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct file { /* an open file; the table is ordered by last use */
    uint64_t key;
    int fd;
    UT_hash_handle hh;
};

struct output_files {
    const char *dir;
    int digits;
    int job; /* descriptor of dir/nspace; -1: the job has no name yet */
    struct file *open;
};

int output_files_check(const char *dir, struct err *err)
{
    int fd;

    if (mkdir(dir, 0777) < 0 && errno != EEXIST)
        return err_sys(err, errno, "--output: making the directory %s", dir);
    fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    if (fd < 0 || access(dir, W_OK | X_OK) < 0)
        return err_sys(err, errno, "--output: writing into %s", dir);
    return 0;
}

struct output_files *output_files_create(const char *dir, int digits)
{
    struct output_files *f = xcalloc(1, sizeof(*f));

    f->dir = dir;
    f->digits = digits;
    f->job = -1;
    return f;
}

static void drop_file(struct output_files *f, struct file *x)
{
    close(x->fd);
    HASH_DEL(f->open, x);
    free(x);
}

void output_files_destroy(struct output_files *f)
{
    if (!f)
        return;
    while (f->open)
        drop_file(f, f->open);
    if (f->job >= 0)
        close(f->job);
    free(f);
}

int output_files_job(struct output_files *f, const char *nspace, struct err *err)
{
    FREE_AUTO char *path = xasprintf("%s/%s", f->dir, nspace);

    if (mkdir(path, 0777) < 0)
        return err_sys(err, errno, "making the directory %s", path);
    f->job = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->job < 0 ? err_sys(err, errno, "opening the directory %s", path) : 0;
}

static struct file *file_of(struct output_files *f, uint32_t rank, int stream, struct err *err)
{
    uint64_t key = (uint64_t)rank << 2 | (uint64_t)stream;
    char name[64];
    struct file *x;
    int fd;

    HASH_FIND(hh, f->open, &key, sizeof(key), x);
    if (x) { /* moves a file to the end of the table */
        HASH_DEL(f->open, x);
        HASH_ADD(hh, f->open, key, sizeof(x->key), x);
        return x;
    }
    if (HASH_COUNT(f->open) == OUTPUT_FILES_OPEN_MAX)
        drop_file(f, f->open);
    snprintf(name, sizeof(name), "rank.%0*u.%s", f->digits, rank, stream == 1 ? "out" : "err");
    fd = openat(f->job, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        err_sys(err, errno, "opening %s in %s", name, f->dir);
        return NULL;
    }
    x = xcalloc(1, sizeof(*x));
    x->key = key;
    x->fd = fd;
    HASH_ADD(hh, f->open, key, sizeof(x->key), x);
    return x;
}

int output_files_write(struct output_files *f, uint32_t rank, int stream, const void *data,
                       size_t len, struct err *err)
{
    const struct file *x = file_of(f, rank, stream, err);
    const char *p = data;

    if (!x)
        return -1;
    while (len) {
        ssize_t n = write(x->fd, p, len);

        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "writing the output of rank %u in %s", rank, f->dir);
        if (n < 0)
            continue;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
