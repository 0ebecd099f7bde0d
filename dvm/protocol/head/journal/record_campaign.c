/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs of campaigns and of their changes, each encoder beside its decoder.
 *
 * In: a campaign of the head, or bytes. Out: bytes, or a campaign. Every list and text has a limit;
 * a value that no head writes sets c->bad, or gives a reason. Targets have to ascend, since they
 * are searched by bisection. */
#include "dvm/protocol/head/journal/record_campaign.h"

#include "dvm/protocol/state/state.h"

#include <stdlib.h>
#include <string.h>

#define CAUSE_MAX 255
#define TARGET_BYTES_MIN 5
#define JOB_BYTES_MIN 8

enum target_bits { /* an epoch follows if its bit is set */
                   TARGET_ADDED = 1,
                   TARGET_OUT = 2,
                   TARGET_DEPARTED = 4,
                   TARGET_OFFERED = 8,
                   TARGET_EPOCH = 16,
                   TARGET_LAST = 32,
                   TARGET_BITS = 64
};

/* --- fields */

static void put_target(struct buf *b, const struct campaign_target *t)
{
    buf_put_u32(b, t->id.vpid);
    buf_put_u8(b,
               (uint8_t)((t->added ? TARGET_ADDED : 0) | (t->out ? TARGET_OUT : 0) |
                         (t->departed ? TARGET_DEPARTED : 0) | (t->offered ? TARGET_OFFERED : 0) |
                         (epoch_none(t->id.epoch) ? 0 : TARGET_EPOCH) |
                         (epoch_none(t->last) ? 0 : TARGET_LAST)));
    if (!epoch_none(t->id.epoch))
        msg_put_epoch(b, t->id.epoch);
    if (!epoch_none(t->last))
        msg_put_epoch(b, t->last);
}

static struct campaign_target get_target(struct cur *c)
{
    struct campaign_target t = {.id.vpid = cur_u32(c)};
    unsigned bits = msg_get_enum(c, TARGET_BITS);

    t.added = bits & TARGET_ADDED;
    t.out = bits & TARGET_OUT;
    t.departed = bits & TARGET_DEPARTED;
    t.offered = bits & TARGET_OFFERED;
    if (bits & TARGET_EPOCH)
        t.id.epoch = msg_get_epoch(c);
    if (bits & TARGET_LAST)
        t.last = msg_get_epoch(c);
    c->bad |= !vpid_allowed(t.id.vpid);
    return t;
}

static void put_targets(struct buf *b, const struct campaign_target *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        put_target(b, &list[i]);
}

static struct campaign_target *get_targets(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, VPID_MAX + 1, TARGET_BYTES_MIN);
    struct campaign_target *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count; (*n)++) {
        list[*n] = get_target(c);
        if (*n && list[*n].id.vpid <= list[*n - 1].id.vpid)
            c->bad = true;
    }
    c->bad |= count == 0;
    return list;
}

void record_campaign_copy_job(struct api_job_ref *to, const struct api_job_ref *from)
{
    to->job = xstrdup(from->job);
    to->nranks = from->nranks;
    to->ranks = xcalloc(from->nranks + 1, sizeof(*to->ranks));
    memcpy(to->ranks, from->ranks, from->nranks * sizeof(*to->ranks));
}

static void put_jobs(struct buf *b, const struct api_job_ref *list, size_t n)
{
    buf_put_u32(b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        buf_put_str(b, list[i].job);
        msg_put_vpids(b, list[i].ranks, list[i].nranks);
    }
}

static struct api_job_ref *get_jobs(struct cur *c, size_t *n)
{
    size_t count = cur_count(c, UINT32_MAX, JOB_BYTES_MIN);
    struct api_job_ref *list = xcalloc(count + 1, sizeof(*list));

    for (*n = 0; *n < count; (*n)++) {
        list[*n].job = msg_get_nspace(c);
        list[*n].ranks = msg_get_vpids(c, &list[*n].nranks);
    }
    return list;
}

static void free_jobs(struct api_job_ref *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i].job);
        free(list[i].ranks);
    }
    free(list);
}

/* --- a whole campaign */

static void put_request(struct buf *b, const struct api_campaign_request *r)
{
    buf_put_u64(b, r->sequence);
    buf_put_u8(b, (uint8_t)r->kind);
    buf_put_u8(b, (uint8_t)r->drain_mode);
    buf_put_u8(b, r->keeps_size);
    buf_put_u64(b, (uint64_t)r->deadline_s);
}

