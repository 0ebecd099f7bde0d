/* SPDX-License-Identifier: BSD-3-Clause */
/* The codecs of records, each encoder beside its decoder.
 *
 * In: a record of the head, or bytes that a keeper or a disk returns. Out: bytes, or a record; of
 * bytes that no head has written a reason. The first byte is the type.
 *
 * Every list and text has a limit, and a count is checked against the bytes that are left before
 * memory is taken for it. A membership operation has the body of its message
 * (dvm/protocol/wire/msg), an event the JSON of the control API. */
#include "dvm/protocol/head/journal/record.h"

#include "dvm/protocol/map/topo.h"
#include "dvm/protocol/member/member.h"
#include "dvm/protocol/state/state.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_HOST_MAX 253
#define RECORD_EVENT_MAX (16u << 20) /* bytes of an event's JSON */

/* --- codecs by type */

static int get_layout(struct cur *c, struct err *err)
{
    unsigned layout = cur_u8(c);

    return layout == RECORD_LAYOUT || c->bad
               ? 0
               : err_set(err, "layout %u, this head reads %u", layout, RECORD_LAYOUT);
}

static void put_snapshot(struct buf *b, const struct record *r)
{
    buf_put_u8(b, RECORD_LAYOUT);
    buf_put_bytes(b, r->snapshot.data, r->snapshot.len);
}

static int get_snapshot(struct cur *c, struct record *r, struct err *err)
{
    if (get_layout(c, err) < 0)
        return -1;
    r->snapshot.data = cur_bytes(c, RECORD_SNAPSHOT_MAX, &r->snapshot.len);
    return 0;
}

static void put_begin(struct buf *b, const struct record *r)
{
    buf_put_u8(b, RECORD_LAYOUT);
    buf_put_str(b, r->begin.cluster);
    buf_put_u64(b, r->begin.incarnation);
    buf_put_u32(b, r->begin.size);
    buf_put_u64(b, r->begin.now_ms);
    buf_put_u64(b, r->begin.wall_ms);
    msg_put_member(b, &r->begin.head);
}

static int get_begin(struct cur *c, struct record *r, struct err *err)
{
    if (get_layout(c, err) < 0)
        return -1;
    r->begin.cluster = cur_str(c, API_NAME_MAX);
    r->begin.incarnation = cur_u64(c);
    r->begin.size = cur_u32(c);
    r->begin.now_ms = msg_get_moment(c);
    r->begin.wall_ms = msg_get_moment(c);
    msg_get_member(c, &r->begin.head);
    if (!c->bad && (r->begin.incarnation == 0 || r->begin.head.vpid != VPID_HEAD ||
                    r->begin.head.epoch.inc != r->begin.incarnation))
        return err_set(err, "no epoch of a head");
    return vpid_check("size", r->begin.size, err);
}

static void free_begin(struct record *r)
{
    free(r->begin.cluster);
    msg_member_free(&r->begin.head);
}

static void put_clock(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->clock.now_ms);
    buf_put_u64(b, r->clock.wall_ms);
}

static int get_clock(struct cur *c, struct record *r, struct err *err)
{
    r->clock.now_ms = msg_get_moment(c);
    r->clock.wall_ms = msg_get_moment(c);
    return 0;
}

static void put_ending(struct buf *b, const struct record *r)
{
    buf_put_u8(b, (uint8_t)r->ending.why);
    buf_put_u64(b, r->ending.at_ms);
}

static int get_ending(struct cur *c, struct record *r, struct err *err)
{
    r->ending.why = (enum shutdown_why)msg_get_enum(c, SHUTDOWN_WHYS);
    r->ending.at_ms = cur_u64(c);
    return 0;
}

static void put_heir(struct buf *b, const struct record *r)
{
    msg_put_member(b, &r->heir.head);
    buf_put_u64(b, r->heir.skipped);
}

static int get_heir(struct cur *c, struct record *r, struct err *err)
{
    msg_get_member(c, &r->heir.head);
    if (!c->bad && (r->heir.head.vpid != VPID_HEAD || epoch_none(r->heir.head.epoch)))
        return err_set(err, "no epoch of a head");
    r->heir.skipped = cur_u64(c);
    if (r->heir.skipped > RECORD_SKIPPED_MAX)
        return err_set(err, "%llu numbers are skipped", (unsigned long long)r->heir.skipped);
    return 0;
}

static void free_heir(struct record *r)
{
    msg_member_free(&r->heir.head);
}

