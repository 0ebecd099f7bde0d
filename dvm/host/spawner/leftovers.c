/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes the paths that a spawner has kept when it was killed together with its daemon.
 *
 * In: the session directory, with the files of former spawners (clean_journal.h). Out: the paths
 * are removed by the rules of remove.h, and then the files.
 *
 * A child does it, so that neither a spawner nor prte waits for a file system without end. A file
 * whose spawner lives is locked, and is left alone.
 *
 * Entries that were changed after the end of the former ranks stay: a later job may have made them
 * again. Directories of jobs are not in the files; the daemon finds them by their names. Flags
 * that only a daemon may give are refused. */
#include "dvm/host/spawner/leftovers.h"

#include "base/log/log.h"
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/spawner_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool is_journal(const struct dirent *e)
{
    return strncmp(e->d_name, CLEAN_JOURNAL_NAME, strlen(CLEAN_JOURNAL_NAME)) == 0;
}

static void on_record(const struct spawn_cmd *c, void *arg)
{
    struct spawner *sp = arg;

    if (c->kind == SPAWN_CMD_CLEAN_RUN)
        spawner_clean_forget(sp, c->id);
    else if (!(c->flags & ~(unsigned)(REMOVE_FLAGS & ~(REMOVE_OURS | REMOVE_JOBS))))
        spawner_clean_add(sp, c->id, c->flags, c->path);
}

static void remove_kept(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct clean_journal *none = clean_journal_create("", 0);
    struct spawner sp = {.journal = none};
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && clean_journal_read(fd, on_record, &sp) == 0) {
        sp.until = st.st_mtim;
        log_debug("paths for cleanup of a former daemon are removed paths=%zu", sp.nclean);
        spawner_clean_all(&sp);
        unlinkat(dir, name, 0);
    }
    if (fd >= 0)
        close(fd);
    clean_journal_destroy(none);
}

static void remove_all(const char *path, pid_t parent) __attribute__((noreturn));

static void remove_all(const char *path, pid_t parent)
{
    int fd = open(path, OPEN_DIR);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *e;
    sigset_t none;

    /* The spawner's socket is open in this process: its daemon sees the spawner's end by it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    prctl(PR_SET_NAME, "dvm-cleaner");
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGALRM, SIG_DFL);
    alarm(LEFTOVERS_MS / 1000);
    while (d && (e = readdir(d))) {
        if (is_journal(e))
            remove_kept(fd, e->d_name);
    }
    _exit(EXIT_SUCCESS);
}

static bool has_journal(const char *path)
{
    DIR *d = opendir(path);
    const struct dirent *e;
    bool found = false;

    while (d && !found && (e = readdir(d)))
        found = is_journal(e);
    if (d)
        closedir(d);
    return found;
}

pid_t leftovers_start(const char *dir)
{
    pid_t pid, self;

    if (!has_journal(dir))
        return 0;
    self = getpid();
    pid = fork();
    if (pid == 0)
        remove_all(dir, self);
    if (pid < 0)
        log_warn("no process for the cleanup of a former daemon can be created errno=%d", errno);
    return pid > 0 ? pid : 0;
}
