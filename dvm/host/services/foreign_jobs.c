/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs without ranks on this daemon that its own ranks connect to or ask about.
 *
 * In: learn() of other services; the head's answer to APP_JOB_ASK; the library's registration; the
 * end of a job. Out: APP_JOB_ASK to the head; registrations with the PMIx library; learnt() to the
 * services that wait.
 *
 * A job is asked for (it has no launch), then registering, then registered. A service that wants
 * to learn it before that waits. Each waiter is notified once: when the job is registered, or
 * when it is forgotten because the head does not know it or the registration fails. A job that
 * ends is forgotten, after its registration if that is in progress. The head records which
 * daemons have asked for a job and reports its end to them (core_job_watch()), so nothing is
 * kept for longer than the job. */
#include "dvm/host/services/foreign_jobs.h"

#include "base/heap/hash.h"
#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCH_MAX (64u << 20)

struct learner { /* a request that waits for all of its jobs */
    unsigned left;
    bool known;
    host_jobs_learnt learnt;
    void *waiter;
};

struct foreign {
    char *nspace;
    const struct job_launch *launch; /* shared; NULL until the head has answered */
    bool registered;
    bool ended; /* while the library still registers it */
    size_t nlearners;
    struct learner **learners;
    UT_hash_handle hh;
};

struct foreign_jobs {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_ask *ask;
    struct host_jobs known;
    struct foreign *jobs;
};

static struct foreign *find_job(const struct foreign_jobs *s, const char *nspace)
{
    struct foreign *f;

    HASH_FIND_STR(s->jobs, nspace, f);
    return f;
}

static const struct job_launch *find_launch(const char *nspace, void *arg)
{
    const struct foreign_jobs *s = arg;
    const struct job_launch *l = core_job(s->core, nspace);
    const struct foreign *f = l ? NULL : find_job(s, nspace);

    return f && f->registered ? f->launch : l;
}

static void step_learner(struct learner *w, bool known)
{
    w->known &= known;
    if (--w->left > 0)
        return;
    w->learnt(w->known, w->waiter);
    free(w);
}

static void notify_learners(struct foreign *f, bool known)
{
    size_t n = f->nlearners;
    struct learner **list = f->learners;

    f->nlearners = 0;
    f->learners = NULL;
    for (size_t i = 0; i < n; i++)
        step_learner(list[i], known);
    free(list);
}

static void free_job(struct foreign *f)
{
    free(f->learners);
    job_launch_unref(f->launch);
    free(f->nspace);
    free(f);
}

/* The learners are notified after the record is removed from the table, since they may ask
 * again. */
static void forget_job(struct foreign_jobs *s, struct foreign *f)
{
    HASH_DEL(s->jobs, f);
    notify_learners(f, false);
    free_job(f);
}

/* --- the head's answer */

struct later { /* The callback may come after the job is forgotten, so it carries the name. */
    struct foreign_jobs *s;
    char *nspace;
};

static struct later *later_create(struct foreign_jobs *s, const char *nspace)
{
    size_t len = strlen(nspace) + 1;
    struct later *w = xmalloc(sizeof(*w) + len);

    w->s = s;
    w->nspace = memcpy(w + 1, nspace, len); /* one block: free() releases it */
    return w;
}

static void ignore_status(int status, void *arg)
{
}

static void on_registered(int status, void *arg)
{
    FREE_AUTO struct later *w = arg;
    struct foreign_jobs *s = w->s;
    struct foreign *f = find_job(s, w->nspace);

    if (!f)
        return;
    host_enter(s->env);
    f->registered = status == PMIX_SUCCESS;
    if (f->ended && f->registered)
        pmix_srv_job_gone(s->pmix, f->nspace, ignore_status, NULL);
    if (f->ended || !f->registered)
        forget_job(s, f);
    else
        notify_learners(f, true);
    host_drain(s->env);
}

static void on_launch(int status, const void *data, size_t len, void *asker)
{
    FREE_AUTO struct later *w = asker;
    struct foreign_jobs *s = w->s;
    struct foreign *f = find_job(s, w->nspace);
    struct cur c = cur_of(data, len);
    struct err err = {0};
    struct job_launch launch;

    if (!f || f->launch)
        return;
    if (status != PMIX_SUCCESS || job_launch_decode(&c, &launch, &err) < 0) {
        if (status == PMIX_SUCCESS)
            log_error("reading the head's description of job %s: %s", w->nspace, err.msg);
        forget_job(s, f);
        return;
    }
    f->launch = job_launch_share(&launch);
    pmix_srv_register(s->pmix, f->launch, getuid(), getgid(), on_registered,
                      later_create(s, w->nspace));
}

/* --- requests of services */

