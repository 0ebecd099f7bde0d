/* SPDX-License-Identifier: BSD-3-Clause */
/* The process that holds a socket, and whether it may connect as a rank or as a tool.
 *
 * In comes the inode of a connected socket. The descendants of the process that creates ranks are
 * searched for a descriptor of that socket, then all processes that this one sees in /proc: a host
 * may have thousands of others. The sockets seen on the way are kept in a table, since ranks
 * connect in crowds: the next ones are found there, and only their process is looked at again.
 *
 * The kernel's lists of children may lack a process while others end, and a kernel may be built
 * without them. Such a rank is found by the search of all.
 *
 * A rank descends from the process that creates ranks, which is the subreaper of all of them. The
 * parents of a process are the kernel's, so no process of another container can appear as a rank.
 * A tool is in the PID namespace of this process.
 *
 * A process whose descriptors cannot be read (its program is not readable, or it has said so by
 * prctl) is not found. While a rank has such a process, the user alone admits ranks. */
#include "pmix_extend.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEEN_MAX 65536 /* sockets in the table; further ones are searched for each time */
#define ANCESTORS_MAX 256
#define DESCENDANTS_MAX 65536 /* of the first search */
#define WALKS_MAX 16          /* a parent that ends on the way makes the walk begin anew */

struct seen {
    unsigned long inode;
    pid_t pid;
};

static struct {
    struct seen *at;
    size_t n, room;
} table; /* of the library's thread */

static pid_t rank_ancestor;

void pmix_extend_set_ancestor(pid_t pid)
{
    rank_ancestor = pid;
}

static void note_socket(unsigned long inode, pid_t pid)
{
    if (table.n == table.room) {
        size_t room = table.room ? 2 * table.room : 256;
        struct seen *at = room <= SEEN_MAX ? realloc(table.at, room * sizeof(*at)) : NULL;

        if (!at)
            return;
        table.at = at;
        table.room = room;
    }
    table.at[table.n++] = (struct seen){inode, pid};
}

/* 1: the process holds the socket; 0: it does not, or has ended; -1: its descriptors cannot be
 * read. `note`: all its sockets go to the table. */
static int look_at(pid_t pid, unsigned long inode, int note)
{
    char path[32];
    char link[64];
    const struct dirent *e;
    unsigned long i;
    int found = 0;
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    d = opendir(path);
    if (!d)
        return errno == EACCES || errno == EPERM ? -1 : 0;
    while ((e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);

        link[n > 0 ? n : 0] = '\0';
        if (sscanf(link, "socket:[%lu]", &i) != 1)
            continue;
        found |= i == inode;
        if (note)
            note_socket(i, pid);
    }
    closedir(d);
    return found;
}

/* The first process of /proc, in the order of their numbers, for which fn() is true; 0: none. All
 * are shown to fn() if `all`. */
static pid_t each_process(int (*fn)(pid_t pid, unsigned long inode), unsigned long inode, int all)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;
    pid_t found = 0;

    while (d && (all || !found) && (e = readdir(d))) {
        pid_t pid = isdigit((unsigned char)e->d_name[0]) ? (pid_t)strtol(e->d_name, NULL, 10) : 0;

        if (pid > 0 && fn(pid, inode) && !found)
            found = pid;
    }
    if (d)
        closedir(d);
    return found;
}

static int holds(pid_t pid, unsigned long inode)
{
    return look_at(pid, inode, 1) > 0;
}

static int compare_seen(const void *a, const void *b)
{
    unsigned long x = ((const struct seen *)a)->inode;
    unsigned long y = ((const struct seen *)b)->inode;

    return x < y ? -1 : x > y;
}

static pid_t ancestor_of_ranks(void)
{
    return rank_ancestor ? rank_ancestor : getpid();
}

struct pids {
    pid_t *at;
    size_t n, room;
};

