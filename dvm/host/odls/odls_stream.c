/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of a rank: read in turns, paused on demand, ended in bounded time. */
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void on_readable(int fd, int events, void *arg);
static void on_linger(void *arg);

void odls_stream_init(struct odls_stream *s, struct odls_proc *p, int which, int fd)
{
    s->proc = p;
    s->which = which;
    s->fd = fd;
}

void odls_stream_start(struct odls_stream *s)
{
    s->watch = loop_fd_create(s->proc->o->loop, s->fd, s->proc->job->paused ? 0 : LOOP_READ,
                              on_readable, s);
}

void odls_stream_pause(struct odls_stream *s)
{
    if (s->watch)
        loop_fd_set(s->watch, s->proc->job->paused && !s->forced ? 0 : LOOP_READ);
}

void odls_stream_linger(struct odls_stream *s)
{
    if (s->fd < 0)
        return;
    s->linger = loop_timer_create(s->proc->o->loop, on_linger, s);
    loop_timer_arm(s->linger, s->proc->o->times.linger_ms);
}

void odls_stream_close(struct odls_stream *s)
{
    loop_fd_destroy(s->watch);
    loop_timer_destroy(s->linger);
    s->watch = NULL;
    s->linger = NULL;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void tell_output(const struct odls_stream *s, const void *data, size_t len)
{
    const struct odls_proc *p = s->proc;

    p->o->up.on_output(p->job->nspace, p->rank, s->which, data, len, p->o->arg);
}

static void end_stream(struct odls_stream *s)
{
    struct odls_proc *p = s->proc;

    odls_stream_close(s);
    tell_output(s, "", 0);
    odls_proc_settle(p);
}

/* All bytes of the pipe at the rank's end have been read. */
static void end_forced(struct odls_stream *s)
{
    const struct odls_proc *p = s->proc;
    char more;

    if (read(s->fd, &more, 1) == 0) {
        end_stream(s);
        return;
    }
    log_warn("a process that the rank left holds its output open, it is closed nspace=%s rank=%u "
             "stream=%d",
             p->job->nspace, p->rank, s->which);
    p->o->up.on_left_open(p->job->nspace, p->rank, s->which, p->o->arg);
    end_stream(s);
}

static void on_readable(int fd, int events, void *arg)
{
    struct odls_stream *s = arg;
    size_t want = s->forced && s->left < ODLS_READ_MAX ? s->left : ODLS_READ_MAX;
    ssize_t n = read(fd, s->proc->o->chunk, want);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        log_error("output cannot be read nspace=%s rank=%u stream=%d errno=%d",
                  s->proc->job->nspace, s->proc->rank, s->which, errno);
    if (n <= 0) {
        end_stream(s);
        return;
    }
    tell_output(s, s->proc->o->chunk, (size_t)n);
    if (!s->forced)
        return;
    s->left -= (size_t)n;
    if (!s->left)
        end_forced(s);
}

/* The rank has ended. The bytes in the pipe now are its output; later ones are not waited for. The
 * output of a rank that odls_end() has named is read even while reading is paused. */
static void on_linger(void *arg)
{
    struct odls_stream *s = arg;
    int bytes = 0;

    if (s->proc->job->paused && !s->proc->ordered) {
        loop_timer_arm(s->linger, s->proc->o->times.linger_ms);
        return;
    }
    if (ioctl(s->fd, FIONREAD, &bytes) < 0 || bytes <= 0) {
        end_forced(s);
        return;
    }
    s->forced = true;
    s->left = (size_t)bytes;
    odls_stream_pause(s);
}
