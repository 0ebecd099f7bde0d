/* SPDX-License-Identifier: BSD-3-Clause */
/* The fold of the records of campaigns.
 *
 * In: CAMPAIGN and the records of its changes. Out: running and ended campaigns in order of
 * acceptance, and the numbers that the ids and sequences of the next ones need.
 *
 * At RESIZE_CAMPAIGNS_MAX a new campaign replaces the oldest ended one. A record that names no
 * campaign here, a vpid that is no target, or a step that the table of phases does not have, is
 * refused. */
#include "dvm/protocol/head/resize/campaign_table.h"

#include "dvm/protocol/head/resize/resize.h"
#include "dvm/protocol/state/state.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct campaign_table {
    struct campaign *list;
    size_t n;
    uint64_t sequence, requests, releases;
};

static struct campaign *find_campaign(const struct campaign_table *t, const char *id)
{
    struct campaign *c;

    DL_FOREACH(t->list, c)
    {
        if (strcmp(c->id, id) == 0)
            return c;
    }
    return NULL;
}

static int compare_vpids(const void *key, const void *element)
{
    uint32_t vpid = *(const uint32_t *)key;
    uint32_t other = ((const struct campaign_target *)element)->id.vpid;

    return vpid < other ? -1 : vpid > other;
}

static struct campaign_target *find_target(const struct campaign *c, uint32_t vpid)
{
    return bsearch(&vpid, c->targets, c->ntargets, sizeof(*c->targets), compare_vpids);
}

/* --- the fold */

static void keep_campaign(struct campaign_table *t, struct campaign *c)
{
    c->look = xcalloc(1, sizeof(*c->look));
    DL_APPEND(t->list, c);
    t->n++;
}

static void forget_campaign(struct campaign_table *t, struct campaign *c)
{
    DL_DELETE(t->list, c);
    record_campaign_free(c);
    t->n--;
}

/* By way of its own codec. */
static struct campaign *copy_campaign(const struct campaign *c, struct err *err)
{
    BUF_AUTO struct buf b = {0};
    struct cur cur;

    buf_init(&b, RECORD_BYTES_MAX);
    record_campaign_put(&b, c);
    cur = cur_of(b.data, b.len);
    return record_campaign_get(&cur, err);
}

static int check_new(const struct campaign_table *t, const struct campaign *c, struct err *err)
{
    enum api_phase first = c->req.kind == API_KIND_GROW ? API_PHASE_GATHERING : API_PHASE_DRAINING;

    if (find_campaign(t, c->id))
        return err_set(err, "campaign %s is known", c->id);
    if (c->phase != first)
        return err_set(err, "campaign %s begins as %s", c->id, api_phase_name(c->phase));
    if (c->has_requester && c->req.sequence < t->sequence)
        return err_set(err, "campaign %s: sequence %llu after %llu", c->id,
                       (unsigned long long)c->req.sequence, (unsigned long long)t->sequence);
    return 0;
}

static int fold_campaign(struct campaign_table *t, const struct campaign *c, struct err *err)
{
    struct campaign *old = (struct campaign *)campaign_table_next_forgotten(t);
    struct campaign *own;

    if (check_new(t, c, err) < 0)
        return -1;
    own = copy_campaign(c, err);
    if (!own)
        return -1;
    if (old)
        forget_campaign(t, old);
    keep_campaign(t, own);
    if (own->has_requester)
        t->sequence = own->req.sequence;
    else
        t->releases++;
    t->requests += own->asker.nspace != NULL;
    return 0;
}

/* A former head may have given these numbers, in records that are lost. */
static int fold_heir(struct campaign_table *t, const struct record_heir *r)
{
    t->requests += r->skipped;
    t->releases += r->skipped;
    return 0;
}

static int fold_members(struct campaign_table *t, const struct record_members *r)
{
    t->requests = r->last_name;
    t->releases = r->last_name;
    return 0;
}

