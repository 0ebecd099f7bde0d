/* SPDX-License-Identifier: BSD-3-Clause */
/* The stdin of a rank: a bounded queue, written as the rank reads. */
#include "base/log/log.h"
#include "dvm/host/odls/odls_private.h"

#include <errno.h>
#include <unistd.h>

#define COMPACT_BYTES ((size_t)256 << 10) /* written bytes before the rest is moved */

void odls_input_init(struct odls_input *in, int fd)
{
    in->fd = fd;
    buf_init(&in->queue, ODLS_STDIN_MAX + COMPACT_BYTES);
}

void odls_input_close(struct odls_input *in)
{
    loop_fd_destroy(in->watch);
    in->watch = NULL;
    if (in->fd >= 0)
        close(in->fd);
    in->fd = -1;
    in->off = 0;
    buf_free(&in->queue);
}

static size_t bytes_waiting(const struct odls_input *in)
{
    return in->queue.len - in->off;
}

static void tell_room(struct odls_proc *p)
{
    if (!p->in.owes_room || bytes_waiting(&p->in) > ODLS_STDIN_ROOM)
        return;
    p->in.owes_room = false;
    p->o->up.on_stdin_room(p->job->nspace, p->rank, p->o->arg);
}

void odls_input_abandon(struct odls_proc *p)
{
    odls_input_close(&p->in);
    tell_room(p);
}

static void on_writable(int fd, int events, void *arg)
{
    struct odls_proc *p = arg;
    struct odls_input *in = &p->in;
    ssize_t n = write(fd, in->queue.data + in->off, bytes_waiting(in));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        /* The rank has closed its stdin: its input is dropped. */
        if (errno != EPIPE)
            log_warn("input cannot be written nspace=%s rank=%u errno=%d", p->job->nspace, p->rank,
                     errno);
        odls_input_abandon(p);
        return;
    }
    in->off += (size_t)n;
    if (in->off >= COMPACT_BYTES || in->off == in->queue.len) {
        buf_consume(&in->queue, in->off);
        in->off = 0;
    }
    if (!bytes_waiting(in)) {
        loop_fd_destroy(in->watch);
        in->watch = NULL;
        if (in->closing)
            odls_input_close(in);
    }
    tell_room(p);
}

size_t odls_input_put(struct odls_proc *p, const void *data, size_t len)
{
    struct odls_input *in = &p->in;

    if (in->fd < 0 || in->closing)
        return 0;
    if (len > ODLS_STDIN_MAX - bytes_waiting(in))
        return SIZE_MAX;
    if (len)
        buf_put_raw(&in->queue, data, len);
    else
        in->closing = true;
    if (bytes_waiting(in) && !in->watch)
        in->watch = loop_fd_create(p->o->loop, in->fd, LOOP_WRITE, on_writable, p);
    if (in->closing && !bytes_waiting(in))
        odls_input_close(in);
    if (bytes_waiting(in) > ODLS_STDIN_ROOM)
        in->owes_room = true;
    return bytes_waiting(in);
}
