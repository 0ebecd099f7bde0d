/* SPDX-License-Identifier: BSD-3-Clause */
/* Descendants of a process, read from /proc. */
#ifndef DVM_SPAWNER_PROC_TREE_H
#define DVM_SPAWNER_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROC_TREE_MAX 1048576 /* processes of one walk; further ones are left to the next walk */

struct proc_tree {
    pid_t *pids;
    size_t n;
    size_t cap;
};

/* All descendants of root, without those children of it that skip() names (NULL: none), and without
 * their descendants. Zombies are included. A process that is created or orphaned during the walk
 * can be missed: walk again to find all. */
typedef bool proc_tree_skip_fn(pid_t child, const void *arg);
void proc_tree_read(struct proc_tree *t, pid_t root, proc_tree_skip_fn *skip, const void *arg);
void proc_tree_free(struct proc_tree *t); /* also for the cleanup attribute */
#define PROC_TREE_AUTO __attribute__((cleanup(proc_tree_free)))

struct proc_stat {
    char state; /* 'Z': a zombie */
    pid_t ppid;
    pid_t pgid;
    pid_t sid;
};
/* False if the process does not exist (any more). */
bool proc_tree_stat(pid_t pid, struct proc_stat *out);
/* The value of a variable in the environment that the process was started with, on the heap; NULL
 * if there is none, it may not be read, or lies behind the first MiB. */
char *proc_tree_environ(pid_t pid, const char *name);

#endif