static void get_request(struct cur *c, struct api_campaign_request *r)
{
    r->sequence = cur_u64(c);
    r->kind = (enum api_kind)msg_get_enum(c, API_KIND_GROW + 1);
    r->drain_mode = (enum api_drain_mode)msg_get_enum(c, API_DRAIN_KILL + 1);
    r->keeps_size = msg_get_flag(c);
    r->deadline_s = (int64_t)cur_u64(c);
    if (r->deadline_s < -1 || r->deadline_s > API_DEADLINE_MAX)
        c->bad = true;
}

static void put_asker(struct buf *b, const struct campaign_asker *a)
{
    buf_put_str(b, a->nspace);
    if (!a->nspace)
        return;
    buf_put_u32(b, a->rank);
    buf_put_u8(b, a->is_rank);
    buf_put_u32(b, a->daemon.vpid);
    msg_put_epoch(b, a->daemon.epoch);
    buf_put_u64(b, a->op);
    buf_put_str(b, a->req_id);
    buf_put_str(b, a->of);
    buf_put_u8(b, (uint8_t)a->kind);
    buf_put_u64(b, (uint64_t)a->deadline_s);
    buf_put_u32(b, a->count);
    msg_put_vpids(b, a->vpids, a->nvpids);
    buf_put_u8(b, a->keep);
    buf_put_u8(b, (uint8_t)a->told);
}

static void get_asker(struct cur *c, struct campaign_asker *a)
{
    char *nspace = msg_get_nspace(c);

    if (!*nspace) {
        free(nspace);
        return;
    }
    a->nspace = nspace;
    a->rank = cur_u32(c);
    a->is_rank = msg_get_flag(c);
    a->daemon.vpid = cur_u32(c);
    a->daemon.epoch = msg_get_epoch(c);
    a->op = cur_u64(c);
    a->req_id = cur_str(c, API_ID_MAX);
    a->of = cur_str(c, API_ID_MAX);
    a->kind = (enum resize_kind)msg_get_enum(c, RESIZE_KINDS);
    a->deadline_s = (int64_t)cur_u64(c);
    a->count = cur_u32(c);
    a->vpids = msg_get_vpids(c, &a->nvpids);
    a->keep = msg_get_flag(c);
    a->told = (enum api_told)msg_get_enum(c, API_TOLDS);
    c->bad |= !vpid_allowed(a->daemon.vpid);
}

void record_campaign_put(struct buf *b, const struct campaign *c)
{
    buf_put_str(b, c->id);
    put_request(b, &c->req);
    buf_put_u8(b, c->has_requester);
    put_asker(b, &c->asker);
    buf_put_u8(b, (uint8_t)c->phase);
    put_targets(b, c->targets, c->ntargets);
    buf_put_u64(b, c->size_sequence);
    buf_put_u64(b, c->op);
    buf_put_u64(b, c->deadline_ms);
    buf_put_u64(b, c->ack_by_ms);
    buf_put_str(b, c->cause);
    buf_put_u8(b, (uint8_t)c->why);
    buf_put_u8(b, c->told_jobs);
    put_jobs(b, c->ended, c->nended);
    buf_put_u64(b, (uint64_t)c->accepted_wall);
    buf_put_u64(b, (uint64_t)c->drained_wall);
    buf_put_u64(b, (uint64_t)c->fence_wall);
    buf_put_u64(b, (uint64_t)c->complete_wall);
}

static void get_campaign(struct cur *c, struct campaign *to)
{
    to->id = cur_str(c, API_ID_MAX);
    get_request(c, &to->req);
    to->has_requester = msg_get_flag(c);
    get_asker(c, &to->asker);
    to->phase = (enum api_phase)msg_get_enum(c, API_PHASES);
    to->targets = get_targets(c, &to->ntargets);
    to->size_sequence = cur_u64(c);
    to->op = cur_u64(c);
    to->deadline_ms = cur_u64(c);
    to->ack_by_ms = cur_u64(c);
    to->cause = cur_str(c, CAUSE_MAX);
    to->why = (enum resize_status)msg_get_enum(c, RESIZE_STATUSES);
    to->told_jobs = msg_get_flag(c);
    to->ended = get_jobs(c, &to->nended);
    to->accepted_wall = (int64_t)cur_u64(c);
    to->drained_wall = (int64_t)cur_u64(c);
    to->fence_wall = (int64_t)cur_u64(c);
    to->complete_wall = (int64_t)cur_u64(c);
}

