/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs without ranks on this daemon that its own ranks connect to or ask about: their map is
 * fetched from the head, registered with the library, and kept until their end. */
#include "dvm/host/daemon_private.h"

#include "base/log/log.h"

#include <pmix_common.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAUNCH_MAX (64u << 20)

struct learner { /* waits until nothing is left to be learnt */
    unsigned left;
    bool known;
    void (*then)(struct daemon *d, bool known, void *arg);
    void *arg;
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

static struct foreign *find(const struct daemon *d, const char *nspace)
{
    struct foreign *f;

    HASH_FIND_STR(d->foreign, nspace, f);
    return f;
}

const struct job_launch *foreign_job(const struct daemon *d, const char *nspace)
{
    const struct job_launch *l = core_job(d->core, nspace);
    const struct foreign *f = l ? NULL : find(d, nspace);

    return f && f->registered ? f->launch : l;
}

static void learner_step(struct daemon *d, struct learner *w, bool known)
{
    w->known &= known;
    if (--w->left > 0)
        return;
    w->then(d, w->known, w->arg);
    free(w);
}

static void tell_learners(struct daemon *d, struct foreign *f, bool known)
{
    size_t n = f->nlearners;
    struct learner **list = f->learners;

    f->nlearners = 0;
    f->learners = NULL;
    for (size_t i = 0; i < n; i++)
        learner_step(d, list[i], known);
    free(list);
}

/* Whoever waits hears it after the record is gone: it may ask again. */
static void forget(struct daemon *d, struct foreign *f)
{
    HASH_DEL(d->foreign, f);
    tell_learners(d, f, false);
    job_launch_unref(f->launch);
    free(f->nspace);
    free(f);
}

void foreign_free_all(struct daemon *d)
{
    struct foreign *f, *tmp;

    HASH_ITER(hh, d->foreign, f, tmp)
    {
        HASH_DEL(d->foreign, f);
        for (size_t i = 0; i < f->nlearners; i++) {
            if (--f->learners[i]->left == 0)
                free(f->learners[i]);
        }
        free(f->learners);
        job_launch_unref(f->launch);
        free(f->nspace);
        free(f);
    }
}

struct later { /* a callback that may come after the job is gone: it carries the name */
    struct daemon *d;
    char *nspace;
};

static void no_matter(int status, void *arg)
{
}

static void on_registered(int status, void *arg)
{
    struct later *w = arg;
    struct daemon *d = w->d;
    struct foreign *f = find(d, w->nspace);

    free(w->nspace);
    free(w);
    if (!f)
        return;
    daemon_enter(d);
    f->registered = status == PMIX_SUCCESS;
    if (f->ended && f->registered)
        pmix_srv_job_gone(d->pmix, f->nspace, no_matter, NULL);
    if (f->ended || !f->registered)
        forget(d, f);
    else
        tell_learners(d, f, true);
    daemon_drain(d);
}

static void on_launch(struct daemon *d, int status, const void *data, size_t len, void *arg)
{
    FREE_AUTO char *nspace = arg;
    struct foreign *f = find(d, nspace);
    struct cur c = cur_of(data, len);
    struct err err = {0};
    struct job_launch launch;
    struct later *w;

    if (!f || f->launch)
        return;
    if (status != PMIX_SUCCESS || job_launch_decode(&c, &launch, &err) < 0) {
        if (status == PMIX_SUCCESS)
            log_error("job %s as the head describes it: %s", nspace, err.msg);
        forget(d, f);
        return;
    }
    f->launch = job_launch_share(&launch);
    w = xmalloc(sizeof *w);
    *w = (struct later){d, xstrdup(nspace)};
    pmix_srv_register(d->pmix, f->launch, getuid(), getgid(), on_registered, w);
}

static void ask_head(struct daemon *d, const char *nspace)
{
    struct buf b BUF_AUTO = {0};

    buf_init(&b, 4096);
    buf_put_u64(&b, 0);
    buf_put_str(&b, nspace);
    dpmix_ask(d, 0, APP_JOB_ASK, &b, on_launch, xstrdup(nspace));
}

static void learn(struct daemon *d, const char *nspace, struct learner *w)
{
    struct foreign *f = find(d, nspace);
    bool asked = f != NULL;

    if (!f) {
        f = xcalloc(1, sizeof *f);
        f->nspace = xstrdup(nspace);
        HASH_ADD_KEYPTR(hh, d->foreign, f->nspace, strlen(f->nspace), f);
    }
    w->left++;
    f->learners = xrealloc(f->learners, (f->nlearners + 1) * sizeof(struct learner *));
    f->learners[f->nlearners++] = w;
    if (!asked)
        ask_head(d, nspace);
}

void foreign_learn(struct daemon *d, const struct pmix_srv_proc *procs, size_t nprocs,
                   void (*then)(struct daemon *d, bool known, void *arg), void *arg)
{
    struct learner *w = xcalloc(1, sizeof *w);

    *w = (struct learner){.left = 1, .known = true, .then = then, .arg = arg};
    for (size_t i = 0; i < nprocs; i++) {
        bool again = i > 0 && strcmp(procs[i].nspace, procs[i - 1].nspace) == 0;

        if (procs[i].rank != PMIX_SRV_RANK_NONE && !again && !foreign_job(d, procs[i].nspace))
            learn(d, procs[i].nspace, w);
    }
    learner_step(d, w, true);
}

/* At the head. Environments and the like are nobody else's business. */
void foreign_asked(struct daemon *d, uint32_t from, struct cur *c)
{
    uint64_t id = cur_u64(c);
    char *nspace FREE_AUTO = cur_str(c, JOB_NSPACE_MAX);
    const struct job_launch *l = cur_done(c) ? core_job_watch(d->core, nspace, from) : NULL;
    struct job_app *apps FREE_AUTO = NULL;
    struct job_launch bare;
    struct buf b BUF_AUTO = {0};
    char *none[] = {NULL};

    if (!l) {
        dpmix_reply(d, from, id, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    bare = *l;
    apps = xcalloc(l->spec.napps, sizeof *apps);
    memcpy(apps, l->spec.apps, l->spec.napps * sizeof *apps);
    for (size_t i = 0; i < l->spec.napps; i++)
        apps[i].env = none;
    bare.spec.apps = apps;
    buf_init(&b, LAUNCH_MAX);
    job_launch_encode(&b, &bare);
    dpmix_reply(d, from, id, PMIX_SUCCESS, b.data, b.len);
}

void foreign_ended(struct daemon *d, const char *nspace)
{
    struct foreign *f = find(d, nspace);

    if (!f)
        return;
    if (!f->registered) {
        f->ended = true;
        return;
    }
    pmix_srv_job_gone(d->pmix, nspace, no_matter, NULL);
    forget(d, f);
}
