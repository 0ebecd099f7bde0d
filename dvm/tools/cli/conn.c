/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection of a program to a daemon, without an event loop, so that prun starts fast.
 *
 * The connection is one socket: the daemon's local one, or a pair with dvm-connect, which is
 * started for a daemon on another host and speaks TLS there. Loading a TLS library takes a quarter
 * of the time of a short job. Both carry frames: a length of 4 bytes, and one client message.
 *
 * cli_conn_pump() writes and reads as much as it can, cli_conn_take() gives the next whole
 * message, and cli_conn_wait() does both for programs with one request at a time.
 *
 * Invariants: only cli_connect(), cli_conn_wait() and, for a relay, cli_conn_free() block; a
 * message is queued as a whole or not at all; the relay's own messages REACHED and UNREACHED are
 * handled in cli_conn_take() and never returned.
 *
 * Failures: after EPIPE or a reset, messages that have arrived can still be taken; then the result
 * is 0. A frame above NET_FRAME_MAX and a malformed message are faults. A relay that has reached
 * no daemon is killed with the connection; any other sends its remaining bytes, for a second at
 * most. */
#include "dvm/tools/cli/conn.h"

#include "dvm/host/net/net.h"
#include "dvm/tools/cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READ_CHUNK (64u << 10)
#define HEADER 4
#define REACH_MS 30000 /* the relay's own limit is shorter */
#define OUT_MAX (NET_FRAME_MAX + HEADER + 2 * CLIENT_DATA_MAX)

struct cli_conn {
    int fd;
    pid_t relay;   /* 0: none */
    char *address; /* address that the relay has reached; NULL: none yet */
    size_t last;   /* size of the message that was taken last */
    bool closed;
    struct buf out;
    struct buf in;
    size_t taken; /* bytes of `in` that were delivered; dropped at the next pump */
};

static int no_daemon(const struct cli_where *w, int errnum, struct err *err)
{
    if (errnum == ENOENT || errnum == ECONNREFUSED || errnum == ENOTDIR)
        return err_code(err, errnum,
                        "no DVM at %s (%s); start one with 'prte start -n 4' or name its directory "
                        "with --dvm",
                        w->path,
                        errnum == ECONNREFUSED ? "its daemon has ended" : "no socket there");
    return err_sys(err, errnum, "connecting to %s", w->path);
}

static int connect_path(int fd, const struct cli_where *w, struct err *err)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};

    if (strlen(w->path) >= sizeof(sa.sun_path))
        return err_code(err, ENAMETOOLONG, "%s: longer than a socket's path may be (%zu bytes)",
                        w->path, sizeof(sa.sun_path) - 1);
    memcpy(sa.sun_path, w->path, strlen(w->path) + 1);
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
        return no_daemon(w, errno, err);
    return 0;
}

static int check_owner(int fd, const struct cli_where *w, struct err *err)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);

    if (w->named)
        return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return err_sys(err, errno, "asking who listens at %s", w->path);
    if (cred.uid != geteuid() && cred.uid != 0)
        return err_code(err, EPERM, "%s belongs to user %u; use --dvm %s if that is meant", w->path,
                        (unsigned)cred.uid, w->dir);
    return 0;
}

struct cli_conn *cli_conn_of(int fd)
{
    struct cli_conn *c = xcalloc(1, sizeof(*c));
    int flags = fcntl(fd, F_GETFL);

    c->fd = fd;
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    buf_init(&c->out, OUT_MAX);
    buf_init(&c->in, NET_FRAME_MAX + HEADER + READ_CHUNK);
    return c;
}

static struct cli_conn *dial_socket(const struct cli_where *where, struct err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        err_sys(err, errno, "making a socket");
        return NULL;
    }
    if (connect_path(fd, where, err) < 0 || check_owner(fd, where, err) < 0) {
        close(fd);
        return NULL;
    }
    return cli_conn_of(fd);
}

/* --- through the relay */

/* The relay's program stands beside ours. */
static char *relay_path(struct err *err)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    if (n < 0) {
        err_sys(err, errno, "finding the program " CLI_RELAY);
        return NULL;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    return xasprintf("%.*s/" CLI_RELAY, slash ? (int)(slash - self) : 0, self);
}

/* The relay's descriptor 0 is the other end of our socket pair. It inherits no other descriptor
 * of ours. No signal of our terminal ends it; it ends when we close. */