/* What is not encoded since it follows from the rest. */
static void derive_rest(struct campaign *c)
{
    c->req.ntargets = c->ntargets;
    c->req.targets = xcalloc(c->ntargets + 1, sizeof(*c->req.targets));
    for (size_t i = 0; i < c->ntargets; i++) {
        c->req.targets[i] = c->targets[i].id.vpid;
        c->nout += c->targets[i].out;
    }
    if (!*c->cause)
        free_ptr(&c->cause);
}

struct campaign *record_campaign_get(struct cur *c, struct err *err)
{
    struct campaign *to = xcalloc(1, sizeof(*to));

    get_campaign(c, to);
    if (c->bad || !*to->id) {
        err_set(err, "campaign %s is malformed", to->id);
        record_campaign_free(to);
        return NULL;
    }
    derive_rest(to);
    return to;
}

void record_campaign_free(struct campaign *c)
{
    if (!c)
        return;
    free_jobs(c->ended, c->nended);
    free(c->targets);
    free(c->cause);
    free(c->asker.nspace);
    free(c->asker.req_id);
    free(c->asker.of);
    free(c->asker.vpids);
    free(c->id);
    free(c->look);
    api_campaign_request_free(&c->req);
    free(c);
}

/* --- changes of a campaign */

void record_campaign_put_step(struct buf *b, const struct record_campaign_step *r)
{
    buf_put_str(b, r->id);
    buf_put_u8(b, r->event);
    buf_put_u64(b, (uint64_t)r->wall_ms);
    buf_put_u8(b, (uint8_t)r->why);
    buf_put_str(b, r->cause);
    buf_put_u8(b, (uint8_t)r->told);
}

void record_campaign_get_step(struct cur *c, struct record_campaign_step *r)
{
    r->id = cur_str(c, API_ID_MAX);
    r->event = msg_get_enum(c, CAMPAIGN_EV_FAIL + 1);
    r->wall_ms = (int64_t)cur_u64(c);
    r->why = (enum resize_status)msg_get_enum(c, RESIZE_STATUSES);
    r->cause = cur_str(c, CAUSE_MAX);
    r->told = (enum api_told)msg_get_enum(c, API_TOLDS);
}

void record_campaign_put_targets(struct buf *b, const struct record_campaign_targets *r)
{
    buf_put_str(b, r->id);
    put_targets(b, r->targets, r->n);
}

void record_campaign_get_targets(struct cur *c, struct record_campaign_targets *r)
{
    r->id = cur_str(c, API_ID_MAX);
    r->targets = get_targets(c, &r->n);
}

void record_campaign_put_op(struct buf *b, const struct record_campaign_op *r)
{
    buf_put_str(b, r->id);
    buf_put_u64(b, r->op);
    buf_put_u64(b, r->ack_by_ms);
}

void record_campaign_get_op(struct cur *c, struct record_campaign_op *r)
{
    r->id = cur_str(c, API_ID_MAX);
    r->op = cur_u64(c);
    r->ack_by_ms = cur_u64(c);
}

void record_campaign_put_jobs(struct buf *b, const struct record_campaign_jobs *r)
{
    buf_put_str(b, r->id);
    put_jobs(b, r->jobs, r->n);
}

void record_campaign_get_jobs(struct cur *c, struct record_campaign_jobs *r)
{
    r->id = cur_str(c, API_ID_MAX);
    r->jobs = get_jobs(c, &r->n);
}

void record_campaign_free_jobs(struct record_campaign_jobs *r)
{
    free(r->id);
    free_jobs(r->jobs, r->n);
}

void record_campaign_put_asker(struct buf *b, const struct record_campaign_asker *r)
{
    buf_put_str(b, r->id);
    buf_put_u32(b, r->daemon.vpid);
    msg_put_epoch(b, r->daemon.epoch);
    buf_put_u64(b, r->op);
}

void record_campaign_get_asker(struct cur *c, struct record_campaign_asker *r)
{
    r->id = cur_str(c, API_ID_MAX);
    r->daemon.vpid = cur_u32(c);
    r->daemon.epoch = msg_get_epoch(c);
    r->op = cur_u64(c);
    c->bad |= !vpid_allowed(r->daemon.vpid);
}
