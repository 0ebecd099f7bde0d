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

uint64_t core_inspect_complete(const struct core *c)
{
    return xcast_completed(c->xcast);
}

uint32_t core_inspect_lifeline(const struct core *c)
{
    const struct link *k = c->parent_conn ? links_by_conn(c->links, c->parent_conn) : NULL;

    return k ? k->vpid : VPID_NONE;
}

void core_inspect_links(const struct core *c, void (*on)(void *arg, uint32_t vpid, struct epoch e),
                        void *arg)
{
    const struct link *k;

    DL_FOREACH(links_first(c->links), k)
    {
        if (k->state == LINK_UP)
            on(arg, k->vpid, k->epoch);
    }
}

size_t core_inspect_waiting(const struct core *c)
{
    return rml_waiting(c->rml);
}

bool core_inspect_up(const struct core *c, uint64_t conn)
{
    const struct link *k = links_by_conn(c->links, conn);

    return k && k->state == LINK_UP;
}
