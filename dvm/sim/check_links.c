/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbours and the links between them: every frame is handed up once and in order, over whatever
 * links; a link that was mapped out or lost is back at rest; links are spread over the addresses; a
 * further link by an address that refuses is called for with a back-off. */
#include "dvm/protocol/core/core_inspect.h"
#include "dvm/sim/check_private.h"

struct at {
    struct check *check;
    uint32_t vpid;
};

static void see_peer(void *arg, const struct core_inspect_peer *p)
{
    struct at *a = arg;

    a->check->mapped_out |= p->out > 0;
    if (p->frames.delivered != p->frames.received)
        check_fail(a->check, "link-exactly-once",
                   "vpid %u has handed up %llu frames of vpid %u, its turn is %llu", a->vpid,
                   (unsigned long long)p->frames.delivered, p->vpid,
                   (unsigned long long)p->frames.received + 1);
}

void check_peers(struct check *c, uint32_t vpid)
{
    const struct sim_call *hasty = sim_hasty_call(c->sim, vpid);
    struct at a = {c, vpid};

    if (hasty)
        check_fail(c, "calls-back-off",
                   "vpid %u was refused %u times by one address of vpid %u in %llu ms", vpid,
                   hasty->n, hasty->to, (unsigned long long)(sim_now(c->sim) - hasty->since_ms));

    core_inspect_peers(sim_core(c->sim, vpid), see_peer, &a);
}

struct other_side {
    uint32_t vpid;
    struct epoch epoch;
    uint64_t session;
    bool incoming, found;
    struct peer_stats frames;
};

static void find_side(void *arg, const struct core_inspect_peer *p)
{
    struct other_side *o = arg;

    if (p->vpid != o->vpid || !epoch_eq(p->epoch, o->epoch) || p->session != o->session ||
        p->incoming != o->incoming)
        return;
    o->found = true;
    o->frames = p->frames;
}

/* No address has more links than their even share. */
static void check_spread(const struct at *a, const struct core_inspect_peer *p)
{
    size_t n = sim_naddresses(a->check->sim);

    for (size_t i = 0; i < OUT_WAYS_MAX; i++) {
        if (p->by_way[i] > (a->check->nlinks + n - 1) / n)
            check_fail(a->check, "links-are-spread",
                       "vpid %u has %zu of %zu links to vpid %u by address %zu of %zu", a->vpid,
                       p->by_way[i], a->check->nlinks, p->vpid, i, n);
    }
}

static void rest_peer(void *arg, const struct core_inspect_peer *p)
{
    struct at *a = arg;
    const struct core *self = sim_core(a->check->sim, a->vpid);
    const struct core *x = sim_core(a->check->sim, p->vpid);
    struct other_side o = {a->vpid, core_inspect_epoch(self), p->session, !p->incoming, false, {0}};

    if (!x || !epoch_eq(core_inspect_epoch(x), p->epoch))
        return;
    core_inspect_peers(x, find_side, &o);
    if (!o.found)
        check_fail(a->check, "link-exactly-once", "vpid %u has a session with vpid %u alone",
                   a->vpid, p->vpid);
    else if (p->frames.sent != o.frames.delivered || p->frames.bytes)
        check_fail(a->check, "link-exactly-once",
                   "vpid %u has sent %llu frames to vpid %u, %llu have arrived, %zu bytes are kept",
                   a->vpid, (unsigned long long)p->frames.sent, p->vpid,
                   (unsigned long long)o.frames.delivered, p->frames.bytes);
    if (p->lifeline && p->links != a->check->nlinks)
        check_fail(a->check, "mapped-out-comes-back", "vpid %u has %zu of %zu links to vpid %u",
                   a->vpid, p->links, a->check->nlinks, p->vpid);
    if (p->lifeline)
        check_spread(a, p);
    if (p->out)
        check_fail(a->check, "mapped-out-comes-back",
                   "%zu links of vpid %u to vpid %u are mapped out at rest", p->out, a->vpid,
                   p->vpid);
}

void check_peers_rest(struct check *c)
{
    unsigned v;

    hwloc_bitmap_foreach_begin(v, core_inspect_members(sim_core(c->sim, 0))->live)
    {
        struct at a = {c, v};

        if (sim_core(c->sim, v))
            core_inspect_peers(sim_core(c->sim, v), rest_peer, &a);
    }
    hwloc_bitmap_foreach_end();
}
