/* SPDX-License-Identifier: BSD-3-Clause */
/* The head's side of publish and lookup: keeps lookups that wait for a value.
 *
 * In: requests of all daemons (pmix_srv_data_ask()); the ends of jobs; timers. Out: the requests
 * for the published values (on_data_serve()); one call of done() for each request, maybe within the
 * call.
 *
 * A lookup with PMIX_WAIT waits until there are enough values for it, its timeout has passed, or
 * its rank or its job has ended. Each publish that succeeds checks all waiting lookups, the
 * oldest first. A job that was to publish values under the name of a port may have ended. Its
 * daemon then closes the port, and the lookups of its spawner's job for such a value end.
 *
 * Invariant: a waiting lookup reads no value before all that it wants are there. So a value that is
 * removed by its first read is not lost to a lookup that goes on waiting, or whose rank has ended.
 * So nothing is lost either when the head's process ends: the asker repeats the lookup.
 *
 * Failures: a timeout gives PMIX_ERR_TIMEOUT, the end of the rank or the job and a closed port
 * PMIX_ERR_NOT_FOUND, and the end of the server PMIX_ERR_UNREACH.
 *
 * Limits: WAITERS_MAX lookups wait. A further one is answered at once with the values that are
 * there. The last PORTS_MAX closed ports are known, for lookups that are under way. */
#include "dvm/host/pmix/pmix_private.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define WAITERS_MAX 65536
#define PORTS_MAX 64

struct closed_port {
    struct store_who of; /* of its job, the lookups fail */
    char *name;
};

struct waiter {
    struct pmix_srv *p;
    struct pmix_srv_data_ask ask; /* its blob: */
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
    case STORE_WAITS:
    case STORE_RESULTS:
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

static enum store_result serve_ask(struct pmix_srv *p, const struct pmix_srv_data_ask *a,
                                   bool at_once, struct buf *out)
{
    return p->up.on_data_serve ? p->up.on_data_serve(a, at_once, out, p->arg) : STORE_BAD;
}

static void wake_waiters(struct pmix_srv *p)
{
    struct waiter *w, *next;

    DL_FOREACH_SAFE(p->waiters, w, next)
    {
        BUF_AUTO struct buf out = {.max = PMIX_SRV_BLOB_MAX};
        enum store_result r = serve_ask(p, &w->ask, false, &out);

        if (r != STORE_WAITS)
            waiter_finish(w, status_of(r), &out);
    }
}

static void on_waited_too_long(void *arg)
{
    waiter_finish(arg, PMIX_ERR_TIMEOUT, NULL);
}

static void waiter_add(struct pmix_srv *p, const struct pmix_srv_data_ask *a,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    struct waiter *w = xcalloc(1, sizeof(*w));

    w->p = p;
    w->done = done;
    w->arg = arg;
    buf_init(&w->blob, a->len);
    buf_put_raw(&w->blob, a->blob, a->len);
    w->ask = *a;
    w->ask.blob = w->blob.data;
    (void)store_lookup_head(a->blob, a->len, &w->lookup); /* it waits, so it is well formed */
    if (w->lookup.timeout_s) {
        w->timer = loop_timer_create(p->loop, on_waited_too_long, w);
        loop_timer_arm(w->timer, w->lookup.timeout_s * UINT64_C(1000));
    }
    DL_APPEND(p->waiters, w);
    p->nwaiters++;
}

/* --- closed ports */

static bool is_value_of(const struct closed_port *c, const struct pmix_srv_data_ask *a)
{
    struct store_lookup l;

    return store_lookup_head(a->blob, a->len, &l) && strcmp(l.who.nspace, c->of.nspace) == 0 &&
           store_lookup_names(a->blob, a->len, c->name);
}

static bool is_closed(const struct pmix_srv *p, const struct pmix_srv_data_ask *a)
{
    for (size_t i = 0; i < p->nports; i++) {
        if (is_value_of(&p->ports[i], a))
            return true;
    }
    return false;
}

static void drop_port(struct pmix_srv *p)
{
    free(p->ports[0].name);
    memmove(p->ports, p->ports + 1, --p->nports * sizeof(*p->ports));
}

void dataserve_free_ports(struct pmix_srv *p)
{
    while (p->nports)
        drop_port(p);
    free(p->ports);
    p->ports = NULL;
}

static int close_port(struct pmix_srv *p, const struct pmix_srv_data_ask *a)
{
    struct cur c = cur_of(a->blob, a->len);
    struct closed_port port = {0};
    struct waiter *w, *next;

    if (store_get_who(&c, &port.of))
        port.name = cur_str(&c, STORE_KEY_MAX);
    if (!port.name || !cur_done(&c) || !*port.name) {
        free(port.name);
        return PMIX_ERR_BAD_PARAM;
    }
    if (p->nports == PORTS_MAX)
        drop_port(p);
    p->ports = xrealloc(p->ports, (p->nports + 1) * sizeof(*p->ports));
    p->ports[p->nports++] = port;
    DL_FOREACH_SAFE(p->waiters, w, next)
    {
        if (is_value_of(&port, &w->ask))
            waiter_finish(w, PMIX_ERR_NOT_FOUND, NULL);
    }
    return PMIX_SUCCESS;
}

/* --- requests */

static void end_rank_waiters(struct pmix_srv *p, const struct pmix_srv_data_ask *a)
{
    struct cur c = cur_of(a->blob, a->len);
    struct store_who who;

    if (store_get_who(&c, &who))
        dataserve_end_waiters(p, who.nspace, who.rank, PMIX_ERR_NOT_FOUND);
}

void pmix_srv_data_ask(struct pmix_srv *p, const struct pmix_srv_data_ask *a,
                       void (*done)(int status, const void *answer, size_t alen, void *arg),
                       void *arg)
{
    BUF_AUTO struct buf out = {.max = PMIX_SRV_BLOB_MAX};
    enum store_result r;

    if (a->op == 'c') {
        done(close_port(p, a), NULL, 0, arg);
        return;
    }
    r = serve_ask(p, a, p->nwaiters >= WAITERS_MAX, &out);
    if (r == STORE_WAITS && is_closed(p, a)) {
        done(PMIX_ERR_NOT_FOUND, NULL, 0, arg);
        return;
    }
    if (r == STORE_WAITS) {
        waiter_add(p, a, done, arg);
        return;
    }
    if (a->op == 'e' && r == STORE_OK)
        end_rank_waiters(p, a);
    if (a->op == 'p' && r == STORE_OK)
        wake_waiters(p);
    done(status_of(r), out.data, out.len, arg);
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