static void note_times(struct campaign *c, const struct record_campaign_step *s)
{
    if (s->event == CAMPAIGN_EV_DRAINED)
        c->drained_wall = s->wall_ms;
    if (s->event == CAMPAIGN_EV_DRAINED || s->event == CAMPAIGN_EV_COME)
        c->fence_wall = s->wall_ms;
    if (api_phase_terminal(c->phase))
        c->complete_wall = s->wall_ms;
}

static int fold_step(struct campaign *c, const struct record_campaign_step *s, struct err *err)
{
    int phase = (int)c->phase;

    if (fsm_step(&campaign_fsm, &phase, s->event, NULL, err) < 0)
        return -1;
    c->phase = (enum api_phase)phase;
    note_times(c, s);
    if (s->event == CAMPAIGN_EV_FAIL || s->event == CAMPAIGN_EV_CANCEL)
        c->why = s->why;
    if (s->event == CAMPAIGN_EV_FAIL) {
        free(c->cause);
        c->cause = *s->cause ? xstrdup(s->cause) : NULL;
        c->op = 0;
    }
    if (c->asker.nspace)
        c->asker.told = s->told;
    return 0;
}

static int fold_targets(struct campaign *c, const struct record_campaign_targets *r,
                        struct err *err)
{
    for (size_t i = 0; i < r->n; i++) {
        if (!find_target(c, r->targets[i].id.vpid))
            return err_set(err, "campaign %s: vpid %u is no target", c->id, r->targets[i].id.vpid);
    }
    for (size_t i = 0; i < r->n; i++) {
        struct campaign_target *own = find_target(c, r->targets[i].id.vpid);

        c->nout = c->nout - own->out + r->targets[i].out;
        *own = r->targets[i];
    }
    return 0;
}

static int fold_op(struct campaign *c, const struct record_campaign_op *r, struct err *err)
{
    if (api_phase_terminal(c->phase) || r->op == 0 ||
        r->op < c->op) /* the same one again: it has more time */
        return err_set(err, "campaign %s: operation %llu after %llu, phase %s", c->id,
                       (unsigned long long)r->op, (unsigned long long)c->op,
                       api_phase_name(c->phase));
    c->op = r->op;
    c->ack_by_ms = r->ack_by_ms;
    return 0;
}

static int fold_jobs(struct campaign *c, const struct record_campaign_jobs *r, struct err *err)
{
    if (c->phase != API_PHASE_DRAINING)
        return err_set(err, "campaign %s ends jobs as %s", c->id, api_phase_name(c->phase));
    c->told_jobs = true;
    c->ended = xrealloc(c->ended, (c->nended + r->n + 1) * sizeof(*c->ended));
    for (size_t i = 0; i < r->n; i++)
        record_campaign_copy_job(&c->ended[c->nended++], &r->jobs[i]);
    return 0;
}

static int fold_asker(struct campaign *c, const struct record_campaign_asker *r, struct err *err)
{
    if (!c->asker.nspace || api_phase_terminal(c->phase))
        return err_set(err, "campaign %s: nobody waits for its end", c->id);
    c->asker.daemon = r->daemon;
    c->asker.op = r->op;
    return 0;
}

/* The campaign that a record of a change names; NULL: the record is none. */
static const char *name_of(const struct record *r)
{
    switch (r->type) {
    case RECORD_CAMPAIGN_STEP:
        return r->campaign_step.id;
    case RECORD_CAMPAIGN_TARGETS:
        return r->campaign_targets.id;
    case RECORD_CAMPAIGN_OP:
        return r->campaign_op.id;
    case RECORD_CAMPAIGN_JOBS:
        return r->campaign_jobs.id;
    case RECORD_CAMPAIGN_ASKER:
        return r->campaign_asker.id;
    default:
        return NULL;
    }
}

