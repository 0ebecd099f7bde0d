/* SPDX-License-Identifier: BSD-3-Clause */
/* The orderly end of this daemon's part in the DVM: links are closed from the top down, and
 * confirmed from the bottom up.
 *
 * In: finish_start() with the next step (rejoin, park or exit); BYE and losses of neighbours; the
 * time. Out: BYE to children and to the parent; then OUT_PARK, OUT_EXIT or a new epoch
 * (core_reset()).
 *
 * Local jobs, clients and requests are dropped first. The head sends BYE to its children at once. A
 * member sends BYE to a daemon that it has called beside its parent at once, and to its children if
 * the whole DVM ends and its parent has sent BYE. When the other links are closed, and the parent
 * has sent BYE or its link is closed, the member sends BYE to the parent and ends.
 *
 * Invariants: the lifeline is closed last, so messages of the children can still pass.
 *
 * Failures: after leave_ms all links that are left are closed, with a warning. */
#include "dvm/protocol/core/core_private.h"

#include "base/log/log.h"

#include <utlist.h>

void finish_start(struct core *c, int after, const char *text)
{
    struct neighbour *k, *tmp;

    if (c->finishing)
        return;
    c->finishing = true;
    c->after = after;
    c->retry_at = 0;
    c->finish_by = c->out.now_ms + c->opts.leave_ms;
    local_drop_all(c);
    client_fail_all(c, text);
    local_resize_fail_all(c, text);
    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (k->state == NEIGHBOUR_CUT || (core_is_head(c) && k->state == NEIGHBOUR_UP))
            neigh_bye(c, k);
    }
}

static void finish_daemon(struct core *c)
{
    struct neighbour *up = neighbours_by_id(c->neighbours, c->parent_id);

    if (up)
        neigh_bye(c, up);
    while (neighbours_first(c->neighbours))
        conn_end(c, neighbours_first(c->neighbours));
    c->parent_id = 0;
    c->finishing = false;
    if (c->after == AFTER_REJOIN) {
        core_reset(c, "this incarnation of the head has ended");
        return;
    }
    if (c->after == AFTER_PARK) {
        out_add(&c->out, OUT_PARK);
        core_set_state(c, CORE_PARKED, "parked: this daemon has left the DVM");
        if (!c->sigterm)
            return;
    }
    out_add(&c->out, OUT_EXIT);
}

/* The links other than the lifeline are closed first. The lifeline must have carried the
 * parent's BYE, or be closed, before this daemon ends. */
void finish_check(struct core *c)
{
    struct neighbour *up = neighbours_by_id(c->neighbours, c->parent_id);
    struct neighbour *k, *tmp;
    size_t below = 0;

    if (!c->finishing)
        return;
    if (c->finish_by <= c->out.now_ms) {
        out_log(&c->out, LOG_LEVEL_WARN, "%zu links were not closed within %llu ms",
                neighbours_count(c->neighbours), (unsigned long long)c->opts.leave_ms);
        finish_daemon(c);
        return;
    }
    DL_FOREACH_SAFE(neighbours_first(c->neighbours), k, tmp)
    {
        if (k == up)
            continue;
        below++;
        /* It was called while the parent was out of reach. Nobody else closes this link. */
        if (!k->incoming && k->state == NEIGHBOUR_UP)
            neigh_bye(c, k);
        /* the whole DVM ends: our children follow when our parent has sent BYE */
        if (c->state == CORE_ENDING && k->incoming && k->state == NEIGHBOUR_UP &&
            (!up || up->peer_bye))
            neigh_bye(c, k);
    }
    if (below == 0 && (!up || up->peer_bye))
        finish_daemon(c);
}
