/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's tables of handlers, joined. */
#include "dvm/protocol/core/dispatch.h"

#include "base/log/log.h"
#include "dvm/protocol/core/core_private.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static bool is_in_state(const struct neighbour *k, enum neighbour_when when)
{
    return when == NEIGHBOUR_WHEN_ANY ||
           (when == NEIGHBOUR_WHEN_REFUSED && k->state == NEIGHBOUR_REFUSED) ||
           (when == NEIGHBOUR_WHEN_GREETED &&
            (k->state == NEIGHBOUR_UP || k->state == NEIGHBOUR_CLOSING));
}

void dispatch_neighbour(struct core *c, struct neighbour *k, struct msg *m)
{
    static const struct neighbour_handler *const tables[] = {
        greet_handlers, neigh_handlers, conn_handlers, apply_handlers, keepers_handlers};

    for (size_t i = 0; i < COUNT(tables); i++) {
        for (const struct neighbour_handler *h = tables[i]; h->take; h++) {
            if (h->type == m->type && is_in_state(k, h->when)) {
                h->take(c, k, m);
                return;
            }
        }
    }
}

/* --- messages of modules that know nothing of the core */

static void take_gather_up(struct core *c, const struct frame *f, struct msg *m)
{
    gather_up(c->gather, f->src, &m->gather_up);
}

static void take_gather_down(struct core *c, const struct frame *f, struct msg *m)
{
    gather_down(c->gather, f->src, &m->gather_down);
}

static void take_app(struct core *c, const struct frame *f, struct msg *m)
{
    struct out_act *act = out_add(&c->out, OUT_APP);

    act->app.from = f->src;
    act->app.kind = m->app.kind;
    buf_put_raw(&act->app.data, m->app.data, m->app.len);
}

static const struct routed_handler own_handlers[] = {
    {MSG_GATHER_UP, take_gather_up},
    {MSG_GATHER_DOWN, take_gather_down},
    {MSG_APP, take_app},
    {0},
};

static const struct routed_handler *find_handler(enum msg_type type)
{
    static const struct routed_handler *const tables[] = {
        own_handlers, local_handlers, client_handlers, resize_handlers, neigh_routed_handlers};

    for (size_t i = 0; i < COUNT(tables); i++) {
        for (const struct routed_handler *h = tables[i]; h->take; h++) {
            if (h->type == type)
                return h;
        }
    }
    return NULL;
}

void dispatch_routed(struct core *c, const struct frame *f, struct msg *m)
{
    const struct routed_handler *h = find_handler(m->type);

    if (h)
        h->take(c, f, m);
    else if (core_is_head(c))
        head_msg(c->head, f->src, m);
    else
        out_log(&c->out, LOG_LEVEL_WARN, "vpid %u sent %s, which is for the head", f->src,
                msg_name(m->type));
}
