/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's side of publish and lookup: answers from the store, and keeps lookups that wait for a
 * value.
 *
 * In: requests of all daemons (pmix_srv_data_ask()); the ends of jobs; timers. Out: one call of
 * done() for each request, maybe within the call.
 *
 * A lookup with PMIX_WAIT waits until the store has enough values for it, its timeout has passed,
 * or its rank or its job has ended. Each publish that succeeds checks all waiting lookups, the
 * oldest first.
 *
 * Invariant: a waiting lookup reads no value before all that it wants are there. So a value that is
 * removed by its first read is not lost to a lookup that goes on waiting, or whose rank has ended.
 *
 * Failures: a timeout gives PMIX_ERR_TIMEOUT, the end of the rank or the job PMIX_ERR_NOT_FOUND,
 * and the end of the server PMIX_ERR_UNREACH.
 *
 * Limit: WAITERS_MAX lookups wait. A further one is answered at once with the values that are
 * there. */
#include "dvm/host/pmix/pmix_private.h"

#include <string.h>
#include <utlist.h>

#define WAITERS_MAX 65536

struct waiter {
    struct pmix_srv *p;
    struct buf blob;
    struct store_lookup lookup;
    struct loop_timer *timer;
    void (*done)(int status, const void *answer, size_t len, void *arg);
    void *arg;
    struct waiter *prev, *next;
};

static int status_of(enum store_result r)
{
    switch (r) {
    case STORE_OK:
        return PMIX_SUCCESS;
    case STORE_DUPLICATE:
        return PMIX_ERR_DUPLICATE_KEY;
    case STORE_FULL:
        return PMIX_ERR_OUT_OF_RESOURCE;
    case STORE_NONE:
        return PMIX_ERR_NOT_FOUND;
    case STORE_SOME:
        return PMIX_ERR_PARTIAL_SUCCESS;
    case STORE_BAD:
        break;
    }
    return PMIX_ERR_BAD_PARAM;
}

static void waiter_finish(struct waiter *w, int status, const struct buf *answer)
{
    DL_DELETE(w->p->waiters, w);
    w->p->nwaiters--;
    w->done(status, answer ? answer->data : NULL, answer ? answer->len : 0, w->arg);
    loop_timer_destroy(w->timer);
    buf_free(&w->blob);
    free(w);
}

/* Counts first: a lookup that has to go on waiting must not lose a value that is deleted on its
 * first read. */
static bool is_enough(const struct store *s, const struct waiter *w)
{
    uint32_t wanted = w->lookup.wanted ? w->lookup.wanted : w->lookup.nkeys;

    return store_count_found(s, w->blob.data, w->blob.len) >= wanted;
}

static void wake_waiters(struct pmix_srv *p)
{
    struct waiter *w, *next;

    DL_FOREACH_SAFE(p->waiters, w, next)
    {
        BUF_AUTO struct buf out = {.max = PMIX_SRV_BLOB_MAX};
        enum store_result r;

        if (!is_enough(p->store, w))
            continue;
        r = store_lookup(p->store, w->blob.data, w->blob.len, &out);
        waiter_finish(w, status_of(r), &out);
    }
}

static void on_waited_too_long(void *arg)
{
    waiter_finish(arg, PMIX_ERR_TIMEOUT, NULL);
}

/* False: the lookup cannot wait, or need not. */
static bool waiter_add(struct pmix_srv *p, const void *blob, size_t len,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    struct store_lookup lookup;
    struct waiter *w;

    if (p->nwaiters >= WAITERS_MAX || !store_lookup_head(blob, len, &lookup) || !lookup.wait)
        return false;
    w = xcalloc(1, sizeof(*w));
    w->p = p;
    w->lookup = lookup;
    w->done = done;
    w->arg = arg;
    buf_init(&w->blob, PMIX_SRV_BLOB_MAX);
    buf_put_raw(&w->blob, blob, len);
    if (lookup.timeout_s) {
        w->timer = loop_timer_create(p->loop, on_waited_too_long, w);
        loop_timer_arm(w->timer, lookup.timeout_s * UINT64_C(1000));
    }
    DL_APPEND(p->waiters, w);
    p->nwaiters++;
    wake_waiters(p);
    return true;
}

static enum store_result end_rank(struct pmix_srv *p, const void *blob, size_t len)
{
    enum store_result r = store_rank_ended(p->store, blob, len);
    struct cur c = cur_of(blob, len);
    struct store_who who;

    if (r == STORE_OK && store_get_who(&c, &who))
        dataserve_end_waiters(p, who.nspace, who.rank, PMIX_ERR_NOT_FOUND);
    return r;
}

static int serve_request(struct pmix_srv *p, char op, const void *blob, size_t len, struct buf *out)
{
    enum store_result r = STORE_BAD;

    if (op == 'p')
        r = store_publish(p->store, blob, len);
    else if (op == 'u')
        r = store_unpublish(p->store, blob, len);
    else if (op == 'l')
        r = store_lookup(p->store, blob, len, out);
    else if (op == 'e')
        r = end_rank(p, blob, len);
    if (op == 'p' && r == STORE_OK)
        wake_waiters(p);
    return status_of(r);
}

int pmix_srv_data_serve(struct pmix_srv *p, char op, const void *blob, size_t len, void **answer,
                        size_t *answer_len)
{
    struct buf out = {.max = PMIX_SRV_BLOB_MAX};
    int status = serve_request(p, op, blob, len, &out);

    *answer = out.data;
    *answer_len = out.len;
    return status;
}

void pmix_srv_data_ask(struct pmix_srv *p, char op, const void *blob, size_t len,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    BUF_AUTO struct buf out = {.max = PMIX_SRV_BLOB_MAX};
    int status;

    if (op == 'l' && waiter_add(p, blob, len, done, arg))
        return;
    status = serve_request(p, op, blob, len, &out);
    done(status, out.data, out.len, arg);
}

void dataserve_end_waiters(struct pmix_srv *p, const char *nspace, uint32_t rank, int status)
{
    struct waiter *w, *next;

    DL_FOREACH_SAFE(p->waiters, w, next)
    {
        if ((!nspace || strcmp(w->lookup.who.nspace, nspace) == 0) &&
            (rank == UINT32_MAX || w->lookup.who.rank == rank))
            waiter_finish(w, status, NULL);
    }
}
