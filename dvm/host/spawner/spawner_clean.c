/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths to be removed, kept in scopes.
 *
 * In: paths for a scope (CLEAN_ADD) and its run (CLEAN_RUN), or the end of the daemon, which runs
 * all. Out: CLEANED with 0 or an errno, once for each run.
 *
 * A scope is kept, waits for its turn, runs and is done. A forked child removes its paths, so that
 * ranks are started and reaped meanwhile; SPAWNER_CLEANERS_MAX children work at a time. Small
 * scopes are removed on the spot.
 *
 * Paths that applications have named are also in a file (clean_journal.h), for the case that this
 * process is killed. It is made anew when most of its records are out of date.
 *
 * A child has SPAWNER_CLEAN_MS; then it is killed, and the rest stays. If fork fails, the scope is
 * tried again after the next child. Files go before directories (remove.h holds the rules). */
#include "base/log/log.h"
#include "dvm/host/spawner/clean_journal.h"
#include "dvm/host/spawner/remove.h"
#include "dvm/host/spawner/spawn_sock.h"
#include "dvm/host/spawner/spawner_private.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utlist.h>

/* This many entries of a directory are removed without a child, since a fork costs more. */
#define INLINE_ENTRIES 64
/* The file of paths is made anew when it has more records than this, and 4 for each path. */
#define RECORDS_MAX 1024

enum scope_state { SCOPE_KEPT, SCOPE_WAITS, SCOPE_RUNS, SCOPE_DONE };

struct clean_path {
    struct clean_path *prev, *next;
    unsigned flags;
    char path[];
};

struct spawner_scope {
    uint64_t id;
    struct clean_path *paths;
    enum scope_state state;
    pid_t pid; /* SCOPE_RUNS */
    uint64_t due_ms;
    int32_t status; /* SCOPE_DONE: errno, not yet reported */
    UT_hash_handle hh;
};

static struct spawner_scope *find_scope(struct spawner *sp, uint64_t id)
{
    struct spawner_scope *s = NULL;

    HASH_FIND(hh, sp->scopes, &id, sizeof(id), s);
    return s;
}

static struct clean_path *find_path(struct spawner_scope *s, const char *path, unsigned flags)
{
    struct clean_path *c;
    unsigned kind = REMOVE_DIR | REMOVE_IGNORE;

    DL_FOREACH(s->paths, c)
    {
        if ((c->flags & kind) == (flags & kind) && strcmp(c->path, path) == 0)
            break;
    }
    return c;
}

/* Absolute, not the root, without "..". */
static bool is_sane(const char *path)
{
    size_t names = 0;

    if (path[0] != '/')
        return false;
    while (*path) {
        size_t len;

        path += strspn(path, "/");
        len = strcspn(path, "/");
        if (len == 2 && path[0] == '.' && path[1] == '.')
            return false;
        names += len > 0;
        path += len;
    }
    return names > 0;
}

static bool is_journaled(const struct clean_path *c)
{
    return !(c->flags & REMOVE_OURS);
}

/* False: no new file could be made. */
static bool renew_journal(struct spawner *sp)
{
    const struct spawner_scope *s;
    const struct clean_path *c;

    clean_journal_renew(sp->journal);
    for (s = sp->scopes; s; s = s->hh.next) {
        DL_FOREACH(s->paths, c)
        {
            if (is_journaled(c))
                clean_journal_path(sp->journal, s->id, c->flags, c->path);
        }
    }
    return clean_journal_renewed(sp->journal);
}

static void journal_path(struct spawner *sp, uint64_t scope, const struct clean_path *c)
{
    size_t records = clean_journal_records(sp->journal);

    if (!is_journaled(c))
        return;
    if (records <= RECORDS_MAX || records / 4 <= sp->njournal || !renew_journal(sp))
        clean_journal_path(sp->journal, scope, c->flags, c->path);
}

