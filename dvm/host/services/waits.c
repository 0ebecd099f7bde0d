/* SPDX-License-Identifier: BSD-3-Clause */
/* What jobs with ranks here wait for.
 *
 * In: the begin of a job here; the texts of the PMIx server (pmix_srv_look()) and of the core
 * (core_waits()); output that is not read. Out: APP_JOB_WAITS to the head; there the texts of all
 * daemons to the core.
 *
 * While there are jobs here, this daemon looks twice within `told_ms`. Of each job it keeps one
 * text, the same from look to look as long as it is among those that are found. A text that has
 * stayed for told_ms is told, and repeated every REPEAT looks, for a head that is new. When it is
 * not found any more, that is told at once. A text names ranks: when some of them come, it is
 * another one.
 *
 * Order: requests of ranks first, since they explain why others wait for these ranks. */
#include "dvm/host/services/waits.h"

#include "base/heap/hash.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

#define REPEAT 6
#define WAITS_SINCE 1 /* edition */

struct seen { /* a job that waits */
    char nspace[JOB_NSPACE_MAX + 1];
    char *text;
    unsigned looks; /* that have found it before this one */
    bool found, told;
    UT_hash_handle hh;
};

struct waits {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct odls *odls;
    uint64_t look_ms;
    struct loop_timer *timer;
    bool armed;
    struct seen *list;
};

static void forget_job(struct waits *w, struct seen *s)
{
    HASH_DEL(w->list, s);
    free(s->text);
    free(s);
}

static void tell_head(struct waits *w, const struct seen *s, char *text)
{
    struct app_job_waits m = {.nspace = (char *)s->nspace, .text = text};
    BUF_AUTO struct buf b = {0};

    if (!core_head_speaks(w->core, WAITS_SINCE))
        return;
    app_job_waits_encode(&b, &m);
    (void)host_send(w->env, VPID_HEAD, CLASS_LAUNCH, APP_JOB_WAITS, &b);
}

/* --- the texts of one look */

static struct seen *find_job(const struct waits *w, const char *nspace)
{
    struct seen *s;

    HASH_FIND_STR(w->list, nspace, s);
    return s;
}

/* First all texts are compared with those of the last look: they stay. */
static void keep_text(void *arg, const char *nspace, const char *text)
{
    struct seen *s = find_job(arg, nspace);

    if (s && strncmp(s->text, text, WAIT_TEXT_MAX) == 0)
        s->found = true;
}

static void take_text(void *arg, const char *nspace, const char *text)
{
    struct waits *w = arg;
    struct seen *s = find_job(w, nspace);

    if (s || strlen(nspace) > JOB_NSPACE_MAX || !core_job(w->core, nspace))
        return;
    s = xcalloc(1, sizeof(*s));
    memccpy(s->nspace, nspace, 0, JOB_NSPACE_MAX);
    s->text = xasprintf("%.*s", WAIT_TEXT_MAX, text);
    s->found = true;
    HASH_ADD_STR(w->list, nspace, s);
}

static void end_missing(struct waits *w)
{
    static char nothing[] = "";
    struct seen *s, *tmp;

    HASH_ITER(hh, w->list, s, tmp)
    {
        if (s->found)
            continue;
        if (s->told)
            tell_head(w, s, nothing);
        forget_job(w, s);
    }
}

static void tell_found(struct waits *w)
{
    struct seen *s, *tmp;

    HASH_ITER(hh, w->list, s, tmp)
    {
        s->told = s->looks >= 2;
        if (s->told && (s->looks - 2) % REPEAT == 0)
            tell_head(w, s, s->text);
        s->looks++;
        s->found = false;
    }
}

typedef void (*on_text)(void *arg, const char *nspace, const char *text);

struct unread {
    struct waits *w;
    on_text on;
};

static void on_paused(void *arg, const char *nspace)
{
    const struct unread *u = arg;

    u->on(u->w, nspace, "output: its reader is slower than the job");
}

/* Returns the number of jobs here. */
static size_t each_text(struct waits *w, const struct pmix_srv_wait *list, size_t n, on_text on)
{
    struct unread u = {w, on};

    for (size_t i = 0; i < n; i++)
        on(w, list[i].nspace, list[i].text);
    odls_each_paused(w->odls, on_paused, &u);
    return core_waits(w->core, on, w);
}

void waits_seen(struct waits *w, const struct pmix_srv_wait *list, size_t n)
{
    size_t jobs;

    host_enter(w->env);
    (void)each_text(w, list, n, keep_text);
    end_missing(w);
    jobs = each_text(w, list, n, take_text);
    tell_found(w);
    if (jobs)
        waits_begin(w);
    host_drain(w->env);
}

static void on_due(void *arg)
{
    struct waits *w = arg;

    w->armed = false;
    pmix_srv_look(w->pmix);
}

void waits_begin(struct waits *w)
{
    if (w->armed)
        return;
    w->armed = true;
    loop_timer_arm(w->timer, w->look_ms);
}

/* --- the head */

static void on_job_waits(uint32_t from, struct cur *c, void *service)
{
    struct waits *w = service;
    struct app_job_waits m;

    if (app_job_waits_decode(c, &m) == 0)
        core_job_waits(w->core, from, m.nspace, m.text);
    app_job_waits_free(&m);
}

void waits_handle(struct waits *w, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_JOB_WAITS, on_job_waits}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), w);
}

/* --- construction and destruction */

struct waits *waits_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                           const struct odls *odls, uint64_t told_ms)
{
    struct waits *w = xcalloc(1, sizeof(*w));

    *w = (struct waits){.env = env, .core = core, .pmix = pmix, .odls = odls};
    w->look_ms = (told_ms ? told_ms : WAITS_TOLD_MS) / 2 + 1;
    w->timer = loop_timer_create(env->loop, on_due, w);
    return w;
}

void waits_destroy(struct waits *w)
{
    if (!w)
        return;
    while (w->list)
        forget_job(w, w->list);
    loop_timer_destroy(w->timer);
    free(w);
}