static void ask_head(struct foreign_jobs *s, char *nspace)
{
    struct app_job_ask m = {.nspace = nspace};
    BUF_AUTO struct buf b = {0};

    app_job_ask_encode(&b, &m);
    host_ask(s->ask, 0, APP_JOB_ASK, &b, on_launch, later_create(s, nspace));
}

static void learn_job(struct foreign_jobs *s, const char *nspace, struct learner *w)
{
    struct foreign *f = find_job(s, nspace);
    bool asked = f != NULL;

    if (!f) {
        f = xcalloc(1, sizeof(*f));
        f->nspace = xstrdup(nspace);
        HASH_ADD_KEYPTR(hh, s->jobs, f->nspace, strlen(f->nspace), f);
    }
    w->left++;
    f->learners = xrealloc(f->learners, (f->nlearners + 1) * sizeof(struct learner *));
    f->learners[f->nlearners++] = w;
    if (!asked)
        ask_head(s, f->nspace);
}

static void learn_jobs(const struct pmix_srv_proc *procs, size_t nprocs, host_jobs_learnt learnt,
                       void *waiter, void *arg)
{
    struct foreign_jobs *s = arg;
    struct learner *w = xcalloc(1, sizeof(*w));

    *w = (struct learner){.left = 1, .known = true, .learnt = learnt, .waiter = waiter};
    for (size_t i = 0; i < nprocs; i++) {
        bool again = i > 0 && strcmp(procs[i].nspace, procs[i - 1].nspace) == 0;

        if (procs[i].rank != PMIX_SRV_RANK_NONE && !again && !find_launch(procs[i].nspace, s))
            learn_job(s, procs[i].nspace, w);
    }
    step_learner(w, true);
}

/* --- at the head */

/* Without the environments, which may hold secrets of the job's owner. */
static void reply_launch(struct foreign_jobs *s, uint32_t to, uint64_t question,
                         const struct job_launch *l)
{
    FREE_AUTO struct job_app *apps = xcalloc(l->spec.napps, sizeof(*apps));
    struct job_launch bare = *l;
    BUF_AUTO struct buf b = {0};
    char *none[] = {NULL};

    memcpy(apps, l->spec.apps, l->spec.napps * sizeof(*apps));
    for (size_t i = 0; i < l->spec.napps; i++)
        apps[i].env = none;
    bare.spec.apps = apps;
    buf_init(&b, LAUNCH_MAX);
    job_launch_encode(&b, &bare);
    host_reply(s->ask, to, question, PMIX_SUCCESS, b.data, b.len);
}

static void on_job_ask(uint32_t from, struct cur *c, void *service)
{
    struct foreign_jobs *s = service;
    struct app_job_ask m;
    bool ok = app_job_ask_decode(c, &m) == 0;
    const struct job_launch *l = ok ? core_job_watch(s->core, m.nspace, from) : NULL;

    if (l)
        reply_launch(s, from, m.question, l);
    else
        host_reply(s->ask, from, m.question, PMIX_ERR_NOT_FOUND, NULL, 0);
    app_job_ask_free(&m);
}

void foreign_jobs_handle(struct foreign_jobs *s, struct app_table *t)
{
    static const struct app_handler handlers[] = {{APP_JOB_ASK, on_job_ask}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), s);
}

/* --- construction and destruction */

void foreign_jobs_ended(struct foreign_jobs *s, const char *nspace)
{
    struct foreign *f = find_job(s, nspace);

    if (!f)
        return;
    if (!f->registered) {
        f->ended = true;
        return;
    }
    pmix_srv_job_gone(s->pmix, nspace, ignore_status, NULL);
    forget_job(s, f);
}

const struct host_jobs *foreign_jobs_known(struct foreign_jobs *s)
{
    return &s->known;
}

struct foreign_jobs *foreign_jobs_create(const struct host_env *env, struct core *core,
                                         struct pmix_srv *pmix, const struct host_ask *ask)
{
    struct foreign_jobs *s = xcalloc(1, sizeof(*s));

    *s = (struct foreign_jobs){.env = env, .core = core, .pmix = pmix, .ask = ask};
    s->known = (struct host_jobs){.find = find_launch, .learn = learn_jobs, .arg = s};
    return s;
}

void foreign_jobs_destroy(struct foreign_jobs *s)
{
    struct foreign *f, *tmp;

    if (!s)
        return;
    HASH_ITER(hh, s->jobs, f, tmp)
    {
        HASH_DEL(s->jobs, f);
        for (size_t i = 0; i < f->nlearners; i++) {
            if (--f->learners[i]->left == 0)
                free(f->learners[i]);
        }
        free_job(f);
    }
    free(s);
}