void spawner_clean_add(struct spawner *sp, uint64_t scope, unsigned flags, const char *path)
{
    struct spawner_scope *s = find_scope(sp, scope);
    struct clean_path *c = s ? find_path(s, path, flags) : NULL;

    if (c) {
        c->flags = flags;
        journal_path(sp, scope, c);
        return;
    }
    if (!is_sane(path) || sp->nclean >= SPAWNER_CLEAN_MAX || (s && s->state != SCOPE_KEPT)) {
        log_warn("a path cannot be kept for cleanup path=%s kept=%zu", path, sp->nclean);
        return;
    }
    if (!s) {
        s = xcalloc(1, sizeof(*s));
        s->id = scope;
        HASH_ADD(hh, sp->scopes, id, sizeof(s->id), s);
    }
    c = xmalloc(sizeof(*c) + strlen(path) + 1);
    c->flags = flags;
    memcpy(c->path, path, strlen(path) + 1);
    DL_APPEND(s->paths, c);
    sp->nclean++;
    sp->njournal += is_journaled(c);
    journal_path(sp, scope, c);
}

/* Files first, then directories. False: there are more entries than the budget allows. */
static bool clean_scope(const struct spawner *sp, const struct spawner_scope *s, size_t budget)
{
    struct remove_rules rules = {.budget = budget, .until = sp->until};
    FREE_AUTO const char **ignores = NULL;
    const struct clean_path *c;
    bool done = true;
    int n;

    DL_COUNT(s->paths, c, n);
    ignores = xcalloc((size_t)n, sizeof(*ignores));
    DL_FOREACH(s->paths, c)
    {
        if (c->flags & REMOVE_IGNORE)
            ignores[rules.nignores++] = c->path;
    }
    rules.ignores = ignores;
    for (int dirs = 0; dirs <= 1; dirs++) {
        DL_FOREACH(s->paths, c)
        {
            if (!(c->flags & REMOVE_IGNORE) && !(c->flags & REMOVE_DIR) == !dirs)
                done &= remove_path(c->path, c->flags, &rules);
        }
    }
    return done;
}

static bool is_ours(const struct spawner_scope *s)
{
    const struct clean_path *c;

    DL_FOREACH(s->paths, c)
    {
        if (!(c->flags & REMOVE_OURS))
            return false;
    }
    return true;
}

static void scope_free(struct spawner *sp, struct spawner_scope *s)
{
    size_t journaled = sp->njournal;
    struct clean_path *c;
    struct clean_path *next;

    DL_FOREACH_SAFE(s->paths, c, next)
    {
        sp->njournal -= is_journaled(c);
        free(c);
        sp->nclean--;
    }
    if (journaled && !sp->njournal)
        clean_journal_clear(sp->journal);
    else if (journaled != sp->njournal)
        clean_journal_done(sp->journal, s->id);
    if (s->state == SCOPE_RUNS)
        sp->ncleaners--;
    if (s->state != SCOPE_KEPT)
        sp->nclean_active--;
    HASH_DELETE(hh, sp->scopes, s);
    free(s);
}

static void finish_scope(struct spawner *sp, struct spawner_scope *s, int status)
{
    if (s->state == SCOPE_RUNS)
        sp->ncleaners--;
    s->state = SCOPE_DONE;
    s->status = status;
}

static void run_cleaner(const struct spawner *sp, const struct spawner_scope *s, pid_t spawner)
    __attribute__((noreturn));

static void run_cleaner(const struct spawner *sp, const struct spawner_scope *s, pid_t spawner)
{
    sigset_t none;

    prctl(PR_SET_NAME, "dvm-cleaner");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == spawner)
        clean_scope(sp, s, 0);
    _exit(EXIT_SUCCESS);
}

static void start_cleaner(struct spawner *sp, struct spawner_scope *s, uint64_t now_ms)
{
    pid_t self = getpid();

    if (is_ours(s) && clean_scope(sp, s, INLINE_ENTRIES)) {
        finish_scope(sp, s, 0);
        return;
    }
    if (sp->ncleaners >= SPAWNER_CLEANERS_MAX)
        return;
    s->pid = fork();
    if (s->pid == 0)
        run_cleaner(sp, s, self);
    if (s->pid < 0) {
        log_warn("no process for a cleanup can be created, the cleanup waits errno=%d", errno);
        return;
    }
    s->state = SCOPE_RUNS;
    s->due_ms = now_ms + SPAWNER_CLEAN_MS;
    sp->ncleaners++;
}

