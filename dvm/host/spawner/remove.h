/* SPDX-License-Identifier: BSD-3-Clause */
/* Removes paths that were named for cleanup, and nothing else: by descriptors, through no link,
 * into no mount, and nothing of other users or of a daemon (docs/cleanup.md). */
#ifndef DVM_SPAWNER_REMOVE_H
#define DVM_SPAWNER_REMOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Levels below the named directory, a descriptor each. Deeper entries stay. */
#define REMOVE_DEPTH_MAX 128
/* A daemon's socket. A directory that holds it, or a link of that name, is not removed, and no path
 * in it is, except with REMOVE_OURS. */
#define REMOVE_DAEMON_HERE "prted.sock"

enum remove_flag {
    REMOVE_DIR = 1, /* without it: a file, that is, any entry but a directory */
    REMOVE_RECURSIVE = 2,
    REMOVE_LEAVE_TOPDIR = 4,
    REMOVE_ONLY_EMPTY = 8, /* directories that are empty, no files */
    REMOVE_OURS = 16,      /* made by a daemon: entries of any owner are removed */
    REMOVE_IGNORE = 32,    /* not to be removed; kept in lists of callers */
    REMOVE_JOBS = 64,      /* with REMOVE_DIR: only the directories of jobs in it are removed */
    REMOVE_FLAGS = 127
};

struct remove_rules {
    const char *const *ignores; /* borrowed: absolute, without "." and "//"; with all below */
    size_t nignores;
    size_t budget;         /* entries that may be looked at; 0: no limit */
    struct timespec until; /* entries that were changed later stay; 0: no limit */
};

/* `path` is absolute. An entry that cannot be removed, or that does not belong to the effective
 * user and group of this process, is left without an error. A link in `path` is followed only if it
 * belongs to root and this process is not root. False: the budget is used up, call again. */
bool remove_path(const char *path, unsigned flags, const struct remove_rules *rules);
/* Whether `name` in the directory `fd` belongs to this user and is the name of a job,
 * "<incarnation>.<number>". */
bool remove_is_job(int fd, const char *name);

#endif