void record_put_size(struct buf *b, const struct record_size *r)
{
    buf_put_u64(b, r->sequence);
    buf_put_u32(b, r->size);
    buf_put_u32(b, r->bound);
    buf_put_u32(b, r->base);
    buf_put_u8(b, r->limits.set);
    buf_put_u32(b, r->limits.min);
    buf_put_u32(b, r->limits.max);
}

int record_get_size(struct cur *c, struct record_size *r, struct err *err)
{
    r->sequence = cur_u64(c);
    r->size = cur_u32(c);
    r->bound = cur_u32(c);
    r->base = cur_u32(c);
    r->limits.set = msg_get_flag(c);
    r->limits.min = cur_u32(c);
    r->limits.max = cur_u32(c);
    if (!vpid_allowed(r->size) || !vpid_allowed(r->bound) || !vpid_allowed(r->base))
        return err_set(err, "%u, %u or %u members", r->size, r->bound, r->base);
    return 0;
}

static void put_size(struct buf *b, const struct record *r)
{
    record_put_size(b, &r->size);
}

static int get_size(struct cur *c, struct record *r, struct err *err)
{
    return record_get_size(c, &r->size, err);
}

void record_put_cpus(struct buf *b, const struct record_cpus *r)
{
    buf_put_u32(b, r->vpid);
    buf_put_str(b, r->host);
    buf_put_str(b, r->text);
}

int record_get_cpus(struct cur *c, struct record_cpus *r, struct err *err)
{
    r->vpid = cur_u32(c);
    r->host = cur_str(c, RECORD_HOST_MAX);
    r->text = cur_str(c, TOPO_TEXT_MAX);
    return vpid_check("vpid", r->vpid, err);
}

static void put_cpus(struct buf *b, const struct record *r)
{
    record_put_cpus(b, &r->cpus);
}

static int get_cpus(struct cur *c, struct record *r, struct err *err)
{
    return record_get_cpus(c, &r->cpus, err);
}

static void free_cpus(struct record *r)
{
    free(r->cpus.host);
    free(r->cpus.text);
}

static void put_admitted(struct buf *b, const struct record *r)
{
    msg_put_keyed_member(b, &r->admitted.facts);
}

static int get_admitted(struct cur *c, struct record *r, struct err *err)
{
    msg_get_keyed_member(c, &r->admitted.facts);
    if (!c->bad && (r->admitted.facts.vpid == VPID_HEAD || epoch_none(r->admitted.facts.epoch)))
        return err_set(err, "vpid %u, epoch %llu", r->admitted.facts.vpid,
                       (unsigned long long)r->admitted.facts.epoch.ctr);
    return 0;
}

static void free_admitted(struct record *r)
{
    msg_member_free(&r->admitted.facts);
}

static void put_step(struct buf *b, const struct record *r)
{
    buf_put_u32(b, r->step.vpid);
    buf_put_u8(b, r->step.event);
}

static int get_step(struct cur *c, struct record *r, struct err *err)
{
    r->step.vpid = cur_u32(c);
    r->step.event = msg_get_enum(c, MEMBER_EV_LOSE + 1);
    if (!c->bad && (r->step.vpid == VPID_HEAD || !vpid_allowed(r->step.vpid) || !r->step.event))
        return err_set(err, "vpid %u, event %u", r->step.vpid, r->step.event);
    return 0;
}

static void put_op(struct buf *b, const struct record *r)
{
    buf_put_u8(b, r->op.urgent);
    buf_put_u8(b, (uint8_t)r->op.msg.type);
    msg_encode(b, &r->op.msg);
}

static int get_op(struct cur *c, struct record *r, struct err *err)
{
    unsigned type;

    r->op.urgent = msg_get_flag(c);
    type = cur_u8(c);
    if (type != MSG_ADD && type != MSG_REMOVE && type != MSG_SHUTDOWN)
        return err_set(err, "message type %u is no membership operation", type);
    if (msg_decode(c, type, &r->op.msg, err) < 0)
        return -1;
    return msg_op(&r->op.msg) ? 0 : err_set(err, "an operation without a number");
}

static void free_op(struct record *r)
{
    msg_free(&r->op.msg);
}

static void put_completed(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->completed.version);
}

static int get_completed(struct cur *c, struct record *r, struct err *err)
{
    r->completed.version = cur_u64(c);
    return 0;
}

void record_put_event(struct buf *b, const struct api_event *e)
{
    json_t *o = api_event_encode(e);
    FREE_AUTO char *text = json_dumps(o, JSON_COMPACT);

    json_decref(o);
    if (!text)
        alloc_fail(0);
    buf_put_str(b, text);
}

