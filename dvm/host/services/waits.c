/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports to the head the causes for which jobs with ranks here wait.
 *
 * In: the begin of a job here; the texts of the PMIx server (pmix_srv_look()) and of the core
 * (core_waits()); output that is not read. Out: APP_JOB_WAITS to the head; there the texts of all
 * daemons to the core.
 *
 * While there are jobs here, this daemon looks twice within `told_ms`. Of each job it keeps one
 * wait, the same from look to look as long as it is among those that are found. One that has lasted
 * told_ms is told, then each change of its text, and it is repeated every REPEAT looks, for a head
 * that is new. When it is not found any more, that is told at the next look.
 *
 * The library knows which ranks here have called a collective. So the core's text about the same
 * kind of collective of that job does not count beside the library's. */
#include "dvm/host/services/waits.h"

#include "base/heap/hash.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

#define REPEAT 6
#define WAITS_SINCE 1 /* edition */

struct seen { /* a job that waits */
    char nspace[JOB_NSPACE_MAX + 1];
    char kind;
    uint64_t id;
    char *text;
    unsigned looks; /* that have found it before this one */
    bool found, told, changed;
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

/* First all waits are compared with those of the last look: they stay. */
static void keep_wait(void *arg, const struct core_wait *x)
{
    struct seen *s = find_job(arg, x->nspace);

    if (!s || s->found || s->kind != x->kind || s->id != x->id)
        return;
    s->found = true;
    if (strncmp(s->text, x->text, WAIT_TEXT_MAX) == 0)
        return;
    free(s->text);
    s->text = xasprintf("%.*s", WAIT_TEXT_MAX, x->text);
    s->changed = true;
}

static void take_wait(void *arg, const struct core_wait *x)
{
    struct waits *w = arg;
    struct seen *s = find_job(w, x->nspace);

    if (s || strlen(x->nspace) > JOB_NSPACE_MAX || !core_job(w->core, x->nspace))
        return;
    s = xcalloc(1, sizeof(*s));
    memccpy(s->nspace, x->nspace, 0, JOB_NSPACE_MAX);
    s->kind = x->kind;
    s->id = x->id;
    s->text = xasprintf("%.*s", WAIT_TEXT_MAX, x->text);
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
        if (s->told && (s->changed || (s->looks - 2) % REPEAT == 0))
            tell_head(w, s, s->text);
        s->looks++;
        s->found = s->changed = false;
    }
}

typedef void (*on_wait)(void *arg, const struct core_wait *x);

/* One pass over all waits of a look. */
struct pass {
    struct waits *w;
    const struct pmix_srv_wait *list;
    size_t n;
    on_wait on;
};

static void on_paused(void *arg, const char *nspace)
{
    const struct pass *p = arg;
    struct core_wait x = {
        .kind = 'o', .nspace = nspace, .text = "output: its reader is slower than the job"};

    p->on(p->w, &x);
}

static void on_core_wait(void *arg, const struct core_wait *x)
{
    const struct pass *p = arg;

    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].kind == x->kind && strcmp(p->list[i].nspace, x->nspace) == 0)
            return;
    }
    p->on(p->w, x);
}

/* Returns the number of jobs here. */
static size_t each_wait(struct waits *w, const struct pmix_srv_wait *list, size_t n, on_wait on)
{
    struct pass p = {w, list, n, on};

    for (size_t i = 0; i < n; i++) {
        struct core_wait x = {list[i].kind, list[i].id, list[i].nspace, list[i].text};

        on(w, &x);
    }
    odls_each_paused(w->odls, on_paused, &p);
    return core_waits(w->core, on_core_wait, &p);
}

void waits_seen(struct waits *w, const struct pmix_srv_wait *list, size_t n)
{
    size_t jobs;

    host_enter(w->env);
    (void)each_wait(w, list, n, keep_wait);
    end_missing(w);
    jobs = each_wait(w, list, n, take_wait);
    tell_found(w);
    if (jobs)
        waits_begin(w);
    host_drain(w->env);
}

static void ignore_wait(void *arg, const struct core_wait *x)
{
}

/* The library's thread is not woken if there is no job any more. */
static void on_due(void *arg)
{
    struct waits *w = arg;

    w->armed = false;
    if (core_waits(w->core, ignore_wait, NULL))
        pmix_srv_look(w->pmix);
    else
        waits_seen(w, NULL, 0);
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
