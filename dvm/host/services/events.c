/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of ranks and tools for processes of other daemons.
 *
 * In: an event of a process here, which its library has delivered on this daemon already;
 * APP_NOTIFY with an event for processes here; at the head APP_NOTIFY_ALL and APP_TOOL_HERE. Out:
 * APP_NOTIFY to the daemons that have target processes; the event to the library here; the answer
 * to the process that raised it.
 *
 * An event for the ranks of its own job goes to the daemons of that job directly. Any other event
 * goes to the head (APP_NOTIFY_ALL). The head alone knows which daemons have ranks or tools. A
 * tool's end is not reported, so its daemon gets events until it leaves.
 *
 * A relay is an event that the head passes on. Relays wait in their order while RELAYED_MAX
 * bytes are in flight; one relay is always allowed. A spread is an event in flight to a set of
 * daemons. It ends when each of them has answered or is lost; then the process that raised the
 * event is answered. So the limit on its unanswered events (dvm/host/pmix) bounds the queue
 * here. */
#include "dvm/host/services/events.h"

#include "base/bitmap/bitmap.h"
#include "base/heap/hash.h"
#include "base/log/log.h"

#include <hwloc/bitmap.h>
#include <pmix_common.h>
#include <stdlib.h>
#include <utlist.h>

/* Limit of relays in flight, in bytes times receivers. */
#define RELAYED_MAX (64u << 20)

struct spread {
    struct events *e;
    hwloc_bitmap_t to;
    struct buf event;
    unsigned left; /* daemons that have not answered */
    pmix_req req;  /* request of a local rank; 0: a relay for the question of the daemon `from` */
    uint32_t from;
    uint64_t question;
    size_t cost;                /* encoded event of a relay */
    struct spread *next, *prev; /* relays in the queue */
    uint64_t number;            /* relays in flight */
    UT_hash_handle hh;
};

struct events {
    const struct host_env *env;
    struct core *core;
    struct pmix_srv *pmix;
    const struct host_ask *ask;
    struct spread *spreads; /* spreads in flight */
    uint64_t last_number;
    struct spread *relays; /* queued relays, in their order */
    size_t relayed;        /* cost of the relays in flight */
    bool relaying;
    hwloc_bitmap_t tools; /* head: daemons that tools have attached to; NULL: none */
};

/* --- an event in flight to a set of daemons */

static struct spread *spread_create(struct events *e, const void *event, size_t len)
{
    struct spread *s = xcalloc(1, sizeof(*s));

    s->e = e;
    s->to = bitmap_alloc();
    buf_init(&s->event, APP_EVENT_MAX);
    buf_put_raw(&s->event, event, len);
    return s;
}

static void spread_free(struct spread *s)
{
    hwloc_bitmap_free(s->to);
    buf_free(&s->event);
    free(s);
}

static void send_relays(struct events *e);

static void step_spread(struct spread *s)
{
    struct events *e = s->e;

    if (--s->left > 0)
        return;
    HASH_DEL(e->spreads, s);
    if (s->req) {
        pmix_srv_answer(e->pmix, s->req, PMIX_SUCCESS, NULL, 0);
    } else {
        e->relayed -= s->cost;
        host_reply(e->ask, s->from, s->question, PMIX_SUCCESS, NULL, 0);
    }
    spread_free(s);
    send_relays(e);
}

struct receiver { /* completes the part of one daemon of the set */
    struct spread *s;
};

/* A lost daemon has no processes to notify. */
static void on_received(int status, const void *data, size_t len, void *asker)
{
    struct receiver *r = asker;

    step_spread(r->s);
    free(r);
}

static void send_spread(struct spread *s)
{
    struct events *e = s->e;
    struct app_notify m = {.event = s->event.data, .len = s->event.len};
    unsigned v;

    s->number = ++e->last_number;
    HASH_ADD(hh, e->spreads, number, sizeof(s->number), s);
    s->left = 1;
    hwloc_bitmap_foreach_begin(v, s->to)
    {
        BUF_AUTO struct buf b = {0};
        struct receiver *r = xmalloc(sizeof(*r));

        r->s = s;
        s->left++;
        app_notify_encode(&b, &m);
        host_ask(e->ask, v, APP_NOTIFY, &b, on_received, r);
    }
    hwloc_bitmap_foreach_end();
    step_spread(s);
}

/* --- events of a process here */

static void notify_job(struct events *e, pmix_req req, const char *nspace, const void *event,
                       size_t len)
{
    const struct job_launch *l = core_job(e->core, nspace);
    struct spread *s = spread_create(e, event, len);

    s->req = req;
    for (size_t i = 0; l && i < l->nnodes; i++) {
        if (l->nodes[i].vpid != e->env->vpid &&
            core_live_in(e->core, l->nodes[i].vpid, l->nodes[i].epoch))
            bitmap_set(s->to, l->nodes[i].vpid);
    }
    send_spread(s);
}

void events_notify(struct events *e, pmix_req req, const char *nspace,
                   const struct pmix_srv_reach *to, const void *event, size_t len)
{
    struct app_notify_all m = {.to = *to, .event = event, .len = len};
    BUF_AUTO struct buf b = {0};

    if (to->kind == PMIX_SRV_REACH_JOB) {
        notify_job(e, req, nspace, event, len);
        return;
    }
    app_notify_all_encode(&b, &m);
    host_ask_for(e->ask, req, 0, APP_NOTIFY_ALL, &b);
}

/* --- events for processes here */

struct delivery {
    struct events *e;
    uint32_t from;
    uint64_t question;
};

