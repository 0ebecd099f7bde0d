/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: runs a body as the daemon of a spawner of its own, and looks processes up. */
#ifndef DVM_SPAWNER_TEST_UNDER_SPAWNER_H
#define DVM_SPAWNER_TEST_UNDER_SPAWNER_H

#include "dvm/host/spawner/proc_tree.h"
#include "dvm/host/spawner/spawner.h"

#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_MS 20000
#define GRACE_MS 150 /* from SIGTERM to SIGKILL */

/* In a forked daemon cmocka's assertions would jump into a copy of the runner. */
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond);                   \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

/* The spawner's program: in bin/ of the build folder that has this test. */
static inline void find_spawner(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    CHECK(n > 0);
    self[n] = '\0';
    do {
        CHECK(strlen(self) > 1);
        snprintf(path, size, "%s/bin/" SPAWNER_PROGRAM, dirname(self));
    } while (access(path, X_OK) != 0);
}

static inline struct spawner_handle split(const char *program)
{
    char *const words[] = {NULL};
    char path[PATH_MAX + 32];
    struct spawner_handle h;
    struct err err = {0};

    if (!program) { /* in a container the test's own program may have no path */
        find_spawner(path, sizeof(path));
        program = path;
    }
    const struct spawner_options o = {
        .program = program, .level = "info", .words = words, .grace_ms = GRACE_MS};
    if (spawner_split(&o, &h, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        _exit(99);
    }
    return h;
}

/* In a daemon: the pid of its spawner. */
static inline struct spawner_handle *own_spawner(void)
{
    static struct spawner_handle h;

    return &h;
}

/* Forks a program that splits itself; its daemon runs body(), and exits with what that returns: the
 * leak checker runs there. Returns the spawner's pid. */
static inline pid_t start_under_spawner(int (*body)(int sock, void *arg), void *arg)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid)
        return pid;
    *own_spawner() = split(NULL);
    exit(body(own_spawner()->sock, arg));
}

/* The exit code, or 1000 + signal. */
static inline int wait_spawner(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static inline int under_spawner(int (*body)(int sock, void *arg), void *arg)
{
    return wait_spawner(start_under_spawner(body, arg));
}

/* Memory that test, spawner and daemon share. */
static inline void *shared_alloc(size_t len)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort();
    return p;
}

static inline bool is_alive(pid_t pid)
{
    struct proc_stat st;

    return proc_tree_stat(pid, &st) && st.state != 'Z' && st.state != 'X';
}

static inline int64_t test_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Calls cond(arg) again and again until it is true or the deadline has passed; there is no event to
 * wait for. */
static inline bool eventually(bool (*cond)(const void *arg), const void *arg)
{
    int64_t until = test_now_ms() + DEADLINE_MS;

    while (!cond(arg)) {
        if (test_now_ms() > until)
            return false;
        poll(NULL, 0, 2);
    }
    return true;
}

static inline bool cond_gone(const void *arg)
{
    return !is_alive(*(const pid_t *)arg);
}

static inline bool wait_gone(pid_t pid)
{
    return eventually(cond_gone, &pid);
}

#endif
