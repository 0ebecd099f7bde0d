/* SPDX-License-Identifier: BSD-3-Clause */
/* The launch fence: the sum of named shares.
 *
 * In: a share for each batch of joiners and each campaign that changes members, with the number of
 * these members; the end of that change. Out: held jobs are released when the last share is taken
 * back.
 *
 * The fence is up while its sum is not 0. A share is taken back only by its owner: the loss of a
 * member changes no share.
 *
 * A stream of campaigns and joiners could hold jobs for ever. So after a job has been held for
 * JOB_HELD_MAX_MS, new shares are deferred until that job has continued. */
#include "dvm/protocol/head/resize/fence.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct fence_share {
    char *name;
    uint32_t count;
    struct fence_share *next, *prev;
};

struct fence {
    struct jobs *jobs;
    struct fence_share *shares;
    uint32_t sum;
};

struct fence *fence_create(struct jobs *jobs)
{
    struct fence *f = xcalloc(1, sizeof(*f));

    f->jobs = jobs;
    return f;
}

static void drop_share(struct fence *f, struct fence_share *s)
{
    DL_DELETE(f->shares, s);
    free(s->name);
    free(s);
}

void fence_destroy(struct fence *f)
{
    if (!f)
        return;
    while (f->shares)
        drop_share(f, f->shares);
    free(f);
}

void fence_raise(struct fence *f, const char *name, uint32_t count)
{
    struct fence_share *s = xcalloc(1, sizeof(*s));

    s->name = xstrdup(name);
    s->count = count;
    DL_APPEND(f->shares, s);
    f->sum += count;
}

void fence_lower(struct fence *f, const char *name)
{
    struct fence_share *s;

    DL_FOREACH(f->shares, s)
    {
        if (strcmp(s->name, name) == 0)
            break;
    }
    if (!s)
        return;
    f->sum -= s->count;
    drop_share(f, s);
    if (f->sum == 0)
        jobs_release_held(f->jobs);
}

uint32_t fence_sum(const struct fence *f)
{
    return f->sum;
}

bool fence_defers(const struct fence *f)
{
    return jobs_held_long(f->jobs);
}

void fence_each(const struct fence *f, void (*on)(void *arg, const char *name, uint32_t count),
                void *arg)
{
    const struct fence_share *s;

    DL_FOREACH(f->shares, s)
    {
        on(arg, s->name, s->count);
    }
}
