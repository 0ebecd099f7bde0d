/* SPDX-License-Identifier: BSD-3-Clause */
/* Directories that are removed when the daemon is gone: recursively, never through a link or into
 * another file system. */
#include "base/log/log.h"
#include "dvm/spawner/spawner_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#define DEPTH_MAX 128 /* levels, a descriptor each; what lies deeper stays */

struct spawner_guard {
    struct spawner_guard *prev, *next;
    char path[];
};

static struct spawner_guard *find(struct spawner *sp, const char *path)
{
    struct spawner_guard *g;

    DL_FOREACH(sp->guards, g)
    {
        if (strcmp(g->path, path) == 0)
            break;
    }
    return g;
}

/* Absolute, not the root, and nothing that leads up again. */
static bool is_sane(const char *path)
{
    size_t names = 0;

    if (path[0] != '/')
        return false;
    while (*path) {
        size_t len;

        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.')
            return false;
        names += len > 0;
        path += len;
    }
    return names > 0;
}

void spawner_guard_add(struct spawner *sp, const char *path)
{
    struct spawner_guard *g;

    if (!is_sane(path) || sp->nguards >= SPAWNER_GUARDS_MAX) {
        log_warn("a directory cannot be guarded path=%s guarded=%zu", path, sp->nguards);
        return;
    }
    if (find(sp, path))
        return;
    g = xmalloc(sizeof(*g) + strlen(path) + 1);
    memcpy(g->path, path, strlen(path) + 1);
    DL_APPEND(sp->guards, g);
    sp->nguards++;
}

void spawner_guard_drop(struct spawner *sp, const char *path)
{
    struct spawner_guard *g = find(sp, path);

    if (!g)
        return;
    DL_DELETE(sp->guards, g);
    sp->nguards--;
    free(g);
}

static int open_dir(int parent, const char *name, dev_t *dev)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || (*dev && st.st_dev != *dev)) {
        close(fd);
        errno = EXDEV;
        return -1;
    }
    *dev = st.st_dev;
    fchmod(fd, S_IRWXU); /* a rank may have taken our right to write */
    return fd;
}

static void remove_entry(int parent, const char *name, dev_t dev, int depth);

/* Takes the descriptor. */
static void empty_dir(int fd, dev_t dev, int depth)
{
    const struct dirent *e;
    DIR *d = fdopendir(fd);

    if (!d) {
        close(fd);
        return;
    }
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_entry(fd, e->d_name, dev, depth);
    closedir(d);
}

static void remove_entry(int parent, const char *name, dev_t dev, int depth)
{
    int fd;

    /* Anything but a directory, a link too, is one name less. */
    if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
        return;
    if (depth >= DEPTH_MAX)
        return;
    fd = open_dir(parent, name, &dev);
    if (fd >= 0)
        empty_dir(fd, dev, depth + 1);
    unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_tree(const char *path)
{
    dev_t dev = 0;
    int fd = open_dir(AT_FDCWD, path, &dev);

    if (fd < 0) {
        if (errno != ENOENT)
            log_warn("a directory is not removed path=%s errno=%d", path, errno);
        return;
    }
    empty_dir(fd, dev, 0);
    if (rmdir(path) < 0)
        log_warn("a directory cannot be removed path=%s errno=%d", path, errno);
    else
        log_info("removed what the daemon left path=%s", path);
}

void spawner_guard_remove_all(struct spawner *sp)
{
    while (sp->guards) {
        struct spawner_guard *g = sp->guards;

        remove_tree(g->path);
        DL_DELETE(sp->guards, g);
        free(g);
    }
    sp->nguards = 0;
}