int record_get_event(struct cur *c, struct api_event *e, struct err *err)
{
    FREE_AUTO char *text = cur_str(c, RECORD_EVENT_MAX);
    json_error_t why;
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    int rc;

    if (!o)
        return err_set(err, "event: %s", why.text);
    rc = api_event_decode(o, e, err);
    json_decref(o);
    return rc;
}

static void put_event(struct buf *b, const struct record *r)
{
    record_put_event(b, &r->event.event);
}

static int get_event(struct cur *c, struct record *r, struct err *err)
{
    return record_get_event(c, &r->event.event, err);
}

static void free_event(struct record *r)
{
    api_event_free(&r->event.event);
}

/* --- campaigns (record_campaign.c) */

static void put_campaign(struct buf *b, const struct record *r)
{
    record_campaign_put(b, r->campaign);
}

static int get_campaign(struct cur *c, struct record *r, struct err *err)
{
    r->campaign = record_campaign_get(c, err);
    return r->campaign ? 0 : -1;
}

static void free_campaign(struct record *r)
{
    record_campaign_free(r->campaign);
}

static void put_campaign_step(struct buf *b, const struct record *r)
{
    record_campaign_put_step(b, &r->campaign_step);
}

static int get_campaign_step(struct cur *c, struct record *r, struct err *err)
{
    record_campaign_get_step(c, &r->campaign_step);
    return c->bad || r->campaign_step.event ? 0 : err_set(err, "event 0");
}

static void free_campaign_step(struct record *r)
{
    free(r->campaign_step.id);
    free(r->campaign_step.cause);
}

static void put_campaign_targets(struct buf *b, const struct record *r)
{
    record_campaign_put_targets(b, &r->campaign_targets);
}

static int get_campaign_targets(struct cur *c, struct record *r, struct err *err)
{
    record_campaign_get_targets(c, &r->campaign_targets);
    return 0;
}

static void free_campaign_targets(struct record *r)
{
    free(r->campaign_targets.id);
    free(r->campaign_targets.targets);
}

static void put_campaign_op(struct buf *b, const struct record *r)
{
    record_campaign_put_op(b, &r->campaign_op);
}

static int get_campaign_op(struct cur *c, struct record *r, struct err *err)
{
    record_campaign_get_op(c, &r->campaign_op);
    return 0;
}

static void free_campaign_op(struct record *r)
{
    free(r->campaign_op.id);
}

static void put_campaign_jobs(struct buf *b, const struct record *r)
{
    record_campaign_put_jobs(b, &r->campaign_jobs);
}

static int get_campaign_jobs(struct cur *c, struct record *r, struct err *err)
{
    record_campaign_get_jobs(c, &r->campaign_jobs);
    return 0;
}

static void free_campaign_jobs(struct record *r)
{
    record_campaign_free_jobs(&r->campaign_jobs);
}

static void put_campaign_asker(struct buf *b, const struct record *r)
{
    record_campaign_put_asker(b, &r->campaign_asker);
}

static int get_campaign_asker(struct cur *c, struct record *r, struct err *err)
{
    record_campaign_get_asker(c, &r->campaign_asker);
    return 0;
}

static void free_campaign_asker(struct record *r)
{
    free(r->campaign_asker.id);
}

/* --- releases */

void record_put_release(struct buf *b, const struct record_release *r)
{
    buf_put_u32(b, r->id.vpid);
    msg_put_epoch(b, r->id.epoch);
    buf_put_u64(b, (uint64_t)r->deadline_s);
    buf_put_u8(b, r->kill);
    buf_put_u64(b, r->until_ms);
}

int record_get_release(struct cur *c, struct record_release *r, struct err *err)
{
    r->id.vpid = cur_u32(c);
    r->id.epoch = msg_get_epoch(c);
    r->deadline_s = (int64_t)cur_u64(c);
    r->kill = msg_get_flag(c);
    r->until_ms = cur_u64(c);
    if (!c->bad && (!vpid_allowed(r->id.vpid) || epoch_none(r->id.epoch) || r->until_ms == 0 ||
                    r->deadline_s < -1 || r->deadline_s > API_DEADLINE_MAX))
        return err_set(err, "vpid %u, %lld s", r->id.vpid, (long long)r->deadline_s);
    return 0;
}

static void put_release(struct buf *b, const struct record *r)
{
    record_put_release(b, &r->release);
}