static int fold_change(struct campaign *c, const struct record *r, struct err *err)
{
    switch (r->type) {
    case RECORD_CAMPAIGN_STEP:
        return fold_step(c, &r->campaign_step, err);
    case RECORD_CAMPAIGN_TARGETS:
        return fold_targets(c, &r->campaign_targets, err);
    case RECORD_CAMPAIGN_OP:
        return fold_op(c, &r->campaign_op, err);
    case RECORD_CAMPAIGN_JOBS:
        return fold_jobs(c, &r->campaign_jobs, err);
    default:
        return fold_asker(c, &r->campaign_asker, err);
    }
}

static int fold_record(void *state, const struct record *r, struct err *err)
{
    struct campaign_table *t = state;
    const char *id = name_of(r);
    struct campaign *c = id ? find_campaign(t, id) : NULL;

    if (r->type == RECORD_MEMBERS)
        return fold_members(t, &r->members);
    if (r->type == RECORD_HEIR)
        return fold_heir(t, &r->heir);
    if (r->type == RECORD_CAMPAIGN)
        return fold_campaign(t, r->campaign, err);
    if (!id)
        return 0;
    return c ? fold_change(c, r, err) : err_set(err, "campaign %s is not known", id);
}

static void save_state(const void *state, struct buf *b)
{
    const struct campaign_table *t = state;
    const struct campaign *c;

    buf_put_u64(b, t->sequence);
    buf_put_u64(b, t->requests);
    buf_put_u64(b, t->releases);
    DL_FOREACH(t->list, c)
    {
        record_campaign_put(b, c);
    }
}

static int load_state(void *state, struct cur *c, struct err *err)
{
    struct campaign_table *t = state;

    t->sequence = cur_u64(c);
    t->requests = cur_u64(c);
    t->releases = cur_u64(c);
    while (cur_left(c)) {
        struct campaign *own = record_campaign_get(c, err);

        if (!own)
            return -1;
        if (find_campaign(t, own->id)) {
            err_set(err, "campaign %s is known", own->id);
            record_campaign_free(own);
            return -1;
        }
        keep_campaign(t, own);
    }
    return 0;
}

struct campaign_table *campaign_table_create(struct journal *j)
{
    struct campaign_table *t = xcalloc(1, sizeof(*t));
    struct journal_part part = {t, fold_record, save_state, load_state};

    journal_add_part(j, &part);
    return t;
}

void campaign_table_destroy(struct campaign_table *t)
{
    if (!t)
        return;
    while (t->list)
        forget_campaign(t, t->list);
    free(t);
}

/* --- questions */

const struct campaign *campaign_table_first(const struct campaign_table *t)
{
    return t->list;
}

const struct campaign *campaign_table_last(const struct campaign_table *t)
{
    return t->list ? t->list->prev : NULL;
}

const struct campaign *campaign_table_find(const struct campaign_table *t, const char *id)
{
    return find_campaign(t, id);
}

const struct campaign_target *campaign_table_target(const struct campaign *c, uint32_t vpid)
{
    return find_target(c, vpid);
}

size_t campaign_table_count(const struct campaign_table *t)
{
    return t->n;
}

static const struct campaign *oldest_ended(const struct campaign_table *t)
{
    const struct campaign *c;

    DL_FOREACH(t->list, c)
    {
        if (api_phase_terminal(c->phase))
            return c;
    }
    return NULL;
}

const struct campaign *campaign_table_next_forgotten(const struct campaign_table *t)
{
    return t->n < RESIZE_CAMPAIGNS_MAX ? NULL : oldest_ended(t);
}

bool campaign_table_room(const struct campaign_table *t)
{
    return t->n < RESIZE_CAMPAIGNS_MAX || oldest_ended(t);
}

uint64_t campaign_table_sequence(const struct campaign_table *t)
{
    return t->sequence;
}

uint64_t campaign_table_requests(const struct campaign_table *t)
{
    return t->requests;
}

uint64_t campaign_table_releases(const struct campaign_table *t)
{
    return t->releases;
}
