/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the files of jobs on this daemon: one writer process for each job.
 *
 * In: the list of files, their pieces, and the job's end. Out: "files are here" to the core, or
 * the reason why they are not. The writer is run by the spawner like a rank, with dvm-stage as its
 * program; it gets list and pieces by its standard input and reports by its output.
 *
 * Invariants: a job has one writer; the daemon itself writes no file, so a disk that blocks delays
 * no other job. The result is reported once, when the writer has ended and its last message has
 * been read.
 *
 * Failures: a writer that is ended by a signal, or reports a full disk, fails the job with node,
 * path and reason. The job's directory is removed by the spawner. */
#include "dvm/host/ranks/ranks_private.h"

#include "base/log/log.h"
#include "dvm/host/stager/stager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITER_RANK 0

struct writer {
    char *nspace; /* the job's namespace */
    struct buf in;
    bool done;
    int errnum; /* reason of the failure */
    char *text;
    bool exited, ended; /* reaped; its last message has come */
    int wait_status;
    UT_hash_handle hh;
};

static struct writer *find_writer(const struct ranks *r, const char *nspace)
{
    struct writer *w;

    HASH_FIND_STR(r->writers, nspace, w);
    return w;
}

static char *make_name(const char *nspace)
{
    return xasprintf(WRITER_PREFIX "%s", nspace);
}

static struct writer *find_by_name(const struct ranks *r, const char *name)
{
    size_t n = strlen(WRITER_PREFIX);

    return strncmp(name, WRITER_PREFIX, n) == 0 ? find_writer(r, name + n) : NULL;
}

static void free_writer(struct writer *w)
{
    buf_free(&w->in);
    free(w->text);
    free(w->nspace);
    free(w);
}

void writer_free_all(struct ranks *r)
{
    struct writer *w, *tmp;

    HASH_ITER(hh, r->writers, w, tmp)
    {
        HASH_DEL(r->writers, w);
        free_writer(w);
    }
}

static void set_failed(struct writer *w, int errnum, const char *text)
{
    if (w->text)
        return;
    w->errnum = errnum ? errnum : EIO;
    w->text = xstrdup(text);
}

/* Sends to the writer. If that fails, the end of the writer has the reason. */
static void feed_writer(struct ranks *r, struct writer *w, const struct buf *b)
{
    FREE_AUTO char *name = make_name(w->nspace);

    if (!b->failed && odls_stdin(r->odls, name, WRITER_RANK, b->data, b->len) != SIZE_MAX)
        return;
    set_failed(w, ENOBUFS, "taking in more than there is room for");
    writer_stop(r, w->nspace);
}

static void send_list(struct ranks *r, struct writer *w, const struct job_launch *l)
{
    BUF_AUTO struct buf b = {0};

    buf_init(&b, STAGER_FRAME_MAX);
    stager_list_encode(&b, l->spec.files, l->spec.nfiles);
    feed_writer(r, w, &b);
}

int writer_start(struct ranks *r, const struct job_launch *l, struct err *err)
{
    FREE_AUTO char *name = make_name(l->nspace);
    FREE_AUTO char *dir = xasprintf("%s/%s", r->env->session_dir, l->nspace);
    FREE_AUTO char *program = stager_path(err);
    const char *argv[] = {program, "write", dir, NULL};
    struct odls_rank rank = {.rank = WRITER_RANK,
                             .argv = argv,
                             .env = (const char *const *)environ,
                             .cwd = r->env->session_dir,
                             .want_stdin = true};
    struct writer *w;

    if (!program || pmix_srv_make_dir(r->pmix, l->nspace, err) < 0 ||
        odls_start(r->odls, name, &rank, 1, err) < 0)
        return -1;
    w = xcalloc(1, sizeof(*w));
    w->nspace = xstrdup(l->nspace);
    buf_init(&w->in, PIECE_MAX + 2 * 65536);
    HASH_ADD_KEYPTR(hh, r->writers, w->nspace, strlen(w->nspace), w);
    send_list(r, w, l);
    files_expect(r->files, l);
    return 0;
}

void writer_stop(struct ranks *r, const char *nspace)
{
    FREE_AUTO char *name = make_name(nspace);

    odls_end(r->odls, name, WRITER_RANK, 0);
}

void writer_feed(struct ranks *r, const char *nspace, const void *piece, size_t len)
{
    struct writer *w = find_writer(r, nspace);
    BUF_AUTO struct buf b = {0};

    if (!w)
        return;
    buf_init(&b, PIECE_MAX + 4);
    stager_piece_encode(&b, piece, len);
    feed_writer(r, w, &b);
}

/* --- messages and end of the process */

static void take_word(struct ranks *r, struct writer *w, const struct stager_word *word)
{
    if (word->kind == STAGER_TAKEN)
        files_written(r->files, w->nspace, word->taken);
    else if (word->kind == STAGER_DONE)
        w->done = true;
    else if (word->kind == STAGER_FAILED)
        set_failed(w, word->errnum, word->text);
}

static void take_words(struct ranks *r, struct writer *w, const void *data, size_t len)
{
    struct stager_said said;
    struct err err = {0};
    int rc;

    buf_put_raw(&w->in, data, len);
    while ((rc = stager_next(&w->in, &said, &err)) > 0) {
        buf_consume(&w->in, said.used);
        take_word(r, w, &said.word);
        free(said.word.text);
    }
    if (rc == 0 && !w->in.failed)
        return;
    set_failed(w, EPROTO, err.msg[0] ? err.msg : "reading from the writer of files");
    writer_stop(r, w->nspace);
}

/* The writer has ended and its last message has been read. */
static void settle_writer(struct ranks *r, struct writer *w)
{
    FREE_AUTO char *how = NULL;

    if (!w->exited || !w->ended)
        return;
    if (WIFSIGNALED(w->wait_status))
        how = xasprintf("the process that writes them was ended by signal %d",
                        WTERMSIG(w->wait_status));
    if (!w->done || w->wait_status != 0)
        set_failed(w, EINTR, how ? how : "the process that writes them has ended");
    HASH_DEL(r->writers, w);
    if (w->errnum)
        files_forget(r->files, w->nspace);
    core_ranks(r->core, w->nspace, CORE_RANKS_FILES, w->errnum, w->text);
    free_writer(w);
}

void writer_failed(struct ranks *r, const char *name, int errnum, const char *what)
{
    struct writer *w = find_by_name(r, name);

    if (!w)
        return;
    set_failed(w, errnum, what);
    w->exited = w->ended = true;
    settle_writer(r, w);
}

void writer_output(struct ranks *r, const char *name, const void *data, size_t len)
{
    struct writer *w = find_by_name(r, name);

    if (w && len) {
        take_words(r, w, data, len);
    } else if (w) {
        w->ended = true;
        settle_writer(r, w);
    }
}

void writer_exited(struct ranks *r, const char *name, int wait_status)
{
    struct writer *w = find_by_name(r, name);

    if (!w)
        return;
    w->exited = true;
    w->wait_status = wait_status;
    settle_writer(r, w);
}