static int start_relay(const struct cli_where *w, int end, pid_t *pid, struct err *err)
{
    FREE_AUTO char *path = relay_path(err);
    const char *argv[] = {CLI_RELAY, w->host, w->port, w->tls_dir, w->address ? w->address : "",
                          w->away,   NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    int rc;

    if (!path)
        return -1;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&files, end, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    rc = posix_spawn(pid, path, &files, &attr, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc ? err_sys(err, rc, "starting %s", path) : 0;
}

static struct cli_conn *dial_host(const struct cli_where *w, struct err *err)
{
    struct cli_conn *c;
    pid_t pid = 0;
    int ends[2];
    int rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        err_sys(err, errno, "making a socket");
        return NULL;
    }
    rc = start_relay(w, ends[1], &pid, err);
    close(ends[1]);
    if (rc < 0) {
        close(ends[0]);
        return NULL;
    }
    c = cli_conn_of(ends[0]);
    c->relay = pid;
    return c;
}

struct cli_conn *cli_dial(const struct cli_where *w, struct err *err)
{
    return w->host ? dial_host(w, err) : dial_socket(w, err);
}

static int wait_reached(struct cli_conn *c, int other_fd, int timeout_ms, struct err *err)
{
    struct client_msg m;
    int got = 0;

    while (got == 0 && !c->address && !c->closed)
        got = cli_conn_wait_or(c, &m, other_fd, timeout_ms, err);
    if (c->address)
        return 0;
    if (got == 2)
        return err_code(err, EINTR, "interrupted");
    if (got > 0)
        client_msg_free(&m);
    return got < 0 ? -1 : err_set(err, "the program " CLI_RELAY " has ended without an answer");
}

struct cli_conn *cli_connect_within(struct cli_where *w, int other_fd, int timeout_ms,
                                    struct err *err)
{
    struct cli_conn *c = cli_dial(w, err);

    if (!c || !w->host)
        return c;
    if (wait_reached(c, other_fd, timeout_ms, err) < 0) {
        cli_conn_free(c);
        return NULL;
    }
    free(w->address);
    w->address = xstrdup(c->address);
    return c;
}

struct cli_conn *cli_connect_or(struct cli_where *w, int other_fd, struct err *err)
{
    return cli_connect_within(w, other_fd, REACH_MS, err);
}

struct cli_conn *cli_connect(struct cli_where *w, struct err *err)
{
    return cli_connect_or(w, -1, err);
}

/* The relay sends its remaining bytes before it ends, for a second at most. */
static void reap_relay(pid_t relay)
{
    while (waitpid(relay, NULL, 0) < 0 && errno == EINTR)
        ;
}

void cli_conn_free(struct cli_conn *c)
{
    if (!c)
        return;
    close(c->fd);
    if (c->relay &&
        !c->address) /* the relay has nothing to send, and may wait long for an answer */
        kill(c->relay, SIGKILL);
    if (c->relay)
        reap_relay(c->relay);
    free(c->address);
    buf_free(&c->out);
    buf_free(&c->in);
    free(c);
}

int cli_conn_fd(const struct cli_conn *c)
{
    return c->fd;
}

int cli_conn_send(struct cli_conn *c, const struct client_msg *m, struct err *err)
{
    size_t start = c->out.len;

    buf_put_u32(&c->out, 0);
    client_msg_encode(&c->out, m);
    if (c->out.failed || c->out.len - start - HEADER > NET_FRAME_MAX) {
        c->out.len = start;
        c->out.failed = false;
        return err_code(err, EMSGSIZE, "more than the %u MiB that a daemon takes at once",
                        NET_FRAME_MAX >> 20);
    }
    buf_patch_u32(&c->out, start, (uint32_t)(c->out.len - start - HEADER));
    return 0;
}

int cli_conn_put(struct cli_conn *c, const void *data, size_t len, struct err *err)
{
    if (len <= NET_FRAME_MAX)
        buf_put_bytes(&c->out, data, len);
    if (len <= NET_FRAME_MAX && !c->out.failed)
        return 0;
    c->out.failed = false;
    return err_code(err, EMSGSIZE, "%zu bytes are more than a daemon is sent at once", len);
}

size_t cli_conn_pending(const struct cli_conn *c)
{
    return c->out.len;
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int pump_out(struct cli_conn *c, struct err *err)
{
    size_t done = 0;

    while (done < c->out.len) {
        ssize_t n = send(c->fd, c->out.data + done, c->out.len - done, MSG_NOSIGNAL);

        if (n < 0 && would_block())
            break;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            /* The daemon has closed; its earlier messages are still to be read. */
            done = c->out.len;
            break;
        }
        if (n < 0)
            return err_sys(err, errno, "writing to the daemon");
        done += (size_t)n;
    }
    if (done)
        buf_consume(&c->out, done);
    return 0;
}

static int pump_in(struct cli_conn *c, struct err *err)
{
    uint8_t chunk[READ_CHUNK];
    ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);

    if (n < 0 && would_block())
        return 0;
    if (n < 0 && errno != ECONNRESET)
        return err_sys(err, errno, "reading from the daemon");
    if (n <= 0)
        c->closed = true;
    else
        buf_put_raw(&c->in, chunk, (size_t)n);
    if (c->in.failed)
        return err_set(err, "the daemon sent a frame of more than %u MiB", NET_FRAME_MAX >> 20);
    return 0;
}

