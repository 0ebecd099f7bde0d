/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader: reads a job's files at their source and writes them as pieces to the daemon.
 *
 * In: one frame with the list of paths, on `in`. Out: on `out`, for each file PIECE_FILE (its
 * mode), any number of PIECE_DATA, then PIECE_END (its size and SHA-256). The last frame is
 * STAGER_DONE or STAGER_FAILED.
 *
 * Invariants: files are sent whole, one after the other, in the order of the list. A data piece has
 * at most `data_max` bytes. Size and modification time of a file are compared with those at its
 * opening after each read.
 *
 * Failures: the first error ends the reader with STAGER_FAILED, an errno value and a text. A file
 * that changes while it is read is refused with ESTALE, a path that is no regular file with EINVAL.
 * If the daemon closes the pipe, the process ends and no report arrives. Writes block, so the
 * daemon sets the pace by reading. */
#include "base/err/err.h"
#include "dvm/host/stager/stager.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct reader {
    int out;
    uint32_t file;
    const char *path;
    int fd;
    struct stat st; /* size and time of the file when it was opened */
    uint64_t bytes;
    size_t data_max;
    uint8_t *data;
    EVP_MD_CTX *sum;
};

/* A failure means that the daemon has closed the pipe. */
static int send_piece(const struct reader *r, const struct piece *p)
{
    BUF_AUTO struct buf piece = {0};
    BUF_AUTO struct buf frame = {0};

    buf_init(&piece, PIECE_MAX);
    buf_init(&frame, PIECE_MAX + 4);
    piece_encode(&piece, p);
    stager_piece_encode(&frame, piece.data, piece.len);
    return stager_write_all(r->out, frame.data, frame.len);
}

static int begin_file(struct reader *r, struct err *err)
{
    struct piece p = {.kind = PIECE_FILE, .file = r->file};

    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a FIFO would block */
    if (r->fd < 0 || fstat(r->fd, &r->st) < 0)
        return err_code(err, errno, "opening %s", r->path);
    if (!S_ISREG(r->st.st_mode))
        return err_code(err, EINVAL, "reading %s, which is no file", r->path);
    if (EVP_DigestInit_ex(r->sum, EVP_sha256(), NULL) != 1)
        return err_code(err, EIO, "SHA-256 cannot be computed");
    r->bytes = 0;
    p.mode = r->st.st_mode & PIECE_MODE_MAX;
    return send_piece(r, &p);
}

static int report_changed(const struct reader *r, struct err *err)
{
    return err_code(err, ESTALE, "reading %s, which has changed meanwhile", r->path);
}

static bool is_as_it_was(const struct reader *r)
{
    struct stat now;

    return fstat(r->fd, &now) == 0 && now.st_size == r->st.st_size &&
           now.st_mtim.tv_sec == r->st.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == r->st.st_mtim.tv_nsec;
}

/* 1: a piece was sent, 0: the end of the file, -1: an error, or the pipe is closed. */
static int read_some(struct reader *r, struct err *err)
{
    struct piece p = {.kind = PIECE_DATA, .file = r->file, .data = r->data};
    ssize_t n;

    do
        n = read(r->fd, r->data, r->data_max);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_code(err, errno, "reading %s", r->path);
    if (!is_as_it_was(r)) /* a growing file would never end */
        return report_changed(r, err);
    if (n == 0)
        return 0;
    p.len = (size_t)n;
    r->bytes += p.len;
    if (EVP_DigestUpdate(r->sum, r->data, p.len) != 1)
        return err_code(err, EIO, "SHA-256 cannot be computed");
    return send_piece(r, &p) < 0 ? -1 : 1;
}

static int finish_file(struct reader *r, struct err *err)
{
    uint8_t sum[EVP_MAX_MD_SIZE];
    struct piece p = {.kind = PIECE_END, .file = r->file, .size = r->bytes, .data = sum};
    unsigned len = 0;

    if (r->bytes != (uint64_t)r->st.st_size)
        return report_changed(r, err);
    if (EVP_DigestFinal_ex(r->sum, sum, &len) != 1)
        return err_code(err, EIO, "SHA-256 cannot be computed");
    p.len = len;
    close(r->fd);
    r->fd = -1;
    return send_piece(r, &p);
}

static int read_files(struct reader *r, char *const *paths, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc;

        r->file = (uint32_t)i;
        r->path = paths[i];
        if (begin_file(r, err) < 0)
            return -1;
        while ((rc = read_some(r, err)) > 0)
            ;
        if (rc < 0 || finish_file(r, err) < 0)
            return -1;
    }
    return 0;
}

static int report_result(const struct reader *r, int rc, const struct err *err)
{
    struct stager_word w = {.kind = rc < 0 ? STAGER_FAILED : STAGER_DONE,
                            .errnum = err->code,
                            .text = (char *)err->msg};
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 2 * STAGER_TEXT_MAX);
    stager_word_encode(&b, &w);
    return stager_write_all(r->out, b.data, b.len) < 0 || rc < 0 ? EXIT_FAILURE : 0;
}

int stager_read(size_t data_max, int in, int out)
{
    FREE_AUTO uint8_t *frame = xmalloc(STAGER_FRAME_MAX);
    struct reader r = {.out = out, .fd = -1, .data_max = data_max, .sum = EVP_MD_CTX_new()};
    struct err err = {0};
    char **paths = NULL;
    size_t len, n = 0;
    int rc = -1;

    signal(SIGPIPE, SIG_IGN);
    r.data = xmalloc(data_max);
    if (stager_read_frame(in, frame, &len) != 1 ||
        stager_list_decode(frame, len, STAGER_PATH_MAX, &paths, &n) < 0)
        err_code(&err, EPROTO, "reading the list of files");
    else if (!r.sum)
        err_code(&err, ENOMEM, "SHA-256 cannot be computed");
    else
        rc = read_files(&r, paths, n, &err);
    rc = report_result(&r, rc, &err);
    if (r.fd >= 0)
        close(r.fd);
    free(r.data);
    EVP_MD_CTX_free(r.sum);
    stager_list_free(paths, n);
    return rc;
}
