/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of an extension with the job whose rank has asked for it.
 *
 * In: grow campaigns of ranks; jobs that have ended, with all jobs that they have spawned. Out: the
 * cancellation of an extension that still gathers; else one release of the members that it has
 * brought, as the job itself could have asked for. It waits for other jobs there.
 *
 * An extension of a tool stays, as does one whose rank has asked for that. A member that was lost
 * and has come back is a new one, and stays. So does an extension below a member that does not
 * leave by itself, for example because the size has grown since: members leave from the top, and a
 * release would drain its members without end. So does one of which another grow has asked for a
 * member, unless that one ends with a job too. A release is cancelled if that becomes so while it
 * drains.
 *
 * Failure: without room for one more campaign the release is tried again. */
#include "dvm/protocol/head/resize/extension.h"

#include "base/log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static bool ends_with_job(const struct campaign *c)
{
    return c->asker.nspace && c->asker.is_rank && !c->asker.keep;
}

static bool is_orphan(const struct campaigns *cs, const struct campaign *c)
{
    return ends_with_job(c) && !jobs_find(cs->jobs, c->asker.nspace);
}

/* The job has asked for it, or this file has. */
static bool is_released(const struct campaigns *cs, const struct campaign *c)
{
    const struct campaign *o;

    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        if (o->req.kind == API_KIND_SHRINK && o->asker.nspace && o->phase != API_PHASE_CANCELLED &&
            strcmp(o->asker.of, c->id) == 0)
            return true;
    }
    return false;
}

/* It came by an extension that ends with its job. */
static bool is_borrowed(const struct campaigns *cs, uint32_t vpid)
{
    const struct campaign *c;

    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        const struct campaign_target *t = campaign_table_target(c, vpid);

        if (c->req.kind == API_KIND_GROW && ends_with_job(c) && t && t->added &&
            roster_find(cs->roster, vpid, t->id.epoch))
            return true;
    }
    return false;
}

/* The member leaves with those of `c`. An extension may name members that were there before it, and
 * a vpid may have another daemon by now. */
static bool leaves_with(const struct campaigns *cs, const struct campaign *c, uint32_t vpid)
{
    const struct campaign_target *t = campaign_table_target(c, vpid);

    return t && (t->added || c->req.kind == API_KIND_SHRINK) &&
           roster_find(cs->roster, vpid, t->id.epoch);
}

/* A grow that runs waits for a member of `c`: it would wait for the release, and the release for
 * it. Or one that does not end with a job has got that member. */
static bool wants_member_of(const struct campaign *grow, const struct campaign *c)
{
    bool runs = campaign_runs_grow(grow);
    bool stays = grow->req.kind == API_KIND_GROW && grow->phase == API_PHASE_COMPLETE &&
                 !ends_with_job(grow);

    for (size_t i = 0; (runs || stays) && i < c->ntargets; i++) {
        const struct campaign_target *t = campaign_table_target(grow, c->targets[i].id.vpid);

        if (t && (runs || epoch_eq(t->id.epoch, c->targets[i].id.epoch)))
            return true;
    }
    return false;
}

static bool is_wanted(const struct campaigns *cs, const struct campaign *c)
{
    const struct campaign *o;

    DL_FOREACH(campaign_table_first(cs->table), o)
    {
        if (wants_member_of(o, c))
            return true;
    }
    return false;
}

/* The size needs the lowest member of `c`, another grow wants one of them, or one above it, not of
 * `c`, does not leave by itself. */
static bool has_to_stay(const struct campaigns *cs, const struct campaign *c)
{
    const struct api_size_limits *limits = size_bound_limits(cs->bound);

    if ((limits->set && c->targets[0].id.vpid <= limits->min) || is_wanted(cs, c))
        return true;
    for (uint32_t v = c->targets[0].id.vpid + 1; v < cs->members->n; v++) {
        const struct member *m = members_get(cs->members, v);

        if (m && (m->state == MEMBER_WIRED || m->state == MEMBER_REPORTED) &&
            !leaves_with(cs, c, v) && !is_borrowed(cs, v))
            return true;
    }
    return false;
}

static size_t find_members(const struct campaigns *cs, const struct campaign *c, uint32_t *vpids)
{
    size_t n = 0;

    for (size_t i = 0; i < c->ntargets; i++) {
        const struct campaign_target *t = &c->targets[i];
        const struct member *m = t->added ? roster_find(cs->roster, t->id.vpid, t->id.epoch) : NULL;

        if (m && m->state == MEMBER_WIRED)
            vpids[n++] = t->id.vpid;
    }
    return n;
}

static bool release_members(struct campaigns *cs, const struct campaign *c)
{
    FREE_AUTO uint32_t *vpids = xcalloc(c->ntargets + 1, sizeof(*vpids));
    struct api_campaign_request body = {.sequence = campaign_table_sequence(cs->table),
                                        .kind = API_KIND_SHRINK,
                                        .drain_mode = API_DRAIN_WAIT,
                                        .deadline_s = -1,
                                        .ntargets = find_members(cs, c, vpids),
                                        .targets = vpids};
    struct campaign_asker asker = {.daemon = c->asker.daemon,
                                   .rank = c->asker.rank,
                                   .is_rank = true,
                                   .kind = RESIZE_RELEASE,
                                   .deadline_s = -1};
    enum api_reason reason = API_REASON_NONE;
    struct err err = {0};
    char id[64];

    bool done;

    if (body.ntargets == 0 || is_released(cs, c) || has_to_stay(cs, c))
        return false;
    asker.nspace = xstrdup(c->asker.nspace);
    asker.req_id = xstrdup("");
    asker.of = xstrdup(c->id);
    snprintf(id, sizeof(id), CAMPAIGN_REQUEST_PREFIX "%llu",
             (unsigned long long)campaign_table_requests(cs->table) + 1);
    out_log(cs->out, LOG_LEVEL_INFO, "extension %s ends with job %s", c->id, c->asker.nspace);
    done = campaign_admit(cs, id, &body, true, &asker, &reason, &err) == 0;
    asker_free(&asker);
    return done; /* the oldest campaign may have been forgotten: perhaps `c` */
}

static bool cancel_campaign(struct campaigns *cs, const struct campaign *c)
{
    enum api_reason reason = API_REASON_NONE;
    struct api_campaign record = {0};
    struct err err = {0};

    if (campaign_cancel(cs, c->id, &record, &reason, &err) < 0)
        return false;
    api_campaign_free(&record);
    return true;
}

/* The release of an extension whose job has ended, which waits for members that do not leave. */
static bool is_stuck(const struct campaigns *cs, const struct campaign *c)
{
    return c->req.kind == API_KIND_SHRINK && c->phase == API_PHASE_DRAINING && c->asker.nspace &&
           *c->asker.of && is_orphan(cs, c) && has_to_stay(cs, c);
}

bool extension_end_one(struct campaigns *cs)
{
    const struct campaign *c;

    if (incarnation_ending(cs->inc))
        return false;
    DL_FOREACH(campaign_table_first(cs->table), c)
    {
        if (is_stuck(cs, c))
            return cancel_campaign(cs, c);
        if (c->req.kind != API_KIND_GROW || !is_orphan(cs, c))
            continue;
        if ((c->phase == API_PHASE_GATHERING && cancel_campaign(cs, c)) ||
            (c->phase == API_PHASE_COMPLETE && release_members(cs, c)))
            return true;
    }
    return false;
}
