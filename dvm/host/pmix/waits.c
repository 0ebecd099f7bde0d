/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the causes for which jobs here wait, of the library and of unanswered requests.
 *
 * In: the library's collectives that some ranks here have called and others have not; data that
 * ranks here have not committed and others ask for; requests of ranks here that wait for an answer.
 * Out: on_waits(), a text for each.
 *
 * The library's part is collected on its thread, at most WAITS_MAX awaited ranks. Ranks that are
 * awaited in the same collective are one text. */
#include "base/bitmap/bitmap.h"
#include "dvm/host/pmix/pmix_private.h"
#include "dvm/protocol/wire/wait.h"

#include <stdlib.h>
#include <string.h>

#define WAITS_MAX 65536

struct cause {
    struct { /* all of its bytes are set: they are compared */
        char what;
        uint64_t number;
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
    c->key.number = w->number;
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

/* Data is awaited of one rank at a time. */
static uint64_t id_of(const struct cause *c)
{
    return c->key.number ? c->key.number : (uint64_t)hwloc_bitmap_first(c->ranks);
}

/* For the job of the ranks that are awaited; `by` may be of another job. */
static void put_cause(struct buf *b, const struct cause *c)
{
    const pmix_proc_t *by = &c->key.by;
    bool own = PMIX_CHECK_NSPACE(by->nspace, c->key.nspace);
    const char *call = c->key.what == 'm' ? "PMIx_Get" : wait_collective(c->key.what);
    FREE_AUTO char *ranks = wait_ranks(c->ranks);
    FREE_AUTO char *of = own ? xstrdup("") : xasprintf(" of job %s", by->nspace);
    FREE_AUTO char *data = xasprintf("%s%s", c->key.what == 'm' ? "data of " : "", ranks);
    FREE_AUTO char *text = xasprintf("%s: rank %u%s waits for %s", call, by->rank, of, data);

    buf_put_u8(b, (uint8_t)c->key.what);
    buf_put_u64(b, id_of(c));
    buf_put_str(b, c->key.nspace);
    buf_put_str(b, text);
    if (own)
        return;
    free(text);
    text = xasprintf("%s: rank %u waits for %s of job %s", call, by->rank, data, c->key.nspace);
    buf_put_u8(b, (uint8_t)c->key.what);
    buf_put_u64(b, id_of(c));
    buf_put_str(b, by->nspace);
    buf_put_str(b, text);
}

struct waits_list {
    struct pmix_srv_wait *at;
    size_t n;
};

static struct pmix_srv_wait *add_wait(struct waits_list *l)
{
    l->at = xrealloc(l->at, (l->n + 1) * sizeof(*l->at));
    return &l->at[l->n++];
}

/* Before those of the library: they say why others wait for these ranks. */
static void put_requests(const struct pmix_srv *p, struct waits_list *l)
{
    const struct req *r, *tmp;

    HASH_ITER(hh, p->reqs, r, tmp)
    {
        if (r->waits && l->n < PMIX_SRV_WAITS_MAX)
            *add_wait(l) =
                (struct pmix_srv_wait){'r', r->id, xstrdup(r->nspace), xstrdup(r->waits)};
    }
}

/* Other daemons that ask for data of a rank here. */
static void put_data(const struct pmix_srv *p, struct waits_list *l)
{
    const struct op *op, *tmp;

    HASH_ITER(hh, p->ops, op, tmp)
    {
        if (op->done_data && l->n < PMIX_SRV_WAITS_MAX)
            *add_wait(l) = (struct pmix_srv_wait){
                'm', op->id, xstrdup(op->nspace),
                xasprintf("PMIx_Get: other daemons wait for data of rank %u", op->rank)};
    }
}

static void run_waits(struct pmix_srv *p, struct upcall *u)
{
    struct cur c = cur_of(u->data.data, u->data.len);
    struct waits_list l = {0};

    put_requests(p, &l);
    put_data(p, &l);
    while (cur_left(&c) && l.n < 2 * PMIX_SRV_WAITS_MAX) {
        struct pmix_srv_wait *w = add_wait(&l);

        w->kind = (char)cur_u8(&c);
        w->id = cur_u64(&c);
        w->nspace = cur_str(&c, PMIX_MAX_NSLEN);
        w->text = cur_str(&c, PMIX_SRV_BLOB_MAX);
    }
    p->up.on_waits(l.at, l.n, p->arg);
    while (l.n--) {
        free(l.at[l.n].nspace);
        free(l.at[l.n].text);
    }
    free(l.at);
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
        put_cause(&u->data, c);
        HASH_DEL(f.list, c);
        hwloc_bitmap_free(c->ranks);
        free(c);
    }
    pmix_srv_upcall_post(u);
}
