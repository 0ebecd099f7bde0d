/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and removes job directories by descriptors, so that no link of the application is followed.
 */
#include "dvm/pmix/sessiondir.h"

#include "base/buf/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_at(int dirfd, const char *name, int depth);

/* Empties the directory; takes fd. 0 or an errno value: the first failure, after trying all. */
static int empty_dir(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;
    int result = 0;

    if (!dir) {
        result = errno;
        close(fd);
        return result;
    }
    while ((e = readdir(dir))) {
        int rc = is_dots(e->d_name) ? 0 : remove_at(fd, e->d_name, depth);

        if (rc && !result)
            result = rc;
    }
    closedir(dir);
    return result;
}

static int remove_at(int dirfd, const char *name, int depth)
{
    int fd, rc;

    if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return errno;
    if (depth >= SESSIONDIR_DEPTH_MAX)
        return ELOOP;
    fd = openat(dirfd, name, OPEN_DIR);
    if (fd < 0)
        return errno;
    rc = empty_dir(fd, depth + 1);
    if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return rc ? rc : errno;
}

int sessiondir_remove(const char *base, const char *name, struct err *err)
{
    int fd = open(base, OPEN_DIR);
    int rc;

    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "removing %s/%s: opening", base, name);
    rc = remove_at(fd, name, 0);
    close(fd);
    return rc ? err_sys(err, rc, "removing %s/%s", base, name) : 0;
}

static int make_at(int dirfd, const char *name, uid_t uid, gid_t gid)
{
    if (mkdirat(dirfd, name, 0700) < 0) {
        int rc = errno == EEXIST ? remove_at(dirfd, name, 0) : errno;

        if (rc)
            return rc;
        if (mkdirat(dirfd, name, 0700) < 0)
            return errno;
    }
    if (uid == geteuid() && gid == getegid())
        return 0;
    return fchownat(dirfd, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? errno : 0;
}

int sessiondir_make(const char *base, const char *name, uid_t uid, gid_t gid, struct err *err)
{
    int fd = open(base, OPEN_DIR);
    int rc;

    if (fd < 0)
        return err_sys(err, errno, "making %s/%s: opening", base, name);
    rc = make_at(fd, name, uid, gid);
    close(fd);
    return rc ? err_sys(err, rc, "making %s/%s", base, name) : 0;
}
