/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads files of jobs that ranks here have spawned: one reader process for each job.
 *
 * In: the file names of a spawn request, the room that the receivers have, and the reader's
 * output. Out: pieces for the job's daemons. The reader is run by the spawner like a rank, with
 * dvm-stage as its program.
 *
 * Invariants: relative names refer to the directory in which the spawning rank was started. A
 * piece is passed on only while there is room for it; without room the reader's output is paused,
 * so the daemon keeps one piece at most. A reader belongs to one client, and ends with it.
 *
 * Failures: a reader that cannot be started, that ends with an error, or whose files have changed
 * ends its job, with the reason in the daemon's log. */
#include "dvm/host/ranks/ranks_private.h"

#include "base/log/log.h"
#include "dvm/host/jobspec/files.h"
#include "dvm/host/stager/stager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READER_RANK 0

struct reader {
    struct ranks *ranks;
    uint32_t client;
    char name[32]; /* id of its process in odls */
    char **sources;
    size_t n;
    struct loop_timer *timer; /* armed while there is work to do */
    struct buf in;
    uint64_t room, sent;
    bool started, failed, done;
    bool exited, ended; /* reaped; its last message has come */
    UT_hash_handle hh;
};

static struct reader *find_reader(const struct ranks *r, uint32_t client)
{
    struct reader *x;

    HASH_FIND(hh, r->readers, &client, sizeof(client), x);
    return x;
}

static struct reader *find_by_name(const struct ranks *r, const char *name)
{
    return find_reader(r, (uint32_t)strtoul(name + strlen(READER_PREFIX), NULL, 10));
}

static void drop_reader(struct ranks *r, struct reader *x)
{
    HASH_DEL(r->readers, x);
    loop_timer_destroy(x->timer);
    stager_list_free(x->sources, x->n);
    buf_free(&x->in);
    free(x);
}

void reader_free_all(struct ranks *r)
{
    struct reader *x, *tmp;

    HASH_ITER(hh, r->readers, x, tmp)
    {
        drop_reader(r, x);
    }
}

void ranks_client_gone(struct ranks *r, uint32_t client)
{
    struct reader *x = find_reader(r, client);

    if (!x)
        return;
    if (x->started) {
        odls_output_pause(r->odls, x->name, false); /* a paused end is not read */
        odls_end(r->odls, x->name, READER_RANK, 0);
    }
    drop_reader(r, x);
}

/* --- names */

/* Working directory in which the spawning rank was started: relative names refer to it. */
static char *make_base(const struct ranks *r, const struct job_spec *spec)
{
    const struct job_launch *l = core_job(r->core, spec->parent_nspace);
    const struct job_app *a =
        l && spec->parent_rank < l->nranks ? &l->spec.apps[l->rank_app[spec->parent_rank]] : NULL;

    if (a && a->cwd[0])
        return xstrdup(a->cwd);
    return l ? ranks_own_dir(r, l) : xstrdup(r->env->session_dir);
}

static int name_program(struct job_spec *own, struct job_app *a, char ***sources, const char *base,
                        struct err *err)
{
    if (!strchr(a->argv[0], '/')) /* PATH would be searched here */
        return err_set(err, "the program '%s' is to be preloaded: name its directory", a->argv[0]);
    return files_add(own, sources, a->argv[0], base, &a->program, err);
}

