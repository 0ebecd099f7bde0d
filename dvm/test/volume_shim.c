/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into a head: its file of records is on a volume that does not answer while there is a
 * file of the name in $VOLUME_HANGS. A call that has begun by then never returns. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of the file of records, or of the next one beside it. */
static bool is_on_volume(const char *path)
{
    const char *name = strrchr(path, '/');

    return name && (strcmp(name, "/records") == 0 || strcmp(name, "/records.tmp") == 0);
}

static void hang_on_volume(const char *path)
{
    const char *mark = getenv("VOLUME_HANGS");

    if (!mark || access(mark, F_OK) < 0 || !is_on_volume(path))
        return;
    for (;;)
        pause();
}

static void hang_on_descriptor(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    hang_on_volume(path);
}

ssize_t writev(int fd, const struct iovec *iovec, int count)
{
    ssize_t (*libc)(int, const struct iovec *, int);

    hang_on_descriptor(fd);
    *(void **)&libc = dlsym(RTLD_NEXT, "writev");
    return libc(fd, iovec, count);
}

int unlink(const char *name)
{
    int (*libc)(const char *);

    hang_on_volume(name);
    *(void **)&libc = dlsym(RTLD_NEXT, "unlink");
    return libc(name);
}

int close(int fd)
{
    int (*libc)(int);

    hang_on_descriptor(fd);
    *(void **)&libc = dlsym(RTLD_NEXT, "close");
    return libc(fd);
}