static int get_release(struct cur *c, struct record *r, struct err *err)
{
    return record_get_release(c, &r->release, err);
}

static void put_release_window(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->release_window.until_ms);
}

static int get_release_window(struct cur *c, struct record *r, struct err *err)
{
    r->release_window.until_ms = cur_u64(c);
    return 0;
}

/* --- jobs */

void record_put_job(struct buf *b, const struct record_job *r)
{
    buf_put_u64(b, r->number);
    buf_put_u32(b, r->submit_vpid);
    buf_put_u32(b, r->submit_client);
    msg_put_epoch(b, r->submit_epoch);
    buf_put_u32(b, r->home_vpid);
    buf_put_u32(b, r->home_client);
    buf_put_u8(b, r->adopted);
    job_spec_encode(b, &r->spec);
}

int record_get_job(struct cur *c, struct record_job *r, struct err *err)
{
    r->number = cur_u64(c);
    r->submit_vpid = cur_u32(c);
    r->submit_client = cur_u32(c);
    r->submit_epoch = msg_get_epoch(c);
    r->home_vpid = cur_u32(c);
    r->home_client = cur_u32(c);
    r->adopted = msg_get_flag(c);
    if (c->bad || r->number == 0 || !vpid_allowed(r->submit_vpid) || epoch_none(r->submit_epoch))
        return err_set(err, "job %llu of vpid %u", (unsigned long long)r->number, r->submit_vpid);
    return job_spec_decode(c, &r->spec, err);
}

void record_job_free(struct record_job *r)
{
    job_spec_free(&r->spec);
}

static void put_job(struct buf *b, const struct record *r)
{
    record_put_job(b, &r->job);
}

static int get_job(struct cur *c, struct record *r, struct err *err)
{
    return record_get_job(c, &r->job, err);
}

static void free_job(struct record *r)
{
    record_job_free(&r->job);
}

static void put_job_map(struct buf *b, const struct record *r)
{
    record_job_map_put(b, &r->job_map);
}

static int get_job_map(struct cur *c, struct record *r, struct err *err)
{
    return record_job_map_get(c, &r->job_map, err);
}

static void free_job_map(struct record *r)
{
    record_job_map_free(&r->job_map);
}

static void put_job_judged(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->job_judged.number);
    buf_put_u8(b, r->job_judged.judgement);
}

static int get_job_judged(struct cur *c, struct record *r, struct err *err)
{
    r->job_judged.number = cur_u64(c);
    r->job_judged.judgement = msg_get_enum(c, JOB_JUDGEMENTS);
    return r->job_judged.judgement == JOB_NOT_JUDGED ? err_set(err, "no judgement") : 0;
}

static void put_job_kin_failed(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->job_kin_failed.number);
    buf_put_u8(b, (uint8_t)r->job_kin_failed.exit_code);
    buf_put_str(b, r->job_kin_failed.text);
}

static int get_job_kin_failed(struct cur *c, struct record *r, struct err *err)
{
    r->job_kin_failed.number = cur_u64(c);
    r->job_kin_failed.exit_code = cur_u8(c);
    r->job_kin_failed.text = cur_str(c, RECORD_REASON_MAX);
    return !c->bad && r->job_kin_failed.text[0] == 0 ? err_set(err, "no reason") : 0;
}

static void free_job_kin_failed(struct record *r)
{
    free(r->job_kin_failed.text);
}

static void put_job_sent(struct buf *b, const struct record *r)
{
    record_job_progress_put_sent(b, &r->job_sent);
}

static int get_job_sent(struct cur *c, struct record *r, struct err *err)
{
    record_job_progress_get_sent(c, &r->job_sent);
    return 0;
}

static void put_job_rank_ended(struct buf *b, const struct record *r)
{
    record_job_progress_put_rank_ended(b, &r->job_rank_ended);
}

static int get_job_rank_ended(struct cur *c, struct record *r, struct err *err)
{
    return record_job_progress_get_rank_ended(c, &r->job_rank_ended, err);
}

static void free_job_rank_ended(struct record *r)
{
    free(r->job_rank_ended.loss);
}

static void put_job_node_gone(struct buf *b, const struct record *r)
{
    record_job_progress_put_node_gone(b, &r->job_node_gone);
}

static int get_job_node_gone(struct cur *c, struct record *r, struct err *err)
{
    record_job_progress_get_node_gone(c, &r->job_node_gone);
    return 0;
}

static void free_job_node_gone(struct record *r)
{
    free(r->job_node_gone.loss);
}

