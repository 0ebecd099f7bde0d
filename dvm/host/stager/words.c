/* SPDX-License-Identifier: BSD-3-Clause */
/* Codec of the frames to and from the processes that read and write files, and their blocking I/O.
 *
 * In and out: lists of paths, pieces that are already encoded, and words (struct stager_word). A
 * frame is a length of LENGTH_BYTES and that many bytes. The first byte tells a word from a piece:
 * from STAGER_TAKEN on it is a word.
 *
 * Two sides: the daemon decodes with stager_next() from a buffer and never blocks here. The
 * processes use stager_read_frame() and stager_write_all(), which block.
 *
 * Failures and limits: stager_next() refuses an empty frame, one longer than PIECE_MAX, and a
 * malformed word. stager_read_frame() refuses more than STAGER_FRAME_MAX bytes with EPROTO. A list
 * has at most JOB_FILES_MAX paths. Pieces are not decoded here (dvm/protocol/wire/piece.h). */
#include "dvm/host/stager/stager.h"

#include "dvm/protocol/wire/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_BYTES 4

static size_t begin_frame(struct buf *b)
{
    size_t at = b->len;

    buf_put_u32(b, 0);
    return at;
}

static void end_frame(struct buf *b, size_t at)
{
    if (!b->failed)
        buf_patch_u32(b, at, (uint32_t)(b->len - at - LENGTH_BYTES));
}

void stager_list_encode(struct buf *b, char *const *paths, size_t n)
{
    size_t at = begin_frame(b);

    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        buf_put_str(b, paths[i]);
    end_frame(b, at);
}

int stager_list_decode(const uint8_t *data, size_t len, size_t path_max, char ***paths, size_t *n)
{
    struct cur c = cur_of(data, len);

    *n = cur_count(&c, JOB_FILES_MAX, LENGTH_BYTES);
    *paths = xcalloc(*n + 1, sizeof(**paths));
    for (size_t i = 0; i < *n; i++)
        (*paths)[i] = cur_str(&c, path_max);
    return cur_done(&c) ? 0 : -1;
}

void stager_list_free(char **paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
}

void stager_piece_encode(struct buf *b, const void *piece, size_t len)
{
    buf_put_bytes(b, piece, len);
}

void stager_word_encode(struct buf *b, const struct stager_word *w)
{
    size_t at = begin_frame(b);

    buf_put_u8(b, (uint8_t)w->kind);
    buf_put_u64(b, w->taken);
    buf_put_u32(b, (uint32_t)w->errnum);
    buf_put_str(b, w->text);
    end_frame(b, at);
}

static int word_decode(const uint8_t *data, size_t len, struct stager_word *out, struct err *err)
{
    struct cur c = cur_of(data, len);
    struct stager_word w = {.kind = cur_u8(&c), .taken = cur_u64(&c)};

    w.errnum = (int32_t)cur_u32(&c);
    w.text = cur_str(&c, STAGER_TEXT_MAX);
    if (cur_done(&c) && w.kind >= STAGER_TAKEN && w.kind <= STAGER_DONE) {
        *out = w;
        return 1;
    }
    free(w.text);
    return err_set(err, "a malformed word of " STAGER_PROGRAM);
}

int stager_next(const struct buf *in, struct stager_said *out, struct err *err)
{
    struct cur c = cur_of(in->data, in->len);
    uint32_t len = cur_u32(&c);

    *out = (struct stager_said){.used = LENGTH_BYTES + (size_t)len};
    if (c.bad)
        return 0;
    if (len == 0 || len > PIECE_MAX)
        return err_set(err, STAGER_PROGRAM " says %u bytes at once", len);
    if (cur_left(&c) < len)
        return 0;
    if (*c.p >= STAGER_TAKEN)
        return word_decode(c.p, len, &out->word, err);
    out->piece = c.p;
    out->len = len;
    return 1;
}

size_t stager_piece_data(uint64_t room)
{
    uint64_t data = room / 2 > 2 * PIECE_OVERHEAD ? room / 2 - PIECE_OVERHEAD : PIECE_OVERHEAD;

    return data < PIECE_DATA_MAX ? (size_t)data : PIECE_DATA_MAX;
}

char *stager_path(struct err *err)
{
    char self[STAGER_PATH_MAX + 1];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char *slash;

    if (n < 0) {
        err_sys(err, errno, "finding the program " STAGER_PROGRAM);
        return NULL;
    }
    self[n] = '\0';
    slash = strrchr(self, '/');
    return xasprintf("%.*s/" STAGER_PROGRAM, slash ? (int)(slash - self) : 0, self);
}

/* --- inside the processes */

int stager_read_all(int fd, void *data, size_t len)
{
    uint8_t *p = data;

    while (len) {
        ssize_t n = read(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        p += n;
        len -= (size_t)n;
    }
    return 1;
}

int stager_write_all(int fd, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int stager_read_frame(int fd, uint8_t *frame, size_t *len)
{
    uint8_t head[LENGTH_BYTES] = {0};
    int rc = stager_read_all(fd, head, sizeof(head));
    struct cur c = cur_of(head, sizeof(head));

    *len = cur_u32(&c);
    if (rc != 1)
        return rc;
    if (*len > STAGER_FRAME_MAX) {
        errno = EPROTO;
        return -1;
    }
    return stager_read_all(fd, frame, *len);
}
