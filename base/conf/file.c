/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a whole file as text. It is apart from conf.c, so that a program that reads files need not
 * be linked with the YAML parser. */
#include "base/conf/conf.h"

#include "base/buf/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_STEP 65536

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

#define FD_AUTO __attribute__((cleanup(close_fd)))

static int check_regular(int fd, const char *path, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "reading %s", path);
    if (S_ISDIR(st.st_mode))
        return err_sys(err, EISDIR, "reading %s", path);
    if (!S_ISREG(st.st_mode))
        return err_code(err, EINVAL, "reading %s: not a regular file", path);
    return 0;
}

/* Reads to the end of the file: the size that stat() gives is 0 or 4096 under /proc and /sys. */
static char *read_all(int fd, size_t max, size_t *len, struct err *err)
{
    size_t cap = 0;
    size_t used = 0;
    char *text = NULL;
    ssize_t n;

    do {
        if (cap - used < READ_STEP) {
            cap = used + READ_STEP;
            text = xrealloc(text, cap + 1);
        }
        n = read(fd, text + used, cap - used);
        if (n > 0)
            used += (size_t)n;
    } while ((n > 0 && used <= max) || (n < 0 && errno == EINTR));
    if (n < 0) {
        err_sys(err, errno, "reading");
        goto error;
    }
    if (used > max) {
        err_code(err, EFBIG, "more than %zu bytes", max);
        goto error;
    }
    text[used] = '\0';
    *len = used;
    return text;
error:
    free(text);
    return NULL;
}

char *conf_read_file(const char *path, size_t max, size_t *len, struct err *err)
{
    /* O_NONBLOCK: the open of a FIFO returns at once, and the check of its type refuses it. */
    FD_AUTO int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t ignored;
    char *text;

    if (fd < 0) {
        err_sys(err, errno, "opening %s", path);
        return NULL;
    }
    if (check_regular(fd, path, err) < 0)
        return NULL;
    text = read_all(fd, max, len ? len : &ignored, err);
    if (!text)
        err_wrap(err, "reading %s", path);
    return text;
}
