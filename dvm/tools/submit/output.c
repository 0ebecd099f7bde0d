/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks' output on its way to prun's own descriptors, or to files.
 *
 * In: data of a rank's stream. Out: a queue for standard output and one for standard error,
 * written as poll(2) allows, or a file for each rank and stream in a directory with the job's
 * name. Without tags and times the data is unchanged. With them it is cut into lines: an
 * unfinished line waits until it is complete or long, or until the job has ended.
 *
 * Invariants: the order within a stream of a rank is kept; a write never blocks, though the
 * descriptors are blocking: pipes and terminals promise room for PIPE_BUF bytes. The caller stops
 * reading at OUTPUT_FULL, so that a queue is bounded by that and one message.
 *
 * Failures: a stream that cannot be written is reported once, and its later data is dropped. */
#include "dvm/tools/submit/output.h"

#include "base/buf/buf.h"
#include "base/heap/hash.h"
#include "dvm/tools/cli/say.h"
#include "dvm/tools/submit/output_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The caller adds at most one message beyond OUTPUT_FULL. In the worst case it is all newlines,
 * each of which gets a tag. */
#define QUEUE_MAX (16u << 20)
#define SENT_MAX (256u << 10)
#define NAMES_STREAM(s) ((s) == 1 ? "stdout" : "stderr")

struct line { /* the unfinished line of one rank's stream */
    uint64_t key;
    struct buf text;
    UT_hash_handle hh;
};

struct sink {
    int fd;
    bool piecewise; /* a larger write could block although poll(2) reported "writable" */
    bool failed;
    size_t sent; /* bytes of the queue that are written; dropped occasionally, not at each write */
    struct buf queue;
};

struct output {
    struct output_style style;
    struct sink sinks[2];
    struct line *lines;
    struct output_files *files; /* instead of the sinks */
    struct err failed;          /* error of the files, not reported yet */
};

struct output *output_create(const int fds[2], const struct output_style *s)
{
    struct output *o = xcalloc(1, sizeof(*o));

    o->style = *s;
    if (s->dir)
        o->files = output_files_create(s->dir, s->digits);
    for (int i = 0; i < 2; i++) {
        struct stat st;

        o->sinks[i].fd = fds[i];
        o->sinks[i].piecewise = fstat(fds[i], &st) < 0 || !S_ISREG(st.st_mode);
        buf_init(&o->sinks[i].queue, QUEUE_MAX);
    }
    return o;
}

void output_destroy(struct output *o)
{
    struct line *l, *next;

    if (!o)
        return;
    HASH_ITER(hh, o->lines, l, next)
    {
        HASH_DEL(o->lines, l);
        buf_free(&l->text);
        free(l);
    }
    buf_free(&o->sinks[0].queue);
    buf_free(&o->sinks[1].queue);
    output_files_destroy(o->files);
    free(o);
}

static struct line *line_of(struct output *o, uint32_t rank, int stream)
{
    uint64_t key = (uint64_t)rank << 2 | (uint64_t)stream;
    struct line *l;

    HASH_FIND(hh, o->lines, &key, sizeof(key), l);
    if (l)
        return l;
    l = xcalloc(1, sizeof(*l));
    l->key = key;
    buf_init(&l->text, OUTPUT_LINE_MAX);
    HASH_ADD(hh, o->lines, key, sizeof(l->key), l);
    return l;
}

void output_text(struct output *o, const void *data, size_t len)
{
    FREE_AUTO char *text = cli_lines(data, len);

    buf_put_raw(&o->sinks[0].queue, text, strlen(text));
}

static void put_timestamp(struct buf *q)
{
    struct timespec now;
    struct tm tm;
    char text[64];
    size_t n;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    n = strftime(text, sizeof(text), "%FT%T", &tm);
    n += (size_t)snprintf(text + n, sizeof(text) - n, ".%03ldZ ", now.tv_nsec / 1000000);
    buf_put_raw(q, text, n);
}

/* Passes data to the stream's destination: a file or one of the two descriptors. */
static void deliver_output(struct output *o, uint32_t rank, int stream, const void *data,
                           size_t len)
{
    struct sink *s = &o->sinks[o->style.merge ? 0 : stream - 1];

    if (s->failed)
        return;
    if (!o->files)
        buf_put_raw(&s->queue, data, len);
    else if (output_files_write(o->files, rank, o->style.merge ? 1 : stream, data, len,
                                &o->failed) < 0)
        o->sinks[0].failed = o->sinks[1].failed = true;
}

