/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes job directories by descriptors, so that no link of the application is followed. */
#include "dvm/host/pmix/sessiondir.h"

#include "base/buf/buf.h"
#include "dvm/host/spawner/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_of(int dirfd, const char *name, uid_t uid)
{
    struct stat st;

    return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == uid;
}

static int make_at(int dirfd, const char *name, uid_t uid, gid_t gid)
{
    if (mkdirat(dirfd, name, 0700) < 0)
        return errno == EEXIST && is_of(dirfd, name, uid) ? 0 : errno;
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

void sessiondir_leftovers(const char *base, void (*found)(const char *path, void *arg), void *arg)
{
    int fd = open(base, OPEN_DIR);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;

    while (dir && (e = readdir(dir))) {
        FREE_AUTO char *path = xasprintf("%s/%s", base, e->d_name);

        if (remove_is_job(fd, e->d_name))
            found(path, arg);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}
