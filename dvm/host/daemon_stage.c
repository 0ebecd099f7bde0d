/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of jobs on this daemon: their writers, which the spawner runs like ranks, and what becomes
 * of them. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/stager/stager.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITER_PREFIX "files:" /* of a writer's name among the namespaces of odls */
#define WRITER_RANK 0

struct dwriter {
    char *nspace; /* of the job */
    struct buf in;
    bool done;
    int errnum; /* why not */
    char *text;
    bool exited, ended; /* reaped; its last word has come */
    int wait_status;
    UT_hash_handle hh;
};

static struct dwriter *find(const struct daemon *d, const char *nspace)
{
    struct dwriter *w;

    HASH_FIND_STR(d->writers, nspace, w);
    return w;
}

static char *odls_name(const char *nspace)
{
    return xasprintf(WRITER_PREFIX "%s", nspace);
}

bool dstage_is(const char *odls_nspace)
{
    return strchr(odls_nspace, ':') != NULL;
}

static struct dwriter *by_odls(const struct daemon *d, const char *odls_nspace)
{
    size_t n = strlen(WRITER_PREFIX);

    return strncmp(odls_nspace, WRITER_PREFIX, n) == 0 ? find(d, odls_nspace + n) : NULL;
}

static void writer_free(struct dwriter *w)
{
    buf_free(&w->in);
    free(w->text);
    free(w->nspace);
    free(w);
}

void dstage_free_all(struct daemon *d)
{
    struct dwriter *w, *tmp;

    dread_free_all(d);
    HASH_ITER(hh, d->writers, w, tmp)
    {
        HASH_DEL(d->writers, w);
        writer_free(w);
    }
}

static void set_failed(struct dwriter *w, int errnum, const char *text)
{
    if (w->text)
        return;
    w->errnum = errnum ? errnum : EIO;
    w->text = xstrdup(text);
}

/* To the writer, whose end tells why if that cannot be. */
static void feed(struct daemon *d, struct dwriter *w, const struct buf *b)
{
    FREE_AUTO char *name = odls_name(w->nspace);

    if (!b->failed && odls_stdin(d->odls, name, WRITER_RANK, b->data, b->len) != SIZE_MAX)
        return;
    set_failed(w, ENOBUFS, "taking in more than there is room for");
    dstage_stop(d, w->nspace);
}

static void send_list(struct daemon *d, struct dwriter *w, const struct job_launch *l)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, STAGER_FRAME_MAX);
    stager_list_encode(&b, l->spec.files, l->spec.nfiles);
    feed(d, w, &b);
}

int dstage_start(struct daemon *d, const struct job_launch *l, struct err *err)
{
    FREE_AUTO char *name = odls_name(l->nspace);
    FREE_AUTO char *dir = xasprintf("%s/%s", d->opts.session_dir, l->nspace);
    FREE_AUTO char *program = stager_path(err);
    const char *argv[] = {program, "write", dir, NULL};
    struct odls_rank rank = {.rank = WRITER_RANK,
                             .argv = argv,
                             .env = (const char *const *)environ,
                             .cwd = d->opts.session_dir,
                             .want_stdin = true};
    struct dwriter *w;

    if (!program || pmix_srv_make_dir(d->pmix, l->nspace, err) < 0 ||
        odls_start(d->odls, name, &rank, 1, err) < 0)
        return -1;
    w = xcalloc(1, sizeof *w);
    w->nspace = xstrdup(l->nspace);
    buf_init(&w->in, PIECE_MAX + 2 * 65536);
    HASH_ADD_KEYPTR(hh, d->writers, w->nspace, strlen(w->nspace), w);
    send_list(d, w, l);
    stage_expect(d->stage, l);
    return 0;
}

void dstage_stop(struct daemon *d, const char *nspace)
{
    FREE_AUTO char *name = odls_name(nspace);

    odls_end(d->odls, name, WRITER_RANK, 0);
}

/* --- for dvm/protocol/stage */

static void on_room(uint32_t client, uint64_t total, void *arg)
{
    if (!dstage_room(arg, client, total))
        dclient_files_room(arg, client, total);
}

static void on_write(const char *nspace, const void *piece, size_t len, void *arg)
{
    struct daemon *d = arg;
    struct dwriter *w = find(d, nspace);
    struct buf b BUF_AUTO = {0};

    if (!w)
        return;
    buf_init(&b, PIECE_MAX + 4);
    stager_piece_encode(&b, piece, len);
    feed(d, w, &b);
}

const struct stage_io dstage_io = {.room = on_room, .write = on_write};

/* --- the writer's life */

static void hear(struct daemon *d, struct dwriter *w, const struct stager_word *word)
{
    if (word->kind == STAGER_TAKEN)
        stage_written(d->stage, w->nspace, word->taken);
    else if (word->kind == STAGER_DONE)
        w->done = true;
    else if (word->kind == STAGER_FAILED)
        set_failed(w, word->errnum, word->text);
}

static void words(struct daemon *d, struct dwriter *w, const void *data, size_t len)
{
    struct stager_said said;
    struct err err = {0};
    int rc;

    buf_put_raw(&w->in, data, len);
    while ((rc = stager_next(&w->in, &said, &err)) > 0) {
        buf_consume(&w->in, said.used);
        hear(d, w, &said.word);
        free(said.word.text);
    }
    if (rc == 0 && !w->in.failed)
        return;
    set_failed(w, EPROTO, err.msg[0] ? err.msg : "reading from the writer of files");
    dstage_stop(d, w->nspace);
}

/* It is gone, and has said all. */
static void settle(struct daemon *d, struct dwriter *w)
{
    FREE_AUTO char *how = NULL;

    if (!w->exited || !w->ended)
        return;
    if (WIFSIGNALED(w->wait_status))
        how = xasprintf("the process that writes them was ended by signal %d",
                        WTERMSIG(w->wait_status));
    if (!w->done || w->wait_status != 0)
        set_failed(w, EINTR, how ? how : "the process that writes them has ended");
    HASH_DEL(d->writers, w);
    djob_files(d, w->nspace, w->errnum, w->text);
    writer_free(w);
}

void dstage_failed(struct daemon *d, const char *odls_nspace, int errnum, const char *what)
{
    struct dwriter *w = by_odls(d, odls_nspace);

    if (dread_failed(d, odls_nspace, what) || !w)
        return;
    set_failed(w, errnum, what);
    w->exited = w->ended = true;
    settle(d, w);
}

void dstage_output(struct daemon *d, const char *odls_nspace, int stream, const void *data,
                   size_t len)
{
    struct dwriter *w = by_odls(d, odls_nspace);

    if (stream == ODLS_STDERR) {
        if (len)
            log_warn("%s: %.*s", odls_nspace, (int)len, (const char *)data);
    } else if (dread_output(d, odls_nspace, data, len) || !w) {
        return;
    } else if (len) {
        words(d, w, data, len);
    } else {
        w->ended = true;
        settle(d, w);
    }
}

void dstage_exited(struct daemon *d, const char *odls_nspace, int wait_status)
{
    struct dwriter *w = by_odls(d, odls_nspace);

    if (dread_exited(d, odls_nspace) || !w)
        return;
    w->exited = true;
    w->wait_status = wait_status;
    settle(d, w);
}