static void put_job_step(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->job_step.number);
    buf_put_u8(b, r->job_step.event);
}

static int get_job_step(struct cur *c, struct record *r, struct err *err)
{
    r->job_step.number = cur_u64(c);
    r->job_step.event = msg_get_enum(c, JOB_EV_NO_MAP + 1);
    return 0;
}

void record_put_job_result(struct buf *b, const struct record_job_result *r)
{
    buf_put_u64(b, r->number);
    buf_put_u8(b, r->failure);
    buf_put_u32(b, (uint32_t)r->exit_code);
    buf_put_str(b, r->reason);
}

int record_get_job_result(struct cur *c, struct record_job_result *r, struct err *err)
{
    uint32_t code;

    r->number = cur_u64(c);
    r->failure = msg_get_enum(c, JOB_EV_NO_MAP + 1);
    code = cur_u32(c);
    r->exit_code = (int)code;
    r->reason = cur_str(c, RECORD_REASON_MAX);
    if (code > 255 || (r->failure && r->failure < JOB_EV_FAIL_START))
        return err_set(err, "exit code %u, failure %u", code, r->failure);
    return 0;
}

static void put_job_result(struct buf *b, const struct record *r)
{
    record_put_job_result(b, &r->job_result);
}

static int get_job_result(struct cur *c, struct record *r, struct err *err)
{
    return record_get_job_result(c, &r->job_result, err);
}

static void free_job_result(struct record *r)
{
    free(r->job_result.reason);
}

static void put_job_forgotten(struct buf *b, const struct record *r)
{
    buf_put_u64(b, r->job_forgotten.number);
}

static int get_job_forgotten(struct cur *c, struct record *r, struct err *err)
{
    r->job_forgotten.number = cur_u64(c);
    return 0;
}

/* --- published values (record_published.c) */

static void put_published(struct buf *b, const struct record *r)
{
    record_published_put(b, &r->published);
}

static int get_published(struct cur *c, struct record *r, struct err *err)
{
    return record_published_get(c, &r->published, err);
}

static void put_unpublished(struct buf *b, const struct record *r)
{
    record_published_put_removed(b, &r->unpublished);
}

static int get_unpublished(struct cur *c, struct record *r, struct err *err)
{
    return record_published_get_removed(c, &r->unpublished, err);
}

static void free_unpublished(struct record *r)
{
    free(r->unpublished.ids);
}

/* --- an heir of members (record_members.c) */

static void put_members(struct buf *b, const struct record *r)
{
    buf_put_u8(b, RECORD_LAYOUT);
    record_members_put(b, &r->members);
}

static int get_members(struct cur *c, struct record *r, struct err *err)
{
    return get_layout(c, err) < 0 ? -1 : record_members_get(c, &r->members, err);
}

static void free_members(struct record *r)
{
    free(r->members.cluster);
}

/* --- all of them */

static void free_nothing(struct record *r)
{
}

