/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of the paths that a spawner keeps for cleanup. The next spawner of the session directory
 * removes them if this one is killed together with its daemon (leftovers.c).
 *
 * In: paths of scopes, scopes whose paths have been removed. Out: records, which are commands of
 * spawn_msg.h behind their length. CLEAN_ADD names a path, CLEAN_RUN says that a scope is done.
 *
 * A record is written by one call, so a killed spawner leaves whole records, and perhaps the
 * beginning of one, which is ignored. The bytes are with the kernel, not necessarily on the disk:
 * they outlive the processes, not the host.
 *
 * Invariants: a lock of the spawner's process on the file shows that the spawner lives. The file's
 * time of modification is the moment until which its ranks may have run: entries that were changed
 * later are not theirs. A new file holds all paths before the former one is removed.
 *
 * Failures: a path that cannot be written is logged, and stays if the whole tree is killed. */
#include "dvm/host/spawner/clean_journal.h"

#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LENGTH_BYTES 4
#define ALIVE_MS 1000 /* the time of modification is set as often as this at most */

struct clean_journal {
    const char *dir;
    uint64_t token;
    unsigned number;
    char *path; /* NULL: there is no file */
    char *former;
    int fd;
    int former_fd;
    size_t bytes;
    size_t records;
    uint64_t alive_ms; /* last clean_journal_alive() */
    uint32_t ahead_ms;
    bool failed; /* has been logged */
};

struct clean_journal *clean_journal_create(const char *dir, uint64_t token)
{
    struct clean_journal *j = xcalloc(1, sizeof(*j));

    j->dir = dir;
    j->token = token;
    j->fd = -1;
    j->former_fd = -1;
    return j;
}

static void remove_file(char **path, int *fd)
{
    if (*path && *fd >= 0) {
        unlink(*path);
        close(*fd);
    }
    free(*path);
    *path = NULL;
    *fd = -1;
}

void clean_journal_destroy(struct clean_journal *j)
{
    if (!j)
        return;
    remove_file(&j->former, &j->former_fd);
    remove_file(&j->path, &j->fd);
    free(j);
}

static void report_failure(struct clean_journal *j, const char *what)
{
    if (!j->failed)
        log_warn("paths for cleanup are not kept in a file, they stay if all processes of this "
                 "daemon are killed what=%s reason=%s",
                 what, strerror(errno));
    j->failed = true;
}

/* A lock of the process: children do not have it, and it ends with the process. */
static int lock_file(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_SETLK, &whole);
}

static bool open_file(struct clean_journal *j)
{
    char *path;

    if (j->fd >= 0 || !j->dir[0])
        return j->fd >= 0;
    path = xasprintf("%s/" CLEAN_JOURNAL_NAME "%016" PRIx64 "-%u", j->dir, j->token, j->number++);
    j->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (j->fd < 0 || lock_file(j->fd) < 0) {
        report_failure(j, path);
        remove_file(&path, &j->fd);
        return false;
    }
    j->path = path;
    j->bytes = 0;
    j->records = 0;
    return true;
}

static void set_time(struct clean_journal *j)
{
    struct timespec t[2] = {{.tv_nsec = UTIME_OMIT}};

    clock_gettime(CLOCK_REALTIME, &t[1]);
    t[1].tv_sec += j->ahead_ms / 1000 + 1;
    futimens(j->fd, t);
}

static void append_record(struct clean_journal *j, const struct spawn_cmd *c)
{
    BUF_AUTO struct buf msg = {0};
    BUF_AUTO struct buf b = {0};

    if (!open_file(j))
        return;
    buf_init(&msg, SPAWN_MSG_MAX);
    buf_init(&b, SPAWN_MSG_MAX + LENGTH_BYTES);
    spawn_msg_cmd_encode(&msg, c);
    buf_put_u32(&b, (uint32_t)msg.len);
    buf_put_raw(&b, msg.data, msg.len);
    if (write(j->fd, b.data, b.len) == (ssize_t)b.len) {
        j->bytes += b.len;
        j->records++;
    } else {
        report_failure(j, "writing");
        if (ftruncate(j->fd, (off_t)j->bytes) < 0)
            remove_file(&j->path, &j->fd);
    }
    if (j->fd >= 0)
        set_time(j);
}

void clean_journal_path(struct clean_journal *j, uint64_t scope, unsigned flags, const char *path)
{
    struct spawn_cmd c = {.kind = SPAWN_CMD_CLEAN_ADD, .id = scope, .flags = flags};

    memccpy(c.path, path, 0, sizeof(c.path) - 1);
    append_record(j, &c);
}

void clean_journal_done(struct clean_journal *j, uint64_t scope)
{
    append_record(j, &(struct spawn_cmd){.kind = SPAWN_CMD_CLEAN_RUN, .id = scope});
}

void clean_journal_clear(struct clean_journal *j)
{
    if (j->fd < 0 || ftruncate(j->fd, 0) < 0)
        return;
    j->bytes = 0;
    j->records = 0;
}

size_t clean_journal_records(const struct clean_journal *j)
{
    return j->records;
}

void clean_journal_renew(struct clean_journal *j)
{
    j->former = j->path;
    j->former_fd = j->fd;
    j->path = NULL;
    j->fd = -1;
}

bool clean_journal_renewed(struct clean_journal *j)
{
    if (j->fd >= 0) {
        remove_file(&j->former, &j->former_fd);
        return true;
    }
    j->path = j->former;
    j->fd = j->former_fd;
    j->former = NULL;
    j->former_fd = -1;
    return false;
}

void clean_journal_alive(struct clean_journal *j, uint64_t now_ms, uint32_t ms)
{
    j->ahead_ms = ms;
    if (!j->records || now_ms < j->alive_ms + ALIVE_MS)
        return;
    j->alive_ms = now_ms;
    set_time(j);
}

void clean_journal_decode(const uint8_t *data, size_t len,
                          void (*take)(const struct spawn_cmd *c, void *arg), void *arg)
{
    size_t at = 0;

    while (len - at >= LENGTH_BYTES) {
        struct cur c = cur_of(data + at, len - at);
        uint32_t n = cur_u32(&c);
        struct spawn_cmd cmd;

        if (n > len - at - LENGTH_BYTES)
            return;
        c = cur_of(data + at + LENGTH_BYTES, n);
        if (spawn_msg_cmd_decode(&c, &cmd, NULL) < 0)
            return;
        if (cmd.kind == SPAWN_CMD_CLEAN_ADD || cmd.kind == SPAWN_CMD_CLEAN_RUN)
            take(&cmd, arg);
        at += LENGTH_BYTES + n;
    }
}

static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           st.st_nlink == 1 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int clean_journal_read(int fd, void (*take)(const struct spawn_cmd *c, void *arg), void *arg)
{
    BUF_AUTO struct buf all = {0};
    uint8_t part[65536];
    ssize_t n;

    buf_init(&all, CLEAN_JOURNAL_BYTES_MAX);
    if (!is_ours(fd) || lock_file(fd) < 0)
        return -1;
    while (!all.failed && (n = read(fd, part, sizeof(part))) > 0)
        buf_put_raw(&all, part, (size_t)n);
    clean_journal_decode(all.data, all.len, take, arg);
    return 0;
}
