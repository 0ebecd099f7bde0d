/* SPDX-License-Identifier: BSD-3-Clause */
/* A settled cluster for tests of plan and status: 8 members in the spec, all wired. */
#ifndef OPERATOR_PLAN_TEST_FIXTURE_H
#define OPERATOR_PLAN_TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first */
#include <cmocka.h>

#include "base/buf/buf.h"
#include "operator/plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIX_NOW 1700000000000
#define FIX_LIFE "aaaaaaaaaaaaaaaa"
#define FIX_OTHER_LIFE "bbbbbbbbbbbbbbbb"

struct fix {
    struct cluster c;
    struct plan_input in;
    struct api_dvm view;
    struct api_dvm_member members[32];
    struct api_campaign reported[4];
    uint32_t reported_targets[4][32];
    struct plan_pod pods[32];
    struct plan_answer answer;
};

static inline void fix_wire(struct fix *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        f->members[i] = (struct api_dvm_member){.vpid = i + 1, .epoch = 1, .slots = 1};
        f->members[i].state = MEMBER_WIRED;
    }
    f->view.nmembers = n;
}

static inline void fix_pods(struct fix *f, uint32_t n)
{
    static const char *const names[] = {"x-head-0", "x-1", "x-2", "x-3",  "x-4",  "x-5", "x-6",
                                        "x-7",      "x-8", "x-9", "x-10", "x-11", "x-12"};

    for (uint32_t i = 0; i <= n; i++)
        f->pods[i] = (struct plan_pod){.name = names[i],
                                       .uid = names[i],
                                       .vpid = i,
                                       .ready = true,
                                       .running_since_ms = FIX_NOW - 100000,
                                       .image = "img:1"};
    f->in.npods = n + 1;
}

/* A settled cluster with 8 members. */
static inline void fix_settled(struct fix *f)
{
    static const char *const uids[] = {"u0", "u1", "u2", "u3", "u4", "u5"};

    memset(f, 0, sizeof(*f));
    f->c.ns = (char *)"n";
    f->c.name = (char *)"x";
    f->c.uid = (char *)"0123456789";
    f->c.resource_version = (char *)"77";
    f->c.generation = 3;
    f->c.replicas = 8;
    f->c.limits = (struct cluster_limits){-1, -1};
    f->c.slots = 1;
    f->c.drain = (struct cluster_drain){.mode = API_DRAIN_WAIT, .deadline_s = -1};
    f->c.record.sequence = f->c.record.size_sequence = 1;
    f->c.record.size_members = 8;
    snprintf(f->c.record.incarnation, sizeof(f->c.record.incarnation), FIX_LIFE);
    f->in.cluster = &f->c;
    f->in.credentials = true;
    f->in.pods = f->pods;
    f->in.answer = &f->answer;
    f->in.now_ms = FIX_NOW;
    for (int i = 0; i < CLUSTER_CHILDREN; i++)
        f->in.child[i] = (struct plan_child_seen){
            .exists = true, .current = true, .uid = uids[i], .resource_version = "99"};
    f->in.child[CLUSTER_HEAD_SET].replicas = 1;
    f->in.child[CLUSTER_MEMBER_SET].replicas = 8;
    snprintf(f->view.incarnation, sizeof(f->view.incarnation), FIX_LIFE);
    f->view.size_sequence = 1;
    f->view.size_members = 8;
    f->view.size_limits = f->c.record.size_limits = (struct api_size_limits){true, 8, 8};
    f->view.members = f->members;
    f->view.campaigns = f->reported;
    fix_wire(f, 8);
    fix_pods(f, 8);
    f->in.head = (struct plan_head){.link = PLAN_LINK_UP, .view = &f->view};
}

static inline void fix_head_down(struct fix *f, int64_t since_ms)
{
    f->in.head = (struct plan_head){
        .link = PLAN_LINK_DOWN, .down_since_ms = since_ms, .why = "connection refused"};
}