int cli_conn_pump(struct cli_conn *c, bool readable, struct err *err)
{
    if (c->taken) {
        buf_consume(&c->in, c->taken);
        c->taken = 0;
    }
    if (pump_out(c, err) < 0)
        return -1;
    if (readable && !c->closed && pump_in(c, err) < 0)
        return -1;
    return c->closed ? 0 : 1;
}

static int take_frame(struct cli_conn *c, struct client_msg *m, struct err *err)
{
    struct cur cur = cur_of(c->in.data ? c->in.data + c->taken : NULL, c->in.len - c->taken);
    uint32_t len;

    if (cur_left(&cur) < HEADER)
        return 0;
    len = cur_u32(&cur);
    if (len > NET_FRAME_MAX)
        return err_set(err, "the daemon sent a frame of %u bytes, over the limit", len);
    if (cur_left(&cur) < len)
        return 0;
    c->taken += HEADER + len;
    c->last = len;
    return client_msg_decode(cur.p, len, m, err) < 0 ? -1 : 1;
}

/* Messages of the relay itself are handled here. */
static int hear_relay(struct cli_conn *c, struct client_msg *m, struct err *err)
{
    int rc = 0;

    if (m->type == CLIENT_UNREACHED) {
        rc = err_code(err, m->unreached.final ? EACCES : ECONNREFUSED, "%s", m->unreached.why);
    } else if (m->reached.address[0]) {
        free(c->address);
        c->address = m->reached.address;
        m->reached.address = NULL;
    }
    client_msg_free(m);
    return rc;
}

int cli_conn_take(struct cli_conn *c, struct client_msg *m, struct err *err)
{
    *m = (struct client_msg){0};
    for (;;) {
        int got = take_frame(c, m, err);

        if (got < 1 || (m->type != CLIENT_REACHED && m->type != CLIENT_UNREACHED))
            return got;
        if (hear_relay(c, m, err) < 0)
            return -1;
    }
}

size_t cli_conn_taken(const struct cli_conn *c)
{
    return c->last;
}

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Waits; returns bit 0 if the connection is readable, bit 1 for the other descriptor. */
static int poll_once(struct cli_conn *c, int other_fd, int64_t until, struct err *err)
{
    struct pollfd p[2] = {{.fd = c->fd, .events = POLLIN}, {.fd = other_fd, .events = POLLIN}};
    int64_t left = until < 0 ? -1 : until - now_ms();
    int n;

    if (until >= 0 && left < 0)
        left = 0;
    if (c->out.len)
        p[0].events |= POLLOUT;
    n = poll(p, 2, (int)left);
    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "waiting for the daemon");
    if (n == 0)
        return err_code(err, ETIMEDOUT, "no answer");
    if (n < 0)
        return 0;
    return (p[0].revents & ~POLLOUT ? 1 : 0) | (p[1].revents ? 2 : 0);
}

int cli_conn_wait_or(struct cli_conn *c, struct client_msg *m, int other_fd, int timeout_ms,
                     struct err *err)
{
    int64_t until = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
    bool awaits_relay = c->relay && !c->address;

    for (;;) {
        int got = cli_conn_take(c, m, err);
        int readable;

        if (got != 0 || c->closed || (awaits_relay && c->address))
            return got;
        if (cli_conn_pump(c, false, err) < 0) /* writes pending bytes */
            return -1;
        readable = poll_once(c, other_fd, until, err);
        if (readable < 0 && err && err->code == ETIMEDOUT)
            return err_code(err, ETIMEDOUT, "the daemon has not answered for %g s",
                            timeout_ms / 1000.0);
        if (readable < 0 || cli_conn_pump(c, readable & 1, err) < 0)
            return -1;
        if (readable == 2)
            return 2;
    }
}

int cli_conn_wait(struct cli_conn *c, struct client_msg *m, int timeout_ms, struct err *err)
{
    return cli_conn_wait_or(c, m, -1, timeout_ms, err);
}

int cli_conn_wait_limit(struct cli_conn *c, struct client_msg *m, int other_fd, struct cli_limit *l,
                        struct err *err)
{
    int step_ms;

    while ((step_ms = cli_limit_step(l, cli_now_ms())) > 0) {
        struct err why = {0};
        int got = cli_conn_wait_or(c, m, other_fd, step_ms, &why);

        if (got < 0 && why.code == ETIMEDOUT)
            continue;
        return got < 0 ? err_code(err, why.code, "%s", why.msg) : got;
    }
    return err_code(err, ETIMEDOUT, "the daemon has not answered for %g s",
                    (double)cli_limit_total_ms(l) / 1000.0);
}