void spawner_clean_run(struct spawner *sp, uint64_t scope)
{
    struct spawner_scope *s = find_scope(sp, scope);

    if (!s) { /* no path was kept; the run is answered nevertheless */
        s = xcalloc(1, sizeof(*s));
        s->id = scope;
        HASH_ADD(hh, sp->scopes, id, sizeof(s->id), s);
    }
    if (s->state != SCOPE_KEPT)
        return;
    s->state = SCOPE_WAITS;
    sp->nclean_active++;
    start_cleaner(sp, s, spawner_now_ms());
}

bool spawner_clean_reaped(struct spawner *sp, pid_t pid, int status)
{
    struct spawner_scope *s;
    struct spawner_scope *next;

    if (!sp->ncleaners)
        return false;
    HASH_ITER(hh, sp->scopes, s, next)
    {
        if (s->state != SCOPE_RUNS || s->pid != pid)
            continue;
        if (status == 0 || s->due_ms == 0) {
            finish_scope(sp, s, status ? ETIMEDOUT : 0);
        } else { /* the child was killed: the end of the daemon starts all cleanups again */
            sp->ncleaners--;
            s->state = SCOPE_WAITS;
        }
        return true;
    }
    return false;
}

void spawner_clean_turn(struct spawner *sp, uint64_t now_ms)
{
    struct spawner_scope *s;
    struct spawner_scope *next;

    if (!sp->nclean_active || sp->phase != SPAWNER_SERVING)
        return;
    HASH_ITER(hh, sp->scopes, s, next)
    {
        if (s->state == SCOPE_WAITS)
            start_cleaner(sp, s, now_ms);
        if (s->state != SCOPE_RUNS || !s->due_ms || now_ms < s->due_ms)
            continue;
        log_warn("a cleanup takes too long, the rest stays first=%s",
                 s->paths ? s->paths->path : "");
        s->due_ms = 0;
        kill(s->pid, SIGKILL);
    }
}

int spawner_clean_wait(const struct spawner *sp, uint64_t now_ms)
{
    int wait_ms = -1;

    if (!sp->nclean_active || sp->phase != SPAWNER_SERVING)
        return -1;
    for (const struct spawner_scope *s = sp->scopes; s; s = s->hh.next) {
        int ms = s->due_ms > now_ms ? (int)(s->due_ms - now_ms) : 0;

        /* A scope that waits goes on when a child has ended. If none runs, fork has failed. */
        if (s->state == SCOPE_WAITS && !sp->ncleaners)
            ms = SPAWNER_RETRY_MS;
        else if (s->state != SCOPE_RUNS || !s->due_ms)
            continue;
        if (wait_ms < 0 || ms < wait_ms)
            wait_ms = ms;
    }
    return wait_ms;
}

static bool report_scope(const struct spawner *sp, const struct spawner_scope *s)
{
    struct spawn_rep rep = {.kind = SPAWN_REP_CLEANED, .id = s->id, .value = s->status};
    BUF_AUTO struct buf b;

    buf_init(&b, SPAWN_MSG_MAX);
    spawn_msg_rep_encode(&b, &rep);
    return spawn_sock_send(sp->sock, &b, NULL, 0, NULL) == SPAWN_SOCK_OK;
}

bool spawner_clean_report(struct spawner *sp)
{
    struct spawner_scope *s;
    struct spawner_scope *next;

    if (!sp->nclean_active)
        return true;
    HASH_ITER(hh, sp->scopes, s, next)
    {
        if (s->state != SCOPE_DONE)
            continue;
        if (!report_scope(sp, s))
            return false;
        scope_free(sp, s);
    }
    return true;
}

void spawner_clean_forget(struct spawner *sp, uint64_t scope)
{
    struct spawner_scope *s = find_scope(sp, scope);

    if (s)
        scope_free(sp, s);
}

void spawner_clean_all(struct spawner *sp)
{
    struct spawner_scope *s;
    struct spawner_scope *next;

    HASH_ITER(hh, sp->scopes, s, next)
    {
        if (s->state != SCOPE_DONE)
            clean_scope(sp, s, 0);
        scope_free(sp, s);
    }
}
