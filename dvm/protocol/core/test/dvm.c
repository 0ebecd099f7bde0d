/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts DVMs for tests and looks at their heads. */
#include "dvm/protocol/core/test/dvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 42

struct sim *dvm_boot(const struct dvm_shape *d)
{
    struct sim_opts o = {.nodes = d->members + d->more + 1,
                         .radix = d->radix ? d->radix : 2,
                         .slots = d->slots,
                         .size = d->members,
                         .seed = SEED,
                         .delay_ms = d->delay_ms ? d->delay_ms : 3,
                         .clock_ms = d->clock_ms,
                         .backlog_max = d->backlog_max,
                         .disk = d->disk,
                         .keepers = d->keepers,
                         .faults = d->faults,
                         .trace = getenv("SIM_TRACE") != NULL};
    struct sim *s = sim_create(&o);

    if (d->hooks)
        sim_watch(s, d->hooks);
    for (uint32_t v = 0; v <= d->started; v++)
        sim_start(s, v);
    return s;
}

size_t dvm_in_state(struct sim *s, enum member_state state)
{
    const struct members *m = core_inspect_members(sim_core(s, 0));
    size_t n = 0;

    for (uint32_t v = 1; v < m->n; v++)
        n += members_get(m, v) && members_get(m, v)->state == state;
    return n;
}

static bool wired(struct sim *s, void *arg)
{
    return dvm_in_state(s, MEMBER_WIRED) == *(size_t *)arg;
}

void dvm_wait_wired(struct sim *s, size_t n, uint64_t within_ms)
{
    assert_true(sim_until(s, wired, &n, within_ms));
}

size_t dvm_events(struct sim *s, enum api_event_type type)
{
    size_t n = 0;

    for (uint64_t i = 1; i < core_event_next(sim_core(s, 0)); i++) {
        const struct api_event *e = core_event(sim_core(s, 0), i);

        n += e && e->type == type;
    }
    return n;
}

static bool find_phase(struct sim *s, const char *id, enum api_phase *phase)
{
    struct api_campaign c;
    enum api_reason reason;

    if (core_campaign_get(sim_core(s, 0), id, &c, &reason, NULL) < 0)
        return false;
    *phase = c.phase;
    api_campaign_free(&c);
    return true;
}

enum api_phase dvm_phase(struct sim *s, const char *id)
{
    enum api_phase phase = API_PHASE_DRAINING;

    assert_true(find_phase(s, id, &phase));
    return phase;
}

bool dvm_complete(struct sim *s, void *arg)
{
    enum api_phase phase;

    return find_phase(s, arg, &phase) && phase == API_PHASE_COMPLETE;
}

void dvm_wait_complete(struct sim *s, const char *id, uint64_t within_ms)
{
    assert_true(sim_until(s, dvm_complete, (void *)id, within_ms));
}

uint32_t dvm_bound(struct sim *s)
{
    struct api_dvm d;
    enum api_reason reason;
    uint32_t n;

    assert_int_equal(core_dvm(sim_core(s, 0), &d, &reason, NULL), 0);
    n = d.size_members;
    api_dvm_free(&d);
    return n;
}

void dvm_put_size(struct sim *s, uint64_t sequence, uint32_t members)
{
    struct api_size in = {.sequence = sequence, .members = members};
    struct api_size out;
    enum api_reason reason;

    assert_int_equal(core_size_put(sim_core(s, 0), &in, &out, &reason, NULL), 0);
    sim_drain(s, 0);
}

bool dvm_job_over(struct sim *s, void *arg)
{
    return sim_job(s, *(size_t *)arg)->done;
}

void dvm_wait_job(struct sim *s, size_t job, int code)
{
    assert_true(sim_until(s, dvm_job_over, &job, 60000));
    assert_int_equal(sim_job(s, job)->exit_code, code);
}

void dvm_put_campaign(struct sim *s, const char *id, const struct api_campaign_request *r)
{
    struct core *head = sim_core(s, 0);
    struct api_campaign record;
    enum api_reason reason;
    struct err err = {0};

    sim_clock(s, VPID_HEAD);
    if (core_campaign_put(head, id, r, &record, &reason, &err) < 0)
        fail_msg("%s", err.msg);
    api_campaign_free(&record);
    sim_drain(s, 0);
}

static enum store_result serve(struct sim *s, char op, uint64_t question, const struct buf *blob)
{
    struct published_ask a = {.request = {.question = question, .open_from = question ? 1 : 0},
                              .op = op,
                              .blob = blob->data,
                              .len = blob->len};
    struct core *head = sim_core(s, 0);
    BUF_AUTO struct buf answer = {.max = 4096};
    enum store_result r;

    sim_clock(s, VPID_HEAD);
    r = core_published_serve(head, 2, &a, &answer);
    sim_drain(s, 0);
    return r;
}

enum store_result dvm_publish(struct sim *s, uint64_t question, const char *nspace, const char *key,
                              enum store_persistence persistence)
{
    struct store_who who = {.vpid = 2};
    BUF_AUTO struct buf b = {.max = 4096};

    memccpy(who.nspace, nspace, 0, sizeof(who.nspace) - 1);
    store_put_who(&b, &who);
    buf_put_u8(&b, STORE_RANGE_SESSION);
    buf_put_u8(&b, (uint8_t)persistence);
    buf_put_u32(&b, 1);
    buf_put_str(&b, key);
    buf_put_bytes(&b, "value", 5);
    return serve(s, 'p', question, &b);
}

enum store_result dvm_look_up(struct sim *s, uint64_t question, const char *key)
{
    struct store_who who = {.nspace = "tool", .vpid = 2};
    BUF_AUTO struct buf b = {.max = 4096};

    store_put_who(&b, &who);
    buf_put_u8(&b, STORE_RANGE_SESSION);
    buf_put_u8(&b, false);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, 1);
    buf_put_str(&b, key);
    return serve(s, 'l', question, &b);
}

void dvm_replace_head(struct sim *s)
{
    sim_crash(s, 0);
    sim_for(s, DVM_AWAY_MS);
    sim_start(s, 0);
}

void dvm_replace_head_at_once(struct sim *s)
{
    sim_break(s, 0, 1);
    sim_break(s, 0, 2);
    dvm_replace_head(s);
}

bool dvm_head_known(struct sim *s, void *arg)
{
    struct epoch now = core_inspect_epoch(sim_core(s, 0));

    for (uint32_t v = 1; v <= *(uint32_t *)arg; v++) {
        const struct core *c = sim_core(s, v);

        if (!c || core_state(c) != CORE_WIRED || !members_current(core_inspect_members(c), 0, now))
            return false;
    }
    return true;
}
