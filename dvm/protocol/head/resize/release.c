/* SPDX-License-Identifier: BSD-3-Clause */
/* Releases that daemons request for themselves (SIGTERM): a StatefulSet that is scaled down, a
 * drained node.
 *
 * In: RELEASE_ME of a member. Out: one shrink campaign without requester for all that have asked
 * within RELEASE_WINDOW_MS. Who waits is in the journal.
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
    struct record_release ask;
    struct release *next, *prev;
};

struct releases { /* the fold of RELEASE and RELEASE_WINDOW */
    struct release *list;
    uint64_t at_ms; /* end of the window; 0: no request waits */
};

/* --- the fold */

static const struct release *find_release(const struct releases *rs, uint32_t vpid)
{
    const struct release *r;

    DL_FOREACH(rs->list, r)
    {
        if (r->ask.id.vpid == vpid)
            return r;
    }
    return NULL;
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

static int fold_release(struct releases *rs, const struct record_release *ask, struct err *err)
{
    struct release *r;

    if (find_release(rs, ask->id.vpid))
        return err_set(err, "vpid %u waits already", ask->id.vpid);
    r = xcalloc(1, sizeof(*r));
    r->ask = *ask;
    DL_APPEND(rs->list, r);
    if (!rs->at_ms)
        rs->at_ms = ask->until_ms;
    return 0;
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct releases *rs = state;

    if (r->type == RECORD_RELEASE)
        return fold_release(rs, &r->release, err);
    if (r->type != RECORD_RELEASE_WINDOW)
        return 0;
    if (!rs->list)
        return err_set(err, "nobody waits");
    rs->at_ms = r->release_window.until_ms;
    if (!rs->at_ms)
        drop_releases(rs);
    return 0;
}

static void save_state(const void *state, struct buf *b)
{
    const struct releases *rs = state;
    const struct release *r;

    buf_put_u64(b, rs->at_ms);
    DL_FOREACH(rs->list, r)
    {
        record_put_release(b, &r->ask);
    }
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct releases *rs = state;
    uint64_t at_ms = cur_u64(c);

    while (cur_left(c)) {
        struct record_release ask = {0};

        if (record_get_release(c, &ask, err) < 0)
            return -1;
        if (c->bad)
            return 0;
        if (fold_release(rs, &ask, err) < 0)
            return -1;
    }
    rs->at_ms = at_ms;
    return !at_ms == !rs->list ? 0 : err_set(err, "a window without releases, or the reverse");
}

struct releases *releases_create(struct journal *j)
{
    struct releases *rs = xcalloc(1, sizeof(*rs));
    struct journal_part part = {rs, fold_record, save_state, load_state};

    journal_add_part(j, &part);
    return rs;
}

void releases_destroy(struct releases *rs)
{
    if (!rs)
        return;
    drop_releases(rs);
    free(rs);
}

/* --- requests, and the campaigns that they become */

static int64_t limit_deadline(int64_t seconds)
{
    return seconds < 0 ? -1 : seconds > API_DEADLINE_MAX ? API_DEADLINE_MAX : seconds;
}

void release_ask(struct campaigns *cs, uint32_t from, const struct msg_release_me *m)
{
    const struct member *x = members_get(cs->members, from);
    struct record r = {.type = RECORD_RELEASE,
                       .release = {.deadline_s = limit_deadline(m->deadline_s),
                                   .kill = m->kill,
                                   .until_ms = cs->out->now_ms + RELEASE_WINDOW_MS}};

    if (!x || x->state != MEMBER_WIRED || incarnation_ending(cs->inc) ||
        find_release(cs->releases, from))
        return;
    r.release.id = (struct msg_target){from, members_epoch(cs->members, x)};
    journal_note(cs->journal, &r);
}

/* They wait until then; 0: nobody does. */
static void note_window(struct campaigns *cs, uint64_t until_ms)
{
    struct record r = {.type = RECORD_RELEASE_WINDOW, .release_window = {until_ms}};

    journal_note(cs->journal, &r);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The daemons that have asked and are still wired, with the nearest of their deadlines. */
static void gather_releases(const struct campaigns *cs, struct api_campaign_request *r)
{
    const struct release *x;

    DL_FOREACH(cs->releases->list, x)
    {
        const struct record_release *a = &x->ask;
        const struct member *m = roster_find(cs->roster, a->id.vpid, a->id.epoch);

        if (m && m->state == MEMBER_WIRED)
            r->targets[r->ntargets++] = a->id.vpid;
        if (a->deadline_s >= 0 && (r->deadline_s < 0 || a->deadline_s < r->deadline_s))
            r->deadline_s = a->deadline_s;
        r->drain_mode = a->kill ? API_DRAIN_KILL : API_DRAIN_WAIT;
    }
    qsort(r->targets, r->ntargets, sizeof(*r->targets), compare_numbers);
}

void releases_steps(struct campaigns *cs)
{
    struct api_campaign_request r = {.kind = API_KIND_SHRINK,
                                     .keeps_size = true,
                                     .deadline_s = -1,
                                     .drain_mode = API_DRAIN_WAIT};
    FREE_AUTO uint32_t *vpids = NULL;
    enum api_reason reason;
    struct err err = {0};
    char id[64];

    if (!cs->releases->at_ms || cs->releases->at_ms > cs->out->now_ms)
        return;
    vpids = xcalloc(cs->members->n + 1, sizeof(*vpids));
    r.targets = vpids;
    gather_releases(cs, &r);
    snprintf(id, sizeof(id), CAMPAIGN_RELEASE_PREFIX "%llu",
             (unsigned long long)campaign_table_releases(cs->table) + 1);
    if (r.ntargets && !incarnation_ending(cs->inc) &&
        campaign_admit(cs, id, &r, false, NULL, &reason, &err) < 0) {
        out_log(cs->out, LOG_LEVEL_WARN, "%zu daemons that want to leave have to wait: %s",
                r.ntargets, err.msg);
        note_window(cs, cs->out->now_ms + RELEASE_WINDOW_MS);
        return;
    }
    note_window(cs, 0);
}

uint64_t releases_next_deadline(const struct releases *rs)
{
    return rs->at_ms ? rs->at_ms : UINT64_MAX;
}
