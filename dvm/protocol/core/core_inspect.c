/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows one daemon's state to a checker; changes nothing. */
#include "dvm/protocol/core/core_inspect.h"

#include "dvm/protocol/core/core_private.h"

#include <utlist.h>

const struct members *core_inspect_members(const struct core *c)
{
    return &c->members;
}

const struct head *core_inspect_head(const struct core *c)
{
    return c->head;
}

struct epoch core_inspect_epoch(const struct core *c)
{
    return c->self.epoch;
}

void core_inspect_watch(struct core *c, void (*on)(void *arg), void *arg)
{
    c->watcher.on_step = on;
    c->watcher.arg = arg;
}

uint64_t core_inspect_complete(const struct core *c)
{
    return xcast_completed(c->xcast);
}

uint32_t core_inspect_lifeline(const struct core *c)
{
    const struct neighbour *k = c->parent_id ? neighbours_by_id(c->neighbours, c->parent_id) : NULL;

    return k ? k->vpid : VPID_NONE;
}

void core_inspect_links(const struct core *c, void (*on)(void *arg, uint32_t vpid, struct epoch e),
                        void *arg)
{
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        if (k->state == NEIGHBOUR_UP)
            on(arg, k->vpid, k->epoch);
    }
}

static void count_links(const struct neighbour *k, struct core_inspect_peer *p)
{
    const struct peer_link *at;

    DL_FOREACH(peer_links(k->peer), at)
    {
        p->out += at->state == PEER_LINK_OUT;
        if (at->state >= PEER_LINK_UP)
            p->by_way[at->way]++;
    }
}

void core_inspect_peers(const struct core *c,
                        void (*on)(void *arg, const struct core_inspect_peer *p), void *arg)
{
    const struct neighbour *k;

    DL_FOREACH(neighbours_first(c->neighbours), k)
    {
        struct core_inspect_peer p = {.vpid = k->vpid,
                                      .epoch = k->epoch,
                                      .session = peer_session(k->peer),
                                      .incoming = k->incoming,
                                      .lifeline = k->id == c->parent_id,
                                      .links = peer_links_greeted(k->peer),
                                      .frames = peer_stats(k->peer)};

        count_links(k, &p);
        if (k->state == NEIGHBOUR_UP)
            on(arg, &p);
    }
}

size_t core_inspect_keepers(const struct core *c, uint32_t *vpids, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < c->keepers.n && n < max; i++) {
        if (c->keepers.streams[i].in_sync)
            vpids[n++] = c->keepers.streams[i].vpid;
    }
    return n;
}

bool core_inspect_kept_all(const struct core *c, uint32_t vpid)
{
    for (size_t i = 0; i < c->keepers.n; i++) {
        const struct keepers_stream *s = &c->keepers.streams[i];

        if (s->vpid == vpid)
            return s->in_sync && s->acked >= s->let_out;
    }
    return false;
}

bool core_inspect_from_volume(const struct core *c)
{
    return c->from_volume;
}

size_t core_inspect_waiting(const struct core *c)
{
    return rml_waiting(c->rml);
}

uint64_t core_inspect_sent(const struct core *c, uint32_t vpid, enum out_class traffic)
{
    return rml_sent(c->rml, vpid, traffic);
}

uint64_t core_inspect_taken(const struct core *c, uint32_t vpid, enum out_class traffic)
{
    return rml_taken(c->rml, vpid, traffic);
}

uint64_t core_inspect_turn(const struct core *c, uint64_t conn)
{
    struct peer_link *at;
    const struct neighbour *k = neighbours_by_conn(c->neighbours, conn, &at);

    return k && at->state >= PEER_LINK_UP ? peer_received(k->peer) + 1 : 0;
}

bool core_inspect_up(const struct core *c, uint64_t conn)
{
    struct peer_link *at;
    const struct neighbour *k = neighbours_by_conn(c->neighbours, conn, &at);

    return k && k->state == NEIGHBOUR_UP && at->state >= PEER_LINK_UP;
}

int core_inspect_send(struct core *c, uint32_t vpid, enum out_class traffic, const struct msg *m)
{
    int rc = core_send(c, vpid, traffic, m);

    core_settle(c);
    return rc;
}
