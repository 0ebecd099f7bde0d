/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws who requests another size of the DVM, and which one. */
#include "dvm/sim/ask.h"

#include "dvm/protocol/core/core_inspect.h"

#include <stdio.h>

static void choose_request(struct sim *s, struct resize_request *a)
{
    uint64_t d = sim_random(s, 8);

    a->deadline_s = sim_random(s, 2) ? (int64_t)sim_random(s, 8) : -1;
    a->count = 1 + (uint32_t)sim_random(s, 3);
    if (d < 3) { /* some requests name pods that never come */
        a->kind = RESIZE_EXTEND;
        a->deadline_s = a->deadline_s < 0 ? 60 : a->deadline_s;
    } else if (d < 7) {
        a->kind = d < 6 ? RESIZE_RELEASE : RESIZE_RELEASE_KILL;
    } else {
        a->kind = RESIZE_CANCEL;
    }
}

static bool ends_jobs(const struct resize_request *a)
{
    return a->kind == RESIZE_RELEASE_KILL || (a->kind == RESIZE_RELEASE && a->deadline_s >= 0);
}

/* Few distinct request ids, so that some requests are repeated and some conflict. */
bool ask_some(struct sim *s, struct check *c, uint32_t vpid, struct asked_some *out)
{
    static const char *const names[] = {"", "", "a", "b"};
    const struct core *x = sim_core(s, vpid);
    struct resize_request a = {
        .nspace = "tool", .rank = vpid, .id = "", .req_id = names[sim_random(s, 4)]};
    bool tool = sim_random(s, 4) == 0;
    char nspace[64];

    if (!x || sim_stopped(s, vpid) || core_state(x) != CORE_WIRED || !sim_head(s))
        return false;
    tool = tool || !sim_some_rank(s, vpid, &a.nspace, &a.rank);
    snprintf(nspace, sizeof(nspace), "%s", a.nspace);
    a.nspace = nspace;
    choose_request(s, &a);
    *out = (struct asked_some){.kills = ends_jobs(&a)};
    snprintf(out->text, sizeof(out->text),
             "%s rank %u at vpid %u asks: kind %d, %u daemons, %lld s, id '%s'", nspace, a.rank,
             vpid, (int)a.kind, a.count, (long long)a.deadline_s, a.req_id);
    check_resize(c, vpid, &a, tool);
    return true;
}

uint32_t ask_follow(struct sim *s, uint32_t nodes, uint32_t replicas, bool resting)
{
    uint32_t bound = head_size_bound(core_inspect_head(sim_head(s)));

    bound = bound < nodes ? bound : nodes - 1;
    if (bound < replicas || (bound > replicas && (resting || sim_random(s, 8) == 0)))
        return bound;
    return replicas;
}
