/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of jobs that ranks here have spawned: a reader for each job, whose pieces go on as there is
 * room for them. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/files.h"
#include "dvm/host/stager/stager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READER_PREFIX "read:"
#define READER_RANK 0

struct dreader {
    struct daemon *d;
    uint32_t client;
    char name[32]; /* to odls */
    char **sources;
    size_t n;
    struct loop_timer *timer; /* armed when there is something to do */
    struct buf in;
    uint64_t room, sent;
    bool started, failed, done;
    bool exited, ended; /* reaped; its last word has come */
    UT_hash_handle hh;
};

static struct dreader *find(const struct daemon *d, uint32_t client)
{
    struct dreader *r;

    HASH_FIND(hh, d->readers, &client, sizeof client, r);
    return r;
}

static struct dreader *by_odls(const struct daemon *d, const char *odls_nspace)
{
    size_t n = strlen(READER_PREFIX);

    if (strncmp(odls_nspace, READER_PREFIX, n) != 0)
        return NULL;
    return find(d, (uint32_t)strtoul(odls_nspace + n, NULL, 10));
}

static void drop(struct daemon *d, struct dreader *r)
{
    HASH_DEL(d->readers, r);
    loop_timer_destroy(r->timer);
    stager_list_free(r->sources, r->n);
    buf_free(&r->in);
    free(r);
}

void dread_free_all(struct daemon *d)
{
    struct dreader *r, *tmp;

    HASH_ITER(hh, d->readers, r, tmp)
    {
        drop(d, r);
    }
}

void dstage_client_gone(struct daemon *d, uint32_t client)
{
    struct dreader *r = find(d, client);

    if (!r)
        return;
    if (r->started) {
        odls_output_pause(d->odls, r->name, false); /* its end would never be read */
        odls_end(d->odls, r->name, READER_RANK, 0);
    }
    drop(d, r);
}

/* --- names */

/* Where the rank that asks was started: what relative names are relative to. */
static char *base_of(const struct daemon *d, const struct job_spec *spec)
{
    const struct job_launch *l = core_job(d->core, spec->parent_nspace);
    const struct job_app *a =
        l && spec->parent_rank < l->nranks ? &l->spec.apps[l->rank_app[spec->parent_rank]] : NULL;

    if (a && a->cwd[0])
        return xstrdup(a->cwd);
    return l ? djob_own_dir(d, l) : xstrdup(d->opts.session_dir);
}

static int name_program(struct job_spec *own, struct job_app *a, char ***sources, const char *base,
                        struct err *err)
{
    if (!strchr(a->argv[0], '/')) /* a search would be one of our file systems, here and now */
        return err_set(err, "the program '%s' is to be preloaded: name its directory", a->argv[0]);
    return files_add(own, sources, a->argv[0], base, &a->program, err);
}

int dstage_spec(struct daemon *d, const struct job_spec *spec, struct job_spec *own,
                char ***sources, struct err *err)
{
    FREE_AUTO char *base = base_of(d, spec);
    int rc = 0;

    job_spec_copy(own, spec);
    for (size_t i = 0; i < own->nfiles; i++)
        free(own->files[i]);
    own->nfiles = 0;
    for (size_t i = 0; rc == 0 && i < spec->nfiles; i++)
        rc = files_add(own, sources, spec->files[i], base, NULL, err);
    for (size_t i = 0; i < own->napps; i++) {
        struct job_app *a = &own->apps[i];

        if (rc == 0 && a->program)
            rc = name_program(own, a, sources, base, err);
        if (strcmp(a->cwd, SPAWN_OWN_CWD) == 0)
            a->cwd[0] = '\0';
    }
    if (rc < 0)
        stager_list_free(*sources, own->nfiles);
    return rc;
}

/* --- the process */

static void fail(struct dreader *r, const char *why)
{
    if (r->failed)
        return;
    r->failed = true;
    log_warn("a job that was spawned by a rank here is ended: %s", why);
    core_client_signal(r->d->core, r->client, SIGTERM);
}