/* A shrink to `first - 1` is recorded. The head has it in `phase` (-1: does not know it). */
static inline void fix_shrink(struct fix *f, uint32_t first, uint32_t last,
                              enum cluster_phase recorded, int phase)
{
    struct cluster_campaign *c = &f->c.record.campaign;

    c->present = true;
    c->kind = CLUSTER_SHRINK;
    c->sequence = f->c.record.sequence = 2;
    c->first = first;
    c->last = last;
    c->generation = 3;
    c->drain = f->c.drain;
    c->phase = recorded;
    c->recorded_ms = FIX_NOW - 5000;
    snprintf(c->id, sizeof(c->id), "shrink-2");
    if (phase < 0)
        return;
    struct api_campaign *t = &f->reported[f->view.ncampaigns++];
    t->id = (char *)"shrink-2";
    t->sequence = 2;
    t->phase = (enum api_phase)phase;
    t->targets = f->reported_targets[0];
    for (uint32_t v = first; v <= last; v++)
        t->targets[t->ntargets++] = v;
    f->view.size_members = phase == API_PHASE_CANCELLED ? last : first - 1;
}

/* Makes the record of a plan that of the cluster. The fixture's own record has no heap memory. */
static inline void fix_take_record(struct fix *f, const struct plan *p)
{
    cluster_record_copy(&f->c.record, &p->record);
}

/* The actions as text: "PutCampaign shrink-2; Apply x=4 if 99". */
static inline char *fix_render(const struct plan *p)
{
    static const char *const kids[] = {"svc", "head-svc", "pdb", "head-pdb", "head", "members"};
    char *all = xstrdup("");

    for (size_t i = 0; i < p->n; i++) {
        const struct plan_action *a = &p->actions[i];
        FREE_AUTO char *before = all;
        FREE_AUTO char *what = xstrdup("");

        if (a->verb == PLAN_APPLY && a->child >= CLUSTER_HEAD_SET) {
            free_ptr(&what);
            what = xasprintf(" %s=%u%s%s%s", kids[a->child], a->replicas, a->decrease ? "-" : "",
                             a->uid ? "" : " new", a->scale_only ? " only" : "");
        } else if (a->verb == PLAN_APPLY) {
            free_ptr(&what);
            what = xasprintf(" %s%s", kids[a->child], a->uid ? "" : " new");
        } else if (a->verb == PLAN_DELETE_POD) {
            free_ptr(&what);
            what = xasprintf(" %s", a->pod);
        }
        all = xasprintf("%s%s%s%s", before, i ? "; " : "", plan_verb_name(a->verb), what);
    }
    return all;
}

/* The durations that the operator would have measured since the times in the fixture. */
static inline const struct plan_input *fix_ages(struct fix *f)
{
    const struct cluster_record *r = &f->c.record;
    int64_t now_ms = f->in.now_ms;

    f->in.age = (struct plan_ages){.recorded = now_ms - r->campaign.recorded_ms,
                                   .accepted = now_ms - r->campaign.accepted_ms,
                                   .applied = now_ms - r->last.applied_ms};
    f->in.head.down_for_ms = now_ms - f->in.head.down_since_ms;
    for (size_t i = 0; i < f->in.npods; i++)
        f->pods[i].running_for_ms = now_ms - f->pods[i].running_since_ms;
    return &f->in;
}

#define PLAN(f) PLAN_AUTO struct plan *p = plan_make(fix_ages(&(f)))

static inline void assert_actions(const struct plan *p, const char *want)
{
    FREE_AUTO char *got = fix_render(p);

    assert_string_equal(got, want);
}

/* The head's answer to the recorded campaign. */
static inline void fix_answer(struct fix *f, int status, enum api_reason reason)
{
    f->answer = (struct plan_answer){.status = status, .at_ms = FIX_NOW};
    snprintf(f->answer.id, sizeof(f->answer.id), "shrink-2");
    f->answer.reason = reason;
    snprintf(f->answer.message, sizeof(f->answer.message), "because");
}

#endif