/* One whole line; a missing newline is added. */
static void deliver_line(struct output *o, uint32_t rank, int stream, struct line *l)
{
    BUF_AUTO struct buf b = {0};
    char tag[64];
    int n = snprintf(tag, sizeof(tag), "[%u]<%s>: ", rank, NAMES_STREAM(stream));

    buf_init(&b, OUTPUT_LINE_MAX + 2 * sizeof(tag));
    if (o->style.timestamp)
        put_timestamp(&b);
    if (o->style.tag)
        buf_put_raw(&b, tag, (size_t)n);
    buf_put_raw(&b, l->text.data, l->text.len);
    if (l->text.data[l->text.len - 1] != '\n')
        buf_put_u8(&b, '\n');
    deliver_output(o, rank, stream, b.data, b.len);
    buf_reset(&l->text);
}

static void add_by_line(struct output *o, uint32_t rank, int stream, const char *data, size_t len)
{
    struct line *l = line_of(o, rank, stream);

    while (len) {
        const char *end = memchr(data, '\n', len);
        size_t n = end ? (size_t)(end - data) + 1 : len;

        if (n > OUTPUT_LINE_MAX - l->text.len)
            n = OUTPUT_LINE_MAX - l->text.len;
        buf_put_raw(&l->text, data, n);
        data += n;
        len -= n;
        if (l->text.data[l->text.len - 1] == '\n' || l->text.len == OUTPUT_LINE_MAX)
            deliver_line(o, rank, stream, l);
    }
}

void output_add(struct output *o, uint32_t rank, int stream, const void *data, size_t len)
{
    if (!len)
        return;
    if (o->style.tag || o->style.timestamp)
        add_by_line(o, rank, stream, data, len);
    else
        deliver_output(o, rank, stream, data, len);
}

void output_finish(struct output *o)
{
    for (struct line *l = o->lines; l; l = l->hh.next) {
        if (l->text.len)
            deliver_line(o, (uint32_t)(l->key >> 2), (int)(l->key & 3), l);
    }
}

int output_check(const struct output_style *s, struct err *err)
{
    return s->dir ? output_files_check(s->dir, err) : 0;
}

int output_job(struct output *o, const char *nspace, struct err *err)
{
    if (!o->files || output_files_job(o->files, nspace, err) == 0)
        return 0;
    o->sinks[0].failed = o->sinks[1].failed = true;
    return -1;
}

size_t output_pending(const struct output *o)
{
    return o->sinks[0].queue.len - o->sinks[0].sent + o->sinks[1].queue.len - o->sinks[1].sent;
}

void output_want(const struct output *o, struct pollfd p[2])
{
    for (int i = 0; i < 2; i++)
        p[i] =
            (struct pollfd){.fd = o->sinks[i].queue.len ? o->sinks[i].fd : -1, .events = POLLOUT};
}

static void sink_wrote(struct sink *s, size_t n)
{
    s->sent += n;
    if (s->sent < s->queue.len && s->sent < SENT_MAX)
        return;
    buf_consume(&s->queue, s->sent);
    s->sent = 0;
}

/* Writes as much as possible without blocking: pipes and terminals only promise room for
 * PIPE_BUF. */
static int pump_sink(struct sink *s, int stream, struct err *err)
{
    size_t n = s->queue.len - s->sent;
    ssize_t done;

    if (s->piecewise && n > PIPE_BUF)
        n = PIPE_BUF;
    done = write(s->fd, s->queue.data + s->sent, n);
    if (done >= 0) {
        sink_wrote(s, (size_t)done);
        return 0;
    }
    if (errno == EINTR || errno == EAGAIN)
        return 0;
    s->failed = true;
    s->sent = 0;
    buf_reset(&s->queue);
    return err_sys(err, errno, "writing the ranks' %s", NAMES_STREAM(stream));
}

int output_pump(struct output *o, const struct pollfd p[2], struct err *err)
{
    int rc = 0;

    if (o->failed.msg[0]) {
        *err = o->failed;
        o->failed = (struct err){0};
        rc = -1;
    }
    for (int i = 0; i < 2; i++) {
        if (p[i].fd >= 0 && p[i].revents && pump_sink(&o->sinks[i], i + 1, err) < 0)
            rc = -1;
    }
    return rc;
}