static void on_delivered(int status, void *arg)
{
    struct delivery *d = arg;

    host_reply(d->e->ask, d->from, d->question, PMIX_SUCCESS, NULL, 0);
    free(d);
}

static void on_notify(uint32_t from, struct cur *c, void *service)
{
    struct events *e = service;
    struct delivery *d = xmalloc(sizeof(*d));
    struct app_notify m;
    bool ok = app_notify_decode(c, &m) == 0;

    *d = (struct delivery){e, from, m.question};
    if (ok)
        pmix_srv_notify(e->pmix, m.event, m.len, on_delivered, d);
    else
        on_delivered(PMIX_ERR_BAD_PARAM, d);
}

/* --- at the head: relays */

/* Starts queued relays in their order, as many as the limit has room for. */
static void send_relays(struct events *e)
{
    if (e->relaying) /* a nested call: the outermost one continues */
        return;
    e->relaying = true;
    while (e->relays && (!e->relayed || e->relayed + e->relays->cost <= RELAYED_MAX)) {
        struct spread *s = e->relays;

        DL_DELETE(e->relays, s);
        e->relayed += s->cost;
        send_spread(s);
    }
    e->relaying = false;
}

static void add_tools(const struct events *e, hwloc_bitmap_t to)
{
    if (e->tools)
        bitmap_or(to, to, e->tools);
}

static bool is_job(const struct events *e, const char *nspace)
{
    const struct job_rank *ranks;

    return core_job_ranks(e->core, nspace, &ranks) != NULL;
}

/* A name that is not a job's may be a tool's. */
static void add_daemons(const struct events *e, const struct pmix_srv_reach *reach,
                        hwloc_bitmap_t to)
{
    if (reach->kind == PMIX_SRV_REACH_ALL) {
        core_daemons_of(e->core, NULL, JOB_RANK_ALL, to);
        add_tools(e, to);
    }
    for (size_t i = 0; i < reach->nprocs; i++) {
        const struct pmix_srv_proc *p = &reach->procs[i];

        core_daemons_of(e->core, p->nspace, p->rank == PMIX_SRV_RANK_ALL ? JOB_RANK_ALL : p->rank,
                        to);
        if (!is_job(e, p->nspace))
            add_tools(e, to);
    }
}

static void on_notify_all(uint32_t from, struct cur *c, void *service)
{
    struct events *e = service;
    struct app_notify_all m;
    struct spread *s;

    if (app_notify_all_decode(c, &m) < 0) {
        host_reply(e->ask, from, m.question, PMIX_ERR_BAD_PARAM, NULL, 0);
    } else {
        s = spread_create(e, m.event, m.len);
        add_daemons(e, &m.to, s->to);
        bitmap_clr(s->to, from); /* the library here has notified its ranks */
        s->from = from;
        s->question = m.question;
        s->cost = (m.len + 1) * (size_t)(hwloc_bitmap_weight(s->to) + 1);
        DL_APPEND(e->relays, s);
        send_relays(e);
    }
    app_notify_all_free(&m);
}

/* --- tools */

struct attaching {
    struct events *e;
    pmix_req req;
};

static void on_tool_known(int status, const void *data, size_t len, void *asker)
{
    struct attaching *a = asker;

    if (status != PMIX_SUCCESS)
        log_info("a tool gets no events of other daemons: the head did not answer");
    pmix_srv_answer(a->e->pmix, a->req, PMIX_SUCCESS, NULL, 0);
    free(a);
}

void events_tool_attached(struct events *e, pmix_req req)
{
    struct attaching *a = xmalloc(sizeof(*a));
    BUF_AUTO struct buf b = {0};

    *a = (struct attaching){e, req};
    host_enter(e->env);
    app_tool_here_encode(&b, &(struct app_tool_here){0});
    host_ask(e->ask, 0, APP_TOOL_HERE, &b, on_tool_known, a);
    host_drain(e->env);
}

static void on_tool_here(uint32_t from, struct cur *c, void *service)
{
    struct events *e = service;
    struct app_tool_here m;
    bool ok = app_tool_here_decode(c, &m) == 0;

    if (ok && !e->tools)
        e->tools = bitmap_alloc();
    if (ok)
        bitmap_set(e->tools, from);
    host_reply(e->ask, from, m.question, ok ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, NULL, 0);
}

void events_member_gone(struct events *e, uint32_t vpid)
{
    if (e->tools)
        bitmap_clr(e->tools, vpid);
}

/* --- construction and destruction */

void events_handle(struct events *e, struct app_table *t)
{
    static const struct app_handler handlers[] = {
        {APP_NOTIFY, on_notify}, {APP_NOTIFY_ALL, on_notify_all}, {APP_TOOL_HERE, on_tool_here}};

    app_table_add(t, handlers, sizeof(handlers) / sizeof(*handlers), e);
}

struct events *events_create(const struct host_env *env, struct core *core, struct pmix_srv *pmix,
                             const struct host_ask *ask)
{
    struct events *e = xcalloc(1, sizeof(*e));

    *e = (struct events){.env = env, .core = core, .pmix = pmix, .ask = ask};
    return e;
}

void events_destroy(struct events *e)
{
    struct spread *s, *tmp;

    if (!e)
        return;
    HASH_ITER(hh, e->spreads, s, tmp)
    {
        HASH_DEL(e->spreads, s);
        spread_free(s);
    }
    DL_FOREACH_SAFE(e->relays, s, tmp)
    {
        spread_free(s);
    }
    hwloc_bitmap_free(e->tools);
    free(e);
}
