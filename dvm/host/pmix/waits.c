/* SPDX-License-Identifier: BSD-3-Clause */
/* What the jobs here wait for, as far as the library and this module know it.
 *
 * In: the library's collectives that some ranks here have called and others have not; data that
 * ranks here have not committed and others ask for; requests of ranks here that wait for an answer.
 * Out: on_waits(), a text for each.
 *
 * The library's part is collected on its thread, at most WAITS_MAX awaited ranks. Ranks that are
 * awaited by the same rank in the same kind of operation are one text. */
#include "base/bitmap/bitmap.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

#define WAITS_MAX 65536

struct cause {
    struct { /* all of its bytes are set: they are compared */
        char what;
        pmix_proc_t by;
        pmix_nspace_t nspace;
    } key;
    hwloc_bitmap_t ranks;
    UT_hash_handle hh;
};

struct found {
    struct cause *list;
    size_t n;
};

static struct cause *cause_get(struct found *f, const struct pmix_extend_wait *w)
{
    struct cause *c = xcalloc(1, sizeof(*c)), *there;

    c->key.what = w->what;
    PMIX_LOAD_PROCID(&c->key.by, w->by.nspace, w->by.rank);
    PMIX_LOAD_NSPACE(c->key.nspace, w->rank.nspace);
    HASH_FIND(hh, f->list, &c->key, sizeof(c->key), there);
    if (there) {
        free(c);
        return there;
    }
    c->ranks = bitmap_alloc();
    HASH_ADD(hh, f->list, key, sizeof(c->key), c);
    return c;
}

static void on_wait(const struct pmix_extend_wait *w, void *arg)
{
    struct found *f = arg;

    if (f->n++ < WAITS_MAX)
        bitmap_set(cause_get(f, w)->ranks, w->rank.rank);
}

static char *text_of(const struct cause *c)
{
    const pmix_proc_t *by = &c->key.by;
    FREE_AUTO char *ranks = wait_ranks(c->ranks);
    FREE_AUTO char *of =
        PMIX_CHECK_NSPACE(by->nspace, c->key.nspace) ? NULL : xasprintf(" of job %s", by->nspace);

    if (c->key.what == 'm')
        return xasprintf("PMIx_Get: others wait for data of %s", ranks);
    return xasprintf("%s: rank %u%s waits for %s", wait_collective(c->key.what), by->rank,
                     of ? of : "", ranks);
}

/* Behind those of the library: the requests that this module has handed to the daemon. */
static void put_requests(struct pmix_srv *p, struct pmix_srv_wait **list, size_t *n)
{
    const struct req *r, *tmp;

    HASH_ITER(hh, p->reqs, r, tmp)
    {
        if (!r->waits || *n == PMIX_SRV_WAITS_MAX)
            continue;
        *list = xrealloc(*list, (*n + 1) * sizeof(**list));
        (*list)[(*n)++] = (struct pmix_srv_wait){xstrdup(r->nspace), xstrdup(r->waits)};
    }
}

static void run_waits(struct pmix_srv *p, struct upcall *u)
{
    struct pmix_srv_wait *list = xcalloc(1, sizeof(*list));
    struct cur c = cur_of(u->data.data, u->data.len);
    size_t n = 0;

    while (cur_left(&c) && n < PMIX_SRV_WAITS_MAX) {
        list = xrealloc(list, (n + 1) * sizeof(*list));
        list[n].nspace = cur_str(&c, PMIX_MAX_NSLEN);
        list[n++].text = cur_str(&c, PMIX_SRV_BLOB_MAX);
    }
    put_requests(p, &list, &n);
    p->up.on_waits(list, n, p->arg);
    while (n--) {
        free(list[n].nspace);
        free(list[n].text);
    }
    free(list);
}

void waits_collect(void *nothing)
{
    struct upcall *u = pmix_srv_upcall_new(run_waits);
    struct found f = {0};
    struct cause *c, *tmp;

    if (!u)
        return;
    pmix_extend_waits(on_wait, &f);
    HASH_ITER(hh, f.list, c, tmp)
    {
        FREE_AUTO char *text = text_of(c);

        buf_put_str(&u->data, c->key.nspace);
        buf_put_str(&u->data, text);
        HASH_DEL(f.list, c);
        hwloc_bitmap_free(c->ranks);
        free(c);
    }
    pmix_srv_upcall_post(u);
}
