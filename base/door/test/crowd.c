/* SPDX-License-Identifier: BSD-3-Clause */
/* Many silent connections to a server on this process's loop. */
#include "base/door/test/crowd.h"

#include "base/loop/test/clock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

static struct door_opts doors[CROWD_DOORS];
static size_t ndoors;

struct door *real_door_create(const struct door_opts *opts) __asm__("__real_door_create");
struct door *seen_door_create(const struct door_opts *opts) __asm__("__wrap_door_create");

struct door *seen_door_create(const struct door_opts *opts)
{
    if (ndoors == CROWD_DOORS)
        abort();
    doors[ndoors++] = *opts;
    return real_door_create(opts);
}

struct door_budget crowd_budget(size_t door, enum door_class class)
{
    if (door >= ndoors)
        abort();
    return doors[door].of[class];
}

void crowd_forget_doors(void)
{
    ndoors = 0;
}

union crowd_addr crowd_at_port(uint16_t port)
{
    union crowd_addr a = {.room = {0}};
    struct sockaddr_in in = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    memcpy(&a, &in, sizeof(in));
    return a;
}

union crowd_addr crowd_at_path(const char *path)
{
    union crowd_addr a = {.room = {0}};
    struct sockaddr_un un = {.sun_family = AF_UNIX};

    memcpy(un.sun_path, path, strlen(path) + 1);
    memcpy(&a, &un, sizeof(un));
    return a;
}

static void call_from(int fd, const union crowd_addr *to, const char *from)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    bool tcp = to->any.sa_family == AF_INET;

    if (from && (inet_pton(AF_INET, from, &in.sin_addr) != 1 ||
                 bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0))
        abort();
    if (connect(fd, &to->any, tcp ? sizeof(in) : sizeof(struct sockaddr_un)) < 0)
        abort();
}

void crowd_call(struct crowd *c, const union crowd_addr *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || c->n == CROWD_MAX)
            abort();
        call_from(fd, to, from);
        c->fds[c->n++] = fd;
    }
}

/* So many turns are enough for a server that accepts 8 connections in one and closes them in some
 * more. */
static void run_server(struct loop *loop, size_t n)
{
    for (size_t i = 0; i < 8 + n / 8; i++)
        clock_turn(loop);
}

void crowd_connect(struct crowd *c, const union crowd_addr *to, const char *from, size_t n)
{
    while (n) { /* no more than fit into the kernel's queue */
        size_t some = n < 64 ? n : 64;

        crowd_call(c, to, from, some);
        run_server(c->loop, some);
        n -= some;
    }
}

size_t crowd_open(const struct crowd *c, size_t first)
{
    size_t n = 0;

    for (size_t i = first; i < c->n; i++) {
        char byte;
        ssize_t got = recv(c->fds[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT);

        n += got < 0 && errno == EAGAIN;
    }
    return n;
}

void crowd_leave(struct crowd *c)
{
    while (c->n)
        close(c->fds[--c->n]);
    run_server(c->loop, CROWD_MAX);
}

size_t crowd_open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t n = 0;

    if (!dir)
        abort();
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

unsigned crowd_limit_files(unsigned n)
{
    struct rlimit r;
    rlim_t former;

    if (getrlimit(RLIMIT_NOFILE, &r) < 0)
        abort();
    former = r.rlim_cur;
    r.rlim_cur = n;
    if (setrlimit(RLIMIT_NOFILE, &r) < 0)
        abort();
    return (unsigned)former;
}
