/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks /proc: the descendants of a process, the state of one, a variable of its environment.
 *
 * In: a pid. Out: the pids of all its descendants, parents before children.
 *
 * Two ways: the kernel's lists of children (/proc/PID/task/TID/children), which cost as much as the
 * tree is large; or the parent of every process of the host, on kernels that have no such lists.
 * The choice is made once per program.
 *
 * Limits: a process that starts or ends during the walk may be missing or be there no more, so a
 * caller that ends processes repeats the walk until nothing is left. At most PROC_TREE_MAX pids,
 * and ENVIRON_MAX bytes of an environment.
 *
 * Failures: a process whose files cannot be read counts as ended. */
#include "dvm/host/spawner/proc_tree.h"

#include "base/buf/buf.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENVIRON_MAX ((size_t)1 << 20)
#define FIRST_BYTES 4096

static void add_pid(struct proc_tree *t, pid_t pid)
{
    if (t->n >= PROC_TREE_MAX)
        return;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        t->pids = xrealloc(t->pids, t->cap * sizeof(*t->pids));
    }
    t->pids[t->n++] = pid;
}

void proc_tree_free(struct proc_tree *t)
{
    free(t->pids);
    *t = (struct proc_tree){0};
}

/* A small file of /proc, NUL-terminated; NULL if it cannot be read. */
static char *read_small_file(const char *path, size_t max, size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t cap = FIRST_BYTES;
    char *s;
    ssize_t got;

    *len = 0;
    if (fd < 0)
        return NULL;
    s = xmalloc(cap + 1);
    while ((got = read(fd, s + *len, cap - *len)) > 0) {
        *len += (size_t)got;
        if (*len < cap)
            continue;
        if (cap >= max)
            break;
        cap *= 2;
        s = xrealloc(s, cap + 1);
    }
    close(fd);
    s[*len] = '\0';
    return s;
}

static void add_numbers(struct proc_tree *t, const char *text)
{
    char *end;

    for (;; text = end) {
        long pid = strtol(text, &end, 10);

        if (end == text)
            return;
        if (pid > 0)
            add_pid(t, (pid_t)pid);
    }
}

static bool has_children_files(void)
{
    char path[64];

    static int known = -1; /* a property of the kernel, tested at the end of each job */

    if (known < 0) {
        snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
        known = access(path, R_OK) == 0;
    }
    return known;
}

static void add_children(struct proc_tree *t, pid_t pid)
{
    char path[NAME_MAX + 64];
    const struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    d = opendir(path);
    if (!d)
        return;
    while ((e = readdir(d))) {
        FREE_AUTO char *text = NULL;
        size_t len;

        if (!isdigit((unsigned char)e->d_name[0]))
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, e->d_name);
        text = read_small_file(path, SIZE_MAX / 4, &len);
        if (text)
            add_numbers(t, text);
    }
    closedir(d);
}

/* All processes of /proc, with parents[i] for pids[i]. */
static pid_t *read_parents(struct proc_tree *all)
{
    pid_t *parents;
    const struct dirent *e;
    DIR *d = opendir("/proc");

    if (!d)
        return NULL;
    while ((e = readdir(d))) {
        if (isdigit((unsigned char)e->d_name[0]))
            add_pid(all, (pid_t)strtol(e->d_name, NULL, 10));
    }
    closedir(d);
    parents = xcalloc(all->n, sizeof(*parents));
    for (size_t i = 0; i < all->n; i++) {
        struct proc_stat st;

        if (proc_tree_stat(all->pids[i], &st))
            parents[i] = st.ppid;
    }
    return parents;
}

/* For kernels without lists of children. */
struct parents {
    struct proc_tree all;
    pid_t *of; /* of[i] is the parent of all.pids[i] */
};

static void add_children_by_parents(struct proc_tree *t, pid_t pid, const struct parents *p)
{
    for (size_t i = 0; i < p->all.n; i++) {
        if (p->of[i] == pid)
            add_pid(t, p->all.pids[i]);
    }
}

static void drop_skipped(struct proc_tree *t, proc_tree_skip_fn *skip, const void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (!skip(t->pids[i], arg))
            t->pids[kept++] = t->pids[i];
    }
    t->n = kept;
}

void proc_tree_read(struct proc_tree *t, pid_t root, proc_tree_skip_fn *skip, const void *arg)
{
    struct parents p = {0};
    bool by_lists = has_children_files();

    proc_tree_free(t);
    if (!by_lists)
        p.of = read_parents(&p.all);
    for (size_t done = 0; done <= t->n; done++) {
        pid_t pid = done ? t->pids[done - 1] : root;

        if (by_lists)
            add_children(t, pid);
        else
            add_children_by_parents(t, pid, &p);
        if (!done && skip)
            drop_skipped(t, skip, arg);
    }
    proc_tree_free(&p.all);
    free(p.of);
}

bool proc_tree_stat(pid_t pid, struct proc_stat *out)
{
    char path[64];
    FREE_AUTO char *text = NULL;
    char *p;
    char *end;
    size_t len;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    text = read_small_file(path, FIRST_BYTES, &len);
    /* The program's name is in parentheses and can hold any byte, a parenthesis too. */
    p = text ? strrchr(text, ')') : NULL;
    if (!p || strlen(p) < 5)
        return false;
    out->state = p[2];
    out->ppid = (pid_t)strtol(p + 3, &end, 10);
    out->pgid = (pid_t)strtol(end, &end, 10);
    p = end;
    out->sid = (pid_t)strtol(p, &end, 10);
    return end > p;
}

char *proc_tree_environ(pid_t pid, const char *name)
{
    char path[64];
    FREE_AUTO char *text = NULL;
    size_t name_len = strlen(name);
    size_t len;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    text = read_small_file(path, ENVIRON_MAX, &len);
    for (const char *s = text; s && s < text + len; s += strlen(s) + 1) {
        if (strncmp(s, name, name_len) == 0 && s[name_len] == '=')
            return xstrdup(s + name_len + 1);
    }
    return NULL;
}