static const struct codec {
    const char *name;
    void (*put)(struct buf *b, const struct record *r); /* NULL, as is get: it has no field */
    /* Into a zeroed record. -1 and a reason, or c->bad, refuse it. */
    int (*get)(struct cur *c, struct record *r, struct err *err);
    void (*free)(struct record *r);
} codecs[RECORD_TYPES] = {
    [RECORD_SNAPSHOT] = {"SNAPSHOT", put_snapshot, get_snapshot, free_nothing},
    [RECORD_BEGIN] = {"BEGIN", put_begin, get_begin, free_begin},
    [RECORD_CLOCK] = {"CLOCK", put_clock, get_clock, free_nothing},
    [RECORD_ENDING] = {"ENDING", put_ending, get_ending, free_nothing},
    [RECORD_HEIR] = {"HEIR", put_heir, get_heir, free_heir},
    [RECORD_MEMBERS] = {"MEMBERS", put_members, get_members, free_members},
    [RECORD_JOBS_ADOPTED] = {"JOBS_ADOPTED", NULL, NULL, free_nothing},
    [RECORD_SIZE] = {"SIZE", put_size, get_size, free_nothing},
    [RECORD_CPUS] = {"CPUS", put_cpus, get_cpus, free_cpus},
    [RECORD_ADMITTED] = {"ADMITTED", put_admitted, get_admitted, free_admitted},
    [RECORD_STEP] = {"STEP", put_step, get_step, free_nothing},
    [RECORD_OP_STARTED] = {"OP_STARTED", put_op, get_op, free_op},
    [RECORD_OP_APPLIED] = {"OP_APPLIED", put_op, get_op, free_op},
    [RECORD_COMPLETED] = {"COMPLETED", put_completed, get_completed, free_nothing},
    [RECORD_EVENT] = {"EVENT", put_event, get_event, free_event},
    [RECORD_CAMPAIGN] = {"CAMPAIGN", put_campaign, get_campaign, free_campaign},
    [RECORD_CAMPAIGN_STEP] = {"CAMPAIGN_STEP", put_campaign_step, get_campaign_step,
                              free_campaign_step},
    [RECORD_CAMPAIGN_TARGETS] = {"CAMPAIGN_TARGETS", put_campaign_targets, get_campaign_targets,
                                 free_campaign_targets},
    [RECORD_CAMPAIGN_OP] = {"CAMPAIGN_OP", put_campaign_op, get_campaign_op, free_campaign_op},
    [RECORD_CAMPAIGN_JOBS] = {"CAMPAIGN_JOBS", put_campaign_jobs, get_campaign_jobs,
                              free_campaign_jobs},
    [RECORD_CAMPAIGN_ASKER] = {"CAMPAIGN_ASKER", put_campaign_asker, get_campaign_asker,
                               free_campaign_asker},
    [RECORD_RELEASE] = {"RELEASE", put_release, get_release, free_nothing},
    [RECORD_RELEASE_WINDOW] = {"RELEASE_WINDOW", put_release_window, get_release_window,
                               free_nothing},
    [RECORD_JOB_ACCEPTED] = {"JOB_ACCEPTED", put_job, get_job, free_job},
    [RECORD_JOB_JUDGED] = {"JOB_JUDGED", put_job_judged, get_job_judged, free_nothing},
    [RECORD_JOB_KIN_FAILED] = {"JOB_KIN_FAILED", put_job_kin_failed, get_job_kin_failed,
                               free_job_kin_failed},
    [RECORD_JOB_MAPPED] = {"JOB_MAPPED", put_job_map, get_job_map, free_job_map},
    [RECORD_JOB_SENT] = {"JOB_SENT", put_job_sent, get_job_sent, free_nothing},
    [RECORD_JOB_RANK_ENDED] = {"JOB_RANK_ENDED", put_job_rank_ended, get_job_rank_ended,
                               free_job_rank_ended},
    [RECORD_JOB_NODE_GONE] = {"JOB_NODE_GONE", put_job_node_gone, get_job_node_gone,
                              free_job_node_gone},
    [RECORD_JOB_STEP] = {"JOB_STEP", put_job_step, get_job_step, free_nothing},
    [RECORD_JOB_RESULT] = {"JOB_RESULT", put_job_result, get_job_result, free_job_result},
    [RECORD_JOB_FORGOTTEN] = {"JOB_FORGOTTEN", put_job_forgotten, get_job_forgotten, free_nothing},
    [RECORD_PUBLISHED] = {"PUBLISHED", put_published, get_published, free_nothing},
    [RECORD_UNPUBLISHED] = {"UNPUBLISHED", put_unpublished, get_unpublished, free_unpublished},
};

static bool is_type(unsigned type)
{
    return type < RECORD_TYPES && codecs[type].name;
}

const char *record_name(unsigned type)
{
    return is_type(type) ? codecs[type].name : "?";
}

void record_encode(struct buf *b, const struct record *r)
{
    buf_put_u8(b, (uint8_t)r->type);
    if (codecs[r->type].put)
        codecs[r->type].put(b, r);
}

static int decode_fields(struct cur *c, struct record *r, struct err *err)
{
    if (codecs[r->type].get && codecs[r->type].get(c, r, err) < 0)
        return -1;
    if (!cur_done(c))
        return err_set(err, c->bad ? "cut or out of its limits" : "bytes left over");
    return 0;
}

int record_decode(const void *data, size_t len, struct record *out, struct err *err)
{
    struct cur c = cur_of(data, len);
    struct record r = {.type = (enum record_type)cur_u8(&c)};

    if (!is_type(r.type))
        return err_set(err, "journal: unknown record type %u", (unsigned)r.type);
    if (decode_fields(&c, &r, err) < 0) {
        record_free(&r);
        return err_wrap(err, "record %s", codecs[r.type].name);
    }
    *out = r;
    return 0;
}

void record_free(struct record *r)
{
    if (is_type(r->type))
        codecs[r->type].free(r);
    *r = (struct record){.type = r->type};
}