int ranks_spawn_files(struct ranks *r, const struct job_spec *spec, struct job_spec *own,
                      char ***sources, struct err *err)
{
    FREE_AUTO char *base = make_base(r, spec);
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

static void fail_job(struct reader *x, const char *why)
{
    if (x->failed)
        return;
    x->failed = true;
    log_warn("a job that was spawned by a rank here is ended: %s", why);
    core_client_signal(x->ranks->core, x->client, SIGTERM);
}

static int start_reader(struct reader *x, struct err *err)
{
    FREE_AUTO char *program = stager_path(err);
    FREE_AUTO char *bytes = xasprintf("%zu", stager_piece_data(x->room));
    const char *argv[] = {program, "read", bytes, NULL};
    struct odls_rank rank = {.rank = READER_RANK,
                             .argv = argv,
                             .env = (const char *const *)environ,
                             .cwd = x->ranks->env->session_dir,
                             .want_stdin = true};
    BUF_AUTO struct buf list = {0};

    x->started = true;
    if (!program || odls_start(x->ranks->odls, x->name, &rank, 1, err) < 0)
        return -1;
    buf_init(&list, STAGER_FRAME_MAX);
    stager_list_encode(&list, x->sources, x->n);
    if (odls_stdin(x->ranks->odls, x->name, READER_RANK, list.data, list.len) == SIZE_MAX)
        return err_set(err, "the names of its files are too long");
    return 0;
}

/* 1: the piece was passed on, 0: there is no room for it. */
static int pass_piece(struct reader *x, const struct stager_said *said, struct err *err)
{
    if (!said->piece) {
        x->done = said->word.kind == STAGER_DONE;
        if (!x->done)
            err_sys(err, said->word.errnum, "%s", said->word.text);
        free(said->word.text);
        return x->done ? 1 : -1;
    }
    if (x->sent + said->len > x->room)
        return 0;
    x->sent += said->len;
    return files_piece(x->ranks->files, x->client, said->piece, said->len, err) < 0 ? -1 : 1;
}

static void pump_pieces(struct reader *x)
{
    struct stager_said said;
    struct err err = {0};
    int rc = 1;

    if (!x->started)
        rc = start_reader(x, &err) < 0 ? -1 : 1;
    while (rc > 0 && !x->failed && (rc = stager_next(&x->in, &said, &err)) > 0) {
        rc = pass_piece(x, &said, &err);
        if (rc > 0)
            buf_consume(&x->in, said.used);
        else if (rc == 0)
            odls_output_pause(x->ranks->odls, x->name, true);
        if (rc == 0)
            return;
    }
    if (rc < 0)
        fail_job(x, err.msg);
    else if (x->exited && x->ended && !x->done)
        fail_job(x, "the process that reads its files has ended");
    else
        odls_output_pause(x->ranks->odls, x->name, false);
}

static void on_timer(void *arg)
{
    struct reader *x = arg;
    const struct host_env *env = x->ranks->env;

    host_enter(env);
    pump_pieces(x);
    host_drain(env);
}

void ranks_read_files(struct ranks *r, uint32_t client, char **sources, size_t n)
{
    struct reader *x;

    if (!n)
        return;
    x = xcalloc(1, sizeof(*x));
    *x = (struct reader){.ranks = r, .client = client, .sources = sources, .n = n};
    snprintf(x->name, sizeof(x->name), READER_PREFIX "%u", client);
    x->timer = loop_timer_create(r->env->loop, on_timer, x);
    buf_init(&x->in, PIECE_MAX + 2 * 65536);
    HASH_ADD(hh, r->readers, client, sizeof(x->client), x);
    files_source(r->files, client, (uint32_t)n);
}

bool reader_room(struct ranks *r, uint32_t client, uint64_t total)
{
    struct reader *x = find_reader(r, client);

    if (!x)
        return false;
    x->room = total;
    loop_timer_arm(x->timer, 0); /* must not be called from within dvm/protocol/files */
    return true;
}

void reader_output(struct ranks *r, const char *name, const void *data, size_t len)
{
    struct reader *x = find_by_name(r, name);

    if (!x)
        return;
    x->ended = x->ended || len == 0;
    if (len)
        buf_put_raw(&x->in, data, len);
    if (x->in.failed)
        fail_job(x, "its reader has sent more than was requested");
    else
        pump_pieces(x);
}

void reader_exited(struct ranks *r, const char *name)
{
    struct reader *x = find_by_name(r, name);

    if (!x)
        return;
    x->exited = true;
    loop_timer_arm(x->timer, 0);
}

void reader_failed(struct ranks *r, const char *name, const char *what)
{
    struct reader *x = find_by_name(r, name);

    if (x)
        fail_job(x, what);
}
