/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases that daemons request for themselves (SIGTERM): a StatefulSet that is scaled down, a
 * drained node.
 *
 * In: RELEASE_ME of a member. Out: one shrink campaign without requester for all that have asked
 * within RELEASE_WINDOW_MS.
 *
 * The size bound is not changed, so that the members may come back. The nearest deadline of the
 * requests counts. Without room for one more campaign the daemons wait. */
#include "dvm/protocol/head/resize/release.h"

#include "base/log/log.h"
#include "dvm/protocol/head/resize/campaign_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

struct release { /* one that a daemon has asked for within the window */
    struct msg_target id;
    int64_t seconds;
    enum api_drain_mode mode;
    struct release *next, *prev;
};

struct releases {
    struct campaigns *cs;
    struct release *list;
    uint64_t at_ms; /* end of the window; 0: no request waits */
};

struct releases *releases_create(struct campaigns *cs)
{
    struct releases *rs = xcalloc(1, sizeof(*rs));

    rs->cs = cs;
    return rs;
}

static void drop_releases(struct releases *rs)
{
    struct release *r, *tmp;

    DL_FOREACH_SAFE(rs->list, r, tmp)
    {
        DL_DELETE(rs->list, r);
        free(r);
    }
}

void releases_destroy(struct releases *rs)
{
    if (!rs)
        return;
    drop_releases(rs);
    free(rs);
}

void release_ask(struct releases *rs, uint32_t from, const struct msg_release_me *m)
{
    const struct member *x = members_get(rs->cs->members, from);
    struct release *r;

    if (!x || x->state != MEMBER_WIRED || incarnation_ending(rs->cs->inc))
        return;
    DL_FOREACH(rs->list, r)
    {
        if (r->id.vpid == from)
            return;
    }
    r = xcalloc(1, sizeof(*r));
    r->id = (struct msg_target){from, members_epoch(rs->cs->members, x)};
    r->seconds = m->deadline_s;
    r->mode = m->kill ? API_DRAIN_KILL : API_DRAIN_WAIT;
    DL_APPEND(rs->list, r);
    if (!rs->at_ms)
        rs->at_ms = rs->cs->out->now_ms + RELEASE_WINDOW_MS;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The daemons that have asked and are still wired, with the nearest of their deadlines. */
static void gather_releases(const struct releases *rs, struct api_campaign_request *r)
{
    const struct release *x;

    DL_FOREACH(rs->list, x)
    {
        const struct member *m = roster_find(rs->cs->roster, x->id.vpid, x->id.epoch);

        if (m && m->state == MEMBER_WIRED)
            r->targets[r->ntargets++] = x->id.vpid;
        if (x->seconds >= 0 && (r->deadline_s < 0 || x->seconds < r->deadline_s))
            r->deadline_s = x->seconds;
        r->drain_mode = x->mode;
    }
    qsort(r->targets, r->ntargets, sizeof(*r->targets), compare_numbers);
}

void releases_steps(struct releases *rs)
{
    struct api_campaign_request r = {.kind = API_KIND_SHRINK,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .drain_mode = API_DRAIN_WAIT};
    FREE_AUTO uint32_t *vpids = NULL;
    enum api_reason reason;
    struct err err = {0};
    char id[64];

    if (!rs->at_ms || rs->at_ms > rs->cs->out->now_ms)
        return;
    rs->at_ms = 0;
    vpids = xcalloc(rs->cs->members->n + 1, sizeof(*vpids));
    r.targets = vpids;
    gather_releases(rs, &r);
    snprintf(id, sizeof(id), CAMPAIGN_RELEASE_PREFIX "%llu",
             (unsigned long long)campaign_table_releases(rs->cs->table) + 1);
    if (r.ntargets && !incarnation_ending(rs->cs->inc) &&
        campaign_admit(rs->cs, id, &r, false, NULL, &reason, &err) < 0) {
        out_log(rs->cs->out, LOG_LEVEL_WARN, "%zu daemons that want to leave have to wait: %s",
                r.ntargets, err.msg);
        rs->at_ms = rs->cs->out->now_ms + RELEASE_WINDOW_MS;
        return;
    }
    drop_releases(rs);
}

uint64_t releases_next_deadline(const struct releases *rs)
{
    return rs->at_ms ? rs->at_ms : UINT64_MAX;
}
