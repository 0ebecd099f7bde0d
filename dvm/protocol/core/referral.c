/* SPDX-License-Identifier: BSD-3-Clause */
/* The members at which a client of the head should submit its job instead: the session of such a
 * client outlives the head's process.
 *
 * A shrink removes the highest vpids, and waits for jobs whose clients are there. So the lower half
 * of the wired members takes turns, and the others only fill the list.
 *
 * There are none at a member, without records that another process could go on with, and while the
 * head is not wired or the incarnation ends. */
#include "dvm/protocol/core/core_private.h"

#include <stdlib.h>

static bool can_have_heir(const struct core *c)
{
    return core_is_head(c) && (c->opts.keepers || c->opts.keeps_records) &&
           core_state(c) == CORE_WIRED && !core_incarnation_ends(c);
}

/* The vpids, on the heap. */
static uint32_t *list_wired(const struct core *c, size_t *n)
{
    uint32_t *vpids = xcalloc((size_t)c->members.n + 1, sizeof(*vpids));

    *n = 0;
    for (uint32_t v = 1; v < c->members.n; v++) {
        const struct member *x = members_get(&c->members, v);

        if (x && x->state == MEMBER_WIRED && members_live(&c->members, v))
            vpids[(*n)++] = v;
    }
    return vpids;
}

static void add_place(const struct core *c, uint32_t vpid, struct client_referral *to)
{
    struct msg_member facts = members_facts(&c->members, vpid);
    size_t len = strlen(facts.address);

    if (len && len < CLIENT_ADDRESS_MAX && facts.port) {
        memcpy(to->places[to->n].address, facts.address, len + 1);
        to->places[to->n++].port = facts.port;
    }
    msg_member_free(&facts);
}

struct client_referral core_referral(const struct core *c, uint64_t turn)
{
    struct client_referral to = {0};
    FREE_AUTO uint32_t *vpids = NULL;
    size_t n = 0, half;

    if (!can_have_heir(c))
        return to;
    vpids = list_wired(c, &n);
    half = (n + 1) / 2;
    for (size_t i = 0; i < n && to.n < CLIENT_PLACES_MAX; i++)
        add_place(c, i < half ? vpids[(turn + i) % half] : vpids[i], &to);
    return to;
}
