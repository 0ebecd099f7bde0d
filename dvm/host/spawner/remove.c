/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes one named path by descriptors, so that no link of a user and no exchanged directory leads
 * elsewhere.
 *
 * In: remove_path() gets an absolute path, flags and rules (paths to be ignored, a budget). Out:
 * entries are removed; false if the budget is used up, and the caller calls again.
 *
 * Order: open_parent() opens the path component by component. With REMOVE_DIR its last component
 * must be a directory, and without it any other entry. With REMOVE_JOBS only the directories of
 * jobs in it are removed. The walk then opens each directory by its parent's descriptor and removes
 * its content, then the directory.
 *
 * Invariants: every operation of the walk names one entry below an open directory. A directory is
 * checked again after it was opened, since it may have been exchanged. Without REMOVE_OURS only
 * entries of the effective user and group are removed. A directory with REMOVE_DAEMON_HERE in it is
 * not entered then, and no path directly in one is removed. A mount below the start of a walk is
 * not entered.
 *
 * Failures and limits: an entry that cannot be removed stays, and no error is reported. Entries
 * deeper than REMOVE_DEPTH_MAX levels stay. Kernels before 5.8 do not report a bind mount of the
 * same file system. */
#include "dvm/host/spawner/remove.h"

#include "base/buf/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INCARNATION_LEN 16 /* hexadecimal digits */

struct walk {
    unsigned flags;
    const struct remove_rules *rules;
    size_t seen;
    bool over; /* the budget is used up */
    dev_t dev; /* of the named directory */
};

static bool is_ignored(const struct walk *w, const char *path)
{
    for (size_t i = 0; i < w->rules->nignores; i++) {
        if (strcmp(w->rules->ignores[i], path) == 0)
            return true;
    }
    return false;
}

static bool is_removable(const struct walk *w, const struct stat *st)
{
    return (w->flags & REMOVE_OURS) || (st->st_uid == geteuid() && st->st_gid == getegid());
}

/* A directory that was changed later may have earlier files in it. */
static bool is_later(const struct walk *w, const struct stat *st)
{
    const struct timespec *until = &w->rules->until;

    return until->tv_sec &&
           (st->st_ctim.tv_sec > until->tv_sec ||
            (st->st_ctim.tv_sec == until->tv_sec && st->st_ctim.tv_nsec > until->tv_nsec));
}

/* A mounted file system or a bind mount. Kernels before 5.8 do not report the second. */
static bool is_mounted(const struct walk *w, int fd, const struct stat *st)
{
    struct statx sx;

    return st->st_dev != w->dev || (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &sx) == 0 &&
                                    (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT));
}

/* The directory of a DVM or of a daemon: it holds the sockets and ports they need. */
static bool is_daemons(const struct walk *w, int fd)
{
    return !(w->flags & REMOVE_OURS) &&
           faccessat(fd, REMOVE_DAEMON_HERE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Opens the directory and checks what was opened: it may have been exchanged since the name was
 * checked. */
static int open_dir(const struct walk *w, int parent, const char *name, int depth)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 && errno == EACCES && (w->flags & REMOVE_OURS) &&
        fchmodat(parent, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || (depth > 0 && is_mounted(w, fd, &st)) || !is_removable(w, &st) ||
        is_daemons(w, fd)) {
        close(fd);
        return -1;
    }
    if (w->flags & REMOVE_OURS)
        fchmod(fd, S_IRWXU); /* a rank may have removed the write permission */
    return fd;
}

static void remove_entry(struct walk *w, int parent, const char *name, const char *path, int depth);

/* Takes the descriptor. */
static void empty_dir(struct walk *w, int fd, const char *path, int depth)
{
    const struct dirent *e;
    DIR *d = fdopendir(fd);

    if (!d) {
        close(fd);
        return;
    }
    while (!w->over && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        FREE_AUTO char *below = xasprintf("%s/%s", path, e->d_name);

        remove_entry(w, fd, e->d_name, below, depth);
    }
    closedir(d);
}

static void remove_dir(struct walk *w, int parent, const char *name, const char *path, int depth)
{
    bool stays = depth == 0 && (w->flags & REMOVE_LEAVE_TOPDIR);
    struct stat st;
    int fd;

    if (depth > 0 && !(w->flags & REMOVE_RECURSIVE))
        return;
    if (depth > REMOVE_DEPTH_MAX)
        return;
    fd = open_dir(w, parent, name, depth);
    if (fd < 0)
        return;
    stays |= fstat(fd, &st) < 0 || is_later(w, &st);
    empty_dir(w, fd, path, depth + 1);
    if (!w->over && !stays)
        unlinkat(parent, name, AT_REMOVEDIR);
}

static void remove_entry(struct walk *w, int parent, const char *name, const char *path, int depth)
{
    struct stat st;

    if (w->rules->budget && ++w->seen > w->rules->budget) {
        w->over = true;
        return;
    }
    if (is_ignored(w, path) || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !is_removable(w, &st))
        return;
    if (S_ISDIR(st.st_mode))
        remove_dir(w, parent, name, path, depth);
    else if (!(w->flags & REMOVE_ONLY_EMPTY) && !is_later(w, &st))
        unlinkat(parent, name, 0);
}

static bool is_job_name(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    size_t number;

    if (digits != INCARNATION_LEN || name[digits] != '.')
        return false;
    number = strspn(name + digits + 1, "0123456789");
    return number > 0 && !name[digits + 1 + number];
}

bool remove_is_job(int fd, const char *name)
{
    struct stat st;

    return is_job_name(name) && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void remove_jobs(struct walk *w, int parent, const char *name, const char *path)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    while (d && !w->over && (e = readdir(d))) {
        FREE_AUTO char *below = xasprintf("%s/%s", path, e->d_name);

        if (remove_is_job(fd, e->d_name))
            remove_entry(w, fd, e->d_name, below, 0);
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
}

/* Opens one component. A link that belongs to root ("/var/run") is the system's and is followed. */
static int open_step(int fd, const char *name)
{
    int next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (next >= 0 || errno != ENOTDIR || geteuid() == 0)
        return next;
    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISLNK(st.st_mode) || st.st_uid != 0)
        return -1;
    return openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The directory that `path` is in, and its name there; cuts `path` into pieces. -1: no such. */
static int open_parent(char *path, char **last)
{
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *rest = NULL;
    char *name = strtok_r(path, "/", &rest);

    while (fd >= 0 && name) {
        char *after = strtok_r(NULL, "/", &rest);
        int next;

        *last = name;
        if (!after)
            return fd;
        next = open_step(fd, name);
        close(fd);
        fd = next;
        name = after;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool remove_path(const char *path, unsigned flags, const struct remove_rules *rules)
{
    struct walk w = {.flags = flags, .rules = rules};
    FREE_AUTO char *pieces = xstrdup(path);
    char *name = NULL;
    struct stat st;
    int parent = open_parent(pieces, &name);

    if (parent < 0)
        return true;
    if (!is_daemons(&w, parent) && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISDIR(st.st_mode) == !(flags & REMOVE_DIR)) {
        w.dev = st.st_dev;
        if (flags & REMOVE_JOBS)
            remove_jobs(&w, parent, name, path);
        else
            remove_entry(&w, parent, name, path, 0);
    }
    close(parent);
    return !w.over;
}
