/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: the daemon's side of the spawner's socket. */
#ifndef DVM_SPAWNER_TEST_COMMAND_H
#define DVM_SPAWNER_TEST_COMMAND_H

#include "base/buf/buf.h"
#include "dvm/host/spawner/spawn_msg.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/test/under_spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SH(script) ((const char *const[]){"/bin/sh", "-c", script, NULL})

static const char *const plain_env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};

/* The defaults of a rank that a test starts. */
struct start {
    const char *const *argv;
    const char *const *env;
    const char *cwd;
    const char *cpuset;
    const void *mask;
    size_t mask_len;
    int *input; /* becomes its stdin; NULL: nothing to read */
    uint32_t flags;
    uint64_t id;
    uint64_t job;
};

static inline void send_cmd(int sock, const struct spawn_cmd *c, const int *fds, size_t nfds)
{
    BUF_AUTO struct buf b;
    struct pollfd pfd = {.fd = sock, .events = POLLOUT};

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_cmd_encode(&b, c);
    while (spawn_sock_send(sock, &b, fds, nfds, NULL) != SPAWN_SOCK_OK)
        CHECK(poll(&pfd, 1, DEADLINE_MS) == 1);
}

/* Returns the reading end of the rank's stdout and stderr. */
static inline int start(int sock, const struct start *s)
{
    BUF_AUTO struct buf b;
    struct spawn_cmd c = {.kind = SPAWN_CMD_START, .id = s->id, .job = s->job, .flags = s->flags};
    struct spawn_spec spec = {.argv = s->argv,
                              .env = s->env ? s->env : plain_env,
                              .cwd = s->cwd ? s->cwd : "/",
                              .cpuset = s->cpuset,
                              .mask = s->mask,
                              .mask_len = s->mask_len};
    int fds[SPAWN_FD_COUNT];
    int out[2];

    buf_init(&b, SPAWN_SPEC_MAX);
    CHECK(spawn_msg_spec_encode(&b, &spec, NULL) == 0);
    CHECK(pipe2(out, O_CLOEXEC) == 0);
    fds[SPAWN_FD_SPEC] = spawn_sock_memfd_create(&b, NULL);
    fds[SPAWN_FD_STDIN] = s->input ? *s->input : open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[SPAWN_FD_STDOUT] = out[1];
    fds[SPAWN_FD_STDERR] = dup(out[1]);
    send_cmd(sock, &c, fds, SPAWN_FD_COUNT);
    spawn_sock_close_fds(fds);
    return out[0];
}

static inline struct spawn_rep next_report(int sock)
{
    struct pollfd pfd = {.fd = sock, .events = POLLIN};
    uint8_t data[SPAWN_MSG_MAX];
    int fds[SPAWN_FD_COUNT];
    struct spawn_rep r;
    struct cur in;
    size_t len;

    CHECK(poll(&pfd, 1, DEADLINE_MS) == 1);
    CHECK(spawn_sock_recv(sock, data, &len, fds, NULL) == SPAWN_SOCK_OK);
    in = cur_of(data, len);
    CHECK(spawn_msg_rep_decode(&in, &r, NULL) == 0);
    return r;
}

static inline struct spawn_rep expect(int sock, enum spawn_rep_kind kind, uint64_t id)
{
    struct spawn_rep r = next_report(sock);

    CHECK(r.kind == kind);
    CHECK(r.id == id);
    return r;
}

/* Reads to the end of the stream; NUL-terminated. Closes it. */
static inline void read_all(int fd, char *text, size_t size)
{
    size_t n = 0;
    ssize_t got;

    while ((got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    CHECK(got == 0);
    text[n] = '\0';
    close(fd);
}

/* Runs a rank to its end; its output into text. */
static inline int run(int sock, const struct start *s, char *text, size_t size)
{
    int fd = start(sock, s);

    expect(sock, SPAWN_REP_STARTED, s->id);
    read_all(fd, text, size);
    return expect(sock, SPAWN_REP_EXITED, s->id).value;
}

/* The number that a rank's script prints first; the stream stays open. */
static inline pid_t read_pid(int fd)
{
    char text[32] = "";
    size_t n = 0;

    while (n < sizeof(text) - 1 && !strchr(text, '\n'))
        CHECK(read(fd, &text[n++], 1) == 1);
    return (pid_t)strtol(text, NULL, 10);
}

#endif