static void add_pid(struct pids *list, pid_t pid)
{
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        pid_t *at = room <= DESCENDANTS_MAX ? realloc(list->at, room * sizeof(*at)) : NULL;

        if (!at)
            return;
        list->at = at;
        list->room = room;
    }
    list->at[list->n++] = pid;
}

static void add_children_of_thread(struct pids *list, pid_t pid, const char *thread)
{
    char path[64];
    int child;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid, thread);
    f = fopen(path, "re");
    while (f && fscanf(f, "%d", &child) == 1)
        add_pid(list, child);
    if (f)
        fclose(f);
}

static void add_children(struct pids *list, pid_t pid)
{
    const struct dirent *e;
    char path[32];
    DIR *d;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    d = opendir(path);
    while (d && (e = readdir(d))) {
        if (isdigit((unsigned char)e->d_name[0]))
            add_children_of_thread(list, pid, e->d_name);
    }
    if (d)
        closedir(d);
}

/* As each_process(), for the processes below the one that creates ranks; all are shown to fn(). */
static pid_t each_descendant(int (*fn)(pid_t pid, unsigned long inode), unsigned long inode)
{
    struct pids list = {0};
    pid_t found = 0;

    add_children(&list, ancestor_of_ranks());
    for (size_t i = 0; i < list.n; i++) {
        pid_t pid = list.at[i];

        if (fn(pid, inode) && !found)
            found = pid;
        add_children(&list, pid);
    }
    free(list.at);
    return found;
}

static pid_t find_holder(unsigned long inode)
{
    const struct seen key = {.inode = inode};
    const struct seen *s =
        table.n ? bsearch(&key, table.at, table.n, sizeof(key), compare_seen) : NULL;
    pid_t pid;

    if (s && look_at(s->pid, inode, 0) > 0)
        return s->pid;
    table.n = 0;
    pid = each_descendant(holds, inode);
    if (!pid) {
        table.n = 0;
        pid = each_process(holds, inode, 1);
    }
    if (table.n)
        qsort(table.at, table.n, sizeof(*table.at), compare_seen);
    return pid;
}

/* 0: it has ended. */
static pid_t parent_of(pid_t pid)
{
    char path[32];
    char text[512];
    const char *end;
    int parent = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    end = strrchr(text, ')'); /* the name may have any characters */
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* 1, 0, or -1: one of the ancestors has ended meanwhile. */
static int walk_up(pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < ANCESTORS_MAX && pid != ancestor; i++) {
        if (pid == 1)
            return 0;
        pid = parent_of(pid);
        if (pid <= 0)
            return -1;
    }
    return pid == ancestor;
}

static int is_descendant(pid_t pid)
{
    pid_t ancestor = ancestor_of_ranks();
    int rc = -1;

    for (int i = 0; i < WALKS_MAX && rc < 0; i++)
        rc = walk_up(pid, ancestor);
    return rc > 0;
}

static int is_hidden_rank(pid_t pid, unsigned long inode)
{
    return pid != getpid() && pid != rank_ancestor && look_at(pid, inode, 0) < 0 &&
           is_descendant(pid);
}

bool pmix_extend_is_rank(const struct pmix_extend_peer *peer)
{
    pid_t pid = find_holder(peer->inode);

    return pid ? is_descendant(pid) : each_process(is_hidden_rank, peer->inode, 0) > 0;
}

static int namespace_of(const char *process, char *link, size_t room)
{
    char path[48];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%s/ns/pid", process);
    n = readlink(path, link, room - 1);
    link[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

bool pmix_extend_is_tool(const struct pmix_extend_peer *peer)
{
    pid_t pid = find_holder(peer->inode);
    char name[16];
    char own[64];
    char its[64];

    if (!pid)
        return false;
    if (is_descendant(pid))
        return true;
    snprintf(name, sizeof(name), "%d", (int)pid);
    return namespace_of("self", own, sizeof(own)) == 0 &&
           namespace_of(name, its, sizeof(its)) == 0 && strcmp(own, its) == 0;
}