static int start(struct dreader *r, struct err *err)
{
    FREE_AUTO char *program = stager_path(err);
    FREE_AUTO char *bytes = xasprintf("%zu", stager_piece_data(r->room));
    const char *argv[] = {program, "read", bytes, NULL};
    struct odls_rank rank = {.rank = READER_RANK,
                             .argv = argv,
                             .env = (const char *const *)environ,
                             .cwd = r->d->opts.session_dir,
                             .want_stdin = true};
    struct buf list BUF_AUTO = {0};

    r->started = true;
    if (!program || odls_start(r->d->odls, r->name, &rank, 1, err) < 0)
        return -1;
    buf_init(&list, STAGER_FRAME_MAX);
    stager_list_encode(&list, r->sources, r->n);
    if (odls_stdin(r->d->odls, r->name, READER_RANK, list.data, list.len) == SIZE_MAX)
        return err_set(err, "the names of its files are too long");
    return 0;
}

/* 1: it is passed on, 0: there is no room for it. */
static int pass_on(struct dreader *r, const struct stager_said *said, struct err *err)
{
    if (!said->piece) {
        r->done = said->word.kind == STAGER_DONE;
        if (!r->done)
            err_sys(err, said->word.errnum, "%s", said->word.text);
        free(said->word.text);
        return r->done ? 1 : -1;
    }
    if (r->sent + said->len > r->room)
        return 0;
    r->sent += said->len;
    return stage_piece(r->d->stage, r->client, said->piece, said->len, err) < 0 ? -1 : 1;
}

static void pump(struct dreader *r)
{
    struct stager_said said;
    struct err err = {0};
    int rc = 1;

    if (!r->started)
        rc = start(r, &err) < 0 ? -1 : 1;
    while (rc > 0 && !r->failed && (rc = stager_next(&r->in, &said, &err)) > 0) {
        rc = pass_on(r, &said, &err);
        if (rc > 0)
            buf_consume(&r->in, said.used);
        else if (rc == 0)
            odls_output_pause(r->d->odls, r->name, true);
        if (rc == 0)
            return;
    }
    if (rc < 0)
        fail(r, err.msg);
    else if (r->exited && r->ended && !r->done)
        fail(r, "the process that reads its files has ended");
    else
        odls_output_pause(r->d->odls, r->name, false);
}

static void on_timer(void *arg)
{
    struct dreader *r = arg;
    struct daemon *d = r->d;

    daemon_enter(d);
    pump(r);
    daemon_drain(d);
}

void dstage_source(struct daemon *d, uint32_t client, char **sources, size_t n)
{
    struct dreader *r;

    if (!n)
        return;
    r = xcalloc(1, sizeof *r);
    *r = (struct dreader){.d = d, .client = client, .sources = sources, .n = n};
    snprintf(r->name, sizeof r->name, READER_PREFIX "%u", client);
    r->timer = loop_timer_create(d->loop, on_timer, r);
    buf_init(&r->in, PIECE_MAX + 2 * 65536);
    HASH_ADD(hh, d->readers, client, sizeof r->client, r);
    stage_source(d->stage, client, (uint32_t)n);
}

bool dstage_room(struct daemon *d, uint32_t client, uint64_t total)
{
    struct dreader *r = find(d, client);

    if (!r)
        return false;
    r->room = total;
    loop_timer_arm(r->timer, 0); /* not from within dvm/protocol/stage */
    return true;
}

bool dread_output(struct daemon *d, const char *odls_nspace, const void *data, size_t len)
{
    struct dreader *r = by_odls(d, odls_nspace);

    if (!r)
        return strncmp(odls_nspace, READER_PREFIX, strlen(READER_PREFIX)) == 0;
    r->ended = r->ended || len == 0;
    if (len)
        buf_put_raw(&r->in, data, len);
    if (r->in.failed)
        fail(r, "its reader says too much");
    else
        pump(r);
    return true;
}

bool dread_exited(struct daemon *d, const char *odls_nspace)
{
    struct dreader *r = by_odls(d, odls_nspace);

    if (r) {
        r->exited = true;
        loop_timer_arm(r->timer, 0);
    }
    return strncmp(odls_nspace, READER_PREFIX, strlen(READER_PREFIX)) == 0;
}

bool dread_failed(struct daemon *d, const char *odls_nspace, const char *what)
{
    struct dreader *r = by_odls(d, odls_nspace);

    if (r)
        fail(r, what);
    return strncmp(odls_nspace, READER_PREFIX, strlen(READER_PREFIX)) == 0;
}
