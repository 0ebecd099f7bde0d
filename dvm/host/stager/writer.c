/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer: pieces in, files below DIR/files out.
 *
 * It opens every directory and file by descriptor, follows no link and replaces no file: the job's
 * directory is new, and no rank has run yet. After each piece it reports how many bytes it has
 * written in all (TAKEN), which gives the sender room. A file counts when its size and SHA-256
 * agree with its last piece.
 *
 * At the end of its input it reports DONE if all files are complete. Any error is reported as
 * FAILED with errno and the failed action; then it exits. If its input ends early, the job or the
 * daemon has ended, and so does it. Incomplete files are removed with the job's directory. */
#include "base/buf/buf.h"
#include "base/err/err.h"
#include "dvm/host/stager/stager.h"
#include "dvm/protocol/wire/job.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct writer {
    const char *dir;
    int in, out;
    int top; /* DIR/files */
    size_t nfiles;
    char **files;
    struct piece_order order;
    int fd; /* the current file; -1: none */
    uint32_t mode;
    EVP_MD_CTX *sum;
    uint64_t taken;
};

static bool send_word(const struct writer *w, const struct stager_word *word)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, 2 * STAGER_TEXT_MAX);
    stager_word_encode(&b, word);
    return stager_write_all(w->out, b.data, b.len) == 0;
}

/* --- file system */

static int fail_file(const struct writer *w, struct err *err, const char *what, uint32_t file)
{
    int errnum = errno;

    err_code(err, errnum, "%s %s/" JOB_FILES_DIR "/%s", what, w->dir, w->files[file]);
    return -1;
}

static int make_top(struct writer *w, struct err *err)
{
    struct stat st;
    int dir = open(w->dir, OPEN_DIR);

    if (dir < 0 || fstat(dir, &st) < 0)
        err_code(err, errno, "opening %s", w->dir);
    else if (st.st_uid != geteuid())
        err_code(err, EPERM, "writing into %s, which is somebody else's", w->dir);
    else if (mkdirat(dir, JOB_FILES_DIR, 0700) < 0 ||
             (w->top = openat(dir, JOB_FILES_DIR, OPEN_DIR)) < 0)
        err_code(err, errno, "making %s/" JOB_FILES_DIR, w->dir);
    if (dir >= 0)
        close(dir);
    return w->top < 0 ? -1 : 0;
}

/* Opens the directory of the file and creates its missing parts; *name is the last component. */
static int open_parent(const struct writer *w, const char *path, const char **name)
{
    int at = dup(w->top);

    for (*name = path; at >= 0 && strchr(*name, '/'); *name = strchr(*name, '/') + 1) {
        FREE_AUTO char *dir = xstrndup(*name, strcspn(*name, "/"));
        int next = -1;

        if (mkdirat(at, dir, 0700) == 0 || errno == EEXIST)
            next = openat(at, dir, OPEN_DIR);
        close(at);
        at = next;
    }
    return at;
}

static int begin_file(struct writer *w, const struct piece *p, struct err *err)
{
    const char *name;
    int dir = open_parent(w, w->files[p->file], &name);

    w->mode = p->mode;
    w->fd = dir < 0 ? -1
                    : openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (w->fd < 0)
        fail_file(w, err, "making", p->file);
    if (dir >= 0)
        close(dir);
    if (w->fd >= 0 && EVP_DigestInit_ex(w->sum, EVP_sha256(), NULL) != 1)
        return err_code(err, EIO, "SHA-256 cannot be computed");
    return w->fd < 0 ? -1 : 0;
}

static int add_data(struct writer *w, const struct piece *p, struct err *err)
{
    if (stager_write_all(w->fd, p->data, p->len) < 0)
        return fail_file(w, err, "writing", p->file);
    if (EVP_DigestUpdate(w->sum, p->data, p->len) != 1)
        return err_code(err, EIO, "SHA-256 cannot be computed");
    return 0;
}

static int end_file(struct writer *w, const struct piece *p, struct err *err)
{
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    int fd = w->fd;
    int mode_set = fchmod(fd, w->mode);

    w->fd = -1;
    if (mode_set < 0)
        fail_file(w, err, "setting the mode of", p->file);
    if (close(fd) < 0 && mode_set == 0) /* some file systems report a failed write only here */
        return fail_file(w, err, "writing", p->file);
    if (mode_set < 0)
        return -1;
    if (EVP_DigestFinal_ex(w->sum, sum, &len) != 1 || len != p->len ||
        memcmp(sum, p->data, len) != 0)
        return err_code(err, EBADMSG, "the checksum of %s/" JOB_FILES_DIR "/%s is not its source's",
                        w->dir, w->files[p->file]);
    return 0;
}

static int take_piece(struct writer *w, const uint8_t *data, size_t len, struct err *err)
{
    struct piece p;

    if (piece_decode(data, len, &p, err) < 0 ||
        piece_follow(&w->order, (uint32_t)w->nfiles, &p, err) < 0) {
        err->code = EPROTO;
        return -1;
    }
    w->taken += len;
    switch (p.kind) {
    case PIECE_FILE:
        return begin_file(w, &p, err);
    case PIECE_DATA:
        return add_data(w, &p, err);
    default:
        return end_file(w, &p, err);
    }
}

/* --- the loop */

static int read_list(struct writer *w, const uint8_t *data, size_t len, struct err *err)
{
    bool ok = stager_list_decode(data, len, JOB_FILE_PATH_MAX, &w->files, &w->nfiles) == 0;

    for (size_t i = 0; ok && i < w->nfiles; i++)
        ok = !job_file_refused(w->files[i]);
    return ok ? 0 : err_code(err, EPROTO, "reading the list of files");
}

static int take_frames(struct writer *w, uint8_t *frame, struct err *err)
{
    size_t len;

    if (stager_read_frame(w->in, frame, &len) != 1)
        return 0;
    if (read_list(w, frame, len, err) < 0 || make_top(w, err) < 0)
        return -1;
    while (!piece_all(&w->order, (uint32_t)w->nfiles)) {
        if (stager_read_frame(w->in, frame, &len) != 1)
            return 0; /* the job or the daemon has ended */
        if (take_piece(w, frame, len, err) < 0)
            return -1;
        if (!send_word(w, &(struct stager_word){.kind = STAGER_TAKEN, .taken = w->taken}))
            return 0;
    }
    send_word(w, &(struct stager_word){.kind = STAGER_DONE});
    return 1;
}

int stager_write(const char *dir, int in, int out)
{
    struct writer w = {.dir = dir, .in = in, .out = out, .top = -1, .fd = -1};
    FREE_AUTO uint8_t *frame = xmalloc(STAGER_FRAME_MAX);
    struct err err = {0};
    int rc;

    prctl(PR_SET_NAME, "dvm-stager");
    signal(SIGXFSZ, SIG_IGN); /* write(2) then fails with EFBIG */
    signal(SIGPIPE, SIG_IGN);
    w.sum = EVP_MD_CTX_new();
    rc =
        w.sum ? take_frames(&w, frame, &err) : err_code(&err, ENOMEM, "SHA-256 cannot be computed");
    if (rc < 0)
        send_word(
            &w, &(struct stager_word){.kind = STAGER_FAILED, .errnum = err.code, .text = err.msg});
    if (w.fd >= 0)
        close(w.fd);
    if (w.top >= 0)
        close(w.top);
    stager_list_free(w.files, w.nfiles);
    EVP_MD_CTX_free(w.sum);
    return rc == 1 ? 0 : EXIT_FAILURE;
}
